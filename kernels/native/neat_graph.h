// neat_graph.h: which nodes and links of a neat-python genome a network of each kind has, and in
// which order. The rules are neat-python's; docs/semantics.md tells them in words.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

namespace evonet {

namespace nb = nanobind;

enum class NeatKind { kFeedForward, kRecurrent, kSpiking };

// A node and the range of its links; links name their sources by key.
struct NeatNode {
  int64_t key;
  int64_t link_begin, link_end;
};

struct NeatGraph {
  std::vector<NeatNode> nodes;  // in the order of evaluation
  std::vector<int64_t> link_source;
  std::vector<double> link_weight;
};

// Reads the dict `connections` of a genome. Genes of nodes are left to the caller.
NeatGraph read_graph(NeatKind kind, PyObject* connections, const std::vector<int64_t>& inputs,
                     const std::vector<int64_t>& outputs);

}  // namespace evonet
