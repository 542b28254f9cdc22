// runtime.cpp: the runtime library as one translation unit; it compiles in a third of the time.
#include "faults.cpp"
#include "fiber.cpp"
#include "findings.cpp"
#include "image.cpp"
#include "launch.cpp"
#include "meeting.cpp"
#include "scheduler.cpp"

#ifdef SIMT_CHECKED
#include "checker.cpp"
#include "hooks.cpp"
#include "ordering.cpp"
#include "shadow.cpp"
#endif
