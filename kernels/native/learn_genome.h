// learn_genome.h: one genome learns: a gradient and an update for every step, in one worker's
// cache.
#pragma once

#include "learning/optimizers.h"
#include "native/backward.h"

EVONET_NAMESPACE_BEGIN

template <class T>
constexpr int kWideRow = kLaneVectors<T> < 8 ? 8 : kLaneVectors<T>;  // vectors

// Wide blocks read the index of a link less often. Through time all terms of 32 samples are added
// before those of the next 32, so that no wider block would have the same bits.
template <class T>
int gradient_width(int64_t num_samples, int64_t max_slots, bool has_memory) {
  constexpr int kWide = kWideRow<T> * kVectorLanes<T>;
  constexpr int64_t kCacheBytes = 512 * 1024;
  const bool fits = 2 * max_slots * kWide * int64_t{sizeof(T)} <= kCacheBytes;
  return num_samples > kGradientLanes && !has_memory && fits ? kWide : kGradientLanes;
}

template <class T>
bool genome_gradient(const GradientCall<T>& call, int64_t genome, const T* x, const T* targets,
                     GradientMemory<T>& memory, Interrupt& interrupt) {
  if constexpr (kWideRow<T> != kLaneVectors<T>) {
    if (call.width > kGradientLanes) {
      return GenomeGradient<T, kWideRow<T>>(call, genome, memory, interrupt).run(x, targets);
    }
  }
  return GenomeGradient<T, kLaneVectors<T>>(call, genome, memory, interrupt).run(x, targets);
}

// Turns sums over a batch into means; adds their squares to lanes.
template <class T>
EVONET_FN void take_means(const GeneGroup<T>& group, T inverse, T* lanes) {
  using V = FullVector<T>;
  constexpr int kCount = kVectorLanes<T>;
  const V factor = broadcast<V>(inverse);
  int64_t i = 0;
  for (; i + kCount <= group.count; i += kCount) {
    const V mean = load<V>(group.gradient + i) * factor;
    T* const lane = lanes + i % kGradientLanes;
    store(group.gradient + i, mean);
    store(lane, multiply_add(mean, mean, load<V>(lane)));
  }
  for (; i < group.count; ++i) {
    const T mean = group.gradient[i] * inverse;
    T& lane = lanes[i % kGradientLanes];
    group.gradient[i] = mean;
    lane = multiply_add(mean, mean, lane);
  }
}

template <int kOptimizer, class T>
__attribute__((noinline)) void step_genes(const StepRule<T>& rule, const GeneGroup<T>& group,
                                          T scale) {
  using V = FullVector<T>;
  constexpr int kCount = kVectorLanes<T>;
  int64_t i = 0;
  for (; i + kCount <= group.count; i += kCount) {
    V gene = load<V>(group.gene + i), first = load<V>(group.first + i),
      second = load<V>(group.second + i);
    take_step<kOptimizer>(rule, load<V>(group.gradient + i) * scale, gene, first, second);
    store(group.gene + i, gene);
    store(group.first + i, first);
    store(group.second + i, second);
  }
  for (; i < group.count; ++i) {
    take_step<kOptimizer>(rule, group.gradient[i] * scale, group.gene[i], group.first[i],
                          group.second[i]);
  }
}

template <class T>
EVONET_FN StepRule<T> step_rule(const LearningRule& rule, const double* corrections, bool decays) {
  const double decay = decays ? rule.decay : 0.0;
  return {T(-rule.rate),   T(-(rule.rate * decay)), T(decay),         T(rule.momentum),
          T(rule.beta1),   T(1 - rule.beta1),       T(rule.beta2),    T(1 - rule.beta2),
          T(rule.epsilon), T(corrections[0]),       T(corrections[1])};
}

// The sums of a batch's gradients become a step; false if they are not finite.
template <class T>
bool update_genes(const LearningRule& how, const double* corrections, int64_t num_samples,
                  const GeneGroup<T>* groups, int num_groups) {
  const T inverse = T(1) / T(num_samples);
  T lanes[kGradientLanes * kVectorLanes<T>] = {}, squared_norm[kVectorLanes<T>];
  for (int i = 0; i < num_groups; ++i) take_means(groups[i], inverse, lanes);
  join_lanes(lanes, 1, squared_norm);
  if (!(squared_norm[0] - squared_norm[0] == T(0))) return false;
  const T scale = clip_scale(squared_norm[0], T(how.clip));
  for (int i = 0; i < num_groups; ++i) {
    const StepRule<T> rule = step_rule<T>(how, corrections, groups[i].decays);
    switch (how.optimizer) {
      case OPTIMIZER_SGD:
        step_genes<OPTIMIZER_SGD>(rule, groups[i], scale);
        break;
      case OPTIMIZER_ADAM:
        step_genes<OPTIMIZER_ADAM>(rule, groups[i], scale);
        break;
      default:
        step_genes<OPTIMIZER_ADAMW>(rule, groups[i], scale);
    }
  }
  return true;
}

// False if it was interrupted.
template <class T>
bool learn_genome(const LearnCall<T>& call, int64_t genome, GradientMemory<T>& memory,
                  Interrupt& interrupt) {
  const GradientCall<T>& gradient = call.gradient;
  const ScheduleView<T>& s = gradient.schedule;
  const int64_t node = s.node_start[genome], nodes = s.num_nodes(genome), edge = s.edge_start[node],
                edges = s.edge_start[node + nodes] - edge;
  const int64_t padded =
      (gradient.num_samples + gradient.width - 1) / gradient.width * gradient.width;
  const int64_t x_size = padded * gradient.num_steps * s.num_inputs;
  const int64_t targets_size = padded * gradient.num_target_steps * s.num_outputs;
  GeneGroup<T> groups[3];
  int count = 0;
  const auto add = [&](bool learns, int sort, T* genes, int64_t at, int64_t first, int64_t size) {
    if (!learns) return;
    groups[count++] = {
        genes + at, call.first[sort] + at, call.second[sort] + at, memory.totals + first, size,
        sort == 0};
  };
  add(gradient.weights, 0, call.weight, edge, 0, edges);
  add(gradient.biases, 1, call.bias, node, edges, nodes);
  add(gradient.responses, 2, call.response, node, edges + nodes, nodes);
  for (int64_t step = 0; step < call.num_steps && call.active[genome]; ++step) {
    if (!genome_gradient(gradient, genome, call.x + step * x_size,
                         call.targets + step * targets_size, memory, interrupt)) {
      return false;
    }
    call.losses[step * s.num_genomes + genome] =
        memory.losses[0] * (T(1) / T(gradient.num_samples));
    if (update_genes(call.rule, call.corrections + 2 * step, gradient.num_samples, groups, count)) {
      ++call.steps[genome];
    } else {
      call.active[genome] = false;
    }
  }
  return true;
}

EVONET_NAMESPACE_END
