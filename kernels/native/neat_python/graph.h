// neat_graph.h: which nodes and links of a neat-python genome a network of each kind has, and in
// which order. The rules are neat-python's; docs/semantics.md tells them in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "native/neat_python/genome.h"

namespace evonet {

enum class NeatKind { kFeedForward, kRecurrent, kSpiking };

// Keys are numbered: inputs first, then outputs, then others as they appear. Nodes and links
// speak of keys by these numbers.
struct NeatGraph {
  struct Node {
    int32_t number;
    int32_t link_begin, link_end;
  };

  std::vector<int32_t> output;  // numbers of the outputs
  std::vector<Node> nodes;      // in the order of evaluation
  std::vector<int32_t> link_source;
  std::vector<double> link_weight;
};

// Numbers keys 0, 1, ... in the order of their first appearance, by open addressing.
class KeyNumbers {
 public:
  explicit KeyNumbers(size_t expected) {
    keys_.reserve(expected);
    grow(2 * expected + 8);
  }

  int32_t operator()(int64_t key) {
    if (2 * (keys_.size() + 1) > slots_.size()) grow(2 * slots_.size());
    size_t s = home(key);
    while (slots_[s] >= 0) {
      if (keys_[slots_[s]] == key) return slots_[s];
      s = (s + 1) & (slots_.size() - 1);
    }
    slots_[s] = static_cast<int32_t>(keys_.size());
    keys_.push_back(key);
    return slots_[s];
  }

  const std::vector<int64_t>& keys() const { return keys_; }
  int32_t size() const { return static_cast<int32_t>(keys_.size()); }

 private:
  size_t home(int64_t key) const {
    const uint64_t mixed = static_cast<uint64_t>(key) * 0x9E3779B97F4A7C15ull;
    return static_cast<size_t>(mixed >> 32) & (slots_.size() - 1);
  }

  void grow(size_t wanted) {
    size_t size = 16;
    while (size < wanted) size *= 2;
    slots_.assign(size, -1);
    for (int32_t i = 0; i < this->size(); ++i) {
      size_t s = home(keys_[i]);
      while (slots_[s] >= 0) s = (s + 1) & (size - 1);
      slots_[s] = i;
    }
  }

  std::vector<int64_t> keys_;
  std::vector<int32_t> slots_;
};

// Numbers all keys on the way; `numbers` begins empty.
NeatGraph make_graph(NeatKind kind, const std::vector<NeatConnectionGene>& connections,
                     const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs,
                     KeyNumbers& numbers);

}  // namespace evonet
