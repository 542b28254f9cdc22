// brood.h: children between being bred and being numbered. Each lies where its room begins; what is
// known of it are its sizes and its request.
#pragma once

#include "genetics/genome_view.h"

EVONET_NAMESPACE_BEGIN

// Where a thread notes what became of its child.
struct Brood {
  int64 count;
  const int64* room_start;  // [2, count + 1] nodes, then connections
  int32* sizes;             // [2, count]
  int64* requests;          // [3, count] split, source, target
  int32* num_new;           // [count]

  EVONET_METHOD int64 node_room(int64 child) const { return room_start[child]; }
  EVONET_METHOD int64 conn_room(int64 child) const { return room_start[count + 1 + child]; }

  EVONET_METHOD Request request(int64 child) const {
    return {requests[child], requests[count + child], requests[2 * count + child], num_new[child]};
  }

  template <class T>
  EVONET_METHOD void note(int64 child, const Child<T>& bred) const {
    sizes[child] = bred.num_nodes;
    sizes[count + child] = bred.num_conns;
    requests[child] = bred.request.split;
    requests[count + child] = bred.request.source;
    requests[2 * count + child] = bred.request.target;
    num_new[child] = bred.request.num_new;
  }
};

EVONET_NAMESPACE_END
