// arithmetic.cu: intrinsics. Correct kernels for the runner's own tests.

extern "C" __global__ void fused(const float* a, const float* b, const float* c, float* out) {
  int i = threadIdx.x, n = blockDim.x;
  out[i] = __fmaf_rn(a[i], b[i], c[i]);
  out[n + i] = a[i] * b[i] + c[i];
  out[2 * n + i] = __fadd_rn(__fmul_rn(a[i], b[i]), c[i]);
  out[3 * n + i] = __fdiv_rn(a[i], b[i]);
  out[4 * n + i] = __fsqrt_rn(fabsf(a[i]));
}

extern "C" __global__ void fused_double(const double* a, const double* b, const double* c,
                                        double* out) {
  int i = threadIdx.x, n = blockDim.x;
  out[i] = __fma_rn(a[i], b[i], c[i]);
  out[n + i] = __dadd_rn(__dmul_rn(a[i], b[i]), c[i]);
  out[2 * n + i] = __ddiv_rn(a[i], b[i]);
  out[3 * n + i] = __dsqrt_rn(fabs(a[i]));
}

extern "C" __global__ void bits(const unsigned* x, int* out, unsigned* words,
                                unsigned long long* high) {
  int i = threadIdx.x, n = blockDim.x;
  unsigned long long wide = (unsigned long long)x[i] << 32 | x[n - 1 - i];
  out[i] = __popc(x[i]);
  out[n + i] = __ffs(int(x[i]));
  out[2 * n + i] = __clz(int(x[i]));
  out[3 * n + i] = __popcll(wide);
  out[4 * n + i] = __clzll((long long)wide);
  out[5 * n + i] = __float_as_int(__int_as_float(int(x[i] & 0x7f7fffffu)));
  words[i] = __brev(x[i]);
  words[n + i] = __umulhi(x[i], x[n - 1 - i]);
  high[i] = __umul64hi(wide, ~wide);
}

extern "C" __global__ void min_max(const float* a, const float* b, float* out, int* clamped) {
  int i = threadIdx.x, n = blockDim.x;
  out[i] = min(a[i], b[i]);
  out[n + i] = max(a[i], b[i]);
  out[2 * n + i] = fminf(a[i], b[i]);
  out[3 * n + i] = fmaxf(a[i], b[i]);
  clamped[i] = __float2int_rz(a[i]);
  clamped[n + i] = __float2int_rn(a[i]);
  clamped[2 * n + i] = min(-1, 1) + max(2u, 3u) + int(max(4LL, 5LL));
}
