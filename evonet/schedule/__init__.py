"""Schedules: the order in which the nodes of every genome can be computed.

schedule   what kernels run instead of genomes
build      compiles a population
checks     finds what is wrong with a schedule that was made by hand
reference  the readable builder: the oracle of the native one
lifetimes  how long values are needed, and which slots keep them
slots      what links read, whatever slots values are kept in
cells      what nodes with memory start with
analysis   how parallel a schedule can be
"""

from evonet.schedule.build import build_schedule
from evonet.schedule.schedule import Schedule

__all__ = ["Schedule", "build_schedule"]
