// forward.h: the forward pass of one genome on one block of samples, a row per slot.
#pragma once

#include "native/links.h"
#include "native/output_rows.h"
#include "nodes/cells.h"

EVONET_NAMESPACE_BEGIN

template <class T>
class GenomePass {
 public:
  GenomePass(const ForwardCall<T>& call, SampleBlock block, Workspace<T>& workspace,
             Interrupt& interrupt)
      : call_(call),
        s_(call.schedule),
        block_(block),
        workspace_(workspace),
        interrupt_(interrupt),
        rows_(rows_for<T>(block.width)),
        width_(rows_.width) {}

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
          links <= patience_of(width_)) {
        rows_.sum(s_, run, workspace_.values);
      } else {
        rows_.join(s_, run, workspace_.values, workspace_.links, interrupt_);
      }
      begin = run.end;
    }
    return true;
  }

  // Ends a step of a network with memory.
  void settle(int64_t genome) {
    if (width_ == 1) {
      settle_vectors<T>(genome);
    } else {
      settle_vectors<FullVector<T>>(genome);
    }
  }

  int width() const { return width_; }  // of its rows

  // The first of the rows that hold what the nodes of a genome remember, [C, nodes].
  T* first_state_row(int64_t genome) const {
    return workspace_.values + s_.first_state(genome) * width_;
  }

 private:
  template <class V>
  void settle_vectors(int64_t genome) {
    constexpr int kCount = sizeof(V) / sizeof(T);
    const int64_t first = s_.node_start[genome], count = s_.num_nodes(genome);
    const int32_t* const slot = s_.slot + first;
    T *const values = workspace_.values, *const state_rows = first_state_row(genome);
    // Of this function's own: what is stored below might be members, for all the compiler knows.
    const int64_t width = width_, plane = count * width;
    const T time_step = s_.time_step;
    with_cell(s_.kind, [&](auto cell) {
      using Cell = decltype(cell);
      const T* genes = s_.cell + first * Cell::kParameters;
      for (int64_t k = 0; k < count; ++k, genes += Cell::kParameters) {
        V parameter[Cell::kParameters + 1], state[Cell::kStates + 1];
        for (int i = 0; i < Cell::kParameters; ++i) parameter[i] = broadcast<V>(genes[i]);
        T *const row = values + slot[k] * width, *const states = state_rows + k * width;
        for (int64_t b = 0; b < width; b += kCount) {
          V value = load<V>(row + b);
          for (int c = 0; c < Cell::kStates; ++c) state[c] = load<V>(states + c * plane + b);
          Cell::settle(value, state, parameter, time_step);
          store(row + b, value);
          for (int c = 0; c < Cell::kStates; ++c) store(states + c * plane + b, state[c]);
        }
      }
    });
  }

  // This and the next three return false if they were interrupted.
  bool load_inputs(int64_t genome) {
    if (call_.shared && workspace_.loaded_block == block_.begin) return true;
    const int64_t inputs = s_.num_inputs;
    const int64_t first = (call_.shared ? 0 : genome * call_.num_samples) + block_.begin;
    const int64_t count = num_samples();
    for (int64_t i = 0; i < inputs; ++i) {
      if (interrupted_after(kCopyCost)) return false;
      T* row = workspace_.values + i * width_;
      const T* x = call_.x + first * inputs + i;
      for (int64_t b = 0; b < count; ++b) row[b] = x[b * inputs];
      for (int64_t b = count; b < width_; ++b) row[b] = T(0);
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
      for (int64_t k = 0; k < count; ++k, row += width_, from += call_.num_samples) {
        if (interrupted_after(kCopyCost)) return false;
        for (int64_t b = 0; b < num_samples(); ++b) row[b] = from[b];
        for (int64_t b = num_samples(); b < width_; ++b) row[b] = T(0);
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
          for (int b = 0; b < width_; ++b) state_rows[(c * count + k) * width_ + b] = state[c];
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
      for (int64_t k = 0; k < count; ++k, row += width_, to += call_.num_samples) {
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
    if (width_ > 1 && count == width_ &&
        store_whole_samples(workspace_.values, s_.output_slot + genome * outputs, outputs, width_,
                            y)) {
      return !interrupted_after(kCopyCost * outputs);
    }
    for (int64_t o = 0; o < outputs; ++o) {
      if (interrupted_after(kCopyCost)) return false;
      const int32_t slot = s_.output_slot[genome * outputs + o];
      const T* row = workspace_.values + int64_t{slot} * width_;
      for (int64_t b = 0; b < count; ++b) y[b * outputs + o] = slot < 0 ? T(0) : row[b];
    }
    return true;
  }

  int64_t num_samples() const {
    const int64_t left = call_.num_samples - block_.begin;
    return left < width_ ? left : width_;
  }

  NodeRun run_from(int64_t begin, int64_t end) const {
    NodeRun run{begin, begin + 1, s_.activation[begin], s_.aggregation[begin]};
    const bool linked = s_.edge_start[begin] < s_.edge_start[begin + 1];
    const int64_t cost = is_slow(run.aggregation) ? kSlowCost : 1;
    const int64_t edge_limit = s_.edge_start[begin] + patience_of(width_) / cost;
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
    patience_ = patience_of(width_);
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
  const RowKernels<T>& rows_;
  const int width_;  // of a row
  int64_t patience_ = patience_of(width_);
};

// Genomes [begin, end) on one block of samples.
template <class T>
void forward_genomes(const ForwardCall<T>& call, int64_t begin, int64_t end, SampleBlock block,
                     Workspace<T>& workspace, Interrupt& interrupt) {
  GenomePass<T> pass(call, block, workspace, interrupt);
  for (int64_t g = begin; g < end; ++g) {
    if (!pass.evaluate(g)) return;
  }
}

// One activation alone, over any number of values.
template <class T>
void activate_values(int id, T* v, int64_t count) {
  constexpr int kWidth = 64 / sizeof(T);
  for (int64_t i = 0; i < count; i += kWidth) activate_row(id, v + i, kWidth);
}

// A custom aggregation, for a row of one or of whole vectors of samples.
template <class T>
void aggregate_program(const Program<T>& program, const T* values, const int32_t* source,
                       const T* weight, int64_t count, int width, T* out) {
  const auto never = [](void*) { return false; };
  aggregate_by<T>(program, values, source, weight, count, width, out, never, nullptr);
}

// Its derivative.
template <class T>
void terms_of_program(const Program<T>& program, const T* values, const int32_t* source,
                      const T* weight, int64_t count, int width, T* out) {
  const auto never = [](void*) { return false; };
  terms_by<T>(program, values, source, weight, count, width, out, never, nullptr);
}

// One aggregation alone, by the same code as above.
template <class T>
void aggregate_values(int id, const T* weights, const T* values, const int32_t* source,
                      int64_t num_links, T* scratch, T* out) {
  using V = FullVector<T>;
  join_links<V, 1>(
      id, values, NodeLinks<T>{source, weights, num_links}, scratch,
      [&](int, V joined) { store(out, joined); }, NeverStop());
}

EVONET_NAMESPACE_END
