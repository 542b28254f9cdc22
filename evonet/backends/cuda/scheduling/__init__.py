"""Schedules that are compiled and packed on the GPU that holds the genes.

plan      who compiles a genome, and where
compiled  what comes out: packed genomes that were never on the host
"""
