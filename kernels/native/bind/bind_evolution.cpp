// bind_evolution.cpp: breeding and speciation for Python. Rules come as dicts with the field names
// of gene_rules.h, so that no order of numbers has to be kept in step.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <vector>

#include "native/bind/bindings.h"
#include "native/breed.h"
#include "native/speciate.h"
#include "native/standard_set.h"

using namespace nb::literals;

namespace evonet {
namespace {

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

// A Population object's arrays, kept alive by the caller.
template <class T>
GenomesView<T> read_population(const nb::object& p) {
  const auto starts = nb::cast<In<int64_t>>(p.attr("node_start"));
  const ConstGenes<T> genes{
#define EVONET_NODE_GENE(type, name, meaning) \
  nb::cast<In<typename GeneTypes<T>::type##_gene>>(p.attr(#name)).data(),
#define EVONET_CONNECTION_GENE(type, name, meaning) EVONET_NODE_GENE(type, name, meaning)
#include "genetics/population.def"
  };
  return {static_cast<int64_t>(starts.shape(0)) - 1,
          nb::cast<int>(p.attr("num_inputs")),
          nb::cast<int>(p.attr("num_outputs")),
          genes,
          starts.data(),
          nb::cast<In<int64_t>>(p.attr("conn_start")).data()};
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
  const BreedPlan<T> plan{read_population<T>(parents),
                          static_cast<int64_t>(fitter.shape(0)),
                          fitter.data(),
                          other.data(),
                          nb::cast<In<int32_t>>(parents.attr("rank")).data(),
                          read_genome_rules<T>(rules),
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
  const GenomesView<T> genomes = read_population<T>(population);
  const GenomesView<T> before = read_population<T>(parents);
  std::vector<Genome<T>> old;
  for (size_t s = 0; s < representatives.shape(0); ++s) {
    const int64_t genome = representatives.data()[s];
    if (genome < 0 || genome >= before.num_genomes) {
      throw nb::value_error("a representative is beyond the population");
    }
    old.push_back(before[genome]);
  }
  const DistanceRules<T> distance_rules = read_distance_rules<T>(rules);
  const EvolutionKernels<T>& kernels = find_isa(simd).kernels(T()).evolution;
  Speciation found;
  run_interruptibly([&] {
    return speciate(genomes, old, static_cast<T>(threshold), distance_rules, kernels, threads,
                    python_signal, found);
  });
  const size_t num_species = found.representative.size();
  Buffer<int64_t> members(genomes.num_genomes), starts(static_cast<int64_t>(num_species) + 1);
  Buffer<int64_t> chosen(static_cast<int64_t>(num_species));
  group_members(found, members.data.get(), starts.data.get());
  std::copy(found.representative.begin(), found.representative.end(), chosen.data.get());
  return nb::make_tuple(to_numpy(members), to_numpy(starts), to_numpy(chosen));
}

template <class T>
nb::object distances(const nb::object& population, In<int64_t> a, In<int64_t> b,
                     const nb::dict& rules, const std::string& simd) {
  const GenomesView<T> genomes = read_population<T>(population);
  const DistanceRules<T> distance_rules = read_distance_rules<T>(rules);
  const EvolutionKernels<T>& kernels = find_isa(simd).kernels(T()).evolution;
  Buffer<T> out(static_cast<int64_t>(a.shape(0)));
  for (int64_t i = 0; i < out.size; ++i) {
    const Genome<T> genome = genomes[b.data()[i]];
    std::vector<int> words(genome.num_nodes + genome.num_conns);
    T distance[kStandards];
    StandardSet<T>({genomes[a.data()[i]]}, kernels)
        .measure(genome, distance_rules, words.data(), distance);
    out.data[i] = distance[0];
  }
  return to_numpy(out);
}

template <class T>
void bind(nb::module_& m, const std::string& suffix) {
  m.def(("breed" + suffix).c_str(), &breed<T>, "parents"_a, "fitter"_a, "other"_a, "rules"_a,
        "seed"_a, "generation"_a, "next_node_key"_a, "next_innovation"_a, "threads"_a, "simd"_a,
        "Breeds a generation: its arrays, the next node key and the next innovation.");
  m.def(("first_generation" + suffix).c_str(), &first<T>, "num_genomes"_a, "num_inputs"_a,
        "num_nodes"_a, "source"_a, "target"_a, "num_wanted"_a, "one_input"_a, "rules"_a, "seed"_a,
        "generation"_a, "threads"_a, "simd"_a, "Makes the arrays of the first generation.");
  m.def(("speciate" + suffix).c_str(), &put_into_species<T>, "population"_a, "parents"_a,
        "representatives"_a, "threshold"_a, "rules"_a, "threads"_a, "simd"_a,
        "The genomes by species, where each species begins, and who stands for it or -1.");
  m.def(("distances" + suffix).c_str(), &distances<T>, "population"_a, "a"_a, "b"_a, "rules"_a,
        "simd"_a, "The distance between genomes a[i] and b[i], for all i.");
}

}  // namespace

void bind_evolution(nb::module_& m) {
  bind<float>(m, "32");
  bind<double>(m, "64");
}

}  // namespace evonet
