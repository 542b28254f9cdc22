// fill_words.cu: the same 32 bits everywhere in memory of any type; a thread per word.
extern "C" __global__ void fill_words(long long count, unsigned int value,
                                      void* __restrict__ memory) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) static_cast<unsigned int*>(memory)[i] = value;
}
