// rollout_kernels.h: the loop of rollout.h for one instruction set. A round lets every network see
// and act once. Networks differ, so each runs on its own lanes; the task is the same for all, so it
// runs on whole vectors whatever genomes they hold, which also fills them when a genome has a
// single episode. Lanes never meet, so no result depends on who shares a vector with whom.
#pragma once

#include "native/ensemble_kernels.h"
#include "native/rollout.h"

EVONET_NAMESPACE_BEGIN

// One network on `count` lanes from `lane` on; see act.h.
template <class T>
void act(const ScheduleView<T>& s, Lanes<T>& lanes, int64_t genome, int lane, int count,
         Workspace<T>& workspace, Interrupt& interrupt);

template <class T>
class Rollout {
 public:
  Rollout(const RolloutCall<T>& call, RolloutQueue& queue, Lanes<T>& lanes, Workspace<T>& workspace,
          Interrupt& interrupt)
      : call_(call), queue_(queue), lanes_(lanes), workspace_(workspace), interrupt_(interrupt) {}

  // Until all is done; false if interrupted. Lanes that are at work come first, without gaps.
  bool run() {
    for (;;) {
      while (lanes_.count < kMostLanes && seat(lanes_.count)) ++lanes_.count;
      if (lanes_.count == 0) return true;
      call_.control->observe(lanes_);
      act_all();
      if (interrupted()) return false;
      call_.control->step(lanes_);
      if (count_steps()) {
        for (int lane = 0; lane < lanes_.count; ++lane) {
          if (lanes_.ended[lane]) record(lane);
        }
        close_gaps();
      }
    }
  }

  // Until few episodes are left, which run() can finish; false if interrupted. A lane whose
  // episode has ended gets the next one, whatever its genome.
  bool run_side_by_side(const Ensemble<T>& ensemble) {
    EnsembleGroups<T> groups(ensemble);
    groups.clear();
    lanes_.count = kMostLanes;
    int working = 0;
    const auto refill = [&](int lane) {
      const int64_t before = lanes_.genome[lane];
      if (!seat(lane)) return;
      ++working;
      if (lanes_.genome[lane] != before) groups.load(call_.schedule, lanes_.genome[lane], lane);
    };
    for (int lane = 0; lane < kMostLanes; ++lane) {
      lanes_.genome[lane] = lanes_.result[lane] = -1;
      refill(lane);
    }
    while (working >= kFew) {
      call_.control->observe(lanes_);
      for (int first = 0; first < kMostLanes; first += groups.W) act_in_group(groups, first);
      if (interrupted()) return false;
      call_.control->step(lanes_);
      if (!count_steps()) continue;
      for (int lane = 0; lane < kMostLanes; ++lane) {
        if (lanes_.ended[lane] && lanes_.result[lane] >= 0) {
          record(lane);
          --working;
          refill(lane);
        }
      }
    }
    close_gaps();
    return true;
  }

 private:
  // Begins the next episode in a lane; false if there is none.
  bool seat(int lane) {
    if (item_.episode == item_.end && !queue_.take(item_)) return false;
    call_.control->reset(lanes_, lane, call_.seed,
                         call_.first_episode + static_cast<uint32_t>(item_.episode));
    lanes_.total[lane] = T(0);
    lanes_.steps[lane] = 0;
    lanes_.genome[lane] = item_.genome;
    lanes_.result[lane] = item_.result;
    forget(lane);
    ++item_.episode;
    ++item_.result;
    return true;
  }

  // Gives the network of a lane its first state.
  void forget(int lane) {
    const ScheduleView<T>& s = call_.schedule;
    const int64_t genome = lanes_.genome[lane];
    with_cell(s.kind, [&](auto cell) {
      using Cell = decltype(cell);
      if constexpr (Cell::kStates > 0) {
        for (int64_t k = 0; k < s.num_nodes(genome); ++k) {
          T state[Cell::kStates];
          Cell::begin(s.cell + (s.node_start[genome] + k) * Cell::kParameters, state);
          for (int c = 0; c < Cell::kStates; ++c) lanes_.remembered(c, k)[lane] = state[c];
        }
      }
    });
  }

  void act_all() {
    for (int lane = 0; lane < lanes_.count;) {
      const int64_t genome = lanes_.genome[lane];
      int end = lane + 1;
      while (end < lanes_.count && lanes_.genome[end] == genome && end - lane < call_.max_width) {
        ++end;
      }
      act_on(genome, lane, end - lane);
      lane = end;
    }
  }

  void act_on(int64_t genome, int lane, int count) {
    act(call_.schedule, lanes_, genome, lane, count, workspace_, interrupt_);
    const ScheduleView<T>& s = call_.schedule;
    const int64_t first = s.node_start[genome], last = s.node_start[genome + 1];
    patience_ -= 64 + s.steps * (8 * (last - first) + s.edge_start[last] - s.edge_start[first]);
  }

  void act_in_group(const EnsembleGroups<T>& groups, int first) {
    int working[EnsembleGroups<T>::W], count = 0;
    for (int lane = first; lane < first + groups.W; ++lane) {
      if (lanes_.result[lane] >= 0) working[count++] = lane;
    }
    if (count >= kFew) {
      patience_ -= groups.act(lanes_, first / groups.W);
    } else {
      for (int i = 0; i < count; ++i) act_on(lanes_.genome[working[i]], working[i], 1);
    }
  }

  bool interrupted() {
    if (patience_ > 0) return false;
    patience_ = kRoundPatience;
    return interrupt_.requested();
  }

  // Whether any episode is over.
  bool count_steps() {
    typename FlagOf<T>::type any = 0;
    for (int i = 0; i < lanes_.count; ++i) {
      lanes_.steps[i] += 1;
      lanes_.ended[i] |= lanes_.steps[i] >= call_.max_steps;
      any |= lanes_.ended[i];
    }
    return any != 0;
  }

  void record(int lane) {
    call_.total[lanes_.result[lane]] = lanes_.total[lane];
    call_.steps[lanes_.result[lane]] = lanes_.steps[lane];
    lanes_.result[lane] = -1;
  }

  void close_gaps() {
    int kept = 0;
    for (int lane = 0; lane < lanes_.count; ++lane) {
      if (lanes_.result[lane] < 0) continue;
      if (kept != lane) move(lane, kept);
      ++kept;
    }
    lanes_.count = kept;
  }

  void move(int from, int to) {
    for (int i = 0; i < call_.control->state_size; ++i) {
      lanes_.state[i][to] = lanes_.state[i][from];
    }
    lanes_.total[to] = lanes_.total[from];
    lanes_.steps[to] = lanes_.steps[from];
    for (int64_t r = 0; r < call_.schedule.num_states * lanes_.max_nodes; ++r) {
      lanes_.memory[r * kLaneRow + to] = lanes_.memory[r * kLaneRow + from];
    }
    lanes_.genome[to] = lanes_.genome[from];
    lanes_.result[to] = lanes_.result[from];
  }

  static constexpr int64_t kRoundPatience = 1 << 18;  // in links, a fraction of a millisecond
  static constexpr int kFew = 4;  // so many networks are faster one by one than side by side

  const RolloutCall<T>& call_;
  RolloutQueue& queue_;
  Lanes<T>& lanes_;
  Workspace<T>& workspace_;
  Interrupt& interrupt_;
  RolloutItem item_;
  int64_t patience_ = kRoundPatience;
};

template <class T>
void run_rollout(const RolloutCall<T>& call, RolloutQueue& queue, Lanes<T>& lanes,
                 const Ensemble<T>* ensemble, Workspace<T>& workspace, Interrupt& interrupt) {
  Rollout<T> rollout(call, queue, lanes, workspace, interrupt);
  if (ensemble == nullptr || rollout.run_side_by_side(*ensemble)) rollout.run();
}

template <class T>
constexpr RolloutKernels<T> kRollout = {kGroupLanes<T>, &run_rollout<T>};

EVONET_NAMESPACE_END
