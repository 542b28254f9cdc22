"""The [workers] table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from evonet.config.rules import NOT_NEGATIVE, RefusedError, Rule, Whole
from evonet.config.schema import Schema, setting
from evonet.errors import MOST_THREADS

MOST_WORKERS: Final = 4096
MOST_RETRIES: Final = 100
PLACES: Final = ("processes", "ray")
_ADDRESS: Final = re.compile(r"ray://[\w.\-\[\]:]+:\d{1,5}")


class Place(Rule[str]):
    """Where workers are: "processes", "ray" or "ray://host:port"."""

    def check(self, value: object) -> str:
        """Accepts the two words and addresses of Ray clusters."""
        if isinstance(value, str) and (value in PLACES or _ADDRESS.fullmatch(value)):
            return value
        raise RefusedError('must be "processes", "ray" or "ray://host:port".')


class Text(Rule[str]):
    """Any text on one line."""

    def check(self, value: object) -> str:
        """Refuses everything but text."""
        if not isinstance(value, str) or "\n" in value or "\0" in value:
            raise RefusedError("must be text on one line.")
        return value


class Texts(Rule[tuple[str, ...]]):
    """A list of texts."""

    def parse(self, text: str) -> object:
        """Splits at white space."""
        return text.split()

    def check(self, value: object) -> tuple[str, ...]:
        """Refuses everything but lists of text."""
        if not isinstance(value, (list, tuple)):
            raise RefusedError("must be a list of texts.")
        return tuple(Text().check(item) for item in value)


@dataclass(frozen=True, slots=True)
class WorkersTable(Schema):
    """Where genomes are evaluated. Nothing that evolves depends on it.

    Attributes:
        where: "processes" on this machine; "ray" for the Ray cluster that RAY_ADDRESS names, or a
            new one on this machine; "ray://host:port" for another cluster.
        count: Workers; 0 evaluates in the run's own process, and on Ray uses all that the cluster
            has room for.
        threads: CPU threads of each worker; 0 takes all.
        timeout: Seconds that one genome may take before its worker is replaced; 0 for no limit.
        retries: How often a genome that failed alone is tried again before run.on_bad_fitness
            decides about it.
        memory: Megabytes after which a worker process is replaced, at twice of which it is killed;
            0 for no limit.
        cpus: Processor cores that Ray reserves for each worker; 0 for one worker per node with all
            of its cores.
        gpus: GPUs, or a fraction of one, that Ray reserves for each worker.
        files: A folder that Ray copies to all nodes, such as "."; "" for none.
        packages: What Ray installs on all nodes, such as ["gymnasium[box2d]"].
    """

    where: str = setting(Place(), "processes")
    count: int = setting(Whole(0, MOST_WORKERS), 0)
    threads: int = setting(Whole(0, MOST_THREADS), 1)
    timeout: float = setting(NOT_NEGATIVE, 0.0)
    retries: int = setting(Whole(0, MOST_RETRIES), 2)
    memory: float = setting(NOT_NEGATIVE, 0.0)
    cpus: int = setting(Whole(0, MOST_THREADS), 1)
    gpus: float = setting(NOT_NEGATIVE, 0.0)
    files: str = setting(Text(), "")
    packages: tuple[str, ...] = setting(Texts(), ())
