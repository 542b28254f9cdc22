// launch.cpp: hands out blocks to OS threads.
#include "launch.h"

#include <memory>
#include <numeric>
#include <thread>

#include "checker.h"
#include "faults.h"
#include "scheduler.h"

namespace simt {

Launch* current_launch = nullptr;

Launch::Launch(const Request& request)
    : request(request),
      image(reinterpret_cast<const void*>(request.entry->run)),
      num_threads(request.block[0] * request.block[1] * request.block[2]),
      num_blocks_(request.num_blocks) {
  indices.reserve(num_threads);
  for (unsigned z = 0; z < request.block[2]; ++z)
    for (unsigned y = 0; y < request.block[1]; ++y)
      for (unsigned x = 0; x < request.block[0]; ++x) indices.push_back({x, y, z});
  if (request.order == kRandom) {
    shuffled_.resize(num_blocks_);
    std::iota(shuffled_.begin(), shuffled_.end(), request.first_block);
    Random(request.seed).shuffle(shuffled_.data(), shuffled_.size());
  }
}

bool Launch::take_block(uint64_t* linear) {
  uint64_t place = num_taken_++;
  if (stop || place >= num_blocks_) return false;
  *linear = request.order == kRandom    ? shuffled_[place]
            : request.order == kReverse ? request.first_block + num_blocks_ - 1 - place
                                        : request.first_block + place;
  return true;
}

uint3 Launch::block_index(uint64_t linear) const {
  const uint32_t* grid = request.grid;
  return {unsigned(linear % grid[0]), unsigned(linear / grid[0] % grid[1]),
          unsigned(linear / grid[0] / grid[1])};
}

}  // namespace simt

static std::unique_ptr<simt::Launch> last_launch;  // keeps its findings until the next

extern "C" {

// Runs a kernel; returns the number of findings.
uint64_t simt_launch(const simt::Request* request) {
  // Keeps its fibers for the next launch.
  static thread_local auto scheduler = std::make_unique<simt::Scheduler>();
  last_launch = std::make_unique<simt::Launch>(*request);
  simt::Launch& launch = *last_launch;
  simt::current_launch = &launch;
  {
    simt::FaultHandlers handlers;
    simt::checker::begin_launch(scheduler->shared_begin());
    std::vector<std::thread> others;
    for (int i = 1; i < request->num_workers; ++i) {
      others.emplace_back([&] { simt::Scheduler().run_blocks(launch); });
    }
    scheduler->run_blocks(launch);
    for (std::thread& other : others) other.join();
    simt::checker::end_launch();
  }
  simt::current_launch = nullptr;
  return launch.findings.all().size();
}

// One finding of the last launch; valid until the next.
const simt::Finding* simt_finding(uint64_t index) { return &last_launch->findings.all()[index]; }

}  // extern "C"
