// prepared_draws.h: the random numbers of a small child, made before they are needed and with one
// another, where each block of its own would leave most of a vector empty.
#pragma once

#include "numerics/philox.h"

EVONET_NAMESPACE_BEGIN

class PreparedDraws : public Draws {
 public:
  explicit PreparedDraws(const Draws& draws) : Draws(draws) { forget(); }

  // Makes all draws of some runs if they are few. The draws of a run that was prepared come from
  // memory until the next call, all others are made when they are asked for: the same ones.
  template <int N>
  EVONET_METHOD void prepare(const DrawRun (&runs)[N]) {
#if defined(EVONET_WORD_BYTES)
    int total = 0;
    for (const DrawRun& run : runs) total += run.count;
    forget();
    if (total > kMost) return;
    int at = 0;
    for (const DrawRun& run : runs) {
      if (run.count > 0) start_[key_of(run.purpose, run.first, run.stride)] = at;
      at += run.count;
    }
    DrawWords lane{};
    for (int k = 0; k < kDrawWords; ++k) lane[k] = k;
    for (int i = 0; i < total; i += kDrawWords, lane += kDrawWords) {
      DrawWords draw{}, purpose{};
      uint64 begin = 0;
      for (const DrawRun& run : runs) {  // the last one that starts before a lane has it
        const DrawWords own = DrawWords(lane >= begin);
        const DrawWords chosen = ((lane - begin) << shift_of(run.stride)) + run.first;
        draw = (draw & ~own) | (chosen & own);
        purpose = (purpose & ~own) | (own & uint64(run.purpose));
        begin += run.count;
      }
      make(draw, purpose, word_[0] + i, kMost + kBlock);
    }
#endif
  }

  EVONET_METHOD Philox early(Purpose purpose, uint32 draw) const {
    const int at = start_[key_of(purpose, 0, 1)];
    if (at == kAbsent) return (*this)(purpose, draw);
    const int i = at + int(draw);
    return {{word_[0][i], word_[1][i], word_[2][i], word_[3][i]}};
  }

  EVONET_METHOD PhiloxBlock block(Purpose purpose, uint32 first, uint32 stride) const {
    const int at = start_[key_of(purpose, first, stride)];
    if (at == kAbsent) return Draws::block(purpose, first, stride);
    PhiloxBlock all;
    const int from = at + int(first / stride);
    for (int w = 0; w < 4; ++w) {
      for (int i = 0; i < kBlock; ++i) all.word[w][i] = word_[w][from + i];
    }
    return all;
  }

 private:
  static constexpr int kMost = 24, kAbsent = -1, kMostStride = 4, kPurposes = FOR_NODE + 1;

  // Runs of a purpose differ in where they start, below their stride.
  static constexpr int key_of(Purpose purpose, uint32 first, uint32 stride) {
    return int(purpose) * kMostStride + int(first % stride);
  }

  // Of a power of two, at most kMostStride.
  static constexpr int shift_of(uint32 stride) { return int(stride) / 2; }

  EVONET_METHOD void forget() {
    for (int& start : start_) start = kAbsent;
  }

  int start_[kPurposes * kMostStride];  // the lane of the first draw of each run
  uint32 word_[4][kMost + kBlock];      // a block may copy what follows its run, which nobody reads
};

EVONET_NAMESPACE_END
