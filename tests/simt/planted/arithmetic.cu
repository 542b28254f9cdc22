// arithmetic.cu: operations whose result differs between CPU and GPU, and assertions.

extern "C" __global__ void shifts_too_far(unsigned* out) {
  int t = threadIdx.x;
  out[t] = 1u << t;  // BUG: shift
}

extern "C" __global__ void shifts_too_far_repaired(unsigned* out) {
  int t = threadIdx.x;
  out[t] = t < 32 ? 1u << t : 0u;
}

extern "C" __global__ void float_too_large_for_int(const float* x, int* out) {
  int t = threadIdx.x;
  out[t] = int(x[t] * 1e10f);  // BUG: float-to-int
}

extern "C" __global__ void float_too_large_for_int_repaired(const float* x, int* out) {
  int t = threadIdx.x;
  out[t] = __float2int_rz(x[t] * 1e10f);
}

extern "C" __global__ void divides_by_zero(int* out) {
  int t = threadIdx.x;
  out[t] = 100 / t;  // BUG: division
}

extern "C" __global__ void divides_by_zero_repaired(int* out) {
  int t = threadIdx.x;
  out[t] = 100 / (t + 1);
}

extern "C" __global__ void fails_an_assertion(int n, int* out) {
  int t = threadIdx.x;
  assert(t < n);  // BUG: assertion
  out[t] = t;
}

extern "C" __global__ void fails_an_assertion_repaired(int n, int* out) {
  int t = threadIdx.x;
  if (t < n) {
    assert(t < n);
    out[t] = t;
  }
}

extern "C" __global__ void runs_into_a_trap(int n, int* out) {
  int t = threadIdx.x;
  if (t >= n) __trap();  // BUG: trap
  out[t] = t;
}

extern "C" __global__ void runs_into_a_trap_repaired(int n, int* out) {
  int t = threadIdx.x;
  if (t < n) out[t] = t;
}
