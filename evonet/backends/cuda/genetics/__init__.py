"""Genes that live on a GPU.

genes  the arrays of a population in a GPU's memory
"""
