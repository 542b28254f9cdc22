#include "native/neat_python/spiking.h"

#include <cmath>

#include "native/neat_python/libm_real.h"

namespace evonet {

void NeatNeuron::reset() {
  v = c;
  u = b * v;
  fired = 0.0;
  current = bias;
}

void NeatNeuron::advance(double dt, bool resets_what_is_not_finite) {
  bool overflow = false;
  for (int half = 0; half < 2 && !overflow; ++half) {
    const double square = python_power(v, 2.0);
    overflow = std::isinf(square) && std::isfinite(v);  // where Python raises
    if (!overflow) v += 0.5 * dt * (0.04 * square + 5.0 * v + 140.0 - u + current);
  }
  if (!overflow) u += dt * a * (b * v - u);
  const bool is_finite = std::isfinite(v) && std::isfinite(u);
  if (overflow || (resets_what_is_not_finite && !is_finite)) {
    v = c;
    u = b * v;
  }
  fired = 0.0;
  if (v > 30.0) {
    fired = 1.0;
    v = c;
    u += d;
  }
}

void NeatSpikingNetwork::reset() {
  for (NeatNeuron& neuron : neurons) neuron.reset();
}

void NeatSpikingNetwork::advance(double dt, bool resets_what_is_not_finite) {
  for (NeatNeuron& neuron : neurons) {
    neuron.current = neuron.bias;
    for (int32_t i = neuron.link_begin; i < neuron.link_end; ++i) {
      const double value = source[i] < 0 ? input[-1 - source[i]] : neurons[source[i]].fired;
      neuron.current += value * weight[i];
    }
  }
  for (NeatNeuron& neuron : neurons) neuron.advance(dt, resets_what_is_not_finite);
}

}  // namespace evonet
