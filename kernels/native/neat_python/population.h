// population.h: the networks of a whole population, evaluated together, in threads.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "native/bind/bindings.h"
#include "native/neat_python/network.h"

namespace evonet {

using Rows = Array<const double, -1>;
using Answers = Array<double, 3>;

// Takes steps of a continuous-time network until the time is over, with prepare() before each.
// Raises a ValueError if time would never be over.
void advance_time(NeatNetwork& network, double seconds, double time_step, TimeRule rule,
                  const std::function<void()>& prepare);

// The buffer that holds the answers of a continuous-time network.
int answering_buffer(const NeatNetwork& network, TimeRule rule);

// Lets a network answer samples x [B, I], into y [B, O]; those with memory continue from their
// state.
void answer_rows(NeatNetwork& network, bool feed_forward, int steps, const double* x,
                 int64_t num_samples, double* y, std::vector<double>& scratch);
void advance_rows(NeatNetwork& network, const double* x, double* y, double seconds,
                  double time_step, TimeRule rule);

class NeatPopulation {
 public:
  // Reads all genes with the GIL held, and makes networks of them in threads.
  static NeatPopulation create(bool feed_forward, const nb::list& genomes, const nb::list& inputs,
                               const nb::list& outputs, nb::object activations,
                               nb::object aggregations, const nb::object& time_constant,
                               int threads);

  // Forgets everything, for so many samples.
  void begin(int64_t num_samples);

  // Samples [B, I] for all, or [P, B, I], into [P, B, O]. Networks that need Python run here, the
  // others in threads.
  void answer(int steps, Rows x, Answers y);
  void advance(int steps, Rows x, Answers y, double time_step, bool exponential);

  // Positions of the networks that call Python.
  nb::list calling_python() const;

  int64_t size() const { return static_cast<int64_t>(networks_.size()); }
  // A copy, which nobody else works on.
  NeatNetwork network(int64_t g) const { return networks_.at(g); }

 private:
  NeatPopulation(bool feed_forward, int threads);

  // Raises unless samples and answers fit the networks and what they remember.
  void check(int steps, const Rows& x, const Answers& y) const;

  // visit(g, scratch) for every g of a range, without the GIL.
  void in_threads(int64_t begin, int64_t end,
                  const std::function<void(int64_t, std::vector<double>&)>& visit) const;

  bool feed_forward_;
  int threads_;
  std::vector<NeatNetwork> networks_;
  std::vector<char> needs_python_;
  int64_t width_ = -1;  // samples that all networks have memory for, or -1
  bool busy_ = false;
};

}  // namespace evonet
