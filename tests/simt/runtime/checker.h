// checker.h: what the scheduler tells the checker. Plain mode has none, at no cost.
#pragma once

#include <cstdint>

namespace simt::checker {

#ifdef SIMT_CHECKED
constexpr bool kEnabled = true;

void begin_launch(const char* dynamic_shared);
void end_launch();
void begin_block(uint64_t linear);
void barrier();                                // every thread of the block has arrived
void lanes_met(unsigned warp, unsigned mask);  // in __syncwarp, the one that orders memory
void fence(bool whole_device);
#else
constexpr bool kEnabled = false;

inline void begin_launch(const char*) {}
inline void end_launch() {}
inline void begin_block(uint64_t) {}
inline void barrier() {}
inline void lanes_met(unsigned, unsigned) {}
inline void fence(bool) {}
#endif

}  // namespace simt::checker
