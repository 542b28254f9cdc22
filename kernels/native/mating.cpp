#include "native/mating.h"

#include <algorithm>
#include <vector>

#include "genetics/mating.h"
#include "native/ranking.h"

namespace evonet {
namespace {

constexpr int64_t kChunk = 1 << 14;  // children that a thread takes at a time

constexpr int64_t kMany = 1 << 15;  // members that are worth several threads

// Writes the best members of every species, `wanted[s]` of them from `start[s]` on.
bool rank_species(const MatingSpecies& species, const double* scores, const int64_t* wanted,
                  const int64_t* start, int threads, const Interrupt::Poll& poll, int64_t* best) {
  const int64_t* const first = species.member_start;
  for (int64_t s = 0; s < species.num_species; ++s) {
    const int64_t size = first[s + 1] - first[s];
    if (size >= kMany && !rank_many(species.members + first[s], size, scores, wanted[s], threads,
                                    poll, best + start[s])) {
      return false;
    }
  }
  std::vector<std::vector<Ranked>> scratch(threads);
  return parallel_for(
      threads, species.num_species,
      [&](int worker, int64_t s, Interrupt&) {
        const int64_t size = first[s + 1] - first[s];
        if (size >= kMany) return;
        rank_few(species.members + first[s], size, scores, wanted[s], scratch[worker],
                 best + start[s]);
      },
      poll);
}

}  // namespace

bool plan_mating(const MatingSpecies& species, const double* scores, RandomSource random,
                 int threads, const Interrupt::Poll& poll, int64_t* fitter, int64_t* other) {
  const int64_t count = species.num_species;
  threads = usable_threads(threads);
  std::vector<int64_t> wanted(count), best_start(count + 1), first_child(count + 1), elites;
  for (int64_t s = 0; s < count; ++s) {
    wanted[s] = std::max(species.num_elites[s], species.num_parents[s]);
    best_start[s + 1] = best_start[s] + wanted[s];
    first_child[s + 1] = first_child[s] + species.num_children[s];
  }
  std::vector<int64_t> best(best_start[count]);
  if (!rank_species(species, scores, wanted.data(), best_start.data(), threads, poll,
                    best.data())) {
    return false;
  }
  // Side by side with the pools that children draw from: those of all genomes are far apart.
  std::vector<double> best_score(best.size());
  for (size_t i = 0; i < best.size(); ++i) best_score[i] = scores[best[i]];
  for (int64_t s = 0; s < count; ++s) {
    const auto ranked = best.begin() + best_start[s];
    elites.insert(elites.end(), ranked, ranked + species.num_elites[s]);
  }
  std::sort(elites.begin(), elites.end());
  const auto num_elites = static_cast<int64_t>(elites.size());
  std::copy(elites.begin(), elites.end(), fitter);
  std::fill(other, other + num_elites, -1);

  const int64_t num_children = first_child[count];
  const MatingPools<int64_t> pools{count,
                                   scores,
                                   species.members,
                                   species.member_start,
                                   best.data(),
                                   best_score.data(),
                                   best_start.data(),
                                   species.num_parents,
                                   species.interspecies};
  return parallel_for(
      threads, (num_children + kChunk - 1) / kChunk,
      [&](int, int64_t chunk, Interrupt&) {
        const int64_t begin = chunk * kChunk, end = std::min(begin + kChunk, num_children);
        int64_t home = group_of(first_child.data(), count, begin);
        for (int64_t child = begin; child < end; ++child) {
          while (child >= first_child[home + 1]) ++home;
          const int64_t at = num_elites + child;
          const Couple parents = draw_couple(
              pools, home, Draws{random.seed, random.generation, static_cast<uint32>(at)});
          fitter[at] = parents.fitter;
          other[at] = parents.other;
        }
      },
      poll);
}

}  // namespace evonet
