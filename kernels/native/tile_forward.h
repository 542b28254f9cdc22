// tile_forward.h: deep networks on many samples. Samples go through all levels in tiles that stay
// in the cache, a segment of levels at a time; between segments, samples whose values are all zero
// and stay zero leave, and those that remain move together.
#pragma once

#include <vector>

#include "native/isa/isa.h"
#include "native/node_blocks.h"
#include "native/thread_pool.h"

namespace evonet {

// What a pass did.
struct TileCounts {
  int64_t executed = 0;         // links times samples that were still there
  std::vector<double> seconds;  // of each segment, over all threads
};

// One genome of call.schedule on all samples; false if poll asked to stop. Samples leave only if
// `drop` allows it; the bits of y are the same.
template <class T>
bool forward_in_tiles(const ForwardCall<T>& call, int64_t genome, const NodeBlocks<T>& blocks,
                      const ForwardKernels<T>& kernels, int64_t max_links, bool drop, int threads,
                      const Interrupt::Poll& poll, TileCounts& counts);

}  // namespace evonet
