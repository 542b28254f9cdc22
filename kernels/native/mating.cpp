#include "native/mating.h"

#include <algorithm>
#include <vector>

#include "numerics/philox.h"

namespace evonet {
namespace {

constexpr int64_t kChunk = 1 << 14;  // children that a thread takes at a time

struct Ranked {
  double score;
  int64_t genome;
};

// The best first; of equals the youngest, which stands last, as in neat-python.
bool ranks_before(const Ranked& a, const Ranked& b) {
  return a.score > b.score || (a.score == b.score && a.genome > b.genome);
}

// Appends the `count` best members of a species, in order.
void append_best(const int64_t* members, int64_t size, const double* scores, int64_t count,
                 std::vector<Ranked>& scratch, std::vector<int64_t>& best) {
  scratch.clear();
  for (int64_t i = 0; i < size; ++i) scratch.push_back({scores[members[i]], members[i]});
  const auto end = scratch.begin() + count;
  if (count < size) std::nth_element(scratch.begin(), end, scratch.end(), ranks_before);
  std::sort(scratch.begin(), end, ranks_before);
  for (auto it = scratch.begin(); it != end; ++it) best.push_back(it->genome);
}

}  // namespace

bool plan_mating(const MatingSpecies& species, const double* scores, RandomSource random,
                 int threads, const Interrupt::Poll& poll, int64_t* fitter, int64_t* other) {
  const int64_t count = species.num_species;
  std::vector<int64_t> best, best_start(count), first_child(count + 1), elites;
  std::vector<Ranked> scratch;
  for (int64_t s = 0; s < count; ++s) {
    const int64_t begin = species.member_start[s], size = species.member_start[s + 1] - begin;
    const int64_t kept = species.num_elites[s];
    best_start[s] = static_cast<int64_t>(best.size());
    append_best(species.members + begin, size, scores, std::max(kept, species.num_parents[s]),
                scratch, best);
    const auto ranked = best.begin() + best_start[s];
    elites.insert(elites.end(), ranked, ranked + kept);
    first_child[s + 1] = first_child[s] + species.num_children[s];
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
          const int64_t* const pool = best.data() + best_start[home];
          const auto size = static_cast<int32>(species.num_parents[home]);
          const int64_t first = pool[choose(r.word[0], size)];
          int64_t second = pool[choose(r.word[1], size)];
          if (count > 1 && uniform(r.word[2]) < species.interspecies) {
            int64_t away = choose(r.word[3], static_cast<int32>(count - 1));
            away += away >= home;
            const int64_t start = species.member_start[away];
            const auto members = static_cast<int32>(species.member_start[away + 1] - start);
            second = species.members[start + choose(draws(FOR_PARENTS, 1).word[0], members)];
          }
          // Ties favour the second, as in neat-python.
          const bool first_is_fitter = scores[first] > scores[second];
          fitter[num_elites + child] = first_is_fitter ? first : second;
          other[num_elites + child] = first_is_fitter ? second : first;
        }
      },
      poll);
}

}  // namespace evonet
