// bind_mating.cpp: who has children with whom, and exact sums, for Python.
#include <string>

#include "native/bind/bindings.h"
#include "native/exact_sum.h"
#include "native/mating.h"

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

double sum_exactly(In<double> values) {
  check_shape("values", values, {kAnySize});
  ExactSum sum;
  for (size_t i = 0; i < values.shape(0); ++i) sum.add(values.data()[i]);
  return sum.rounded();
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
  m.def("exact_sum", &sum_exactly, "values"_a.noconvert(),
        "The sum of finite numbers, rounded once; infinite beyond the largest number.");
  m.def("exact_group_sums", &sum_groups, "values"_a.noconvert(), "starts"_a.noconvert(),
        "The exact sums of groups of values, whose offsets are given.");
}

}  // namespace evonet
