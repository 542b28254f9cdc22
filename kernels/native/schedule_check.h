// schedule_check.h: finds what is wrong with a schedule. Kernels trust one: they read and write
// where it points. Compiled schedules are always right; those that users made by hand may not be.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "native/program.h"
#include "native/schedule_view.h"
#include "nodes/function_ids.h"

namespace evonet {

// What the kernels' memory must hold.
struct ScheduleExtent {
  int64_t max_slots = 0, max_links = 0;
};

// Reads a schedule once, genome by genome. The lengths of its arrays must be known to fit.
template <class T>
class ScheduleCheck {
 public:
  explicit ScheduleCheck(const ScheduleView<T>& schedule) : s_(schedule) {
    for (int id = 0; id < kNumIds; ++id) {
      has_activation_[id] = id < NUM_ACTIVATIONS || custom_activation<T>(id) != nullptr;
      has_aggregation_[id] = id < NUM_AGGREGATIONS || custom_aggregation<T>(id) != nullptr;
    }
    extent_.max_slots = s_.num_inputs;
  }

  // False if there is a fault.
  bool run() {
    for (int64_t g = 0; g < s_.num_genomes; ++g) {
      if (!(check_nodes(g) && check_links(g) && check_levels(g))) {
        genome_ = g;
        return false;
      }
    }
    return true;
  }

  const ScheduleExtent& extent() const { return extent_; }
  std::string fault() const { return "genome " + std::to_string(genome_) + ": " + fault_; }

 private:
  static constexpr int kNumIds = 256;
  static constexpr int64_t kMostSlots = std::numeric_limits<int32_t>::max();

  bool check_nodes(int64_t g) {
    const int64_t begin = s_.node_start[g], end = s_.node_start[g + 1], count = end - begin;
    const int64_t slots = s_.num_slots[g];
    if (count > kMostSlots || slots > kMostSlots || slots < s_.num_inputs + s_.num_states * count) {
      return found("num_slots is " + std::to_string(slots) +
                   ", and must hold the inputs and what nodes remember");
    }
    extent_.max_slots = std::max(extent_.max_slots, slots);
    const int64_t least = s_.num_inputs, most = s_.first_state(g);
    bool fits = true;
    in_order_ = most - least == count;
    for (int64_t k = begin; k < end; ++k) {
      fits &= least <= s_.slot[k] && s_.slot[k] < most;
      in_order_ &= s_.slot[k] == least + (k - begin);
    }
    if (!fits) return found("a node's slot is out of range");
    for (int64_t k = begin; k < end; ++k) {
      fits &= has_activation_[s_.activation[k]] && has_aggregation_[s_.aggregation[k]];
    }
    return fits || found("a node has a function that nobody registered");
  }

  bool check_links(int64_t g) {
    const int64_t begin = s_.node_start[g], end = s_.node_start[g + 1];
    for (int64_t k = begin; k < end; ++k) {
      const int64_t links = s_.edge_start[k + 1] - s_.edge_start[k];
      extent_.max_links = std::max(extent_.max_links, links);
    }
    if (extent_.max_links > kMostSlots) return found("a node has too many links");
    if (in_order_) return true;  // check_levels finds those that reach outside
    const int32_t *source = s_.source + s_.edge_start[begin],
                  *last = s_.source + s_.edge_start[end];
    uint32_t largest = 0;  // a negative one counts as a very large one
    for (; source < last; ++source) largest = std::max(largest, static_cast<uint32_t>(*source));
    if (begin < end && largest >= std::max<int64_t>(1, s_.num_slots[g])) {
      return found("a link reads a slot that does not exist");
    }
    return true;
  }

  // Levels must hold all nodes, and what a level reads must be written before it.
  bool check_levels(int64_t g) {
    if (in_order_) return check_levels_in_order(g);
    const int64_t first = s_.node_start[g], count = s_.num_nodes(g), states = s_.first_state(g);
    if (static_cast<int64_t>(written_.size()) < s_.num_slots[g]) written_.resize(s_.num_slots[g]);
    char* const written = written_.data();
    std::fill(written, written + s_.num_inputs, char{1});
    std::fill(written + s_.num_inputs, written + states, char{0});
    std::fill(written + states, written + s_.num_slots[g], char{1});
    int64_t done = 0;
    char known = 1;
    for (int64_t l = s_.level_start[g]; l < s_.level_start[g + 1]; ++l) {
      const int64_t end = s_.level_end[l];
      if (end <= done || end > count) return found("level_end does not ascend over its nodes");
      const int64_t last = s_.edge_start[first + end];
      for (int64_t e = s_.edge_start[first + done]; e < last; ++e) known &= written[s_.source[e]];
      for (int64_t k = first + done; k < first + end; ++k) written[s_.slot[k]] = 1;
      done = end;
    }
    if (done != count) return found("its levels do not hold all nodes");
    if (!known) return found("a link reads a slot that no earlier level writes");
    const int32_t* const output = s_.output_slot + g * s_.num_outputs;
    for (int64_t o = 0; o < s_.num_outputs; ++o) {
      if (output[o] < -1 || output[o] >= s_.num_slots[g] || (output[o] >= 0 && !written[output[o]]))
        return found("output_slot names a slot that nothing writes");
    }
    return true;
  }

  // The same where every node has the slot behind that of the node before it, as in all schedules
  // that were compiled: what is written by then are the slots up to there.
  bool check_levels_in_order(int64_t g) {
    const int64_t first = s_.node_start[g], count = s_.num_nodes(g);
    const auto states = static_cast<uint32_t>(s_.first_state(g)),
               slots = static_cast<uint32_t>(s_.num_slots[g]);
    int64_t done = 0;
    bool known = true;
    for (int64_t l = s_.level_start[g]; l < s_.level_start[g + 1]; ++l) {
      const int64_t end = s_.level_end[l];
      if (end <= done || end > count) return found("level_end does not ascend over its nodes");
      const auto written = static_cast<uint32_t>(s_.num_inputs + done);
      const int64_t last = s_.edge_start[first + end];
      for (int64_t e = s_.edge_start[first + done]; e < last; ++e) {
        const auto source = static_cast<uint32_t>(s_.source[e]);  // large if it is negative
        known &= (source < written) | ((source >= states) & (source < slots));
      }
      done = end;
    }
    if (done != count) return found("its levels do not hold all nodes");
    if (!known) return found("a link reads a slot that no earlier level writes");
    const int32_t* const output = s_.output_slot + g * s_.num_outputs;
    for (int64_t o = 0; o < s_.num_outputs; ++o) {
      if (output[o] < -1 || output[o] >= s_.num_slots[g]) {
        return found("output_slot names a slot that nothing writes");
      }
    }
    return true;
  }

  bool found(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }

  const ScheduleView<T>& s_;
  ScheduleExtent extent_;
  bool has_activation_[kNumIds], has_aggregation_[kNumIds];
  std::vector<char> written_;
  bool in_order_ = false;
  std::string fault_;
  int64_t genome_ = -1;
};

}  // namespace evonet
