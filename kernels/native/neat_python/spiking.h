// spiking.h: Izhikevich's neurons as neat-python advances them, one sample at a time.
#pragma once

#include <cstdint>
#include <vector>

namespace evonet {

struct NeatNeuron {
  int64_t key;
  double bias, a, b, c, d;
  int32_t link_begin, link_end;
  double v, u, fired, current;

  void reset();
  // Lets dt milliseconds pass. neat-python before 2.1 leaves alone what is not finite.
  void advance(double dt, bool resets_what_is_not_finite);
};

class NeatSpikingNetwork {
 public:
  std::vector<int64_t> input_key;
  std::vector<double> input;
  bool has_inputs = false;
  std::vector<NeatNeuron> neurons;
  std::vector<int64_t> source_key;
  std::vector<int32_t> source;  // a neuron, or -1 - i for input i
  std::vector<double> weight;
  std::vector<int32_t> output;  // neurons

  void reset();
  void advance(double dt, bool resets_what_is_not_finite);
};

}  // namespace evonet
