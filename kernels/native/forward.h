// forward.h: the feed-forward pass of one genome on one block of W samples.
// Values lie as [slot][sample], so a link is one broadcast weight times a row. A run of nodes with
// equal functions is summed node by node, then activated as one long row: activation is the larger
// part of the work, and this keeps its pipeline full whatever the shape of the network.
#pragma once

#include "activations.h"
#include "aggregations.h"
#include "native/isa.h"
#include "native/simd.h"
#include "node.h"

EVONET_NAMESPACE_BEGIN

template <class Function, class T>
inline void activate_row(T* v, int64_t count) {
  constexpr int64_t kChunk = 64 / sizeof(T);
  const int64_t whole = count - count % kChunk;
  for (int64_t i = 0; i < whole; ++i) v[i] = Function::apply(v[i]);
  if (whole == count) return;
  const int64_t rest = count - whole;
  for (int64_t i = 0; i < kChunk; ++i) {
    const T y = Function::apply(v[whole + i]);
    v[whole + i] = i < rest ? y : v[whole + i];
  }
}

template <class T>
void activate_rows(int id, T* v, int64_t count) {
#define EVONET_CASE(ID, name)                                           \
  case ID: {                                                            \
    struct Function {                                                   \
      static T apply(T z) { return activate_##name(z); }                \
    };                                                                  \
    return activate_row<Function>(v, count);                            \
  }
  switch (id) {
    EVONET_CASE(ACT_SIGMOID, sigmoid)
    EVONET_CASE(ACT_TANH, tanh)
    EVONET_CASE(ACT_SIN, sin)
    EVONET_CASE(ACT_GAUSS, gauss)
    EVONET_CASE(ACT_RELU, relu)
    EVONET_CASE(ACT_ELU, elu)
    EVONET_CASE(ACT_LELU, lelu)
    EVONET_CASE(ACT_SELU, selu)
    EVONET_CASE(ACT_SOFTPLUS, softplus)
    EVONET_CASE(ACT_IDENTITY, identity)
    EVONET_CASE(ACT_CLAMPED, clamped)
    EVONET_CASE(ACT_INV, inv)
    EVONET_CASE(ACT_LOG, log)
    EVONET_CASE(ACT_EXP, exp)
    EVONET_CASE(ACT_ABS, abs)
    EVONET_CASE(ACT_HAT, hat)
    EVONET_CASE(ACT_SQUARE, square)
    EVONET_CASE(ACT_CUBE, cube)
  }
#undef EVONET_CASE
}

// Joins the links of one node over W samples, in link order: finish(r, row r of the result).
template <class Fold, class T, int W, class Finish>
EVONET_FN void fold_links(const T* values, const int32_t* source, const T* weight, int64_t count,
                          Finish finish) {
  using V = Vector<T, W>;
  constexpr int kRows = W / kLanes<T, W>;
  V folded[kRows];
  {
    const V w = broadcast<V>(weight[0]);
    const T* row = values + int64_t{source[0]} * W;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) folded[r] = Fold::first(w, load<V>(row + r * kLanes<T, W>));
  }
  for (int64_t e = 1; e < count; ++e) {
    const V w = broadcast<V>(weight[e]);
    const T* row = values + int64_t{source[e]} * W;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      folded[r] = Fold::next(folded[r], w, load<V>(row + r * kLanes<T, W>));
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) finish(r, folded[r]);
}

#define EVONET_FOLD(Name, name)                \
  struct Name##Fold {                          \
    template <class V>                         \
    static EVONET_METHOD V first(V w, V v) {   \
      return agg_##name##_first(w, v);         \
    }                                          \
    template <class V>                         \
    static EVONET_METHOD V next(V acc, V w, V v) { \
      return agg_##name##_next(acc, w, v);     \
    }                                          \
  };
#define EVONET_METHOD inline __attribute__((always_inline))
EVONET_FOLD(Sum, sum)
EVONET_FOLD(Product, product)
EVONET_FOLD(Max, max)
EVONET_FOLD(Min, min)
EVONET_FOLD(Maxabs, maxabs)
#undef EVONET_FOLD
#undef EVONET_METHOD

// Joins any number of links by any aggregation.
template <class T, int W, class Finish>
EVONET_FN void aggregate_links_rows(int aggregation, const T* values, const int32_t* source,
                                    const T* weight, int64_t count, T* scratch, Finish finish) {
  using V = Vector<T, W>;
  constexpr int kRows = W / kLanes<T, W>;
  if (count == 0) {
    for (int r = 0; r < kRows; ++r) finish(r, broadcast<V>(agg_empty<T>(aggregation)));
    return;
  }
  switch (aggregation) {
    case AGG_PRODUCT:
      return fold_links<ProductFold, T, W>(values, source, weight, count, finish);
    case AGG_MAX:
      return fold_links<MaxFold, T, W>(values, source, weight, count, finish);
    case AGG_MIN:
      return fold_links<MinFold, T, W>(values, source, weight, count, finish);
    case AGG_MAXABS:
      return fold_links<MaxabsFold, T, W>(values, source, weight, count, finish);
    case AGG_MEDIAN:
      for (int r = 0; r < kRows; ++r) {
        T medians[kLanes<T, W>];
        for (int i = 0; i < kLanes<T, W>; ++i) {
          const T* column = values + r * kLanes<T, W> + i;
          for (int64_t e = 0; e < count; ++e) {
            scratch[e] = weight[e] * column[int64_t{source[e]} * W];
          }
          medians[i] = median_inplace(scratch, static_cast<int>(count));
        }
        finish(r, load<V>(medians));
      }
      return;
    default: {
      const V total = broadcast<V>(T(count));
      return fold_links<SumFold, T, W>(values, source, weight, count, [&](int r, V sum) {
        finish(r, agg_finish(aggregation, sum, total));
      });
    }
  }
}

template <class T, int W>
class GenomePass {
 public:
  GenomePass(const ForwardCall<T>& call, SampleBlock block, Workspace<T>& workspace)
      : call_(call), s_(call.schedule), block_(block), workspace_(workspace) {}

  void load_inputs(int64_t genome) {
    if (call_.shared && workspace_.loaded_block == block_.begin) return;
    const int64_t inputs = s_.num_inputs;
    const int64_t first = (call_.shared ? 0 : genome * call_.num_samples) + block_.begin;
    const int64_t count = num_samples();
    for (int64_t i = 0; i < inputs; ++i) {
      T* row = workspace_.values + i * W;
      const T* x = call_.x + first * inputs + i;
      for (int64_t b = 0; b < count; ++b) row[b] = x[b * inputs];
      for (int64_t b = count; b < W; ++b) row[b] = T(0);
    }
    workspace_.loaded_block = block_.begin;
  }

  // Returns false if it was interrupted.
  bool run(int64_t genome, Interrupt& interrupt) {
    const int64_t first = s_.node_start[genome];
    int64_t begin = first;
    for (int64_t l = s_.level_start[genome]; l < s_.level_start[genome + 1]; ++l) {
      const int64_t level_end = first + s_.level_end[l];
      while (begin < level_end) {
        const int activation = s_.activation[begin], aggregation = s_.aggregation[begin];
        int64_t end = begin + 1;
        while (end < level_end && s_.activation[end] == activation &&
               s_.aggregation[end] == aggregation) {
          ++end;
        }
        T* rows = workspace_.values + (s_.num_inputs + begin - first) * W;
        if (!preactivate(aggregation, begin, end, rows, interrupt)) return false;
        activate_rows(activation, rows, (end - begin) * W);
        begin = end;
      }
    }
    return true;
  }

  void store_outputs(int64_t genome) const {
    const int64_t outputs = s_.num_outputs;
    const int64_t count = num_samples();
    T* y = call_.y + (genome * call_.num_samples + block_.begin) * outputs;
    for (int64_t o = 0; o < outputs; ++o) {
      const int32_t slot = s_.output_slot[genome * outputs + o];
      const T* row = workspace_.values + int64_t{slot} * W;
      for (int64_t b = 0; b < count; ++b) y[b * outputs + o] = slot < 0 ? T(0) : row[b];
    }
  }

 private:
  int64_t num_samples() const {
    const int64_t left = call_.num_samples - block_.begin;
    return left < W ? left : W;
  }

  // The nodes [begin, end) of one level and one aggregation, up to their activation.
  bool preactivate(int aggregation, int64_t begin, int64_t end, T* rows, Interrupt& interrupt) {
    using V = Vector<T, W>;
    for (int64_t k = begin; k < end; ++k, rows += W) {
      const int64_t edge = s_.edge_start[k];
      const int64_t count = s_.edge_start[k + 1] - edge;
      const V bias = broadcast<V>(s_.bias[k]), response = broadcast<V>(s_.response[k]);
      const auto finish = [&](int r, V joined) {
        store(rows + r * kLanes<T, W>, preactivation(bias, response, joined));
      };
      if (aggregation == AGG_SUM && count > 0) {
        fold_links<SumFold, T, W>(workspace_.values, s_.source + edge, s_.weight + edge, count,
                                  finish);
      } else {
        aggregate_links_rows<T, W>(aggregation, workspace_.values, s_.source + edge,
                                   s_.weight + edge, count, workspace_.links, finish);
      }
      patience_ -= count + 8;
      if (patience_ < 0) {
        patience_ = kPatience;
        if (interrupt.requested()) return false;
      }
    }
    return true;
  }

  // Links between two looks at the interrupt: below 10 ms even without SIMD.
  static constexpr int64_t kPatience = (1 << 22) / W;

  const ForwardCall<T>& call_;
  const ScheduleView<T>& s_;
  const SampleBlock block_;
  Workspace<T>& workspace_;
  int64_t patience_ = kPatience;
};

template <class T, int W>
void forward_block(const ForwardCall<T>& call, int64_t begin, int64_t end, SampleBlock block,
                   Workspace<T>& workspace, Interrupt& interrupt) {
  GenomePass<T, W> pass(call, block, workspace);
  for (int64_t g = begin; g < end; ++g) {
    pass.load_inputs(g);
    if (!pass.run(g, interrupt)) return;
    pass.store_outputs(g);
  }
}

template <class T>
void forward_genomes(const ForwardCall<T>& call, int64_t begin, int64_t end, SampleBlock block,
                     Workspace<T>& workspace, Interrupt& interrupt) {
  switch (block.width) {
    case 1:
      return forward_block<T, 1>(call, begin, end, block, workspace, interrupt);
    case 4:
      return forward_block<T, 4>(call, begin, end, block, workspace, interrupt);
    case 8:
      return forward_block<T, 8>(call, begin, end, block, workspace, interrupt);
    case 16:
      return forward_block<T, 16>(call, begin, end, block, workspace, interrupt);
    case 32:
      return forward_block<T, 32>(call, begin, end, block, workspace, interrupt);
    default:
      return forward_block<T, 64>(call, begin, end, block, workspace, interrupt);
  }
}

// The aggregation of [num_links, num_samples] values alone, by the same code as above.
template <class T>
void aggregate_rows(int id, const T* weights, const T* values, const int32_t* source,
                    int64_t num_links, T* scratch, T* out) {
  using V = Vector<T, 16>;
  aggregate_links_rows<T, 16>(id, values, source, weights, num_links, scratch,
                              [&](int r, V joined) { store(out + r * kLanes<T, 16>, joined); });
}

EVONET_NAMESPACE_END
