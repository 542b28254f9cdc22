// rollout.cu: a thread plays an episode of a genome, network and task fused, from the first step to
// the last.
//
// The threads of a genome are neighbours, as many as it has episodes or a few whole warps of them;
// thread t plays the episodes t, t + threads_per_genome, ... without waiting for anybody. Values
// lie as [slot][thread of the block], so whatever slots the genomes of a warp read, their lanes
// find them in different banks. Nothing is shared between threads, so there are no barriers.
//
// Every step reads the same links again, so they are taken from where they lie: the first-level
// cache serves threads of one genome by a broadcast, and those of several genomes too.
//
// REAL: float or double. CONTROL: name of the task. GLOBAL_VALUES: values in global memory, for
// genomes too large for shared memory; threads then take genomes in turn. MEMORY: nodes remember,
// from the first step of an episode to the last.
#include "control/tasks.h"
#include "cuda/cells.h"

using namespace evonet;

// A task may have the name of a keyword.
#define EVONET_CONTROL(name, Type, ...) using play_##name = Type;
#include "control/controls.def"
#define EVONET_PLAY(name) play_##name
#define EVONET_PLAY_NAMED(name) EVONET_PLAY(name)

using Task = EVONET_PLAY_NAMED(CONTROL);
using Values = Column<REAL, 1>;

// Inputs have the first slots.
struct Inputs {
  Values first_slot;
  __device__ __forceinline__ REAL& operator[](int i) const { return first_slot.one(-i, 0); }
};

constexpr int kMostThreads = 128;
// Blocks whose registers an SM must have room for; the solvers of a task want many.
constexpr int kLeastBlocks = sizeof(REAL) == 8 ? (MEMORY ? 2 : 4) : (MEMORY ? 3 : 8);

// Evaluates the nodes of a genome in order; the inputs are there.
__device__ __forceinline__ void evaluate_genome(const uint4* unit, Values first_slot) {
  for (bool more = true; more;) {
    const NodeHeader<REAL> header = load_header<REAL>(unit);
    const GlobalLinks<REAL> links{unit + kHeaderUnits<REAL>};
    unit = links.first + (header.num_links() + kLinksPerUnit<REAL> - 1) / kLinksPerUnit<REAL>;
    more = !header.is_last();
    evaluate_node<REAL, 1>(header.genes(), links, first_slot.seen_from(header.slot()));
  }
}

extern "C" __global__ void __launch_bounds__(kMostThreads, kLeastBlocks)
    rollout(int num_genomes, int num_episodes, int threads_per_genome, int max_steps,
            unsigned first_episode, unsigned long long seed, long long thread_values,
            const int* __restrict__ genomes, const long long* __restrict__ unit_start,
            const uint4* __restrict__ units, const int* __restrict__ output_slot,
            REAL* __restrict__ returns, int* __restrict__ steps, REAL* scratch
#if MEMORY
            ,
            const long long* __restrict__ node_start, const int* __restrict__ slot, int kind,
            int num_states, int num_steps, REAL time_step, const REAL* __restrict__ cell,
            const long long* __restrict__ num_slots
#endif
    ) {
#if GLOBAL_VALUES
  REAL* const values = scratch + blockIdx.x * (blockDim.x * thread_values) + threadIdx.x;
#else
  extern __shared__ uint4 shared[];
  REAL* const values = reinterpret_cast<REAL*>(shared) + threadIdx.x;
#endif
  const Values first_slot{reinterpret_cast<char*>(values), -int32(blockDim.x * sizeof(REAL))};

  const int num_threads = num_genomes * threads_per_genome;
  for (int thread = blockIdx.x * blockDim.x + threadIdx.x; thread < num_threads;
       thread += gridDim.x * blockDim.x) {
    const int player = thread / threads_per_genome, genome = genomes[player];
    const bool has_nodes = unit_start[genome] < unit_start[genome + 1];
#if MEMORY
    const Memory<REAL> memory{kind, num_states, time_step, cell};
    const long long first_node = node_start[genome];
    const int num_nodes = int(node_start[genome + 1] - first_node);
    const int first_state = int(num_slots[genome]) - num_states * num_nodes;
#endif
    int episode = thread - player * threads_per_genome;
    REAL state[Task::kStateSize], total(0);
    int step = 0;
    // One loop over the steps of all episodes, so that a lane that begins the next one stays in
    // line with its neighbours.
    while (episode < num_episodes) {
      if (step == 0) {
        const Draws draws{seed, 0, first_episode + unsigned(episode)};
        Task::reset(draws(FOR_EPISODE, 0), state);
        total = REAL(0);
#if MEMORY
        for (int node = 0; node < num_nodes; ++node) {
          begin_node(memory, first_node + node, num_nodes,
                     first_slot.seen_from(first_state + node));
        }
#endif
      }
      REAL output[Task::kNumOutputs];
      Task::observe(state, Inputs{first_slot});
#if MEMORY
      for (int turn = 0; turn < num_steps; ++turn) {
        if (has_nodes) evaluate_genome(units + unit_start[genome], first_slot);
        for (int node = 0; node < num_nodes; ++node) {
          settle_node(memory, first_node + node, num_nodes,
                      first_slot.seen_from(slot[first_node + node]),
                      first_slot.seen_from(first_state + node));
        }
      }
#else
      if (has_nodes) evaluate_genome(units + unit_start[genome], first_slot);
#endif
      const int* const slots = output_slot + (long long)genome * Task::kNumOutputs;
      EVONET_UNROLL
      for (int o = 0; o < Task::kNumOutputs; ++o) {
        output[o] = slots[o] < 0 ? REAL(0) : first_slot.one(-slots[o], 0);
      }
      const Outcome<REAL> outcome = Task::step(state, output);
      total = total + outcome.reward;
      ++step;
      if (outcome.ended || step >= max_steps) {
        const long long result = (long long)player * num_episodes + episode;
        returns[result] = total;
        steps[result] = step;
        step = 0;
        if (episode >= num_episodes - threads_per_genome) break;  // the next number may overflow
        episode += threads_per_genome;
      }
    }
  }
}
