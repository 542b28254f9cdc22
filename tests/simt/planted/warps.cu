// warps.cu: wrong masks, and lanes that do not come.

#define FULL 0xffffffffu

extern "C" __global__ void mask_lacks_the_caller(int* out) {
  int t = threadIdx.x;
  out[t] = __shfl_sync(0x0000ffffu, t, 0);  // BUG: warp-mask
}

extern "C" __global__ void mask_lacks_the_caller_repaired(int* out) {
  int t = threadIdx.x;
  if (t < 16) out[t] = __shfl_sync(0x0000ffffu, t, 0);
}

extern "C" __global__ void full_mask_in_a_branch(int* out) {
  int t = threadIdx.x;
  if (t >= 16) {
    out[t] = __shfl_down_sync(FULL, t, 8);  // BUG: warp-mask or deadlock
  }
}

extern "C" __global__ void full_mask_in_a_branch_repaired(int* out) {
  int t = threadIdx.x;
  int moved = __shfl_down_sync(FULL, t, 8);
  if (t >= 16) out[t] = moved;
}

// As before, but the lanes that stay away have not left yet when the first one waits.
extern "C" __global__ void lanes_that_left(int* out) {
  int t = threadIdx.x;
  if (t >= 16) return;
  out[t] = __any_sync(FULL, t == 3);  // BUG: warp-mask or deadlock
}

extern "C" __global__ void lanes_that_left_repaired(int* out) {
  int t = threadIdx.x;
  unsigned mask = __ballot_sync(FULL, t < 16);
  if (t >= 16) return;
  out[t] = __any_sync(mask, t == 3);
}

extern "C" __global__ void shuffle_from_a_stranger(int* out) {
  int t = threadIdx.x;
  if (t < 16) {
    out[t] = __shfl_xor_sync(0x0000ffffu, t, 16);  // BUG: warp-mask
  }
}

extern "C" __global__ void shuffle_from_a_stranger_repaired(int* out) {
  int t = threadIdx.x;
  if (t < 16) {
    out[t] = __shfl_xor_sync(0x0000ffffu, t, 8);
  }
}

extern "C" __global__ void different_intrinsics(int* out) {
  int t = threadIdx.x;
  if (t == 0) {
    out[t] = __shfl_sync(FULL, t, 0);  // BUG: warp-mask
  } else {
    out[t] = __ballot_sync(FULL, 1);  // BUG: warp-mask
  }
}

extern "C" __global__ void different_intrinsics_repaired(int* out) {
  int t = threadIdx.x;
  int value = __shfl_sync(FULL, t, 0);
  unsigned votes = __ballot_sync(FULL, 1);
  out[t] = t == 0 ? value : votes;
}

extern "C" __global__ void width_is_no_power_of_two(int* out) {
  int t = threadIdx.x;
  out[t] = __shfl_up_sync(FULL, t, 1, 12);  // BUG: warp-mask
}

extern "C" __global__ void width_is_no_power_of_two_repaired(int* out) {
  int t = threadIdx.x;
  out[t] = __shfl_up_sync(FULL, t, 1, 16);
}
