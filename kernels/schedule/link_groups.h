// link_groups.h: the enabled links of one genome, grouped by the node that reads them, with keys
// turned into numbers. A genome's inputs are 0..I-1, its nodes follow, and what nodes remember
// comes behind them, so that a link's source needs no case for inputs.
//
// Everything in this folder compiles one genome, by a worker: a thread of the processor, or lanes
// of a GPU that go together. What a worker has:
//   kLanes                   how many lanes
//   each(count, body)        body(begin, end) goes from begin to end in steps of kLanes; false if
//                            it was interrupted, as all steps of compiling a genome return
//   padded(count)            count, rounded up so that all lanes take equally many steps
//   sync()                   what lanes wrote before is read by others behind
//   is_first(), share(x)     the lane that does what only one can do, and what it found
//   all(x)                   whether x holds for all lanes
//   add(to, x), raise(to, x) a sum or a maximum to which several lanes may contribute
//   take(cursor, i, wanted)  cursor[i], and one more for every lane before that wants it, too; it
//                            then lies behind all of them
//   running_sum(x, count)    every number becomes the sum of all up to it
//   tires_after(genes)       whether a long loop of one lane is to be interrupted
//   sort_levels(...)         see node_order.h
#pragma once

#include "numerics/portable.h"

EVONET_NAMESPACE_BEGIN

struct GenomeLink {
  int32 source;  // number of an input, of a node, or of what a node remembers
  int32 conn;    // position among the genome's connections
};

// The connections of one genome.
template <class Key>
struct ConnectionGenes {
  const Key *source, *target;
  const bool* enabled;
  const int32* rank;
};

// Memory for the links of one genome, lent by the caller.
struct LinkGroups {
  // Behind the last link are some of input 0, to be read and ignored.
  static constexpr int32 kSpareLinks = 4;

  int32 num_inputs, num_nodes, num_conns;
  int32* link_start;  // [N + 1] links of a node, in the order in which it adds them up
  int32* cursor;      // [N + 1]
  int32* target;      // [E] nodes, by connection
  int32* by_rank;     // [E] connections
  GenomeLink* links;  // [E + kSpareLinks]

  EVONET_METHOD int32 begin(int32 node) const { return link_start[node]; }
  EVONET_METHOD int32 end(int32 node) const { return link_start[node + 1]; }
  EVONET_METHOD int32 num_links(int32 node) const { return end(node) - begin(node); }

  // Groups the links; node_with(key) is the number of a node, or -1. False if it was interrupted,
  // or if the genes make no sense.
  template <class Worker, class Key, class Finder>
  EVONET_METHOD bool group(Worker& worker, const ConnectionGenes<Key>& genes, Finder node_with,
                           bool& makes_sense) const {
    bool in_order = true;
    if (!count(worker, genes, node_with, makes_sense, in_order)) return false;
    if (in_order) return write(worker, genes, node_with, [](int32 r) { return r; }, makes_sense);
    if (!order_by_rank(worker, genes.rank, makes_sense)) return false;
    const int32* const order = by_rank;
    return write(worker, genes, node_with, [order](int32 r) { return order[r]; }, makes_sense);
  }

 private:
  template <class Worker, class Key, class Finder>
  EVONET_METHOD bool count(Worker& worker, const ConnectionGenes<Key>& genes, Finder node_with,
                           bool& makes_sense, bool& in_order) const {
    const ConnectionGenes<Key> gene = genes;
    int32 *const number_of_target = target, *const link_end = link_start + 1;
    worker.each(num_nodes + 1, [&](int32 begin, int32 end) {
      for (int32 k = begin; k < end; k += Worker::kLanes) link_end[k - 1] = 0;
    });
    worker.sync();
    bool known = true, ordered = true;
    const bool finished = worker.each(num_conns, [&](int32 begin, int32 end) {
      bool all_known = true, all_ordered = true;  // in registers
      for (int32 i = begin; i < end; i += Worker::kLanes) {
        const int32 number = number_of_target[i] = node_with(gene.target[i]);
        all_known &= number >= 0;
        worker.add(link_end[number], gene.enabled[i]);
        all_ordered &= gene.rank[i] == i;
      }
      known &= all_known;
      ordered &= all_ordered;
    });
    in_order = worker.all(ordered);
    makes_sense = worker.all(known);
    worker.sync();
    if (!finished || !makes_sense) return false;
    worker.running_sum(link_end, num_nodes);
    return true;
  }

  // False if it was interrupted, or if ranks are not 0, 1, ... in some order.
  template <class Worker>
  EVONET_METHOD bool order_by_rank(Worker& worker, const int32* rank, bool& makes_sense) const {
    int32* const order = by_rank;
    bool fits = true;
    bool finished = worker.each(num_conns, [&](int32 begin, int32 end) {
      for (int32 i = begin; i < end; i += Worker::kLanes) {
        const bool inside = (unsigned int)rank[i] < (unsigned int)num_conns;
        fits &= inside;
        if (inside) order[rank[i]] = i;
      }
    });
    makes_sense = worker.all(fits);
    worker.sync();
    if (!finished || !makes_sense) return false;
    bool found = true;  // by its rank
    finished = worker.each(num_conns, [&](int32 begin, int32 end) {
      bool all_found = true;
      for (int32 i = begin; i < end; i += Worker::kLanes) all_found &= order[rank[i]] == i;
      found &= all_found;
    });
    makes_sense = worker.all(found);
    return finished && makes_sense;
  }

  // Without a branch for what differs from link to link: a disabled one is written behind all.
  template <class Worker, class Key, class Finder, class Order>
  EVONET_METHOD bool write(Worker& worker, const ConnectionGenes<Key>& genes, Finder node_with,
                           Order order, bool& makes_sense) const {
    constexpr bool kAlone = Worker::kLanes == 1;
    const ConnectionGenes<Key> gene = genes;
    const int32 *const number_of_target = target, inputs = num_inputs, conns = num_conns;
    const int32 num_links = link_start[num_nodes];
    GenomeLink* const to = links;
    int32* const next = cursor;
    worker.each(num_nodes, [&](int32 begin, int32 end) {
      for (int32 k = begin; k < end; k += Worker::kLanes) next[k] = link_start[k];
    });
    worker.sync();
    bool known = true;
    const bool finished = worker.each(worker.padded(conns), [&](int32 begin, int32 end) {
      bool all_known = true;  // in a register
      for (int32 r = begin; r < end; r += Worker::kLanes) {
        const bool inside = kAlone || r < conns;
        const int32 i = inside ? order(r) : 0;
        const bool reads = inside && gene.enabled[i];
        const int64 key = gene.source[i], node = inputs + node_with(key);
        const int64 number = key < 0 ? -1 - key : node;
        // An unknown node would be the last input.
        all_known &= !reads | ((key < 0) == (number < inputs));
        const int32 place = worker.take(next, number_of_target[i], reads);
        if (kAlone || reads) to[reads ? place : num_links] = {int32(number), i};
      }
      known &= all_known;
    });
    worker.sync();
    if (worker.is_first()) {
      for (int32 i = 0; i < kSpareLinks; ++i) to[num_links + i] = {0, 0};
    }
    worker.sync();
    makes_sense = worker.all(known);
    return finished && makes_sense;
  }
};

EVONET_NAMESPACE_END
