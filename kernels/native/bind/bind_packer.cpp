// bind_packer.cpp: schedules as GPUs read them, for Python.
#include "native/bind/bindings.h"
#include "native/bind/read_schedule.h"
#include "native/schedule_packer.h"

using namespace nb::literals;

namespace evonet {
namespace {

// Genomes [begin, end) of a schedule, to be written as GPUs read them; it counts from `begin`.
template <class T>
class Packer {
 public:
  Packer(const nb::object& schedule, int64_t begin, int64_t end, int threads)
      : owner_(read_schedule<T>(schedule)), threads_(usable_threads(threads)) {
    check_number("end", end, 0, owner_.view().num_genomes);
    check_number("begin", begin, 0, end);
    num_genomes_ = end - begin;
    run_interruptibly(
        [&] { return packer_.count(owner_.view().part(begin, end), threads_, python_signal); });
  }

  int64_t num_units() const { return packer_.num_units(); }
  int64_t max_slots() const { return packer_.max_slots(); }
  int64_t largest_genome() const { return packer_.largest_genome(); }
  int64_t max_level_width() const { return packer_.max_level_width(); }

  int64_t nbytes(int64_t begin, int64_t end) const {
    check(begin, end);
    std::array<PackedPart, kPackedArrays> parts;
    return packer_.lay_out(begin, end, parts);
  }

  int64_t piece_end(int64_t begin, int64_t nbytes) const {
    check_number("begin", begin, 0, num_genomes_ - 1);
    return packer_.piece_end(begin, nbytes);
  }

  nb::list write(int64_t begin, int64_t end, Out<uint8_t> piece) const {
    check(begin, end);
    std::array<PackedPart, kPackedArrays> parts;
    const int64_t size = packer_.lay_out(begin, end, parts);
    check_shape("piece", piece, {size});
    if (reinterpret_cast<uintptr_t>(piece.data()) % SchedulePacker<T>::kAlignment != 0) {
      refuse("piece", "does not lie at a multiple of 16 bytes");
    }
    run_interruptibly(
        [&] { return packer_.write(begin, end, parts, threads_, python_signal, piece.data()); });
    nb::list written;
    for (int array = 0; array < packer_.num_arrays(); ++array) {
      const PackedPart& part = parts[array];
      written.append(nb::make_tuple(kPackedNames[array], part.at, part.size, part.to));
    }
    return written;
  }

 private:
  void check(int64_t begin, int64_t end) const {
    check_number("end", end, 0, num_genomes_);
    check_number("begin", begin, 0, end);
  }

  ScheduleRef<T> owner_;
  int threads_;
  int64_t num_genomes_ = 0;
  SchedulePacker<T> packer_;
};

template <class T>
void bind_packer_of(nb::module_& m, const char* name) {
  nb::class_<Packer<T>>(m, name)
      .def(nb::init<const nb::object&, int64_t, int64_t, int>(), "schedule"_a, "begin"_a, "end"_a,
           "threads"_a)
      .def_prop_ro("num_units", &Packer<T>::num_units)
      .def_prop_ro("max_slots", &Packer<T>::max_slots)
      .def_prop_ro("largest_genome", &Packer<T>::largest_genome)
      .def_prop_ro("max_level_width", &Packer<T>::max_level_width)
      .def("nbytes", &Packer<T>::nbytes, "begin"_a, "end"_a, "The size of a piece.")
      .def("piece_end", &Packer<T>::piece_end, "begin"_a, "nbytes"_a,
           "Where the genomes end that fit into so many bytes.")
      .def("write", &Packer<T>::write, "begin"_a, "end"_a, "piece"_a.noconvert(),
           "Writes a piece; for each array its name, place and size there, and its destination.");
}

}  // namespace

void bind_packer(nb::module_& m) {
  bind_packer_of<float>(m, "SchedulePacker32");
  bind_packer_of<double>(m, "SchedulePacker64");
}

}  // namespace evonet
