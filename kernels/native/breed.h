// breed.h: a whole generation at once, in parallel over children.
#pragma once

#include "native/evolution.h"
#include "native/gene_buffers.h"
#include "native/thread_pool.h"

namespace evonet {

template <class T>
struct Offspring {
  Buffer<int64_t> node_start, conn_start;
  GeneBuffers<T> genes;
  Buffer<int32_t> rank;
};

// The next numbers to hand out.
struct Numbers {
  int64_t node_key, innovation;
};

template <class T>
struct BreedPlan {
  GenomesView<T> parents;
  int64_t num_children;
  const int64_t* fitter;  // [num_children]
  const int64_t* other;   // [num_children], or -1 for a child that is a copy of `fitter`
  const int32_t* rank;    // of the parents' connections; a copy keeps them
  GenomeRules<T> rules;
  RandomSource random;
};

// Both return false if poll asked to stop.
template <class T>
bool breed_generation(const BreedPlan<T>& plan, const EvolutionKernels<T>& kernels, int threads,
                      const Interrupt::Poll& poll, Numbers& numbers, Offspring<T>& out);
template <class T>
bool first_generation(int64_t num_genomes, const FirstPlan& plan, const GenomeRules<T>& rules,
                      RandomSource random, const EvolutionKernels<T>& kernels, int threads,
                      const Interrupt::Poll& poll, Offspring<T>& out);

}  // namespace evonet
