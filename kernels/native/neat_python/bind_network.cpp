// bind_network.cpp: networks with neat-python's bits, for the drop-in classes.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "native/bind/bindings.h"
#include "native/neat_python/errors.h"
#include "native/neat_python/genome.h"
#include "native/neat_python/graph.h"
#include "native/neat_python/libm_real.h"
#include "native/neat_python/network.h"
#include "native/neat_python/population.h"
#include "native/neat_python/python_reading.h"
#include "native/thread_pool.h"

namespace evonet {

namespace {

// The network of a genome, as `create` of neat-python's classes makes it.
NeatNetwork create_network(bool feed_forward, const nb::object& genome, const nb::list& inputs,
                           const nb::list& outputs, nb::object activations, nb::object aggregations,
                           const nb::object& time_constant) {
  auto functions = std::make_shared<NeatFunctions>();
  NeatGenomeReader reader(std::move(activations), std::move(aggregations), time_constant,
                          *functions);
  NeatGenome genes;
  reader.read(genome.ptr(), genes);
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
  for (nb::handle row : hold_items(rows)) {
    const nb::tuple fields = hold_items(row);
    NeatNode node{};
    node.slot = numbers(read_whole(item(fields, 0).ptr()));
    node.activation_place = network.functions->add(item(fields, 1));
    node.aggregation_place = network.functions->add(item(fields, 2));
    node.activation = activation_number(item(fields, 1));
    node.aggregation = aggregation_number(item(fields, 2));
    node.bias = read_real(item(fields, 3));
    node.response = read_real(item(fields, 4));
    node.time_constant = read_real(item(fields, 6));
    node.link_begin = static_cast<int32_t>(network.source.size());
    for (nb::handle link : hold_items(item(fields, 5))) {
      const nb::tuple pair = hold_items(link);
      network.source.push_back(numbers(read_whole(item(pair, 0).ptr())));
      network.weight.push_back(read_real(item(pair, 1)));
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

// True if every link reads an input, a node before its own, or an output that is no node. Other
// links would read what the previous call left behind.
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

// The inputs of one sample; the caller has checked how many there are. All are read before any is
// used: reading one may run Python code, which may change the sequence or call the network.
class InputRow {
 public:
  InputRow(const NeatNetwork& network, const nb::object& inputs) {
    const bool is_listed = PyList_CheckExact(inputs.ptr()) || PyTuple_CheckExact(inputs.ptr());
    const nb::object items =
        is_listed ? inputs : nb::steal(PySequence_Fast(inputs.ptr(), "inputs must be a sequence"));
    if (!items.is_valid()) throw nb::python_error();
    count_ = std::min<Py_ssize_t>(network.num_inputs, PySequence_Fast_GET_SIZE(items.ptr()));
    if (count_ > kFew) many_.resize(count_);
    values_ = count_ > kFew ? many_.data() : few_;
    for (Py_ssize_t i = 0; i < count_; ++i) {
      if (i >= PySequence_Fast_GET_SIZE(items.ptr())) {
        throw std::runtime_error("the inputs became fewer while they were read");
      }
      PyObject* value = PySequence_Fast_GET_ITEM(items.ptr(), i);
      if (PyFloat_CheckExact(value)) {
        values_[i] = PyFloat_AS_DOUBLE(value);
      } else {
        values_[i] = read_real(nb::borrow(value));
      }
    }
  }

  void copy_to(std::vector<double>& buffer) const {
    std::copy(values_, values_ + count_, buffer.begin());
  }

 private:
  static constexpr Py_ssize_t kFew = 32;
  double few_[kFew];
  std::vector<double> many_;
  double* values_;
  Py_ssize_t count_;
};

// Raises unless a network has memory for so many samples.
void check_width(const NeatNetwork& network, int64_t num_samples) {
  const auto needed = static_cast<size_t>(network.num_slots() * num_samples);
  if (network.width != num_samples || network.values[0].size() < needed ||
      network.values[1].size() < needed) {
    throw std::runtime_error("the network remembers " + std::to_string(network.width) +
                             " samples, not " + std::to_string(num_samples));
  }
}

// B of samples x [B, I], for answers y [1, B, O].
int64_t check_rows(const NeatNetwork& network, const Rows& x, const Answers& y) {
  check_shape("x", x, {kAnySize, network.num_inputs});
  const auto num_samples = static_cast<int64_t>(x.shape(0));
  check_shape("y", y, {1, num_samples, static_cast<int64_t>(network.output.size())});
  return num_samples;
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
  const InputRow given(network, inputs);
  const Turn turn(network.busy);
  check_width(network, 1);
  std::vector<double>& values = network.values[0];
  given.copy_to(values);
  network.activated = true;
  with_python_errors([&] { network.run_feed_forward(values.data(), 1); });
  return list_outputs(network, values);
}

nb::list activate_recurrent(NeatNetwork& network, const nb::object& inputs) {
  const InputRow given(network, inputs);
  const Turn turn(network.busy);
  check_width(network, 1);
  for (std::vector<double>& values : network.values) given.copy_to(values);
  with_python_errors([&] { network.run_recurrent(); });
  return list_outputs(network, network.values[network.active]);
}

nb::list advance(NeatNetwork& network, const nb::object& inputs, double seconds, double time_step,
                 bool exponential) {
  const TimeRule rule = exponential ? TimeRule::kExponential : TimeRule::kEuler;
  const InputRow given(network, inputs);
  const Turn turn(network.busy);
  check_width(network, 1);
  advance_time(network, seconds, time_step, rule, [&] {
    for (std::vector<double>& values : network.values) given.copy_to(values);
  });
  return list_outputs(network, network.values[answering_buffer(network, rule)]);
}

// best - (y - t)**2 for every sample and output, one after the other as a Python loop does it.
void subtract_squares(Answers y, Rows targets, double best, Out<double> out) {
  check_shape("y", y, {kAnySize, kAnySize, kAnySize});
  check_shape("targets", targets,
              {static_cast<int64_t>(y.shape(1)), static_cast<int64_t>(y.shape(2))});
  check_shape("out", out, {static_cast<int64_t>(y.shape(0))});
  const auto size = static_cast<int64_t>(y.shape(1) * y.shape(2));
  const auto count = static_cast<int64_t>(y.shape(0));
  constexpr int64_t kPerTask = 16;
  const auto score = [&](int64_t p) {
    double fitness = best;
    for (int64_t i = 0; i < size; ++i) {
      const double error = y.data()[p * size + i] - targets.data()[i];
      const double square = python_power(error, 2.0);
      if (std::isinf(square) && std::isfinite(error)) throw PowerOverflow();
      fitness -= square;
    }
    out.data()[p] = fitness;
  };
  with_python_errors([&] {
    run_interruptibly([&] {
      return parallel_for(
          available_threads(), (count + kPerTask - 1) / kPerTask,
          [&](int, int64_t task, Interrupt& interrupt) {
            const int64_t end = std::min(count, (task + 1) * kPerTask);
            for (int64_t p = task * kPerTask; p < end && !interrupt.requested(); ++p) score(p);
          },
          python_signal);
    });
  });
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

}  // namespace

void bind_neat_network(nb::module_& m) {
  using namespace nb::literals;
  m.def("set_neat_functions", &set_neat_functions, "activations"_a, "aggregations"_a, "sum"_a,
        "compensates_sums"_a,
        "Sets which of neat-python's functions have the ids 0, 1, ...; None where there is none.");
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
            const int64_t num_samples = check_rows(network, x, y);
            std::vector<double> scratch;
            if (feed_forward) {  // which changes no state
              with_python_errors(
                  [&] { answer_rows(network, true, 1, x.data(), num_samples, y.data(), scratch); });
              return;
            }
            const Turn turn(network.busy);
            check_width(network, num_samples);
            with_python_errors(
                [&] { answer_rows(network, false, 1, x.data(), num_samples, y.data(), scratch); });
          },
          "feed_forward"_a, "x"_a.noconvert(), "y"_a.noconvert())
      .def(
          "advance_rows",
          [](NeatNetwork& network, Rows x, Answers y, double seconds, double time_step,
             bool exponential) {
            const int64_t num_samples = check_rows(network, x, y);
            const Turn turn(network.busy);
            check_width(network, num_samples);
            advance_rows(network, x.data(), y.data(), seconds, time_step,
                         exponential ? TimeRule::kExponential : TimeRule::kEuler);
          },
          "x"_a.noconvert(), "y"_a.noconvert(), "seconds"_a, "time_step"_a, "exponential"_a)
      .def(
          "begin",
          [](NeatNetwork& network, int64_t num_samples) {
            check_number("num_samples", num_samples, 0, kMostInt32);
            const Turn turn(network.busy);
            network.begin(num_samples);
          },
          "num_samples"_a)
      .def_ro("width", &NeatNetwork::width)
      .def("value_keys", &value_keys, "feed_forward"_a)
      .def(
          "get_value",
          [](const NeatNetwork& network, int buffer, int64_t key) {
            return network.values[buffer != 0].at(slot_of(network, key));
          },
          "buffer"_a, "key"_a)
      .def(
          "set_value",
          [](NeatNetwork& network, int buffer, int64_t key, double value) {
            network.values[buffer != 0].at(slot_of(network, key)) = value;
          },
          "buffer"_a, "key"_a, "value"_a)
      .def_prop_rw(
          "active", [](const NeatNetwork& network) { return network.active; },
          [](NeatNetwork& network, int active) { network.active = active != 0; })
      .def_rw("time", &NeatNetwork::time)
      .def_rw("activated", &NeatNetwork::activated)
      .def("python_functions", &python_functions)
      .def("copy", [](const NeatNetwork& network) {
        NeatNetwork copied = network;
        copied.busy = false;
        return copied;
      });
  nb::class_<NeatPopulation>(m, "NeatPopulation")
      .def_static("create", &NeatPopulation::create, "feed_forward"_a, "genomes"_a, "inputs"_a,
                  "outputs"_a, "activations"_a, "aggregations"_a, "time_constant"_a.none(),
                  "threads"_a)
      .def("begin", &NeatPopulation::begin, "num_samples"_a)
      .def("answer", &NeatPopulation::answer, "steps"_a, "x"_a.noconvert(), "y"_a.noconvert())
      .def("advance", &NeatPopulation::advance, "steps"_a, "x"_a.noconvert(), "y"_a.noconvert(),
           "time_step"_a, "exponential"_a)
      .def("calling_python", &NeatPopulation::calling_python)
      .def("__len__", &NeatPopulation::size)
      .def("network", &NeatPopulation::network, "g"_a);
  bind_neat_spiking(m);
}

}  // namespace evonet
