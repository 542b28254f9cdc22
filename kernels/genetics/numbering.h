// numbering.h: the numbers of structural mutations. Equal mutations of a generation get equal
// numbers, and new ones are handed out in the order of children:
//
//   1. a split of a connection that no child before has split takes a node key and two innovations;
//   2. then a connection between ends that no child before has connected takes an innovation. An
//   end
//      may be the node of the split, by its key.
//
// native/breed.cpp walks over the children; cuda/claim_numbers.cu finds the first child of each
// mutation and adds up.
#pragma once

#include "genetics/genome_view.h"

EVONET_NAMESPACE_BEGIN

// Innovations that a split takes.
static constexpr int kSplitInnovations = 2;

// The numbers that one child's structural mutations were given.
struct GivenNumbers {
  int64 node = 0, before = 0, behind = 0, added = 0;
};

// The ends of an added connection.
struct AddedEnds {
  int64 source, target;
};

EVONET_FN GivenNumbers split_numbers(int64 node_key, int64 innovation) {
  return {node_key, innovation, innovation + 1, 0};
}

EVONET_FN AddedEnds added_ends(const Request& request, const GivenNumbers& given) {
  return {request.source == kPendingNode ? given.node : request.source,
          request.target == kPendingNode ? given.node : request.target};
}

// Replaces what is pending in a child; new connections are its last ones.
template <class T>
EVONET_FN void put_numbers(const Genes<T>& c, int32 num_nodes, int32 num_conns,
                           const Request& request, const GivenNumbers& given) {
  if (num_nodes > 0 && c.node_key[num_nodes - 1] == kPendingNode) {
    c.node_key[num_nodes - 1] = given.node;
  }
  const int32 first = num_conns - request.num_new;
  for (int32 i = first; i < num_conns; ++i) {
    if (c.source[i] == request.source && c.target[i] == request.target) {
      c.innovation[i] = given.added;
    } else {
      c.innovation[i] = c.target[i] == kPendingNode ? given.before : given.behind;
    }
    if (c.source[i] == kPendingNode) c.source[i] = given.node;
    if (c.target[i] == kPendingNode) c.target[i] = given.node;
    for (int32 j = i; j > first && c.innovation[j] < c.innovation[j - 1]; --j) {
      c.swap_connections(j, j - 1);
    }
  }
}

EVONET_NAMESPACE_END
