#include "native/mating.h"

#include <algorithm>
#include <vector>

#include "native/ranking.h"
#include "numerics/philox.h"

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
  return parallel_for(
      threads, (num_children + kChunk - 1) / kChunk,
      [&](int, int64_t chunk, Interrupt&) {
        const int64_t begin = chunk * kChunk, end = std::min(begin + kChunk, num_children);
        int64_t home = std::upper_bound(first_child.begin(), first_child.end(), begin) -
                       first_child.begin() - 1;
        for (int64_t child = begin; child < end; ++child) {
          while (child >= first_child[home + 1]) ++home;
          const Draws draws{random.seed, random.generation,
                            static_cast<uint32>(num_elites + child)};
          const Philox r = draws(FOR_PARENTS, 0);
          const auto size = static_cast<int32>(species.num_parents[home]);
          const int64_t one = best_start[home] + choose(r.word[0], size);
          const int64_t two = best_start[home] + choose(r.word[1], size);
          const int64_t first = best[one];
          int64_t second = best[two];
          double second_score = best_score[two];
          if (count > 1 && uniform(r.word[2]) < species.interspecies) {
            int64_t away = choose(r.word[3], static_cast<int32>(count - 1));
            away += away >= home;
            const int64_t start = species.member_start[away];
            const auto members = static_cast<int32>(species.member_start[away + 1] - start);
            second = species.members[start + choose(draws(FOR_PARENTS, 1).word[0], members)];
            second_score = scores[second];
          }
          // Ties favour the second, as in neat-python.
          const bool first_is_fitter = best_score[one] > second_score;
          fitter[num_elites + child] = first_is_fitter ? first : second;
          other[num_elites + child] = first_is_fitter ? second : first;
        }
      },
      poll);
}

}  // namespace evonet
