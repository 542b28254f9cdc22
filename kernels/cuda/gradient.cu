// gradient.cu: losses and their derivatives; a warp takes one genome forwards and back.
//
// Samples go 32 at a time, one per lane, through all steps and back through time. A lane reads and
// writes nothing but its own column of every row, so lanes never wait for each other until the end,
// when each gene's 32 sums are joined by the tree of loss.h. A value's adjoint is gathered over the
// links that read it, in their order: no atomics, and the bits of the other backends. Warps take
// genomes in turn, so that they need memory only once.
//
// REAL: float or double. GLOBAL_VALUES must be 1.
#include "cuda/gradient.h"

using namespace evonet;

constexpr int kThreads = 128;
constexpr int kLeastBlocks = 3;  // up to 168 registers for a thread, so that none is spilled

__device__ __forceinline__ REAL join_lanes(REAL sum) {
  EVONET_UNROLL
  for (int half = kLossLanes / 2; half > 0; half /= 2) {
    sum = sum + __shfl_down_sync(0xffffffffu, sum, half);
  }
  return canonical(sum);
}

extern "C" __global__ void __launch_bounds__(kThreads, kLeastBlocks)
    gradient(int num_genomes, int num_inputs, int num_outputs, int num_samples, int batch,
             int num_steps, int num_target_steps, int own_x, int loss, int backward, int kind,
             int turns, int waits, REAL time_step, long long team_values,
             const long long* __restrict__ node_start, const long long* __restrict__ edge_start,
             const long long* __restrict__ num_slots, const long long* __restrict__ first_slot,
             const long long* __restrict__ reader_start, const int* __restrict__ reader_edge,
             const int* __restrict__ reader_row, const int* __restrict__ link_row,
             const long long* __restrict__ num_rows, const int* __restrict__ output_node,
             const int* __restrict__ output_of, const int* __restrict__ next_output,
             const unsigned char* __restrict__ activation,
             const unsigned char* __restrict__ aggregation, const int* __restrict__ slot,
             const int* __restrict__ source, const REAL* __restrict__ cell,
             const REAL* __restrict__ weight, const REAL* __restrict__ bias,
             const REAL* __restrict__ response, const REAL* __restrict__ x,
             const REAL* __restrict__ targets, const long long* __restrict__ chosen,
             const unsigned char* __restrict__ active, REAL* __restrict__ losses,
             REAL* __restrict__ weight_gradient, REAL* __restrict__ bias_gradient,
             REAL* __restrict__ response_gradient, REAL* __restrict__ cell_gradient,
             REAL* __restrict__ x_gradient, REAL* scratch) {
  const int lane = threadIdx.x % 32;
  const int first_team = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int num_teams = gridDim.x * blockDim.x / 32;
  const LaneRows<REAL> memory{scratch + first_team * team_values + lane};
  const bool remembers = kind != KIND_FEEDFORWARD, keeps = kind == KIND_CTRNN;

  for (int genome = first_team; genome < num_genomes; genome += num_teams) {
    if (active != nullptr && !active[genome]) continue;  // as a whole warp
    const long long first = node_start[genome], first_edge = edge_start[first];
    const int count = int(node_start[genome + 1] - first);
    const int num_edges = int(edge_start[first + count] - first_edge);
    const int slots = int(num_slots[genome]), first_state = slots - (remembers ? count : 0);
    const long long* const readers = reader_start + first_slot[genome];
    const int all_steps = num_steps * turns;

    // Where everything is, in rows.
    const LaneRows<REAL> values = memory, joined = values.from((long long)all_steps * slots),
                         rows = joined.from((long long)all_steps * count),
                         state = rows.from(num_rows[genome]), later = state.from(count),
                         earlier = later.from(count), outputs = earlier.from(count),
                         slopes = outputs.from(num_outputs),
                         sums = slopes.from((long long)num_target_steps * num_outputs);
    const LaneRows<REAL> bias_sums = sums.from(num_edges), response_sums = bias_sums.from(count),
                         cell_sums = response_sums.from(count);
    EVONET_KEEP_LOOP
    for (int i = 0; i < num_edges + 3 * count; ++i) sums[i] = REAL(0);

    // Adds what the links that read a slot pass on.
    const auto gather = [&](int at, REAL adjoint) {
      const long long end = readers[at + 1];
      EVONET_KEEP_LOOP
      for (long long i = readers[at]; i < end; ++i) {
        adjoint = multiply_add(weight[first_edge + reader_edge[i]], rows[reader_row[i]], adjoint);
      }
      return adjoint;
    };

    LossSum<REAL> total{0, 0};
    EVONET_KEEP_LOOP
    for (int b = lane; b < batch; b += 32) {
      const long long sample = chosen == nullptr ? b : chosen[b];
      const long long own = own_x ? (long long)genome * num_steps : 0;

      // ---- forwards ----
      if (remembers) {
        for (int k = 0; k < count; ++k) state[k] = REAL(0);
      }
      EVONET_KEEP_LOOP
      for (int step = 0; step < all_steps; ++step) {
        const int t = step / turns;
        const LaneRows<REAL> value = values.from((long long)step * slots);
        const LaneRows<REAL> join = joined.from((long long)step * count);
        const REAL* const in = x + ((own + t) * num_samples + sample) * num_inputs;
        EVONET_KEEP_LOOP
        for (int i = 0; i < num_inputs; ++i) value[i] = in[i];
        if (remembers) {
          for (int k = 0; k < count; ++k) value[first_state + k] = state[k];
        }
        EVONET_KEEP_LOOP
        for (int k = 0; k < count; ++k) {
          const long long node = first + k, edge = edge_start[node];
          const int at = slot[node], links = int(edge_start[node + 1] - edge);
          PlainLinks<REAL> plain{source + edge, weight + edge, at};
          const Column<REAL, 1> column{reinterpret_cast<char*>(&value[at]),
                                       -32 * int(sizeof(REAL))};
          const REAL found = join_links<REAL, 1>(aggregation[node], plain, links, column).at[0];
          join[k] = found;
          REAL y = REAL(0);
          const auto activate = [&](auto by) {
            y = by.apply(preactivation(bias[node], response[node], found));
          };
          with_activation(activation[node], activate);
          if constexpr (kHasCustomActivations) {
            if (activation[node] >= NUM_ACTIVATIONS) {
              with_custom_activation(activation[node], activate);
            }
          }
          value[at] = y;
        }
        if (remembers) {
          EVONET_KEEP_LOOP
          for (int k = 0; k < count; ++k) {
            REAL settled = value[slot[first + k]], kept = state[k];
            if (keeps) {
              CtrnnCell::settle(settled, &kept, cell + first + k, time_step);
            } else {
              RecurrentCell::settle(settled, &kept, cell, time_step);
            }
            state[k] = kept;
          }
        }
        const int from_end = num_steps - t;
        if (step % turns != turns - 1 || from_end > num_target_steps) continue;
        const int answer = num_target_steps - from_end;
        const REAL* const wanted =
            targets + ((long long)answer * num_samples + sample) * num_outputs;
        for (int o = 0; o < num_outputs; ++o) {
          const int k = output_node[(long long)genome * num_outputs + o];
          outputs[o] = k < 0 ? REAL(0) : remembers ? state[k] : value[slot[first + k]];
        }
        const auto output = [&](int o) { return outputs[o]; };
        const auto target = [&](int o) { return wanted[o]; };
        total = add_losses(total, sample_loss<REAL>(loss, num_outputs, output, target));
        if (backward) {
          loss_slopes<REAL>(loss, num_outputs, output, target,
                            [&](int o, REAL slope) { slopes[answer * num_outputs + o] = slope; });
        }
      }
      if (!backward) continue;

      // ---- back ----
      if (remembers) {
        for (int k = 0; k < count; ++k) later[k] = REAL(0);
      }
      EVONET_KEEP_LOOP
      for (int step = all_steps; step-- > 0;) {
        const int t = step / turns, answer = num_target_steps - (num_steps - t);
        const bool answers = step % turns == turns - 1 && answer >= 0;
        const LaneRows<REAL> value = values.from((long long)step * slots);
        const LaneRows<REAL> join = joined.from((long long)step * count);
        EVONET_KEEP_LOOP
        for (int k = count; k-- > 0;) {
          const long long node = first + k, edge = edge_start[node];
          const int at = slot[node], links = int(edge_start[node + 1] - edge);
          REAL adjoint = REAL(0);
          if (answers) {
            for (int o = output_of[node]; o >= 0;
                 o = next_output[(long long)genome * num_outputs + o]) {
              adjoint = adjoint + slopes[answer * num_outputs + o];
            }
          }
          if (remembers) {
            adjoint = adjoint + later[k];
            REAL past = REAL(0);
            if (keeps) {
              const REAL kept = cell[node], change = value[first_state + k] - value[at];
              cell_sums[k] = multiply_add(adjoint, change, cell_sums[k]);
              past = kept * adjoint;
              adjoint = (REAL(1) - kept) * adjoint;
            }
            earlier[k] = past;
          }
          adjoint = gather(at, adjoint);
          const REAL found = join[k], z = preactivation(bias[node], response[node], found);
          const REAL d = scaled_by_slope<REAL>(activation[node], adjoint, z, value[at]);
          bias_sums[k] = bias_sums[k] + d;
          response_sums[k] = multiply_add(d, found, response_sums[k]);
          if (links == 0) continue;
          REAL shared = d * response[node];
          const int how = aggregation[node];
          if (how == AGG_MEAN) shared = shared / REAL(links);
          const LaneRows<REAL> sum = sums.from(edge - first_edge);
          if (spreads_evenly(how)) {
            rows[k] = shared;
            EVONET_KEEP_LOOP
            for (int e = 0; e < links; ++e) {
              sum[e] = multiply_add(shared, value[source[edge + e]], sum[e]);
            }
          } else {
            const LaneRows<REAL> row = rows.from(link_row[edge]);
            const auto number = [&](int e) { return weight[edge + e] * value[source[edge + e]]; };
            spread_adjoint<REAL>(how, links, number, found, shared, row);
            EVONET_KEEP_LOOP
            for (int e = 0; e < links; ++e) {
              sum[e] = multiply_add(row[e], value[source[edge + e]], sum[e]);
            }
          }
        }
        if (remembers) {
          for (int k = 0; k < count; ++k) later[k] = gather(first_state + k, earlier[k]);
        }
        if (x_gradient != nullptr) {
          REAL* const to =
              x_gradient + (((long long)genome * num_steps + t) * num_samples + b) * num_inputs;
          EVONET_KEEP_LOOP
          for (int i = 0; i < num_inputs; ++i) {
            to[i] = canonical(gather(i, step % turns == turns - 1 ? REAL(0) : to[i]));
          }
        }
      }
    }

    // ---- the end: lanes are joined ----
    __syncwarp();
    EVONET_UNROLL
    for (int half = kLossLanes / 2; half > 0; half /= 2) {
      const LossSum<REAL> other{__shfl_down_sync(0xffffffffu, total.sum, half),
                                __shfl_down_sync(0xffffffffu, total.rest, half)};
      total = add_losses(total, other);
    }
    if (lane == 0) {
      total = finish_loss(total);
      losses[2 * (long long)genome] = total.sum;
      losses[2 * (long long)genome + 1] = total.rest;
    }
    if (!backward) continue;
    EVONET_KEEP_LOOP
    for (int e = 0; e < num_edges; ++e) {
      const REAL sum = join_lanes(sums[e]);
      if (lane == 0) weight_gradient[first_edge + e] = sum;
    }
    EVONET_KEEP_LOOP
    for (int k = 0; k < count; ++k) {
      const long long node = first + k;
      const bool idle = waits && edge_start[node] == edge_start[node + 1];
      const REAL biases = join_lanes(bias_sums[k]), responses = join_lanes(response_sums[k]);
      const REAL cells = join_lanes(cell_sums[k]);
      if (lane != 0) continue;
      bias_gradient[node] = idle ? REAL(0) : biases;
      response_gradient[node] = idle ? REAL(0) : responses;
      if (keeps) cell_gradient[node] = idle ? REAL(0) : cells;
    }
  }
}
