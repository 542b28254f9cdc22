// ranking.h: the best of many genomes, in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "native/thread_pool.h"

namespace evonet {

struct Ranked {
  double score;
  int64_t genome;
};

// The best first; of equals the youngest, which stands last, as in neat-python. No two are equal.
inline bool ranks_before(const Ranked& a, const Ranked& b) {
  return a.score > b.score || (a.score == b.score && a.genome > b.genome);
}

// Writes the `count` best of `size` members to `best`, in order.
inline void rank_few(const int64_t* members, int64_t size, const double* scores, int64_t count,
                     std::vector<Ranked>& scratch, int64_t* best) {
  scratch.clear();
  for (int64_t i = 0; i < size; ++i) scratch.push_back({scores[members[i]], members[i]});
  const auto end = scratch.begin() + count;
  if (count < size) std::nth_element(scratch.begin(), end, scratch.end(), ranks_before);
  std::sort(scratch.begin(), end, ranks_before);
  for (auto it = scratch.begin(); it != end; ++it) *best++ = it->genome;
}

// Does the same in parallel: a sample divides the members into groups of ascending rank, and only
// groups that have some of the best are gathered and sorted. Returns false if poll asked to stop.
inline bool rank_many(const int64_t* members, int64_t size, const double* scores, int64_t count,
                      int threads, const Interrupt::Poll& poll, int64_t* best) {
  constexpr int64_t kGroups = 128, kSamples = 16 * kGroups, kChunk = 1 << 14;
  const auto member = [&](int64_t i) { return Ranked{scores[members[i]], members[i]}; };
  std::vector<Ranked> sample(kSamples), bounds(kGroups);
  for (int64_t i = 0; i < kSamples; ++i) sample[i] = member(size * i / kSamples);
  std::sort(sample.begin(), sample.end(), ranks_before);
  // Group b ranks before bounds[b] and not before the one in front of it.
  for (int64_t b = 0; b + 1 < kGroups; ++b) bounds[b] = sample[(b + 1) * kSamples / kGroups];
  const auto group_of = [&](const Ranked& one) {
    int64_t group = 0;
    for (int64_t half = kGroups / 2; half > 0; half /= 2) {
      const Ranked& bound = bounds[group + half - 1];
      // Without branches, which would be taken by chance.
      const bool before =
          static_cast<int>(one.score > bound.score) | (static_cast<int>(one.score == bound.score) &
                                                       static_cast<int>(one.genome > bound.genome));
      group += before ? 0 : half;
    }
    return group;
  };

  const int64_t chunks = (size + kChunk - 1) / kChunk;
  std::vector<int64_t> at(chunks * kGroups);  // how many of a chunk are in a group, then where
  std::vector<uint8_t> group(size);
  const auto each_of = [&](int64_t chunk, const auto& visit) {
    for (int64_t i = chunk * kChunk; i < std::min((chunk + 1) * kChunk, size); ++i) visit(i);
  };
  // Most members are not among the best, by the sample; their group does not matter.
  const auto sort_into_groups = [&](int64_t last) {
    std::fill(at.begin(), at.end(), 0);
    const Ranked* const worst = last < kGroups - 1 ? &bounds[last] : nullptr;
    return parallel_for(
        threads, chunks,
        [&, worst](int, int64_t chunk, Interrupt&) {
          each_of(chunk, [&](int64_t i) {
            const Ranked one = member(i);
            const bool matters = worst == nullptr || ranks_before(one, *worst);
            group[i] = static_cast<uint8_t>(matters ? group_of(one) : kGroups - 1);
            ++at[chunk * kGroups + group[i]];
          });
        },
        poll);
  };
  const int64_t likely = std::min(kGroups - 1, count * kGroups / size + 4);
  if (!sort_into_groups(likely)) return false;
  int64_t others = 0;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) others += at[chunk * kGroups + kGroups - 1];
  if (size - others < count && likely < kGroups - 1 && !sort_into_groups(kGroups - 1)) return false;

  std::vector<int64_t> start(kGroups + 1);
  int64_t needed = 0;  // groups that hold the best
  for (; start[needed] < count; ++needed) {
    start[needed + 1] = start[needed];
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const int64_t found = at[chunk * kGroups + needed];
      at[chunk * kGroups + needed] = start[needed + 1];
      start[needed + 1] += found;
    }
  }
  std::vector<Ranked> gathered(start[needed]);
  if (!parallel_for(
          threads, chunks,
          [&](int, int64_t chunk, Interrupt&) {
            each_of(chunk, [&](int64_t i) {
              if (group[i] < needed) gathered[at[chunk * kGroups + group[i]]++] = member(i);
            });
          },
          poll)) {
    return false;
  }
  return parallel_for(
      threads, needed,
      [&](int, int64_t g, Interrupt&) {
        std::sort(gathered.begin() + start[g], gathered.begin() + start[g + 1], ranks_before);
        const int64_t end = std::min(start[g + 1], count);
        for (int64_t i = start[g]; i < end; ++i) best[i] = gathered[i].genome;
      },
      poll);
}

}  // namespace evonet
