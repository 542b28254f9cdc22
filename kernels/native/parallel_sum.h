// parallel_sum.h: sums and the like over many numbers, on several threads: what they add up to must
// not depend on the order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "native/thread_pool.h"

namespace evonet {

// Lets visit(part, i) add every i in [begin, end) to a part, one for each thread, and joins them:
// part.add(other). A part that nothing was added to is Part().
template <class Part, class Visit>
Part add_up(int64_t begin, int64_t end, int threads, const Visit& visit) {
  constexpr int64_t kPiece = 1 << 14;  // worth a thread's while
  const int64_t pieces = (end - begin + kPiece - 1) / kPiece;
  if (pieces <= 1 || usable_threads(threads) == 1) {
    Part whole;
    for (int64_t i = begin; i < end; ++i) visit(whole, i);
    return whole;
  }
  std::vector<Part> parts(std::min<int64_t>(usable_threads(threads), pieces));
  parallel_for(
      static_cast<int>(parts.size()), pieces,
      [&](int worker, int64_t piece, Interrupt&) {
        const int64_t first = begin + piece * kPiece, last = std::min(first + kPiece, end);
        Part part;  // parts of threads may share a line of the cache
        for (int64_t i = first; i < last; ++i) visit(part, i);
        parts[worker].add(part);
      },
      [] { return false; });
  for (size_t i = 1; i < parts.size(); ++i) parts[0].add(parts[i]);
  return parts[0];
}

}  // namespace evonet
