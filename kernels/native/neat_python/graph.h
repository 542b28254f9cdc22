// graph.h: which nodes and links of a neat-python genome a network of each kind has, and in
// which order. The rules are neat-python's; docs/semantics.md describes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "native/neat_python/genome.h"
#include "numerics/key_table.h"

namespace evonet {

enum class NeatKind { kFeedForward, kRecurrent, kSpiking };

// Keys are numbered: inputs first, then outputs, then others as they appear. Nodes and links
// refer to keys by these numbers.
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
    grow(table_bits(static_cast<int64_t>(expected) + 4));
  }

  int32_t operator()(int64_t key) {
    if (2 * (keys_.size() + 1) > slots_.size()) grow(bits_ + 1);
    int32_t& slot = slots_[slot_of(key)];
    if (slot < 0) {
      slot = size();
      keys_.push_back(key);
    }
    return slot;
  }

  const std::vector<int64_t>& keys() const { return keys_; }
  int32_t size() const { return static_cast<int32_t>(keys_.size()); }

 private:
  int64_t slot_of(int64_t key) const {
    return find_slot(slots_.data(), bits_, hash_key(key),
                     [&](int32_t number) { return keys_[number] == key; });
  }

  void grow(int bits) {
    bits_ = bits;
    slots_.assign(size_t{1} << bits, -1);
    for (int32_t i = 0; i < size(); ++i) slots_[slot_of(keys_[i])] = i;
  }

  std::vector<int64_t> keys_;
  std::vector<int32_t> slots_;
  int bits_ = 0;
};

// Numbers all keys on the way; `numbers` is empty at first.
NeatGraph make_graph(NeatKind kind, const std::vector<NeatConnectionGene>& connections,
                     const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs,
                     KeyNumbers& numbers);

}  // namespace evonet
