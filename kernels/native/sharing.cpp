#include "native/sharing.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "native/exact_sum.h"
#include "native/parallel_sum.h"
#include "numerics/exact.h"

namespace evonet {
namespace {

// Only ratios matter. Powers of two leave them alone, and sums of huge scores stay finite.
constexpr double kScale = 0x1p-64;

constexpr int64_t kManyScores = 1 << 15;  // members that are worth several threads

// Means of species and the range of all scores, scaled.
struct Fitness {
  std::vector<double> means;
  double low, high;
};

// The scores of some genomes.
struct Tally {
  ExactSum sum;
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();

  void add(const Tally& other) {
    sum.add(other.sum);
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }
};

struct Measured {
  double mean, low, high;
};

Measured measure_members(const double* scores, const int64_t* members, int64_t count, int threads) {
  Tally tally = add_up<Tally>(0, count, threads, [&](Tally& part, int64_t i) {
    const double score = scores[members[i]];
    part.sum.add(score);
    part.low = std::min(part.low, score);
    part.high = std::max(part.high, score);
  });
  const auto size = static_cast<double>(count);
  double mean = tally.sum.rounded() / size;
  if (exact::is_infinite(mean)) {  // of numbers near 1e308; their mean lies between them
    ExactSum scaled;
    for (int64_t i = 0; i < count; ++i) scaled.add(scores[members[i]] * kScale);
    mean = std::clamp(scaled.rounded() / size / kScale, tally.low, tally.high);
  }
  return {mean, tally.low, tally.high};
}

Fitness measure(const double* scores, const int64_t* members, const int64_t* member_start,
                int64_t count, int threads) {
  std::vector<Measured> measured(count);
  const auto size = [&](int64_t s) { return member_start[s + 1] - member_start[s]; };
  const auto measure_one = [&](int64_t s, int with) {
    measured[s] = measure_members(scores, members + member_start[s], size(s), with);
  };
  for (int64_t s = 0; s < count; ++s) {
    if (size(s) >= kManyScores) measure_one(s, threads);
  }
  parallel_for(
      threads, count,
      [&](int, int64_t s, Interrupt&) {
        if (size(s) < kManyScores) measure_one(s, 1);
      },
      [] { return false; });
  Fitness found{std::vector<double>(count), measured[0].low, measured[0].high};
  for (int64_t s = 0; s < count; ++s) {
    found.means[s] = measured[s].mean * kScale;
    found.low = std::min(found.low, measured[s].low);
    found.high = std::max(found.high, measured[s].high);
  }
  found.low *= kScale;
  found.high *= kScale;
  return found;
}

std::vector<double> ideal_shares(const Fitness& fitness, const SharingRules& rules) {
  std::vector<double> shares = fitness.means;
  if (rules.canonical) {
    const double lowest = *std::min_element(shares.begin(), shares.end());
    const double shift = lowest < 0 ? 1e-6 * kScale - lowest : 0.0;
    for (double& share : shares) share += shift;
  } else {
    const double range = std::max(kScale, fitness.high - fitness.low);
    for (double& share : shares) share = (share - fitness.low) / range;
  }
  ExactSum sum;
  for (const double share : shares) sum.add(share);
  const double total = sum.rounded();
  const auto size = static_cast<double>(rules.pop_size), least = static_cast<double>(rules.least);
  for (double& share : shares) share = std::max(total > 0 ? share / total * size : 0.0, least);
  return shares;
}

// Moves species half the way to their shares, and by at least one.
void go_half_way(std::vector<double>& shares, const int64_t* member_start,
                 const SharingRules& rules) {
  double total = 0;  // of whole numbers: exact in any order
  for (size_t s = 0; s < shares.size(); ++s) {
    const auto size = static_cast<double>(member_start[s + 1] - member_start[s]);
    const double step = (shares[s] - size) * 0.5;
    const double whole = exact::nearest(step);
    shares[s] = size + (whole != 0 ? whole : static_cast<double>((step > 0) - (step < 0)));
    total += shares[s];
  }
  const double norm = static_cast<double>(rules.pop_size) / total;
  for (double& share : shares) {
    share = std::max(exact::nearest(share * norm), static_cast<double>(rules.least));
  }
}

// Adds to the smallest or takes from the largest, one by one, until the sum is right.
void settle(std::vector<int64_t>& amounts, const SharingRules& rules) {
  int64_t missing = rules.pop_size - std::accumulate(amounts.begin(), amounts.end(), int64_t{0});
  if (missing == 0) return;
  std::vector<int64_t> order(amounts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return missing < 0 ? amounts[a] > amounts[b] : amounts[a] < amounts[b];
  });
  while (missing != 0) {
    for (const int64_t s : order) {
      if (missing > 0) {
        ++amounts[s];
        --missing;
      } else if (missing < 0 && amounts[s] > rules.least) {
        --amounts[s];
        ++missing;
      }
    }
  }
}

}  // namespace

SpeciesShares share_out(const double* scores, const int64_t* members, const int64_t* member_start,
                        int64_t count, const SharingRules& rules, int threads) {
  std::vector<double> shares =
      ideal_shares(measure(scores, members, member_start, count, threads), rules);
  if (rules.proportional) {
    for (double& share : shares) share = exact::nearest(share);
  } else {
    go_half_way(shares, member_start, rules);
  }
  std::vector<int64_t> amounts(shares.begin(), shares.end());
  settle(amounts, rules);
  SpeciesShares found{amounts, amounts, amounts};
  for (int64_t s = 0; s < count; ++s) {
    const int64_t size = member_start[s + 1] - member_start[s];
    const auto best =
        static_cast<int64_t>(exact::ceiling(rules.survival * static_cast<double>(size)));
    found.num_elites[s] = std::min({amounts[s], rules.elitism, size});
    found.num_parents[s] = std::min(size, std::max<int64_t>(best, 2));
    found.num_children[s] = amounts[s] - found.num_elites[s];
  }
  return found;
}

}  // namespace evonet
