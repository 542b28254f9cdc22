// bind_spiking.cpp: networks of spiking neurons, for the drop-in class.
#include <limits>

#include "native/bind/bindings.h"
#include "native/neat_python/errors.h"
#include "native/neat_python/genome.h"
#include "native/neat_python/graph.h"
#include "native/neat_python/python_reading.h"
#include "native/neat_python/spiking.h"

namespace evonet {

namespace {

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
  std::vector<NeatConnectionGene> links;
  NeatConnectionReader().read(connections.ptr(), links);
  KeyNumbers numbers(network.input_key.size() + PyDict_GET_SIZE(genes.ptr()));
  NeatGraph graph =
      make_graph(NeatKind::kSpiking, links, network.input_key, read_keys(outputs), numbers);
  const std::vector<int64_t>& keys = numbers.keys();
  PyObject *bias = names("bias"), *a = names("a"), *b = names("b"), *c = names("c"),
           *d = names("d");
  constexpr int32_t kNowhere = std::numeric_limits<int32_t>::min();
  std::vector<int32_t> place(keys.size(), kNowhere);
  for (size_t i = 0; i < network.input.size(); ++i) place[i] = -1 - static_cast<int32_t>(i);
  for (const NeatGraph::Node& node : graph.nodes) {
    const nb::object key = nb::int_(keys[node.number]);
    PyObject* found = PyDict_GetItemWithError(genes.ptr(), key.ptr());
    if (found == nullptr && PyErr_Occurred()) throw nb::python_error();
    if (found == nullptr) raise(PyExc_KeyError, key);
    const nb::object gene = nb::borrow(found);
    NeatNeuron neuron{};
    neuron.key = keys[node.number];
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
    if (place[number] == kNowhere) raise(PyExc_KeyError, nb::int_(keys[number]));
    network.source.push_back(place[number]);
    network.source_key.push_back(keys[number]);
  }
  network.weight = std::move(graph.link_weight);
  for (int32_t number : graph.output) {
    if (place[number] < 0) raise(PyExc_KeyError, nb::int_(keys[number]));
    network.output.push_back(place[number]);
  }
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

}  // namespace

void bind_neat_spiking(nb::module_& m) {
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
            const nb::tuple held = hold_items(inputs);
            for (size_t i = 0; i < network.input.size(); ++i) {
              network.input[i] = read_real(item(held, static_cast<Py_ssize_t>(i)));
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

}  // namespace evonet
