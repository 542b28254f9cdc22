#include "native/neat_python/genome.h"

#include "nodes/function_ids.h"

namespace evonet {

namespace {

using FunctionNumbers = std::unordered_map<PyObject*, uint8_t>;

struct BuiltIns {
  FunctionNumbers activation, aggregation;
  std::vector<nb::object> kept;
  bool compensates_sums = false;
};

BuiltIns& built_ins() {
  static BuiltIns* found = new BuiltIns;  // never destroyed: Python may be gone by then
  return *found;
}

uint8_t number_of(const FunctionNumbers& numbers, const nb::object& function) {
  const auto found = numbers.find(function.ptr());
  return found == numbers.end() ? kPythonFunction : found->second;
}

}  // namespace

int32_t NeatFunctions::add(const nb::object& function) {
  const auto [found, is_new] = place.emplace(function.ptr(), static_cast<int32_t>(table.size()));
  if (is_new) table.push_back(function);
  return found->second;
}

void set_neat_functions(const nb::list& activations, const nb::list& aggregations, nb::object sum,
                        bool compensates_sums) {
  if (nb::len(activations) > kPythonFunction || nb::len(aggregations) > kPythonFunction) {
    throw nb::value_error("there are more functions than ids");
  }
  BuiltIns& known = built_ins();
  known.compensates_sums = compensates_sums;
  known.activation.clear();
  known.aggregation.clear();
  const auto add = [&](FunctionNumbers& numbers, nb::object function, size_t id) {
    if (function.is_none()) return;
    numbers[function.ptr()] = static_cast<uint8_t>(id);
    known.kept.push_back(std::move(function));
  };
  for (size_t i = 0; i < nb::len(activations); ++i) add(known.activation, activations[i], i);
  for (size_t i = 0; i < nb::len(aggregations); ++i) add(known.aggregation, aggregations[i], i);
  add(known.aggregation, std::move(sum), AGG_SUM);
}

bool compensates_sums() { return built_ins().compensates_sums; }

uint8_t activation_number(const nb::object& function) {
  return number_of(built_ins().activation, function);
}

uint8_t aggregation_number(const nb::object& function) {
  return number_of(built_ins().aggregation, function);
}

void NeatConnectionReader::read(PyObject* connections, std::vector<NeatConnectionGene>& found) {
  found.clear();
  found.reserve(PyDict_GET_SIZE(connections));
  each_entry(connections, [&](PyObject* key, PyObject* gene) {
    const auto [source, target] = read_ends(key);
    const bool enabled = read_truth(attribute(gene, enabled_));
    const double weight = enabled ? read_real(attribute(gene, weight_)) : 0.0;
    found.push_back({source, target, weight, enabled});
  });
}

NeatGenomeReader::Registry::Registry(nb::object registry)
    : registry(std::move(registry)), functions(this->registry.attr("functions")) {}

void NeatGenomeReader::Registry::find(nb::object name, uint8_t (*number_of)(const nb::object&),
                                      NeatFunctions& table) {
  if (name.is(last_name)) return;
  PyObject* found = PyDict_Check(functions.ptr())
                        ? PyDict_GetItemWithError(functions.ptr(), name.ptr())
                        : nullptr;
  if (found == nullptr && PyErr_Occurred()) throw nb::python_error();
  const nb::object function = found != nullptr ? nb::borrow(found) : registry.attr("get")(name);
  number = number_of(function);
  place = table.add(function);
  last_name = std::move(name);
}

NeatGenomeReader::NeatGenomeReader(nb::object activations, nb::object aggregations,
                                   const nb::object& time_constant, NeatFunctions& functions)
    : nodes_(names_("nodes")),
      connections_(names_("connections")),
      bias_(names_("bias")),
      response_(names_("response")),
      activation_(names_("activation")),
      aggregation_(names_("aggregation")),
      time_constant_(names_("time_constant")),
      activations_(std::move(activations)),
      aggregations_(std::move(aggregations)),
      reads_time_(time_constant.is_none()),
      given_time_(reads_time_ ? 1.0 : read_real(time_constant)),
      functions_(functions) {}

void NeatGenomeReader::read(PyObject* genome, NeatGenome& found) {
  const nb::object nodes = attribute(genome, nodes_);
  const nb::object connections = attribute(genome, connections_);
  if (!PyDict_Check(nodes.ptr()) || !PyDict_Check(connections.ptr())) {
    throw nb::type_error("nodes and connections of a genome must be dicts");
  }
  found.nodes.clear();
  found.nodes.reserve(PyDict_GET_SIZE(nodes.ptr()));
  each_entry(nodes.ptr(), [&](PyObject* key, PyObject* gene) {
    NeatNodeGene node{};
    node.key = read_whole(key);
    node.bias = read_real(attribute(gene, bias_));
    node.response = read_real(attribute(gene, response_));
    node.time_constant = reads_time_ ? read_real(attribute(gene, time_constant_)) : given_time_;
    activations_.find(attribute(gene, activation_), activation_number, functions_);
    node.activation = activations_.number;
    node.activation_place = activations_.place;
    aggregations_.find(attribute(gene, aggregation_), aggregation_number, functions_);
    node.aggregation = aggregations_.number;
    node.aggregation_place = aggregations_.place;
    found.nodes.push_back(node);
  });
  connection_reader_.read(connections.ptr(), found.connections);
}

}  // namespace evonet
