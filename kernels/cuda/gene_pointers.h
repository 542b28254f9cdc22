// gene_pointers.h: those parameters again, as a list that initialises Genes or ConstGenes. Included
// between braces, after NAME(name) was defined as the name of each; this file undefines it.
#define EVONET_NODE_GENE(type, name, meaning) NAME(name),
#define EVONET_CONNECTION_GENE(type, name, meaning) NAME(name),
#include "genetics/population.def"
#undef NAME
