// speciate.h: puts genomes into species by genetic distance.
#pragma once

#include <memory>
#include <vector>

#include "native/evolution.h"
#include "native/thread_pool.h"

namespace evonet {

// Genomes that others are measured against, with their indices.
template <class T>
class Standards {
 public:
  Standards(const std::vector<Genome<T>>& genomes, const EvolutionKernels<T>& kernels) {
    int64_t total = 0;
    for (const Genome<T>& genome : genomes) total += kernels.index_slots(genome.num_conns);
    slots_.reset(new int[total]);
    int* next = slots_.get();
    for (const Genome<T>& genome : genomes) {
      const int num_slots = kernels.index_slots(genome.num_conns);
      standards_.push_back({genome, next, num_slots});
      kernels.build_index(standards_.back());
      next += num_slots;
    }
  }

  const Standard<T>& operator[](int64_t i) const { return standards_[i]; }

 private:
  std::unique_ptr<int[]> slots_;
  std::vector<Standard<T>> standards_;
};

struct Speciation {
  std::vector<int32_t> species;         // [P] species of each genome: old ones first, then new ones
  std::vector<int64_t> representative;  // genome that now stands for each species, or -1
};

// `old` holds the previous representatives, in order of their species. Returns false if poll asked
// to stop.
template <class T>
bool speciate(const GenomesView<T>& population, const GenomesView<T>& old, T threshold,
              const DistanceRules<T>& rules, const EvolutionKernels<T>& kernels, int threads,
              const Interrupt::Poll& poll, Speciation& out);

}  // namespace evonet
