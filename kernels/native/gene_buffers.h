// gene_buffers.h: the genes of a population that is being made.
#pragma once

#include <type_traits>

#include "genetics/genome_view.h"
#include "native/buffer.h"

namespace evonet {

template <class T>
struct GeneBuffers {
#define EVONET_NODE_GENE(type, name, meaning) Buffer<typename GeneTypes<T>::type##_gene> name;
#define EVONET_CONNECTION_GENE(type, name, meaning) Buffer<typename GeneTypes<T>::type##_gene> name;
#include "genetics/population.def"

  GeneBuffers() = default;
  GeneBuffers(int64_t nodes, int64_t conns) {
    each_node_gene([&](const char*, auto& genes) { genes = std::decay_t<decltype(genes)>(nodes); });
    each_connection_gene(
        [&](const char*, auto& genes) { genes = std::decay_t<decltype(genes)>(conns); });
  }

  // visit(name, buffer) for every array.
  template <class Visit>
  void each_node_gene(Visit visit) {
#define EVONET_NODE_GENE(type, name, meaning) visit(#name, name);
#include "genetics/population.def"
  }
  template <class Visit>
  void each_connection_gene(Visit visit) {
#define EVONET_CONNECTION_GENE(type, name, meaning) visit(#name, name);
#include "genetics/population.def"
  }

  Genes<T> genes() {
    return {
#define EVONET_NODE_GENE(type, name, meaning) name.data.get(),
#define EVONET_CONNECTION_GENE(type, name, meaning) name.data.get(),
#include "genetics/population.def"
    };
  }

  // Copies the first `nodes` nodes and `conns` connections of another to the given positions.
  void copy(int64_t node, int64_t conn, const GeneBuffers& from, int64_t nodes, int64_t conns) {
#define EVONET_NODE_GENE(type, name, meaning) copy_into(name, node, from.name, nodes);
#define EVONET_CONNECTION_GENE(type, name, meaning) copy_into(name, conn, from.name, conns);
#include "genetics/population.def"
  }
};

}  // namespace evonet
