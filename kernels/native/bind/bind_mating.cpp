// bind_mating.cpp: how many children species have, who has them with whom, and exact sums, for
// Python.
#include <algorithm>
#include <string>

#include "native/bind/bindings.h"
#include "native/exact_sum.h"
#include "native/mating.h"
#include "native/sharing.h"
#include "native/statistics.h"
#include "numerics/exact.h"

using namespace nb::literals;

namespace evonet {
namespace {

nb::tuple mate(In<double> scores, In<int64_t> members, In<int64_t> member_start,
               In<int64_t> num_elites, In<int64_t> num_parents, In<int64_t> num_children,
               double interspecies, uint64_t seed, uint32_t generation, int threads) {
  const auto count = static_cast<int64_t>(num_elites.shape(0));
  check_shape("num_elites", num_elites, {count});
  check_shape("num_parents", num_parents, {count});
  check_shape("num_children", num_children, {count});
  check_shape("scores", scores, {kAnySize});
  check_shape("members", members, {kAnySize});
  check_shape("member_start", member_start, {count + 1});
  check_offsets("member_start", member_start, static_cast<int64_t>(members.shape(0)));
  check_positions("members", members, 0, static_cast<int64_t>(scores.shape(0)));
  int64_t total = 0;
  for (int64_t s = 0; s < count; ++s) {
    const int64_t size = member_start.data()[s + 1] - member_start.data()[s];
    const int64_t elites = num_elites.data()[s], parents = num_parents.data()[s];
    const int64_t children = num_children.data()[s];
    if (elites < 0 || elites > size || parents < 1 || parents > size || children < 0 ||
        children > INT32_MAX || size > INT32_MAX) {
      throw nb::value_error("elites and parents must be members, and children countable");
    }
    total += elites + children;
  }
  const MatingSpecies species{count,
                              member_start.data(),
                              members.data(),
                              num_elites.data(),
                              num_parents.data(),
                              num_children.data(),
                              static_cast<float>(interspecies)};
  Buffer<int64_t> fitter(total), other(total);
  run_interruptibly([&] {
    return plan_mating(species, scores.data(), {seed, generation}, threads, python_signal,
                       fitter.data.get(), other.data.get());
  });
  return nb::make_tuple(to_numpy(fitter), to_numpy(other));
}

nb::object to_numpy(const std::vector<int64_t>& numbers) {
  Buffer<int64_t> buffer(static_cast<int64_t>(numbers.size()));
  std::copy(numbers.begin(), numbers.end(), buffer.data.get());
  return evonet::to_numpy(buffer);
}

nb::tuple share(In<double> scores, In<int64_t> members, In<int64_t> member_start, int64_t pop_size,
                int64_t least, int64_t elitism, double survival, bool canonical, bool proportional,
                int threads) {
  const auto count = static_cast<int64_t>(member_start.shape(0)) - 1;
  check_number("species", count, 1, kMostInt32);
  check_shape("scores", scores, {kAnySize});
  check_shape("members", members, {kAnySize});
  check_shape("member_start", member_start, {count + 1});
  check_offsets("member_start", member_start, static_cast<int64_t>(members.shape(0)));
  check_positions("members", members, 0, static_cast<int64_t>(scores.shape(0)));
  check_number("pop_size", pop_size, 1, kMostInt32);
  check_number("least", least, 1, pop_size / count);
  check_number("elitism", elitism, 0, kMostInt32);
  for (int64_t s = 0; s < count; ++s) {
    if (member_start.data()[s] == member_start.data()[s + 1])
      refuse("member_start", "has an empty species");
  }
  const auto is_finite = [](double score) { return exact::is_finite(score); };
  // In the order of memory first, which is many times faster.
  if (!std::all_of(scores.data(), scores.data() + scores.shape(0), is_finite)) {
    for (size_t i = 0; i < members.shape(0); ++i) {
      if (!is_finite(scores.data()[members.data()[i]])) refuse("scores", "must be finite");
    }
  }
  if (!(survival >= 0 && survival <= 1)) refuse("survival", "must be from 0 to 1");
  SpeciesShares found;
  {
    nb::gil_scoped_release release;
    found = share_out(scores.data(), members.data(), member_start.data(), count,
                      {pop_size, least, elitism, survival, canonical, proportional}, threads);
  }
  return nb::make_tuple(to_numpy(found.num_elites), to_numpy(found.num_parents),
                        to_numpy(found.num_children));
}

double sum_of(In<double> values, int threads) {
  check_shape("values", values, {kAnySize});
  return sum_exactly(values.data(), static_cast<int64_t>(values.shape(0)), threads);
}

// The loss of each genome, which kernels leave as two numbers.
template <class T>
nb::object join_pairs(Array<const T, 2> pairs) {
  check_shape("pairs", pairs, {kAnySize, 2});
  Buffer<double> sums(static_cast<int64_t>(pairs.shape(0)));
  const T* const from = pairs.data();
  double* const to = sums.data.get();
  for (int64_t i = 0; i < sums.size; ++i) {
    to[i] = static_cast<double>(from[2 * i]) + static_cast<double>(from[2 * i + 1]);
  }
  return evonet::to_numpy(sums);
}

nb::tuple spread(In<double> values, int threads) {
  check_shape("values", values, {kAnySize});
  const auto count = static_cast<int64_t>(values.shape(0));
  check_number("values", count, 1, std::numeric_limits<int64_t>::max());
  const Spread found = measure_spread(values.data(), count, threads);
  return nb::make_tuple(found.mean, found.deviation, found.scale);
}

nb::object sum_groups(In<double> values, In<int64_t> starts) {
  check_shape("values", values, {kAnySize});
  check_shape("starts", starts, {kAnySize});
  check_offsets("starts", starts, static_cast<int64_t>(values.shape(0)));
  const auto count = static_cast<int64_t>(starts.shape(0)) - 1;
  Buffer<double> sums(count);
  for (int64_t s = 0; s < count; ++s) {
    ExactSum sum;
    for (int64_t i = starts.data()[s]; i < starts.data()[s + 1]; ++i) sum.add(values.data()[i]);
    sums.data[s] = sum.rounded();
  }
  return to_numpy(sums);
}

}  // namespace

void bind_mating(nb::module_& m) {
  m.def("plan_mating", &mate, "scores"_a.noconvert(), "members"_a.noconvert(),
        "member_start"_a.noconvert(), "num_elites"_a.noconvert(), "num_parents"_a.noconvert(),
        "num_children"_a.noconvert(), "interspecies"_a, "seed"_a, "generation"_a, "threads"_a,
        "Both parents of every genome of the next generation; -1 as other parent of a copy.");
  m.def("share_out", &share, "scores"_a.noconvert(), "members"_a.noconvert(),
        "member_start"_a.noconvert(), "pop_size"_a, "least"_a, "elitism"_a, "survival"_a,
        "canonical"_a, "proportional"_a, "threads"_a = 1,
        "How many elites, parents and children each species has.");
  m.def("exact_sum", &sum_of, "values"_a.noconvert(), "threads"_a = 1,
        "The sum of finite numbers, rounded once; infinite beyond the largest number.");
  m.def("join_pairs32", &join_pairs<float>, "pairs"_a.noconvert(), "Adds two columns as doubles.");
  m.def("join_pairs64", &join_pairs<double>, "pairs"_a.noconvert(), "Adds two columns.");
  m.def("mean_and_deviation", &spread, "values"_a.noconvert(), "threads"_a = 1,
        "Of finite numbers, in units of 2^scale; and the scale.");
  m.def("exact_group_sums", &sum_groups, "values"_a.noconvert(), "starts"_a.noconvert(),
        "The exact sums of groups of values, whose offsets are given.");
}

}  // namespace evonet
