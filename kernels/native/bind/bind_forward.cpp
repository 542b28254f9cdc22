// bind_forward.cpp: schedules evaluated on samples, from Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "native/bind/bindings.h"
#include "native/bind/read_schedule.h"
#include "native/isa/isa.h"
#include "native/lane_groups.h"
#include "native/sample_blocks.h"
#include "native/thread_pool.h"
#include "native/tile_forward.h"
#include "native/worker_memory.h"

using namespace nb::literals;

namespace evonet {

namespace {

// A schedule bound to a SIMD level; calling it evaluates all genomes on all samples.
template <class T>
class Forward {
 public:
  using Samples = Array<const T, -1>;
  using Outputs = Array<T, 3>;
  using Targets = Array<const T, 2>;
  using Losses = Array<T, 2>;
  using State = Array<const T, 3>;

  Forward(nb::object schedule, int threads, const std::string& simd)
      : owner_(read_schedule<T>(schedule)),
        schedule_(owner_.view()),
        threads_(usable_threads(threads)),
        kernels_(find_isa(simd).kernels(T()).forward),
        max_slots_(owner_.extent().max_slots),
        max_links_(owner_.extent().max_links) {}

  void operator()(Samples x, Outputs y) const {
    const int64_t num_samples = check_samples(x);
    check_shape("y", y, {schedule_.num_genomes, num_samples, schedule_.num_outputs});
    if (y.size() == 0) return;
    run_interruptibly([&] {
      if (num_samples == 1) {
        if (const LaneGroups<T>* groups = packed_groups()) {
          return evaluate_one(*groups, run_group_, x.data(), x.ndim() == 2, y.data());
        }
      }
      if (const Blocks blocks = in_blocks(num_samples, false)) {
        TileCounts counts;
        return evaluate_tiles({schedule_, x.data(), x.ndim() == 2, num_samples, y.data()}, *blocks,
                              true, counts);
      }
      return evaluate({schedule_, x.data(), x.ndim() == 2, num_samples, y.data()});
    });
  }

  // The same for one sample by networks side by side, by loads or by the gather instruction; false
  // if they do not fit.
  bool side_by_side(Samples x, Outputs y, bool gathers) const {
    if (check_samples(x) != 1) refuse("x", "must have one sample");
    check_shape("y", y, {schedule_.num_genomes, 1, schedule_.num_outputs});
    const auto groups = LaneGroups<T>::make(schedule_, kernels_.group_lanes, threads_);
    if (!groups) return false;
    run_interruptibly([&] {
      return evaluate_one(*groups, kernels_.run_group[gathers], x.data(), x.ndim() == 2, y.data());
    });
    return true;
  }

  // The same in tiles of samples, whatever the networks are, and what that took: links times
  // samples that were computed, and for each segment of levels of the first genome its levels and
  // seconds.
  nb::tuple tiles(Samples x, Outputs y, bool drop) const {
    const int64_t num_samples = check_samples(x);
    check_shape("y", y, {schedule_.num_genomes, num_samples, schedule_.num_outputs});
    if (schedule_.num_states > 0) refuse("schedule", "has memory, which tiles do not keep");
    TileCounts counts;
    Blocks blocks;
    run_interruptibly([&] {
      blocks = in_blocks(num_samples, true);
      return evaluate_tiles({schedule_, x.data(), x.ndim() == 2, num_samples, y.data()}, *blocks,
                            drop, counts);
    });
    nb::list levels, seconds;
    if (!blocks->empty()) {
      for (const int64_t count : blocks->front().segment_levels()) levels.append(count);
    }
    for (const double spent : counts.seconds) seconds.append(spent);
    return nb::make_tuple(counts.executed, levels, seconds);
  }

  // The same for networks with memory, from one state to the next, [C, N, B] each.
  void step(Samples x, Outputs y, State state, Outputs next_state) const {
    const ScheduleView<T>& s = schedule_;
    const int64_t num_samples = check_samples(x), num_nodes = s.node_start[s.num_genomes];
    check_shape("y", y, {s.num_genomes, num_samples, s.num_outputs});
    check_shape("state", state, {s.num_states, num_nodes, num_samples});
    check_shape("next_state", next_state, {s.num_states, num_nodes, num_samples});
    if (y.size() == 0 && state.size() == 0) return;
    run_interruptibly([&] {
      return evaluate({schedule_, x.data(), x.ndim() == 2, num_samples, y.data(), state.data(),
                       next_state.data()});
    });
  }

  // The loss of every genome, with memory from a first state. Outputs are never all in memory, only
  // those of some genomes at a time.
  void loss(Samples x, Targets targets, int loss, Losses out) const {
    const int64_t num_samples = check_samples(x), genomes = schedule_.num_genomes;
    check_shape("targets", targets, {num_samples, schedule_.num_outputs});
    check_shape("out", out, {genomes, 2});
    check_number("loss", loss, 0, NUM_LOSSES - 1);
    if (schedule_.num_outputs == 0) refuse("loss", "needs networks with outputs");
    const int64_t size = std::max<int64_t>(1, num_samples * schedule_.num_outputs);
    const int64_t most =
        std::clamp<int64_t>(kOutputsAtOnce / size, 1, std::max<int64_t>(1, genomes));
    Buffer<T> y(most * size);
    run_interruptibly([&] {
      for (int64_t begin = 0; begin < genomes; begin += most) {
        const ScheduleView<T> part = schedule_.part(begin, std::min(begin + most, genomes));
        const bool shared = x.ndim() == 2;
        const T* samples =
            shared ? x.data() : x.data() + begin * num_samples * schedule_.num_inputs;
        if (!evaluate({part, samples, shared, num_samples, y.data.get()})) return false;
        const int64_t per_task = std::max<int64_t>(1, kLossesPerTask / size);
        const int64_t tasks = (part.num_genomes + per_task - 1) / per_task;
        const bool done = parallel_for(
            threads_, tasks,
            [&](int, int64_t task, Interrupt& interrupt) {
              const int64_t end = std::min((task + 1) * per_task, part.num_genomes);
              for (int64_t g = task * per_task; g < end; ++g) {
                if (interrupt.requested()) return;
                kernels_.loss(loss, y.data.get() + g * size, targets.data(), num_samples,
                              schedule_.num_outputs, out.data() + 2 * (begin + g));
              }
            },
            python_signal);
        if (!done) return false;
      }
      return true;
    });
  }

 private:
  // B of samples that fit the networks.
  int64_t check_samples(const Samples& x) const {
    if (x.ndim() == 3) {
      check_shape("x", x, {schedule_.num_genomes, kAnySize, schedule_.num_inputs});
      return static_cast<int64_t>(x.shape(1));
    }
    check_shape("x", x, {kAnySize, schedule_.num_inputs});
    return static_cast<int64_t>(x.shape(0));
  }

  // Below this many link-samples waking a thread costs more than it saves.
  static constexpr int64_t kSerialWork = 1 << 17;
  static constexpr int64_t kTaskWork = 1 << 20;
  // Numbers: few enough for a cache, many enough that starting threads does not count.
  static constexpr int64_t kOutputsAtOnce = 1 << 20;
  static constexpr int64_t kLossesPerTask = 1 << 14;

  // Networks of very many links, if their nodes share enough of them or samples may leave, are cut
  // into blocks at their first call. Null for others, unless it is wanted anyway.
  static constexpr int64_t kLinksOfDeepNetworks = 1 << 15;
  static constexpr int64_t kSharedPercent = 50;
  using Blocks = std::shared_ptr<const std::vector<NodeBlocks<T>>>;
  Blocks in_blocks(int64_t num_samples, bool anyway) const {
    const ScheduleView<T>& s = schedule_;
    const int64_t genomes = s.num_genomes, links = s.edge_start[s.node_start[genomes]];
    const bool fits = s.num_states == 0 && num_samples >= kernels_.tile_width &&
                      links >= kLinksOfDeepNetworks * std::max<int64_t>(1, genomes);
    if (!anyway && (!fits || genomes == 0)) return nullptr;
    const std::lock_guard<std::mutex> lock(packing_);
    if (!anyway && never_in_blocks_) return nullptr;
    if (!blocks_) {
      const auto made = std::make_shared<std::vector<NodeBlocks<T>>>();
      for (int64_t g = 0; g < genomes; ++g) made->emplace_back(s, g, kernels_.activate);
      blocks_ = made;
    }
    const auto gains = [](const NodeBlocks<T>& blocks) {
      return blocks.shared_percent() >= kSharedPercent || blocks.may_drop();
    };
    if (anyway) return blocks_;
    if (std::all_of(blocks_->begin(), blocks_->end(), gains)) return blocks_;
    blocks_.reset();
    never_in_blocks_ = true;
    return nullptr;
  }

  // False if it was interrupted.
  bool evaluate_tiles(const ForwardCall<T>& call, const std::vector<NodeBlocks<T>>& blocks,
                      bool drop, TileCounts& counts) const {
    for (int64_t g = 0; g < schedule_.num_genomes; ++g) {
      TileCounts found;
      if (!forward_in_tiles(call, g, blocks[g], kernels_, max_links_, drop, threads_, python_signal,
                            found)) {
        return false;
      }
      counts.executed += found.executed;
      if (g == 0) counts.seconds = found.seconds;
    }
    return true;
  }

  // Networks that are asked for single samples again and again are packed once, after as many calls
  // as packing costs. Null before that, and for networks that do not fit.
  static constexpr int kCallsBeforePacking = 8;
  const LaneGroups<T>* packed_groups() const {
    const std::lock_guard<std::mutex> lock(packing_);
    if (single_calls_ < kCallsBeforePacking) {
      ++single_calls_;
    } else if (!packed_) {
      packed_ = true;
      groups_ = LaneGroups<T>::make(schedule_, kernels_.group_lanes, threads_);
      if (groups_) run_group_ = fastest(kernels_.run_group, *groups_);
    }
    return groups_.get();
  }

  // One sample, by networks side by side; false if it was interrupted.
  bool evaluate_one(const LaneGroups<T>& groups, RunLaneGroup<T> run_group, const T* x, bool shared,
                    T* y) const {
    const int64_t tasks = std::min<int64_t>(groups.count(), 8 * threads_);
    const int64_t threads =
        groups.num_links() < kSerialWork ? 1 : std::min<int64_t>(threads_, tasks);
    std::vector<AlignedArray<T>> values;
    for (int64_t i = 0; i < threads; ++i) {
      values.emplace_back(groups.max_rows() * kernels_.group_lanes);
    }
    return parallel_for(
        static_cast<int>(threads), tasks,
        [&](int worker, int64_t task, Interrupt& interrupt) {
          const int64_t end = groups.count() * (task + 1) / tasks;
          for (int64_t i = groups.count() * task / tasks; i < end; ++i) {
            if (interrupt.requested()) return;
            run_group(groups[i], x, shared, values[worker].data(), y);
          }
        },
        python_signal);
  }

  // False if it was interrupted.
  bool evaluate(const ForwardCall<T>& call) const {
    const ScheduleView<T>& s = call.schedule;
    const SampleBlocks blocks(call.num_samples, max_slots_, sizeof(T), kernels_.vector_width,
                              kernels_.max_width);
    // Splitting a block over genomes is free when inputs are shared: they are loaded once per task.
    const int64_t cost = cost_until(s, s.num_genomes) - cost_until(s, 0);
    const double work = static_cast<double>(cost) * static_cast<double>(s.steps) *
                        static_cast<double>(blocks.padded_samples());
    // Enough tasks that no thread waits long for the last one.
    const int64_t per_block =
        (4 * threads_ + blocks.count() - 1) / std::max<int64_t>(1, blocks.count());
    const int64_t splits =
        std::clamp<int64_t>(std::max(cost * blocks.max_width() / kTaskWork, per_block), 1,
                            std::max<int64_t>(1, s.num_genomes));
    const int64_t tasks = blocks.count() * splits;
    const int64_t threads = work < double{kSerialWork} ? 1 : std::min<int64_t>(threads_, tasks);
    std::vector<WorkerMemory<T>> memories;
    std::vector<Workspace<T>> workspaces;
    for (int64_t i = 0; i < threads; ++i) {
      memories.emplace_back(max_slots_ * blocks.max_width(), max_links_);
      workspaces.push_back(memories.back().workspace());
    }
    return parallel_for(
        static_cast<int>(threads), tasks,
        [&](int worker, int64_t task, Interrupt& interrupt) {
          const int64_t split = task % splits;
          kernels_.forward(call, genome_at(s, cost, split, splits),
                           genome_at(s, cost, split + 1, splits), blocks[task / splits],
                           workspaces[worker], interrupt);
        },
        python_signal);
  }

  // In links, of the genomes before g and of all that lie before them.
  static int64_t cost_until(const ScheduleView<T>& s, int64_t g) {
    return s.edge_start[s.node_start[g]] + (8 + 4 * s.num_states) * s.node_start[g] + 8 * g;
  }

  // First genome of a split, with equal cost in every split.
  static int64_t genome_at(const ScheduleView<T>& s, int64_t cost, int64_t split, int64_t splits) {
    const double wanted =
        static_cast<double>(cost) * static_cast<double>(split) / static_cast<double>(splits);
    int64_t low = 0, high = s.num_genomes;
    while (low < high) {
      const int64_t g = (low + high) / 2;
      if (static_cast<double>(cost_until(s, g) - cost_until(s, 0)) < wanted) {
        low = g + 1;
      } else {
        high = g;
      }
    }
    return low;
  }

  const ScheduleRef<T> owner_;
  const ScheduleView<T>& schedule_;
  int threads_;
  const ForwardKernels<T>& kernels_;
  int64_t max_slots_, max_links_;
  mutable std::mutex packing_;
  mutable int single_calls_ = 0;
  mutable bool packed_ = false, never_in_blocks_ = false;
  mutable std::unique_ptr<const LaneGroups<T>> groups_;
  mutable RunLaneGroup<T> run_group_ = nullptr;
  mutable Blocks blocks_;
};

template <class T>
void bind_forward_of(nb::module_& m, const std::string& suffix) {
  nb::class_<Forward<T>>(m, ("Forward" + suffix).c_str())
      .def(nb::init<nb::object, int, const std::string&>(), "schedule"_a, "threads"_a, "simd"_a)
      .def("__call__", &Forward<T>::operator(), "x"_a.noconvert(), "y"_a.noconvert(),
           "Evaluates x [B, I] or [P, B, I] into y [P, B, O].")
      .def("side_by_side", &Forward<T>::side_by_side, "x"_a.noconvert(), "y"_a.noconvert(),
           "gathers"_a, "One sample by networks side by side; False if they do not fit.")
      .def("tiles", &Forward<T>::tiles, "x"_a.noconvert(), "y"_a.noconvert(), "drop"_a,
           "Evaluates x into y in tiles of samples; with drop, samples that stay zero leave. "
           "Returns "
           "links times samples computed, and levels and seconds of each segment.")
      .def("step", &Forward<T>::step, "x"_a.noconvert(), "y"_a.noconvert(), "state"_a.noconvert(),
           "next_state"_a.noconvert(), "Evaluates x into y, from state [C, N, B] to next_state.")
      .def("loss", &Forward<T>::loss, "x"_a.noconvert(), "targets"_a.noconvert(), "loss"_a,
           "out"_a.noconvert(),
           "The loss of every genome against targets [B, O], into out [P, 2]: sum and rest.");
}

}  // namespace

void bind_forward(nb::module_& m) {
  bind_forward_of<float>(m, "32");
  bind_forward_of<double>(m, "64");
}

}  // namespace evonet
