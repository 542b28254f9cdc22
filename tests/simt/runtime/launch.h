// launch.h: one launch of a kernel over a grid of blocks.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "entry.h"
#include "findings.h"
#include "image.h"

namespace simt {

enum Order : int { kForward, kReverse, kRandom };

// A range of memory that the kernel may touch; checked mode only.
struct RegionRequest {
  enum Flags : uint32_t { kWritable = 1, kShared = 2, kThreadLocal = 4, kInImage = 8 };
  const char* name;
  uint64_t begin;  // kThreadLocal: within the module's thread-local block; kInImage: from its base
  uint64_t size;
  uint32_t element;  // bytes of one element
  uint32_t flags;
};

// What the loader asks for; abi.py has the same layout.
struct Request {
  const Entry* entry;
  void** args;
  uint32_t grid[3], block[3];
  uint64_t dynamic_shared;  // bytes
  uint64_t seed;
  double timeout;  // seconds of CPU time
  int32_t order;
  int32_t num_workers;
  const RegionRequest* regions;
  uint64_t num_regions;
  uint64_t first_block, num_blocks;  // those of the grid that run
  // Around the regions: what may be touched by mistake and do no harm.
  uint64_t arena, arena_size;
};

// A small generator; every block has its own, so that the order of blocks changes nothing else.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {  // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  template <class T>
  void shuffle(T* items, size_t count) {
    for (size_t i = count; i > 1; --i) {
      size_t j = size_t((unsigned __int128)next() * i >> 64);
      T item = items[i - 1];
      items[i - 1] = items[j];
      items[j] = item;
    }
  }

 private:
  uint64_t state_;
};

class Launch {
 public:
  explicit Launch(const Request& request);

  // The next block to run, by its place in the grid; false when none is left.
  bool take_block(uint64_t* linear);
  uint3 block_index(uint64_t linear) const;

  const Request& request;
  const Image image;
  const unsigned num_threads;     // of one block
  std::vector<uint3> indices;     // threadIdx of every linear index
  std::atomic<bool> stop{false};  // a fault was met after which no thread can go on
  Findings findings;

 private:
  const uint64_t num_blocks_;
  std::atomic<uint64_t> num_taken_{0};
  std::vector<uint64_t> shuffled_;
};

// The launch under way; the loader lets one run at a time.
extern Launch* current_launch;

}  // namespace simt
