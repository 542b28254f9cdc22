"""The GPU backend. CuPy is imported by the first use, never by this package's import.

backend    the door, `CudaBackend`, and a population split over all GPUs
discovery  finds the GPUs that work, or explains what is missing
device     the seam to CuPy: one GPU's arrays, launches, streams and memory
nvrtc      its other half: NVRTC, which needs no GPU
limits     what a GPU offers to blocks of threads
staging    copies host arrays to a GPU through a little page-locked memory
resident   arrays that stay on a GPU, whichever streams use them
compiler   compiles kernels and keeps the results
layout     how schedules and samples lie in a GPU's memory
cost       what a launch has to do and how many cycles that takes
plan       which kernel, how many threads, how much memory
arguments  what a kernel is called with
shard      one GPU's genomes, run in chunks that fit into memory
reverse    gradients and learning
readers    who reads each value, so that adjoints can be gathered
genetics   genes that live on a GPU
packed     where packed genomes come from: the host's schedule, or the GPU itself
scheduling genes that live on a GPU become schedules there
grid       the wide mapping: a level over the whole grid, and a launch per level
state      the states of networks with memory, between calls
"""
