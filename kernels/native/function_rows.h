// function_rows.h: activations, custom functions and losses on rows of numbers. Rows are long, so a
// call costs little beside them; code that runs networks calls these and holds no formula itself.
// They compile once per instruction set, in isa_functions.cpp.
#pragma once

#include "native/program.h"
#include "nodes/function_ids.h"

EVONET_NAMESPACE_BEGIN

// Works in place on one number or on whole vectors.
template <class T>
using ActivateRow = void (*)(T* row, int count);

// A built-in activation.
template <class T>
ActivateRow<T> activation_on_rows(int id);

// Any activation, custom ones too.
template <class T>
void activate_row(int id, T* row, int count);

// See program_rows.h.
template <class T>
void activate_by(const Program<T>& program, T* numbers, int count);
template <class T>
void aggregate_by(const Program<T>& program, const T* values, const int32_t* source,
                  const T* weight, int64_t count, int width, T* out, bool (*stop)(void*),
                  void* asked);
template <class T>
void terms_by(const Program<T>& program, const T* values, const int32_t* source, const T* weight,
              int64_t count, int width, T* out, bool (*stop)(void*), void* asked);

// See loss_rows.h.
template <class T>
void loss_rows(int loss, const T* y, const T* targets, int64_t num_samples, int64_t num_outputs,
               T* out);

EVONET_NAMESPACE_END
