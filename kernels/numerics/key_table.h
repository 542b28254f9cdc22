// key_table.h: the one hash of keys, and tables by open addressing in memory that the caller lends.
#pragma once

#include "numerics/portable.h"

EVONET_NAMESPACE_BEGIN

// Fibonacci hashing: the high bits of the product depend on all bits of the key.
EVONET_FN unsigned long long hash_key(int64 key) {
  return (unsigned long long)key * 0x9E3779B97F4A7C15ull;
}

EVONET_FN unsigned long long hash_pair(int64 first, int64 second) {
  return hash_key(first) + (unsigned long long)second * 0xBF58476D1CE4E5B9ull;
}

// The logarithm of the slots for so many keys: at least half of the slots stay empty.
EVONET_FN int table_bits(int64 num_keys) {
  int bits = 2;
  while ((int64(1) << bits) < 2 * num_keys) ++bits;
  return bits;
}

EVONET_FN int64 table_slots(int64 num_keys) { return int64(1) << table_bits(num_keys); }

// The slot of the entry that is_it(entry) recognises, or the free one (-1) where it belongs.
template <class IsIt>
EVONET_FN int64 find_slot(const int32* slots, int bits, unsigned long long hash, IsIt is_it) {
  const int64 mask = (int64(1) << bits) - 1;
  int64 slot = int64(hash >> (64 - bits));
  while (slots[slot] >= 0 && !is_it(slots[slot])) slot = (slot + 1) & mask;
  return slot;
}

// From the keys of one genome's nodes to 0..N-1.
struct KeyTable {
  const int64* keys;
  int32* slots;  // [2^bits]
  int bits;

  EVONET_METHOD void build(int32 num_keys) const {
    for (int64 slot = 0; slot < int64(1) << bits; ++slot) slots[slot] = -1;
    for (int32 i = 0; i < num_keys; ++i) {
      slots[find_slot(slots, bits, hash_key(keys[i]), [](int32) { return false; })] = i;
    }
  }

  // -1 if the key is not there.
  EVONET_METHOD int32 find(int64 key) const {
    return slots[find_slot(slots, bits, hash_key(key), [&](int32 i) { return keys[i] == key; })];
  }
};

EVONET_NAMESPACE_END
