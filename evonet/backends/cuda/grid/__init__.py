"""The wide mapping: a level of large networks over the whole grid, and a launch per level.

tables    the nodes of every level, in strips that a warp evaluates
quiet     after which levels samples may leave that are zero and stay zero
launches  the kernels of a forward pass, in order
program   what stays on a GPU between calls: tables, values, and the launches as a graph
"""
