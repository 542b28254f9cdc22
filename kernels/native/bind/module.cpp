// module.cpp: the Python face of the native kernels. Arrays are checked here, by arrays.h, and
// schedules by read_schedule.h; the GIL is released while kernels run.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "native/bind/bindings.h"
#include "native/bind/read_population.h"
#include "native/bind/read_schedule.h"
#include "native/compile_schedule.h"
#include "native/isa/isa.h"
#include "native/isa/processor_level.h"
#include "native/lane_groups.h"
#include "native/sample_blocks.h"
#include "native/thread_pool.h"
#include "native/tile_forward.h"
#include "native/worker_memory.h"
#include "nodes/function_ids.h"

using namespace nb::literals;

namespace evonet {

namespace {

template <class T>
std::pair<nb::dict, int64_t> compile(int64_t num_inputs, int64_t num_outputs,
                                     In<int64_t> node_start, In<int64_t> node_key, In<T> bias,
                                     In<T> response, In<uint8_t> activation,
                                     In<uint8_t> aggregation, In<int64_t> conn_start,
                                     In<int64_t> source, In<int64_t> target, In<T> weight,
                                     In<bool> enabled, In<int32_t> rank, int wiring, int num_states,
                                     bool reuse_slots, int threads) {
  const auto num_nodes = static_cast<int64_t>(node_key.shape(0)),
             num_conns = static_cast<int64_t>(source.shape(0));
  check_number("wiring", wiring, kLevels, kSpikes);
  check_number("num_states", num_states, 0, 16);
  check_number("num_inputs", num_inputs, 0, kMostInt32 / 2);
  check_number("num_outputs", num_outputs, 0, kMostInt32);
  check_shape("node_key", node_key, {num_nodes});
  check_shape("bias", bias, {num_nodes});
  check_shape("response", response, {num_nodes});
  check_shape("activation", activation, {num_nodes});
  check_shape("aggregation", aggregation, {num_nodes});
  check_shape("source", source, {num_conns});
  check_shape("target", target, {num_conns});
  check_shape("weight", weight, {num_conns});
  check_shape("enabled", enabled, {num_conns});
  check_shape("rank", rank, {num_conns});
  check_flags("enabled", enabled);
  const int64_t num_genomes =
      check_starts(node_start, conn_start, num_nodes, num_conns, num_outputs);
  const PopulationView<T> population{
      num_genomes,   num_inputs,      num_outputs,       node_start.data(),  node_key.data(),
      bias.data(),   response.data(), activation.data(), aggregation.data(), conn_start.data(),
      source.data(), target.data(),   weight.data(),     enabled.data(),     rank.data()};
  CompiledSchedule<T> out;
  run_interruptibly([&] {
    return compile_schedule(population, {static_cast<Wiring>(wiring), num_states, reuse_slots},
                            threads, python_signal, out);
  });
  if (out.bad_genome >= 0) {
    raise_error("GenomeError", "genome " + std::to_string(out.bad_genome) +
                                   ": its keys do not ascend, a connection ends at no node, or "
                                   "ranks are not 0, 1, ... in some order. Make the population "
                                   "with validate=True to see which.");
  }
  const ScheduleView<T> view{num_genomes,
                             num_inputs,
                             num_outputs,
                             out.node_start.data.get(),
                             out.bias.data.get(),
                             out.response.data.get(),
                             out.activation.data.get(),
                             out.aggregation.data.get(),
                             out.slot.data.get(),
                             out.num_slots.data.get(),
                             out.edge_start.data.get(),
                             out.source.data.get(),
                             out.weight.data.get(),
                             out.level_start.data.get(),
                             out.level_end.data.get(),
                             out.output_slot.data.get(),
                             0,
                             num_states};
  nb::dict fields;
  fields["node_start"] = to_read_only_numpy(out.node_start);
  fields["node_key"] = to_read_only_numpy(out.node_key);
  fields["bias"] = to_read_only_numpy(out.bias);
  fields["response"] = to_read_only_numpy(out.response);
  fields["activation"] = to_read_only_numpy(out.activation);
  fields["aggregation"] = to_read_only_numpy(out.aggregation);
  fields["slot"] = to_read_only_numpy(out.slot);
  fields["num_slots"] = to_read_only_numpy(out.num_slots);
  fields["edge_start"] = to_read_only_numpy(out.edge_start);
  fields["source"] = to_read_only_numpy(out.source);
  fields["weight"] = to_read_only_numpy(out.weight);
  fields["level_start"] = to_read_only_numpy(out.level_start);
  fields["level_end"] = to_read_only_numpy(out.level_end);
  fields["output_slot"] = to_numpy<int32_t, const int32_t>(
      out.output_slot, {static_cast<size_t>(num_genomes), static_cast<size_t>(num_outputs)});
  nb::list arrays;
  for (auto field : fields) arrays.append(field.second);
  if (wiring != kLevels) fields["gene"] = to_read_only_numpy(out.gene);
  fields["checked"] = nb::cast(new CheckedSchedule<T>(view, arrays), nb::rv_policy::take_ownership);
  return {fields, out.cyclic_genome};
}

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
        if (const LaneGroups<T>* groups = side_by_side()) {
          return evaluate_one(*groups, x.data(), x.ndim() == 2, y.data());
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
  const LaneGroups<T>* side_by_side() const {
    const std::lock_guard<std::mutex> lock(packing_);
    if (single_calls_ < kCallsBeforePacking) {
      ++single_calls_;
    } else if (!packed_) {
      packed_ = true;
      groups_ = LaneGroups<T>::make(schedule_, kernels_.group_lanes, threads_);
    }
    return groups_.get();
  }

  // One sample, by networks side by side; false if it was interrupted.
  bool evaluate_one(const LaneGroups<T>& groups, const T* x, bool shared, T* y) const {
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
            kernels_.run_group(groups[i], x, shared, values[worker].data(), y);
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
  mutable Blocks blocks_;
};

template <class T>
void bind_forward(nb::module_& m, const std::string& suffix) {
  nb::class_<CheckedSchedule<T>>(m, ("_CheckedSchedule" + suffix).c_str())
      .def(
          "complete",
          [](nb::handle self, const nb::object& schedule) {
            nb::cast<CheckedSchedule<T>*>(self)->complete(schedule);
            note_checked(schedule, nb::borrow(self));
          },
          "schedule"_a, "Adds what only a Schedule has, which then needs no further check.");
  nb::class_<Forward<T>>(m, ("Forward" + suffix).c_str())
      .def(nb::init<nb::object, int, const std::string&>(), "schedule"_a, "threads"_a, "simd"_a)
      .def("__call__", &Forward<T>::operator(), "x"_a.noconvert(), "y"_a.noconvert(),
           "Evaluates x [B, I] or [P, B, I] into y [P, B, O].")
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

template <class T>
nb::object activate(int id, In<T> x, const std::string& simd) {
  check_shape("x", x, {kAnySize});
  if (id < 0 || (id >= NUM_ACTIVATIONS && custom_activation<T>(id) == nullptr)) {
    refuse("id", "is not that of an activation: " + std::to_string(id));
  }
  const auto count = static_cast<int64_t>(x.shape(0));
  Buffer<T> y(count + 64);
  std::copy(x.data(), x.data() + count, y.data.get());
  std::fill(y.data.get() + count, y.data.get() + count + 64, T(0));
  find_isa(simd).kernels(T()).forward.activate(id, y.data.get(), count);
  return to_numpy(y, {static_cast<size_t>(count)});
}

template <class T>
nb::object aggregate(int id, In<T> weights, Array<const T, 2> values, const std::string& simd) {
  const ForwardKernels<T>& kernels = find_isa(simd).kernels(T()).forward;
  const int64_t width = kernels.vector_width;
  const auto num_links = static_cast<int64_t>(weights.shape(0));
  check_shape("weights", weights, {kAnySize});
  check_shape("values", values, {num_links, kAnySize});
  check_number("links", num_links, 0, kMostInt32);
  if (id < 0 || (id >= NUM_AGGREGATIONS && custom_aggregation<T>(id) == nullptr)) {
    refuse("id", "is not that of an aggregation: " + std::to_string(id));
  }
  Buffer<T> out(static_cast<int64_t>(values.shape(1)));
  std::vector<T> block(num_links * width), scratch(num_links), joined(width);
  std::vector<int32_t> source(num_links);
  std::iota(source.begin(), source.end(), 0);
  for (int64_t begin = 0; begin < out.size; begin += width) {
    const int64_t count = std::min(width, out.size - begin);
    for (int64_t e = 0; e < num_links; ++e) {
      const T* row = values.data() + e * out.size + begin;
      std::copy(row, row + count, block.data() + e * width);
    }
    kernels.aggregate(id, weights.data(), block.data(), source.data(), num_links, scratch.data(),
                      joined.data());
    std::copy(joined.data(), joined.data() + count, out.data.get() + begin);
  }
  return to_numpy(out);
}

template <class T>
void bind_functions(nb::module_& m, const std::string& suffix) {
  m.def(("check_schedule" + suffix).c_str(), [](const nb::object& s) { read_schedule<T>(s); },
        "schedule"_a, "Raises a ShapeError if anything in a Schedule points outside.");
  m.def("compile_schedule", &compile<T>, "num_inputs"_a, "num_outputs"_a,
        "node_start"_a.noconvert(), "node_key"_a.noconvert(), "bias"_a.noconvert(),
        "response"_a.noconvert(), "activation"_a.noconvert(), "aggregation"_a.noconvert(),
        "conn_start"_a.noconvert(), "source"_a.noconvert(), "target"_a.noconvert(),
        "weight"_a.noconvert(), "enabled"_a.noconvert(), "rank"_a.noconvert(), "wiring"_a,
        "num_states"_a, "reuse_slots"_a, "threads"_a,
        "The arrays of a Schedule by name, 'checked' for its check, and the first cyclic genome or "
        "-1.");
  m.def("activate", &activate<T>, "id"_a, "x"_a.noconvert(), "simd"_a,
        "Applies an activation to every element.");
  m.def("aggregate", &aggregate<T>, "id"_a, "weights"_a.noconvert(), "values"_a.noconvert(),
        "simd"_a, "Aggregates weights [n] times values [n, B] to [B].");
}

}  // namespace
}  // namespace evonet

NB_MODULE(_native, m) {
  using namespace evonet;
  m.def(
      "simd_levels",
      [] {
        std::vector<std::string> names;
        for (const Isa* isa : usable_isas()) names.emplace_back(isa->name);
        return names;
      },
      "The compiled instruction sets that this processor can run, slowest first.");
  m.def(
      "processor_level", [] { return processor_level(); },
      "4 on x86 with AVX-512, 3 with AVX2 and FMA, otherwise 1, whatever was compiled.");
  m.def("available_threads", &available_threads, "The number of CPUs this process may run on.");
  bind_functions<float>(m, "32");
  bind_functions<double>(m, "64");
  bind_forward<float>(m, "32");
  bind_forward<double>(m, "64");
  bind_actor(m);
  bind_evolution(m);
  bind_gradient(m);
  bind_images(m);
  bind_machine(m);
  bind_mating(m);
  bind_packer(m);
  bind_program(m);
  bind_rollout(m);
  bind_wide(m);
  bind_pack_neat(m);
  bind_neat_network(m);
}
