// bind_rollout.cpp: control tasks for Python, whole rollouts and single steps.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "native/bind/bindings.h"
#include "native/bind/read_schedule.h"
#include "native/rollout.h"

using namespace nb::literals;

namespace evonet {
namespace {

constexpr int64_t kMostRollouts = int64_t{1} << 48;

template <class T>
const ControlKernels<T>& find_control(const IsaKernels<T>& kernels, int id) {
  if (id < 0 || id >= kernels.control.count) throw nb::index_error("no such control task");
  return kernels.control.controls[id];
}

template <class T>
nb::tuple run(const nb::object& schedule, int control, In<int64_t> genomes, uint32_t first_episode,
              int64_t episodes, int32_t max_steps, uint64_t seed, int threads,
              const std::string& simd) {
  const IsaKernels<T>& kernels = find_isa(simd).kernels(T());
  const ScheduleRef<T> bound = read_schedule<T>(schedule);
  const auto num_genomes = static_cast<int64_t>(genomes.shape(0));
  check_shape("genomes", genomes, {num_genomes});
  check_number("episodes", episodes, 0, kMostInt32);
  check_number("max_steps", max_steps, 1, kMostInt32);
  check_number("rollouts", num_genomes, 0, kMostRollouts / std::max<int64_t>(1, episodes));
  Buffer<T> total(num_genomes * episodes);
  Buffer<int32_t> steps(num_genomes * episodes);
  const RolloutCall<T> call{bound,
                            &find_control(kernels, control),
                            seed,
                            first_episode,
                            max_steps,
                            std::min(kernels.forward.max_width, kMostLanes),
                            total.data.get(),
                            steps.data.get()};
  if (call.schedule.num_inputs != call.control->num_inputs ||
      call.schedule.num_outputs != call.control->num_outputs) {
    throw nb::value_error("the networks do not fit the control task");
  }
  for (int64_t i = 0; i < num_genomes; ++i) {
    if (genomes.data()[i] < 0 || genomes.data()[i] >= call.schedule.num_genomes) {
      throw nb::index_error("no such genome");
    }
  }
  run_interruptibly([&] {
    return rollout(kernels.rollout, call, genomes.data(), num_genomes, episodes, threads,
                   python_signal);
  });
  const std::vector<size_t> shape{static_cast<size_t>(num_genomes), static_cast<size_t>(episodes)};
  return nb::make_tuple(to_numpy(total, shape), to_numpy(steps, shape));
}

// A few rows of lanes as arrays, through the same kernels as a rollout.
template <class T>
class ControlSteps {
 public:
  using Rows = Array<const T, 2>;

  ControlSteps(int control, const std::string& simd)
      : control_(find_control(find_isa(simd).kernels(T()), control)),
        lanes_(std::make_unique<Lanes<T>>()) {}

  nb::object reset(uint64_t seed, uint32_t first_episode, int64_t count) {
    check_number("count", count, 0, kMostInt32);
    Buffer<T> state(control_.state_size * count);
    for (int64_t i = 0; i < count; ++i) {
      control_.reset(*lanes_, 0, seed, first_episode + static_cast<uint32_t>(i));
      for (int s = 0; s < control_.state_size; ++s) {
        state.data[s * count + i] = lanes_->state[s][0];
      }
    }
    return to_numpy(state, shape(control_.state_size, count));
  }

  nb::object observe(Rows state) {
    check_shape("state", state, {control_.state_size, kAnySize});
    const auto count = static_cast<int64_t>(state.shape(1));
    Buffer<T> input(control_.num_inputs * count);
    over(count, [&](int64_t begin) {
      fill(lanes_->state, state, begin);
      control_.observe(*lanes_);
      read(lanes_->input, control_.num_inputs, input.data.get(), count, begin);
    });
    return to_numpy(input, shape(control_.num_inputs, count));
  }

  nb::tuple step(Rows state, Rows output) {
    const auto count = static_cast<int64_t>(state.shape(1));
    check_shape("state", state, {control_.state_size, count});
    check_shape("output", output, {control_.num_outputs, count});
    Buffer<T> next(control_.state_size * count), reward(count);
    Buffer<bool> ended(count);
    over(count, [&](int64_t begin) {
      fill(lanes_->state, state, begin);
      fill(lanes_->output, output, begin);
      std::fill_n(lanes_->total, kLaneRow, T(0));
      control_.step(*lanes_);
      read(lanes_->state, control_.state_size, next.data.get(), count, begin);
      std::copy_n(lanes_->total, lanes_->count, reward.data.get() + begin);
      for (int i = 0; i < lanes_->count; ++i) ended.data[begin + i] = lanes_->ended[i] != 0;
    });
    return nb::make_tuple(to_numpy(next, shape(control_.state_size, count)), to_numpy(reward),
                          to_numpy(ended));
  }

 private:
  static std::vector<size_t> shape(int rows, int64_t count) {
    return {static_cast<size_t>(rows), static_cast<size_t>(count)};
  }

  template <class Work>
  void over(int64_t count, Work work) {
    for (int64_t begin = 0; begin < count; begin += kMostLanes) {
      lanes_->count = static_cast<int>(std::min<int64_t>(kMostLanes, count - begin));
      work(begin);
    }
  }

  void fill(T (*rows)[kLaneRow], const Rows& from, int64_t begin) {
    for (size_t r = 0; r < from.shape(0); ++r) {
      std::copy_n(from.data() + r * from.shape(1) + begin, lanes_->count, rows[r]);
    }
  }

  void read(T (*rows)[kLaneRow], int num_rows, T* to, int64_t count, int64_t begin) {
    for (int r = 0; r < num_rows; ++r) {
      std::copy_n(rows[r], lanes_->count, to + r * count + begin);
    }
  }

  const ControlKernels<T>& control_;
  std::unique_ptr<Lanes<T>> lanes_;
};

template <class T>
void bind_rollout_of(nb::module_& m, const std::string& suffix) {
  m.def(("rollout" + suffix).c_str(), &run<T>, "schedule"_a, "control"_a, "genomes"_a.noconvert(),
        "first_episode"_a, "episodes"_a, "max_steps"_a, "seed"_a, "threads"_a, "simd"_a,
        "Rewards and steps [K, E] of whole episodes of the chosen genomes.");
  nb::class_<ControlSteps<T>>(m, ("Control" + suffix).c_str())
      .def(nb::init<int, const std::string&>(), "control"_a, "simd"_a)
      .def("reset", &ControlSteps<T>::reset, "seed"_a, "first_episode"_a, "count"_a,
           "The first states [S, count] of consecutive episodes.")
      .def("observe", &ControlSteps<T>::observe, "state"_a.noconvert(),
           "What networks see [I, B] of states [S, B].")
      .def("step", &ControlSteps<T>::step, "state"_a.noconvert(), "output"_a.noconvert(),
           "The next states [S, B], rewards [B], and whether episodes ended [B].");
}

}  // namespace

void bind_rollout(nb::module_& m) {
  m.def(
      "controls",
      [] {
        std::vector<std::tuple<std::string, int, int, int, int>> found;
        const ControlList<float>& tasks = usable_isas().front()->float32.control;
        for (int i = 0; i < tasks.count; ++i) {
          const ControlKernels<float>& c = tasks.controls[i];
          found.emplace_back(c.name, c.state_size, c.num_inputs, c.num_outputs, c.max_steps);
        }
        return found;
      },
      "Name, state size, inputs, outputs and step limit of every control task.");
  bind_rollout_of<float>(m, "32");
  bind_rollout_of<double>(m, "64");
}

}  // namespace evonet
