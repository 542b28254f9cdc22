// program.h: custom functions as programs over rows of numbers, by the ids that genes store;
// evonet/functions/expressions/program.py writes them. Plain data, for the translation units of all
// instruction sets.
#pragma once

#include <cstdint>

namespace evonet {

// In the order of OPERATIONS in evonet/functions/expressions/program.py.
enum Operation : uint16_t {
  OP_COPY,
  OP_NEG,
  OP_EXP,
  OP_LOG,
  OP_SIN,
  OP_COS,
  OP_TANH,
  OP_SQRT,
  OP_ABS,
  OP_FLOOR,
  OP_NOT,
  OP_ADD,
  OP_SUB,
  OP_MUL,
  OP_DIV,
  OP_MIN,
  OP_MAX,
  OP_AND,
  OP_OR,
  OP_LT,
  OP_LE,
  OP_GT,
  OP_GE,
  OP_EQ,
  OP_NE,
  OP_IF,
  OP_SUM_OF,
  OP_PRODUCT_OF,
  OP_MAX_OF,
  OP_MIN_OF,
  NUM_OPERATIONS
};

constexpr int kNumRegisters = 40;
constexpr int kFirstConstant = 256;
constexpr int kMostPasses = 6;  // of a derivative; expressions have up to 4

// a, b and c are registers, or constants from kFirstConstant on.
struct Instruction {
  uint16_t op, to, a, b, c;
};

// Register 0 is x and register 1 the number of links.
template <class T>
struct Program {
  static constexpr int kLanes = 64 / sizeof(T);  // of the widest vector

  const Instruction* code;
  const T* constants;  // [m, kLanes], every one repeated
  int num_passes;
  // For each pass the ends of the steps before it, of those for every link, and of its reductions;
  // then the end of the last steps.
  int bounds[3 * kMostPasses + 1];
  uint16_t result;
  bool counts;  // whether it reads the number of links
};

// Null for an id without a function.
template <class T>
const Program<T>* custom_activation(int id);
template <class T>
const Program<T>* custom_aggregation(int id);

// Derivatives, by the ids of their functions; null where none was defined. An activation's is
// an activation too: activate_by(). An aggregation's gives a number for each link: terms_by().
template <class T>
const Program<T>* custom_activation_slope(int id);
template <class T>
const Program<T>* custom_aggregation_slope(int id);

}  // namespace evonet
