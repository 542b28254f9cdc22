// genes_parameters.h: the genes of genomes that are being written, as parameters of a kernel:
// nodes, then connections, in the order of population.def. Included inside the list of parameters,
// after OUT(name) was defined as the name of each; this file undefines it.
#define EVONET_NODE_GENE(type, name, meaning) \
  typename evonet::GeneTypes<REAL>::type##_gene* __restrict__ OUT(name),
#define EVONET_CONNECTION_GENE(type, name, meaning) \
  typename evonet::GeneTypes<REAL>::type##_gene* __restrict__ OUT(name),
#include "genetics/population.def"
#undef OUT
