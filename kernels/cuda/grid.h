// grid.h: how the kernels of the wide mapping share a level of large networks.
//
// Values lie as [genome][slot][column] in global memory; a column is a sample of the piece that is
// under way. A strip is some nodes of one level that follow each other in the units; a warp
// evaluates it for 32 VECTOR columns. Columns whose values are all zero and stay zero leave: those
// that live move to the front, in order, and `num_columns` says how many there are.
#pragma once

#include "cuda/schedule.h"

EVONET_NAMESPACE_BEGIN

constexpr int kCopyWarps = 8;  // of a block that copies

struct alignas(16) Strip {
  int32 genome;
  unsigned first_unit, end_unit;
  int32 num_nodes;
};

// Where the value of a node is.
struct alignas(8) ValueRow {
  int32 genome, slot;
};

// The strips of a genome on one level; none if its columns cannot leave there.
struct alignas(8) StripRange {
  int32 begin, end;
};

// Rows hold whole groups of columns, so the last words of a row may name columns that are not
// there; living bits of those are 0.
EVONET_FN int num_words(int columns) { return (columns + 31) / 32; }

EVONET_NAMESPACE_END
