// level_walk.h: which nodes of a genome its outputs need, and on which level each can be computed.
// One depth-first walk against the links, from the outputs, gives each node the length of its
// longest path from an input, or finds it behind a cycle.
#pragma once

#include <vector>

#include "native/genome_links.h"

namespace evonet {

class LevelWalk {
 public:
  LevelWalk(int32_t num_inputs, int32_t num_outputs, Wiring wiring)
      : num_inputs_(num_inputs), num_outputs_(num_outputs), wiring_(wiring) {
    level_.assign(num_inputs, 0);
  }

  // Links that act one step later change their source to what a node remembers. False if it was
  // interrupted. A node still open when it is met again closes a cycle; whatever reads a cyclic
  // node is cyclic.
  template <class T>
  bool run(GenomeLinks<T>& genome, Interrupt& interrupt) {
    switch (wiring_) {
      case kLevels:
        return walk<kLevels>(genome, interrupt);
      case kSameStep:
        return walk<kSameStep>(genome, interrupt);
      default:
        return walk<kNextStep>(genome, interrupt);
    }
  }

  bool acyclic() const { return acyclic_; }
  const std::vector<int32_t>& live() const { return live_; }  // nodes that can be evaluated
  int32_t level(int32_t node) const { return level_[num_inputs_ + node]; }  // of a live one
  const int32_t* levels() const { return level_.data(); }  // by number; negative unless live
  bool is_cyclic(int32_t node) const { return level_[num_inputs_ + node] == kCyclic; }

 private:
  static constexpr int32_t kUnseen = -1, kOpen = -2, kCyclic = -3;
  static constexpr int32_t kCyclicLevel = 0x7fffffff;  // deeper than any node can be

  struct Visit {
    int32_t node, level, next_link;
  };

  template <Wiring kWiring, class T>
  bool walk(GenomeLinks<T>& genome, Interrupt& interrupt) {
    const int32_t num_inputs = num_inputs_, num_nodes = genome.num_nodes();
    level_.resize(num_inputs);
    level_.resize(num_inputs + num_nodes, kUnseen);
    int32_t* const level = level_.data();
    GenomeLink* const links = genome.data();
    constexpr bool kAllLater = kWiring == kNextStep;  // or kSpikes
    const auto open = [&](int32_t node) -> Visit {
      level[num_inputs + node] = kOpen;
      return {node, 0, genome.begin(node)};
    };
    Patience patience(interrupt);
    acyclic_ = true;
    live_.clear();
    stack_.clear();
    for (int32_t output = 0; output < num_outputs_; ++output) {
      if (level[num_inputs + output] != kUnseen) continue;
      Visit visit = open(output);
      for (;;) {
        if (patience.ends_after(1)) return false;
        const int32_t end = genome.end(visit.node);
        bool descend = false;
        while (visit.next_link < end) {
          GenomeLink& link = links[visit.next_link++];
          const int32_t source = link.source;
          if (kAllLater && source >= num_inputs) link.source += num_nodes;
          if (level[source] >= 0) {
            visit.level = std::max(visit.level, level[source] + 1);
          } else if (level[source] == kUnseen) {
            stack_.push_back(visit);
            visit = open(source - num_inputs);
            descend = true;
            break;
          } else if (kWiring == kLevels) {
            visit.level = kCyclicLevel;
          } else if (!kAllLater) {
            link.source += num_nodes;
          }
        }
        if (descend) continue;
        if (kAllLater) visit.level = 0;
        if (visit.level >= kCyclicLevel) {
          level[num_inputs + visit.node] = kCyclic;
          acyclic_ = false;
        } else {
          level[num_inputs + visit.node] = visit.level;
          live_.push_back(visit.node);
        }
        if (stack_.empty()) break;
        const int32_t read = visit.level;
        visit = stack_.back();
        stack_.pop_back();
        visit.level = std::max(visit.level, std::min(read, kCyclicLevel - 1) + 1);
      }
    }
    return true;
  }

  const int32_t num_inputs_, num_outputs_;
  const Wiring wiring_;
  bool acyclic_ = true;
  std::vector<int32_t> level_;  // by input or node number
  std::vector<int32_t> live_;
  std::vector<Visit> stack_;
};

}  // namespace evonet
