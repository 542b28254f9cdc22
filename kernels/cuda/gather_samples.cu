// gather_samples.cu: a thread per number; samples of any type and layout become contiguous reals.
// CuPy could do it too, but compiles with flush-to-zero, which would lose denormals.
//
// SOURCE is the type of the given numbers (bool comes as unsigned char), REAL that of the network;
// strides are in bytes.

extern "C" __global__ void gather_samples(const void* __restrict__ source, long long stride0,
                                          long long stride1, long long stride2,
                                          long long num_samples, long long num_inputs,
                                          long long count, REAL* __restrict__ samples) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const long long input = i % num_inputs;
  const long long sample = i / num_inputs % num_samples;
  const long long genome = i / num_inputs / num_samples;
  const long long at = genome * stride0 + sample * stride1 + input * stride2;
  const char* const place = static_cast<const char*>(source) + at;
  samples[i] = static_cast<REAL>(*reinterpret_cast<const SOURCE*>(place));
}
