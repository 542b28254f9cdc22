#include "native/schedule_packer.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cuda/unit_writer.h"

namespace evonet {

const char* const kPackedNames[kPackedArrays] = {
    "unit_start", "node_start",  "level_start", "level_end", "node_unit",
    "units",      "output_slot", "slot",        "num_slots", "cell"};

namespace {

constexpr int64_t kPatience = 1 << 20;  // links between two looks at the interrupt
constexpr int64_t kGenomeChunk = 1024;  // genomes that a thread counts at a time
constexpr int64_t kWords = kUnit / sizeof(uint32_t);

// Writes links without a branch, so that the loop has vectors.
template <class T>
void pack_links(int32_t slot, const int32_t* source, const T* weight, int64_t count,
                uint32_t* __restrict to) {
  constexpr int64_t kLinkWords = kWords / kLinksPerUnit<T>;
  for (int64_t i = 0; i < count; ++i) {
    const LinkWords<T> link = link_words<T>(slot - source[i], weight[i]);
    for (int64_t w = 0; w < kLinkWords; ++w) to[kLinkWords * i + w] = link.word[w];
  }
  if (count % kLinksPerUnit<T> != 0) {
    std::fill(to + kLinkWords * count, to + kLinkWords * (count + 1), 0u);
  }
}

// Writes one node with the links [begin, end) to `to`.
template <class T>
void pack_node(const ScheduleView<T>& s, int64_t node, int64_t begin, int64_t end, bool is_last,
               uint32_t* to) {
  const int32_t slot = s.slot[node];
  const HeaderWords<T> header =
      header_words<T>(s.bias[node], s.response[node], static_cast<int32_t>(end - begin),
                      s.aggregation[node], slot, is_last, s.activation[node]);
  std::memcpy(to, header.word, sizeof header);
  pack_links(slot, s.source + begin, s.weight + begin, end - begin, to + kHeaderUnits<T> * kWords);
}

// Copies offsets, counted from `base`.
void copy_offsets(const int64_t* from, int64_t count, int64_t base, uint8_t* to) {
  auto* __restrict const out = reinterpret_cast<int64_t*>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = from[i] - base;
}

}  // namespace

template <class T>
bool SchedulePacker<T>::count(const ScheduleView<T>& schedule, int threads,
                              const Interrupt::Poll& poll) {
  s_ = schedule;
  unit_start_ = Buffer<int64_t>(s_.num_genomes + 1);
  int64_t* const starts = unit_start_.data.get();
  const int64_t chunks = (s_.num_genomes + kGenomeChunk - 1) / kGenomeChunk;
  struct Found {
    int64_t units = 0, slots = 0, genome = 0, width = 0;
  };
  std::vector<Found> found(chunks);
  const auto each = [&](int64_t chunk, const auto& visit) {
    const int64_t end = std::min((chunk + 1) * kGenomeChunk, s_.num_genomes);
    for (int64_t g = chunk * kGenomeChunk; g < end; ++g) visit(g);
  };
  if (!parallel_for(
          threads, chunks,
          [&](int, int64_t chunk, Interrupt&) {
            Found here;
            each(chunk, [&](int64_t g) {
              starts[g] = here.units;
              for (int64_t k = s_.node_start[g]; k < s_.node_start[g + 1]; ++k) {
                here.units += units_of<T>(s_.edge_start[k + 1] - s_.edge_start[k]);
              }
              if (s_.num_slots[g] > here.slots) {
                here.slots = s_.num_slots[g];
                here.genome = g;
              }
              int64_t before = 0;
              for (int64_t l = s_.level_start[g]; l < s_.level_start[g + 1]; ++l) {
                here.width = std::max(here.width, s_.level_end[l] - before);
                before = s_.level_end[l];
              }
            });
            found[chunk] = here;
          },
          poll)) {
    return false;
  }
  int64_t total = 0;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const Found& here = found[chunk];
    if (here.slots > max_slots_) {
      max_slots_ = here.slots;
      largest_ = here.genome;
    }
    max_width_ = std::max(max_width_, here.width);
    const int64_t units = here.units;
    found[chunk].units = total;
    total += units;
  }
  starts[s_.num_genomes] = total;
  return parallel_for(
      threads, chunks,
      [&](int, int64_t chunk, Interrupt&) {
        each(chunk, [&](int64_t g) { starts[g] += found[chunk].units; });
      },
      poll);
}

template <class T>
int64_t SchedulePacker<T>::bytes_before(int array, int64_t genome) const {
  const int64_t nodes = s_.node_start[genome] - s_.node_start[0];
  switch (array) {
    case kLevelEnd:
      return (s_.level_start[genome] - s_.level_start[0]) * int64_t{sizeof(int32_t)};
    case kNodeUnit:
    case kSlot:
      return nodes * int64_t{sizeof(int32_t)};
    case kUnits:
      return unit_start_.data[genome] * kUnit;
    case kOutputSlot:
      return genome * s_.num_outputs * int64_t{sizeof(int32_t)};
    case kCell:
      return nodes * s_.num_parameters * int64_t{sizeof(T)};
    default:
      return genome * int64_t{sizeof(int64_t)};
  }
}

template <class T>
int64_t SchedulePacker<T>::lay_out(int64_t begin, int64_t end,
                                   std::array<PackedPart, kPackedArrays>& parts) const {
  int64_t at = 0;
  for (int array = 0; array < num_arrays(); ++array) {
    const int64_t to = bytes_before(array, begin);
    int64_t size = bytes_before(array, end) - to;
    // Where the last genome ends; the next piece writes the same there.
    if (array == kUnitStart || array == kNodeStart || array == kLevelStart) size += 8;
    parts[array] = {at, size, to};
    at = (at + size + kAlignment - 1) / kAlignment * kAlignment;
  }
  return at;
}

template <class T>
int64_t SchedulePacker<T>::piece_end(int64_t begin, int64_t bytes) const {
  std::array<PackedPart, kPackedArrays> parts;
  int64_t low = begin + 1, high = s_.num_genomes;  // the answer is in [low, high]
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (lay_out(begin, middle, parts) <= bytes) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

template <class T>
void SchedulePacker<T>::write_genomes(int64_t begin, int64_t end, bool is_last,
                                      const std::array<PackedPart, kPackedArrays>& parts,
                                      Interrupt& interrupt, uint8_t* piece) const {
  const auto place = [&](int array, int64_t genome) {
    return piece + parts[array].at + bytes_before(array, genome) - parts[array].to;
  };
  const int64_t offsets = end - begin + (is_last ? 1 : 0), first_node = s_.node_start[begin];
  copy_offsets(unit_start_.data.get() + begin, offsets, 0, place(kUnitStart, begin));
  copy_offsets(s_.node_start + begin, offsets, s_.node_start[0], place(kNodeStart, begin));
  copy_offsets(s_.level_start + begin, offsets, s_.level_start[0], place(kLevelStart, begin));
  const auto copy = [&](int array, const auto* from) {
    const int64_t size = bytes_before(array, end) - bytes_before(array, begin);
    if (size > 0) std::memcpy(place(array, begin), from, size);
  };
  copy(kLevelEnd, s_.level_end + s_.level_start[begin]);
  copy(kOutputSlot, s_.output_slot + begin * s_.num_outputs);
  if (num_arrays() > kSlot) {
    copy(kSlot, s_.slot + first_node);
    copy(kNumSlots, s_.num_slots + begin);
    copy(kCell, s_.cell + first_node * s_.num_parameters);
  }
  auto* const node_unit = reinterpret_cast<int32_t*>(place(kNodeUnit, begin));
  auto* const units = reinterpret_cast<uint32_t*>(place(kUnits, begin));
  const int64_t first_unit = unit_start_.data[begin];
  const ScheduleView<T> s = s_;  // a copy that the stores below cannot alias
  int64_t patience = kPatience, link = s.edge_start[first_node];
  for (int64_t g = begin, k = first_node; g < end; ++g) {
    int64_t at = 0;
    uint32_t* const to = units + (unit_start_.data[g] - first_unit) * kWords;
    for (const int64_t last = s.node_start[g + 1]; k < last; ++k) {
      const int64_t next = s.edge_start[k + 1];
      node_unit[k - first_node] = static_cast<int32_t>(at);
      pack_node(s, k, link, next, k + 1 == last, to + at * kWords);
      at += units_of<T>(next - link);
      patience -= next - link + 8;
      link = next;
      if (patience < 0) {
        patience = kPatience;
        if (interrupt.requested()) return;
      }
    }
  }
}

template <class T>
bool SchedulePacker<T>::write(int64_t begin, int64_t end,
                              const std::array<PackedPart, kPackedArrays>& parts, int threads,
                              const Interrupt::Poll& poll, uint8_t* piece) const {
  const int64_t chunks = std::min<int64_t>(std::max<int64_t>(end - begin, 1), 8 * threads);
  const auto edge = [&](int64_t chunk) { return begin + (end - begin) * chunk / chunks; };
  return parallel_for(
      threads, chunks,
      [&](int, int64_t chunk, Interrupt& interrupt) {
        write_genomes(edge(chunk), edge(chunk + 1), chunk + 1 == chunks, parts, interrupt, piece);
      },
      poll);
}

template class SchedulePacker<float>;
template class SchedulePacker<double>;

}  // namespace evonet
