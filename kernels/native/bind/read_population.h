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
int64_t check_starts(const In<int64_t>& node_start, const In<int64_t>& conn_start,
                     int64_t num_nodes, int64_t num_conns, int64_t num_outputs);

// Bytes that are neither 0 nor 1 are no truth values; NumPy can make them.
void check_flags(std::string_view name, const In<bool>& flags);

// The genes of a Population object, and what keeps them alive.
template <class T>
class PopulationRef {
 public:
  int64_t num_genomes;
  int num_inputs, num_outputs;
  const int64_t *node_start, *conn_start;
  ConstGenes<T> genes;
  const int32_t* rank;

  explicit PopulationRef(const nb::object& population);

 private:
  template <class E>
  In<E> read(const nb::object& population, const char* name, int64_t size);

  std::vector<nb::ndarray<>> kept_;
};

// Compiled once, in read_population.cpp.
extern template class PopulationRef<float>;
extern template class PopulationRef<double>;

}  // namespace evonet
