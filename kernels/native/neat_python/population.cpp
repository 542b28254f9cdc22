#include "native/neat_python/population.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "native/neat_python/errors.h"
#include "native/neat_python/genome.h"
#include "native/neat_python/python_reading.h"
#include "native/thread_pool.h"

namespace evonet {

namespace {

constexpr int64_t kStepsPerSignal = 1024;
constexpr int64_t kGenomesAtOnce = 128;
constexpr int64_t kGenomesPerTask = 8;
// Samples that are evaluated side by side: enough to amortise a node, few enough for the cache.
constexpr int64_t kSamplesPerTask = 64;

const double* samples_of(const Rows& x, int64_t g) {
  return x.ndim() == 2 ? x.data() : x.data() + g * static_cast<int64_t>(x.shape(1) * x.shape(2));
}

double* answers_of(const Answers& y, int64_t g) {
  return y.data() + g * static_cast<int64_t>(y.shape(1) * y.shape(2));
}

}  // namespace

void advance_time(NeatNetwork& network, double seconds, double time_step, TimeRule rule,
                  const std::function<void()>& prepare) {
  for (const NeatNode& node : network.nodes) {
    if (node.time_constant == 0.0) {
      raise(PyExc_ZeroDivisionError, nb::str("float division by zero"));
    }
  }
  const double final_time = network.time + seconds;
  for (int64_t step = 1; network.time < final_time; ++step) {
    if (step % kStepsPerSignal == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
    const double left = final_time - network.time;
    const double dt = left < time_step ? left : time_step;
    if (network.time + dt <= network.time || std::isinf(final_time)) {
      throw nb::value_error("with this time step the time never ends");
    }
    prepare();
    with_python_errors([&] { network.run_step(dt, rule); });
    network.time += dt;
  }
}

int answering_buffer(const NeatNetwork& network, TimeRule rule) {
  // neat-python before 2.1 answers with the buffer before the last.
  return rule == TimeRule::kExponential ? network.active : 1 - network.active;
}

void advance_rows(NeatNetwork& network, const double* x, double* y, double seconds,
                  double time_step, TimeRule rule) {
  advance_time(network, seconds, time_step, rule, [&] {
    for (std::vector<double>& values : network.values) {
      network.write_inputs(x, network.width, values.data());
    }
  });
  network.read_outputs(network.values[answering_buffer(network, rule)].data(), network.width, y);
}

void answer_rows(NeatNetwork& network, bool feed_forward, int steps, const double* x,
                 int64_t num_samples, double* y, std::vector<double>& scratch) {
  if (!feed_forward) {
    for (int step = 0; step < steps; ++step) {
      for (std::vector<double>& values : network.values) {
        network.write_inputs(x, num_samples, values.data());
      }
      network.run_recurrent();
    }
    network.read_outputs(network.values[network.active].data(), num_samples, y);
    return;
  }
  const auto num_outputs = static_cast<int64_t>(network.output.size());
  for (int64_t begin = 0; begin < num_samples; begin += kSamplesPerTask) {
    const int64_t count = std::min(kSamplesPerTask, num_samples - begin);
    // Outputs on or behind a cycle are never written, and stay 0.
    scratch.assign(network.num_slots() * count, 0.0);
    network.write_inputs(x + begin * network.num_inputs, count, scratch.data());
    network.run_feed_forward(scratch.data(), count);
    network.read_outputs(scratch.data(), count, y + begin * num_outputs);
  }
}

NeatPopulation::NeatPopulation(bool feed_forward, int threads)
    : feed_forward_(feed_forward), threads_(usable_threads(threads)) {}

NeatPopulation NeatPopulation::create(bool feed_forward, const nb::list& genomes,
                                      const nb::list& inputs, const nb::list& outputs,
                                      nb::object activations, nb::object aggregations,
                                      const nb::object& time_constant, int threads) {
  auto functions = std::make_shared<NeatFunctions>();
  NeatGenomeReader reader(std::move(activations), std::move(aggregations), time_constant,
                          *functions);
  const nb::tuple held = hold_items(genomes);
  const auto count = static_cast<int64_t>(nb::len(held));
  const std::vector<int64_t> input_keys = read_keys(inputs), output_keys = read_keys(outputs);
  NeatPopulation population(feed_forward, threads);
  population.networks_.resize(count);
  // Some at a time, so that their genes stay in the cache.
  std::vector<NeatGenome> genes(std::min(count, kGenomesAtOnce));
  for (int64_t begin = 0; begin < count; begin += kGenomesAtOnce) {
    const int64_t end = std::min(count, begin + kGenomesAtOnce);
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    for (int64_t g = begin; g < end; ++g) {
      reader.read(item(held, g).ptr(), genes[g - begin]);
    }
    with_missing_nodes([&] {
      population.in_threads(begin, end, [&](int64_t g, std::vector<double>&) {
        population.networks_[g] =
            NeatNetwork(feed_forward, genes[g - begin], input_keys, output_keys, functions);
      });
    });
  }
  for (const NeatNetwork& network : population.networks_) {
    population.needs_python_.push_back(network.needs_python());
  }
  return population;
}

void NeatPopulation::begin(int64_t num_samples) {
  check_number("num_samples", num_samples, 0, kMostInt32);
  const Turn turn(busy_);
  width_ = -1;  // in case that memory is too small for some
  for (NeatNetwork& network : networks_) network.begin(num_samples);
  width_ = num_samples;
}

void NeatPopulation::check(int steps, const Rows& x, const Answers& y) const {
  check_number("steps", steps, 1, kMostInt32);
  check_shape("y", y, {size(), kAnySize, kAnySize});
  if (networks_.empty()) return;
  const auto num_samples = static_cast<int64_t>(y.shape(1)),
             num_inputs = int64_t{networks_[0].num_inputs},
             num_outputs = static_cast<int64_t>(networks_[0].output.size());
  check_shape("y", y, {size(), num_samples, num_outputs});
  if (x.ndim() == 3) {
    check_shape("x", x, {size(), num_samples, num_inputs});
  } else {
    check_shape("x", x, {num_samples, num_inputs});
  }
  if (!feed_forward_ && width_ != num_samples) {
    throw std::runtime_error("the networks do not remember as many samples as there are");
  }
}

void NeatPopulation::answer(int steps, Rows x, Answers y) {
  check(steps, x, y);
  const Turn turn(busy_);
  const auto run = [&](int64_t g, std::vector<double>& scratch) {
    answer_rows(networks_[g], feed_forward_, steps, samples_of(x, g),
                static_cast<int64_t>(y.shape(1)), answers_of(y, g), scratch);
  };
  with_python_errors([&] {
    in_threads(0, size(), [&](int64_t g, std::vector<double>& scratch) {
      if (!needs_python_[g]) run(g, scratch);
    });
    std::vector<double> scratch;
    for (int64_t g = 0; g < size(); ++g) {
      if (!needs_python_[g]) continue;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      run(g, scratch);
    }
  });
}

void NeatPopulation::advance(int steps, Rows x, Answers y, double time_step, bool exponential) {
  const TimeRule rule = exponential ? TimeRule::kExponential : TimeRule::kEuler;
  check(steps, x, y);
  if (!networks_.empty() && feed_forward_) throw nb::value_error("these networks know no time");
  const Turn turn(busy_);
  for (int64_t g = 0; g < size(); ++g) {
    for (int step = 0; step < steps; ++step) {
      advance_rows(networks_[g], samples_of(x, g), answers_of(y, g), time_step, time_step, rule);
    }
  }
}

nb::list NeatPopulation::calling_python() const {
  nb::list found;
  for (int64_t g = 0; g < size(); ++g) {
    if (needs_python_[g]) found.append(g);
  }
  return found;
}

void NeatPopulation::in_threads(
    int64_t begin, int64_t end,
    const std::function<void(int64_t, std::vector<double>&)>& visit) const {
  std::vector<std::vector<double>> scratch(threads_);
  run_interruptibly([&] {
    return parallel_for(
        threads_, (end - begin + kGenomesPerTask - 1) / kGenomesPerTask,
        [&](int worker, int64_t task, Interrupt& interrupt) {
          const int64_t first = begin + task * kGenomesPerTask;
          const int64_t last = std::min(end, first + kGenomesPerTask);
          for (int64_t g = first; g < last && !interrupt.requested(); ++g) {
            visit(g, scratch[worker]);
          }
        },
        python_signal);
  });
}

}  // namespace evonet
