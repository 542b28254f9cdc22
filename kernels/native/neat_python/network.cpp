#include "native/neat_python/network.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "native/neat_python/libm_real.h"
#include "native/neat_python/python_reading.h"
#include "nodes/aggregations.h"
#include "nodes/dispatch.h"

namespace evonet {

namespace {

// A single sample is known to be one, so that loops over samples vanish.
using One = std::integral_constant<int64_t, 1>;
// Samples of a node that are computed together.
constexpr int64_t kSamplesAtOnce = 64;

}  // namespace

NeatNetwork::NeatNetwork(bool feed_forward, const NeatGenome& genome,
                         const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs,
                         std::shared_ptr<NeatFunctions> functions)
    : num_inputs(static_cast<int32_t>(inputs.size())), functions(std::move(functions)) {
  const NeatKind kind = feed_forward ? NeatKind::kFeedForward : NeatKind::kRecurrent;
  KeyNumbers numbers(inputs.size() + genome.nodes.size());
  NeatGraph graph = make_graph(kind, genome.connections, inputs, outputs, numbers);
  key = numbers.keys();
  std::vector<const NeatNodeGene*> gene_of(key.size() + genome.nodes.size());
  for (const NeatNodeGene& gene : genome.nodes) gene_of[numbers(gene.key)] = &gene;
  nodes.reserve(graph.nodes.size());
  for (const NeatGraph::Node& found : graph.nodes) {
    if (gene_of[found.number] == nullptr) throw MissingNode(key[found.number]);
    const NeatNodeGene& gene = *gene_of[found.number];
    nodes.push_back({found.number, found.link_begin, found.link_end, gene.activation_place,
                     gene.aggregation_place, gene.activation, gene.aggregation, gene.bias,
                     gene.response, gene.time_constant});
  }
  output = std::move(graph.output);
  source = std::move(graph.link_source);
  weight = std::move(graph.link_weight);
}

bool NeatNetwork::needs_python() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const NeatNode& node) {
    return node.activation == kPythonFunction || node.aggregation == kPythonFunction;
  });
}

void NeatNetwork::begin(int64_t num_samples) {
  for (std::vector<double>& buffer : values) buffer.assign(num_slots() * num_samples, 0.0);
  width = num_samples;
  active = 0;
  time = 0.0;
}

void NeatNetwork::run_feed_forward(double* buffer, int64_t num_samples) const {
  for (const NeatNode& node : nodes) {
    evaluate(node, buffer, buffer + node.slot * num_samples, num_samples);
  }
}

void NeatNetwork::run_recurrent() {
  const double* before = values[active].data();
  double* after = values[1 - active].data();
  active = 1 - active;
  for (const NeatNode& node : nodes) evaluate(node, before, after + node.slot * width, width);
}

void NeatNetwork::run_step(double dt, TimeRule rule) {
  const double* before = values[active].data();
  double* after = values[1 - active].data();
  active = 1 - active;
  std::vector<double> settled(width);
  for (const NeatNode& node : nodes) {
    evaluate(node, before, settled.data(), width);
    double* value = after + node.slot * width;
    const double* old = before + node.slot * width;
    if (rule == TimeRule::kExponential) {
      const double decay = std::exp(-dt / node.time_constant);
      for (int64_t s = 0; s < width; ++s) value[s] = decay * old[s] + (1.0 - decay) * settled[s];
    } else {
      // What the buffer held is the value two steps ago: that is neat-python's rule before 2.1.
      for (int64_t s = 0; s < width; ++s) {
        value[s] += dt / node.time_constant * (-value[s] + settled[s]);
      }
    }
  }
}

void NeatNetwork::write_inputs(const double* x, int64_t num_samples, double* buffer) const {
  for (int64_t s = 0; s < num_samples; ++s) {
    for (int32_t i = 0; i < num_inputs; ++i) buffer[i * num_samples + s] = x[s * num_inputs + i];
  }
}

void NeatNetwork::read_outputs(const double* buffer, int64_t num_samples, double* y) const {
  const size_t num_outputs = output.size();
  for (size_t o = 0; o < num_outputs; ++o) {
    const double* row = buffer + output[o] * num_samples;
    for (int64_t s = 0; s < num_samples; ++s) y[s * num_outputs + o] = row[s];
  }
}

void NeatNetwork::evaluate(const NeatNode& node, const double* from, double* to,
                           int64_t num_samples) const {
  if (num_samples == 1) {
    evaluate_rows(node, {from, 1}, to, One());
    return;
  }
  for (int64_t begin = 0; begin < num_samples; begin += kSamplesAtOnce) {
    const int64_t count = std::min(kSamplesAtOnce, num_samples - begin);
    evaluate_rows(node, {from + begin, num_samples}, to + begin, count);
  }
}

template <class Width>
void NeatNetwork::evaluate_rows(const NeatNode& node, Values from, double* to, Width width) const {
  // On the stack, where nothing else points to: sums stay in registers, or are vectorised.
  double row[Width() == 1 ? 1 : kSamplesAtOnce];
  aggregate(node, from, row, width);
  for (int64_t s = 0; s < width; ++s) row[s] = node.bias + node.response * row[s];
  if (node.activation == kPythonFunction) {
    for (int64_t s = 0; s < width; ++s) to[s] = activate_in_python(node, row[s]);
    return;
  }
  const bool is_power = node.activation == ACT_SQUARE || node.activation == ACT_CUBE;
  with_activation(node.activation, [&](auto formula) {
    for (int64_t s = 0; s < width; ++s) to[s] = formula.apply(LibmReal(row[s])).value;
  });
  for (int64_t s = 0; is_power && s < width; ++s) {
    if (std::isinf(to[s]) && std::isfinite(row[s])) throw PowerOverflow();
  }
}

template <class Width>
void NeatNetwork::aggregate(const NeatNode& node, Values from, double* to, Width width) const {
  const int32_t begin = node.link_begin, end = node.link_end;
  if (node.aggregation == kPythonFunction) {
    for (int64_t s = 0; s < width; ++s) to[s] = aggregate_in_python(node, from.sample(s));
    return;
  }
  if (begin == end) {
    for (int64_t s = 0; s < width; ++s) to[s] = agg_empty<double>(node.aggregation);
    return;
  }
  if (compensates_sums() && (node.aggregation == AGG_SUM || node.aggregation == AGG_MEAN)) {
    for (int64_t s = 0; s < width; ++s) {
      const double sum = sum_with_rest(node, from.sample(s));
      to[s] = agg_finish<double>(node.aggregation, sum, end - begin);
    }
    return;
  }
  const auto fold = [&](auto joins) {
    const double* first = from.row(source[begin]);
    for (int64_t s = 0; s < width; ++s) to[s] = joins.first(weight[begin], first[s]);
    for (int32_t i = begin + 1; i < end; ++i) {
      const double* row = from.row(source[i]);
      const double w = weight[i];
      for (int64_t s = 0; s < width; ++s) to[s] = joins.next(to[s], w, row[s]);
    }
    const double count = end - begin;
    for (int64_t s = 0; s < width; ++s) to[s] = agg_finish(node.aggregation, to[s], count);
  };
  switch (node.aggregation) {
#define EVONET_FOLD(ID, name, formula) \
  case AGG_##ID:                       \
    return fold(Fold_##name());
#include "nodes/functions.def"
    case AGG_MEDIAN:
      for (int64_t s = 0; s < width; ++s) to[s] = median(node, from.sample(s));
      return;
    default:
      return fold(Fold_sum());
  }
}

// The sum of Python 3.12 and later, after Neumaier: what each addition loses is added at the end.
double NeatNetwork::sum_with_rest(const NeatNode& node, Values from) const {
  double sum = 0.0, rest = 0.0;
  for (int32_t i = node.link_begin; i < node.link_end; ++i) {
    const double x = *from.row(source[i]) * weight[i], next = sum + x;
    rest += std::fabs(sum) >= std::fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
  }
  return rest != 0.0 && std::isfinite(rest) ? sum + rest : sum;
}

double NeatNetwork::median(const NeatNode& node, Values from) const {
  std::vector<double> products;
  for (int32_t i = node.link_begin; i < node.link_end; ++i) {
    products.push_back(weight[i] * *from.row(source[i]));
    // Where a NaN ends up depends on how Python sorts.
    if (products.back() != products.back()) return aggregate_in_python(node, from);
  }
  return median_inplace(products.data(), static_cast<int>(products.size()));
}

double NeatNetwork::activate_in_python(const NeatNode& node, double z) const {
  return read_real(functions->table[node.activation_place](z));
}

double NeatNetwork::aggregate_in_python(const NeatNode& node, Values from) const {
  nb::gil_scoped_acquire gil;
  nb::list products;
  for (int32_t i = node.link_begin; i < node.link_end; ++i) {
    products.append(*from.row(source[i]) * weight[i]);
  }
  return read_real(functions->table[node.aggregation_place](products));
}

}  // namespace evonet
