// bind_evolution.cpp: breeding and speciation for Python. Rules come as dicts with the field names
// of gene_rules.h, so that no order of numbers has to be kept in step.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <vector>

#include "native/bind/bindings.h"
#include "native/bind/read_population.h"
#include "native/breed.h"
#include "native/speciate.h"
#include "native/standard_set.h"

using namespace nb::literals;

namespace evonet {
namespace {

// Keys and innovations are at most this, as evonet/genes/arrays.py says.
constexpr int64_t kLargestKey = int64_t{1} << 62;

template <class V>
V read(const nb::dict& rules, const char* name) {
  return nb::cast<V>(rules[name]);
}

nb::dict sub(const nb::dict& rules, const char* name) { return nb::cast<nb::dict>(rules[name]); }

template <class T>
FloatRule<T> read_float_rule(const nb::dict& d) {
  return {static_cast<T>(read<double>(d, "init_mean")),
          static_cast<T>(read<double>(d, "init_stdev")),
          static_cast<T>(read<double>(d, "mutate_power")),
          static_cast<T>(read<double>(d, "max_value")),
          static_cast<T>(read<double>(d, "min_value")),
          static_cast<float>(read<double>(d, "mutate_rate")),
          static_cast<float>(read<double>(d, "replace_rate")),
          read<bool>(d, "init_uniform")};
}

ChoiceRule read_choice_rule(const nb::dict& d) {
  ChoiceRule rule{};
  rule.mutate_rate = static_cast<float>(read<double>(d, "mutate_rate"));
  rule.first = read<int>(d, "first");
  for (nb::handle option : nb::cast<nb::sequence>(d["options"])) {
    if (rule.count == ChoiceRule::kMost) throw nb::value_error("at most 32 options");
    rule.options[rule.count++] = nb::cast<uint8_t>(option);
  }
  return rule;
}

BoolRule read_bool_rule(const nb::dict& d) {
  return {static_cast<float>(read<double>(d, "mutate_rate")),
          static_cast<float>(read<double>(d, "to_true_add")),
          static_cast<float>(read<double>(d, "to_false_add")), read<int>(d, "first")};
}

template <class T>
GenomeRules<T> read_genome_rules(const nb::dict& d) {
  return {read_float_rule<T>(sub(d, "bias")),
          read_float_rule<T>(sub(d, "response")),
          read_float_rule<T>(sub(d, "time_constant")),
          read_float_rule<T>(sub(d, "weight")),
          read_choice_rule(sub(d, "activation")),
          read_choice_rule(sub(d, "aggregation")),
          read_bool_rule(sub(d, "enabled")),
          static_cast<float>(read<double>(d, "conn_add")),
          static_cast<float>(read<double>(d, "conn_delete")),
          static_cast<float>(read<double>(d, "node_add")),
          static_cast<float>(read<double>(d, "node_delete")),
          read<bool>(d, "single_structural_mutation"),
          read<bool>(d, "structural_mutation_surer"),
          read<bool>(d, "feed_forward")};
}

template <class T>
DistanceRules<T> read_distance_rules(const nb::dict& d) {
  return {static_cast<T>(read<double>(d, "disjoint")), static_cast<T>(read<double>(d, "excess")),
          static_cast<T>(read<double>(d, "weight")),
          static_cast<T>(read<double>(d, "enable_penalty")), read<bool>(d, "include_nodes")};
}

template <class T>
GenomesView<T> view(const PopulationRef<T>& p) {
  return {p.num_genomes, p.num_inputs, p.num_outputs, p.genes, p.node_start, p.conn_start};
}

template <class T>
nb::dict to_dict(Offspring<T>& out) {
  nb::dict d;
  const auto add = [&](const char* name, auto& genes) { d[name] = to_read_only_numpy(genes); };
  add("node_start", out.node_start);
  out.genes.each_node_gene(add);
  add("conn_start", out.conn_start);
  out.genes.each_connection_gene(add);
  add("rank", out.rank);
  return d;
}

template <class T>
nb::tuple breed(const nb::object& parents, In<int64_t> fitter, In<int64_t> other,
                const nb::dict& rules, uint64_t seed, uint32_t generation, int64_t next_node_key,
                int64_t next_innovation, int threads, const std::string& simd) {
  const PopulationRef<T> population(parents);
  const auto num_children = static_cast<int64_t>(fitter.shape(0));
  check_shape("fitter", fitter, {num_children});
  check_shape("other", other, {num_children});
  check_positions("fitter", fitter, 0, population.num_genomes);
  check_positions("other", other, -1, population.num_genomes);
  check_number("next_node_key", next_node_key, 0, kLargestKey);
  check_number("next_innovation", next_innovation, 0, kLargestKey);
  const BreedPlan<T> plan{view(population),  num_children,    fitter.data(),
                          other.data(),      population.rank, read_genome_rules<T>(rules),
                          {seed, generation}};
  const EvolutionKernels<T>& kernels = find_isa(simd).kernels(T()).evolution;
  Numbers numbers{next_node_key, next_innovation};
  Offspring<T> out;
  run_interruptibly(
      [&] { return breed_generation(plan, kernels, threads, python_signal, numbers, out); });
  return nb::make_tuple(to_dict(out), numbers.node_key, numbers.innovation);
}

template <class T>
nb::dict first(int64_t num_genomes, int num_inputs, int num_nodes, In<int64_t> source,
               In<int64_t> target, int num_wanted, bool one_input, const nb::dict& rules,
               uint64_t seed, uint32_t generation, int threads, const std::string& simd) {
  const auto num_candidates = static_cast<int64_t>(source.shape(0));
  check_number("num_genomes", num_genomes, 0, kMostInt32);
  check_number("num_inputs", num_inputs, 0, kMostInt32);
  check_number("num_nodes", num_nodes, 0, kMostGenes);
  check_number("connections", num_candidates, 0, kMostGenes);
  check_shape("source", source, {num_candidates});
  check_shape("target", target, {num_candidates});
  check_positions("source", source, -int64_t{num_inputs}, num_nodes);
  check_positions("target", target, 0, num_nodes);
  check_number("num_wanted", num_wanted, 0, num_candidates);
  const FirstPlan plan{num_inputs,
                       num_nodes,
                       static_cast<int>(source.shape(0)),
                       num_wanted,
                       one_input,
                       reinterpret_cast<const long long*>(source.data()),
                       reinterpret_cast<const long long*>(target.data())};
  const GenomeRules<T> genome_rules = read_genome_rules<T>(rules);
  const EvolutionKernels<T>& kernels = find_isa(simd).kernels(T()).evolution;
  Offspring<T> out;
  run_interruptibly([&] {
    return first_generation(num_genomes, plan, genome_rules, {seed, generation}, kernels, threads,
                            python_signal, out);
  });
  return to_dict(out);
}

template <class T>
nb::tuple put_into_species(const nb::object& population, const nb::object& parents,
                           In<int64_t> representatives, double threshold, const nb::dict& rules,
                           int threads, const std::string& simd) {
  const PopulationRef<T> read(population), read_before(parents);
  const GenomesView<T> genomes = view(read), before = view(read_before);
  check_shape("representatives", representatives, {kAnySize});
  check_positions("representatives", representatives, 0, before.num_genomes);
  std::vector<Genome<T>> old;
  for (size_t s = 0; s < representatives.shape(0); ++s) {
    old.push_back(before[representatives.data()[s]]);
  }
  const DistanceRules<T> distance_rules = read_distance_rules<T>(rules);
  const EvolutionKernels<T>& kernels = find_isa(simd).kernels(T()).evolution;
  Speciation found;
  run_interruptibly([&] {
    return speciate(genomes, old, static_cast<T>(threshold), distance_rules, kernels, threads,
                    python_signal, found);
  });
  const auto num_species = static_cast<int64_t>(found.representative.size());
  Buffer<int64_t> members(genomes.num_genomes), starts(num_species + 1), chosen(num_species);
  group_members(found.species.data(), genomes.num_genomes, num_species, members.data.get(),
                starts.data.get());
  std::copy(found.representative.begin(), found.representative.end(), chosen.data.get());
  return nb::make_tuple(to_numpy(members), to_numpy(starts), to_numpy(chosen));
}

nb::tuple group_by_species(In<int32_t> species, int64_t num_species) {
  const auto count = static_cast<int64_t>(species.shape(0));
  check_shape("species", species, {count});
  check_number("num_species", num_species, 0, kMostInt32);
  check_positions("species", species, 0, num_species);
  Buffer<int64_t> members(count), starts(num_species + 1);
  group_members(species.data(), count, num_species, members.data.get(), starts.data.get());
  return nb::make_tuple(to_numpy(members), to_numpy(starts));
}

template <class T>
nb::object distances(const nb::object& population, In<int64_t> a, In<int64_t> b,
                     const nb::dict& rules, const std::string& simd) {
  const PopulationRef<T> read(population);
  const GenomesView<T> genomes = view(read);
  check_shape("a", a, {kAnySize});
  check_shape("b", b, {static_cast<int64_t>(a.shape(0))});
  check_positions("a", a, 0, genomes.num_genomes);
  check_positions("b", b, 0, genomes.num_genomes);
  const DistanceRules<T> distance_rules = read_distance_rules<T>(rules);
  const EvolutionKernels<T>& kernels = find_isa(simd).kernels(T()).evolution;
  Buffer<T> out(static_cast<int64_t>(a.shape(0)));
  for (int64_t i = 0; i < out.size; ++i) {
    const Genome<T> genome = genomes[b.data()[i]];
    std::vector<int> words(2 * (genome.num_nodes + genome.num_conns));
    T distance[kStandards];
    StandardSet<T>({genomes[a.data()[i]]}, kernels)
        .measure(genome, distance_rules, words.data(), distance);
    out.data[i] = distance[0];
  }
  return to_numpy(out);
}

template <class T>
void bind_evolution_of(nb::module_& m, const std::string& suffix) {
  m.def(("breed" + suffix).c_str(), &breed<T>, "parents"_a, "fitter"_a.noconvert(),
        "other"_a.noconvert(), "rules"_a, "seed"_a, "generation"_a, "next_node_key"_a,
        "next_innovation"_a, "threads"_a, "simd"_a,
        "Breeds a generation: its arrays, the next node key and the next innovation.");
  m.def(("first_generation" + suffix).c_str(), &first<T>, "num_genomes"_a, "num_inputs"_a,
        "num_nodes"_a, "source"_a.noconvert(), "target"_a.noconvert(), "num_wanted"_a,
        "one_input"_a, "rules"_a, "seed"_a, "generation"_a, "threads"_a, "simd"_a,
        "Makes the arrays of the first generation.");
  m.def(("speciate" + suffix).c_str(), &put_into_species<T>, "population"_a, "parents"_a,
        "representatives"_a.noconvert(), "threshold"_a, "rules"_a, "threads"_a, "simd"_a,
        "The genomes by species, where each species begins, and who stands for it or -1.");
  m.def(("distances" + suffix).c_str(), &distances<T>, "population"_a, "a"_a.noconvert(),
        "b"_a.noconvert(), "rules"_a, "simd"_a,
        "The distance between genomes a[i] and b[i], for all i.");
}

}  // namespace

void bind_evolution(nb::module_& m) {
  bind_evolution_of<float>(m, "32");
  bind_evolution_of<double>(m, "64");
  m.def("group_by_species", &group_by_species, "species"_a.noconvert(), "num_species"_a,
        "The genomes by species, ascending within each, and where each species begins.");
}

}  // namespace evonet
