// first_children.cu: makes every genome of the first generation in its room; a thread per genome.
#define EVONET_DRAWS 1
#include "cuda/brood.h"
#include "genetics/first_genome.h"

using namespace evonet;

static_assert(sizeof(GenomeRules<REAL>) == RULES_SIZE, "evonet/backends/cuda/genetics/rules.py");

extern "C" __global__ void __launch_bounds__(128)
    first_children(long long count, int num_inputs, int num_nodes, int num_candidates,
                   int num_wanted, int one_input, const long long* __restrict__ source,
                   const long long* __restrict__ target, const unsigned char* __restrict__ settings,
                   unsigned long long seed, unsigned int generation,
                   long long* __restrict__ room_start,
#define OUT(name) out_##name
#include "cuda/genes_parameters.h"
                   int* __restrict__ sizes, long long* __restrict__ requests,
                   int* __restrict__ num_new) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const GenomeRules<REAL>& rules = *reinterpret_cast<const GenomeRules<REAL>*>(settings);
  const FirstPlan plan{num_inputs,     num_nodes, num_candidates, num_wanted,
                       one_input != 0, source,    target};
  const Genes<REAL> rooms = {
#define NAME(name) out_##name
#include "cuda/gene_pointers.h"
  };
  room_start[i] = i * num_nodes;
  room_start[count + 1 + i] = i * num_candidates;
  const Brood brood{count, nullptr, sizes, requests, num_new};
  Child<REAL> child;
  child.genes = rooms.at(i * num_nodes, i * num_candidates);
  child.scratch = nullptr;
  make_first_genome(child, plan, rules, Draws{seed, generation, uint32(i)});
  brood.note(i, child);
}
