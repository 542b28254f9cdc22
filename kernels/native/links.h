// links.h: joins the links of nodes over a row of samples, kept in R vectors V, or in one number.
// Values lie as [slot][sample], so a link is one broadcast weight times a row. A row is compiled
// for each R, because its accumulators must stay in registers; formulas are called (function_rows).
#pragma once

#include "native/function_rows.h"
#include "native/isa/isa.h"
#include "native/simd.h"
#include "nodes/aggregations.h"

EVONET_NAMESPACE_BEGIN

// Links of a row between two looks at the interrupt: a millisecond or so.
EVONET_FN int64_t patience_of(int width) { return width < 4 ? 1 << 20 : (1 << 22) / width; }

struct NeverStop {
  bool operator()() const { return false; }
};

// Joins the links of one node, in link order: finish(r, vector r of the result). A node of very
// many links asks stop() now and then.
template <class Fold, class V, int R, class T, class Finish, class Stop>
EVONET_FN void fold_links(const T* values, const int32_t* source, const T* weight, int64_t count,
                          Finish finish, Stop stop) {
  constexpr int kCount = sizeof(V) / sizeof(T), W = R * kCount;
  V folded[R];
  {
    const V w = broadcast<V>(weight[0]);
    const T* row = values + int64_t{source[0]} * W;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) folded[r] = Fold::first(w, load<V>(row + r * kCount));
  }
  const int64_t patience = patience_of(W);
  for (int64_t e = 1; e < count;) {
    const int64_t end = count - e > patience ? e + patience : count;
    for (; e < end; ++e) {
      const V w = broadcast<V>(weight[e]);
      const T* row = values + int64_t{source[e]} * W;
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) folded[r] = Fold::next(folded[r], w, load<V>(row + r * kCount));
    }
    if (e < count && stop()) return;
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) finish(r, folded[r]);
}

template <class T>
struct NodeLinks {
  const int32_t* source;
  const T* weight;
  int64_t count;
};

// Joins any number of links by any aggregation.
template <class V, int R, class T, class Finish, class Stop>
EVONET_FN void join_links(int aggregation, const T* values, NodeLinks<T> links, T* scratch,
                          Finish finish, Stop stop) {
  constexpr int kCount = sizeof(V) / sizeof(T), W = R * kCount;
  const int64_t count = links.count;
  const auto fold = [&](auto by, auto done) {
    fold_links<decltype(by), V, R>(values, links.source, links.weight, count, done, stop);
  };
  if (count == 0) {
    for (int r = 0; r < R; ++r) finish(r, broadcast<V>(agg_empty<T>(aggregation)));
    return;
  }
  if (aggregation >= NUM_AGGREGATIONS) {
    T joined[W] = {};
    const auto asked = [](void* stop_of) { return (*static_cast<Stop*>(stop_of))(); };
    if (const Program<T>* program = custom_aggregation<T>(aggregation)) {
      aggregate_by<T>(*program, values, links.source, links.weight, count, W, joined, asked, &stop);
    }
    for (int r = 0; r < R; ++r) finish(r, load<V>(joined + r * kCount));
    return;
  }
  switch (aggregation) {
#define EVONET_FOLD(ID, name, formula) \
  case AGG_##ID:                       \
    return fold(Fold_##name(), finish);
#include "nodes/functions.def"
    case AGG_MEDIAN:
      for (int r = 0; r < R; ++r) {
        T medians[kCount];
        for (int i = 0; i < kCount; ++i) {
          const T* column = values + r * kCount + i;
          for (int64_t e = 0; e < count; ++e) {
            scratch[e] = links.weight[e] * column[int64_t{links.source[e]} * W];
          }
          medians[i] = median_inplace(scratch, static_cast<int>(count));
          if (count > 4096 && stop()) return;
        }
        finish(r, load<V>(medians));
      }
      return;
    default: {
      const V total = broadcast<V>(T(count));
      return fold(Fold_sum(),
                  [&](int r, V sum) { finish(r, agg_finish(aggregation, sum, total)); });
    }
  }
}

// Consecutive nodes that share their functions; all have links, or none has.
struct NodeRun {
  int64_t begin, end;
  int activation, aggregation;
};

// The common case: nodes that sum, none of which has many links. apply(vector of the sums) is what
// is stored, and finished(row) comes after it.
template <class V, int R, class T, class Apply, class Finished>
EVONET_FN void sum_nodes(const ScheduleView<T>& s, NodeRun run, T* values, Apply apply,
                         Finished finished) {
  constexpr int kCount = sizeof(V) / sizeof(T), W = R * kCount;
  int64_t edge = s.edge_start[run.begin];
  const int32_t* source = s.source + edge;
  const T* weight = s.weight + edge;
  for (int64_t k = run.begin; k < run.end; ++k) {
    T* const row = values + int64_t{s.slot[k]} * W;
    const int64_t count = s.edge_start[k + 1] - edge;
    const V bias = broadcast<V>(s.bias[k]), response = broadcast<V>(s.response[k]);
    const auto finish = [&](int r, V sum) {
      store(row + r * kCount, apply(preactivation(bias, response, sum)));
    };
    fold_links<Fold_sum, V, R>(values, source, weight, count, finish, NeverStop());
    finished(row);
    edge += count;
    source += count;
    weight += count;
  }
}

// With a built-in activation, which is called. Out of line, as all runs are: the loop over links
// needs all registers for itself.
template <class V, int R, class T>
__attribute__((noinline)) void sum_run(const ScheduleView<T>& s, NodeRun run, T* values) {
  constexpr int W = R * int{sizeof(V) / sizeof(T)};
  const ActivateRow<T> activate = activation_on_rows<T>(run.activation);
  sum_nodes<V, R>(s, run, values, [](V z) { return z; }, [&](T* row) { activate(row, W); });
}

template <class V, int R, class T>
__attribute__((noinline)) void join_run(const ScheduleView<T>& s, NodeRun run, T* values,
                                        T* scratch, Interrupt& interrupt) {
  constexpr int kCount = sizeof(V) / sizeof(T), W = R * kCount;
  const auto stop = [&] { return interrupt.requested(); };
  for (int64_t k = run.begin; k < run.end; ++k) {
    T* const row = values + int64_t{s.slot[k]} * W;
    const int64_t edge = s.edge_start[k];
    const V bias = broadcast<V>(s.bias[k]), response = broadcast<V>(s.response[k]);
    const auto finish = [&](int r, V joined) {
      store(row + r * kCount, preactivation(bias, response, joined));
    };
    join_links<V, R>(run.aggregation, values,
                     NodeLinks<T>{s.source + edge, s.weight + edge, s.edge_start[k + 1] - edge},
                     scratch, finish, stop);
    activate_row<T>(run.activation, row, W);
  }
}

// The common case in rows of one sample and of few vectors; see fused_runs.h.
template <class T>
void sum_numbers(const ScheduleView<T>& s, NodeRun run, T* values);
template <class T, int R>
void sum_vectors(const ScheduleView<T>& s, NodeRun run, T* values);

// A width of rows, and the code for it.
template <class T>
struct RowKernels {
  int width;
  void (*sum)(const ScheduleView<T>& s, NodeRun run, T* values);
  void (*join)(const ScheduleView<T>& s, NodeRun run, T* values, T* scratch, Interrupt& interrupt);
};

// Eight accumulators hide the latency of a multiply-add and still fit the registers; beside them, a
// call of a cheap function costs little. Where a multiply-add takes many instructions, there is no
// latency to hide, and a call costs nothing.
#if defined(EVONET_SLOW_FMA)
constexpr int kNumRows = 2, kMostFused = 0;
#else
constexpr int kNumRows = 5, kMostFused = 4;
#endif

template <class T, int R>
constexpr auto row_sum() {
  if constexpr (kMostFused > 0) {
    return &sum_vectors<T, R>;
  } else {
    return &sum_run<FullVector<T>, R, T>;
  }
}

template <class T, int R>
constexpr RowKernels<T> kRow = {R * kVectorLanes<T>, row_sum<T, R>(),
                                &join_run<FullVector<T>, R, T>};

template <class T>
constexpr RowKernels<T> kRows[kNumRows] = {
    {1, &sum_numbers<T>, &join_run<T, 1, T>},
    kRow<T, 1>,
#if !defined(EVONET_SLOW_FMA)
    kRow<T, 2>,
    kRow<T, 4>,
    kRow<T, 8>,
#endif
};

template <class T>
constexpr int kMaxWidth = kRows<T>[kNumRows - 1].width;

// The narrowest that holds `count` samples, or the widest.
template <class T>
EVONET_FN const RowKernels<T>& rows_for(int count) {
  const RowKernels<T>* rows = kRows<T>;
  while (rows->width < count && rows->width < kMaxWidth<T>) ++rows;
  return *rows;
}

EVONET_NAMESPACE_END
