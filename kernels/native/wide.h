// wide.h: training a wide level on the few rows that each sample uses. What an instruction set
// offers is a table of functions; what threads do with them is declared below it.
#pragma once

#include <cstdint>

#include "native/thread_pool.h"

namespace evonet {

// Rows by list: list b is rows[begin[b]] to rows[end[b] - 1], ascending, none twice.
struct RowLists {
  int64_t num_lists;
  const int64_t* begin;
  const int64_t* end;
  const int32_t* rows;
};

struct HashPlan {
  int32_t kind, bits, num_tables;  // bits of a bucket's code
  int32_t num_columns;             // of the Hadamard transform: a power of 2
  const float* signs;              // [rounds, 2, num_columns], SimHash
  const int32_t* positions;        // [functions, 8], DWTA
  const int32_t* borrow;           // [functions, 16], DWTA
};

// Codes of rows; that of a row in a table lies at table * table_stride + row * row_stride.
struct HashCall {
  HashPlan plan;
  const float* rows;  // [R, width]
  int32_t width;
  const int32_t* which;  // the rows to hash, or null for the first ones
  int32_t* codes;
  int64_t table_stride, row_stride;
};

struct AdamCall {
  float keep_mean, keep_square, add_mean, add_square, epsilon;
  const float* corrected_rate;  // by number of updates, [num_corrections] each
  const float* correction;
  int32_t num_corrections;
};

struct LevelView {
  int64_t num_rows;
  int32_t width;
  float* weights;  // [num_rows, width], as mean and square
  float* mean;
  float* square;
  float* state;  // [num_rows, kRowState]
};

struct WideKernels {
  // Bytes of scratch that hash needs, aligned for vectors.
  int64_t (*hash_scratch)(const HashPlan& plan);
  // Hashes the rows which[begin..end), or begin..end themselves.
  void (*hash)(const HashCall& call, int64_t begin, int64_t end, void* scratch);
  // out[i] = row . rows[list[i]], plus its bias if state is not null; a null list is 0, 1, ...
  void (*dots)(const float* rows, const float* state, int32_t width, const int32_t* list,
               int64_t count, const float* row, float* out);
  // out = the sum of coefficient[i] * rows[list[i]]; with `rectify`, no less than 0.
  void (*sum)(const float* rows, int32_t width, const int32_t* list, const float* coefficient,
              int64_t count, bool rectify, float* out);
  // Logits [count] become the gradient of the mean loss; returns the loss, and whether a label has
  // the largest logit.
  float (*softmax)(float* logits, const int32_t* list, int64_t count, const int32_t* labels,
                   int64_t num_labels, float scale, bool* hit);
  // One step for a row whose gradient is the sum of coefficient[i] * dense[sample[i]].
  void (*update)(const LevelView& level, const AdamCall& adam, bool with_bias, int64_t row,
                 const float* dense, const int32_t* sample, const float* coefficient,
                 int64_t count);
};

// First weights [num_rows, width] from -scale to scale; columns from `hidden` on are 0.
void draw_weights(float* weights, int64_t num_rows, int32_t hidden, int32_t width, float scale,
                  uint64_t seed, uint32_t level, int threads);

struct BuildCall {
  int64_t num_rows;
  int32_t num_tables, num_buckets, capacity, keep;
  uint64_t seed;
  uint32_t epoch;
  const int32_t* codes;  // [num_tables, num_rows]
  int32_t* starts;       // [num_tables, num_buckets + 1]
  int32_t* ids;          // [num_tables, num_rows]: rows by bucket, as many as it keeps
};
void build_tables(const BuildCall& call, int threads);

struct ActiveCall {
  int64_t num_samples, num_rows;
  int32_t num_tables, num_buckets;
  const int32_t* codes;   // [num_samples, num_tables]
  const int32_t* starts;  // of build_tables
  const int32_t* ids;
  const int64_t* label_start;  // [num_samples + 1]
  const int32_t* labels;       // ascending within a sample
  const int32_t* shared;       // [num_shared] ascending
  int64_t num_shared;
  const int32_t* fill;  // [num_fill]
  int64_t num_fill;
  int64_t limit, minimum;  // rows from buckets at most; rows of a sample at least
  uint64_t seed;
  uint32_t step;
  int64_t most;     // room for a sample's rows
  int32_t* active;  // [num_samples, most]
  int64_t* count;   // [num_samples]
};
void find_active(const ActiveCall& call, int threads);

// A step of Adam for all rows that any list names; the gradient of a row is the sum of coefficient
// * dense [num_lists, width] over its lists, in order.
void update_rows(const LevelView& level, const RowLists& lists, const float* coefficient,
                 const float* dense, const AdamCall& adam, bool with_bias,
                 const WideKernels& kernels, int threads);

// The k largest of dense [num_samples, width] . rows + bias, largest first; of equal ones the
// first.
bool find_top(const LevelView& level, const float* dense, int64_t num_samples, int64_t k,
              const WideKernels& kernels, int threads, const Interrupt::Poll& poll, int32_t* ids,
              float* scores);

}  // namespace evonet
