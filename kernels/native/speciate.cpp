// neat-python's order of events, in parallel:
//   1. each old species, in order, takes the genome nearest to its old representative, if any is
//      left; 2. every other genome joins the nearest of these; 3. the first genome that is near
//      none founds a species, which later genomes may prefer; and so on.
#include "native/speciate.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace evonet {
namespace {

constexpr int64_t kChunk = 256;

template <class T>
struct Nearest {
  T distance = std::numeric_limits<T>::infinity();
  int64_t genome = std::numeric_limits<int64_t>::max();

  // No distance from here on can be offered with success; one that is equal may, by its genome.
  T beyond() const { return std::nextafter(distance, std::numeric_limits<T>::infinity()); }

  void offer(T d, int64_t g) {
    if (d < distance || (d == distance && g < genome)) {
      distance = d;
      genome = g;
    }
  }
};

}  // namespace

template <class T>
bool speciate(const GenomesView<T>& population, const GenomesView<T>& old, T threshold,
              const DistanceRules<T>& rules, const EvolutionKernels<T>& kernels, int threads,
              const Interrupt::Poll& poll, Speciation& out) {
  if (threads <= 0) threads = available_threads();
  const int64_t count = population.num_genomes, num_old = old.num_genomes;
  const int64_t num_chunks = (count + kChunk - 1) / kChunk;
  const auto for_genomes = [&](int64_t first, const auto& visit) {
    const int64_t first_chunk = first / kChunk;
    return parallel_for(
        threads, num_chunks - first_chunk,
        [&](int worker, int64_t index, Interrupt&) {
          const int64_t begin = (first_chunk + index) * kChunk;
          for (int64_t g = std::max(begin, first); g < std::min(begin + kChunk, count); ++g) {
            visit(worker, g);
          }
        },
        poll);
  };

  out.species.assign(count, -1);
  out.representative.assign(num_old, -1);
  std::vector<Genome<T>> genomes;
  for (int64_t s = 0; s < num_old; ++s) genomes.push_back(old[s]);
  const Standards<T> old_standards(genomes, kernels);
  std::vector<std::vector<Nearest<T>>> found(threads, std::vector<Nearest<T>>(num_old));
  if (!for_genomes(0, [&](int worker, int64_t g) {
        const Genome<T> genome = population[g];
        for (int64_t s = 0; s < num_old; ++s) {
          Nearest<T>& nearest = found[worker][s];
          nearest.offer(kernels.distance(old_standards[s], genome, rules, nearest.beyond()), g);
        }
      })) {
    return false;
  }
  for (int64_t s = 0; s < num_old && s < count; ++s) {
    Nearest<T> nearest;
    for (const auto& by_worker : found) {
      nearest.offer(by_worker[s].distance, by_worker[s].genome);
    }
    if (nearest.genome >= count || out.species[nearest.genome] >= 0) {
      // Taken by an earlier species: look again among the others.
      nearest = Nearest<T>();
      for (int64_t g = 0; g < count; ++g) {
        if (out.species[g] >= 0) continue;
        nearest.offer(kernels.distance(old_standards[s], population[g], rules, nearest.beyond()),
                      g);
      }
    }
    if (nearest.genome >= count) continue;
    out.species[nearest.genome] = static_cast<int32_t>(s);
    out.representative[s] = nearest.genome;
  }

  genomes.clear();
  for (const int64_t g : out.representative) genomes.push_back(g < 0 ? Genome<T>{} : population[g]);
  const Standards<T> standards(genomes, kernels);
  // best[g] is the distance to the representative of the species that g is in.
  std::vector<T> best(count, threshold);
  if (!for_genomes(0, [&](int, int64_t g) {
        if (out.species[g] >= 0) return;
        const Genome<T> genome = population[g];
        int32_t chosen = -1;
        for (int64_t s = 0; s < num_old; ++s) {
          if (out.representative[s] < 0) continue;
          const T d = kernels.distance(standards[s], genome, rules, best[g]);
          if (d < best[g]) {
            best[g] = d;
            chosen = static_cast<int32_t>(s);
          }
        }
        // A representative is settled and never looks at this array, so writing is safe.
        out.species[g] = chosen;
      })) {
    return false;
  }
  for (int64_t s = 0; s < num_old; ++s) {
    if (out.representative[s] >= 0) best[out.representative[s]] = T(-1);
  }

  for (int64_t founder = 0; founder < count; ++founder) {
    if (out.species[founder] >= 0) continue;
    const auto species = static_cast<int32_t>(out.representative.size());
    out.representative.push_back(founder);
    out.species[founder] = species;
    best[founder] = T(-1);
    const Standards<T> standard({population[founder]}, kernels);
    if (!for_genomes(founder + 1, [&](int, int64_t g) {
          if (best[g] <= T(0)) return;
          const T d = kernels.distance(standard[0], population[g], rules, best[g]);
          if (d < best[g]) {
            best[g] = d;
            out.species[g] = species;
          }
        })) {
      return false;
    }
  }
  return true;
}

template bool speciate(const GenomesView<float>&, const GenomesView<float>&, float,
                       const DistanceRules<float>&, const EvolutionKernels<float>&, int,
                       const Interrupt::Poll&, Speciation&);
template bool speciate(const GenomesView<double>&, const GenomesView<double>&, double,
                       const DistanceRules<double>&, const EvolutionKernels<double>&, int,
                       const Interrupt::Poll&, Speciation&);

}  // namespace evonet
