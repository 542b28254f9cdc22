// Workers append whole chunks of genomes to parts of their own (compile_genome.h); the parts are
// then joined.
#include "native/compile_schedule.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "native/compile_genome.h"

namespace evonet {
namespace {

// Genomes [begin, end) of equal cost, for chunk `index` of `count`.
template <class T>
int64_t chunk_begin(const PopulationView<T>& p, int64_t index, int64_t count) {
  const auto cost = [&p](int64_t g) { return p.conn_start[g] + p.node_start[g] + g; };
  const int64_t total = cost(p.num_genomes);
  const double wanted = static_cast<double>(total) * static_cast<double>(index) / count;
  int64_t low = 0, high = p.num_genomes;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (static_cast<double>(cost(middle)) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

template <class T>
bool compile_schedule(const PopulationView<T>& p, const CompileOptions& options, int threads,
                      const Interrupt::Poll& poll, CompiledSchedule<T>& out) {
  threads = usable_threads(threads);
  const bool genes_wanted = options.wiring != kLevels;
  const int64_t genes = p.node_start[p.num_genomes] + p.conn_start[p.num_genomes];
  const int64_t num_parts =
      std::max<int64_t>(1, std::min(p.num_genomes, std::min(genes / 20000, 64 * int64_t{threads})));
  threads = static_cast<int>(std::min<int64_t>(threads, num_parts));
  std::vector<SchedulePart<T>> parts(num_parts);
  std::vector<PartCompiler<T>> compilers;
  for (int i = 0; i < threads; ++i) compilers.emplace_back(p, options);
  std::atomic<int64_t> first_cyclic{p.num_genomes}, first_bad{p.num_genomes};
  const auto note = [](std::atomic<int64_t>& first, int64_t g) {
    int64_t known = first.load();
    while (g < known && !first.compare_exchange_weak(known, g)) {
    }
  };
  out.output_slot = Buffer<int32_t>(p.num_genomes * p.num_outputs);

  const bool finished = parallel_for(
      threads, num_parts,
      [&](int worker, int64_t index, Interrupt& interrupt) {
        const int64_t begin = chunk_begin(p, index, num_parts);
        const int64_t end = chunk_begin(p, index + 1, num_parts);
        SchedulePart<T>& part = parts[index] =
            SchedulePart<T>(end - begin, p.node_start[end] - p.node_start[begin],
                            p.conn_start[end] - p.conn_start[begin], genes_wanted);
        for (int64_t g = begin; g < end; ++g) {
          if ((g & 63) == 63 && interrupt.requested()) return;
          const auto outcome = compilers[worker].run(
              g, part, out.output_slot.data.get() + g * p.num_outputs, interrupt);
          if (outcome == PartCompiler<T>::kInterrupted) return;
          if (outcome == PartCompiler<T>::kHasCycle) note(first_cyclic, g);
          if (outcome == PartCompiler<T>::kBad) return note(first_bad, g);
        }
      },
      poll);
  if (!finished) return false;
  if (first_bad < p.num_genomes) {
    out.bad_genome = first_bad;
    return true;
  }
  if (first_cyclic < p.num_genomes) out.cyclic_genome = first_cyclic;
  return join_parts(parts, genes_wanted, threads, poll, out);
}

template bool compile_schedule(const PopulationView<float>&, const CompileOptions&, int,
                               const Interrupt::Poll&, CompiledSchedule<float>&);
template bool compile_schedule(const PopulationView<double>&, const CompileOptions&, int,
                               const Interrupt::Poll&, CompiledSchedule<double>&);

}  // namespace evonet
