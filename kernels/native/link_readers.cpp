// link_readers.cpp: counts the readers of each slot, then writes them in the order of the links.
#include "native/link_readers.h"

#include "nodes/derivatives.h"

namespace evonet {

template <class T>
ReaderLists::ReaderLists(const ScheduleView<T>& s) {
  const int64_t genomes = s.num_genomes, nodes = s.node_start[genomes], edges = s.edge_start[nodes];
  first_slot_.assign(genomes + 1, 0);
  for (int64_t g = 0; g < genomes; ++g) first_slot_[g + 1] = first_slot_[g] + s.num_slots[g] + 1;
  end_.assign(first_slot_[genomes], 0);
  num_rows_.assign(genomes, 0);
  reader_.resize(edges);
  link_row_.resize(edges);
  output_of_.assign(nodes, -1);
  output_node_.assign(genomes * s.num_outputs, -1);
  next_output_.assign(genomes * s.num_outputs, -1);
  std::vector<int64_t> cursor;
  std::vector<int32_t> node_of_slot;
  for (int64_t g = 0; g < genomes; ++g) {
    const int64_t first = s.node_start[g], count = s.num_nodes(g), first_edge = s.edge_start[first],
                  slots = s.num_slots[g];
    int64_t* const end = end_.data() + first_slot_[g];
    node_of_slot.assign(slots, -1);
    cursor.assign(slots, 0);
    int64_t rows = count;
    for (int64_t k = 0; k < count; ++k) {
      int32_t& node = node_of_slot[s.slot[first + k]];
      shares_slots_ |= node >= 0;
      node = static_cast<int32_t>(k);
      const bool evenly = spreads_evenly(s.aggregation[first + k]);
      for (int64_t e = s.edge_start[first + k]; e < s.edge_start[first + k + 1]; ++e) {
        link_row_[e] = static_cast<int32_t>(evenly ? k : rows++);
        ++cursor[s.source[e]];
      }
    }
    num_rows_[g] = rows;
    int64_t at = first_edge;
    for (int64_t i = slots; i-- > 0;) {
      end[i + 1] = at;
      at += cursor[i];
      cursor[i] = end[i + 1];
    }
    end[0] = at;
    for (int64_t e = first_edge; e < s.edge_start[first + count]; ++e) {
      const int64_t to = cursor[s.source[e]]++;
      reader_[to] = {static_cast<int32_t>(e - first_edge), link_row_[e]};
    }
    for (int64_t o = s.num_outputs; o-- > 0;) {
      const int32_t slot = s.output_slot[g * s.num_outputs + o];
      if (slot < 0) continue;
      const int32_t node = output_node_[g * s.num_outputs + o] = node_of_slot[slot];
      if (node < 0) continue;
      next_output_[g * s.num_outputs + o] = output_of_[first + node];
      output_of_[first + node] = static_cast<int32_t>(o);
    }
  }
}

template ReaderLists::ReaderLists(const ScheduleView<float>&);
template ReaderLists::ReaderLists(const ScheduleView<double>&);

}  // namespace evonet
