// bind_machine.cpp: measures the limits of the processor and its memory.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "native/bind/bindings.h"
#include "native/thread_pool.h"
#include "native/worker_memory.h"

using namespace nb::literals;

namespace evonet {

namespace {

constexpr int kMostThreads = 4096;  // as evonet/errors.py allows

// Runs work(i) for every i < threads, one on each thread; returns their total per second.
template <class Work>
double rate_of(int threads, const Work& work) {
  std::atomic<int64_t> done{0};
  const auto begin = std::chrono::steady_clock::now();
  run_interruptibly([&] {
    return parallel_for(
        threads, threads, [&](int, int64_t index, Interrupt&) { done += work(index); },
        python_signal);
  });
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(done) / spent.count();
}

// Float multiply-adds per second that `threads` threads sustain without touching memory.
double fma_peak(const std::string& simd, int threads) {
  const Isa& isa = find_isa(simd);
  check_number("threads", threads, 1, kMostThreads);
  return rate_of(threads, [&](int64_t) {
    float sink = 0.5f;
    return isa.spin_fma(10'000'000, &sink);
  });
}

// Bytes per second, a number for each round. Every thread reads `bytes` bytes of its own, `turns`
// times a round, so the size decides which cache or memory is measured.
std::vector<double> read_bandwidth(const std::string& simd, int threads, int64_t bytes,
                                   int64_t turns, int rounds) {
  constexpr int64_t kMultiple = 512;  // numbers: whole blocks on every instruction set
  const Isa& isa = find_isa(simd);
  check_number("threads", threads, 1, kMostThreads);
  check_number("bytes", bytes, 1, int64_t{1} << 40);
  check_number("turns", turns, 1, int64_t{1} << 40);
  check_number("rounds", rounds, 1, 1 << 20);
  const int64_t count =
      std::max<int64_t>(1, bytes / int64_t{sizeof(int32_t)} / kMultiple) * kMultiple;
  std::vector<AlignedArray<int32_t>> arrays;
  for (int i = 0; i < threads; ++i) arrays.emplace_back(count);
  rate_of(threads, [&](int64_t i) {  // or all pages would be the same page of zeros
    std::fill(arrays[i].data(), arrays[i].data() + count, static_cast<int32_t>(i + 1));
    return count;
  });
  std::vector<double> rates;
  for (int round = 0; round < rounds; ++round) {
    rates.push_back(rate_of(threads, [&](int64_t i) {
      int32_t sink;
      return isa.read_rows(arrays[i].data(), count, turns, &sink);
    }));
  }
  return rates;
}

}  // namespace

void bind_machine(nb::module_& m) {
  m.def("fma_peak", &fma_peak, "simd"_a, "threads"_a,
        "Float multiply-adds per second that registers alone sustain.");
  m.def("read_bandwidth", &read_bandwidth, "simd"_a, "threads"_a, "bytes"_a, "turns"_a, "rounds"_a,
        "Bytes per second of each round in which every thread reads so many bytes of its own.");
}

}  // namespace evonet
