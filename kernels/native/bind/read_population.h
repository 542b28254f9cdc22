// read_population.h: the arrays of a Population as plain pointers. What is checked here, in every
// call, is what is cheap: that offsets and lengths fit, so that no genome reaches outside.
// Kernels bear genes that make no sense; compile_schedule.cpp reports them.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "genetics/genome_view.h"
#include "native/bind/arrays.h"

namespace evonet {

// Genomes have at most so many nodes and as many connections, so that 32 bits count what a child
// or a network adds to them.
constexpr int64_t kMostGenes = kMostInt32 / 4;

// P, for offsets that fit each other and the arrays that they count in.
inline int64_t check_starts(const In<int64_t>& node_start, const In<int64_t>& conn_start,
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

// Bytes that are neither 0 nor 1 are no truth values; NumPy can make them.
inline void check_flags(const std::string& name, const In<bool>& flags) {
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

// The genes of a Population object, and what keeps them alive.
template <class T>
class PopulationRef {
 public:
  int64_t num_genomes;
  int num_inputs, num_outputs;
  const int64_t *node_start, *conn_start;
  ConstGenes<T> genes;
  const int32_t* rank;

  explicit PopulationRef(const nb::object& population)
      : num_inputs(pins(population, "num_inputs")), num_outputs(pins(population, "num_outputs")) {
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

 private:
  static int pins(const nb::object& population, const char* name) {
    const auto found = nb::cast<int64_t>(population.attr(name));
    check_number(std::string("population.") + name, found, 0, kMostInt32);
    return static_cast<int>(found);
  }

  template <class E>
  In<E> read(const nb::object& population, const char* name, int64_t size) {
    const In<E> array =
        read_array<const E>(std::string("population.") + name, population.attr(name), {size});
    kept_.emplace_back(array);
    return array;
  }

  std::vector<nb::ndarray<>> kept_;
};

}  // namespace evonet
