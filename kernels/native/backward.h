// backward.h: losses and their derivatives for one genome. Blocks of samples go forwards through
// all steps and back; rows are R vectors long. The adjoint of a value is gathered over the links
// that read it, in their order, so that nothing depends on who adds first.
#pragma once

#include "native/kept_forward.h"
#include "native/lane_sums.h"
#include "native/slope_rows.h"
#include "native/spread_rows.h"
#include "nodes/cells.h"

EVONET_NAMESPACE_BEGIN

template <class T, int R>
class GenomeGradient {
  using V = FullVector<T>;
  static constexpr int kCount = kVectorLanes<T>, W = R * kCount;

 public:
  GenomeGradient(const GradientCall<T>& call, int64_t genome, GradientMemory<T>& memory,
                 Interrupt& interrupt)
      : call_(call),
        s_(call.schedule),
        m_(memory),
        interrupt_(interrupt),
        genome_(genome),
        first_(s_.node_start[genome]),
        count_(s_.num_nodes(genome)),
        first_edge_(s_.edge_start[first_]),
        num_edges_(s_.edge_start[first_ + count_] - first_edge_),
        slots_(s_.num_slots[genome]) {}

  // False if it was interrupted.
  bool run(const T* x, const T* targets) {
    const int64_t steps = call_.num_steps * s_.steps;
    losses_ = {};
    for (int64_t begin = 0; begin < call_.num_samples; begin += W) {
      const int64_t left = call_.num_samples - begin;
      samples_ = static_cast<int>(left < W ? left : W);
      used_ = {samples_ / kGradientLanes, samples_ % kGradientLanes};
      begin_ = begin;
      if (!forward(x, targets)) return false;
      x += call_.num_steps * s_.num_inputs * W;
      targets += call_.num_target_steps * s_.num_outputs * W;
      if (!call_.backward) continue;
      if (s_.num_states > 0) clear(m_.remembered, count_ * W);
      for (int64_t step = steps; step-- > 0;) {
        starts_ = begin == 0 && step == steps - 1;
        if (!step_back(step)) return false;
      }
    }
    finish();
    return true;
  }

 private:
  // ---- forwards ----

  bool forward(const T* x, const T* targets) {
    int64_t step = 0;
    if (s_.num_states > 0) clear(m_.state, count_ * W);
    for (int64_t t = 0; t < call_.num_steps; ++t, x += s_.num_inputs * W) {
      for (int64_t i = 0; i < s_.steps; ++i, ++step) {
        T* const values = m_.values + step * slots_ * W;
        copy(values, x, s_.num_inputs * W);
        if (s_.num_states > 0) copy(values + s_.first_state(genome_) * W, m_.state, count_ * W);
        if (!compute(values, m_.joined + step * count_ * W)) return false;
        if (s_.num_states > 0) settle(values);
      }
      const int64_t before_end = call_.num_steps - t;
      if (before_end > call_.num_target_steps) continue;
      const int64_t at = call_.num_target_steps - before_end;
      take_outputs(m_.values + (step - 1) * slots_ * W);
      add_block_losses(call_.loss, static_cast<int>(s_.num_outputs), m_.outputs,
                       targets + at * s_.num_outputs * W, W, samples_, losses_,
                       m_.slopes + at * s_.num_outputs * W);
    }
    return true;
  }

  bool compute(T* values, T* joined) {
    for (int64_t k = 0; k < count_; ++k, joined += W) {
      const int64_t node = first_ + k, edge = s_.edge_start[node],
                    links = s_.edge_start[node + 1] - edge;
      const int aggregation = s_.aggregation[node];
      if (interrupted_after(links + 8)) return false;
      if (aggregation == AGG_SUM) {
        sum_links<V, R>(values, s_.source + edge, s_.weight + edge, links, joined);
      } else if (links == 0) {
        for (int i = 0; i < W; ++i) joined[i] = agg_empty<T>(aggregation);
      } else {
        join_rows_of(aggregation, links_of(node, values), m_.links, joined);
      }
      T* const row = values + int64_t{s_.slot[node]} * W;
      const V bias = broadcast<V>(s_.bias[node]), response = broadcast<V>(s_.response[node]);
#pragma GCC unroll 16
      for (int i = 0; i < W; i += kCount) {
        store(row + i, preactivation(bias, response, load<V>(joined + i)));
      }
      activate_row<T>(s_.activation[node], row, W);
    }
    return true;
  }

  // What nodes give becomes what they remember; their values stay as links read them.
  void settle(const T* values) {
    for (int64_t k = 0; k < count_; ++k) {
      const T* const row = values + int64_t{s_.slot[first_ + k]} * W;
      T* const state = m_.state + k * W;
      for (int i = 0; i < W; i += kCount) {
        V value = load<V>(row + i), remembered = load<V>(state + i);
        if (s_.kind == KIND_CTRNN) {
          const V kept = broadcast<V>(s_.cell[first_ + k]);
          CtrnnCell::settle(value, &remembered, &kept, s_.time_step);
        } else {
          RecurrentCell::settle(value, &remembered, static_cast<V*>(nullptr), s_.time_step);
        }
        store(state + i, remembered);
      }
    }
  }

  void take_outputs(const T* values) {
    for (int64_t o = 0; o < s_.num_outputs; ++o) {
      const int32_t node = call_.readers.output_node[genome_ * s_.num_outputs + o];
      T* const row = m_.outputs + o * W;
      if (node < 0) {
        clear(row, W);
      } else {
        copy(row,
             s_.num_states > 0 ? m_.state + node * W : values + int64_t{s_.slot[first_ + node]} * W,
             W);
      }
    }
  }

  LinkRows<T> links_of(int64_t node, const T* values) const {
    const int64_t edge = s_.edge_start[node];
    return {values, s_.source + edge, s_.weight + edge, s_.edge_start[node + 1] - edge, W};
  }

  // ---- back ----

  bool step_back(int64_t step) {
    const int64_t t = step / s_.steps, from_end = call_.num_steps - t;
    const bool answers = step % s_.steps == s_.steps - 1 && from_end <= call_.num_target_steps;
    const T* const slopes =
        answers ? m_.slopes + (call_.num_target_steps - from_end) * s_.num_outputs * W : nullptr;
    const T* const values = m_.values + step * slots_ * W;
    const T* const joined = m_.joined + step * count_ * W;
    T *const later = m_.remembered, *const earlier = m_.remembered + count_ * W;
    const Readers readers = this->readers();
    const int32_t *const slot = s_.slot + first_, *const output_of =
                                                      call_.readers.output_of + first_;
    T* const rows = m_.rows;
    const bool remembers = s_.num_states > 0;
    // Nodes on one level do not wait for each other, so that a processor works on several at once.
    int64_t end = count_;
    for (int64_t level = s_.level_start[genome_ + 1]; end > 0;) {
      --level;
      const int64_t begin = level > s_.level_start[genome_] ? s_.level_end[level - 1] : 0;
      for (int64_t k = end; k-- > begin;) {
        V adjoint[R] = {};
        if (output_of[k] >= 0 && slopes != nullptr) add_outputs(first_ + k, slopes, adjoint);
        if (remembers) settle_back(k, values, later + k * W, earlier + k * W, adjoint);
        readers.gather(slot[k], adjoint);
        T* const d = rows + k * W;  // of what the activation gets, then of what links give
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) store(d + r * kCount, adjoint[r]);
      }
      for (int64_t k = begin; k < end;) k = scale_run(k, end, values, joined);
      if (!pass_on(begin, end, values, joined)) return false;
      end = begin;
    }
    if (s_.num_states > 0) {
      for (int64_t k = 0; k < count_; ++k) {
        V adjoint[R];
        for (int r = 0; r < R; ++r) adjoint[r] = load<V>(earlier + k * W + r * kCount);
        readers.gather(s_.first_state(genome_) + k, adjoint);
        for (int r = 0; r < R; ++r) store(later + k * W + r * kCount, adjoint[r]);
      }
    }
    if (call_.inputs) pass_to_inputs(step, t);
    return true;
  }

  // Consecutive nodes with the activation of node k; returns where they end.
  int64_t scale_run(int64_t k, int64_t end, const T* values, const T* joined) const {
    const int64_t node = first_ + k;
    int64_t next = k + 1;
    while (next < end && s_.activation[first_ + next] == s_.activation[node]) ++next;
    const NodeRows<T> nodes{
        joined + k * W, values, s_.slot + node, s_.bias + node, s_.response + node, next - k, W};
    scale_by_slope(s_.activation[node], nodes, m_.rows + k * W, m_.scratch);
    return next;
  }

  void add_outputs(int64_t node, const T* slopes, V* adjoint) const {
    for (int32_t o = call_.readers.output_of[node]; o >= 0;
         o = call_.readers.next_output[genome_ * s_.num_outputs + o]) {
      for (int r = 0; r < R; ++r) adjoint[r] += load<V>(slopes + o * W + r * kCount);
    }
  }

  // From the adjoint of what the cell gave to that of the node's value; `earlier` gets what goes to
  // the cell's memory past the node.
  void settle_back(int64_t k, const T* values, const T* later, T* earlier, V* adjoint) {
    for (int r = 0; r < R; ++r) adjoint[r] += load<V>(later + r * kCount);
    if (s_.kind != KIND_CTRNN) return clear(earlier, W);
    const int64_t node = first_ + k;
    const T* const value = values + int64_t{s_.slot[node]} * W;
    const T* const state = values + (s_.first_state(genome_) + k) * W;
    const V kept = broadcast<V>(s_.cell[node]);
    T* const copied = m_.scratch;
    for (int r = 0; r < R; ++r) store(copied + r * kCount, adjoint[r]);
    add_row<R>(lanes_of(num_edges_ + 2 * count_ + k), starts_, used_, [&](int r, V sum) {
      const V change = load<V>(state + r * kCount) - load<V>(value + r * kCount);
      return multiply_add(load<V>(copied + r * kCount), change, sum);
    });
    for (int r = 0; r < R; ++r) {
      store(earlier + r * kCount, kept * adjoint[r]);
      adjoint[r] = (T(1) - kept) * adjoint[r];
    }
  }

  // The readers of the genome's slots, copied where stores of vectors cannot change them.
  struct Readers {
    const int64_t* start;
    const int32_t *edge, *row;
    const T *weight, *rows;

    // Adds what the links that read a slot pass on.
    EVONET_METHOD void gather(int64_t slot, V* adjoint) const {
      V sum[R];
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) sum[r] = adjoint[r];
      for (int64_t i = start[slot], end = start[slot + 1]; i < end; ++i) {
        const V w = broadcast<V>(weight[edge[i]]);
        const T* const from = rows + int64_t{row[i]} * W;
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) sum[r] = multiply_add(w, load<V>(from + r * kCount), sum[r]);
      }
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) adjoint[r] = sum[r];
    }
  };

  Readers readers() const {
    const LinkReaders& all = call_.readers;
    return {all.start + all.first_slot[genome_], all.edge, all.row, s_.weight + first_edge_,
            m_.rows};
  }

  // From what activations of nodes [begin, end) get to their genes and links.
  bool pass_on(int64_t begin, int64_t end, const T* values, const T* joined) {
    const int64_t* const edge_start = s_.edge_start + first_;
    const int32_t* const source = s_.source;
    const uint8_t* const aggregation = s_.aggregation + first_;
    const T* const response = s_.response + first_;
    const bool weights = call_.weights, biases = call_.biases, responses = call_.responses;
    const bool starts = starts_, whole = samples_ == W;
    const UsedSamples used = used_;
    T *const weight_lanes = m_.lanes, *const bias_lanes = lanes_of(num_edges_),
             *const response_lanes = lanes_of(num_edges_ + count_);
    for (int64_t k = begin; k < end; ++k) {
      T* const d = m_.rows + k * W;
      const T* const row = joined + k * W;
      const int64_t edge = edge_start[k], links = edge_start[k + 1] - edge;
      if (interrupted_after(2 * links + 16)) return false;
      if (biases) {
        add_row<R>(bias_lanes + k * kGradientLanes, starts, used,
                   [&](int r, V sum) { return sum + load<V>(d + r * kCount); });
      }
      if (responses) {
        add_row<R>(response_lanes + k * kGradientLanes, starts, used, [&](int r, V sum) {
          return multiply_add(load<V>(d + r * kCount), load<V>(row + r * kCount), sum);
        });
      }
      if (links == 0) continue;
      const V factor = broadcast<V>(response[k]);
      V shared[R];
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        shared[r] = load<V>(d + r * kCount) * factor;
        if (aggregation[k] == AGG_MEAN) shared[r] = shared[r] / broadcast<V>(T(links));
        store(d + r * kCount, shared[r]);
      }
      T* lanes = weight_lanes + (edge - first_edge_) * kGradientLanes;
      if (!whole || !spreads_evenly(aggregation[k])) {
        pass_slowly(k, values, row, d, lanes);
        continue;
      }
      if (!weights) continue;
      const auto add = [&](bool first) {
        for (int64_t e = edge; e < edge + links; ++e, lanes += kGradientLanes) {
          const T* const value = values + int64_t{source[e]} * W;
          add_whole_row<R>(lanes, first, [&](int r, V sum) {
            return multiply_add(shared[r], load<V>(value + r * kCount), sum);
          });
        }
      };
      if (starts) {
        add(true);
      } else {
        add(false);
      }
    }
    return true;
  }

  // To the links of a node, whatever its aggregation and however many samples count.
  __attribute__((noinline)) void pass_slowly(int64_t k, const T* values, const T* joined,
                                             const T* d, T* lanes) {
    const int64_t node = first_ + k;
    const LinkRows<T> links = links_of(node, values);
    const bool evenly = spreads_evenly(s_.aggregation[node]);
    T* const rows = m_.rows + int64_t{call_.readers.link_row[s_.edge_start[node]]} * W;
    if (!evenly) spread_rows(s_.aggregation[node], links, joined, d, rows);
    if (!call_.weights) return;
    for (int64_t e = 0; e < links.count; ++e, lanes += kGradientLanes) {
      const T* const value = values + int64_t{links.source[e]} * W;
      const T* const adjoint = evenly ? d : rows + e * W;
      add_row<R>(lanes, starts_, used_, [&](int r, V sum) {
        return multiply_add(load<V>(adjoint + r * kCount), load<V>(value + r * kCount), sum);
      });
    }
  }

  void pass_to_inputs(int64_t step, int64_t t) {
    const int64_t inputs = s_.num_inputs;
    const Readers readers = this->readers();
    if (step % s_.steps == s_.steps - 1) clear(m_.x_rows, inputs * W);
    for (int64_t i = 0; i < inputs; ++i) {
      T* const row = m_.x_rows + i * W;
      V adjoint[R];
      for (int r = 0; r < R; ++r) adjoint[r] = load<V>(row + r * kCount);
      readers.gather(i, adjoint);
      for (int r = 0; r < R; ++r) store(row + r * kCount, canonical(adjoint[r]));
      if (step % s_.steps != 0) continue;
      T* const to = m_.x_gradient + (t * call_.num_samples + begin_) * inputs + i;
      for (int b = 0; b < samples_; ++b) to[b * inputs] = row[b];
    }
  }

  // ---- the end ----

  void finish() {
    LossSum<T> totals[kLossLanes];
    for (int i = 0; i < kLossLanes; ++i) totals[i] = {losses_.sum[i], losses_.rest[i]};
    for (int half = kLossLanes / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) totals[i] = add_losses(totals[i], totals[i + half]);
    }
    const LossSum<T> loss = finish_loss(totals[0]);
    m_.losses[0] = loss.sum;
    m_.losses[1] = loss.rest;
    if (!call_.backward) return;
    join(0, call_.weights ? num_edges_ : 0);
    join(num_edges_, call_.biases ? count_ : 0);
    join(num_edges_ + count_, call_.responses ? count_ : 0);
    join(num_edges_ + 2 * count_, s_.kind == KIND_CTRNN ? count_ : 0);
    if (!call_.waits) return;
    for (int64_t k = 0; k < count_; ++k) {  // nodes that are never evaluated
      if (s_.edge_start[first_ + k] < s_.edge_start[first_ + k + 1]) continue;
      for (int64_t sort = 0; sort < 3; ++sort) m_.totals[num_edges_ + sort * count_ + k] = T(0);
    }
  }

  void join(int64_t first, int64_t count) {
    if (call_.num_samples == 0) return clear_numbers(m_.totals + first, count);
    join_lanes(lanes_of(first), count, m_.totals + first);
  }

  // ---- memory ----

  T* lanes_of(int64_t gene) const { return m_.lanes + gene * kGradientLanes; }

  static void copy(T* to, const T* from, int64_t count) {
    for (int64_t i = 0; i < count; i += kCount) store(to + i, load<V>(from + i));
  }

  static void clear(T* to, int64_t count) {
    for (int64_t i = 0; i < count; i += kCount) store(to + i, V{});
  }

  static void clear_numbers(T* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = T(0);
  }

  bool interrupted_after(int64_t cost) {
    patience_ -= cost * R;
    if (patience_ >= 0) return false;
    patience_ = kPatience;
    return interrupt_.requested();
  }

  static constexpr int64_t kPatience = 1 << 18;  // vectors of links: a fraction of a millisecond

  const GradientCall<T>& call_;
  const ScheduleView<T>& s_;
  GradientMemory<T>& m_;
  Interrupt& interrupt_;
  const int64_t genome_, first_, count_, first_edge_, num_edges_, slots_;
  int64_t begin_ = 0, patience_ = kPatience;
  int samples_ = 0;
  UsedSamples used_{};
  bool starts_ = false;
  LossLanes<T> losses_;
};

EVONET_NAMESPACE_END
