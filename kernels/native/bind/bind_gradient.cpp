// bind_gradient.cpp: losses, their derivatives and learning, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "learning/optimizers.h"
#include "native/bind/bindings.h"
#include "native/bind/read_population.h"
#include "native/bind/read_schedule.h"
#include "native/gene_map.h"
#include "native/gradient_worker.h"
#include "native/link_readers.h"
#include "nodes/function_ids.h"

using namespace nb::literals;

namespace evonet {
namespace {

// A schedule bound to a SIMD level, ready to be differentiated.
template <class T>
class Gradient {
 public:
  using Samples = Array<const T, -1>;
  using Targets = Array<const T, 3>;
  using Genes = In<T>;

  Gradient(nb::object schedule, int threads, const std::string& simd, bool waits)
      : owner_(read_schedule<T>(schedule)),
        schedule_(owner_.view()),
        threads_(usable_threads(threads)),
        kernels_(find_isa(simd).kernels(T()).gradient),
        readers_(schedule_),
        waits_(waits) {
    if (schedule_.kind != KIND_FEEDFORWARD && schedule_.kind != KIND_RECURRENT &&
        schedule_.kind != KIND_CTRNN) {
      throw nb::value_error("networks of this kind have no gradients");
    }
    if (readers_.shares_slots()) {
      refuse("schedule.slot", "gives several nodes one slot; gradients need all values");
    }
    for (int64_t k = 0; k < schedule_.node_start[schedule_.num_genomes]; ++k) {
      const int activation = schedule_.activation[k], aggregation = schedule_.aggregation[k];
      if ((activation >= NUM_ACTIVATIONS && custom_activation_slope<T>(activation) == nullptr) ||
          (aggregation >= NUM_AGGREGATIONS &&
           custom_aggregation_slope<T>(aggregation) == nullptr)) {
        refuse("schedule", "has custom functions without derivatives");
      }
    }
    for (int64_t g = 0; g < schedule_.num_genomes; ++g) {
      const int64_t nodes = schedule_.num_nodes(g), first = schedule_.node_start[g];
      const int64_t edges = schedule_.edge_start[first + nodes] - schedule_.edge_start[first];
      max_nodes_ = std::max(max_nodes_, nodes);
      max_genes_ = std::max(max_genes_, edges + 3 * nodes);
      max_rows_ = std::max(max_rows_, readers_.view().num_rows[g]);
    }
  }

  // Writes losses [P, 2] and, unless backward is false, derivatives in the layout of the schedule;
  // kept [N] only for CTRNNs, and x_gradient [P, T, B, I] only if it has so many dimensions.
  void gradient(Samples x, Targets targets, int loss, bool backward, Genes weight, Genes bias,
                Genes response, Array<T, 2> losses, Out<T> d_weight, Out<T> d_bias,
                Out<T> d_response, Out<T> d_kept, Array<T, -1> d_x) const {
    const ScheduleView<T>& s = schedule_;
    const bool shared = x.ndim() == 3, inputs = backward && d_x.ndim() == 4;
    GradientCall<T> call = read_call(x, targets, loss, weight, bias, response);
    call.backward = backward;
    call.inputs = inputs;
    call.weights = call.biases = call.responses = true;
    const int64_t nodes = s.node_start[s.num_genomes], edges = s.edge_start[nodes];
    check_shape("losses", losses, {s.num_genomes, 2});
    check_shape("d_weight", d_weight, {edges});
    check_shape("d_bias", d_bias, {nodes});
    check_shape("d_response", d_response, {nodes});
    const bool keeps = s.kind == KIND_CTRNN;
    check_shape("d_kept", d_kept, {keeps ? nodes : 0});
    if (inputs) {
      check_shape("d_x", d_x, {s.num_genomes, call.num_steps, call.num_samples, s.num_inputs});
    }
    const int64_t rows = padded(call.num_samples, call.width);
    const int64_t x_size = call.num_steps * call.num_samples * s.num_inputs;
    const int64_t x_rows = rows * call.num_steps * s.num_inputs;
    const AlignedArray<T> packed_x(shared ? x_rows : 1),
        packed_targets(rows * call.num_target_steps * s.num_outputs);
    run_interruptibly([&] {
      if (shared) pack_x(call, x.data(), nullptr, call.num_samples, packed_x.data());
      pack_targets(call, targets.data(), nullptr, call.num_samples, packed_targets.data());
      return for_genomes(
          call, shared ? 0 : x_rows, 1,
          [&](GradientWorker<T>& worker, int64_t g, Interrupt& interrupt) {
            GradientMemory<T>& memory = worker.memory();
            const T* samples = packed_x.data();
            if (!shared) {
              pack_x(call, x.data() + g * x_size, nullptr, call.num_samples, worker.own_samples());
              samples = worker.own_samples();
            }
            memory.x_gradient = inputs ? d_x.data() + g * x_size : nullptr;
            if (!kernels_.gradient(call, g, samples, packed_targets.data(), memory, interrupt))
              return;
            losses.data()[2 * g] = memory.losses[0];
            losses.data()[2 * g + 1] = memory.losses[1];
            if (!backward) return;
            const int64_t first = s.node_start[g], count = s.num_nodes(g),
                          edge = s.edge_start[first];
            const T* from = memory.totals;
            from = copy_to(from, s.edge_start[first + count] - edge, d_weight.data() + edge);
            from = copy_to(from, count, d_bias.data() + first);
            from = copy_to(from, count, d_response.data() + first);
            if (keeps) copy_to(from, count, d_kept.data() + first);
          });
    });
  }

  // Takes the steps of `order` [S, b]; genes and the optimiser's numbers change in place. losses is
  // [S, P].
  void learn(Targets x, Targets targets, Array<const int64_t, 2> order, int loss, int optimizer,
             In<double> rule, Array<const double, 2> corrections, bool weights, bool biases,
             bool responses, Out<T> weight, Out<T> bias, Out<T> response, Out<T> first_weight,
             Out<T> first_bias, Out<T> first_response, Out<T> second_weight, Out<T> second_bias,
             Out<T> second_response, Out<bool> active, Out<int64_t> steps,
             Array<T, 2> losses) const {
    const ScheduleView<T>& s = schedule_;
    const auto num_steps = static_cast<int64_t>(order.shape(0)),
               batch = static_cast<int64_t>(order.shape(1)),
               total = static_cast<int64_t>(x.shape(1));
    LearnCall<T> call;
    call.gradient = read_call(x, targets, loss, weight, bias, response);
    GradientCall<T>& gradient = call.gradient;
    gradient.num_samples = batch;
    gradient.width = kernels_.width_for(batch, owner_.extent().max_slots, s.num_states > 0);
    gradient.backward = true;
    gradient.inputs = false;
    gradient.weights = weights;
    gradient.biases = biases;
    gradient.responses = responses;
    const int64_t nodes = s.node_start[s.num_genomes], edges = s.edge_start[nodes];
    check_number("batch", batch, 1, kMostInt32);
    check_positions("order", order, 0, total);
    check_number("optimizer", optimizer, 0, NUM_OPTIMIZERS - 1);
    check_shape("rule", rule, {7});
    check_shape("corrections", corrections, {num_steps, 2});
    check_shape("active", active, {s.num_genomes});
    check_shape("steps", steps, {s.num_genomes});
    check_shape("losses", losses, {num_steps, s.num_genomes});
    Out<T>* const moments[] = {&first_weight,  &first_bias,  &first_response,
                               &second_weight, &second_bias, &second_response};
    for (int i = 0; i < 6; ++i) check_shape("moments", *moments[i], {i % 3 == 0 ? edges : nodes});
    const double* const r = rule.data();
    call.rule = {optimizer, r[0], r[1], r[2], r[3], r[4], r[5], r[6]};
    call.weight = weight.data();
    call.bias = bias.data();
    call.response = response.data();
    for (int i = 0; i < 3; ++i) {
      call.first[i] = moments[i]->data();
      call.second[i] = moments[3 + i]->data();
    }
    call.active = active.data();
    call.steps = steps.data();
    const int64_t rows = padded(batch, gradient.width);
    const int64_t x_rows = rows * gradient.num_steps * s.num_inputs;
    const int64_t target_rows = rows * gradient.num_target_steps * s.num_outputs;
    const int64_t at_once = std::clamp<int64_t>(kPackedNumbers / (x_rows + target_rows + 1), 1,
                                                std::max<int64_t>(1, num_steps));
    const AlignedArray<T> packed_x(at_once * x_rows), packed_targets(at_once * target_rows);
    call.x = packed_x.data();
    call.targets = packed_targets.data();
    run_interruptibly([&] {
      for (int64_t begin = 0; begin < num_steps; begin += at_once) {
        call.num_steps = std::min(at_once, num_steps - begin);
        call.corrections = corrections.data() + 2 * begin;
        call.losses = losses.data() + begin * s.num_genomes;
        for (int64_t i = 0; i < call.num_steps; ++i) {
          const int64_t* const samples = order.data() + (begin + i) * batch;
          pack_x(gradient, x.data(), samples, total, packed_x.data() + i * x_rows);
          pack_targets(gradient, targets.data(), samples, total,
                       packed_targets.data() + i * target_rows);
        }
        const bool done = for_genomes(gradient, 0, call.num_steps,
                                      [&](GradientWorker<T>& worker, int64_t g, Interrupt& stop) {
                                        kernels_.learn(call, g, worker.memory(), stop);
                                      });
        if (!done) return false;
      }
      return true;
    });
  }

 private:
  // Below this many link-samples waking a thread costs more than it saves.
  static constexpr int64_t kSerialWork = 1 << 15;
  static constexpr int64_t kPackedNumbers = 1 << 22;

  template <class X, class G>
  GradientCall<T> read_call(const X& x, const Targets& targets, int loss, const G& weight,
                            const G& bias, const G& response) const {
    const ScheduleView<T>& s = schedule_;
    if (x.ndim() == 4) {
      check_shape("x", x, {s.num_genomes, kAnySize, kAnySize, s.num_inputs});
    } else {
      check_shape("x", x, {kAnySize, kAnySize, s.num_inputs});
    }
    GradientCall<T> call{};
    call.num_steps = static_cast<int64_t>(x.shape(x.ndim() - 3));
    call.num_samples = static_cast<int64_t>(x.shape(x.ndim() - 2));
    call.num_target_steps = static_cast<int64_t>(targets.shape(0));
    check_number("steps of x", call.num_steps, 1, s.num_states > 0 ? kMostInt32 : 1);
    check_number("steps of targets", call.num_target_steps, 1, call.num_steps);
    check_shape("targets", targets, {kAnySize, call.num_samples, s.num_outputs});
    check_number("loss", loss, 0, NUM_LOSSES - 1);
    const int64_t nodes = s.node_start[s.num_genomes];
    check_shape("weight", weight, {s.edge_start[nodes]});
    check_shape("bias", bias, {nodes});
    check_shape("response", response, {nodes});
    call.schedule = s;
    call.schedule.weight = weight.data();
    call.schedule.bias = bias.data();
    call.schedule.response = response.data();
    call.readers = readers_.view();
    call.loss = loss;
    call.width = kernels_.width_for(call.num_samples, owner_.extent().max_slots, s.num_states > 0);
    call.waits = waits_;
    return call;
  }

  static void pack_x(const GradientCall<T>& call, const T* x, const int64_t* order, int64_t total,
                     T* to) {
    pack_rows(x, call.num_steps, total, call.schedule.num_inputs, order, call.num_samples,
              call.width, to);
  }

  static void pack_targets(const GradientCall<T>& call, const T* targets, const int64_t* order,
                           int64_t total, T* to) {
    pack_rows(targets, call.num_target_steps, total, call.schedule.num_outputs, order,
              call.num_samples, call.width, to);
  }

  static const T* copy_to(const T* from, int64_t count, T* to) {
    std::copy(from, from + count, to);
    return from + count;
  }

  // Calls work(worker, genome, interrupt) for all genomes, on as many threads as are of use; false
  // if it was interrupted.
  template <class Work>
  bool for_genomes(const GradientCall<T>& call, int64_t own_samples, int64_t turns,
                   Work work) const {
    const ScheduleView<T>& s = schedule_;
    const int64_t nodes = s.node_start[s.num_genomes];
    const double cost = (static_cast<double>(s.edge_start[nodes]) + 8.0 * nodes) * turns *
                        static_cast<double>(call.num_steps * s.steps) *
                        static_cast<double>(padded(call.num_samples, call.width));
    const int64_t threads =
        cost < double{kSerialWork} ? 1 : std::clamp<int64_t>(threads_, 1, s.num_genomes);
    std::vector<std::unique_ptr<GradientWorker<T>>> workers;
    for (int64_t i = 0; i < threads; ++i) {
      workers.push_back(std::make_unique<GradientWorker<T>>(typename GradientWorker<T>::Sizes{
          call.num_steps * s.steps, owner_.extent().max_slots, max_nodes_, max_rows_, max_genes_,
          owner_.extent().max_links, s.num_outputs, call.num_target_steps, s.num_inputs,
          own_samples, call.width}));
    }
    return parallel_for(
        static_cast<int>(threads), s.num_genomes,
        [&](int worker, int64_t g, Interrupt& interrupt) { work(*workers[worker], g, interrupt); },
        python_signal);
  }

  const ScheduleRef<T> owner_;
  const ScheduleView<T>& schedule_;
  int threads_;
  const GradientKernels<T>& kernels_;
  const ReaderLists readers_;
  bool waits_;
  int64_t max_nodes_ = 0, max_genes_ = 0, max_rows_ = 0;
};

// Where the nodes and links of a schedule are in its population, to `node` and `link`.
void map_genes_of(int64_t num_inputs, int64_t num_outputs, In<int64_t> node_start,
                  In<int64_t> node_key, In<int64_t> conn_start, In<int64_t> source,
                  In<int64_t> target, In<bool> enabled, In<int32_t> rank, In<int64_t> live_start,
                  In<int64_t> live_key, In<int64_t> edge_start, int threads, Out<int64_t> node,
                  Out<int64_t> link) {
  const auto num_nodes = static_cast<int64_t>(node_key.shape(0)),
             num_conns = static_cast<int64_t>(source.shape(0)),
             live = static_cast<int64_t>(live_key.shape(0)),
             edges = static_cast<int64_t>(link.shape(0));
  check_number("num_inputs", num_inputs, 0, kMostInt32 / 2);
  check_number("num_outputs", num_outputs, 0, kMostInt32);
  check_shape("node_key", node_key, {num_nodes});
  check_shape("source", source, {num_conns});
  check_shape("target", target, {num_conns});
  check_shape("enabled", enabled, {num_conns});
  check_shape("rank", rank, {num_conns});
  check_flags("enabled", enabled);
  const int64_t genomes = check_starts(node_start, conn_start, num_nodes, num_conns, num_outputs);
  check_shape("live_start", live_start, {genomes + 1});
  check_offsets("live_start", live_start, live);
  check_shape("live_key", live_key, {live});
  check_shape("edge_start", edge_start, {live + 1});
  check_offsets("edge_start", edge_start, edges);
  check_shape("node", node, {live});
  check_shape("link", link, {edges});
  PopulationView<float> population{};
  population.num_genomes = genomes;
  population.num_inputs = num_inputs;
  population.num_outputs = num_outputs;
  population.node_start = node_start.data();
  population.node_key = node_key.data();
  population.conn_start = conn_start.data();
  population.source = source.data();
  population.target = target.data();
  population.enabled = enabled.data();
  population.rank = rank.data();
  int64_t mismatch = -1;
  run_interruptibly([&] {
    return map_genes(population, {live_start.data(), live_key.data(), edge_start.data()}, threads,
                     python_signal, node.data(), link.data(), mismatch);
  });
  if (mismatch >= 0) {
    refuse("schedule", "was not built from this population: genome " + std::to_string(mismatch) +
                           " has other nodes or links");
  }
}

template <class T>
void bind_type(nb::module_& m, const char* name) {
  nb::class_<Gradient<T>>(m, name)
      .def(nb::init<nb::object, int, const std::string&, bool>(), "schedule"_a, "threads"_a,
           "simd"_a, "waits"_a)
      .def("gradient", &Gradient<T>::gradient, "x"_a.noconvert(), "targets"_a.noconvert(), "loss"_a,
           "backward"_a, "weight"_a.noconvert(), "bias"_a.noconvert(), "response"_a.noconvert(),
           "losses"_a.noconvert(), "d_weight"_a.noconvert(), "d_bias"_a.noconvert(),
           "d_response"_a.noconvert(), "d_kept"_a.noconvert(), "d_x"_a.noconvert(),
           "Losses of x [T, B, I] or [P, T, B, I] and their derivatives.")
      .def("learn", &Gradient<T>::learn, "x"_a.noconvert(), "targets"_a.noconvert(),
           "order"_a.noconvert(), "loss"_a, "optimizer"_a, "rule"_a.noconvert(),
           "corrections"_a.noconvert(), "weights"_a, "biases"_a, "responses"_a,
           "weight"_a.noconvert(), "bias"_a.noconvert(), "response"_a.noconvert(),
           "first_weight"_a.noconvert(), "first_bias"_a.noconvert(), "first_response"_a.noconvert(),
           "second_weight"_a.noconvert(), "second_bias"_a.noconvert(),
           "second_response"_a.noconvert(), "active"_a.noconvert(), "steps"_a.noconvert(),
           "losses"_a.noconvert(), "Steps of all active genomes, in place.");
}

}  // namespace

void bind_gradient(nb::module_& m) {
  bind_type<float>(m, "Gradient32");
  bind_type<double>(m, "Gradient64");
  m.def("map_genes", &map_genes_of, "num_inputs"_a, "num_outputs"_a, "node_start"_a.noconvert(),
        "node_key"_a.noconvert(), "conn_start"_a.noconvert(), "source"_a.noconvert(),
        "target"_a.noconvert(), "enabled"_a.noconvert(), "rank"_a.noconvert(),
        "live_start"_a.noconvert(), "live_key"_a.noconvert(), "edge_start"_a.noconvert(),
        "threads"_a, "node"_a.noconvert(), "link"_a.noconvert(),
        "Writes where a schedule's nodes and links are among the genes of its population.");
}

}  // namespace evonet
