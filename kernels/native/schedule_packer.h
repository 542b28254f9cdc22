// schedule_packer.h: writes schedules as GPUs read them; schedule_units.h describes the units. The
// genomes are written in pieces, each to memory that the GPU copies from while the next is written.
#pragma once

#include <array>

#include "native/buffer.h"
#include "native/schedule_view.h"
#include "native/thread_pool.h"

namespace evonet {

// The arrays of a packed schedule; evonet/backends/cuda/layout.py has their shapes. The last three
// are only those of networks with memory.
enum PackedArray : int {
  kUnitStart,
  kNodeStart,
  kLevelStart,
  kLevelEnd,
  kNodeUnit,
  kUnits,
  kOutputSlot,
  kSlot,
  kNumSlots,
  kCell,
  kPackedArrays
};
extern const char* const kPackedNames[kPackedArrays];

// Where a part of an array lies in a piece, and where it belongs in the array, in bytes.
struct PackedPart {
  int64_t at, size, to;
};

template <class T>
class SchedulePacker {
 public:
  static constexpr int64_t kAlignment = 16;  // of every part in a piece, in bytes

  // Counts what the genomes of the view need; false if poll asked to stop.
  bool count(const ScheduleView<T>& schedule, int threads, const Interrupt::Poll& poll);

  int64_t num_units() const { return unit_start_.data[s_.num_genomes]; }
  int64_t max_slots() const { return max_slots_; }
  int64_t largest_genome() const { return largest_; }  // the first with so many slots
  int64_t max_level_width() const { return max_width_; }
  int num_arrays() const { return s_.num_states > 0 ? kPackedArrays : kSlot; }

  // The parts of genomes [begin, end), and the size of a piece that holds them.
  int64_t lay_out(int64_t begin, int64_t end, std::array<PackedPart, kPackedArrays>& parts) const;

  // As many genomes from `begin` on as fit into so many bytes, at least one: where they end.
  int64_t piece_end(int64_t begin, int64_t bytes) const;

  // Writes genomes [begin, end) to memory that lay_out has measured.
  bool write(int64_t begin, int64_t end, const std::array<PackedPart, kPackedArrays>& parts,
             int threads, const Interrupt::Poll& poll, uint8_t* piece) const;

 private:
  // Bytes of an array before a genome.
  int64_t bytes_before(int array, int64_t genome) const;
  void write_genomes(int64_t begin, int64_t end, bool is_last,
                     const std::array<PackedPart, kPackedArrays>& parts, Interrupt& interrupt,
                     uint8_t* piece) const;

  ScheduleView<T> s_{};
  Buffer<int64_t> unit_start_;  // [P + 1]
  int64_t max_slots_ = 0, largest_ = 0, max_width_ = 0;
};

}  // namespace evonet
