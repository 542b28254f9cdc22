// harness.cpp: the native kernels without Python. Reads recorded inputs, runs each case at every
// SIMD level of this processor, and writes all results:
//
//     harness INPUTS RESULTS
//
// A case "forward/f32/..." runs forward() below for float; one more operation is one more function
// and one more row of kOperations. tests/campaigns/machines.py compiles and runs this.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "case_file.h"
#include "native/breed.h"
#include "native/compile_schedule.h"
#include "native/gradient_worker.h"
#include "native/isa/usable_isas.h"
#include "native/lane_groups.h"
#include "native/link_readers.h"
#include "native/sample_blocks.h"
#include "native/speciate.h"
#include "native/worker_memory.h"

namespace evonet {

// No case has custom functions.
template <class T>
const Program<T>* custom_activation(int) {
  return nullptr;
}
template <class T>
const Program<T>* custom_aggregation(int) {
  return nullptr;
}
template <class T>
const Program<T>* custom_activation_slope(int) {
  return nullptr;
}
template <class T>
const Program<T>* custom_aggregation_slope(int) {
  return nullptr;
}
template const Program<float>* custom_activation_slope<float>(int);
template const Program<double>* custom_activation_slope<double>(int);
template const Program<float>* custom_aggregation_slope<float>(int);
template const Program<double>* custom_aggregation_slope<double>(int);
template const Program<float>* custom_activation<float>(int);
template const Program<double>* custom_activation<double>(int);
template const Program<float>* custom_aggregation<float>(int);
template const Program<double>* custom_aggregation<double>(int);

namespace {

// Several threads on any machine: the bits must not depend on them.
constexpr int kThreads = 3;

bool never() { return false; }

// Writes the results of one case at one SIMD level.
struct Sink {
  ResultFile& file;
  std::string name;

  template <class E>
  void operator()(const char* array, const E* data, int64_t count) const {
    file.write(name, array, data, count);
  }
  template <class E>
  void operator()(const char* array, const Buffer<E>& buffer) const {
    file.write(name, array, buffer.data.get(), buffer.size);
  }
};

template <class T>
ScheduleView<T> read_schedule(const Case& c) {
  return {c.integer("num_genomes"),
          c.integer("num_inputs"),
          c.integer("num_outputs"),
          c.data<int64_t>("node_start"),
          c.data<T>("bias"),
          c.data<T>("response"),
          c.data<uint8_t>("activation"),
          c.data<uint8_t>("aggregation"),
          c.data<int32_t>("slot"),
          c.data<int64_t>("num_slots"),
          c.data<int64_t>("edge_start"),
          c.data<int32_t>("source"),
          c.data<T>("weight"),
          c.data<int64_t>("level_start"),
          c.data<int32_t>("level_end"),
          c.data<int32_t>("output_slot"),
          static_cast<int>(c.integer("kind_id")),
          static_cast<int>(c.integer("num_states")),
          static_cast<int>(c.integer("num_parameters")),
          c.integer("steps"),
          static_cast<T>(c.real("time_step")),
          c.data<T>("cell")};
}

template <class T>
GenomesView<T> read_genomes(const Case& c, const std::string& prefix) {
  const ConstGenes<T> genes{
#define EVONET_NODE_GENE(type, name, meaning) \
  c.data<typename GeneTypes<T>::type##_gene>(prefix + #name),
#define EVONET_CONNECTION_GENE(type, name, meaning) EVONET_NODE_GENE(type, name, meaning)
#include "genetics/population.def"
  };
  return {c.count<int64_t>(prefix + "node_start") - 1, static_cast<int>(c.integer("num_inputs")),
          static_cast<int>(c.integer("num_outputs")),  genes,
          c.data<int64_t>(prefix + "node_start"),      c.data<int64_t>(prefix + "conn_start")};
}

template <class T>
FloatRule<T> read_float_rule(const Case& c, const std::string& at) {
  return {static_cast<T>(c.real(at + "init_mean")),
          static_cast<T>(c.real(at + "init_stdev")),
          static_cast<T>(c.real(at + "mutate_power")),
          static_cast<T>(c.real(at + "max_value")),
          static_cast<T>(c.real(at + "min_value")),
          static_cast<float>(c.real(at + "mutate_rate")),
          static_cast<float>(c.real(at + "replace_rate")),
          c.integer(at + "init_uniform") != 0};
}

ChoiceRule read_choice_rule(const Case& c, const std::string& at) {
  ChoiceRule rule{};
  rule.mutate_rate = static_cast<float>(c.real(at + "mutate_rate"));
  rule.first = static_cast<int>(c.integer(at + "first"));
  rule.count = static_cast<int>(c.count<int64_t>(at + "options"));
  for (int i = 0; i < rule.count; ++i) {
    rule.options[i] = static_cast<uint8_t>(c.data<int64_t>(at + "options")[i]);
  }
  return rule;
}

template <class T>
GenomeRules<T> read_rules(const Case& c) {
  const auto rate = [&](const char* name) { return static_cast<float>(c.real(name)); };
  return {read_float_rule<T>(c, "bias."),
          read_float_rule<T>(c, "response."),
          read_float_rule<T>(c, "time_constant."),
          read_float_rule<T>(c, "weight."),
          read_choice_rule(c, "activation."),
          read_choice_rule(c, "aggregation."),
          {rate("enabled.mutate_rate"), rate("enabled.to_true_add"), rate("enabled.to_false_add"),
           static_cast<int>(c.integer("enabled.first"))},
          rate("conn_add"),
          rate("conn_delete"),
          rate("node_add"),
          rate("node_delete"),
          c.integer("single_structural_mutation") != 0,
          c.integer("structural_mutation_surer") != 0,
          c.integer("feed_forward") != 0};
}

template <class T>
void compile(const Case& c, const Isa&, const Sink& sink) {
  const GenomesView<T> g = read_genomes<T>(c, "");
  CompiledSchedule<T> out;
  compile_schedule<T>(
      {g.num_genomes, g.num_inputs, g.num_outputs, g.node_start, c.data<int64_t>("node_key"),
       g.genes.bias, g.genes.response, g.genes.activation, g.genes.aggregation, g.conn_start,
       c.data<int64_t>("source"), c.data<int64_t>("target"), g.genes.weight, g.genes.enabled,
       c.data<int32_t>("rank")},
      {static_cast<Wiring>(c.integer("wiring")), static_cast<int>(c.integer("num_states")),
       c.integer("reuse_slots") != 0},
      kThreads, never, out);
  sink("node_start", out.node_start);
  sink("node_key", out.node_key);
  sink("bias", out.bias);
  sink("response", out.response);
  sink("activation", out.activation);
  sink("aggregation", out.aggregation);
  sink("slot", out.slot);
  sink("num_slots", out.num_slots);
  sink("edge_start", out.edge_start);
  sink("source", out.source);
  sink("weight", out.weight);
  sink("level_start", out.level_start);
  sink("level_end", out.level_end);
  sink("output_slot", out.output_slot);
}

// Evaluates all blocks of samples, each on any thread.
template <class T>
void evaluate(const ForwardKernels<T>& kernels, const ForwardCall<T>& call) {
  const ScheduleView<T>& s = call.schedule;
  int64_t slots = s.num_inputs, links = 0;
  for (int64_t g = 0; g < s.num_genomes; ++g) slots = std::max(slots, s.num_slots[g]);
  for (int64_t k = 0; k < s.node_start[s.num_genomes]; ++k) {
    links = std::max(links, s.edge_start[k + 1] - s.edge_start[k]);
  }
  const SampleBlocks blocks(call.num_samples, slots, sizeof(T), kernels.vector_width,
                            kernels.max_width);
  std::vector<WorkerMemory<T>> memories;
  std::vector<Workspace<T>> workspaces;
  for (int i = 0; i < kThreads; ++i) {
    memories.emplace_back(slots * blocks.max_width(), links);
    workspaces.push_back(memories.back().workspace());
  }
  parallel_for(
      kThreads, blocks.count(),
      [&](int worker, int64_t block, Interrupt& interrupt) {
        kernels.forward(call, 0, s.num_genomes, blocks[block], workspaces[worker], interrupt);
      },
      never);
}

template <class T>
Buffer<T> outputs(const Case& c, const Isa& isa, Buffer<T>& next_state) {
  const ScheduleView<T> s = read_schedule<T>(c);
  const int64_t samples = c.integer("num_samples");
  Buffer<T> y(s.num_genomes * samples * s.num_outputs);
  next_state = Buffer<T>(s.num_states * s.node_start[s.num_genomes] * samples);
  evaluate<T>(isa.kernels(T()).forward,
              {s, c.data<T>("x"), c.integer("shared") != 0, samples, y.data.get(),
               c.has("state") ? c.data<T>("state") : nullptr, next_state.data.get()});
  return y;
}

template <class T>
void forward(const Case& c, const Isa& isa, const Sink& sink) {
  Buffer<T> next_state;
  sink("y", outputs<T>(c, isa, next_state));
  sink("next_state", next_state);
}

// Networks side by side, on one sample.
template <class T>
void single(const Case& c, const Isa& isa, const Sink& sink) {
  const ScheduleView<T> s = read_schedule<T>(c);
  const ForwardKernels<T>& kernels = isa.kernels(T()).forward;
  const auto made = LaneGroups<T>::make(s, kernels.group_lanes, kThreads);
  if (made == nullptr) {
    std::fprintf(stderr, "%s does not fit groups\n", c.name.c_str());
    std::exit(2);
  }
  const LaneGroups<T>& groups = *made;
  AlignedArray<T> values(groups.max_rows() * kernels.group_lanes);
  for (const bool gathers : {false, true}) {
    Buffer<T> y(s.num_genomes * s.num_outputs);
    for (int64_t i = 0; i < groups.count(); ++i) {
      kernels.run_group[gathers](groups[i], c.data<T>("x"), true, values.data(), y.data.get());
    }
    sink(gathers ? "y_gathered" : "y", y);
  }
}

template <class T>
void loss(const Case& c, const Isa& isa, const Sink& sink) {
  Buffer<T> next_state;
  const Buffer<T> y = outputs<T>(c, isa, next_state);
  const int64_t genomes = c.integer("num_genomes"), num_outputs = c.integer("num_outputs");
  const int64_t samples = c.integer("num_samples");
  Buffer<T> out(2 * genomes);
  for (int64_t g = 0; g < genomes; ++g) {
    isa.kernels(T()).forward.loss(static_cast<int>(c.integer("loss")),
                                  y.data.get() + g * samples * num_outputs, c.data<T>("targets"),
                                  samples, num_outputs, out.data.get() + 2 * g);
  }
  sink("losses", out);
}

template <class T>
void rollout(const Case& c, const Isa& isa, const Sink& sink) {
  const IsaKernels<T>& kernels = isa.kernels(T());
  const int64_t episodes = c.integer("episodes"), genomes = c.count<int64_t>("genomes");
  Buffer<T> total(genomes * episodes);
  Buffer<int32_t> steps(genomes * episodes);
  const RolloutCall<T> call{read_schedule<T>(c),
                            &kernels.control.controls[c.integer("control")],
                            static_cast<uint64_t>(c.integer("seed")),
                            static_cast<uint32_t>(c.integer("first_episode")),
                            static_cast<int32_t>(c.integer("max_steps")),
                            std::min(kernels.forward.max_width, kMostLanes),
                            total.data.get(),
                            steps.data.get()};
  rollout(kernels.rollout, call, c.data<int64_t>("genomes"), genomes, episodes, kThreads, never);
  sink("total", total);
  sink("steps", steps);
}

template <class T>
void breed(const Case& c, const Isa& isa, const Sink& sink) {
  const BreedPlan<T> plan{
      read_genomes<T>(c, ""),
      c.count<int64_t>("fitter"),
      c.data<int64_t>("fitter"),
      c.data<int64_t>("other"),
      c.data<int32_t>("rank"),
      read_rules<T>(c),
      {static_cast<uint64_t>(c.integer("seed")), static_cast<uint32_t>(c.integer("generation"))}};
  Numbers numbers{c.integer("next_node_key"), c.integer("next_innovation")};
  Offspring<T> out;
  breed_generation(plan, isa.kernels(T()).evolution, kThreads, never, numbers, out);
  sink("node_start", out.node_start);
  sink("conn_start", out.conn_start);
  out.genes.each_node_gene(sink);
  out.genes.each_connection_gene(sink);
  sink("rank", out.rank);
  const int64_t next[2] = {numbers.node_key, numbers.innovation};
  sink("next", next, 2);
}

template <class T>
void speciate(const Case& c, const Isa& isa, const Sink& sink) {
  const auto real = [&](const char* name) { return static_cast<T>(c.real(name)); };
  const DistanceRules<T> rules{real("distance.disjoint"), real("distance.excess"),
                               real("distance.weight"), real("distance.enable_penalty"),
                               c.integer("distance.include_nodes") != 0};
  const GenomesView<T> population = read_genomes<T>(c, ""), parents = read_genomes<T>(c, "old.");
  std::vector<Genome<T>> old;
  for (int64_t i = 0; i < c.count<int64_t>("representatives"); ++i) {
    old.push_back(parents[c.data<int64_t>("representatives")[i]]);
  }
  Speciation found;
  speciate(population, old, real("threshold"), rules, isa.kernels(T()).evolution, kThreads, never,
           found);
  const auto num_species = static_cast<int64_t>(found.representative.size());
  Buffer<int64_t> members(population.num_genomes), starts(num_species + 1);
  group_members(found.species.data(), population.num_genomes, num_species, members.data.get(),
                starts.data.get());
  sink("members", members);
  sink("starts", starts);
  sink("representative", found.representative.data(), num_species);
}

// All genomes learn from the samples of every step, [S, T, B, I].
template <class T>
void learn(const Case& c, const Isa& isa, const Sink& sink) {
  const GradientKernels<T>& kernels = isa.kernels(T()).gradient;
  ScheduleView<T> s = read_schedule<T>(c);
  const ReaderLists readers(s);
  const int64_t nodes = s.node_start[s.num_genomes], edges = s.edge_start[nodes];
  int64_t slots = s.num_inputs, most_nodes = 0, rows = 0, genes = 0, links = 0;
  for (int64_t g = 0; g < s.num_genomes; ++g) {
    const int64_t first = s.node_start[g], count = s.num_nodes(g);
    slots = std::max(slots, s.num_slots[g]);
    most_nodes = std::max(most_nodes, count);
    rows = std::max(rows, readers.view().num_rows[g]);
    genes = std::max(genes, s.edge_start[first + count] - s.edge_start[first] + 3 * count);
  }
  for (int64_t k = 0; k < nodes; ++k) {
    links = std::max(links, s.edge_start[k + 1] - s.edge_start[k]);
  }
  std::vector<std::vector<T>> arrays;  // genes, momentum and squares: of weights, biases, responses
  const T* const starts[] = {s.weight, s.bias, s.response};
  for (int i = 0; i < 9; ++i) {
    const int64_t count = i % 3 == 0 ? edges : nodes;
    arrays.emplace_back(count, T(0));
    if (i < 3) std::copy(starts[i], starts[i] + count, arrays[i].data());
  }
  s.weight = arrays[0].data();
  s.bias = arrays[1].data();
  s.response = arrays[2].data();
  LearnCall<T> call{};
  GradientCall<T>& gradient = call.gradient;
  gradient = {s,
              readers.view(),
              static_cast<int>(c.integer("loss")),
              c.integer("num_samples"),
              c.integer("T"),
              c.integer("T"),
              0,
              true,
              true,
              true,
              true,
              false,
              c.integer("waits") != 0};
  gradient.width = kernels.width_for(gradient.num_samples, slots, s.num_states > 0);
  const double* const r = c.data<double>("rule");
  call.rule = {static_cast<int>(c.integer("optimizer")), r[0], r[1], r[2], r[3], r[4], r[5], r[6]};
  call.num_steps = c.integer("num_steps");
  call.corrections = c.data<double>("corrections");
  const int64_t padded_samples = padded(gradient.num_samples, gradient.width);
  const int64_t x_size = gradient.num_steps * s.num_inputs,
                target_size = gradient.num_steps * s.num_outputs;
  std::vector<T> x(call.num_steps * padded_samples * x_size),
      targets(call.num_steps * padded_samples * target_size);
  for (int64_t i = 0; i < call.num_steps; ++i) {
    pack_rows(c.data<T>("x") + i * gradient.num_samples * x_size, gradient.num_steps,
              gradient.num_samples, s.num_inputs, nullptr, gradient.num_samples, gradient.width,
              x.data() + i * padded_samples * x_size);
    pack_rows(c.data<T>("targets") + i * gradient.num_samples * target_size, gradient.num_steps,
              gradient.num_samples, s.num_outputs, nullptr, gradient.num_samples, gradient.width,
              targets.data() + i * padded_samples * target_size);
  }
  call.x = x.data();
  call.targets = targets.data();
  call.weight = arrays[0].data();
  call.bias = arrays[1].data();
  call.response = arrays[2].data();
  for (int i = 0; i < 3; ++i) {
    call.first[i] = arrays[3 + i].data();
    call.second[i] = arrays[6 + i].data();
  }
  const auto active = std::make_unique<bool[]>(s.num_genomes);
  std::fill_n(active.get(), s.num_genomes, true);
  std::vector<int64_t> steps(s.num_genomes, 0);
  std::vector<T> losses(call.num_steps * s.num_genomes, T(0));
  call.active = active.get();
  call.steps = steps.data();
  call.losses = losses.data();
  std::vector<std::unique_ptr<GradientWorker<T>>> workers;
  for (int i = 0; i < kThreads; ++i) {
    workers.push_back(std::make_unique<GradientWorker<T>>(typename GradientWorker<T>::Sizes{
        gradient.num_steps * s.steps, slots, most_nodes, rows, genes, links, s.num_outputs,
        gradient.num_target_steps, s.num_inputs, 0, gradient.width}));
  }
  parallel_for(
      kThreads, s.num_genomes,
      [&](int worker, int64_t g, Interrupt& interrupt) {
        kernels.learn(call, g, workers[worker]->memory(), interrupt);
      },
      never);
  const char* const names[] = {"weight",        "bias",        "response",
                               "first_weight",  "first_bias",  "first_response",
                               "second_weight", "second_bias", "second_response"};
  for (int i = 0; i < 9; ++i) {
    sink(names[i], arrays[i].data(), static_cast<int64_t>(arrays[i].size()));
  }
  sink("steps", steps.data(), s.num_genomes);
  sink("losses", losses.data(), static_cast<int64_t>(losses.size()));
}

using Run = void (*)(const Case& c, const Isa& isa, const Sink& sink);
struct Operation {
  const char* name;
  Run float32, float64;
};
const Operation kOperations[] = {
    {"compile", compile<float>, compile<double>}, {"forward", forward<float>, forward<double>},
    {"single", single<float>, single<double>},    {"loss", loss<float>, loss<double>},
    {"learn", learn<float>, learn<double>},       {"rollout", rollout<float>, rollout<double>},
    {"breed", breed<float>, breed<double>},       {"speciate", speciate<float>, speciate<double>}};

int run(const char* inputs, const char* results) {
  const std::vector<Case> cases = read_cases(inputs);
  ResultFile file(results);
  for (const Isa* isa : usable_isas()) {
    for (const Case& c : cases) {
      bool known = false;
      for (const Operation& operation : kOperations) {
        const std::string start = std::string(operation.name) + "/f";
        if (c.name.compare(0, start.size(), start) != 0) continue;
        const bool single = c.name.compare(start.size(), 2, "32") == 0;
        (single ? operation.float32 : operation.float64)(c, *isa, {file, c.name + "@" + isa->name});
        known = true;
      }
      if (!known) {
        std::fprintf(stderr, "%s: no such operation\n", c.name.c_str());
        return 2;
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace evonet

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "harness INPUTS RESULTS\n");
    return 2;
  }
  return evonet::run(argv[1], argv[2]);
}
