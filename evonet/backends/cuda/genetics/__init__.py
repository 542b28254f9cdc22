"""Genes that live on a GPU: they are bred and divided into species there.

genes       the arrays of a population in a GPU's memory
rules       the config's rules as kernels read them
sums        prefix sums
mating      ranks genomes and draws parents
breeding    a generation of children, or the first one
numbers     the numbers of their structural mutations
dictionary  genomes that others are measured against
speciation  divides a population into species
engine      the door: `CudaEngine`, and what happens where memory is short
"""
