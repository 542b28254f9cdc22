// neat_network.cpp: one network, one sample at a time, with neat-python's semantics to the last
// bit. Nodes whose functions are not neat-python's own call them, in Python.
#include <cerrno>
#include <cstring>
#include <unordered_map>

#include "dispatch.h"
#include "native/bindings.h"
#include "native/libm_real.h"
#include "native/neat_graph.h"
#include "native/python_reading.h"

namespace evonet {

namespace {

constexpr uint8_t kPython = 255;  // a function that only Python knows
constexpr int64_t kStepsPerSignal = 1024;

[[noreturn]] void raise_overflow() {
  const nb::object fault = nb::make_tuple(ERANGE, std::strerror(ERANGE));
  PyErr_SetObject(PyExc_OverflowError, fault.ptr());
  throw nb::python_error();
}

[[noreturn]] void raise_key_error(nb::object key) {
  PyErr_SetObject(PyExc_KeyError, key.ptr());
  throw nb::python_error();
}

// Functions by the object that neat-python's registry holds for them.
using FunctionNumbers = std::unordered_map<PyObject*, uint8_t>;

struct BuiltIns {
  FunctionNumbers activation, aggregation;
  std::vector<nb::object> kept;
};

BuiltIns& built_ins() {
  static BuiltIns* found = new BuiltIns;  // never destroyed: Python may be gone by then
  return *found;
}

uint8_t number_of(const FunctionNumbers& numbers, const nb::object& function) {
  const auto found = numbers.find(function.ptr());
  return found == numbers.end() ? kPython : found->second;
}

// Tells which Python functions have the ids 0, 1, ...; None for one that is not known here.
void set_built_ins(const nb::list& activations, const nb::list& aggregations, nb::object sum) {
  BuiltIns& known = built_ins();
  known.activation.clear();
  known.aggregation.clear();
  const auto add = [&](FunctionNumbers& numbers, nb::object function, size_t id) {
    if (function.is_none()) return;
    numbers[function.ptr()] = static_cast<uint8_t>(id);
    known.kept.push_back(function);
  };
  for (size_t i = 0; i < nb::len(activations); ++i) add(known.activation, activations[i], i);
  for (size_t i = 0; i < nb::len(aggregations); ++i) add(known.aggregation, aggregations[i], i);
  add(known.aggregation, std::move(sum), AGG_SUM);
}

std::vector<int64_t> read_keys(const nb::list& keys) {
  std::vector<int64_t> found;
  for (nb::handle key : keys) found.push_back(read_whole(key.ptr()));
  return found;
}

struct Node {
  int64_t key;
  int32_t slot;
  int32_t link_begin, link_end;
  uint8_t activation, aggregation;
  double bias, response, time_constant;
  nb::object activate, aggregate;  // the Python functions
};

// What neat-python finds by name in its registry: a dict, and the registry to complain.
class Registry {
 public:
  Registry(nb::object registry, const FunctionNumbers& numbers)
      : registry_(std::move(registry)), functions_(registry_.attr("functions")),
        numbers_(numbers) {}

  std::pair<nb::object, uint8_t> operator()(nb::object name) {
    if (!name.is(last_name_)) {
      PyObject* found = PyDict_Check(functions_.ptr())
                            ? PyDict_GetItemWithError(functions_.ptr(), name.ptr())
                            : nullptr;
      if (found == nullptr && PyErr_Occurred()) throw nb::python_error();
      function_ = found != nullptr ? nb::borrow(found) : registry_.attr("get")(name);
      number_ = number_of(numbers_, function_);
      last_name_ = std::move(name);
    }
    return {function_, number_};
  }

 private:
  nb::object registry_, functions_, last_name_, function_;
  const FunctionNumbers& numbers_;
  uint8_t number_ = kPython;
};

class NeatNetwork {
 public:
  // A network as its class in neat-python is made: rows (node, activation, aggregation, bias,
  // response, links, time_constant).
  NeatNetwork(const nb::list& inputs, const nb::list& outputs, const nb::list& rows) {
    begin(read_keys(inputs), read_keys(outputs));
    for (nb::handle row : rows) {
      nb::tuple fields = nb::cast<nb::tuple>(row);
      Node node{};
      node.key = read_whole(nb::object(fields[0]).ptr());
      node.activate = fields[1];
      node.aggregate = fields[2];
      node.activation = number_of(built_ins().activation, node.activate);
      node.aggregation = number_of(built_ins().aggregation, node.aggregate);
      node.bias = read_real(nb::object(fields[3]));
      node.response = read_real(nb::object(fields[4]));
      node.time_constant = read_real(nb::object(fields[6]));
      node.link_begin = static_cast<int32_t>(source_key_.size());
      for (nb::handle link : nb::object(fields[5])) {
        nb::tuple pair = nb::cast<nb::tuple>(link);
        source_key_.push_back(read_whole(nb::object(pair[0]).ptr()));
        weight_.push_back(read_real(nb::object(pair[1])));
      }
      node.link_end = static_cast<int32_t>(source_key_.size());
      nodes_.push_back(std::move(node));
    }
    finish();
  }

  // The network of a genome, as neat-python's `create` makes it.
  static NeatNetwork create(bool feed_forward, const nb::object& genome, const nb::list& inputs,
                            const nb::list& outputs, nb::object activations,
                            nb::object aggregations, const nb::object& time_constant) {
    Names names;
    const nb::object genes = attribute(genome.ptr(), names("nodes"));
    const nb::object connections = attribute(genome.ptr(), names("connections"));
    if (!PyDict_Check(genes.ptr()) || !PyDict_Check(connections.ptr())) {
      throw nb::type_error("nodes and connections of a genome must be dicts");
    }
    NeatNetwork network;
    network.begin(read_keys(inputs), read_keys(outputs));
    const NeatGraph graph =
        read_graph(feed_forward ? NeatKind::kFeedForward : NeatKind::kRecurrent, connections.ptr(),
                   network.inputs_, network.outputs_);
    PyObject *bias = names("bias"), *response = names("response"),
             *activation = names("activation"), *aggregation = names("aggregation"),
             *time = names("time_constant");
    Registry activation_of(std::move(activations), built_ins().activation);
    Registry aggregation_of(std::move(aggregations), built_ins().aggregation);
    const bool reads_time = time_constant.is(nb::bool_(true));
    const double given_time =
        time_constant.is_none() || reads_time ? 1.0 : read_real(time_constant);
    network.nodes_.reserve(graph.nodes.size());
    for (const NeatNode& found : graph.nodes) {
      const nb::object key = nb::int_(found.key);
      PyObject* borrowed = PyDict_GetItemWithError(genes.ptr(), key.ptr());
      if (borrowed == nullptr) {
        if (PyErr_Occurred()) throw nb::python_error();
        raise_key_error(key);
      }
      const nb::object gene = nb::borrow(borrowed);
      Node node{};
      node.key = found.key;
      std::tie(node.aggregate, node.aggregation) =
          aggregation_of(attribute(gene.ptr(), aggregation));
      std::tie(node.activate, node.activation) = activation_of(attribute(gene.ptr(), activation));
      node.bias = read_real(attribute(gene.ptr(), bias));
      node.response = read_real(attribute(gene.ptr(), response));
      node.time_constant = reads_time ? read_real(attribute(gene.ptr(), time)) : given_time;
      node.link_begin = static_cast<int32_t>(found.link_begin);
      node.link_end = static_cast<int32_t>(found.link_end);
      network.nodes_.push_back(std::move(node));
    }
    network.source_key_ = graph.link_source;
    network.weight_ = graph.link_weight;
    network.finish();
    return network;
  }

  size_t num_inputs() const { return inputs_.size(); }

  // True if every link of a node reads an input, an output or a node before it.
  bool reads_only_what_is_known() const {
    std::vector<char> known(values_[0].size());
    for (int64_t key : inputs_) known[slot_of_.at(key)] = true;
    for (int64_t key : outputs_) known[slot_of_.at(key)] = true;
    for (const Node& node : nodes_) {
      for (int32_t i = node.link_begin; i < node.link_end; ++i) {
        if (!known[source_[i]]) return false;
      }
      known[node.slot] = true;
    }
    return true;
  }

  nb::list activate_feed_forward(const nb::object& inputs) {
    std::vector<double>& values = values_[0];
    write_inputs(inputs, values);
    activated_ = true;
    for (const Node& node : nodes_) values[node.slot] = evaluate(node, values);
    return list_outputs(values);
  }

  nb::list activate_recurrent(const nb::object& inputs) {
    std::vector<double>&before = values_[active_], &after = values_[1 - active_];
    active_ = 1 - active_;
    write_inputs(inputs, before);
    write_inputs(inputs, after);
    for (const Node& node : nodes_) after[node.slot] = evaluate(node, before);
    return list_outputs(after);
  }

  // Steps of a continuous-time network: forward Euler between the two buffers as in neat-python 2.0
  // and before, or the exact exponential of 2.1.
  nb::list advance(const nb::object& inputs, double advance_time, double time_step,
                   bool exponential) {
    const double final_time = time_ + advance_time;
    const std::vector<double> given = read_inputs(inputs);
    for (int64_t step = 0; time_ < final_time; ++step) {
      if (step % kStepsPerSignal == kStepsPerSignal - 1 && PyErr_CheckSignals() != 0) {
        throw nb::python_error();
      }
      const double left = final_time - time_;
      const double dt = left < time_step ? left : time_step;
      std::vector<double>&before = values_[active_], &after = values_[1 - active_];
      active_ = 1 - active_;
      for (size_t i = 0; i < given.size(); ++i) {
        before[input_slot_[i]] = after[input_slot_[i]] = given[i];
      }
      for (const Node& node : nodes_) {
        const double z = evaluate(node, before);
        if (node.time_constant == 0.0) {
          PyErr_SetString(PyExc_ZeroDivisionError, "float division by zero");
          throw nb::python_error();
        }
        double& value = after[node.slot];
        if (exponential) {
          const double decay = std::exp(-dt / node.time_constant);
          if (std::isinf(decay)) {
            PyErr_SetString(PyExc_OverflowError, "math range error");
            throw nb::python_error();
          }
          value = decay * before[node.slot] + (1.0 - decay) * z;
        } else {
          value += dt / node.time_constant * (-value + z);
        }
      }
      time_ += dt;
    }
    return list_outputs(values_[exponential ? active_ : 1 - active_]);
  }

  void reset() {
    for (std::vector<double>& values : values_) std::fill(values.begin(), values.end(), 0.0);
    active_ = 0;
    time_ = 0.0;
  }

  // Keys as the dict of neat-python's class lists them.
  nb::list value_keys(bool feed_forward) const {
    std::vector<int64_t> keys = inputs_;
    keys.insert(keys.end(), outputs_.begin(), outputs_.end());
    if (!feed_forward || activated_) {
      for (const Node& node : nodes_) {
        keys.push_back(node.key);
        if (feed_forward) continue;
        for (int32_t i = node.link_begin; i < node.link_end; ++i) keys.push_back(source_key_[i]);
      }
    }
    nb::list listed;
    std::vector<char> seen(values_[0].size());
    for (int64_t key : keys) {
      char& is_seen = seen[slot_of_.at(key)];
      if (!is_seen) listed.append(key);
      is_seen = true;
    }
    return listed;
  }

  double get_value(int buffer, int64_t key) const { return values_[buffer != 0][slot_at(key)]; }

  void set_value(int buffer, int64_t key, double value) {
    values_[buffer != 0][slot_at(key)] = value;
  }

  int active() const { return active_; }
  void set_active(int active) { active_ = active != 0; }
  double time() const { return time_; }
  void set_time(double time) { time_ = time; }
  bool activated() const { return activated_; }
  void set_activated(bool activated) { activated_ = activated; }

  // Rows as the constructor takes them.
  nb::list rows() const {
    nb::list rows;
    for (const Node& node : nodes_) {
      nb::list links;
      for (int32_t i = node.link_begin; i < node.link_end; ++i) {
        links.append(nb::make_tuple(source_key_[i], weight_[i]));
      }
      rows.append(nb::make_tuple(node.key, node.activate, node.aggregate, node.bias, node.response,
                                 links, node.time_constant));
    }
    return rows;
  }

  // Names of functions that only Python knows; empty if all nodes run natively.
  nb::list python_functions() const {
    nb::list found;
    for (const Node& node : nodes_) {
      if (node.activation == kPython) found.append(node.activate);
      if (node.aggregation == kPython) found.append(node.aggregate);
    }
    return found;
  }

  NeatNetwork copy() const { return *this; }

 private:
  NeatNetwork() = default;

  void begin(std::vector<int64_t> inputs, std::vector<int64_t> outputs) {
    inputs_ = std::move(inputs);
    outputs_ = std::move(outputs);
    for (int64_t key : inputs_) input_slot_.push_back(add_slot(key));
    for (int64_t key : outputs_) output_slot_.push_back(add_slot(key));
  }

  // Gives slots to nodes and sources.
  void finish() {
    size_t most_links = 0;
    for (Node& node : nodes_) {
      node.slot = add_slot(node.key);
      most_links = std::max<size_t>(most_links, node.link_end - node.link_begin);
    }
    source_.reserve(source_key_.size());
    for (int64_t key : source_key_) source_.push_back(add_slot(key));
    for (std::vector<double>& values : values_) values.resize(slot_of_.size());
    scratch_.resize(most_links);
  }

  int32_t add_slot(int64_t key) {
    return slot_of_.emplace(key, static_cast<int32_t>(slot_of_.size())).first->second;
  }

  int32_t slot_at(int64_t key) const {
    const auto found = slot_of_.find(key);
    if (found == slot_of_.end()) raise_key_error(nb::int_(key));
    return found->second;
  }

  std::vector<double> read_inputs(const nb::object& inputs) const {
    std::vector<double> given(input_slot_.size());
    each_input(inputs, [&](size_t i, double value) { given[i] = value; });
    return given;
  }

  void write_inputs(const nb::object& inputs, std::vector<double>& values) const {
    each_input(inputs, [&](size_t i, double value) { values[input_slot_[i]] = value; });
  }

  // The caller has checked how many there are.
  template <class Visit>
  void each_input(const nb::object& inputs, Visit visit) const {
    if (PyList_CheckExact(inputs.ptr()) || PyTuple_CheckExact(inputs.ptr())) {
      visit_items(inputs.ptr(), visit);
      return;
    }
    const nb::object items = nb::steal(PySequence_Fast(inputs.ptr(), "inputs are no sequence"));
    if (!items.is_valid()) throw nb::python_error();
    visit_items(items.ptr(), visit);
  }

  template <class Visit>
  void visit_items(PyObject* sequence, Visit visit) const {
    const size_t count =
        std::min(input_slot_.size(), static_cast<size_t>(PySequence_Fast_GET_SIZE(sequence)));
    for (size_t i = 0; i < count; ++i) {
      visit(i, read_real(PySequence_Fast_GET_ITEM(sequence, i)));
    }
  }

  nb::list list_outputs(const std::vector<double>& values) const {
    nb::list outputs = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(output_slot_.size())));
    for (size_t i = 0; i < output_slot_.size(); ++i) {
      PyList_SET_ITEM(outputs.ptr(), i, PyFloat_FromDouble(values[output_slot_[i]]));
    }
    return outputs;
  }

  double evaluate(const Node& node, const std::vector<double>& values) const {
    const double z = node.bias + node.response * aggregate(node, values);
    if (node.activation == kPython) return read_real(node.activate(z));
    const double y = evonet::activate(node.activation, LibmReal(z)).value;
    // Python's powers raise where others would be infinite.
    if ((node.activation == ACT_SQUARE || node.activation == ACT_CUBE) && std::isinf(y) &&
        std::isfinite(z)) {
      raise_overflow();
    }
    return y;
  }

  double aggregate(const Node& node, const std::vector<double>& values) const {
    const int32_t begin = node.link_begin, end = node.link_end;
    if (node.aggregation == kPython) return aggregate_in_python(node, values);
    if (begin == end) return agg_empty<double>(node.aggregation);
    const auto fold = [&](auto joins) {
      double folded = joins.first(weight_[begin], values[source_[begin]]);
      for (int32_t i = begin + 1; i < end; ++i) {
        folded = joins.next(folded, weight_[i], values[source_[i]]);
      }
      return agg_finish<double>(node.aggregation, folded, end - begin);
    };
    switch (node.aggregation) {
      case AGG_PRODUCT:
        return fold(Fold_product());
      case AGG_MAX:
        return fold(Fold_max());
      case AGG_MIN:
        return fold(Fold_min());
      case AGG_MAXABS:
        return fold(Fold_maxabs());
      case AGG_MEDIAN:
        for (int32_t i = begin; i < end; ++i) {
          scratch_[i - begin] = weight_[i] * values[source_[i]];
          // Where Python sorts a NaN to depends on its sort.
          if (scratch_[i - begin] != scratch_[i - begin]) return aggregate_in_python(node, values);
        }
        return median_inplace(scratch_.data(), end - begin);
      default:
        return fold(Fold_sum());
    }
  }

  double aggregate_in_python(const Node& node, const std::vector<double>& values) const {
    nb::list products;
    for (int32_t i = node.link_begin; i < node.link_end; ++i) {
      products.append(values[source_[i]] * weight_[i]);
    }
    return read_real(node.aggregate(products));
  }

  std::vector<int64_t> inputs_, outputs_;
  std::vector<int32_t> input_slot_, output_slot_;
  std::unordered_map<int64_t, int32_t> slot_of_;
  std::vector<Node> nodes_;
  std::vector<int64_t> source_key_;
  std::vector<int32_t> source_;
  std::vector<double> weight_;
  mutable std::vector<double> scratch_;
  std::vector<double> values_[2];
  int active_ = 0;
  double time_ = 0.0;
  bool activated_ = false;
};

// Izhikevich's neurons, as neat-python advances them.
class NeatSpikingNetwork {
 public:
  struct Neuron {
    int64_t key;
    double bias, a, b, c, d;
    int32_t link_begin, link_end;
    double v, u, fired, current;

    void reset() {
      v = c;
      u = b * v;
      fired = 0.0;
      current = bias;
    }
  };

  NeatSpikingNetwork(const nb::object& genome, const nb::list& inputs, const nb::list& outputs) {
    Names names;
    const nb::object genes = attribute(genome.ptr(), names("nodes"));
    const nb::object connections = attribute(genome.ptr(), names("connections"));
    if (!PyDict_Check(genes.ptr()) || !PyDict_Check(connections.ptr())) {
      throw nb::type_error("nodes and connections of a genome must be dicts");
    }
    inputs_ = read_keys(inputs);
    const std::vector<int64_t> output_keys = read_keys(outputs);
    const NeatGraph graph =
        read_graph(NeatKind::kSpiking, connections.ptr(), inputs_, output_keys);
    PyObject *bias = names("bias"), *a = names("a"), *b = names("b"), *c = names("c"),
             *d = names("d");
    std::unordered_map<int64_t, int32_t> slot_of;
    for (size_t i = 0; i < inputs_.size(); ++i) slot_of[inputs_[i]] = -1 - static_cast<int32_t>(i);
    for (const NeatNode& node : graph.nodes) {
      const nb::object key = nb::int_(node.key);
      PyObject* borrowed = PyDict_GetItemWithError(genes.ptr(), key.ptr());
      if (borrowed == nullptr) {
        if (PyErr_Occurred()) throw nb::python_error();
        raise_key_error(key);
      }
      const nb::object gene = nb::borrow(borrowed);
      Neuron neuron{};
      neuron.key = node.key;
      neuron.bias = read_real(attribute(gene.ptr(), bias));
      neuron.a = read_real(attribute(gene.ptr(), a));
      neuron.b = read_real(attribute(gene.ptr(), b));
      neuron.c = read_real(attribute(gene.ptr(), c));
      neuron.d = read_real(attribute(gene.ptr(), d));
      neuron.link_begin = static_cast<int32_t>(node.link_begin);
      neuron.link_end = static_cast<int32_t>(node.link_end);
      neuron.reset();
      slot_of[node.key] = static_cast<int32_t>(neurons_.size());
      neurons_.push_back(neuron);
    }
    source_key_ = graph.link_source;
    weight_ = graph.link_weight;
    for (int64_t key : source_key_) source_.push_back(slot_of.at(key));
    for (int64_t key : output_keys) outputs_.push_back(slot_of.at(key));
    input_values_.resize(inputs_.size());
  }

  // A list of as many inputs as there are.
  void set_inputs(const nb::list& inputs) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      input_values_[i] = read_real(nb::object(inputs[i]));
    }
    has_inputs_ = true;
  }

  nb::list advance(double dt, bool resets_what_is_not_finite) {
    for (Neuron& neuron : neurons_) {
      neuron.current = neuron.bias;
      for (int32_t i = neuron.link_begin; i < neuron.link_end; ++i) {
        const int32_t source = source_[i];
        if (source < 0 && !has_inputs_) raise_key_error(nb::int_(source_key_[i]));
        const double value = source < 0 ? input_values_[-1 - source] : neurons_[source].fired;
        neuron.current += value * weight_[i];
      }
    }
    for (Neuron& neuron : neurons_) step(neuron, dt, resets_what_is_not_finite);
    nb::list fired;
    for (int32_t neuron : outputs_) fired.append(neurons_[neuron].fired);
    return fired;
  }

  void reset() {
    for (Neuron& neuron : neurons_) neuron.reset();
  }

  size_t size() const { return neurons_.size(); }
  Neuron& neuron(size_t i) { return neurons_.at(i); }

  nb::list links(size_t i) const {
    nb::list found;
    const Neuron& neuron = neurons_.at(i);
    for (int32_t j = neuron.link_begin; j < neuron.link_end; ++j) {
      found.append(nb::make_tuple(source_key_[j], weight_[j]));
    }
    return found;
  }

  nb::dict input_values() const {
    nb::dict found;
    for (size_t i = 0; has_inputs_ && i < inputs_.size(); ++i) {
      found[nb::int_(inputs_[i])] = input_values_[i];
    }
    return found;
  }

 private:
  static void step(Neuron& n, double dt, bool resets_what_is_not_finite) {
    bool overflow = false;
    for (int half = 0; half < 2 && !overflow; ++half) {
      const double square = python_power(n.v, 2.0);
      overflow = std::isinf(square) && std::isfinite(n.v);
      if (!overflow) {
        n.v += 0.5 * dt * (0.04 * square + 5.0 * n.v + 140.0 - n.u + n.current);
      }
    }
    if (!overflow) n.u += dt * n.a * (n.b * n.v - n.u);
    const bool finite = std::isfinite(n.v) && std::isfinite(n.u);
    if (overflow || (resets_what_is_not_finite && !finite)) {
      n.v = n.c;
      n.u = n.b * n.v;
    }
    n.fired = 0.0;
    if (n.v > 30.0) {
      n.fired = 1.0;
      n.v = n.c;
      n.u += n.d;
    }
  }

  std::vector<int64_t> inputs_;
  std::vector<Neuron> neurons_;
  std::vector<int64_t> source_key_;
  std::vector<int32_t> source_;  // a neuron, or -1 - i for input i
  std::vector<double> weight_;
  std::vector<int32_t> outputs_;
  std::vector<double> input_values_;
  bool has_inputs_ = false;
};

}  // namespace

void bind_neat_network(nb::module_& m) {
  using namespace nb::literals;
  m.def("set_neat_functions", &set_built_ins, "activations"_a, "aggregations"_a, "sum"_a,
        "Tells which of neat-python's functions have the ids 0, 1, ...");
  nb::class_<NeatNetwork>(m, "NeatNetwork")
      .def(nb::init<const nb::list&, const nb::list&, const nb::list&>(), "inputs"_a, "outputs"_a,
           "rows"_a)
      .def_static("create", &NeatNetwork::create, "feed_forward"_a, "genome"_a, "inputs"_a,
                  "outputs"_a, "activations"_a, "aggregations"_a, "time_constant"_a.none())
      .def_prop_ro("num_inputs", &NeatNetwork::num_inputs)
      .def("reads_only_what_is_known", &NeatNetwork::reads_only_what_is_known)
      .def("activate_feed_forward", &NeatNetwork::activate_feed_forward, "inputs"_a)
      .def("activate_recurrent", &NeatNetwork::activate_recurrent, "inputs"_a)
      .def("advance", &NeatNetwork::advance, "inputs"_a, "advance_time"_a, "time_step"_a,
           "exponential"_a)
      .def("reset", &NeatNetwork::reset)
      .def("value_keys", &NeatNetwork::value_keys, "feed_forward"_a)
      .def("get_value", &NeatNetwork::get_value, "buffer"_a, "key"_a)
      .def("set_value", &NeatNetwork::set_value, "buffer"_a, "key"_a, "value"_a)
      .def_prop_rw("active", &NeatNetwork::active, &NeatNetwork::set_active)
      .def_prop_rw("time", &NeatNetwork::time, &NeatNetwork::set_time)
      .def_prop_rw("activated", &NeatNetwork::activated, &NeatNetwork::set_activated)
      .def("rows", &NeatNetwork::rows)
      .def("python_functions", &NeatNetwork::python_functions)
      .def("copy", &NeatNetwork::copy);
  using Neuron = NeatSpikingNetwork::Neuron;
  nb::class_<Neuron>(m, "NeatNeuron")
      .def_ro("key", &Neuron::key)
      .def_rw("bias", &Neuron::bias)
      .def_rw("a", &Neuron::a)
      .def_rw("b", &Neuron::b)
      .def_rw("c", &Neuron::c)
      .def_rw("d", &Neuron::d)
      .def_rw("v", &Neuron::v)
      .def_rw("u", &Neuron::u)
      .def_rw("fired", &Neuron::fired)
      .def_rw("current", &Neuron::current)
      .def("reset", &Neuron::reset);
  nb::class_<NeatSpikingNetwork>(m, "NeatSpikingNetwork")
      .def(nb::init<const nb::object&, const nb::list&, const nb::list&>(), "genome"_a, "inputs"_a,
           "outputs"_a)
      .def("set_inputs", &NeatSpikingNetwork::set_inputs, "inputs"_a)
      .def("advance", &NeatSpikingNetwork::advance, "dt"_a, "resets_what_is_not_finite"_a)
      .def("reset", &NeatSpikingNetwork::reset)
      .def("__len__", &NeatSpikingNetwork::size)
      .def("neuron", &NeatSpikingNetwork::neuron, "i"_a, nb::rv_policy::reference_internal)
      .def("links", &NeatSpikingNetwork::links, "i"_a)
      .def("input_values", &NeatSpikingNetwork::input_values);
}

}  // namespace evonet
