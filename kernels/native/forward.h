// forward.h: the forward pass of one genome on one block of W samples.
// Values lie as [slot][sample], so a link is one broadcast weight times a row of samples, and the
// formulas of node.h run on whole vectors of them.
#pragma once

#include "native/isa/isa.h"
#include "native/program_rows.h"
#include "native/simd.h"
#include "nodes/cells.h"
#include "nodes/dispatch.h"
#include "nodes/node.h"

EVONET_NAMESPACE_BEGIN

// Links of W samples each between two looks at the interrupt: a millisecond or so.
template <int W>
constexpr int64_t kPatience = W < 4 ? 1 << 20 : (1 << 22) / W;

struct NeverStop {
  bool operator()() const { return false; }
};

// Joins the links of one node over W samples, in link order: finish(r, row r of the result). A
// node of very many links asks stop() now and then.
template <class Fold, class T, int W, class Finish, class Stop>
EVONET_FN void fold_links(const T* values, const int32_t* source, const T* weight, int64_t count,
                          Finish finish, Stop stop) {
  using V = Vector<T, W>;
  constexpr int kRows = W / kLanes<T, W>;
  V folded[kRows];
  {
    const V w = broadcast<V>(weight[0]);
    const T* row = values + int64_t{source[0]} * W;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) folded[r] = Fold::first(w, load<V>(row + r * kLanes<T, W>));
  }
  for (int64_t e = 1; e < count;) {
    const int64_t end = count - e > kPatience<W> ? e + kPatience<W> : count;
    for (; e < end; ++e) {
      const V w = broadcast<V>(weight[e]);
      const T* row = values + int64_t{source[e]} * W;
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        folded[r] = Fold::next(folded[r], w, load<V>(row + r * kLanes<T, W>));
      }
    }
    if (e < count && stop()) return;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) finish(r, folded[r]);
}

// Joins any number of links by any aggregation.
template <class T, int W, class Finish, class Stop>
EVONET_FN void join_links(int aggregation, const T* values, const int32_t* source, const T* weight,
                          int64_t count, T* scratch, Finish finish, Stop stop) {
  using V = Vector<T, W>;
  constexpr int kRows = W / kLanes<T, W>;
  if (count == 0) {
    for (int r = 0; r < kRows; ++r) finish(r, broadcast<V>(agg_empty<T>(aggregation)));
    return;
  }
  if (aggregation >= NUM_AGGREGATIONS) {
    T joined[W] = {};
    const auto asked = [](void* stop_of) { return (*static_cast<Stop*>(stop_of))(); };
    if (const Program<T>* program = custom_aggregation<T>(aggregation)) {
      aggregate_by<T, W>(*program, values, source, weight, count, joined, asked, &stop);
    }
    for (int r = 0; r < kRows; ++r) finish(r, load<V>(joined + r * kLanes<T, W>));
    return;
  }
  switch (aggregation) {
#define EVONET_FOLD(ID, name, formula) \
  case AGG_##ID:                       \
    return fold_links<Fold_##name, T, W>(values, source, weight, count, finish, stop);
#include "nodes/functions.def"
    case AGG_MEDIAN:
      for (int r = 0; r < kRows; ++r) {
        T medians[kLanes<T, W>];
        for (int i = 0; i < kLanes<T, W>; ++i) {
          const T* column = values + r * kLanes<T, W> + i;
          for (int64_t e = 0; e < count; ++e) {
            scratch[e] = weight[e] * column[int64_t{source[e]} * W];
          }
          medians[i] = median_inplace(scratch, static_cast<int>(count));
          if (count > 4096 && stop()) return;
        }
        finish(r, load<V>(medians));
      }
      return;
    default: {
      const V total = broadcast<V>(T(count));
      const auto divide = [&](int r, V sum) { finish(r, agg_finish(aggregation, sum, total)); };
      return fold_links<Fold_sum, T, W>(values, source, weight, count, divide, stop);
    }
  }
}

// Any activation on a row of W samples, in place.
template <class T, int W>
EVONET_FN void activate_row(int id, T* row) {
  using V = Vector<T, W>;
  if (id >= NUM_ACTIVATIONS) {
    const Program<T>* program = custom_activation<T>(id);
    if (program != nullptr) activate_by(*program, row, W);
    return;
  }
  with_activation(id, [&](auto activation) {
    for (int i = 0; i < W; i += kLanes<T, W>) store(row + i, activation.apply(load<V>(row + i)));
  });
}

// Consecutive nodes that share their functions; all have links, or none has.
struct NodeRun {
  int64_t begin, end;
  int activation, aggregation;
};

// The common case, kept out of line: the loop over links needs all registers for itself. No node
// here has many links.
template <class Activation, class T, int W>
__attribute__((noinline)) void sum_run(const ScheduleView<T>& s, NodeRun run, T* values) {
  using V = Vector<T, W>;
  int64_t edge = s.edge_start[run.begin];
  const int32_t* source = s.source + edge;
  const T* weight = s.weight + edge;
  for (int64_t k = run.begin; k < run.end; ++k) {
    T* const row = values + int64_t{s.slot[k]} * W;
    const int64_t count = s.edge_start[k + 1] - edge;
    const V bias = broadcast<V>(s.bias[k]), response = broadcast<V>(s.response[k]);
    const auto finish = [&](int r, V sum) {
      store(row + r * kLanes<T, W>, Activation::apply(preactivation(bias, response, sum)));
    };
    fold_links<Fold_sum, T, W>(values, source, weight, count, finish, NeverStop());
    edge += count;
    source += count;
    weight += count;
  }
}

template <class T, int W>
__attribute__((noinline)) void join_run(const ScheduleView<T>& s, NodeRun run, T* values,
                                        T* scratch, Interrupt& interrupt) {
  using V = Vector<T, W>;
  const auto stop = [&] { return interrupt.requested(); };
  for (int64_t k = run.begin; k < run.end; ++k) {
    T* const row = values + int64_t{s.slot[k]} * W;
    const int64_t edge = s.edge_start[k];
    const V bias = broadcast<V>(s.bias[k]), response = broadcast<V>(s.response[k]);
    const auto finish = [&](int r, V joined) {
      store(row + r * kLanes<T, W>, preactivation(bias, response, joined));
    };
    join_links<T, W>(run.aggregation, values, s.source + edge, s.weight + edge,
                     s.edge_start[k + 1] - edge, scratch, finish, stop);
    activate_row<T, W>(run.activation, row);
  }
}

template <class T, int W>
class GenomePass {
 public:
  GenomePass(const ForwardCall<T>& call, SampleBlock block, Workspace<T>& workspace,
             Interrupt& interrupt)
      : call_(call),
        s_(call.schedule),
        block_(block),
        workspace_(workspace),
        interrupt_(interrupt) {}

  // All steps of a genome; false if it was interrupted.
  bool evaluate(int64_t genome) {
    if (!load_inputs(genome)) return false;
    if (s_.num_states == 0) return run(genome) && store_outputs(genome);
    if (!load_state(genome)) return false;
    for (int64_t step = 0; step < s_.steps; ++step) {
      if (!run(genome)) return false;
      settle(genome);
    }
    return store_state(genome) && store_outputs(genome);
  }

  // Computes all nodes once; false if it was interrupted.
  bool run(int64_t genome) {
    const int64_t end = s_.node_start[genome + 1];
    for (int64_t begin = s_.node_start[genome]; begin < end;) {
      const NodeRun run = run_from(begin, end);
      const int64_t links = s_.edge_start[run.end] - s_.edge_start[begin];
      const int64_t cost = is_slow(run.aggregation) ? kSlowCost * links : links;
      if (interrupted_after(cost + 8 * (run.end - begin))) return false;
      if (run.aggregation == AGG_SUM && run.activation < NUM_ACTIVATIONS && 0 < links &&
          links <= kPatience<W>) {
        with_activation(run.activation, [&](auto activation) {
          sum_run<decltype(activation), T, W>(s_, run, workspace_.values);
        });
      } else {
        join_run<T, W>(s_, run, workspace_.values, workspace_.links, interrupt_);
      }
      begin = run.end;
    }
    return true;
  }

  // Ends a step of a network with memory.
  void settle(int64_t genome) {
    const int64_t first = s_.node_start[genome], count = s_.num_nodes(genome);
    const int32_t* const slot = s_.slot + first;
    T *const values = workspace_.values, *const state_rows = first_state_row(genome);
    with_cell(s_.kind, [&](auto cell) {
      using Cell = decltype(cell);
      using V = Vector<T, W>;
      for (int64_t k = 0; k < count; ++k) {
        V parameter[Cell::kParameters + 1], state[Cell::kStates + 1];
        for (int i = 0; i < Cell::kParameters; ++i) {
          parameter[i] = broadcast<V>(s_.cell[(first + k) * Cell::kParameters + i]);
        }
        T *const row = values + int64_t{slot[k]} * W, *const states = state_rows + k * W;
        for (int b = 0; b < W; b += kLanes<T, W>) {
          V value = load<V>(row + b);
          for (int c = 0; c < Cell::kStates; ++c) {
            state[c] = load<V>(states + c * count * W + b);
          }
          Cell::settle(value, state, parameter, s_.time_step);
          store(row + b, value);
          for (int c = 0; c < Cell::kStates; ++c) {
            store(states + c * count * W + b, state[c]);
          }
        }
      }
    });
  }

  // The first of the rows that hold what the nodes of a genome remember, [C, nodes].
  T* first_state_row(int64_t genome) const {
    return workspace_.values + s_.first_state(genome) * W;
  }

 private:
  // This and the next three return false if they were interrupted.
  bool load_inputs(int64_t genome) {
    if (call_.shared && workspace_.loaded_block == block_.begin) return true;
    const int64_t inputs = s_.num_inputs;
    const int64_t first = (call_.shared ? 0 : genome * call_.num_samples) + block_.begin;
    const int64_t count = num_samples();
    for (int64_t i = 0; i < inputs; ++i) {
      if (interrupted_after(kCopyCost)) return false;
      T* row = workspace_.values + i * W;
      const T* x = call_.x + first * inputs + i;
      for (int64_t b = 0; b < count; ++b) row[b] = x[b * inputs];
      for (int64_t b = count; b < W; ++b) row[b] = T(0);
    }
    workspace_.loaded_block = block_.begin;
    return true;
  }

  bool load_state(int64_t genome) {
    const int64_t first = s_.node_start[genome], count = s_.num_nodes(genome);
    T* row = first_state_row(genome);
    if (call_.state == nullptr) {
      fill_first_state(genome, row);
      return true;
    }
    for (int c = 0; c < s_.num_states; ++c) {
      const T* from = call_.state + state_row(c, first);
      for (int64_t k = 0; k < count; ++k, row += W, from += call_.num_samples) {
        if (interrupted_after(kCopyCost)) return false;
        for (int64_t b = 0; b < num_samples(); ++b) row[b] = from[b];
        for (int64_t b = num_samples(); b < W; ++b) row[b] = T(0);
      }
    }
    return true;
  }

  void fill_first_state(int64_t genome, T* state_rows) {
    const int64_t first = s_.node_start[genome], count = s_.num_nodes(genome);
    with_cell(s_.kind, [&](auto cell) {
      using Cell = decltype(cell);
      for (int64_t k = 0; k < count; ++k) {
        T state[Cell::kStates + 1];
        Cell::begin(s_.cell + (first + k) * Cell::kParameters, state);
        for (int c = 0; c < Cell::kStates; ++c) {
          for (int b = 0; b < W; ++b) state_rows[(c * count + k) * W + b] = state[c];
        }
      }
    });
  }

  bool store_state(int64_t genome) {
    if (call_.next_state == nullptr) return true;
    const int64_t first = s_.node_start[genome], count = s_.num_nodes(genome);
    const T* row = first_state_row(genome);
    for (int c = 0; c < s_.num_states; ++c) {
      T* to = call_.next_state + state_row(c, first);
      for (int64_t k = 0; k < count; ++k, row += W, to += call_.num_samples) {
        if (interrupted_after(kCopyCost)) return false;
        for (int64_t b = 0; b < num_samples(); ++b) to[b] = row[b];
      }
    }
    return true;
  }

  // Where the block's samples begin in [C, N, B].
  int64_t state_row(int64_t plane, int64_t node) const {
    return (plane * s_.node_start[s_.num_genomes] + node) * call_.num_samples + block_.begin;
  }

  bool store_outputs(int64_t genome) {
    const int64_t outputs = s_.num_outputs;
    const int64_t count = num_samples();
    T* y = call_.y + (genome * call_.num_samples + block_.begin) * outputs;
    for (int64_t o = 0; o < outputs; ++o) {
      if (interrupted_after(kCopyCost)) return false;
      const int32_t slot = s_.output_slot[genome * outputs + o];
      const T* row = workspace_.values + int64_t{slot} * W;
      for (int64_t b = 0; b < count; ++b) y[b * outputs + o] = slot < 0 ? T(0) : row[b];
    }
    return true;
  }

  int64_t num_samples() const {
    const int64_t left = call_.num_samples - block_.begin;
    return left < W ? left : W;
  }

  NodeRun run_from(int64_t begin, int64_t end) const {
    NodeRun run{begin, begin + 1, s_.activation[begin], s_.aggregation[begin]};
    const bool linked = s_.edge_start[begin] < s_.edge_start[begin + 1];
    const int64_t cost = is_slow(run.aggregation) ? kSlowCost : 1;
    const int64_t edge_limit = s_.edge_start[begin] + kPatience<W> / cost;
    while (run.end < end && s_.activation[run.end] == run.activation &&
           s_.aggregation[run.end] == run.aggregation &&
           (s_.edge_start[run.end] < s_.edge_start[run.end + 1]) == linked &&
           s_.edge_start[run.end + 1] < edge_limit) {
      ++run.end;
    }
    return run;
  }

  bool interrupted_after(int64_t cost) {
    patience_ -= cost;
    if (patience_ >= 0) return false;
    patience_ = kPatience<W>;
    return interrupt_.requested();
  }

  static bool is_slow(int aggregation) {
    return aggregation == AGG_MEDIAN || aggregation >= NUM_AGGREGATIONS;
  }

  // In links: an input or output in the callers' layout, and a link that is sorted or goes through
  // a program.
  static constexpr int64_t kCopyCost = 8, kSlowCost = 32;

  const ForwardCall<T>& call_;
  const ScheduleView<T>& s_;
  const SampleBlock block_;
  Workspace<T>& workspace_;
  Interrupt& interrupt_;
  int64_t patience_ = kPatience<W>;
};

// Eight rows of accumulators hide the latency of a multiply-add and still fit the registers.
template <class T>
constexpr int kMaxWidth = 8 * kVectorBytes / int{sizeof(T)};

template <class T, int W = kMaxWidth<T>>
void forward_genomes(const ForwardCall<T>& call, int64_t begin, int64_t end, SampleBlock block,
                     Workspace<T>& workspace, Interrupt& interrupt) {
  if constexpr (W > 1) {
    if (block.width < W) {
      constexpr int kNarrower = W > 4 ? W / 2 : 1;
      return forward_genomes<T, kNarrower>(call, begin, end, block, workspace, interrupt);
    }
  }
  GenomePass<T, W> pass(call, block, workspace, interrupt);
  for (int64_t g = begin; g < end; ++g) {
    if (!pass.evaluate(g)) return;
  }
}

// One activation alone, over any number of values.
template <class T>
void activate_rows(int id, T* v, int64_t count) {
  constexpr int kWidth = 64 / sizeof(T);
  for (int64_t i = 0; i < count; i += kWidth) activate_row<T, kWidth>(id, v + i);
}

// A custom aggregation, for rows of samples of any width.
template <class T, int W = 64>
void aggregate_program(const Program<T>& program, const T* values, const int32_t* source,
                       const T* weight, int64_t count, int width, T* out) {
  if constexpr (W > 1) {
    if (width < W) {
      constexpr int kNarrower = W > 4 ? W / 2 : 1;
      return aggregate_program<T, kNarrower>(program, values, source, weight, count, width, out);
    }
  }
  const auto never = [](void*) { return false; };
  aggregate_by<T, W>(program, values, source, weight, count, out, never, nullptr);
}

// One aggregation alone, by the same code as above.
template <class T>
void aggregate_rows(int id, const T* weights, const T* values, const int32_t* source,
                    int64_t num_links, T* scratch, T* out) {
  using V = Vector<T, 16>;
  join_links<T, 16>(
      id, values, source, weights, num_links, scratch,
      [&](int r, V joined) { store(out + r * kLanes<T, 16>, joined); }, NeverStop());
}

EVONET_NAMESPACE_END
