// schedule_units.h: a schedule as GPUs read it: for each genome a stream of units of 16 bytes. A
// node is a header, one unit of float32 or two of float64, and its links, two to a unit of float32
// or one of float64. Half a unit may be left over behind the last link.
#pragma once

#include "nodes/node.h"

EVONET_NAMESPACE_BEGIN

constexpr int kUnit = 16;  // bytes

template <class T>
struct alignas(kUnit) NodeHeader {
  T bias, response;
  unsigned links;  // number << 8 | aggregation
  unsigned place;  // slot << 9 | last of the genome << 8 | activation

  EVONET_METHOD NodeGenes<T> genes() const {
    return {bias, response, num_links(), int(place & 0xff), int(links & 0xff)};
  }
  EVONET_METHOD int32 num_links() const { return int32(links >> 8); }
  EVONET_METHOD int32 slot() const { return int32(place >> 9); }
  EVONET_METHOD bool is_last() const { return place >> 8 & 1; }
};

template <class T>
struct Link {
  int32 back;  // slots from the source to the node
  T weight;
};

template <class T>
constexpr int kHeaderUnits = sizeof(NodeHeader<T>) / kUnit;
template <class T>
constexpr int kLinksPerUnit = kUnit / sizeof(Link<T>);

EVONET_NAMESPACE_END
