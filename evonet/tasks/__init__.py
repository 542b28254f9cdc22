"""Tasks: what networks are evolved on."""

from __future__ import annotations

from evonet.tasks.base import Task
from evonet.tasks.supervised import Supervised, xor

__all__ = ["Supervised", "Task", "xor"]
