// read_schedule.h: a Schedule object of Python as plain pointers, checked once in its life.
#pragma once

#include <vector>

#include "native/bind/arrays.h"
#include "native/bind/bindings.h"
#include "native/schedule_check.h"
#include "native/schedule_view.h"
#include "nodes/cells.h"

namespace evonet {

// A schedule in which nothing points outside, and the arrays that it points to. Python sees it as
// an opaque object, which the Schedule keeps.
template <class T>
class CheckedSchedule {
 public:
  ScheduleView<T> view;
  ScheduleExtent extent;
  bool is_complete = true;

  // What the compiler made, right by construction and read-only: only what Python adds to it is
  // still missing.
  CheckedSchedule(const ScheduleView<T>& compiled, nb::object arrays);

  // Raises a ShapeError if anything is wrong.
  explicit CheckedSchedule(const nb::object& schedule);

  // Adds what a Schedule has besides the compiled arrays.
  void complete(const nb::object& schedule);

 private:
  // Reads an array and keeps it; size_ is its length.
  template <class E, int N = 1, class... Sizes>
  const E* read(const nb::object& schedule, const char* name, Sizes... sizes);

  void read_dynamics(const nb::object& dynamics);

  std::vector<nb::ndarray<>> kept_;
  nb::object compiled_;
  int64_t size_ = 0;
};

// A checked schedule, and what keeps it alive.
template <class T>
struct ScheduleRef {
  nb::object owner;
  const CheckedSchedule<T>* checked;

  operator const ScheduleView<T>&() const { return checked->view; }
  const ScheduleView<T>& view() const { return checked->view; }
  const ScheduleExtent& extent() const { return checked->extent; }
};

// Notes what is known about a Schedule in it, past the class's own __setattr__: it is frozen. What
// has no room for it is checked again the next time.
void note_checked(const nb::object& schedule, const nb::object& checked);

// Raises a ShapeError if the schedule is wrong anywhere. Whatever runs a schedule reads it by this
// function: the first to do so checks it, and the Schedule object keeps the outcome for the others.
template <class T>
ScheduleRef<T> read_schedule(const nb::object& schedule);

// Compiled once, in read_schedule.cpp.
extern template class CheckedSchedule<float>;
extern template class CheckedSchedule<double>;
extern template ScheduleRef<float> read_schedule<float>(const nb::object& schedule);
extern template ScheduleRef<double> read_schedule<double>(const nb::object& schedule);

}  // namespace evonet
