// wide_kernels.h: the portable formulas of wide levels on vectors; see wide.h.
#pragma once

#include "learning/adam.h"
#include "native/simd.h"
#include "native/wide.h"
#include "wide/hash.h"
#include "wide/rows.h"

EVONET_NAMESPACE_BEGIN

using Floats = FullVector<float>;
constexpr int kFloats = kVectorLanes<float>;
constexpr int kRowVectors = kRowLanes / kFloats;

// ---- hashing: a row in each lane ----------------------------------------------------------------

EVONET_FN int32_t num_functions(const HashPlan& plan) {
  return plan.num_tables * (plan.bits / digit_bits(plan.kind));
}

inline int64_t wide_hash_scratch(const HashPlan& plan) {
  const int64_t columns = plan.kind == SIMHASH ? 2 * int64_t{plan.num_columns} : plan.num_columns;
  return (columns + num_functions(plan)) * int64_t{sizeof(Floats)};
}

inline void hadamard(Floats* x, int n) {
  for (int half = 1; half < n; half *= 2) {
    for (int i = 0; i < n; i += 2 * half) {
      for (int j = i; j < i + half; ++j) add_and_subtract(x[j], x[j + half]);
    }
  }
}

inline void simhash_digits(const HashPlan& plan, const Floats* x, Floats* mixed,
                           Bits<Floats>* digits) {
  const int n = plan.num_columns, count = num_functions(plan);
  for (int first = 0, round = 0; first < count; first += n, ++round) {
    const float* signs = plan.signs + int64_t{2} * round * n;
    for (int j = 0; j < n; ++j) mixed[j] = x[j] * signs[j];
    hadamard(mixed, n);
    for (int j = 0; j < n; ++j) mixed[j] = mixed[j] * signs[n + j];
    hadamard(mixed, n);
    for (int j = 0; j < n && first + j < count; ++j) digits[first + j] = sign_digit(mixed[j]);
  }
}

inline void dwta_digits(const HashPlan& plan, const Floats* x, Bits<Floats>* digits) {
  for (int f = 0; f < num_functions(plan); ++f) {
    const int32_t* const at = plan.positions + int64_t{kBinColumns} * f;
    digits[f] = bin_digit<Floats>([&](int i) { return x[at[i]]; });
  }
}

inline void wide_hash(const HashCall& call, int64_t begin, int64_t end, void* scratch) {
  const HashPlan& plan = call.plan;
  const int width = digit_bits(plan.kind), per_table = plan.bits / width;
  Floats* const x = static_cast<Floats*>(scratch);
  Floats* const mixed = x + plan.num_columns;
  auto* const digits =
      reinterpret_cast<Bits<Floats>*>(plan.kind == SIMHASH ? mixed + plan.num_columns : mixed);
  for (int j = call.width; j < plan.num_columns; ++j) x[j] = Floats{};
  for (int64_t first = begin; first < end; first += kFloats) {
    int64_t row[kFloats];
    for (int lane = 0; lane < kFloats; ++lane) {
      const int64_t at = first + lane < end ? first + lane : end - 1;
      row[lane] = call.which == nullptr ? at : call.which[at];
      const float* const from = call.rows + row[lane] * call.width;
      float* const to = reinterpret_cast<float*>(x) + lane;
      for (int j = 0; j < call.width; ++j) to[j * kFloats] = from[j];
    }
    if (plan.kind == SIMHASH) {
      simhash_digits(plan, x, mixed, digits);
    } else {
      dwta_digits(plan, x, digits);
    }
    const int32_t* const all_digits = reinterpret_cast<const int32_t*>(digits);
    for (int lane = 0; lane < kFloats && first + lane < end; ++lane) {
      const auto digit = [&](int32_t f) { return all_digits[f * kFloats + lane]; };
      int32_t* const code = call.codes + row[lane] * call.row_stride;
      for (int table = 0; table < plan.num_tables; ++table) {
        int32_t bits = 0;
        for (int k = 0; k < per_table; ++k) {
          const int f = table * per_table + k;
          const int32_t value = plan.kind == SIMHASH ? digit(f) : densified(digit, f, plan.borrow);
          bits |= value << (width * k);
        }
        code[table * call.table_stride] = bits;
      }
    }
  }
}

// ---- dots ---------------------------------------------------------------------------------------

EVONET_FN float add_row_lanes(const Floats* part) {
#if defined(__AVX512F__)
  const auto low = __builtin_shufflevector(part[0], part[0], 0, 1, 2, 3, 4, 5, 6, 7);
  const auto high = __builtin_shufflevector(part[0], part[0], 8, 9, 10, 11, 12, 13, 14, 15);
  const auto eight = low + high;
#elif defined(__AVX2__)
  const auto eight = part[0] + part[1];
#endif
#if defined(__AVX2__)
  const auto four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                    __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
#else
  const auto four = (part[0] + part[2]) + (part[1] + part[3]);
#endif
  return (four[0] + four[2]) + (four[1] + four[3]);
}

// Several rows at a time: a sum waits for its last addition.
template <int kRows>
EVONET_FN void some_dots(const float* const* from, int width, const float* row, float* out) {
  Floats sum[kRows][kRowVectors] = {};
  for (int j = 0; j < width; j += kRowLanes) {
    for (int v = 0; v < kRowVectors; ++v) {
      const Floats x = load<Floats>(row + j + v * kFloats);
      for (int r = 0; r < kRows; ++r) {
        sum[r][v] = fused(load<Floats>(from[r] + j + v * kFloats), x, sum[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) out[r] = add_row_lanes(sum[r]);
}

EVONET_FN void prefetch_row(const float* row, int width) {
  for (int j = 0; j < width; j += 16) __builtin_prefetch(row + j);
}

inline void wide_dots(const float* rows, const float* state, int32_t width, const int32_t* list,
                      int64_t count, const float* row, float* out) {
  constexpr int kTogether = 4, kAhead = 8;
  const auto at = [&](int64_t i) { return list == nullptr ? i : int64_t{list[i]}; };
  int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    const float* from[kTogether];
    for (int r = 0; r < kTogether; ++r) from[r] = rows + at(i + r) * width;
    if (list != nullptr && i + kAhead + kTogether <= count) {
      for (int r = 0; r < kTogether; ++r) {
        prefetch_row(rows + at(i + kAhead + r) * width, width);
        if (state != nullptr) __builtin_prefetch(state + at(i + kAhead + r) * kRowState);
      }
    }
    some_dots<kTogether>(from, width, row, out + i);
  }
  for (; i < count; ++i) {
    const float* from = rows + at(i) * width;
    some_dots<1>(&from, width, row, out + i);
  }
  if (state == nullptr) return;
  for (i = 0; i < count; ++i) out[i] = out[i] + state[at(i) * kRowState];
}

// ---- sums of rows -------------------------------------------------------------------------------

template <int kNumber>
struct Count {
  static constexpr int value = kNumber;
};

// Calls work(column, Count) for all columns of a row, 8, 4, 2 or 1 vectors at a time.
template <class Work>
EVONET_FN void by_columns(int width, Work work) {
  int j = 0;
  for (; j + 8 * kFloats <= width; j += 8 * kFloats) work(j, Count<8>());
  if (j + 4 * kFloats <= width) work(j, Count<4>()), j += 4 * kFloats;
  if (j + 2 * kFloats <= width) work(j, Count<2>()), j += 2 * kFloats;
  if (j < width) work(j, Count<1>());
}

template <int kVectors>
EVONET_FN void add_rows(Floats* sum, const float* rows, int width, const int32_t* list,
                        const float* coefficient, int64_t count) {
  for (int v = 0; v < kVectors; ++v) sum[v] = Floats{};
  for (int64_t i = 0; i < count; ++i) {
    const float* const from = rows + int64_t{list[i]} * width;
    if (i + 4 < count) {
      const float* const later = rows + int64_t{list[i + 4]} * width;
      for (int v = 0; v < kVectors; ++v) __builtin_prefetch(later + v * kFloats);
    }
    const Floats c = broadcast<Floats>(coefficient[i]);
    for (int v = 0; v < kVectors; ++v) {
      sum[v] = fused(c, load<Floats>(from + v * kFloats), sum[v]);
    }
  }
}

inline void wide_sum(const float* rows, int32_t width, const int32_t* list,
                     const float* coefficient, int64_t count, bool rectify, float* out) {
  by_columns(width, [&](int j, auto vectors) {
    constexpr int kVectors = decltype(vectors)::value;
    Floats sum[kVectors];
    add_rows<kVectors>(sum, rows + j, width, list, coefficient, count);
    for (int v = 0; v < kVectors; ++v) {
      if (rectify) sum[v] = sum[v] > Floats{} ? sum[v] : Floats{};
      store(out + j + v * kFloats, sum[v]);
    }
  });
}

inline void wide_update(const LevelView& level, const AdamCall& adam, bool with_bias, int64_t row,
                        const float* dense, const int32_t* sample, const float* coefficient,
                        int64_t count) {
  const AdamRule<float> rule{adam.keep_mean, adam.keep_square, adam.add_mean, adam.add_square,
                             adam.epsilon};
  float* const state = level.state + row * kRowState;
  const int updates =
      static_cast<int>(at_most(state[3], static_cast<float>(adam.num_corrections - 1)));
  const float rate = adam.corrected_rate[updates], scale = adam.correction[updates];
  const int64_t at = row * level.width;
  by_columns(level.width, [&](int j, auto vectors) {
    constexpr int kVectors = decltype(vectors)::value;
    Floats gradient[kVectors];
    add_rows<kVectors>(gradient, dense + j, level.width, sample, coefficient, count);
    for (int v = 0; v < kVectors; ++v) {
      const int64_t place = at + j + v * kFloats;
      Floats weight = load<Floats>(level.weights + place);
      Floats mean = load<Floats>(level.mean + place), square = load<Floats>(level.square + place);
      adam_step(rule, rate, scale, gradient[v], weight, mean, square);
      store(level.weights + place, weight);
      store(level.mean + place, mean);
      store(level.square + place, square);
    }
  });
  if (with_bias) {
    float gradient = 0;
    for (int64_t i = 0; i < count; ++i) gradient = gradient + coefficient[i];
    adam_step(rule, rate, scale, gradient, state[0], state[1], state[2]);
  }
  state[3] = next_update(state[3]);
}

// ---- softmax ------------------------------------------------------------------------------------

EVONET_FN int64_t place_of(const int32_t* list, int64_t count, int32_t row) {
  int64_t low = 0;
  while (count > 0) {
    const int64_t half = count / 2;
    if (list[low + half] < row) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low;
}

inline float wide_softmax(float* logits, const int32_t* list, int64_t count, const int32_t* labels,
                          int64_t num_labels, float scale, bool* hit) {
  *hit = false;
  if (num_labels == 0) {
    for (int64_t i = 0; i < count; ++i) logits[i] = 0;
    return 0;
  }
  float most = logits[0], label_sum = 0, label_most = logits[place_of(list, count, labels[0])];
  for (int64_t i = 1; i < count; ++i) most = at_least(logits[i], most);
  for (int64_t i = 0; i < num_labels; ++i) {
    const float logit = logits[place_of(list, count, labels[i])];
    label_sum = label_sum + logit;
    label_most = at_least(logit, label_most);
  }
  *hit = label_most == most;
  const int64_t whole = count / kRowLanes * kRowLanes;
  Floats part[kRowVectors] = {};
  for (int64_t i = 0; i < whole; i += kRowLanes) {
    for (int v = 0; v < kRowVectors; ++v) {
      float* const at = logits + i + v * kFloats;
      const Floats power = exp_below_0(load<Floats>(at) - most);
      store(at, power);
      part[v] = part[v] + power;
    }
  }
  float lanes[kRowLanes];
  for (int v = 0; v < kRowVectors; ++v) store(lanes + v * kFloats, part[v]);
  for (int64_t i = whole; i < count; ++i) {
    logits[i] = exp_below_0(logits[i] - most);
    lanes[i - whole] = lanes[i - whole] + logits[i];
  }
  const float total = add_lanes(lanes);
  for (int64_t i = 0; i < count; ++i) logits[i] = logits[i] / total;
  const float target = 1.0f / static_cast<float>(num_labels);
  for (int64_t i = 0; i < num_labels; ++i) {
    float& share = logits[place_of(list, count, labels[i])];
    share = share - target;
  }
  for (int64_t i = 0; i < count; ++i) logits[i] = logits[i] * scale;
  return softmax_loss(total, most, label_sum, static_cast<int32_t>(num_labels));
}

constexpr WideKernels kWide = {&wide_hash_scratch, &wide_hash,    &wide_dots,
                               &wide_sum,          &wide_softmax, &wide_update};

EVONET_NAMESPACE_END
