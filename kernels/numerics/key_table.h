// key_table.h: from the keys of one genome's nodes to 0..N-1, by open addressing in memory that
// the caller lends.
#pragma once

#include "numerics/portable.h"

EVONET_NAMESPACE_BEGIN

// Slots for so many keys: a power of two, at least half of them empty.
EVONET_FN int64 table_slots(int64 num_keys) {
  int64 slots = 4;
  while (slots < 2 * num_keys) slots *= 2;
  return slots;
}

struct KeyTable {
  const int64* keys;
  int32* slots;
  int64 num_slots;

  EVONET_METHOD int64 home(int64 key) const {
    const unsigned long long mixed = (unsigned long long)key * 0x9E3779B97F4A7C15ull;
    return int64(mixed >> 32) & (num_slots - 1);
  }

  EVONET_METHOD void build(int32 num_keys) const {
    for (int64 s = 0; s < num_slots; ++s) slots[s] = -1;
    for (int32 i = 0; i < num_keys; ++i) {
      int64 s = home(keys[i]);
      while (slots[s] >= 0) s = (s + 1) & (num_slots - 1);
      slots[s] = i;
    }
  }

  // The key must be there.
  EVONET_METHOD int32 find(int64 key) const {
    int64 s = home(key);
    while (keys[slots[s]] != key) s = (s + 1) & (num_slots - 1);
    return slots[s];
  }
};

EVONET_NAMESPACE_END
