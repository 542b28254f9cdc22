#include "native/pack_units.h"

#include <algorithm>
#include <cstring>

#include "cuda/schedule_units.h"

namespace evonet {

namespace {

constexpr int64_t kPatience = 1 << 20;  // links between two looks at the interrupt
constexpr int64_t kWords = kUnit / sizeof(uint32_t);

template <class T>
int64_t units_of(int64_t num_links) {
  return kHeaderUnits<T> + (num_links + kLinksPerUnit<T> - 1) / kLinksPerUnit<T>;
}

// Writes one node to `to`.
template <class T>
void pack_node(const ScheduleView<T>& s, int64_t node, bool is_last, uint32_t* to) {
  const int64_t begin = s.edge_start[node], count = s.edge_start[node + 1] - begin;
  std::fill(to, to + units_of<T>(count) * kWords, 0u);
  NodeHeader<T> header{};
  header.bias = s.bias[node];
  header.response = s.response[node];
  header.links = static_cast<uint32_t>(count) << 8 | s.aggregation[node];
  header.place = static_cast<uint32_t>(s.slot[node]) << 9 | is_last << 8 | s.activation[node];
  constexpr size_t kFields = 2 * sizeof(T) + 2 * sizeof(int32_t);
  std::memcpy(to, &header, kFields);  // and not what pads it
  to += kHeaderUnits<T> * kWords;
  constexpr int64_t kLinkWords = kWords / kLinksPerUnit<T>;
  for (int64_t i = 0; i < count; ++i, to += kLinkWords) {
    const int32_t back = s.slot[node] - s.source[begin + i];
    std::memcpy(to, &back, sizeof back);
    std::memcpy(to + kLinkWords / 2, &s.weight[begin + i], sizeof(T));
  }
}

}  // namespace

template <class T>
bool pack_units(const ScheduleView<T>& s, int threads, const Interrupt::Poll& poll,
                PackedUnits& out) {
  const int64_t first_node = s.node_start[0];
  out.unit_start = Buffer<int64_t>(s.num_genomes + 1);
  out.unit_start.data[0] = 0;
  for (int64_t g = 0; g < s.num_genomes; ++g) {
    int64_t units = 0;
    for (int64_t k = s.node_start[g]; k < s.node_start[g + 1]; ++k) {
      units += units_of<T>(s.edge_start[k + 1] - s.edge_start[k]);
    }
    out.unit_start.data[g + 1] = out.unit_start.data[g] + units;
  }
  out.units = Buffer<uint32_t>(out.unit_start.data[s.num_genomes] * kWords);
  out.node_unit = Buffer<int32_t>(s.node_start[s.num_genomes] - first_node);

  const int64_t parts = std::min<int64_t>(s.num_genomes, 8 * threads);
  return parallel_for(
      threads, parts,
      [&](int, int64_t part, Interrupt& interrupt) {
        int64_t patience = kPatience;
        const int64_t end = s.num_genomes * (part + 1) / parts;
        for (int64_t g = s.num_genomes * part / parts; g < end; ++g) {
          uint32_t* const units = out.units.data.get() + out.unit_start.data[g] * kWords;
          int64_t at = 0;
          for (int64_t k = s.node_start[g]; k < s.node_start[g + 1]; ++k) {
            out.node_unit.data[k - first_node] = static_cast<int32_t>(at);
            pack_node(s, k, k + 1 == s.node_start[g + 1], units + at * kWords);
            const int64_t count = s.edge_start[k + 1] - s.edge_start[k];
            at += units_of<T>(count);
            patience -= count + 8;
            if (patience < 0) {
              patience = kPatience;
              if (interrupt.requested()) return;
            }
          }
        }
      },
      poll);
}

template bool pack_units(const ScheduleView<float>&, int, const Interrupt::Poll&, PackedUnits&);
template bool pack_units(const ScheduleView<double>&, int, const Interrupt::Poll&, PackedUnits&);

}  // namespace evonet
