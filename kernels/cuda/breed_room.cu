// breed_room.cu: how many nodes and connections each child may have, [2, count]; a thread per
// child.
extern "C" __global__ void breed_room(long long count, const long long* __restrict__ node_start,
                                      const long long* __restrict__ conn_start,
                                      const long long* __restrict__ fitter,
                                      int* __restrict__ room) {
  const long long child = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (child >= count) return;
  const long long parent = fitter[child];
  room[child] = int(node_start[parent + 1] - node_start[parent]) + 1;
  room[count + child] = int(conn_start[parent + 1] - conn_start[parent]) + 3;
}
