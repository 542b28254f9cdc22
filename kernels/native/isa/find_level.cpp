// find_level.cpp: tells the build for which processor it builds, by its exit code.
#include "native/isa/processor_level.h"

int main() { return evonet::processor_level(); }
