"""Runs on the disk: one folder that holds everything about one evolution.

config.toml         all settings, as they were resolved
metrics.jsonl       a line per generation
improvements.jsonl  a line per new best genome, with its genes
checkpoints/        the last few states, to resume from
champion.json       the best genome
results.json        what it answers to the task's examples, if there are any
report.html         all of that to look at

start_run("runs/first", task, config)      # evolves, and keeps all of the above
resume_run("runs/first", task)             # continues as if nothing had happened
"""

from __future__ import annotations

from evonet.runs.folder import RunFolder
from evonet.runs.improvements import Improvement, ImprovementWriter
from evonet.runs.start import resume_run, start_run

__all__ = ["Improvement", "ImprovementWriter", "RunFolder", "resume_run", "start_run"]
