"""Several ways to do the same work, side by side, and compared with the machine's limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from evonet.bench.growth import Growth
from evonet.bench.peers.installed import Peers
from evonet.bench.timing import ROUND_SECONDS, Contender, Entry, take_turns


@dataclass(frozen=True)
class Work:
    """The least that one unit needs, in any implementation."""

    fma: float = 0.0  # multiply-adds
    l1: float = 0.0  # bytes that the arithmetic reads
    memory: float = 0.0  # bytes that are read or written for the first time


@dataclass(frozen=True)
class SpeedComparison:
    """The results of several contenders; the others are compared with the first."""

    name: str  # short and unique
    title: str  # what they did, with all sizes
    unit: str  # what the seconds are for
    entries: tuple[Entry, ...]
    work: Work = Work()

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
        """Which share an entry reached of each limit that matters for this work, by its median."""
        return {
            name: need / entry.timing.median / limits[name]
            for name, need in asdict(self.work).items()
            if need > 0
        }


@dataclass(frozen=True)
class BenchOptions:
    """How a benchmark runs."""

    quick: bool  # whether to make everything small: to check that it works, not for figures
    rounds: int  # how often each contender is timed
    threads: int  # the threads that evonet may use, at least 1
    peers: Peers
    say: Callable[[str], None] = lambda line: None  # called with a line about what happens next

    @property
    def turn(self) -> float:
        """The least time of a contender's turn, in seconds."""
        return 0.01 if self.quick else ROUND_SECONDS

    def take_turns(
        self, contenders: Sequence[Contender], most_rounds: int | None = None
    ) -> tuple[Entry, ...]:
        """Times contenders with these options, in a limited number of rounds if they are slow."""
        return take_turns(contenders, min(self.rounds, most_rounds or self.rounds), self.turn)


@dataclass
class Findings:
    """The results of a benchmark, in the order in which they were measured."""

    comparisons: list[SpeedComparison] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)
