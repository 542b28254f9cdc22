// program_rows.h: runs programs. An instruction works on a whole row of numbers, so that decoding
// it costs little beside executing it, which means the portable formulas on the widest vectors
// there are. Numbers behind a row's end, up to a vector, are computed and ignored.
#pragma once

#include "native/function_rows.h"
#include "native/simd.h"
#include "nodes/aggregations.h"
#include "numerics/expression.h"

EVONET_NAMESPACE_BEGIN

template <class T>
constexpr int kRowLength = 512 / int{sizeof(T)};  // as many samples as a block may have

template <class T>
struct alignas(64) Registers {
  T row[kNumRegisters][kRowLength<T>];
};

// Instructions [begin, end) on the first count numbers of each row. Truth is a number that is
// not 0.
template <class T>
__attribute__((noinline)) void run_instructions(const Program<T>& program, int begin, int end,
                                                Registers<T>& registers, int count) {
  constexpr int kWidth = kVectorBytes / int{sizeof(T)};
  using V = Vector<T, kWidth>;
  for (const Instruction* i = program.code + begin; i != program.code + end; ++i) {
    T* const to = registers.row[i->to];
    struct Row {
      const T* first;
      int step;  // 0 for a constant

      EVONET_METHOD V at(int n) const { return load<V>(first + n * step); }
    };
    const auto operand = [&](uint16_t at) {
      if (at < kFirstConstant) return Row{registers.row[at], 1};
      return Row{program.constants + (at - kFirstConstant) * Program<T>::kLanes, 0};
    };
    const auto one = [&](auto apply) {
      const Row a = operand(i->a);
      for (int n = 0; n < count; n += kWidth) store(to + n, apply(a.at(n)));
    };
    const auto two = [&](auto apply) {
      const Row a = operand(i->a), b = operand(i->b);
      for (int n = 0; n < count; n += kWidth) store(to + n, apply(a.at(n), b.at(n)));
    };
    const auto test = [&](auto holds) {
      two([&](V x, V y) { return holds(x, y) ? all<V>(T(1)) : V{}; });
    };
    switch (i->op) {
      case OP_COPY:
        one([](V x) { return x; });
        break;
      case OP_NEG:
        one([](V x) { return -x; });
        break;
      case OP_EXP:
        one([](V x) { return expression_exp(x); });
        break;
      case OP_LOG:
        one([](V x) { return expression_log(x); });
        break;
      case OP_SIN:
        one([](V x) { return expression_sin(x); });
        break;
      case OP_COS:
        one([](V x) { return expression_cos(x); });
        break;
      case OP_TANH:
        one([](V x) { return expression_tanh(x); });
        break;
      case OP_SQRT:
        one([](V x) { return square_root(x); });
        break;
      case OP_ABS:
        one([](V x) { return magnitude(x); });
        break;
      case OP_FLOOR:
        one([](V x) { return expression_floor(x); });
        break;
      case OP_NOT:
        one([](V x) { return x == V{} ? all<V>(T(1)) : V{}; });
        break;
      case OP_ADD:
        two([](V x, V y) { return x + y; });
        break;
      case OP_SUB:
        two([](V x, V y) { return x - y; });
        break;
      case OP_MUL:
        two([](V x, V y) { return x * y; });
        break;
      case OP_DIV:
        two([](V x, V y) { return x / y; });
        break;
      case OP_MIN:
        two([](V x, V y) { return at_most(y, x); });
        break;
      case OP_MAX:
        two([](V x, V y) { return at_least(y, x); });
        break;
      case OP_AND:
        two([](V x, V y) { return x * y; });  // truth is 1
        break;
      case OP_OR:
        two([](V x, V y) { return at_least(x, y); });
        break;
      case OP_LT:
        test([](V x, V y) { return x < y; });
        break;
      case OP_LE:
        test([](V x, V y) { return x <= y; });
        break;
      case OP_GT:
        test([](V x, V y) { return x > y; });
        break;
      case OP_GE:
        test([](V x, V y) { return x >= y; });
        break;
      case OP_EQ:
        test([](V x, V y) { return x == y; });
        break;
      case OP_NE:
        test([](V x, V y) { return x != y; });
        break;
      case OP_IF: {
        const Row condition = operand(i->a), then = operand(i->b), other = operand(i->c);
        for (int n = 0; n < count; n += kWidth) {
          store(to + n, condition.at(n) != V{} ? then.at(n) : other.at(n));
        }
        break;
      }
      default:
        break;
    }
  }
}

// Whether a program is min(max(x, low), high). Clamps are common, and decoding them row by row
// would take longer than a node's links.
template <class T>
EVONET_FN bool is_clamp(const Program<T>& program) {
  if (program.bounds[0] != 2) return false;
  const Instruction &low = program.code[0], &high = program.code[1];
  return low.op == OP_MAX && low.a == 0 && low.b >= kFirstConstant && high.op == OP_MIN &&
         high.a == low.to && high.b >= kFirstConstant && program.result == high.to;
}

template <class T>
EVONET_FN void clamp_by(const Program<T>& program, T* numbers, int count) {
  const auto constant = [&](uint16_t at) {
    return program.constants[(at - kFirstConstant) * Program<T>::kLanes];
  };
  const T low = constant(program.code[0].b), high = constant(program.code[1].b);
  if (count == 1) {
    numbers[0] = canonical(at_most(high, at_least(low, numbers[0])));
    return;
  }
  using V = FullVector<T>;
  const V lows = broadcast<V>(low), highs = broadcast<V>(high);
  for (int n = 0; n < count; n += kVectorLanes<T>) {
    store(numbers + n, canonical(at_most(highs, at_least(lows, load<V>(numbers + n)))));
  }
}

// An activation on count <= kRowLength numbers, in place. Up to a vector behind them is read, not
// written.
template <class T>
void activate_by(const Program<T>& program, T* numbers, int count) {
  if (is_clamp(program)) return clamp_by(program, numbers, count);
  constexpr int kWidth = kVectorBytes / int{sizeof(T)};
  using V = Vector<T, kWidth>;
  Registers<T> registers;
  T* const x = registers.row[0];
  if (count == 1) {
    store(x, broadcast<V>(numbers[0]));  // a vector that was written as a number must wait for it
  } else {
    for (int n = 0; n < count; n += kWidth) store(x + n, load<V>(numbers + n));
  }
  run_instructions(program, 0, program.bounds[0], registers, count);
  const T* const y = registers.row[program.result];
  for (int n = 0; n < count; ++n) numbers[n] = canonical(y[n]);
}

// Joins num_links rows of `width` numbers each to the links before, if there are any.
template <class V, class T>
EVONET_FN void join_rows(int op, T* total, const T* x, int num_links, int width, bool first) {
  constexpr int kCount = sizeof(V) / sizeof(T);
  for (int n = 0; n < width; n += kCount) {
    const T* row = x + n;
    const T* const end = row + num_links * width;
    V joined;
    if (!first) {
      joined = load<V>(total + n);
    } else {
      joined = op == OP_SUM_OF ? V{} + load<V>(row) : load<V>(row);
      row += width;
    }
    const auto each = [&](auto join) {
      for (; row != end; row += width) joined = join(joined, load<V>(row));
    };
    if (op == OP_SUM_OF) {
      each([](V a, V b) { return a + b; });
    } else if (op == OP_PRODUCT_OF) {
      each([](V a, V b) { return a * b; });
    } else if (op == OP_MAX_OF) {
      each([](V a, V b) { return at_least(b, a); });
    } else {
      each([](V a, V b) { return at_most(b, a); });
    }
    store(total + n, joined);
  }
}

// An aggregation of count > 0 links over rows of `width` samples, one or whole vectors V of them.
// With kTerms, out has a row for every link, which its last pass writes.
template <class V, bool kTerms, class T>
__attribute__((noinline)) void aggregate_vectors(const Program<T>& program, const T* values,
                                                 const int32_t* source, const T* weight,
                                                 int64_t count, int width, T* out,
                                                 bool (*stop)(void*), void* asked) {
  constexpr int kCount = sizeof(V) / sizeof(T);
  const int most = kRowLength<T> / width;
  Registers<T> registers;
  if (program.counts) {
    for (int n = 0; n < kRowLength<T>; ++n) registers.row[1][n] = T(count);
  }
  int begin = 0;
  for (int pass = 0; pass < program.num_passes; ++pass) {
    const int* const bounds = program.bounds + 3 * pass;
    run_instructions(program, begin, bounds[0], registers, kRowLength<T>);
    for (int64_t e = 0; e < count; e += most) {
      if (e % 4096 == 4096 - most && stop(asked)) return;
      const int links = count - e < most ? static_cast<int>(count - e) : most;
      T* const x = registers.row[0];
      for (int i = 0; i < links; ++i) {
        const T* const row = values + int64_t{source[e + i]} * width;
        const V w = broadcast<V>(weight[e + i]);
        for (int n = 0; n < width; n += kCount) {
          store(x + i * width + n, w * load<V>(row + n));
        }
      }
      for (int n = links * width; n % kVectorLanes<T> != 0; ++n) x[n] = T(0);
      run_instructions(program, bounds[0], bounds[1], registers, links * width);
      for (int k = bounds[1]; k < bounds[2]; ++k) {
        const Instruction& i = program.code[k];
        join_rows<V>(i.op, registers.row[i.to], registers.row[i.a], links, width, e == 0);
      }
      if constexpr (kTerms) {
        if (pass + 1 < program.num_passes) continue;
        const T* const y = registers.row[program.result];
        for (int n = 0; n < links * width; n += kCount) {
          store(out + e * width + n, canonical(load<V>(y + n)));
        }
      }
    }
    // Steps before another pass find the results beside every link.
    for (int k = bounds[1]; k < bounds[2] && pass + 1 < program.num_passes; ++k) {
      T* const row = registers.row[program.code[k].to];
      for (int n = width; n < kRowLength<T>; n += kCount) {
        store(row + n, load<V>(row + n - width));
      }
    }
    begin = bounds[2];
  }
  if constexpr (kTerms) return;
  run_instructions(program, begin, program.bounds[3 * program.num_passes], registers, width);
  const T* const y = registers.row[program.result];
  for (int n = 0; n < width; n += kCount) store(out + n, load<V>(y + n));
}

// values [slots, width] by source [count] -> out [width]. It takes as many links at a time as fill
// a row of registers, and returns early if stop(), which it asks now and then, is true.
template <class T>
void aggregate_by(const Program<T>& program, const T* values, const int32_t* source,
                  const T* weight, int64_t count, int width, T* out, bool (*stop)(void*),
                  void* asked) {
  if (width == 1) {
    aggregate_vectors<T, false>(program, values, source, weight, count, 1, out, stop, asked);
  } else {
    aggregate_vectors<FullVector<T>, false>(program, values, source, weight, count, width, out,
                                            stop, asked);
  }
}

// The same for the derivative of an aggregation by the product of each link -> out [count, width].
template <class T>
void terms_by(const Program<T>& program, const T* values, const int32_t* source, const T* weight,
              int64_t count, int width, T* out, bool (*stop)(void*), void* asked) {
  if (width == 1) {
    aggregate_vectors<T, true>(program, values, source, weight, count, 1, out, stop, asked);
  } else {
    aggregate_vectors<FullVector<T>, true>(program, values, source, weight, count, width, out, stop,
                                           asked);
  }
}

EVONET_NAMESPACE_END
