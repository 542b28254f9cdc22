// genome_view.h: the genes of one genome as pointers, by the names of population.def.
// Not in a namespace per instruction set: these structs cross from one translation unit to another.
#pragma once

#include "numerics/portable.h"

namespace evonet {

// The types of population.def, of a genome that is being written and of one that is only read.
template <class T>
struct GeneTypes {
  using int64_gene = long long;
  using real_gene = T;
  using uint8_gene = unsigned char;
  using bool_gene = bool;
};
template <class T>
struct ConstGeneTypes {
  using int64_gene = const long long;
  using real_gene = const T;
  using uint8_gene = const unsigned char;
  using bool_gene = const bool;
};

template <class Types>
struct GenesOf {
#define EVONET_NODE_GENE(type, name, meaning) typename Types::type##_gene* name;
#define EVONET_CONNECTION_GENE(type, name, meaning) typename Types::type##_gene* name;
#include "genetics/population.def"

  // The genes from a node and a connection on.
  EVONET_METHOD GenesOf at(long long node, long long conn) const {
    return {
#define EVONET_NODE_GENE(type, name, meaning) name + node,
#define EVONET_CONNECTION_GENE(type, name, meaning) name + conn,
#include "genetics/population.def"
    };
  }

  // Copies node or connection j of another genome, or of this one, to position i.
  template <class Other>
  EVONET_METHOD void copy_node(int i, const GenesOf<Other>& from, int j) const {
#define EVONET_NODE_GENE(type, name, meaning) name[i] = from.name[j];
#include "genetics/population.def"
  }
  template <class Other>
  EVONET_METHOD void copy_connection(int i, const GenesOf<Other>& from, int j) const {
#define EVONET_CONNECTION_GENE(type, name, meaning) name[i] = from.name[j];
#include "genetics/population.def"
  }
  EVONET_METHOD void swap_connections(int i, int j) const {
#define EVONET_CONNECTION_GENE(type, name, meaning) \
  const auto at_##name = name[i];                   \
  name[i] = name[j];                                \
  name[j] = at_##name;
#include "genetics/population.def"
  }
};

template <class T>
using Genes = GenesOf<GeneTypes<T>>;
template <class T>
using ConstGenes = GenesOf<ConstGeneTypes<T>>;

template <class T>
struct Genome {
  ConstGenes<T> genes;
  int num_nodes, num_conns;
};

// Genome g of a population.
template <class T, class Offset>
EVONET_METHOD Genome<T> genome_at(const ConstGenes<T>& genes, const Offset* node_start,
                                  const Offset* conn_start, long long g) {
  return {genes.at(node_start[g], conn_start[g]), int(node_start[g + 1] - node_start[g]),
          int(conn_start[g + 1] - conn_start[g])};
}

// The key of a node that has none yet, above every valid key.
static constexpr long long kPendingNode = (1LL << 62) + 1;

// The structural mutations of one child; see breeding.h.
struct Request {
  long long split;           // innovation of the connection that the new node splits, or -1
  long long source, target;  // of the added connection; target is -1 for none
  int num_new;               // connections at the end that still need numbers
};

// A child under construction.
template <class T>
struct Child {
  Genes<T> genes;
  int num_nodes, num_conns;
  Request request;
  int* scratch;  // cycle_scratch words

  EVONET_METHOD void copy(const Genome<T>& from) {
    num_nodes = from.num_nodes;
    num_conns = from.num_conns;
    request = {-1, 0, -1, 0};
    for (int i = 0; i < num_nodes; ++i) genes.copy_node(i, from.genes, i);
    for (int i = 0; i < num_conns; ++i) genes.copy_connection(i, from.genes, i);
  }
};

}  // namespace evonet
