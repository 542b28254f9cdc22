// network.h: the network of one genome with neat-python's semantics to the last bit, for one
// sample or for many side by side. Sums run in link order and functions are the C library's, as in
// Python. Functions that are not neat-python's own are called, in Python, with the GIL held.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "native/neat_python/genome.h"
#include "native/neat_python/graph.h"

namespace evonet {

// A square or cube beyond the largest number, where Python raises an OverflowError.
struct PowerOverflow : std::runtime_error {
  PowerOverflow() : std::runtime_error("a power is too large for a float") {}
};

// A node whose gene is missing.
struct MissingNode : std::runtime_error {
  int64_t key;

  explicit MissingNode(int64_t key) : std::runtime_error("a node has no gene"), key(key) {}
};

struct NeatNode {
  int32_t slot;
  int32_t link_begin, link_end;
  int32_t activation_place, aggregation_place;  // of the Python functions
  uint8_t activation, aggregation;
  double bias, response, time_constant;
};

// How nodes of a continuous-time network follow their input.
enum class TimeRule { kEuler, kExponential };

class NeatNetwork {
 public:
  std::vector<int64_t> key;  // of each slot: inputs, outputs, then others
  int32_t num_inputs = 0;
  std::vector<int32_t> output;  // slots
  std::vector<NeatNode> nodes;  // in the order of evaluation
  std::vector<int32_t> source;  // slots, by link
  std::vector<double> weight;
  std::shared_ptr<NeatFunctions> functions;

  NeatNetwork() = default;
  // Needs neither Python nor the GIL. Throws MissingNode.
  NeatNetwork(bool feed_forward, const NeatGenome& genome, const std::vector<int64_t>& inputs,
              const std::vector<int64_t>& outputs, std::shared_ptr<NeatFunctions> functions);

  // State: two buffers [slot][sample], of which networks without memory have one.
  std::vector<double> values[2];
  int64_t width = 1;
  int active = 0;
  double time = 0.0;
  bool activated = false;
  // Whether somebody is at work on the state. Functions in Python may let another thread in, or
  // call the network themselves.
  bool busy = false;

  int64_t num_slots() const { return static_cast<int64_t>(key.size()); }
  bool needs_python() const;

  // Zeroes everything, for a number of samples.
  void begin(int64_t num_samples);

  // Evaluates all nodes in order within one buffer; inputs are there.
  void run_feed_forward(double* buffer, int64_t num_samples) const;
  // Evaluates all nodes from the active buffer into the other, which then is the active one;
  // inputs are in both.
  void run_recurrent();
  void run_step(double dt, TimeRule rule);

  // Copies samples [sample][input] into a buffer, and outputs [sample][output] out of one.
  void write_inputs(const double* x, int64_t num_samples, double* buffer) const;
  void read_outputs(const double* buffer, int64_t num_samples, double* y) const;

 private:
  // A buffer, beginning with some sample.
  struct Values {
    const double* first;
    int64_t stride;

    const double* row(int32_t slot) const { return first + slot * stride; }
    Values sample(int64_t s) const { return {first + s, stride}; }
  };

  void evaluate(const NeatNode& node, const double* from, double* to, int64_t num_samples) const;
  template <class Width>
  void evaluate_rows(const NeatNode& node, Values from, double* to, Width width) const;
  template <class Width>
  void aggregate(const NeatNode& node, Values from, double* to, Width width) const;
  double sum_with_rest(const NeatNode& node, Values from) const;
  double median(const NeatNode& node, Values from) const;
  double activate_in_python(const NeatNode& node, double z) const;
  double aggregate_in_python(const NeatNode& node, Values from) const;
};

}  // namespace evonet
