"""The figures that the documentation quotes, each held against what was just measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evonet.bench.tables import Table, digits, duration

if TYPE_CHECKING:
    from evonet.bench.result import Bench

# Quoted figures are rounded, and machines have moods: so much of one must be reached.
ENOUGH: Final = 0.8

Measure = Callable[["Bench"], float | None]


@dataclass(frozen=True)
class Claim:
    """A figure that some page quotes.

    Attributes:
        says: What is claimed.
        page: Where.
        quoted: The figure: a ratio, or seconds.
        measure: Finds it in a run; None where it was not measured.
        seconds: Whether it is a time, of which less is better, or a ratio, of which more is.
        reason: Why it may be missed.
    """

    says: str
    page: str
    quoted: float
    measure: Measure
    seconds: bool
    reason: str


@dataclass(frozen=True)
class Checked:
    """A claim and what became of it.

    Attributes:
        says: What is claimed.
        page: Where.
        quoted: The figure there.
        measured: The figure of this run.
        met: Whether it is as good as quoted, within rounding.
        reason: Why it was missed; empty where it was met.
    """

    says: str
    page: str
    quoted: str
    measured: str
    met: bool
    reason: str


def _ratio(comparison: str, entry: str) -> Measure:
    def measure(bench: Bench) -> float | None:
        found = bench.comparison(comparison)
        other = found.entry(entry) if found else None
        return found.ratio(other) if found and other else None

    return measure


def _seconds(comparison: str, entry: str | None = None) -> Measure:
    """The median of an entry, or the longest of all entries."""

    def measure(bench: Bench) -> float | None:
        found = bench.comparison(comparison)
        if found is None:
            return None
        medians = [e.timing.median for e in found.entries if entry in (None, e.name)]
        return max(medians, default=None)

    return measure


def _longest(*measures: Measure) -> Measure:
    def measure(bench: Bench) -> float | None:
        found = [value for each in measures if (value := each(bench)) is not None]
        return max(found, default=None)

    return measure


def _constant_cost(bench: Bench) -> float | None:
    """How the cost of a genome in ten thousand compares with that of one in a million."""
    growth = bench.growth("population")
    if growth is None or not {10_000, 1_000_000} <= set(growth.x):
        return None
    cost = dict(zip(growth.x, growth.medians(growth.lines[0]), strict=True))
    return (cost[10_000] / 10_000) / (cost[1_000_000] / 1_000_000)


CLAIMS: Final = (
    Claim(
        "forward pass, 50 nodes, 200 connections, 32 samples: times neat-python's `activate`",
        "README",
        3000.0,
        _ratio("forward-small-sigmoid", "neat-python"),
        False,
        "neat-python runs on one core, and clocks of a shared machine favour work on one core",
    ),
    Claim(
        "the same on a single sample",
        "README",
        150.0,
        _ratio("forward-single-sigmoid", "neat-python"),
        False,
        "one sample fills one of 16 lanes, so a call mostly waits for instructions one by one",
    ),
    Claim(
        "compiling, per connection",
        "README",
        20e-9,
        _seconds("compile", "evonet"),
        True,
        "a walk through every genome waits for memory, and both cores share it",
    ),
    Claim(
        "a generation of XOR with 10,000 genomes, per genome",
        "README",
        1.5e-6,
        _seconds("generation-xor-10000", "evonet"),
        True,
        "genomes of 4 nodes are mostly fixed costs, which a slower clock lengthens",
    ),
    Claim(
        "a generation at 50 nodes and 200 connections: times neat-python",
        "README",
        340.0,
        _ratio("generation-medium-1000", "neat-python"),
        False,
        "breeding waits for memory where neat-python waits for its interpreter",
    ),
    Claim(
        "cost of a genome in 10,000 over that in 1,000,000",
        "README",
        1.0,
        _constant_cost,
        False,
        "a million genomes have more species, and their genes do not fit into any cache",
    ),
    Claim(
        "a step in episodes of hundreds of steps, one core",
        "docs/tasks.md",
        35e-9,
        _longest(
            *(_seconds(f"rollout-{name}") for name in ("mountain_car", "pendulum", "acrobot"))
        ),
        True,
        "Runge-Kutta steps and sines cost more than a network of 10 nodes",
    ),
    Claim(
        "a step in a first generation of CartPole, one core",
        "docs/tasks.md",
        110e-9,
        _seconds("rollout-cartpole"),
        True,
        "episodes of a dozen steps mostly begin and end",
    ),
    Claim(
        "CartPole: times neat-python with the task in plain Python",
        "docs/tasks.md",
        600.0,
        _ratio("rollout-compared", "neat-python"),
        False,
        "neat-python runs on one core, and clocks of a shared machine favour work on one core",
    ),
    Claim(
        "CartPole: times a loop over steps in NumPy",
        "docs/tasks.md",
        20.0,
        _ratio("rollout-compared", "evonet, one call per step"),
        False,
        "a call per step costs the same for any network, and these are small",
    ),
    Claim(
        "evaluation of neat-python's genomes: times neat-python",
        "docs/performance.md",
        60.0,
        _ratio("plugin-evaluate", "neat-python"),
        False,
        "packing reads Python objects gene by gene",
    ),
    Claim(
        "the same: times ParallelEvaluator",
        "docs/performance.md",
        60.0,
        _ratio("plugin-evaluate", "neat-python, ParallelEvaluator"),
        False,
        "packing reads Python objects gene by gene",
    ),
    Claim(
        "evonet's own loop on neat-python's config, 1,000 genomes: times neat-python",
        "docs/performance.md",
        50.0,
        _ratio("generation-medium-1000", "neat-python"),
        False,
        "breeding waits for memory where neat-python waits for its interpreter",
    ),
)


def check_claims(bench: Bench) -> list[Checked]:
    """Holds all claims against a run that measured them; a quick one measures nothing."""
    if bench.quick:
        return []
    found = []
    for claim in CLAIMS:
        measured = claim.measure(bench)
        if measured is None:
            continue
        share = claim.quoted / measured if claim.seconds else measured / claim.quoted
        met = share >= ENOUGH
        quoted, shown = (
            duration(value) if claim.seconds else f"{digits(value)}×"
            for value in (claim.quoted, measured)
        )
        reason = "" if met else claim.reason
        found.append(Checked(claim.says, claim.page, quoted, shown, met, reason))
    return found


def claims_table(checked: list[Checked]) -> Table:
    """What is quoted, what was measured, and why some of it was missed."""
    rows = tuple(
        (c.says, c.page, c.quoted, c.measured, "met" if c.met else f"short: {c.reason}")
        for c in checked
    )
    return Table(("", "page", "quoted", "measured", ""), rows, (True, True, False, False, True))
