#include "native/tile_forward.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>

#include "native/worker_memory.h"

namespace evonet {
namespace {

// Tiles of one thread: enough that those which lose samples can be merged and that the weights of
// a segment are read for several of them, few enough for a shared cache.
constexpr int64_t kMostTiles = 16;
constexpr int64_t kTileBytes = 12 << 20;

// The samples that one thread takes through all levels together.
template <class T>
class TileGroup {
 public:
  TileGroup(const ForwardCall<T>& call, int64_t genome, const NodeBlocksView<T>& blocks,
            const ForwardKernels<T>& kernels, int64_t tiles, int64_t max_links)
      : call_(call),
        s_(call.schedule),
        genome_(genome),
        blocks_(blocks),
        kernels_(kernels),
        width_(kernels.tile_width),
        tile_size_(s_.num_slots[genome] * width_),
        values_(tiles * tile_size_),
        scratch_(new T[std::max<int64_t>(1, max_links)]),
        seconds_(blocks.num_segments) {}

  // Samples [begin, end); false if it was interrupted.
  bool run(int64_t begin, int64_t end, bool drop, Interrupt& interrupt) {
    sample_.resize(end - begin);
    std::iota(sample_.begin(), sample_.end(), begin);
    for (int64_t i = 0; i < num_tiles(); ++i) load(i);
    for (int64_t segment = 0; segment < blocks_.num_segments; ++segment) {
      if (drop && blocks_.may_drop[segment]) drop_zeros(segment);
      const auto start = std::chrono::steady_clock::now();
      for (int64_t i = 0; i < num_tiles(); ++i) {
        if (!kernels_.run_segment(s_, blocks_, segment, tile(i), scratch_.get(), interrupt)) {
          return false;
        }
      }
      executed_ += blocks_.links[segment] * static_cast<int64_t>(sample_.size());
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      seconds_[segment] += spent.count();
    }
    T* const y = output(begin);
    std::fill(y, y + (end - begin) * s_.num_outputs, T(0));  // of those that left
    for (int64_t i = 0; i < num_tiles(); ++i) store(i);
    return true;
  }

  void add_to(TileCounts& counts) const {
    counts.executed += executed_;
    for (size_t i = 0; i < seconds_.size(); ++i) counts.seconds[i] += seconds_[i];
  }

 private:
  T* tile(int64_t i) const { return values_.data() + i * tile_size_; }
  int64_t num_tiles() const { return (static_cast<int64_t>(sample_.size()) + width_ - 1) / width_; }
  int64_t samples_in(int64_t i) const {
    return std::min<int64_t>(width_, static_cast<int64_t>(sample_.size()) - i * width_);
  }
  T* output(int64_t sample) const {
    return call_.y + (genome_ * call_.num_samples + sample) * s_.num_outputs;
  }

  void load(int64_t i) {
    const int64_t inputs = s_.num_inputs, count = samples_in(i);
    const int64_t first = (call_.shared ? 0 : genome_ * call_.num_samples) + sample_[i * width_];
    const T* const x = call_.x + first * inputs;
    T* const values = tile(i);
    std::fill(values, values + tile_size_, T(0));
    // By blocks of inputs: what one sample has in a line of the cache is used at once.
    constexpr int64_t kBlock = 64 / sizeof(T);
    for (int64_t from = 0; from < inputs; from += kBlock) {
      const int64_t to = std::min(inputs, from + kBlock);
      for (int64_t b = 0; b < count; ++b) {
        for (int64_t k = from; k < to; ++k) values[k * width_ + b] = x[b * inputs + k];
      }
    }
  }

  void store(int64_t i) {
    const int64_t outputs = s_.num_outputs, count = samples_in(i);
    const int32_t* const slot = s_.output_slot + genome_ * outputs;
    const T* const values = tile(i);
    for (int64_t b = 0; b < count; ++b) {
      T* const y = output(sample_[i * width_ + b]);
      for (int64_t o = 0; o < outputs; ++o) {
        if (slot[o] >= 0) y[o] = values[int64_t{slot[o]} * width_ + b];
      }
    }
  }

  // Moves the samples that still have a value to the front, if that empties a tile.
  void drop_zeros(int64_t segment) {
    const int32_t* const slot = blocks_.live + blocks_.live_start[segment];
    const int64_t count = blocks_.live_start[segment + 1] - blocks_.live_start[segment];
    stays_.clear();
    const std::unique_ptr<bool[]> has_value(new bool[width_]);
    for (int64_t i = 0; i < num_tiles(); ++i) {
      kernels_.find_bits(tile(i), slot, count, has_value.get());
      for (int64_t b = 0; b < samples_in(i); ++b) {
        if (has_value[b]) stays_.push_back(i * width_ + b);
      }
    }
    const auto staying = static_cast<int64_t>(stays_.size());
    const int64_t tiles = (staying + width_ - 1) / width_;
    if (tiles == num_tiles()) return;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t row = int64_t{slot[k]} * width_;
      for (int64_t to = 0; to < staying; ++to) {  // never behind where it comes from
        *value(to, row) = *value(stays_[to], row);
      }
      for (int64_t to = staying; to < tiles * width_; ++to) *value(to, row) = T(0);
    }
    for (int64_t to = 0; to < staying; ++to) sample_[to] = sample_[stays_[to]];
    sample_.resize(staying);
  }

  T* value(int64_t position, int64_t row) const {
    return tile(position / width_) + row + position % width_;
  }

  const ForwardCall<T>& call_;
  const ScheduleView<T>& s_;
  const int64_t genome_;
  const NodeBlocksView<T>& blocks_;
  const ForwardKernels<T>& kernels_;
  const int64_t width_, tile_size_;
  AlignedArray<T> values_;
  std::unique_ptr<T[]> scratch_;
  std::vector<int64_t> sample_, stays_;  // by position: which sample it is; positions that stay
  std::vector<double> seconds_;
  int64_t executed_ = 0;
};

}  // namespace

template <class T>
bool forward_in_tiles(const ForwardCall<T>& call, int64_t genome, const NodeBlocks<T>& blocks,
                      const ForwardKernels<T>& kernels, int64_t max_links, bool drop, int threads,
                      const Interrupt::Poll& poll, TileCounts& counts) {
  const int64_t width = kernels.tile_width;
  const int64_t all = (call.num_samples + width - 1) / width;
  const int64_t bytes = call.schedule.num_slots[genome] * width * static_cast<int64_t>(sizeof(T));
  const int64_t room = std::clamp<int64_t>(kTileBytes / std::max<int64_t>(1, bytes), 1, kMostTiles);
  // Small enough that every thread has a group or two.
  const int64_t tiles = std::clamp<int64_t>(all / (2 * threads), 1, room);
  const int64_t per_group = tiles * width;
  const int64_t groups = (call.num_samples + per_group - 1) / per_group;
  const NodeBlocksView<T> view = blocks.view();
  std::vector<std::unique_ptr<TileGroup<T>>> group(threads);
  const bool finished = parallel_for(
      threads, groups,
      [&](int worker, int64_t index, Interrupt& interrupt) {
        if (!group[worker]) {
          group[worker] =
              std::make_unique<TileGroup<T>>(call, genome, view, kernels, tiles, max_links);
        }
        group[worker]->run(index * per_group, std::min(call.num_samples, (index + 1) * per_group),
                           drop, interrupt);
      },
      poll);
  counts.seconds.resize(blocks.num_segments());
  for (const auto& one : group) {
    if (one) one->add_to(counts);
  }
  return finished;
}

template bool forward_in_tiles(const ForwardCall<float>&, int64_t, const NodeBlocks<float>&,
                               const ForwardKernels<float>&, int64_t, bool, int,
                               const Interrupt::Poll&, TileCounts&);
template bool forward_in_tiles(const ForwardCall<double>&, int64_t, const NodeBlocks<double>&,
                               const ForwardKernels<double>&, int64_t, bool, int,
                               const Interrupt::Poll&, TileCounts&);

}  // namespace evonet
