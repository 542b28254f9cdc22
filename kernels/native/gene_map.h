// gene_map.h: where a schedule's nodes and links are among the genes of its population.
#pragma once

#include <cstdint>

#include "native/compile_schedule.h"

namespace evonet {

// What a schedule knows of genes.
struct LiveGenes {
  const int64_t* node_start;  // [P + 1]
  const int64_t* node_key;    // [N]
  const int64_t* edge_start;  // [N + 1]
};

// Writes the positions of node genes [N] and of connection genes [E]; `mismatch` becomes the first
// genome that the schedule was not made from, or stays -1. Of the population only keys, ends,
// flags and ranks are read. Returns false if poll asked to stop.
bool map_genes(const PopulationView<float>& population, const LiveGenes& live, int threads,
               const Interrupt::Poll& poll, int64_t* node, int64_t* link, int64_t& mismatch);

}  // namespace evonet
