// ensemble_kernels.h: loads networks into the lanes of an Ensemble and runs a group of them.
#pragma once

#include "native/ensemble.h"
#include "native/function_rows.h"
#include "native/rollout.h"
#include "native/simd.h"
#include "nodes/aggregations.h"
#include "nodes/cells.h"

EVONET_NAMESPACE_BEGIN

template <class T>
class EnsembleGroups {
 public:
  static constexpr int W = kGroupLanes<T>;

  explicit EnsembleGroups(const Ensemble<T>& e) : e_(e) {}

  // Makes every lane empty.
  void clear() {
    const int32_t zero_row = static_cast<int32_t>((e_.num_inputs + e_.max_nodes) * W);
    for (int64_t i = 0; i < kGroups * e_.num_rows * W; ++i) no_link(i);
    for (int64_t i = 0; i < kGroups * e_.num_outputs * W; ++i) e_.output[i] = zero_row;
    for (int64_t i = 0; i < kGroups * e_.max_nodes * W; ++i) {
      e_.bias[i] = e_.response[i] = T(0);
      e_.activation[i] = -1;
      e_.num_links[i] = 0;
    }
    for (int64_t i = 0; i < kGroups * e_.max_nodes; ++i) e_.most_links[i] = e_.activations[i] = 0;
    for (int i = 0; i < kMostLanes; ++i) e_.num_nodes[i] = 0;
    for (int i = 0; i < kGroups; ++i) e_.most_nodes[i] = 0;
    for (int i = 0; i < W; ++i) e_.values[zero_row + i] = T(0);
    for (int64_t i = 0; i < e_.num_inputs; ++i) e_.slot_row[i] = static_cast<int32_t>(i);
    for (int64_t i = 0; i < kGroups * e_.max_nodes * e_.num_parameters * W; ++i) e_.cell[i] = T(0);
  }

  void load(const ScheduleView<T>& s, int64_t genome, int lane) {
    const int64_t group = lane / W, first = s.node_start[genome];
    const int column = lane % W;
    const auto count = static_cast<int32_t>(s.node_start[genome + 1] - first);
    const int32_t before = e_.num_nodes[lane];
    const auto inputs = static_cast<int32_t>(e_.num_inputs);
    const int64_t first_state = s.first_state(genome), state = state_row(0, 0);
    for (int32_t k = 0; s.num_states > 0 && k < count; ++k) {  // links read no other states
      e_.slot_row[first_state + k] = static_cast<int32_t>(state + k);
    }
    for (int32_t k = 0; k < count || k < before; ++k) {
      const int64_t node = group * e_.max_nodes + k, at = node * W + column;
      const int64_t edge = k < count ? s.edge_start[first + k] : 0;
      const auto links = k < count ? static_cast<int32_t>(s.edge_start[first + k + 1] - edge) : 0;
      const int64_t row = (group * e_.num_rows + e_.first_row[k]) * W + column;
      int32_t* const source = e_.source + row;
      T* const weight = e_.weight + row;
      for (int32_t j = 0; j < links; ++j) {
        source[int64_t{j} * W] = e_.slot_row[s.source[edge + j]] * W + column;
        weight[int64_t{j} * W] = s.weight[edge + j];
      }
      for (int32_t j = links; j < e_.num_links[at]; ++j) no_link(row + int64_t{j} * W);
      note(node, column, links, k < count ? s.activation[first + k] : -1);
      if (k < count) {
        e_.slot_row[s.slot[first + k]] = inputs + k;
        e_.bias[at] = s.bias[first + k];
        e_.response[at] = s.response[first + k];
        for (int i = 0; i < e_.num_parameters; ++i) {
          e_.cell[(node * e_.num_parameters + i) * W + column] =
              s.cell[(first + k) * e_.num_parameters + i];
        }
      }
    }
    for (int64_t o = 0; o < s.num_outputs; ++o) {
      const int32_t slot = s.output_slot[genome * s.num_outputs + o];
      const int64_t row = slot < 0 ? e_.num_inputs + e_.max_nodes : e_.slot_row[slot];
      e_.output[(group * s.num_outputs + o) * W + column] = static_cast<int32_t>(row * W + column);
    }
    e_.num_nodes[lane] = count;
    if (count > e_.most_nodes[group]) e_.most_nodes[group] = count;
    if (++loaded_[group] % kSummarizeAfter == 0) summarize(group);
  }

  // Gives what it cost, in links.
  int64_t act(Lanes<T>& lanes, int group) const {
    int64_t cost = 64;
    const int first_lane = group * W;
    for (int64_t i = 0; i < e_.num_inputs; ++i) {
      for (int b = 0; b < W; b += kV) {
        store(e_.values + i * W + b, load_lanes(lanes.input[i] + first_lane + b));
      }
    }
    with_cell(e_.kind, [&](auto cell) {
      using Cell = decltype(cell);
      move_state<Cell::kStates>(lanes, group,
                                [](T* row, T* remembered) { store(row, load_lanes(remembered)); });
      for (int64_t step = 0; step < e_.steps; ++step) {
        for (int64_t k = 0; k < e_.most_nodes[group]; ++k) {
          const int64_t node = group * e_.max_nodes + k;
          run_node(node, group, k);
          cost += 16 + 4 * e_.most_links[node];
        }
        if constexpr (Cell::kStates > 0) settle<Cell>(group);
      }
      move_state<Cell::kStates>(lanes, group,
                                [](T* row, T* remembered) { store(remembered, load_lanes(row)); });
    });
    for (int64_t o = 0; o < e_.num_outputs; ++o) {
      const int32_t* at = e_.output + (group * e_.num_outputs + o) * W;
      for (int b = 0; b < W; b += kV) {
        store(lanes.output[o] + first_lane + b, gather<V>(e_.values, at + b));
      }
    }
    return cost;
  }

 private:
  using V = Vector<T, W>;
  static constexpr int kV = kLanes<T, W>, kRows = W / kV;
  static constexpr int kGroups = kMostLanes / W;
  static constexpr int kSummarizeAfter = W / 2;  // so many networks

  EVONET_METHOD static V load_lanes(const T* from) { return evonet::EVONET_ISA::load<V>(from); }

  // What nodes remember lies behind the row of zeros.
  int64_t state_row(int64_t plane, int64_t k) const {
    return e_.num_inputs + e_.max_nodes + 1 + plane * e_.max_nodes + k;
  }

  // Calls copy(place in values, place in the lanes' memory) for every vector of the state.
  template <int kStates, class Copy>
  void move_state(Lanes<T>& lanes, int group, Copy copy) const {
    for (int c = 0; c < kStates; ++c) {
      for (int64_t k = 0; k < e_.most_nodes[group]; ++k) {
        T* const remembered = lanes.remembered(c, k) + group * W;
        for (int b = 0; b < W; b += kV) {
          copy(e_.values + state_row(c, k) * W + b, remembered + b);
        }
      }
    }
  }

  template <class Cell>
  void settle(int group) const {
    for (int64_t k = 0; k < e_.most_nodes[group]; ++k) {
      const int64_t node = group * e_.max_nodes + k;
      for (int b = 0; b < W; b += kV) {
        V parameter[Cell::kParameters + 1], state[Cell::kStates];
        for (int i = 0; i < Cell::kParameters; ++i) {
          parameter[i] = load_lanes(e_.cell + (node * Cell::kParameters + i) * W + b);
        }
        for (int c = 0; c < Cell::kStates; ++c) {
          state[c] = load_lanes(e_.values + state_row(c, k) * W + b);
        }
        T* const row = e_.values + (e_.num_inputs + k) * W + b;
        V value = load_lanes(row);
        Cell::settle(value, state, parameter, e_.time_step);
        store(row, value);
        for (int c = 0; c < Cell::kStates; ++c) {
          store(e_.values + state_row(c, k) * W + b, state[c]);
        }
      }
    }
  }

  // -0 times the row of zeros is -0, and adding that changes no number, not even -0.
  void no_link(int64_t at) {
    e_.source[at] = static_cast<int32_t>((e_.num_inputs + e_.max_nodes) * W + at % W);
    e_.weight[at] = -T(0);
  }

  // Notes what a lane's node is. What it was before may linger in the summaries: links that add
  // nothing and activations that no lane has cost a little time, and looking at all lanes for every
  // network more.
  void note(int64_t node, int column, int32_t links, int32_t activation) {
    const int64_t at = node * W + column;
    e_.num_links[at] = links;
    e_.activation[at] = activation;
    if (links > e_.most_links[node]) e_.most_links[node] = links;
    if (activation >= 0) e_.activations[node] |= uint64_t{1} << activation;
  }

  // Makes the summaries of a group exact.
  void summarize(int64_t group) {
    int32_t nodes = 0;
    for (int i = 0; i < W; ++i) {
      nodes = e_.num_nodes[group * W + i] > nodes ? e_.num_nodes[group * W + i] : nodes;
    }
    e_.most_nodes[group] = nodes;
    for (int64_t node = group * e_.max_nodes; node < group * e_.max_nodes + nodes; ++node) {
      int32_t most = 0;
      uint64_t present = 0;
      for (int i = 0; i < W; ++i) {
        const int32_t links = e_.num_links[node * W + i], id = e_.activation[node * W + i];
        most = links > most ? links : most;
        present |= id < 0 ? 0 : uint64_t{1} << id;
      }
      e_.most_links[node] = most;
      e_.activations[node] = present;
    }
  }

  EVONET_METHOD void run_node(int64_t node, int group, int64_t k) const {
    V sum[kRows] = {};
    const int64_t begin = (group * e_.num_rows + e_.first_row[k]) * W;
    const int64_t end = begin + int64_t{e_.most_links[node]} * W;
    for (int64_t row = begin; row < end; row += W) {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        sum[r] = agg_sum_next(sum[r], load_lanes(e_.weight + row + r * kV),
                              gather<V>(e_.values, e_.source + row + r * kV));
      }
    }
    T* const to = e_.values + (e_.num_inputs + k) * W;
    const uint64_t present = e_.activations[node];
    const bool one = (present & (present - 1)) == 0;
    T several[W];
    T* const z = one ? to : several;
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      store(z + r * kV, preactivation(load_lanes(e_.bias + node * W + r * kV),
                                      load_lanes(e_.response + node * W + r * kV), sum[r]));
    }
    if (one) {
      if (present != 0) activate_row(__builtin_ctzll(present), to, W);
      return;
    }
    for (uint64_t left = present; left != 0; left &= left - 1) {
      const int id = __builtin_ctzll(left);
      T results[W];
      for (int r = 0; r < kRows; ++r) store(results + r * kV, load_lanes(z + r * kV));
      activate_row(id, results, W);
      for (int i = 0; i < W; ++i) {
        if (e_.activation[node * W + i] == id) to[i] = results[i];
      }
    }
  }

  const Ensemble<T> e_;
  int loaded_[kGroups] = {};  // networks so far
};

EVONET_NAMESPACE_END
