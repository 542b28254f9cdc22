// schedule.h: how CUDA threads read the units of a schedule, and where they keep values.
#pragma once

#include "cuda/addresses.h"
#include "cuda/schedule_units.h"

EVONET_NAMESPACE_BEGIN

// What units hold.
template <class T>
struct HeaderUnits {
  uint4 unit[kHeaderUnits<T>];

  EVONET_METHOD NodeHeader<T> header() const { return __builtin_bit_cast(NodeHeader<T>, *this); }
};

template <class T>
EVONET_FN NodeHeader<T> load_header(const uint4* unit) {
  HeaderUnits<T> found;
  EVONET_UNROLL
  for (int i = 0; i < kHeaderUnits<T>; ++i) found.unit[i] = __ldg(unit + i);
  return found.header();
}

template <class T>
struct LinkUnit {
  Link<T> link[kLinksPerUnit<T>];
};

template <class T>
EVONET_FN LinkUnit<T> links_of(uint4 unit) {
  return __builtin_bit_cast(LinkUnit<T>, unit);
}

// The links of one node where they lie in global memory; see node.h.
template <class T>
struct GlobalLinks {
  const uint4* first;

  EVONET_METHOD Link<T> link(int32 i) const {
    return links_of<T>(__ldg(first + i / kLinksPerUnit<T>)).link[i % kLinksPerUnit<T>];
  }
  EVONET_METHOD int32 back(int32 i) const { return link(i).back; }
  EVONET_METHOD T weight(int32 i) const { return link(i).weight; }
  EVONET_METHOD const GlobalLinks& anywhere(int32) const { return *this; }

  template <class Visit>
  EVONET_METHOD void each(int32 count, Visit visit) const {
    const uint4* unit = first;
#pragma unroll 2
    for (int32 whole = count / kLinksPerUnit<T>; whole > 0; --whole) {
      const LinkUnit<T> links = links_of<T>(__ldg(unit++));
      EVONET_UNROLL
      for (int i = 0; i < kLinksPerUnit<T>; ++i) visit(links.link[i].back, links.link[i].weight);
    }
    if (count % kLinksPerUnit<T> != 0) {
      const Link<T> last = links_of<T>(__ldg(unit)).link[0];
      visit(last.back, last.weight);
    }
  }

  template <class Visit>
  EVONET_METHOD void one_by_one(int32 count, Visit visit) const {
    EVONET_KEEP_LOOP
    for (int32 i = 0; i < count; ++i) {
      const Link<T> next = link(i);
      visit(next.back, next.weight);
    }
  }
};

// The values that one thread sees from a node: those of its samples in any slot, counted back from
// the node's own, so that slots behind it have negative numbers. Counting back from the node takes
// one instruction, whereas a slot counted from the first needs two where compilers keep the start
// of shared memory apart.
template <class T, int N>
struct Column {
  char* own;
  int32 step;  // bytes from a slot to the one before it: negative, so that a product is enough

#if GLOBAL_VALUES
  EVONET_METHOD Samples<T, N>& operator()(int32 back) const {
    return *reinterpret_cast<Samples<T, N>*>(own + wide_product(back, step));
  }
  EVONET_METHOD Column seen_from(int32 ahead) const {
    return {fixed(own + wide_product(-ahead, step)), step};
  }
#else  // shared memory has addresses of 32 bits
  EVONET_METHOD Samples<T, N>& operator()(int32 back) const {
    return *reinterpret_cast<Samples<T, N>*>(own + back * step);
  }
  EVONET_METHOD Column seen_from(int32 ahead) const { return {own + -ahead * step, step}; }
#endif
  EVONET_METHOD T& one(int32 back, int k) const { return (*this)(back).at[k]; }
};

EVONET_NAMESPACE_END
