// processor_level.h: the level of x86 that this processor has, as the kernels need it.
#pragma once

namespace evonet {

// 4 with AVX-512, 3 with AVX2 and FMA, otherwise 1, on other architectures too.
inline int processor_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2")) {
    return 1;
  }
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
  return has_avx512 ? 4 : 3;
#else
  return 1;
#endif
}

}  // namespace evonet
