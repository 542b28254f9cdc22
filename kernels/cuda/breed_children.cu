// breed_children.cu: breeds every child into its room, up to the numbers of its structural
// mutations. A thread breeds one child after another, as many as there are more children than
// threads: each thread has its own part of `scratch`, which a search for cycles needs.
//
// The bits are those of the native kernels: the formulas are the same, and chance depends on the
// child's position alone.
#define EVONET_DRAWS 1
#include "cuda/brood.h"
#include "genetics/breeding.h"

using namespace evonet;

static_assert(sizeof(GenomeRules<REAL>) == RULES_SIZE, "evonet/backends/cuda/genetics/rules.py");

extern "C" __global__ void __launch_bounds__(128)
    breed_children(long long count,
#define IN(name) in_##name
#include "cuda/population_parameters.h"
                   const long long* __restrict__ fitter, const long long* __restrict__ other,
                   const unsigned char* __restrict__ settings, unsigned long long seed,
                   unsigned int generation, int num_inputs, int num_outputs,
                   const long long* __restrict__ room_start,
#define OUT(name) out_##name
#include "cuda/genes_parameters.h"
                   int* __restrict__ sizes, long long* __restrict__ requests,
                   int* __restrict__ num_new, int* __restrict__ scratch, long long scratch_words) {
  const GenomeRules<REAL>& rules = *reinterpret_cast<const GenomeRules<REAL>*>(settings);
  const ConstGenes<REAL> parents = {
#define NAME(name) in_##name
#include "cuda/gene_pointers.h"
  };
  const Genes<REAL> rooms = {
#define NAME(name) out_##name
#include "cuda/gene_pointers.h"
  };
  const Brood brood{count, room_start, sizes, requests, num_new};
  const long long threads = (long long)gridDim.x * blockDim.x;
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (long long i = thread; i < count; i += threads) {
    Child<REAL> child;
    child.genes = rooms.at(brood.node_room(i), brood.conn_room(i));
    child.scratch = scratch + thread * scratch_words;
    const Genome<REAL> a = genome_at(parents, in_node_start, in_conn_start, fitter[i]);
    if (other[i] < 0) {
      child.copy(a);
    } else {
      const Genome<REAL> b = genome_at(parents, in_node_start, in_conn_start, other[i]);
      const Draws draws{seed, generation, uint32(i)};
      breed(child, a, b, fitter[i] == other[i], rules, num_inputs, num_outputs, draws);
    }
    brood.note(i, child);
  }
}
