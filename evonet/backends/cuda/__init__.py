"""The GPU backend. CuPy is imported by the first use, never by this package's import.

survey        finds the GPUs that work, or says what is missing
device        the seam: all that is asked of CuPy
layout        what a kernel sees of a schedule
workload      what a launch has to do, and what a GPU can
plan          which kernel, how many threads
price         what a launch would cost
rollout_plan  how many threads play episodes
arguments     what a kernel is called with
compiler      NVRTC and the cache of compiled kernels
samples       samples and targets on their way to a GPU, or on one already
results       what becomes of outputs: they are handed out, or scored
rollout       episodes that some genomes play
pieces        work in pieces where memory is short
share         one GPU's part of a population
shares        who gets which part
forward       the pass, and rollouts, over all of them
"""
