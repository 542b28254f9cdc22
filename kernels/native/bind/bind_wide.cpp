// bind_wide.cpp: wide levels for Python. Every function checks all arrays before it runs.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "native/bind/bindings.h"
#include "native/wide.h"
#include "native/worker_memory.h"
#include "native/xmc_text.h"
#include "wide/hash.h"
#include "wide/rows.h"

namespace evonet {
namespace {

using namespace nb::literals;
using Floats1 = In<float>;
using Floats2 = Array<const float, 2>;
using Ints1 = In<int32_t>;
using Ints2 = Array<const int32_t, 2>;

template <class Found>
int64_t size_of(const Found& array, size_t dimension) {
  return static_cast<int64_t>(array.shape(dimension));
}

int32_t check_width(int64_t width) {
  if (width < kRowLanes || width % kRowLanes != 0 || width > 1 << 20) {
    refuse("width", "is " + std::to_string(width) + ", and must be a multiple of 16");
  }
  return static_cast<int32_t>(width);
}

HashPlan read_plan(int kind, int bits, int tables, int64_t columns,
                   const Array<const float, 3>& signs, const Ints2& positions, const Ints2& borrow,
                   int64_t width) {
  check_number("kind", kind, SIMHASH, DWTA);
  check_number("bits", bits, 1, 24);
  check_number("tables", tables, 1, 4096);
  check_number("columns", columns, width, 1 << 20);
  const int digit = digit_bits(kind);
  const int64_t functions = int64_t{tables} * (bits / digit);
  if (bits % digit != 0 || (columns & (columns - 1)) != 0) {
    refuse("plan", "needs bits that digits fill, and columns that are a power of 2");
  }
  if (kind == SIMHASH) {
    check_shape("signs", signs, {(functions + columns - 1) / columns, 2, columns});
  } else {
    check_shape("positions", positions, {functions, kBinColumns});
    check_shape("borrow", borrow, {functions, kBorrowings});
    check_positions("positions", positions, 0, columns);
    check_positions("borrow", borrow, 0, functions);
  }
  return {kind,         bits, tables, static_cast<int32_t>(columns), signs.data(), positions.data(),
          borrow.data()};
}

void weights(Array<float, 2> weights, int64_t hidden, float scale, uint64_t seed, uint32_t level,
             int threads) {
  const int64_t num_rows = size_of(weights, 0);
  const int32_t width = check_width(size_of(weights, 1));
  check_shape("weights", weights, {num_rows, width});
  check_number("hidden", hidden, 1, width);
  nb::gil_scoped_release release;
  draw_weights(weights.data(), num_rows, static_cast<int32_t>(hidden), width, scale, seed, level,
               threads);
}

void hash(int kind, int bits, int tables, int64_t columns, Array<const float, 3> signs,
          Ints2 positions, Ints2 borrow, Floats2 rows, std::optional<Ints1> which,
          Array<int32_t, 2> codes, bool by_table, int threads, const std::string& simd) {
  const int64_t num_rows = size_of(rows, 0);
  const int32_t width = check_width(size_of(rows, 1));
  check_shape("rows", rows, {num_rows, width});
  if (by_table) {
    check_shape("codes", codes, {tables, num_rows});
  } else {
    check_shape("codes", codes, {num_rows, tables});
  }
  if (which) check_positions("which", *which, 0, num_rows);
  const HashCall call{read_plan(kind, bits, tables, columns, signs, positions, borrow, width),
                      rows.data(),
                      width,
                      which ? which->data() : nullptr,
                      codes.data(),
                      by_table ? num_rows : 1,
                      by_table ? 1 : tables};
  const int64_t count = which ? size_of(*which, 0) : num_rows;
  const WideKernels& kernels = find_isa(simd).wide;
  constexpr int64_t kChunk = 512;
  const int workers = usable_threads(threads);
  std::vector<AlignedArray<char>> scratch;
  for (int i = 0; i < workers; ++i) scratch.emplace_back(kernels.hash_scratch(call.plan));
  run_interruptibly([&] {
    return parallel_for(
        workers, (count + kChunk - 1) / kChunk,
        [&](int worker, int64_t chunk, Interrupt&) {
          kernels.hash(call, chunk * kChunk, std::min(count, (chunk + 1) * kChunk),
                       scratch[worker].data());
        },
        python_signal);
  });
}

void build(Ints2 codes, int capacity, int keep, uint64_t seed, uint32_t epoch,
           Array<int32_t, 2> starts, Array<int32_t, 2> ids, int threads) {
  const int64_t tables = size_of(codes, 0), rows = size_of(codes, 1);
  const int64_t buckets = size_of(starts, 1) - 1;
  check_number("rows", rows, 0, kMostInt32);
  check_number("buckets", buckets, 1, 1 << 24);
  check_number("capacity", capacity, 1, kMostInt32);
  check_number("keep", keep, KEEP_RESERVOIR, KEEP_LAST);
  check_shape("codes", codes, {tables, rows});
  check_shape("starts", starts, {tables, buckets + 1});
  check_shape("ids", ids, {tables, rows});
  check_positions("codes", codes, 0, buckets);
  const BuildCall call{rows,
                       static_cast<int32_t>(tables),
                       static_cast<int32_t>(buckets),
                       capacity,
                       keep,
                       seed,
                       epoch,
                       codes.data(),
                       starts.data(),
                       ids.data()};
  nb::gil_scoped_release release;
  build_tables(call, threads);
}

void active(Ints2 codes, Ints2 starts, Ints2 ids, In<int64_t> label_start, Ints1 labels,
            Ints1 shared, Ints1 fill, int64_t limit, int64_t minimum, uint64_t seed, uint32_t step,
            Array<int32_t, 2> active, Out<int64_t> count, int threads) {
  const int64_t samples = size_of(codes, 0), tables = size_of(codes, 1), rows = size_of(ids, 1);
  const int64_t buckets = size_of(starts, 1) - 1, most = size_of(active, 1);
  check_number("tables", tables, 1, 4096);
  check_shape("codes", codes, {samples, tables});
  check_shape("starts", starts, {tables, buckets + 1});
  check_shape("ids", ids, {tables, rows});
  check_shape("label_start", label_start, {samples + 1});
  check_shape("active", active, {samples, most});
  check_shape("count", count, {samples});
  check_number("limit", limit, 0, kMostInt32);
  check_number("minimum", minimum, 0, kMostInt32);
  check_positions("codes", codes, 0, buckets);
  check_positions("labels", labels, 0, rows);
  check_positions("shared", shared, 0, rows);
  check_positions("fill", fill, 0, rows);
  check_offsets("label_start", label_start, size_of(labels, 0));
  int64_t most_labels = 0;
  for (int64_t b = 0; b < samples; ++b) {
    most_labels = std::max(most_labels, label_start.data()[b + 1] - label_start.data()[b]);
  }
  const int64_t fills = std::min(minimum, size_of(fill, 0));
  check_number("room", most, limit + most_labels + size_of(shared, 0) + fills, kMostInt32);
  const ActiveCall call{samples,
                        rows,
                        static_cast<int32_t>(tables),
                        static_cast<int32_t>(buckets),
                        codes.data(),
                        starts.data(),
                        ids.data(),
                        label_start.data(),
                        labels.data(),
                        shared.data(),
                        size_of(shared, 0),
                        fill.data(),
                        size_of(fill, 0),
                        limit,
                        minimum,
                        seed,
                        step,
                        most,
                        active.data(),
                        count.data()};
  nb::gil_scoped_release release;
  find_active(call, threads);
}

// Lists as begin [B], end [B] and rows [E] that lie in the level.
RowLists read_lists(const In<int64_t>& begin, const In<int64_t>& end,
                    const Array<const int32_t, -1>& rows, int64_t num_rows) {
  const int64_t count = size_of(begin, 0), entries = static_cast<int64_t>(rows.size());
  check_shape("begin", begin, {count});
  check_shape("end", end, {count});
  for (int64_t b = 0; b < count; ++b) {
    const int64_t from = begin.data()[b], to = end.data()[b];
    if (from < 0 || from > to || to > entries) {
      refuse("list " + std::to_string(b), "lies outside of the rows");
    }
    const int32_t* const row = rows.data();
    bool ascends = from == to || (row[from] >= 0 && row[to - 1] < num_rows);
    for (int64_t e = from + 1; e < to; ++e) ascends &= row[e - 1] < row[e];
    if (!ascends) {
      refuse("list " + std::to_string(b), "must ascend from 0 to " + std::to_string(num_rows - 1));
    }
  }
  return {count, begin.data(), end.data(), rows.data()};
}

void forward(Floats2 dense, Floats2 weights, Floats2 state, In<int64_t> begin, In<int64_t> end,
             Array<const int32_t, -1> rows, In<int64_t> label_start, Ints1 labels, float scale,
             Array<float, -1> gradient, Out<float> loss, Out<bool> hit, int threads,
             const std::string& simd) {
  const int64_t num_rows = size_of(weights, 0), samples = size_of(dense, 0);
  const int32_t width = check_width(size_of(weights, 1));
  check_shape("dense", dense, {samples, width});
  check_shape("weights", weights, {num_rows, width});
  check_shape("state", state, {num_rows, kRowState});
  check_shape("label_start", label_start, {samples + 1});
  check_shape("loss", loss, {samples});
  check_shape("hit", hit, {samples});
  check_offsets("label_start", label_start, size_of(labels, 0));
  const RowLists lists = read_lists(begin, end, rows, num_rows);
  if (lists.num_lists != samples) refuse("begin", "must have an entry for each sample");
  if (gradient.size() != rows.size()) refuse("gradient", "must have the size of rows");
  for (int64_t b = 0; b < samples; ++b) {
    const int32_t* const list = lists.rows + lists.begin[b];
    const int32_t* const last = lists.rows + lists.end[b];
    for (int64_t i = label_start.data()[b]; i < label_start.data()[b + 1]; ++i) {
      if (!std::binary_search(list, last, labels.data()[i])) {
        refuse("labels[" + std::to_string(i) + "]", "is not in the list of its sample");
      }
    }
  }
  const WideKernels& kernels = find_isa(simd).wide;
  nb::gil_scoped_release release;
  parallel_for(
      threads, samples,
      [&](int, int64_t b, Interrupt&) {
        const int64_t at = lists.begin[b], count = lists.end[b] - at;
        const int64_t first = label_start.data()[b];
        kernels.dots(weights.data(), state.data(), width, lists.rows + at, count,
                     dense.data() + b * width, gradient.data() + at);
        loss.data()[b] =
            kernels.softmax(gradient.data() + at, lists.rows + at, count, labels.data() + first,
                            label_start.data()[b + 1] - first, scale, hit.data() + b);
      },
      [] { return false; });
}

void sum(In<int64_t> begin, In<int64_t> end, Array<const int32_t, -1> rows,
         Array<const float, -1> coefficient, Floats2 weights, bool rectify, Array<float, 2> out,
         int threads, const std::string& simd) {
  const int64_t num_rows = size_of(weights, 0);
  const int32_t width = check_width(size_of(weights, 1));
  check_shape("weights", weights, {num_rows, width});
  const RowLists lists = read_lists(begin, end, rows, num_rows);
  check_shape("out", out, {lists.num_lists, width});
  if (coefficient.size() != rows.size()) refuse("coefficient", "must have the size of rows");
  const WideKernels& kernels = find_isa(simd).wide;
  nb::gil_scoped_release release;
  parallel_for(
      threads, lists.num_lists,
      [&](int, int64_t b, Interrupt&) {
        const int64_t at = lists.begin[b];
        kernels.sum(weights.data(), width, lists.rows + at, coefficient.data() + at,
                    lists.end[b] - at, rectify, out.data() + b * width);
      },
      [] { return false; });
}

void step_rows(In<int64_t> begin, In<int64_t> end, Array<const int32_t, -1> rows,
               Array<const float, -1> coefficient, Floats2 dense, Array<float, 2> weights,
               Array<float, 2> mean, Array<float, 2> square, Array<float, 2> state, bool with_bias,
               float keep_mean, float keep_square, float add_mean, float add_square, float epsilon,
               Floats1 corrected_rate, Floats1 correction, int threads, const std::string& simd) {
  const int64_t num_rows = size_of(weights, 0), samples = size_of(dense, 0);
  const int32_t width = check_width(size_of(weights, 1));
  for (const auto& [name, array] :
       {std::pair{"weights", &weights}, {"mean", &mean}, {"square", &square}}) {
    check_shape(name, *array, {num_rows, width});
  }
  check_shape("state", state, {num_rows, kRowState});
  check_shape("dense", dense, {samples, width});
  const RowLists lists = read_lists(begin, end, rows, num_rows);
  if (lists.num_lists != samples) refuse("begin", "must have an entry for each sample");
  if (coefficient.size() != rows.size()) refuse("coefficient", "must have the size of rows");
  const int64_t corrections = size_of(corrected_rate, 0);
  check_number("corrections", corrections, 1, 1 << 24);
  check_shape("correction", correction, {corrections});
  const AdamCall adam{
      keep_mean, keep_square,           add_mean,          add_square,
      epsilon,   corrected_rate.data(), correction.data(), static_cast<int32_t>(corrections)};
  const LevelView level{num_rows, width, weights.data(), mean.data(), square.data(), state.data()};
  const WideKernels& kernels = find_isa(simd).wide;
  nb::gil_scoped_release release;
  update_rows(level, lists, coefficient.data(), dense.data(), adam, with_bias, kernels, threads);
}

void top(Floats2 dense, Floats2 weights, Floats2 state, Array<int32_t, 2> ids,
         Array<float, 2> scores, int threads, const std::string& simd) {
  const int64_t num_rows = size_of(weights, 0), samples = size_of(dense, 0);
  const int64_t k = size_of(ids, 1);
  const int32_t width = check_width(size_of(weights, 1));
  check_shape("dense", dense, {samples, width});
  check_shape("weights", weights, {num_rows, width});
  check_shape("state", state, {num_rows, kRowState});
  check_shape("ids", ids, {samples, k});
  check_shape("scores", scores, {samples, k});
  check_number("k", k, 1, num_rows);
  // It is only read.
  const LevelView level{num_rows, width,   const_cast<float*>(weights.data()),
                        nullptr,  nullptr, const_cast<float*>(state.data())};
  const WideKernels& kernels = find_isa(simd).wide;
  run_interruptibly([&] {
    return find_top(level, dense.data(), samples, k, kernels, threads, python_signal, ids.data(),
                    scores.data());
  });
}

template <class E>
nb::object copy_to_numpy(const std::vector<E>& values) {
  Buffer<E> copy(static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), copy.data.get());
  return to_numpy(copy);
}

nb::object read_text(const nb::bytes& text, const std::string& where) {
  const std::string_view view(text.c_str(), text.size());
  XmcText found;
  std::string fault;
  {
    nb::gil_scoped_release release;
    try {
      found = read_xmc(view);
    } catch (const XmcError& error) {
      fault = error.what();
    }
  }
  if (!fault.empty()) raise_error("FileFormatError", where + ", " + fault);
  return nb::make_tuple(found.num_features, found.num_labels, copy_to_numpy(found.feature_start),
                        copy_to_numpy(found.features), copy_to_numpy(found.values),
                        copy_to_numpy(found.label_start), copy_to_numpy(found.labels));
}

}  // namespace

void bind_wide(nb::module_& m) {
  m.def("wide_weights", &weights, "weights"_a.noconvert(), "hidden"_a, "scale"_a, "seed"_a,
        "level"_a, "threads"_a, "Draws first weights [R, W] from -scale to scale.");
  m.def("wide_hash", &hash, "kind"_a, "bits"_a, "tables"_a, "columns"_a, "signs"_a.noconvert(),
        "positions"_a.noconvert(), "borrow"_a.noconvert(), "rows"_a.noconvert(),
        "which"_a.noconvert().none(), "codes"_a.noconvert(), "by_table"_a, "threads"_a, "simd"_a,
        "Hashes rows [R, W], or those that `which` lists, into codes [tables, R] or [R, tables].");
  m.def("wide_build", &build, "codes"_a.noconvert(), "capacity"_a, "keep"_a, "seed"_a, "epoch"_a,
        "starts"_a.noconvert(), "ids"_a.noconvert(), "threads"_a,
        "Fills the buckets of all tables: codes [L, R] -> starts [L, buckets + 1], ids [L, R].");
  m.def("wide_active", &active, "codes"_a.noconvert(), "starts"_a.noconvert(), "ids"_a.noconvert(),
        "label_start"_a.noconvert(), "labels"_a.noconvert(), "shared"_a.noconvert(),
        "fill"_a.noconvert(), "limit"_a, "minimum"_a, "seed"_a, "step"_a, "active"_a.noconvert(),
        "count"_a.noconvert(), "threads"_a,
        "Finds the rows of each sample: active [B, most], count [B].");
  m.def("wide_forward", &forward, "dense"_a.noconvert(), "weights"_a.noconvert(),
        "state"_a.noconvert(), "begin"_a.noconvert(), "end"_a.noconvert(), "rows"_a.noconvert(),
        "label_start"_a.noconvert(), "labels"_a.noconvert(), "scale"_a, "gradient"_a.noconvert(),
        "loss"_a.noconvert(), "hit"_a.noconvert(), "threads"_a, "simd"_a,
        "The softmax over each sample's rows: its gradient, its loss, whether a label is on top.");
  m.def("wide_sum", &sum, "begin"_a.noconvert(), "end"_a.noconvert(), "rows"_a.noconvert(),
        "coefficient"_a.noconvert(), "weights"_a.noconvert(), "rectify"_a, "out"_a.noconvert(),
        "threads"_a, "simd"_a, "Adds up coefficient * row over each list, into out [B, W].");
  m.def("wide_update", &step_rows, "begin"_a.noconvert(), "end"_a.noconvert(), "rows"_a.noconvert(),
        "coefficient"_a.noconvert(), "dense"_a.noconvert(), "weights"_a.noconvert(),
        "mean"_a.noconvert(), "square"_a.noconvert(), "state"_a.noconvert(), "with_bias"_a,
        "keep_mean"_a, "keep_square"_a, "add_mean"_a, "add_square"_a, "epsilon"_a,
        "corrected_rate"_a.noconvert(), "correction"_a.noconvert(), "threads"_a, "simd"_a,
        "A step of Adam for all rows that a list names, in place.");
  m.def("read_xmc", &read_text, "text"_a, "where"_a,
        "Features and labels of a text: their numbers, and start, positions (and values) of each.");
  m.def("wide_top", &top, "dense"_a.noconvert(), "weights"_a.noconvert(), "state"_a.noconvert(),
        "ids"_a.noconvert(), "scores"_a.noconvert(), "threads"_a, "simd"_a,
        "The k best rows of each sample, best first: ids [B, k], scores [B, k].");
}

}  // namespace evonet
