// key_index.h: from the keys of one genome's nodes to 0..N-1, for one genome after another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "numerics/key_table.h"

namespace evonet {

// Finders return the number of a key, or -1 if it is not there. To copy, so that loops keep them in
// registers.
struct DenseFinder {
  const int32_t* slots;  // [span + 1] by key; the last one is -1
  uint64_t span;

  int32_t operator()(int64_t key) const {
    const auto at = static_cast<uint64_t>(key);  // large if it is negative
    return slots[at < span ? at : span];         // without a branch: keys come in any order
  }
};

struct SparseFinder {
  KeyTable table;

  int32_t operator()(int64_t key) const { return key < 0 ? -1 : table.find(key); }
};

// A plain table while keys are dense, else a hash table.
class KeyIndex {
 public:
  // False unless keys ascend from 0 or more.
  bool build(const int64_t* keys, int32_t count) {
    const int64_t last = count == 0 ? -1 : keys[count - 1];
    if (last < int64_t{count} - 1) return false;
    return last < 4 * int64_t{count} + 256 ? build_dense(keys, count, last + 1)
                                           : build_sparse(keys, count);
  }

  // Calls visit(finder) with the one that fits, so that loops have no case for it.
  template <class Visit>
  auto with_finder(Visit visit) const {
    return is_dense_ ? visit(dense_) : visit(sparse_);
  }

 private:
  bool build_dense(const int64_t* keys, int32_t count, int64_t span) {
    make_room(span + 1);
    int32_t* const slots = slots_.data();
    if (span > count) std::fill(slots, slots + span, -1);  // else all will be written
    bool ascends = true;
    for (int64_t i = 0, before = -1; i < count; before = keys[i++]) {
      ascends &= before < keys[i];
      const auto at = static_cast<uint64_t>(keys[i]);  // large if it is negative
      slots[at < static_cast<uint64_t>(span) ? at : span] = static_cast<int32_t>(i);
    }
    slots[span] = -1;
    dense_ = {slots, static_cast<uint64_t>(span)};
    is_dense_ = true;
    return ascends;
  }

  bool build_sparse(const int64_t* keys, int32_t count) {
    bool ascends = keys[0] >= 0;
    for (int32_t i = 1; i < count; ++i) ascends &= keys[i - 1] < keys[i];
    if (!ascends) return false;
    make_room(table_slots(count));
    const KeyTable table{reinterpret_cast<const long long*>(keys), slots_.data(),
                         table_bits(count)};
    table.build(count);
    sparse_ = {table};
    is_dense_ = false;
    return true;
  }

  void make_room(int64_t slots) {
    if (slots_.size() < static_cast<size_t>(slots)) slots_.resize(slots);
  }

  std::vector<int32_t> slots_;
  DenseFinder dense_{nullptr, 0};
  SparseFinder sparse_{};
  bool is_dense_ = true;
};

}  // namespace evonet
