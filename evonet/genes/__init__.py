"""Populations: the genes of many genomes in a few arrays."""
