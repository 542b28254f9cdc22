// isa_functions.cpp: functions on rows of numbers for one instruction set.
#include "native/activation_rows.h"
#include "native/fused_runs.h"
#include "native/loss_rows.h"
#include "native/program_rows.h"

EVONET_NAMESPACE_BEGIN

#define EVONET_FUNCTIONS(T)                                                                       \
  template ActivateRow<T> activation_on_rows(int);                                                \
  template void activate_row(int, T*, int);                                                       \
  template void activate_by(const Program<T>&, T*, int);                                          \
  template void aggregate_by(const Program<T>&, const T*, const int32_t*, const T*, int64_t, int, \
                             T*, bool (*)(void*), void*);                                         \
  template void terms_by(const Program<T>&, const T*, const int32_t*, const T*, int64_t, int, T*, \
                         bool (*)(void*), void*);                                                 \
  template void sum_numbers(const ScheduleView<T>&, NodeRun, T*);                                 \
  template void loss_rows(int, const T*, const T*, int64_t, int64_t, T*);
EVONET_FUNCTIONS(float)
EVONET_FUNCTIONS(double)

#if !defined(EVONET_SLOW_FMA)
#define EVONET_FUSED(T)                                                 \
  template void sum_vectors<T, 1>(const ScheduleView<T>&, NodeRun, T*); \
  template void sum_vectors<T, 2>(const ScheduleView<T>&, NodeRun, T*); \
  template void sum_vectors<T, 4>(const ScheduleView<T>&, NodeRun, T*); \
  template void sum_vectors<T, 8>(const ScheduleView<T>&, NodeRun, T*);
EVONET_FUSED(float)
EVONET_FUSED(double)
#endif

EVONET_NAMESPACE_END
