// bind_neat_network.cpp: neat-python's networks as the drop-in classes see them.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "aggregations.h"
#include "native/bindings.h"
#include "native/libm_real.h"
#include "native/neat_genome.h"
#include "native/neat_graph.h"
#include "native/neat_network.h"
#include "native/neat_spiking.h"
#include "native/python_reading.h"
#include "native/thread_pool.h"

namespace evonet {

namespace {

constexpr int64_t kStepsPerSignal = 1024;
// Samples that are evaluated side by side: enough to amortise a node, few enough for the cache.
constexpr int64_t kBlock = 64;

using Rows = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Answers = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

[[noreturn]] void raise(PyObject* type, const nb::object& value) {
  PyErr_SetObject(type, value.ptr());
  throw nb::python_error();
}

// As Python's own powers raise it.
[[noreturn]] void raise_overflow() {
  raise(PyExc_OverflowError, nb::make_tuple(ERANGE, std::strerror(ERANGE)));
}

template <class Work>
auto with_python_errors(Work work) {
  try {
    return work();
  } catch (const PowerOverflow&) {
    raise_overflow();
  }
}

std::vector<int64_t> read_keys(const nb::list& keys) {
  std::vector<int64_t> found;
  found.reserve(nb::len(keys));
  for (nb::handle key : keys) found.push_back(read_whole(key.ptr()));
  return found;
}

template <class Work>
auto with_missing_nodes(Work work) {
  try {
    return work();
  } catch (const MissingNode& missing) {
    raise(PyExc_KeyError, nb::int_(missing.key));
  }
}

// The network of a genome, as `create` of neat-python's classes makes it.
NeatNetwork create_network(bool feed_forward, const nb::object& genome, const nb::list& inputs,
                           const nb::list& outputs, nb::object activations, nb::object aggregations,
                           const nb::object& time_constant) {
  auto functions = std::make_shared<NeatFunctions>();
  NeatGenomeReader reader(std::move(activations), std::move(aggregations), time_constant,
                          *functions);
  const NeatGenome genes = reader.read(genome.ptr());
  return with_missing_nodes([&] {
    NeatNetwork network(feed_forward, genes, read_keys(inputs), read_keys(outputs), functions);
    network.begin(1);
    return network;
  });
}

// A network of rows (node, activation, aggregation, bias, response, links, time_constant).
NeatNetwork network_of_rows(const nb::list& inputs, const nb::list& outputs, const nb::list& rows) {
  NeatNetwork network;
  network.functions = std::make_shared<NeatFunctions>();
  KeyNumbers numbers(nb::len(inputs) + nb::len(outputs) + nb::len(rows));
  for (int64_t key : read_keys(inputs)) numbers(key);
  network.num_inputs = numbers.size();
  for (int64_t key : read_keys(outputs)) network.output.push_back(numbers(key));
  for (nb::handle row : rows) {
    const nb::tuple fields = nb::cast<nb::tuple>(row);
    NeatNode node{};
    node.slot = numbers(read_whole(nb::object(fields[0]).ptr()));
    node.activation_place = network.functions->add(fields[1]);
    node.aggregation_place = network.functions->add(fields[2]);
    node.activation = activation_number(fields[1]);
    node.aggregation = aggregation_number(fields[2]);
    node.bias = read_real(nb::object(fields[3]));
    node.response = read_real(nb::object(fields[4]));
    node.time_constant = read_real(nb::object(fields[6]));
    node.link_begin = static_cast<int32_t>(network.source.size());
    for (nb::handle link : nb::object(fields[5])) {
      const nb::tuple pair = nb::cast<nb::tuple>(link);
      network.source.push_back(numbers(read_whole(nb::object(pair[0]).ptr())));
      network.weight.push_back(read_real(nb::object(pair[1])));
    }
    node.link_end = static_cast<int32_t>(network.source.size());
    network.nodes.push_back(std::move(node));
  }
  network.key = numbers.keys();
  network.begin(1);
  return network;
}

nb::list rows_of(const NeatNetwork& network) {
  nb::list rows;
  for (const NeatNode& node : network.nodes) {
    nb::list links;
    for (int32_t i = node.link_begin; i < node.link_end; ++i) {
      links.append(nb::make_tuple(network.key[network.source[i]], network.weight[i]));
    }
    const std::vector<nb::object>& functions = network.functions->table;
    rows.append(nb::make_tuple(network.key[node.slot], functions[node.activation_place],
                               functions[node.aggregation_place], node.bias, node.response, links,
                               node.time_constant));
  }
  return rows;
}

// True if every link reads an input, a node before its own, or an output that is no node. Others
// would read what the call before left behind.
bool reads_only_what_is_known(const NeatNetwork& network) {
  std::vector<char> known(network.num_slots());
  std::fill(known.begin(), known.begin() + network.num_inputs, true);
  for (int32_t slot : network.output) known[slot] = true;
  for (const NeatNode& node : network.nodes) known[node.slot] = false;
  for (const NeatNode& node : network.nodes) {
    for (int32_t i = node.link_begin; i < node.link_end; ++i) {
      if (!known[network.source[i]]) return false;
    }
    known[node.slot] = true;
  }
  return true;
}

// visit(i, value) for every input; the caller has checked how many there are.
template <class Visit>
void each_input(const NeatNetwork& network, const nb::object& inputs, Visit visit) {
  const bool is_listed = PyList_CheckExact(inputs.ptr()) || PyTuple_CheckExact(inputs.ptr());
  const nb::object items =
      is_listed ? inputs : nb::steal(PySequence_Fast(inputs.ptr(), "inputs must be a sequence"));
  if (!items.is_valid()) throw nb::python_error();
  const Py_ssize_t count =
      std::min<Py_ssize_t>(network.num_inputs, PySequence_Fast_GET_SIZE(items.ptr()));
  for (Py_ssize_t i = 0; i < count; ++i) {
    visit(i, read_real(PySequence_Fast_GET_ITEM(items.ptr(), i)));
  }
}

nb::list list_outputs(const NeatNetwork& network, const std::vector<double>& values) {
  const size_t count = network.output.size();
  const nb::object outputs = nb::steal(PyList_New(static_cast<Py_ssize_t>(count)));
  if (!outputs.is_valid()) throw nb::python_error();
  for (size_t i = 0; i < count; ++i) {
    PyObject* number = PyFloat_FromDouble(values[network.output[i]]);
    if (number == nullptr) throw nb::python_error();
    PyList_SET_ITEM(outputs.ptr(), static_cast<Py_ssize_t>(i), number);
  }
  return nb::borrow<nb::list>(outputs);
}

nb::list activate_feed_forward(NeatNetwork& network, const nb::object& inputs) {
  std::vector<double>& values = network.values[0];
  each_input(network, inputs, [&](Py_ssize_t i, double value) { values[i] = value; });
  network.activated = true;
  with_python_errors([&] { network.run_feed_forward(values.data(), 1); });
  return list_outputs(network, values);
}

nb::list activate_recurrent(NeatNetwork& network, const nb::object& inputs) {
  each_input(network, inputs, [&](Py_ssize_t i, double value) {
    network.values[0][i] = network.values[1][i] = value;
  });
  with_python_errors([&] { network.run_recurrent(); });
  return list_outputs(network, network.values[network.active]);
}

// Takes steps of a continuous-time network until the time is over; prepare() goes before each.
template <class Prepare>
void advance_time(NeatNetwork& network, double seconds, double time_step, TimeRule rule,
                  Prepare prepare) {
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
    prepare();
    with_python_errors([&] { network.run_step(dt, rule); });
    network.time += dt;
  }
}

// neat-python before 2.1 answers with the buffer before the last.
int answering_buffer(const NeatNetwork& network, TimeRule rule) {
  return rule == TimeRule::kExponential ? network.active : 1 - network.active;
}

nb::list advance(NeatNetwork& network, const nb::object& inputs, double seconds, double time_step,
                 bool exponential) {
  const TimeRule rule = exponential ? TimeRule::kExponential : TimeRule::kEuler;
  std::vector<double> given(network.num_inputs);
  each_input(network, inputs, [&](Py_ssize_t i, double value) { given[i] = value; });
  advance_time(network, seconds, time_step, rule, [&] {
    for (std::vector<double>& values : network.values) {
      std::copy(given.begin(), given.end(), values.begin());
    }
  });
  return list_outputs(network, network.values[answering_buffer(network, rule)]);
}

// Many samples [B, I] into [1, B, O], each with a memory of its own since `begin`.
void advance_rows(NeatNetwork& network, const double* x, double* y, double seconds,
                  double time_step, TimeRule rule) {
  advance_time(network, seconds, time_step, rule, [&] {
    for (std::vector<double>& values : network.values) {
      network.write_inputs(x, network.width, values.data());
    }
  });
  network.read_outputs(network.values[answering_buffer(network, rule)].data(), network.width, y);
}

// One call of a network on all of its samples.
void answer(NeatNetwork& network, bool feed_forward, int steps, const double* x,
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
  for (int64_t begin = 0; begin < num_samples; begin += kBlock) {
    const int64_t count = std::min(kBlock, num_samples - begin);
    // Outputs on or behind a cycle are never written, and stay 0.
    scratch.assign(network.num_slots() * count, 0.0);
    network.write_inputs(x + begin * network.num_inputs, count, scratch.data());
    network.run_feed_forward(scratch.data(), count);
    network.read_outputs(scratch.data(), count, y + begin * num_outputs);
  }
}

// The networks of a whole population, which answer together.
class NeatPopulation {
 public:
  // Reads all genes with the GIL held, and makes networks of them in threads.
  static NeatPopulation create(bool feed_forward, const nb::list& genomes, const nb::list& inputs,
                               const nb::list& outputs, nb::object activations,
                               nb::object aggregations, const nb::object& time_constant,
                               int threads) {
    NeatPopulation population(feed_forward, threads);
    auto functions = std::make_shared<NeatFunctions>();
    NeatGenomeReader reader(std::move(activations), std::move(aggregations), time_constant,
                            *functions);
    const auto count = static_cast<int64_t>(nb::len(genomes));
    std::vector<NeatGenome> genes;
    genes.reserve(count);
    for (int64_t g = 0; g < count; ++g) {
      if (g % kGenomesPerSignal == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
      genes.push_back(reader.read(nb::object(genomes[g]).ptr()));
    }
    const std::vector<int64_t> input_keys = read_keys(inputs), output_keys = read_keys(outputs);
    population.networks_.resize(count);
    with_missing_nodes([&] {
      population.in_threads([&](int64_t g, std::vector<double>&) {
        population.networks_[g] =
            NeatNetwork(feed_forward, genes[g], input_keys, output_keys, functions);
      });
    });
    population.find_python();
    return population;
  }

  // Copies of networks, in their first state.
  static NeatPopulation of_networks(bool feed_forward, const nb::list& networks, int threads) {
    NeatPopulation population(feed_forward, threads);
    for (nb::handle network : networks) {
      population.networks_.push_back(nb::cast<const NeatNetwork&>(network));
    }
    population.find_python();
    return population;
  }

  void begin(int64_t num_samples) {
    for (NeatNetwork& network : networks_) network.begin(num_samples);
  }

  // Samples [B, I] for all, or [P, B, I], into [P, B, O]. Networks that need Python run here, the
  // others in threads.
  void answer(int steps, Rows x, Answers y) {
    const auto run = [&](int64_t g, std::vector<double>& scratch) {
      evonet::answer(networks_[g], feed_forward_, steps, samples_of(x, g),
                     static_cast<int64_t>(y.shape(1)), answers_of(y, g), scratch);
    };
    with_python_errors([&] {
      in_threads([&](int64_t g, std::vector<double>& scratch) {
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

  void advance(int steps, Rows x, Answers y, double time_step, bool exponential) {
    const TimeRule rule = exponential ? TimeRule::kExponential : TimeRule::kEuler;
    for (int64_t g = 0; g < size(); ++g) {
      for (int step = 0; step < steps; ++step) {
        advance_rows(networks_[g], samples_of(x, g), answers_of(y, g), time_step, time_step, rule);
      }
    }
  }

  // Positions of the networks that call Python.
  nb::list calling_python() const {
    nb::list found;
    for (int64_t g = 0; g < size(); ++g) {
      if (needs_python_[g]) found.append(g);
    }
    return found;
  }

  int64_t size() const { return static_cast<int64_t>(networks_.size()); }
  NeatNetwork& network(int64_t g) { return networks_.at(g); }

 private:
  static constexpr int64_t kGenomesPerSignal = 256;
  static constexpr int64_t kGenomesPerTask = 8;

  NeatPopulation(bool feed_forward, int threads)
      : feed_forward_(feed_forward), threads_(threads > 0 ? threads : available_threads()) {}

  void find_python() {
    needs_python_.clear();
    for (const NeatNetwork& network : networks_) needs_python_.push_back(network.needs_python());
  }

  // visit(g, scratch) for every network, without the GIL.
  template <class Visit>
  void in_threads(Visit visit) const {
    std::vector<std::vector<double>> scratch(threads_);
    run_interruptibly([&] {
      return parallel_for(
          threads_, (size() + kGenomesPerTask - 1) / kGenomesPerTask,
          [&](int worker, int64_t task, Interrupt& interrupt) {
            const int64_t end = std::min(size(), (task + 1) * kGenomesPerTask);
            for (int64_t g = task * kGenomesPerTask; g < end && !interrupt.requested(); ++g) {
              visit(g, scratch[worker]);
            }
          },
          python_signal);
    });
  }

  static const double* samples_of(const Rows& x, int64_t g) {
    return x.ndim() == 2 ? x.data() : x.data() + g * static_cast<int64_t>(x.shape(1) * x.shape(2));
  }

  static double* answers_of(const Answers& y, int64_t g) {
    return y.data() + g * static_cast<int64_t>(y.shape(1) * y.shape(2));
  }

  bool feed_forward_;
  int threads_;
  std::vector<NeatNetwork> networks_;
  std::vector<char> needs_python_;
};

// best - (y - t)**2 for every sample and output, one after the other as a Python loop does it.
void subtract_squares(Answers y, Rows targets, double best, nb::ndarray<double, nb::ndim<1>> out) {
  const size_t size = y.shape(1) * y.shape(2);
  for (size_t p = 0; p < y.shape(0); ++p) {
    double fitness = best;
    for (size_t i = 0; i < size; ++i) {
      const double error = y.data()[p * size + i] - targets.data()[i];
      const double square = python_power(error, 2.0);
      if (std::isinf(square) && std::isfinite(error)) raise_overflow();
      fitness -= square;
    }
    out.data()[p] = fitness;
  }
}

// Keys in the order in which the dict of neat-python's class has them.
nb::list value_keys(const NeatNetwork& network, bool feed_forward) {
  std::vector<int32_t> slots(network.num_inputs);
  for (int32_t i = 0; i < network.num_inputs; ++i) slots[i] = i;
  slots.insert(slots.end(), network.output.begin(), network.output.end());
  for (const NeatNode& node : network.nodes) {
    if (feed_forward && !network.activated) break;
    slots.push_back(node.slot);
    if (feed_forward) continue;
    slots.insert(slots.end(), network.source.begin() + node.link_begin,
                 network.source.begin() + node.link_end);
  }
  nb::list keys;
  std::vector<char> seen(network.num_slots());
  for (int32_t slot : slots) {
    if (!seen[slot]) keys.append(network.key[slot]);
    seen[slot] = true;
  }
  return keys;
}

size_t slot_of(const NeatNetwork& network, int64_t key) {
  const auto found = std::find(network.key.begin(), network.key.end(), key);
  if (found == network.key.end()) raise(PyExc_KeyError, nb::int_(key));
  return found - network.key.begin();
}

nb::list python_functions(const NeatNetwork& network) {
  nb::list found;
  for (const NeatNode& node : network.nodes) {
    const std::vector<nb::object>& functions = network.functions->table;
    if (node.activation == kPythonFunction) found.append(functions[node.activation_place]);
    if (node.aggregation == kPythonFunction) found.append(functions[node.aggregation_place]);
  }
  return found;
}

NeatSpikingNetwork create_spiking(const nb::object& genome, const nb::list& inputs,
                                  const nb::list& outputs) {
  Names names;
  const nb::object genes = attribute(genome.ptr(), names("nodes"));
  const nb::object connections = attribute(genome.ptr(), names("connections"));
  if (!PyDict_Check(genes.ptr()) || !PyDict_Check(connections.ptr())) {
    throw nb::type_error("nodes and connections of a genome must be dicts");
  }
  NeatSpikingNetwork network;
  network.input_key = read_keys(inputs);
  network.input.resize(network.input_key.size());
  NeatGraph graph = make_graph(NeatKind::kSpiking, read_connections(connections.ptr()),
                               network.input_key, read_keys(outputs));
  PyObject *bias = names("bias"), *a = names("a"), *b = names("b"), *c = names("c"),
           *d = names("d");
  std::vector<int32_t> place(graph.key.size());
  for (size_t i = 0; i < network.input.size(); ++i) place[i] = -1 - static_cast<int32_t>(i);
  for (const NeatGraph::Node& node : graph.nodes) {
    const nb::object key = nb::int_(graph.key[node.number]);
    PyObject* found = PyDict_GetItemWithError(genes.ptr(), key.ptr());
    if (found == nullptr && PyErr_Occurred()) throw nb::python_error();
    if (found == nullptr) raise(PyExc_KeyError, key);
    const nb::object gene = nb::borrow(found);
    NeatNeuron neuron{};
    neuron.key = graph.key[node.number];
    neuron.bias = read_real(attribute(gene.ptr(), bias));
    neuron.a = read_real(attribute(gene.ptr(), a));
    neuron.b = read_real(attribute(gene.ptr(), b));
    neuron.c = read_real(attribute(gene.ptr(), c));
    neuron.d = read_real(attribute(gene.ptr(), d));
    neuron.link_begin = node.link_begin;
    neuron.link_end = node.link_end;
    neuron.reset();
    place[node.number] = static_cast<int32_t>(network.neurons.size());
    network.neurons.push_back(neuron);
  }
  for (int32_t number : graph.link_source) {
    network.source.push_back(place[number]);
    network.source_key.push_back(graph.key[number]);
  }
  network.weight = std::move(graph.link_weight);
  for (int32_t number : graph.output) network.output.push_back(place[number]);
  return network;
}

nb::list advance_spiking(NeatSpikingNetwork& network, double dt, bool resets_what_is_not_finite) {
  for (size_t i = 0; !network.has_inputs && i < network.source.size(); ++i) {
    if (network.source[i] < 0) raise(PyExc_KeyError, nb::int_(network.source_key[i]));
  }
  network.advance(dt, resets_what_is_not_finite);
  nb::list fired;
  for (int32_t neuron : network.output) fired.append(network.neurons[neuron].fired);
  return fired;
}

void bind_spiking(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<NeatNeuron> neuron(m, "NeatNeuron");
  neuron.def_ro("key", &NeatNeuron::key).def("reset", &NeatNeuron::reset);
  const std::pair<const char*, double NeatNeuron::*> numbers[] = {
      {"bias", &NeatNeuron::bias},
      {"a", &NeatNeuron::a},
      {"b", &NeatNeuron::b},
      {"c", &NeatNeuron::c},
      {"d", &NeatNeuron::d},
      {"v", &NeatNeuron::v},
      {"u", &NeatNeuron::u},
      {"fired", &NeatNeuron::fired},
      {"current", &NeatNeuron::current}};
  for (const auto& [name, number] : numbers) neuron.def_rw(name, number);
  nb::class_<NeatSpikingNetwork>(m, "NeatSpikingNetwork")
      .def_static("create", &create_spiking, "genome"_a, "inputs"_a, "outputs"_a)
      .def(
          "set_inputs",
          [](NeatSpikingNetwork& network, const nb::list& inputs) {
            for (size_t i = 0; i < network.input.size(); ++i) {
              network.input[i] = read_real(nb::object(inputs[i]));
            }
            network.has_inputs = true;
          },
          "inputs"_a)
      .def("advance", &advance_spiking, "dt"_a, "resets_what_is_not_finite"_a)
      .def("reset", &NeatSpikingNetwork::reset)
      .def("__len__", [](const NeatSpikingNetwork& network) { return network.neurons.size(); })
      .def(
          "neuron",
          [](NeatSpikingNetwork& network, size_t i) -> NeatNeuron& {
            return network.neurons.at(i);
          },
          "i"_a, nb::rv_policy::reference_internal)
      .def(
          "links",
          [](const NeatSpikingNetwork& network, size_t i) {
            nb::list links;
            const NeatNeuron& neuron = network.neurons.at(i);
            for (int32_t j = neuron.link_begin; j < neuron.link_end; ++j) {
              links.append(nb::make_tuple(network.source_key[j], network.weight[j]));
            }
            return links;
          },
          "i"_a)
      .def("input_values",
           [](const NeatSpikingNetwork& network) {
             nb::dict found;
             for (size_t i = 0; network.has_inputs && i < network.input.size(); ++i) {
               found[nb::int_(network.input_key[i])] = network.input[i];
             }
             return found;
           })
      .def("copy", [](const NeatSpikingNetwork& network) { return network; });
}

}  // namespace

void bind_neat_network(nb::module_& m) {
  using namespace nb::literals;
  m.def("set_neat_functions", &set_neat_functions, "activations"_a, "aggregations"_a, "sum"_a,
        "Tells which of neat-python's functions have the ids 0, 1, ...; None where there is none.");
  m.def("subtract_squares", &subtract_squares, "y"_a.noconvert(), "targets"_a.noconvert(), "best"_a,
        "out"_a.noconvert(),
        "best - the squared errors, added up as a Python loop does, into [P].");
  nb::class_<NeatNetwork>(m, "NeatNetwork")
      .def_static("create", &create_network, "feed_forward"_a, "genome"_a, "inputs"_a, "outputs"_a,
                  "activations"_a, "aggregations"_a, "time_constant"_a.none())
      .def_static("of_rows", &network_of_rows, "inputs"_a, "outputs"_a, "rows"_a)
      .def("rows", &rows_of)
      .def("reads_only_what_is_known", &reads_only_what_is_known)
      .def("activate_feed_forward", &activate_feed_forward, "inputs"_a)
      .def("activate_recurrent", &activate_recurrent, "inputs"_a)
      .def("advance", &advance, "inputs"_a, "seconds"_a, "time_step"_a, "exponential"_a)
      .def(
          "answer_rows",
          [](NeatNetwork& network, bool feed_forward, Rows x, Answers y) {
            std::vector<double> scratch;
            with_python_errors([&] {
              answer(network, feed_forward, 1, x.data(), static_cast<int64_t>(y.shape(1)), y.data(),
                     scratch);
            });
          },
          "feed_forward"_a, "x"_a.noconvert(), "y"_a.noconvert())
      .def(
          "advance_rows",
          [](NeatNetwork& network, Rows x, Answers y, double seconds, double time_step,
             bool exponential) {
            advance_rows(network, x.data(), y.data(), seconds, time_step,
                         exponential ? TimeRule::kExponential : TimeRule::kEuler);
          },
          "x"_a.noconvert(), "y"_a.noconvert(), "seconds"_a, "time_step"_a, "exponential"_a)
      .def("begin", &NeatNetwork::begin, "num_samples"_a)
      .def_ro("width", &NeatNetwork::width)
      .def("value_keys", &value_keys, "feed_forward"_a)
      .def(
          "get_value",
          [](const NeatNetwork& network, int buffer, int64_t key) {
            return network.values[buffer != 0][slot_of(network, key)];
          },
          "buffer"_a, "key"_a)
      .def(
          "set_value",
          [](NeatNetwork& network, int buffer, int64_t key, double value) {
            network.values[buffer != 0][slot_of(network, key)] = value;
          },
          "buffer"_a, "key"_a, "value"_a)
      .def_prop_rw(
          "active", [](const NeatNetwork& network) { return network.active; },
          [](NeatNetwork& network, int active) { network.active = active != 0; })
      .def_rw("time", &NeatNetwork::time)
      .def_rw("activated", &NeatNetwork::activated)
      .def("python_functions", &python_functions)
      .def("copy", [](const NeatNetwork& network) { return network; });
  nb::class_<NeatPopulation>(m, "NeatPopulation")
      .def_static("create", &NeatPopulation::create, "feed_forward"_a, "genomes"_a, "inputs"_a,
                  "outputs"_a, "activations"_a, "aggregations"_a, "time_constant"_a.none(),
                  "threads"_a)
      .def_static("of_networks", &NeatPopulation::of_networks, "feed_forward"_a, "networks"_a,
                  "threads"_a)
      .def("begin", &NeatPopulation::begin, "num_samples"_a)
      .def("answer", &NeatPopulation::answer, "steps"_a, "x"_a.noconvert(), "y"_a.noconvert())
      .def("advance", &NeatPopulation::advance, "steps"_a, "x"_a.noconvert(), "y"_a.noconvert(),
           "time_step"_a, "exponential"_a)
      .def("calling_python", &NeatPopulation::calling_python)
      .def("__len__", &NeatPopulation::size)
      .def("network", &NeatPopulation::network, "g"_a, nb::rv_policy::reference_internal);
  bind_spiking(m);
}

}  // namespace evonet
