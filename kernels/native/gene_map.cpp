// gene_map.cpp: a live node reads all enabled connections that end at it, in the order of their
// ranks. So the compiler's groups of links say which gene each of them is.
#include "native/gene_map.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "native/genome_links.h"

namespace evonet {
namespace {

// False if genome g of the schedule is not that of the population.
bool map_genome(GenomeLinks<float>& links, const LiveGenes& live, int64_t g, int64_t* node,
                int64_t* link, Interrupt& interrupt) {
  LoneWorker worker;
  worker.answer(interrupt);
  if (!links.group(g, worker)) return interrupt.requested();
  const LinkGroups& groups = links.groups();
  for (int64_t k = live.node_start[g]; k < live.node_start[g + 1]; ++k) {
    const int32_t number = links.number(live.node_key[k]);
    if (number < 0) return false;
    const GenomeLink* const first = groups.links + groups.begin(number);
    const int64_t edge = live.edge_start[k], count = live.edge_start[k + 1] - edge;
    if (count != groups.num_links(number)) return false;
    node[k] = links.first_node() + number;
    for (int64_t e = 0; e < count; ++e) link[edge + e] = links.first_conn() + first[e].conn;
  }
  return true;
}

}  // namespace

bool map_genes(const PopulationView<float>& p, const LiveGenes& live, int threads,
               const Interrupt::Poll& poll, int64_t* node, int64_t* link, int64_t& mismatch) {
  constexpr int64_t kChunk = 64;
  const int64_t chunks = (p.num_genomes + kChunk - 1) / kChunk;
  threads = static_cast<int>(std::clamp<int64_t>(chunks, 1, usable_threads(threads)));
  std::vector<GenomeLinks<float>> links;
  for (int i = 0; i < threads; ++i) links.emplace_back(p);
  std::atomic<int64_t> first{p.num_genomes};
  const bool finished = parallel_for(
      threads, chunks,
      [&](int worker, int64_t chunk, Interrupt& interrupt) {
        const int64_t end = std::min(p.num_genomes, (chunk + 1) * kChunk);
        for (int64_t g = chunk * kChunk; g < end; ++g) {
          if (map_genome(links[worker], live, g, node, link, interrupt)) continue;
          int64_t known = first.load();
          while (g < known && !first.compare_exchange_weak(known, g)) {
          }
          return;
        }
      },
      poll);
  mismatch = first < p.num_genomes ? first.load() : -1;
  return finished;
}

}  // namespace evonet
