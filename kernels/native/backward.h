// backward.h: losses and their derivatives for one genome. Blocks of samples go forwards through
// all steps and back. The adjoint of a value is gathered over the links that read it, in their
// order, so that nothing depends on who adds first.
#pragma once

#include "native/kept_pass.h"
#include "native/lane_sums.h"
#include "native/spread_rows.h"

EVONET_NAMESPACE_BEGIN

template <class T, int R>
class GenomeGradient : KeptPass<T, R> {
  using Pass = KeptPass<T, R>;
  using Pass::call_, Pass::s_, Pass::m_, Pass::genome_, Pass::first_, Pass::count_, Pass::slots_,
      Pass::kCount, Pass::W;
  using Pass::clear, Pass::interrupted_after, Pass::links_of;
  using typename Pass::V;

 public:
  GenomeGradient(const GradientCall<T>& call, int64_t genome, GradientMemory<T>& memory,
                 Interrupt& interrupt)
      : Pass(call, genome, memory, interrupt),
        first_edge_(s_.edge_start[first_]),
        num_edges_(s_.edge_start[first_ + count_] - first_edge_) {}

  // False if it was interrupted.
  bool run(const T* x, const T* targets) {
    const int64_t steps = call_.num_steps * s_.steps;
    once_ = R == kLaneVectors<T> && 0 < call_.num_samples && call_.num_samples <= W && steps == 1 &&
            s_.num_states == 0;
    for (int64_t begin = 0; begin < call_.num_samples; begin += W) {
      const int64_t left = call_.num_samples - begin;
      samples_ = static_cast<int>(left < W ? left : W);
      used_ = {samples_ / kGradientLanes, samples_ % kGradientLanes};
      begin_ = begin;
      if (!this->forward(x, targets, samples_)) return false;
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
  bool step_back(int64_t step) {
    const int64_t t = step / s_.steps, from_end = call_.num_steps - t;
    const bool answers = step % s_.steps == s_.steps - 1 && from_end <= call_.num_target_steps;
    const T* const slopes =
        answers ? m_.slopes + (call_.num_target_steps - from_end) * s_.num_outputs * W : nullptr;
    const T* const values = m_.values + step * slots_ * W;
    const T* const joined = m_.joined + step * count_ * W;
    find_slopes(values, joined);
    if (!sweep(values, joined, slopes)) return false;
    if (s_.num_states > 0) remember_back();
    if (!(once_ ? sum_genes(values, joined) : add_genes(values, joined))) return false;
    if (call_.inputs) pass_to_inputs(step, t);
    return true;
  }

  // The slopes of all activations, to deltas. No node has to wait for another one here.
  void find_slopes(const T* values, const T* joined) const {
    for (int64_t k = 0, next; k < count_; k = next) {
      const int64_t node = first_ + k;
      next = k + 1;
      while (next < count_ && s_.activation[first_ + next] == s_.activation[node]) ++next;
      const NodeRows<T> nodes{
          joined + k * W, values, s_.slot + node, s_.bias + node, s_.response + node, next - k, W};
      slopes_of(s_.activation[node], nodes, m_.deltas + k * W);
    }
  }

  // Through all nodes, from the last to the first.
  bool sweep(const T* values, const T* joined, const T* slopes) {
    T *const later = m_.remembered, *const earlier = m_.remembered + count_ * W,
             *const deltas = m_.deltas, *const rows = m_.rows;
    const Readers readers = this->readers();
    const int32_t *const slot = s_.slot + first_, *const output_of =
                                                      call_.readers.output_of + first_;
    const uint8_t* const aggregation = s_.aggregation + first_;
    const T* const response = s_.response + first_;
    const bool remembers = s_.num_states > 0;
    for (int64_t k = count_; k-- > 0;) {
      V adjoint[R] = {};
      if (output_of[k] >= 0 && slopes != nullptr) add_outputs(first_ + k, slopes, adjoint);
      if (remembers) settle_back(k, values, later + k * W, earlier + k * W, adjoint);
      readers.gather(slot[k], adjoint);
      T *const delta = deltas + k * W, *const row = rows + k * W;
      const V factor = broadcast<V>(response[k]);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const V d = adjoint[r] * load<V>(delta + r * kCount);
        store(delta + r * kCount, d);
        store(row + r * kCount, d * factor);
      }
      if (aggregation[k] != AGG_SUM) spread(k, values, joined + k * W);
      if (interrupted_after(2 * readers.count(slot[k]) + 16)) return false;
    }
    return true;
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

  // What links pass to cells' memories goes to the step before.
  void remember_back() const {
    T *const later = m_.remembered, *const earlier = m_.remembered + count_ * W;
    const Readers readers = this->readers();
    for (int64_t k = 0; k < count_; ++k) {
      V adjoint[R];
      for (int r = 0; r < R; ++r) adjoint[r] = load<V>(earlier + k * W + r * kCount);
      readers.gather(s_.first_state(genome_) + k, adjoint);
      for (int r = 0; r < R; ++r) store(later + k * W + r * kCount, adjoint[r]);
    }
  }

  // The readers of the genome's slots, copied where stores of vectors cannot change them.
  struct Readers {
    const int64_t* ends;
    const LinkReader* all;
    const T *weight, *rows;

    EVONET_METHOD int64_t count(int64_t slot) const { return ends[slot] - ends[slot + 1]; }

    // Adds what the links that read a slot pass on.
    EVONET_METHOD void gather(int64_t slot, V* adjoint) const {
      V sum[R];
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) sum[r] = adjoint[r];
      for (const LinkReader *i = all + ends[slot + 1], *end = all + ends[slot]; i != end; ++i) {
        const V w = broadcast<V>(weight[i->edge]);
        const T* const from = rows + int64_t{i->row} * W;
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) sum[r] = multiply_add(w, load<V>(from + r * kCount), sum[r]);
      }
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) adjoint[r] = sum[r];
    }
  };

  Readers readers() const {
    const LinkReaders& all = call_.readers;
    return {all.end + all.first_slot[genome_], all.reader, s_.weight + first_edge_, m_.rows};
  }

  // Brings the row of a node that does not sum to its links.
  __attribute__((noinline)) void spread(int64_t k, const T* values, const T* joined) const {
    const LinkRows<T> links = links_of(first_ + k, values);
    const int aggregation = s_.aggregation[first_ + k];
    T* const row = m_.rows + k * W;
    if (links.count == 0) return;
    if (aggregation == AGG_MEAN) {
      const V count = broadcast<V>(T(links.count));
      for (int i = 0; i < W; i += kCount) store(row + i, load<V>(row + i) / count);
    } else if (!spreads_evenly(aggregation)) {
      spread_rows(aggregation, links, joined, row, link_rows(k));
    }
  }

  // The rows of a node's links, if they have their own.
  T* link_rows(int64_t k) const {
    return m_.rows + int64_t{call_.readers.link_row[s_.edge_start[first_ + k]]} * W;
  }

  // ---- sums over samples ----

  // Adds the terms of all genes to their lanes.
  bool add_genes(const T* values, const T* joined) {
    const int64_t* const edge_start = s_.edge_start + first_;
    const int32_t* const source = s_.source;
    const uint8_t* const aggregation = s_.aggregation + first_;
    const bool weights = call_.weights, biases = call_.biases, responses = call_.responses;
    const bool starts = starts_, whole = samples_ == W;
    const UsedSamples used = used_;
    T *const weight_lanes = m_.lanes, *const bias_lanes = lanes_of(num_edges_),
             *const response_lanes = lanes_of(num_edges_ + count_);
    const T *delta = m_.deltas, *row = m_.rows;
    for (int64_t k = 0; k < count_; ++k, delta += W, joined += W, row += W) {
      const int64_t edge = edge_start[k], links = edge_start[k + 1] - edge;
      if (interrupted_after(links + 8)) return false;
      if (biases) {
        add_row<R>(bias_lanes + k * kGradientLanes, starts, used,
                   [&](int r, V sum) { return sum + load<V>(delta + r * kCount); });
      }
      if (responses) {
        add_row<R>(response_lanes + k * kGradientLanes, starts, used, [&](int r, V sum) {
          return multiply_add(load<V>(delta + r * kCount), load<V>(joined + r * kCount), sum);
        });
      }
      if (!weights || links == 0) continue;
      T* lanes = weight_lanes + (edge - first_edge_) * kGradientLanes;
      if (!whole || !spreads_evenly(aggregation[k])) {
        add_weights_slowly(k, values, lanes);
        continue;
      }
      V shared[R];
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) shared[r] = load<V>(row + r * kCount);
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

  // Whatever the node's aggregation and however many samples count.
  __attribute__((noinline)) void add_weights_slowly(int64_t k, const T* values, T* lanes) const {
    const LinkRows<T> links = links_of(first_ + k, values);
    const bool evenly = spreads_evenly(s_.aggregation[first_ + k]);
    const T *const row = m_.rows + k * W, *const rows = link_rows(k);
    for (int64_t e = 0; e < links.count; ++e, lanes += kGradientLanes) {
      const T* const value = values + int64_t{links.source[e]} * W;
      const T* const adjoint = evenly ? row : rows + e * W;
      add_row<R>(lanes, starts_, used_, [&](int r, V sum) {
        return multiply_add(load<V>(adjoint + r * kCount), load<V>(value + r * kCount), sum);
      });
    }
  }

  // Of a block that is the only one: totals at once, without lanes in between, which would not fit
  // the first cache.
  bool sum_genes(const T* values, const T* joined) {
    const T *const deltas = m_.deltas, *const rows = m_.rows;
    const int32_t *const source = s_.source + first_edge_, *const link_row =
                                                               call_.readers.link_row + first_edge_;
    T* const totals = m_.totals;
    const auto of_weight = [=](int64_t e, int at, V sum) {
      return multiply_add(load<V>(rows + int64_t{link_row[e]} * W + at),
                          load<V>(values + int64_t{source[e]} * W + at), sum);
    };
    const auto of_bias = [=](int64_t k, int at, V sum) {
      return sum + load<V>(deltas + k * W + at);
    };
    const auto of_response = [=](int64_t k, int at, V sum) {
      return multiply_add(load<V>(deltas + k * W + at), load<V>(joined + k * W + at), sum);
    };
    return sum_in_pieces(call_.weights ? num_edges_ : 0, totals, of_weight) &&
           sum_in_pieces(call_.biases ? count_ : 0, totals + num_edges_, of_bias) &&
           sum_in_pieces(call_.responses ? count_ : 0, totals + num_edges_ + count_, of_response);
  }

  template <class Term>
  bool sum_in_pieces(int64_t count, T* totals, Term term) {
    constexpr int64_t kPiece = 1 << 14;
    for (int64_t first = 0; first < count; first += kPiece) {
      const int64_t end = count - first < kPiece ? count : first + kPiece;
      if (interrupted_after(end - first)) return false;
      if (samples_ == W) {
        sum_rows<true>(first, end, samples_, term, totals);
      } else {
        sum_rows<false>(first, end, samples_, term, totals);
      }
    }
    return true;
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
    const LossLanes<T>& lanes = this->losses_;
    LossSum<T> totals[kLossLanes];
    for (int i = 0; i < kLossLanes; ++i) totals[i] = {lanes.sum[i], lanes.rest[i]};
    for (int half = kLossLanes / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) totals[i] = add_losses(totals[i], totals[i + half]);
    }
    const LossSum<T> loss = finish_loss(totals[0]);
    m_.losses[0] = loss.sum;
    m_.losses[1] = loss.rest;
    if (!call_.backward) return;
    if (!once_) {
      join(0, call_.weights ? num_edges_ : 0);
      join(num_edges_, call_.biases ? count_ : 0);
      join(num_edges_ + count_, call_.responses ? count_ : 0);
      join(num_edges_ + 2 * count_, s_.kind == KIND_CTRNN ? count_ : 0);
    }
    if (!call_.waits) return;
    for (int64_t k = 0; k < count_; ++k) {  // nodes that are never evaluated
      if (s_.edge_start[first_ + k] < s_.edge_start[first_ + k + 1]) continue;
      for (int64_t sort = 0; sort < 3; ++sort) m_.totals[num_edges_ + sort * count_ + k] = T(0);
    }
  }

  void join(int64_t first, int64_t count) {
    T* const totals = m_.totals + first;
    if (call_.num_samples > 0) return join_lanes(lanes_of(first), count, totals);
    for (int64_t i = 0; i < count; ++i) totals[i] = T(0);
  }

  T* lanes_of(int64_t gene) const { return m_.lanes + gene * kGradientLanes; }

  const int64_t first_edge_, num_edges_;
  int64_t begin_ = 0;
  int samples_ = 0;
  UsedSamples used_{};
  bool starts_ = false;
  bool once_ = false;  // whether every gene gets a single row of terms
};

EVONET_NAMESPACE_END
