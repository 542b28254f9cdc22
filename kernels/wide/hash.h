// hash.h: two families of functions whose values agree for rows that point the same way.
//
// SimHash: signs of random projections. Columns change their signs at random and are mixed by a
// Hadamard transform, twice; each result is a projection on all columns that costs log2(columns)
// additions (Ailon and Chazelle 2006).
//
// DWTA: which of 8 random columns is the largest (Yagnik et al. 2011). A bin whose columns are all
// zero, as rectified rows have them, borrows the winner of another bin (Chen and Shrivastava 2018).
//
// A function's value is a digit: 1 bit, or 3. The digits of a table are the code of a bucket.
// T is a number, or a vector with a row in each lane.
#pragma once

#include "numerics/philox.h"

EVONET_NAMESPACE_BEGIN

enum HashKind : int32 { SIMHASH, DWTA };

constexpr int kBinColumns = 8, kBinBits = 3;
constexpr int kBorrowings = 16;  // bins that an empty one asks, one after the other
constexpr int32 kEmptyBin = -1;

EVONET_FN int digit_bits(int32 kind) { return kind == DWTA ? kBinBits : 1; }

// One butterfly of the Hadamard transform.
template <class T>
EVONET_FN void add_and_subtract(T& a, T& b) {
  const T sum = a + b, difference = a - b;
  a = sum;
  b = difference;
}

template <class T>
EVONET_FN Bits<T> sign_digit(T projection) {
  Bits<T> zero = {}, one = zero + 1;
  return projection > T{} ? one : zero;
}

// The position of the largest of 8 columns, the first of equal ones; kEmptyBin if all are zero.
template <class T, class At>
EVONET_FN Bits<T> bin_digit(At at) {
  Bits<T> winner = {}, zero = {};
  T best = at(0);
  Bits<T> used = best != T{} ? zero + 1 : zero;
  for (int i = 1; i < kBinColumns; ++i) {
    const T x = at(i);
    used = x != T{} ? zero + 1 : used;
    winner = x > best ? zero + i : winner;
    best = x > best ? x : best;
  }
  return used != zero ? winner : zero + kEmptyBin;
}

// The digit of a bin, its own or a borrowed one; 0 if there is none far and wide.
template <class Digit>
EVONET_FN int32 densified(Digit digit, int32 bin, const int32* borrow) {
  int32 found = digit(bin);
  for (int i = 0; i < kBorrowings && found == kEmptyBin; ++i) {
    found = digit(borrow[int64(bin) * kBorrowings + i]);
  }
  return found == kEmptyBin ? 0 : found;
}

// ---- buckets ------------------------------------------------------------------------------------

enum Keep : int32 { KEEP_RESERVOIR, KEEP_LAST };

// Where a bucket keeps the row that comes as its rank-th of count, or -1. Later rows take the place
// of earlier ones: a reservoir of equal chances, or the last that came.
EVONET_FN int32 bucket_slot(int32 rank, int32 count, int32 capacity, int32 keep, uint64 seed,
                            uint32 epoch, uint32 table, uint32 row) {
  if (count <= capacity) return rank;
  if (keep == KEEP_LAST) return rank - (count - capacity);  // negative for the first ones
  if (rank < capacity) return rank;
  const Philox draw = Draws{seed, epoch, table}(FOR_WIDE_RESERVOIR, row);
  const int32 slot = choose(draw.word[0], rank + 1);
  return slot < capacity ? slot : -1;
}

// The table that a sample asks first; the others follow in a circle, until it has enough rows.
EVONET_FN int32 first_table(uint64 seed, uint32 step, uint32 sample, int32 num_tables) {
  return choose(Draws{seed, step, sample}(FOR_WIDE_QUERY, 0).word[0], num_tables);
}

EVONET_NAMESPACE_END
