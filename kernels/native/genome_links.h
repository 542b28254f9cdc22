// genome_links.h: the enabled links of one genome, grouped by the node that reads them, with keys
// turned into numbers. A genome's inputs are 0..I-1, its nodes follow, and what nodes remember
// comes behind them, so that a link's source needs no case for inputs.
#pragma once

#include <vector>

#include "native/compile_schedule.h"
#include "native/in_pieces.h"
#include "native/key_index.h"

namespace evonet {

struct GenomeLink {
  int32_t source;  // number of an input, of a node, or of what a node remembers
  int32_t conn;    // position among the genome's connections
};

template <class T>
class GenomeLinks {
 public:
  explicit GenomeLinks(const PopulationView<T>& population) : p_(population) {}

  // Reads genome g; false if it was interrupted, or if its genes make no sense.
  bool group(int64_t g, Interrupt& interrupt) {
    first_node_ = p_.node_start[g];
    first_conn_ = p_.conn_start[g];
    num_nodes_ = static_cast<int32_t>(p_.node_start[g + 1] - first_node_);
    num_conns_ = static_cast<int32_t>(p_.conn_start[g + 1] - first_conn_);
    makes_sense_ = index_.build(p_.node_key + first_node_, num_nodes_);
    bool in_order = true;
    return makes_sense_ && index_.with_finder([&](auto node_with) {
      if (!count(node_with, in_order, interrupt)) return false;
      if (in_order) return write(node_with, [](int32_t r) { return r; }, interrupt);
      if (!order_by_rank(interrupt)) return false;
      const int32_t* const by_rank = by_rank_.data.get();
      return write(node_with, [by_rank](int32_t r) { return by_rank[r]; }, interrupt);
    });
  }

  bool makes_sense() const { return makes_sense_; }
  int32_t num_nodes() const { return num_nodes_; }
  int64_t first_node() const { return first_node_; }
  int64_t first_conn() const { return first_conn_; }

  // The number of a node's key, or -1.
  int32_t number(int64_t key) const {
    return index_.with_finder([key](auto node_with) { return node_with(key); });
  }

  // Links of a node, in the order in which it adds them up: positions [begin, end) in data().
  int32_t begin(int32_t node) const { return link_start_[node]; }
  int32_t end(int32_t node) const { return link_start_[node + 1]; }
  // Behind the last one are some of input 0, to be read and ignored.
  static constexpr int32_t kSpareLinks = 4;
  GenomeLink* data() { return links_.data.get(); }
  const GenomeLink* data() const { return links_.data.get(); }
  const int32_t* targets() const { return target_.data.get(); }  // nodes, by connection

 private:
  template <class Finder>
  bool count(Finder node_with, bool& in_order, Interrupt& interrupt) {
    const int64_t* const target = p_.target + first_conn_;
    const bool* const enabled = p_.enabled + first_conn_;
    const int32_t* const rank = p_.rank + first_conn_;
    make_room(target_, num_conns_);
    make_room(links_, num_conns_ + kSpareLinks);
    link_start_.assign(num_nodes_ + 1, 0);
    int32_t *const number_of_target = target_.data.get(), *const link_end = link_start_.data() + 1;
    bool known = true, ordered = true;
    const bool finished = in_pieces(interrupt, num_conns_, [&](int32_t begin, int32_t end) {
      bool all_known = true, all_ordered = true;  // in registers
      for (int32_t i = begin; i < end; ++i) {
        const int32_t number = number_of_target[i] = node_with(target[i]);
        all_known &= number >= 0;
        link_end[number] += enabled[i];
        all_ordered &= rank[i] == i;
      }
      known &= all_known;
      ordered &= all_ordered;
    });
    in_order = ordered;
    makes_sense_ = known;
    if (!finished || !known) return false;
    for (int32_t k = 0; k < num_nodes_; ++k) link_start_[k + 1] += link_start_[k];
    return true;
  }

  // False if it was interrupted, or if ranks are not 0, 1, ... in some order.
  bool order_by_rank(Interrupt& interrupt) {
    const int32_t* const rank = p_.rank + first_conn_;
    make_room(by_rank_, num_conns_);
    int32_t* const by_rank = by_rank_.data.get();
    std::fill(by_rank, by_rank + num_conns_, -1);
    const bool finished = in_pieces(interrupt, num_conns_, [&](int32_t begin, int32_t end) {
      for (int32_t i = begin; i < end; ++i) {
        const bool fits = static_cast<uint32_t>(rank[i]) < static_cast<uint32_t>(num_conns_);
        makes_sense_ &= fits && by_rank[rank[i]] < 0;
        if (fits) by_rank[rank[i]] = i;
      }
    });
    return finished && makes_sense_;
  }

  // Without a branch for what differs from link to link: a disabled one is written behind all.
  template <class Finder, class Order>
  bool write(Finder node_with, Order order, Interrupt& interrupt) {
    const int64_t* const source = p_.source + first_conn_;
    const bool* const enabled = p_.enabled + first_conn_;
    const int32_t* const number_of_target = target_.data.get();
    const int64_t num_inputs = p_.num_inputs;
    const int32_t num_links = link_start_[num_nodes_];
    GenomeLink* const links = links_.data.get();
    cursor_.assign(link_start_.begin(), link_start_.end());
    int32_t* const cursor = cursor_.data();
    bool known = true;
    const bool finished = in_pieces(interrupt, num_conns_, [&](int32_t begin, int32_t end) {
      bool all_known = true;  // in a register
      for (int32_t r = begin; r < end; ++r) {
        const int32_t i = order(r);
        const bool reads = enabled[i];
        const int64_t key = source[i], node = num_inputs + node_with(key);
        const int64_t number = key < 0 ? -1 - key : node;
        // An unknown node would be the last input.
        all_known &= !reads | ((key < 0) == (number < num_inputs));
        int32_t& next = cursor[number_of_target[i]];
        links[reads ? next : num_links] = {static_cast<int32_t>(number), i};
        next += reads;
      }
      known &= all_known;
    });
    std::fill(links + num_links, links + num_links + kSpareLinks, GenomeLink{0, 0});
    makes_sense_ = known;
    return finished && known;
  }

  const PopulationView<T>& p_;
  int64_t first_node_ = 0, first_conn_ = 0;
  int32_t num_nodes_ = 0, num_conns_ = 0;
  bool makes_sense_ = true;
  KeyIndex index_;
  Buffer<GenomeLink> links_;          // by target, in link order
  Buffer<int32_t> target_, by_rank_;  // by connection
  std::vector<int32_t> link_start_, cursor_;
};

}  // namespace evonet
