// genome_links.h: the links of one genome of a population after the other, grouped by the node that
// reads them, in memory that grows with the genomes.
#pragma once

#include <vector>

#include "native/compile_schedule.h"
#include "native/key_index.h"
#include "native/lone_worker.h"

namespace evonet {

template <class T>
class GenomeLinks {
 public:
  explicit GenomeLinks(const PopulationView<T>& population) : p_(population) {
    groups_.num_inputs = static_cast<int32_t>(population.num_inputs);
  }

  // Reads genome g; false if it was interrupted, or if its genes make no sense.
  bool group(int64_t g, LoneWorker& worker) {
    first_node_ = p_.node_start[g];
    first_conn_ = p_.conn_start[g];
    groups_.num_nodes = static_cast<int32_t>(p_.node_start[g + 1] - first_node_);
    groups_.num_conns = static_cast<int32_t>(p_.conn_start[g + 1] - first_conn_);
    if (groups_.num_nodes >= cursor_.size || groups_.num_conns > target_.size) grow();
    const ConnectionGenes<int64_t> genes{p_.source + first_conn_, p_.target + first_conn_,
                                         p_.enabled + first_conn_, p_.rank + first_conn_};
    makes_sense_ = index_.build(p_.node_key + first_node_, groups_.num_nodes);
    return makes_sense_ && index_.with_finder([&](auto node_with) {
      return groups_.group(worker, genes, node_with, makes_sense_);
    });
  }

  bool makes_sense() const { return makes_sense_; }
  int64_t first_node() const { return first_node_; }
  int64_t first_conn() const { return first_conn_; }
  const LinkGroups& groups() const { return groups_; }

  // The number of a node's key, or -1.
  int32_t number(int64_t key) const {
    return index_.with_finder([key](auto node_with) { return node_with(key); });
  }

 private:
  void grow() {
    for (auto* by_node : {&link_start_, &cursor_}) make_room(*by_node, groups_.num_nodes + 1);
    for (auto* by_conn : {&target_, &by_rank_}) make_room(*by_conn, groups_.num_conns);
    make_room(links_, target_.size + LinkGroups::kSpareLinks);
    groups_.link_start = link_start_.data.get();
    groups_.cursor = cursor_.data.get();
    groups_.target = target_.data.get();
    groups_.by_rank = by_rank_.data.get();
    groups_.links = links_.data.get();
  }

  const PopulationView<T>& p_;
  int64_t first_node_ = 0, first_conn_ = 0;
  bool makes_sense_ = true;
  KeyIndex index_;
  LinkGroups groups_{};
  Buffer<GenomeLink> links_;
  Buffer<int32_t> target_, by_rank_, link_start_, cursor_;
};

}  // namespace evonet
