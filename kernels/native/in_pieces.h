// in_pieces.h: long loops of one genome that still answer Ctrl-C.
#pragma once

#include <algorithm>
#include <cstdint>

#include "native/buffer.h"
#include "native/thread_pool.h"

namespace evonet {

constexpr int64_t kGenesInPiece = 1 << 16;  // between two looks at the interrupt

// Calls body(begin, end) for pieces of [0, count). Returns false if it was interrupted, as all
// steps of compiling a genome do.
template <class Body>
bool in_pieces(Interrupt& interrupt, int64_t count, Body body) {
  for (int64_t begin = 0; begin < count; begin += kGenesInPiece) {
    if (begin > 0 && interrupt.requested()) return false;
    body(static_cast<int32_t>(begin), static_cast<int32_t>(std::min(count, begin + kGenesInPiece)));
  }
  return true;
}

// Asks after every kGenesInPiece genes that a loop of uneven turns has spent.
class Patience {
 public:
  Patience() = default;
  explicit Patience(Interrupt& interrupt) : interrupt_(&interrupt) {}

  bool ends_after(int64_t genes) {
    left_ -= genes;
    if (left_ >= 0) return false;
    left_ = kGenesInPiece;
    return interrupt_->requested();
  }

 private:
  Interrupt* interrupt_ = nullptr;
  int64_t left_ = kGenesInPiece;
};

// Room for `size` elements, whatever they are.
template <class E>
void make_room(Buffer<E>& b, int64_t size) {
  if (b.size < size) b = Buffer<E>(std::max(size, 2 * b.size));
}

}  // namespace evonet
