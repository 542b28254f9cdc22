// link_readers.h: a schedule's links, transposed.
#pragma once

#include <vector>

#include "native/gradient_call.h"
#include "native/thread_pool.h"

namespace evonet {

// Built once for a schedule in which every node has a slot of its own.
class ReaderLists {
 public:
  template <class T>
  explicit ReaderLists(const ScheduleView<T>& schedule);

  LinkReaders view() const {
    return {first_slot_.data(), end_.data(),         reader_.data(),    link_row_.data(),
            num_rows_.data(),   output_node_.data(), output_of_.data(), next_output_.data()};
  }
  // Nodes that share a slot, so that one of the values is lost.
  bool shares_slots() const { return shares_slots_; }

 private:
  std::vector<int64_t> first_slot_, end_, num_rows_;
  std::vector<LinkReader> reader_;
  std::vector<int32_t> link_row_, output_node_, output_of_, next_output_;
  bool shares_slots_ = false;
};

}  // namespace evonet
