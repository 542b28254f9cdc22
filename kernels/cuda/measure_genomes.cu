// measure_genomes.cu: how far genomes are from each standard of a dictionary, [P, kStandards]. A
// team of kStandards threads takes a genome after another: together they look up its genes, then
// each adds up the distance to its standard, in the order of genes.
//
// Only genomes from `first` on are measured; of those, where `species` is given, only the ones that
// are in none, and where `best` is given, only those that may still find a nearer species.
#include "cuda/dictionary.h"

using namespace evonet;

static_assert(sizeof(DistanceRules<REAL>) == RULES_SIZE, "evonet/backends/cuda/genetics/rules.py");

constexpr int kThreads = 128, kTeams = kThreads / kStandards;

extern "C" __global__ void __launch_bounds__(kThreads, 4)
    measure_genomes(long long num_genomes, long long first,
#define IN(name) in_##name
#include "cuda/population_parameters.h"
                    const int* __restrict__ species, const REAL* __restrict__ best,
                    const unsigned char* __restrict__ settings,
#include "cuda/dictionary_parameters.h"
                    int count, int* __restrict__ words, int most_genes,
                    REAL* __restrict__ distances) {
  __shared__ Standards<REAL> standards;
  const DistanceRules<REAL>& rules = *reinterpret_cast<const DistanceRules<REAL>*>(settings);
  if (threadIdx.x == 0) DictionaryArrays<REAL>{DICTIONARY}.open(standards, count);
  if (threadIdx.x < count) {
    standards.num_nodes[threadIdx.x] = sizes[threadIdx.x];
    standards.num_conns[threadIdx.x] = sizes[kStandards + threadIdx.x];
    standards.last[threadIdx.x] = last[threadIdx.x];
  }
  __syncthreads();
  const ConstGenes<REAL> genes = {
#define NAME(name) in_##name
#include "cuda/gene_pointers.h"
  };
  const int lane = threadIdx.x % kStandards;
  const long long team = (long long)blockIdx.x * kTeams + threadIdx.x / kStandards;
  const long long teams = (long long)gridDim.x * kTeams;
  const unsigned mask = 0xffffu << (threadIdx.x % 32 / kStandards * kStandards);
  int* const node_words = words + team * most_genes;
  for (long long g = first + team; g < num_genomes; g += teams) {
    if (species != nullptr && species[g] >= 0) continue;
    if (best != nullptr && !(best[g] > REAL(0))) continue;
    const Genome<REAL> genome = genome_at(genes, in_node_start, in_conn_start, g);
    int* const link_words = node_words + genome.num_nodes;
    const auto part = [&](int of, int end) { return int((long long)of * end / kStandards); };
    const int node = part(genome.num_nodes, lane), conn = part(genome.num_conns, lane);
    const Genome<REAL> own = {genome.genes.at(node, conn), part(genome.num_nodes, lane + 1) - node,
                              part(genome.num_conns, lane + 1) - conn};
    look_up(standards.nodes, standards.links, own, node_words + node, link_words + conn);
    __syncwarp(mask);
    if (lane < count) {
      distances[g * kStandards + lane] = distances_to<REAL>(
          standards, lane, genome, node_words, link_words, rules, [](int, int) { return true; });
    }
    __syncwarp(mask);
  }
}
