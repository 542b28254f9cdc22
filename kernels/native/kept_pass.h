// kept_pass.h: blocks of samples of one genome go forwards through all steps, with everything kept
// that the way back needs. Rows are R vectors long.
#pragma once

#include "native/kept_forward.h"
#include "native/slope_rows.h"
#include "nodes/cells.h"

EVONET_NAMESPACE_BEGIN

template <class T, int R>
class KeptPass {
 protected:
  using V = FullVector<T>;
  static constexpr int kCount = kVectorLanes<T>, W = R * kCount;

  KeptPass(const GradientCall<T>& call, int64_t genome, GradientMemory<T>& memory,
           Interrupt& interrupt)
      : call_(call),
        s_(call.schedule),
        m_(memory),
        interrupt_(interrupt),
        genome_(genome),
        first_(s_.node_start[genome]),
        count_(s_.num_nodes(genome)),
        slots_(s_.num_slots[genome]) {}

  // One block, of which `samples` count: fills values, joined and slopes of losses, and adds the
  // losses. False if it was interrupted.
  bool forward(const T* x, const T* targets, int samples) {
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
                       targets + at * s_.num_outputs * W, W, samples, losses_,
                       m_.slopes + at * s_.num_outputs * W);
    }
    return true;
  }

  bool compute(T* values, T* joined) {
    int64_t level = s_.level_start[genome_];
    for (int64_t k = 0; k < count_;) {
      if (const SumKeptNodes<T> sum = fused(k)) {
        const int64_t end = end_of_fused(k), node = first_ + k;
        const int64_t links = s_.edge_start[first_ + end] - s_.edge_start[node];
        if (interrupted_after(links + 8 * (end - k))) return false;
        sum(s_, node, first_ + end, values, joined + k * W);
        k = end;
        continue;
      }
      while (s_.level_end[level] <= k) ++level;
      int64_t end = k;
      for (; end < s_.level_end[level] && fused(end) == nullptr; ++end) {
        if (!join_node(first_ + end, values, joined + end * W)) return false;
      }
      while (k < end) k = activate_run(k, end, values);
    }
    return true;
  }

  // How a node's activation is computed with its sum, if it is.
  SumKeptNodes<T> fused(int64_t k) const {
    if (s_.aggregation[first_ + k] != AGG_SUM) return nullptr;
    return kept_nodes_with<T, R>(s_.activation[first_ + k]);
  }

  int64_t end_of_fused(int64_t k) const {
    const int64_t first = first_ + k, edge_limit = s_.edge_start[first] + kPatience / R;
    int64_t next = first + 1;
    while (next < first_ + count_ && s_.activation[next] == s_.activation[first] &&
           s_.aggregation[next] == AGG_SUM && s_.edge_start[next + 1] < edge_limit) {
      ++next;
    }
    return next - first_;
  }

  bool join_node(int64_t node, T* values, T* joined) {
    const int64_t edge = s_.edge_start[node], links = s_.edge_start[node + 1] - edge;
    const int aggregation = s_.aggregation[node];
    if (interrupted_after(links + 8)) return false;
    if (aggregation == AGG_SUM) {
      V sum[R];
      sum_links<V, R>(values, s_.source + edge, s_.weight + edge, links, sum);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) store(joined + r * kCount, sum[r]);
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
    return true;
  }

  // Consecutive nodes with the activation of node k whose rows adjoin; returns where they end. One
  // formula after the other would wait for its own result, several at once for none.
  int64_t activate_run(int64_t k, int64_t end, T* values) const {
    constexpr int64_t kMost = 64;  // rows that stay in cache
    const int activation = s_.activation[first_ + k];
    const int32_t* const slot = s_.slot + first_;
    int64_t next = k + 1;
    const int64_t limit =
        activation >= NUM_ACTIVATIONS ? next : (end < k + kMost ? end : k + kMost);
    while (next < limit && s_.activation[first_ + next] == activation &&
           slot[next] == slot[next - 1] + 1) {
      ++next;
    }
    activate_row<T>(activation, values + int64_t{slot[k]} * W, static_cast<int>(next - k) * W);
    return next;
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

  static void copy(T* to, const T* from, int64_t count) {
    for (int64_t i = 0; i < count; i += kCount) store(to + i, load<V>(from + i));
  }

  static void clear(T* to, int64_t count) {
    for (int64_t i = 0; i < count; i += kCount) store(to + i, V{});
  }

  bool interrupted_after(int64_t cost) {
    patience_ -= cost * R;
    if (patience_ >= 0) return false;
    patience_ = kPatience;
    return interrupt_.requested();
  }

  const GradientCall<T>& call_;
  const ScheduleView<T>& s_;
  GradientMemory<T>& m_;
  Interrupt& interrupt_;
  const int64_t genome_, first_, count_, slots_;
  LossLanes<T> losses_ = {};

 private:
  static constexpr int64_t kPatience = 1 << 18;  // vectors of links: a fraction of a millisecond

  int64_t patience_ = kPatience;
};

EVONET_NAMESPACE_END
