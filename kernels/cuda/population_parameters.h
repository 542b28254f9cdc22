// population_parameters.h: the arrays of a population that is only read, as parameters of a kernel,
// in the order of population.def. Included inside the list of parameters, after IN(name) was
// defined as the name of each; this file undefines it.
#define EVONET_OFFSETS(type, name, meaning) const long long* __restrict__ IN(name),
#define EVONET_NODE_GENE(type, name, meaning) \
  typename evonet::ConstGeneTypes<REAL>::type##_gene* __restrict__ IN(name),
#define EVONET_CONNECTION_GENE(type, name, meaning) \
  typename evonet::ConstGeneTypes<REAL>::type##_gene* __restrict__ IN(name),
#define EVONET_CONNECTION_ORDER(type, name, meaning) const int* __restrict__ IN(name),
#include "genetics/population.def"
#undef IN
