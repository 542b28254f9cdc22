"""Several ways to do the same work, side by side, and beside what the machine can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from evonet.bench.growth import Growth
from evonet.bench.peers.installed import Peers
from evonet.bench.timing import ROUND_SECONDS, Entry


@dataclass(frozen=True)
class Work:
    """What one unit needs at the very least, however it is done.

    Attributes:
        fma: Multiply-adds.
        l1: Bytes that arithmetic reads, wherever they lie.
        memory: Bytes that are read or written for the first time.
    """

    fma: float = 0.0
    l1: float = 0.0
    memory: float = 0.0


@dataclass(frozen=True)
class Comparison:
    """What came out for several contenders.

    Attributes:
        name: Short, unique.
        title: What they did, with all sizes.
        unit: What the seconds are for.
        entries: The first is who the others are compared with.
        work: What a unit needs at least.
        command: What reproduces it.
    """

    name: str
    title: str
    unit: str
    entries: tuple[Entry, ...]
    work: Work
    command: str

    def ratio(self, entry: Entry) -> float:
        """How many times longer an entry takes than the first, by medians."""
        return entry.timing.median / self.entries[0].timing.median

    def best_ratio(self, entry: Entry) -> float:
        """The same by the best rounds."""
        return entry.timing.best / self.entries[0].timing.best

    def entry(self, name: str) -> Entry | None:
        """The entry of that name, if it took part."""
        return next((entry for entry in self.entries if entry.name == name), None)

    def shares(self, entry: Entry, limits: Mapping[str, float]) -> dict[str, float]:
        """What an entry reached of each limit, by its median.

        Args:
            entry: One of them.
            limits: The most that the machine can do per second, by names of `Work`.

        Returns:
            Only those limits that the work has anything to do with.
        """
        needs = {"fma": self.work.fma, "l1": self.work.l1, "memory": self.work.memory}
        return {
            name: need / entry.timing.median / limits[name]
            for name, need in needs.items()
            if need > 0
        }


@dataclass(frozen=True)
class Settings:
    """How a benchmark is to be run.

    Attributes:
        quick: Whether to make everything small: to see that it works, not for figures.
        rounds: How often each contender is timed.
        threads: That evonet may use, at least 1.
        peers: Who else takes part.
        say: Is told what happens next.
    """

    quick: bool
    rounds: int
    threads: int
    peers: Peers
    say: Callable[[str], None] = field(default=lambda line: None)

    @property
    def turn(self) -> float:
        """The least time of a contender's turn, in seconds."""
        return 0.01 if self.quick else ROUND_SECONDS


@dataclass
class Findings:
    """What a benchmark found out.

    Attributes:
        comparisons: In the order in which they were made.
        growths: In the order in which they were made.
    """

    comparisons: list[Comparison] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)
