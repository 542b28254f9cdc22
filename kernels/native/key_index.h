// key_index.h: from the keys of one genome's nodes to 0..N-1, for one genome after another.
#pragma once

#include <cstdint>
#include <vector>

#include "numerics/key_table.h"

namespace evonet {

// A plain table while keys are dense, else a hash table.
class KeyIndex {
 public:
  // False unless keys ascend from 0 or more.
  bool build(const int64_t* keys, int32_t count) {
    bool ascends = count == 0 || keys[0] >= 0;
    for (int32_t i = 1; i < count; ++i) ascends &= keys[i - 1] < keys[i];
    if (!ascends) return false;
    dense_ = count == 0 || keys[count - 1] < 4 * int64_t{count} + 256;
    const int64_t largest = count == 0 ? -1 : keys[count - 1];
    const auto needed = static_cast<size_t>(dense_ ? largest + 1 : table_slots(count));
    if (slots_.size() < needed) slots_.resize(needed);
    table_ = {reinterpret_cast<const long long*>(keys), slots_.data(), table_bits(count)};
    if (!dense_) {
      table_.build(count);
    } else {
      for (int32_t i = 0; i < count; ++i) slots_[keys[i]] = i;
    }
    return true;
  }

  // Any number, or -1, for a key that is not there.
  int32_t operator[](int64_t key) const {
    if (!dense_) return table_.find(key);
    return static_cast<uint64_t>(key) < slots_.size() ? slots_[key] : -1;
  }

 private:
  std::vector<int32_t> slots_;
  KeyTable table_{};
  bool dense_ = true;
};

}  // namespace evonet
