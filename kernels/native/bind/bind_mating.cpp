// bind_mating.cpp: who has children with whom, and exact sums, for Python.
#include <string>

#include "native/bind/bindings.h"
#include "native/exact_sum.h"
#include "native/mating.h"

using namespace nb::literals;

namespace evonet {
namespace {

// Offsets [S + 1] that ascend from 0 to `total`; returns S.
int64_t check_starts(const In<int64_t>& starts, size_t total) {
  const auto count = static_cast<int64_t>(starts.shape(0)) - 1;
  bool right =
      count >= 0 && starts.data()[0] == 0 && starts.data()[count] == static_cast<int64_t>(total);
  for (int64_t i = 0; right && i < count; ++i) right = starts.data()[i] <= starts.data()[i + 1];
  if (!right) throw nb::value_error("offsets must ascend from 0 to the number of members");
  return count;
}

void check_members(const In<int64_t>& members, size_t count) {
  for (size_t i = 0; i < members.shape(0); ++i) {
    if (static_cast<uint64_t>(members.data()[i]) >= count) {
      throw nb::value_error("a member is beyond the population");
    }
  }
}

nb::tuple mate(In<double> scores, In<int64_t> members, In<int64_t> member_start,
               In<int64_t> num_elites, In<int64_t> num_parents, In<int64_t> num_children,
               double interspecies, uint64_t seed, uint32_t generation, int threads) {
  const int64_t count = check_starts(member_start, members.shape(0));
  check_members(members, scores.shape(0));
  int64_t total = 0;
  for (const In<int64_t>* numbers : {&num_elites, &num_parents, &num_children}) {
    if (static_cast<int64_t>(numbers->shape(0)) != count) {
      throw nb::value_error("elites, parents and children need one number per species");
    }
  }
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

double sum_exactly(In<double> values) {
  ExactSum sum;
  for (size_t i = 0; i < values.shape(0); ++i) sum.add(values.data()[i]);
  return sum.rounded();
}

nb::object sum_groups(In<double> values, In<int64_t> starts) {
  const int64_t count = check_starts(starts, values.shape(0));
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
  m.def("plan_mating", &mate, "scores"_a, "members"_a, "member_start"_a, "num_elites"_a,
        "num_parents"_a, "num_children"_a, "interspecies"_a, "seed"_a, "generation"_a, "threads"_a,
        "Both parents of every genome of the next generation; -1 as other parent of a copy.");
  m.def("exact_sum", &sum_exactly, "values"_a,
        "The sum of finite numbers, rounded once; infinite beyond the largest number.");
  m.def("exact_group_sums", &sum_groups, "values"_a, "starts"_a,
        "The exact sums of groups of values, whose offsets are given.");
}

}  // namespace evonet
