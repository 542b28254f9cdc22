// compile_genomes.cu: genomes in a GPU's memory become levels, slots and links in order; what
// pack_genomes.cu then writes as units, once the places of all genomes are known.
//
// A team of TEAM lanes compiles one genome after the other (schedule/compile_genome.h): alone for
// genomes of a few genes, a warp for others. It works in shared memory, or in `scratch` if genomes
// are too large for that. Loops over genes go over the lanes; the walk over levels and the scan for
// free slots are one lane's, and other warps fill its waits.
//
// What is written lies where the genome's genes lie: arrays of live nodes and of levels from its
// first node on, arrays of links from its first connection on.
//   counts       [6, P] units, live nodes, levels, links, slots, nodes of the widest level
//   status       [2] the first genome whose genes make no sense, and the first with a cycle that
//                matters; P if there is none, as it was before
//   order, slot  [N] the node and the slot of the k-th live node
//   link_end     [N] links of the genome up to and including its k-th node's
//   unit_end     [N] units likewise
//   level_end    [N] as in the schedule
//   link_source  [E] the slot that a link reads
//   link_conn    [E] its position among the genome's connections
#include "cuda/addresses.h"
#include "cuda/lane_worker.h"
#include "schedule/compile_genome.h"

using namespace evonet;

constexpr int kMostThreads = 128;

// Finds keys that ascend by halving.
struct KeyFinder {
  const long long* keys;
  int count;

  __device__ __forceinline__ int operator()(long long key) const {
    int low = 0, high = count;  // the first key that is not smaller
    while (low < high) {
      const int middle = (low + high) / 2;
      if (keys[middle] < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < count && keys[low] == key ? low : -1;
  }
};

// Memory of one team, for genomes of up to so many genes; evonet/backends/cuda/scheduling/plan.py
// counts it, too. What is needed in steps that do not overlap shares memory.
struct TeamMemory {
  unsigned long long* work;
  LinkGroups links;
  GenomeCompiler compiler;

  __device__ __forceinline__ TeamMemory(int* words, int inputs, int nodes, int conns, int outputs,
                                        const CompileOptions& options) {
    const auto take = [&](int count) {
      int* const taken = words;
      words += count;
      return taken;
    };
    int* const steps = take(3 * nodes + 2 + nodes % 2);  // of 8-byte numbers
    work = reinterpret_cast<unsigned long long*>(steps);
    auto* const linked = reinterpret_cast<GenomeLink*>(take(2 * (conns + LinkGroups::kSpareLinks)));
    int* const order = take(nodes + 1);
    links = {inputs, 0, 0, take(nodes + 1), order, take(conns), take(conns), linked};
    compiler = {outputs,
                options,
                {take(inputs + nodes), take(nodes), reinterpret_cast<LevelWalk::Visit*>(steps)},
                {order, take(nodes + 2)},
                {take(inputs + 2 * nodes), take(inputs + nodes), steps, steps + nodes + 2,
                 steps + 2 * nodes + 2}};
  }
};

extern "C" __global__ void __launch_bounds__(kMostThreads, 8)
    compile_genomes(int num_genomes, int num_inputs, int num_outputs, int wiring, int num_states,
                    int header_units, int links_per_unit, int most_nodes, int most_conns,
                    long long team_words, const long long* __restrict__ node_start,
                    const long long* __restrict__ node_key,
                    const unsigned char* __restrict__ activation,
                    const unsigned char* __restrict__ aggregation,
                    const long long* __restrict__ conn_start, const long long* __restrict__ source,
                    const long long* __restrict__ target, const bool* __restrict__ enabled,
                    const int* __restrict__ rank, int* scratch, int* counts, long long* status,
                    int* order, int* slot, int* link_end, int* unit_end, int* level_end,
                    int* link_source, int* link_conn, int* output_slot) {
  extern __shared__ uint4 shared[];
  const int block_teams = blockDim.x / TEAM, block_team = threadIdx.x / TEAM;
  const int first_team = blockIdx.x * block_teams + block_team;
  int* const words = scratch == nullptr
                         ? reinterpret_cast<int*>(shared) + block_team * int(team_words)
                         : scratch + first_team * team_words;
  const CompileOptions options{Wiring(wiring), num_states, true};
  const auto memory_at = [&](int* place) {
    return TeamMemory(place, num_inputs, most_nodes, most_conns, num_outputs, options);
  };
  {
    const TeamMemory memory = memory_at(words);
    const LaneWorker<TEAM> worker = LaneWorker<TEAM>::here(memory.work);
    for (int i = worker.lane; i < num_inputs; i += TEAM) {
      memory.compiler.walk.level[i] = 0;
      memory.compiler.slots.slot[i] = i;
    }
    worker.sync();
  }

  EVONET_KEEP_LOOP
  for (int g = first_team; g < num_genomes; g += gridDim.x * block_teams) {
    TeamMemory memory = memory_at(unknown(words));
    const GenomeCompiler& compiler = memory.compiler;
    LinkGroups& links = memory.links;
    LaneWorker<TEAM> worker = LaneWorker<TEAM>::here(memory.work);
    const long long first = node_start[g], first_conn = conn_start[g];
    links.num_nodes = int(node_start[g + 1] - first);
    links.num_conns = int(conn_start[g + 1] - first_conn);
    const KeyFinder node_with{node_key + first, links.num_nodes};
    bool makes_sense = true;
    for (int k = worker.lane; k < links.num_nodes; k += TEAM) {
      makes_sense &= node_with.keys[k] > (k == 0 ? -1 : node_with.keys[k - 1]);
    }
    makes_sense = worker.all(makes_sense);
    const ConnectionGenes<long long> genes{source + first_conn, target + first_conn,
                                           enabled + first_conn, rank + first_conn};
    if (!makes_sense || !links.group(worker, genes, node_with, makes_sense)) {
      if (worker.is_first()) {
        atomicMin(&status[0], (long long)g);
        EVONET_UNROLL
        for (int row = 0; row < 6; ++row) counts[(long long)row * num_genomes + g] = 0;
      }
      worker.sync();
      continue;
    }
    const NodeRoles roles{options.wiring, activation + first, aggregation + first,
                          links.link_start};
    CompiledGenome genome;
    compiler.run(worker, links, roles, genome);
    if (!genome.acyclic && worker.is_first()) atomicMin(&status[1], (long long)g);

    const int* const nodes = compiler.order.order;
    const int* const slots = compiler.slots.slot;
    EVONET_KEEP_LOOP
    for (int k = worker.lane; k < genome.num_live; k += TEAM) {
      const int node = nodes[k], num_links = links.num_links(node);
      order[first + k] = node;
      slot[first + k] = slots[num_inputs + node];
      link_end[first + k] = num_links;
      unit_end[first + k] = header_units + (num_links + links_per_unit - 1) / links_per_unit;
    }
    worker.sync();
    worker.running_sum(link_end + first, genome.num_live);
    worker.running_sum(unit_end + first, genome.num_live);
    EVONET_KEEP_LOOP
    for (int k = worker.lane; k < genome.num_live; k += TEAM) {
      const int begin = links.begin(nodes[k]), count = links.num_links(nodes[k]);
      const long long to = first_conn + link_end[first + k] - count;
      EVONET_KEEP_LOOP
      for (int e = 0; e < count; ++e) {
        link_source[to + e] = slots[links.links[begin + e].source];
        link_conn[to + e] = links.links[begin + e].conn;
      }
    }
    const int* const ends = compiler.level_end(genome);
    EVONET_KEEP_LOOP
    for (int l = worker.lane; l < genome.num_levels; l += TEAM) level_end[first + l] = ends[l];
    EVONET_KEEP_LOOP
    for (int o = worker.lane; o < num_outputs; o += TEAM) {
      output_slot[(long long)g * num_outputs + o] = compiler.output_slot(num_inputs + o);
    }
    if (worker.is_first()) {
      int widest = 0;
      EVONET_KEEP_LOOP
      for (int l = 0, before = 0; l < genome.num_levels; before = ends[l++]) {
        widest = ends[l] - before > widest ? ends[l] - before : widest;
      }
      const bool is_empty = genome.num_live == 0;
      const long long last = first + genome.num_live - 1;
      const int found[6] = {is_empty ? 0 : unit_end[last], genome.num_live,  genome.num_levels,
                            is_empty ? 0 : link_end[last], genome.num_slots, widest};
      EVONET_UNROLL
      for (int row = 0; row < 6; ++row) counts[(long long)row * num_genomes + g] = found[row];
    }
    worker.sync();  // before the next genome overwrites what lanes may still read
  }
}
