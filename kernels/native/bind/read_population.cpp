// read_population.cpp: reads and checks populations, once for all entry points.
#include "native/bind/read_population.h"

#include <cstring>
#include <string>

namespace evonet {

namespace {

int read_pins(const nb::object& population, const char* name) {
  const auto found = nb::cast<int64_t>(population.attr(name));
  check_number(std::string("population.") + name, found, 0, kMostInt32);
  return static_cast<int>(found);
}

}  // namespace

int64_t check_starts(const In<int64_t>& node_start, const In<int64_t>& conn_start,
                     int64_t num_nodes, int64_t num_conns, int64_t num_outputs) {
  check_shape("node_start", node_start, {kAnySize});
  const auto genomes = static_cast<int64_t>(node_start.shape(0)) - 1;
  check_shape("conn_start", conn_start, {genomes + 1});
  check_offsets("node_start", node_start, num_nodes);
  check_offsets("conn_start", conn_start, num_conns);
  for (int64_t g = 0; g < genomes; ++g) {
    const int64_t nodes = node_start.data()[g + 1] - node_start.data()[g],
                  conns = conn_start.data()[g + 1] - conn_start.data()[g];
    if (nodes < num_outputs || nodes > kMostGenes || conns > kMostGenes) {
      refuse("genome " + std::to_string(g),
             "has " + std::to_string(nodes) + " nodes and " + std::to_string(conns) +
                 " connections; allowed are from a node for each output up to " +
                 std::to_string(kMostGenes));
    }
  }
  return genomes;
}

void check_flags(std::string_view name, const In<bool>& flags) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(flags.data());
  const size_t count = flags.shape(0);
  uint64_t any = 0, word;  // eight at once
  size_t i = 0;
  for (; i + sizeof word <= count; i += sizeof word) {
    std::memcpy(&word, bytes + i, sizeof word);
    any |= word;
  }
  for (; i < count; ++i) any |= bytes[i];
  if ((any & ~uint64_t{0x0101010101010101}) != 0) refuse(name, "holds bytes other than 0 and 1");
}

template <class T>
template <class E>
In<E> PopulationRef<T>::read(const nb::object& population, const char* name, int64_t size) {
  const In<E> array =
      read_array<const E>(std::string("population.") + name, population.attr(name), {size});
  kept_.emplace_back(array);
  return array;
}

template <class T>
PopulationRef<T>::PopulationRef(const nb::object& population)
    : num_inputs(read_pins(population, "num_inputs")),
      num_outputs(read_pins(population, "num_outputs")) {
  const auto nodes = read<int64_t>(population, "node_key", kAnySize);
  const auto conns = read<int64_t>(population, "innovation", kAnySize);
  const auto num_nodes = static_cast<int64_t>(nodes.shape(0)),
             num_conns = static_cast<int64_t>(conns.shape(0));
  genes = {
#define EVONET_NODE_GENE(type, name, meaning) \
  read<typename GeneTypes<T>::type##_gene>(population, #name, num_nodes).data(),
#define EVONET_CONNECTION_GENE(type, name, meaning) \
  read<typename GeneTypes<T>::type##_gene>(population, #name, num_conns).data(),
#include "genetics/population.def"
  };
  rank = read<int32_t>(population, "rank", num_conns).data();
  check_flags("population.enabled", read<bool>(population, "enabled", num_conns));
  const auto node_starts = read<int64_t>(population, "node_start", kAnySize);
  const auto conn_starts = read<int64_t>(population, "conn_start", kAnySize);
  num_genomes = check_starts(node_starts, conn_starts, num_nodes, num_conns, num_outputs);
  node_start = node_starts.data();
  conn_start = conn_starts.data();
}

template class PopulationRef<float>;
template class PopulationRef<double>;

}  // namespace evonet
