// cuda_schedule.h: schedules as evonet/backends/cuda/layout.py packs them, in units of 16 bytes so
// that one load brings a node, or two links of float32, or one link of float64.
#pragma once

#include "node.h"

EVONET_NAMESPACE_BEGIN

constexpr int kUnit = 16;  // bytes

template <class T>
struct Link {
  int32 slot;
  T weight;
};

template <class T>
constexpr int kLinksPerUnit = kUnit / int(sizeof(Link<T>));

template <class T>
struct LinkUnit {
  Link<T> link[kLinksPerUnit<T>];
};

// One node in memory. A node's links start at a unit of their own.
template <class T>
struct alignas(16) PackedNode {
  T bias, response;
  int32 first_unit;    // of its links, counted from the genome's first
  unsigned functions;  // links << 8 | aggregation << 5 | activation

  EVONET_METHOD NodeGenes<T> genes() const {
    return {bias, response, int32(functions >> 8), int(functions & 31), int(functions >> 5 & 7)};
  }
};

template <class T>
EVONET_FN PackedNode<T> load_node(const uint4* nodes, int64 node) {
  constexpr int kUnits = int(sizeof(PackedNode<T>)) / kUnit;
  struct Units {
    uint4 unit[kUnits];
  } units;
#pragma unroll
  for (int i = 0; i < kUnits; ++i) units.unit[i] = __ldg(nodes + node * kUnits + i);
  return __builtin_bit_cast(PackedNode<T>, units);
}

template <class T>
EVONET_FN LinkUnit<T> as_links(uint4 unit) {
  return __builtin_bit_cast(LinkUnit<T>, unit);
}

// Links of one node where they lie in global memory.
template <class T>
struct GlobalLinks {
  const uint4* first;  // unit

  EVONET_METHOD Link<T> link(int32 i) const {
    return as_links<T>(__ldg(first + i / kLinksPerUnit<T>)).link[i % kLinksPerUnit<T>];
  }
  EVONET_METHOD int32 slot(int32 i) const { return link(i).slot; }
  EVONET_METHOD T weight(int32 i) const { return link(i).weight; }

  template <class Visit>
  EVONET_METHOD void each(int32 count, Visit visit) const {
    const uint4* unit = first;
#pragma unroll 2
    for (int32 whole = count / kLinksPerUnit<T>; whole > 0; --whole) {
      const LinkUnit<T> links = as_links<T>(__ldg(unit++));
#pragma unroll
      for (int i = 0; i < kLinksPerUnit<T>; ++i) visit(links.link[i].slot, links.link[i].weight);
    }
    if (count % kLinksPerUnit<T> != 0) {
      const Link<T> last = as_links<T>(__ldg(unit)).link[0];
      visit(last.slot, last.weight);
    }
  }

  template <class Visit>
  EVONET_METHOD void one_by_one(int32 count, Visit visit) const {
#pragma unroll 1
    for (int32 i = 0; i < count; ++i) {
      const Link<T> next = link(i);
      visit(next.slot, next.weight);
    }
  }
};

// The values of one thread's samples: one for every slot, row bytes apart.
template <class T, int N>
struct Column {
  char* values;  // at slot 0
  int32 row;

  EVONET_METHOD Samples<T, N>& at(int32 slot) const {
    return *reinterpret_cast<Samples<T, N>*>(values + slot * row);
  }
  EVONET_METHOD Samples<T, N> operator()(int32 slot) const { return at(slot); }
  EVONET_METHOD T one(int32 slot, int k) const { return at(slot).at[k]; }
};

EVONET_NAMESPACE_END
