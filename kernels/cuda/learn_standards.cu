// learn_standards.cu: enters genomes into a dictionary whose slots are free and whose rows are 0. A
// thread per gene: blocks along x take genes, and along y standards. `chosen` holds the genome of
// each standard, or -1 for an empty one.
#include "cuda/dictionary.h"

using namespace evonet;

// The word of a gene: the one in the slot of its key, which is `own` if the slot is free.
template <class IsIt>
__device__ __forceinline__ int enter(int* slots, int bits, unsigned long long hash, int own,
                                     IsIt is_it) {
  const long long mask = (1LL << bits) - 1;
  for (long long slot = (long long)(hash >> (64 - bits));; slot = (slot + 1) & mask) {
    const int holder = atomicCAS(&slots[slot], -1, own);
    if (holder < 0) return own;
    if (is_it(holder)) return holder;
  }
}

extern "C" __global__ void __launch_bounds__(256, 2) learn_standards(
#define IN(name) in_##name
#include "cuda/population_parameters.h"
    const long long* __restrict__ chosen,
#include "cuda/dictionary_parameters.h"
    int count) {
  const int standard = blockIdx.y;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const ConstGenes<REAL> genes = {
#define NAME(name) in_##name
#include "cuda/gene_pointers.h"
  };
  Genome<REAL> genome = {genes, 0, 0};
  if (chosen[standard] >= 0) {
    genome = genome_at(genes, in_node_start, in_conn_start, chosen[standard]);
  }
  Standards<REAL> standards;
  DictionaryArrays<REAL>{DICTIONARY}.open(standards, count);
  if (i == 0) {
    sizes[standard] = REAL(genome.num_nodes);
    sizes[kStandards + standard] = REAL(genome.num_conns);
    last[standard] = last_innovation(genome);
  }
  if (i < genome.num_nodes) {
    const long long key = genome.genes.node_key[i];
    const int own = standard * most_nodes + i;
    standards.nodes.first[own] = key;
    standards.nodes.second[own] = 0;
    const int word = enter(node_slots, node_bits, hash_pair(key, 0), own, [&](int other) {
      return in_node_key[in_node_start[chosen[other / most_nodes]] + other % most_nodes] == key;
    });
    put_node(standards, standard, word, genome, i);
  }
  if (i < genome.num_conns) {
    const long long source = genome.genes.source[i], target = genome.genes.target[i];
    const int own = standard * most_conns + i;
    standards.links.first[own] = source;
    standards.links.second[own] = target;
    const int word = enter(link_slots, link_bits, hash_pair(source, target), own, [&](int other) {
      const long long at = in_conn_start[chosen[other / most_conns]] + other % most_conns;
      return in_source[at] == source && in_target[at] == target;
    });
    put_link(standards, standard, word, genome, i);
  }
}
