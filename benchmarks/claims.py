"""The figures that the documentation quotes, compared with those of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from evonet.bench.result import Bench
from evonet.bench.tables import ResultTable, digits, duration

# Quoted figures are rounded, and machines vary: this share of one is enough.
ENOUGH: Final = 0.8

Measure = Callable[[Bench], float | None]


@dataclass(frozen=True)
class Claim:
    """A figure that a page quotes.

    Attributes:
        says: What is claimed.
        page: The page.
        quoted: The figure: a ratio, or seconds.
        measure: Finds it in a run; None if it was not measured.
        reason: Why it may be missed.
        seconds: Whether it is a time, of which less is better, or a ratio, of which more is.
    """

    says: str
    page: str
    quoted: float
    measure: Measure
    reason: str
    seconds: bool = False


@dataclass(frozen=True)
class Checked:
    """A claim after a run.

    Attributes:
        says: What is claimed.
        page: The page.
        quoted: The figure there.
        measured: The figure of this run.
        met: Whether it is as good as quoted, within rounding.
        reason: Why it was missed; empty if it was met.
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


def _longest(*comparisons: str) -> Measure:
    """The longest median of all entries of some comparisons."""

    def measure(bench: Bench) -> float | None:
        found = [bench.comparison(name) for name in comparisons]
        medians = [entry.timing.median for each in found if each for entry in each.entries]
        return max(medians, default=None)

    return measure


def _ours(comparison: str) -> Measure:
    """Evonet's median."""

    def measure(bench: Bench) -> float | None:
        found = bench.comparison(comparison)
        return found.entries[0].timing.median if found else None

    return measure


def _constant_cost(bench: Bench) -> float | None:
    """The cost per genome in a population of ten thousand over that in one of a million."""
    growths = (growth for found in bench.findings.values() for growth in found.growths)
    growth = next((growth for growth in growths if growth.name == "population"), None)
    if growth is None or not {10_000, 1_000_000} <= set(growth.x):
        return None
    cost = dict(zip(growth.x, growth.medians(growth.lines[0]), strict=True))
    return (cost[10_000] / 10_000) / (cost[1_000_000] / 1_000_000)


_README, _TASKS, _PERFORMANCE = "README", "docs/tasks.md", "docs/performance.md"
_ONE_CORE = "neat-python runs on one core, and a shared machine has higher clocks for one core"
_BREEDING = "breeding waits for memory, neat-python for its interpreter"
_PACKING = "packing reads Python objects gene by gene"

CLAIMS: Final = (
    Claim(
        "forward pass, 50 nodes, 200 connections, 32 samples: times neat-python's `activate`",
        _README,
        3000.0,
        _ratio("forward-small-sigmoid", "neat-python"),
        _ONE_CORE,
    ),
    Claim(
        "the same on a single sample",
        _README,
        150.0,
        _ratio("forward-single-sigmoid", "neat-python"),
        "one sample fills one of 16 lanes, so a call mostly waits for instructions one by one",
    ),
    Claim(
        "compiling, per connection",
        _README,
        20e-9,
        _ours("compile"),
        "a walk through every genome waits for memory, and both cores share it",
        seconds=True,
    ),
    Claim(
        "a generation of XOR with 10,000 genomes, per genome",
        _README,
        1.5e-6,
        _ours("generation-xor-10000"),
        "genomes of 4 nodes are mostly fixed costs, which a slower clock lengthens",
        seconds=True,
    ),
    Claim(
        "a generation at 50 nodes and 200 connections: times neat-python",
        _README,
        340.0,
        _ratio("generation-medium-1000", "neat-python"),
        _BREEDING,
    ),
    Claim(
        "cost of a genome in 10,000 over that in 1,000,000",
        _README,
        1.0,
        _constant_cost,
        "a million genomes have more species, and their genes do not fit into any cache",
    ),
    Claim(
        "a step in episodes of hundreds of steps, one core",
        _TASKS,
        35e-9,
        _longest("rollout-mountain_car", "rollout-pendulum", "rollout-acrobot"),
        "Runge-Kutta steps and sines cost more than a network of 10 nodes",
        seconds=True,
    ),
    Claim(
        "a step in a first generation of CartPole, one core",
        _TASKS,
        110e-9,
        _longest("rollout-cartpole"),
        "episodes of a dozen steps mostly start and end",
        seconds=True,
    ),
    Claim(
        "CartPole: times neat-python with the task in plain Python",
        _TASKS,
        600.0,
        _ratio("rollout-compared", "neat-python"),
        _ONE_CORE,
    ),
    Claim(
        "CartPole: times a loop over steps in NumPy",
        _TASKS,
        20.0,
        _ratio("rollout-compared", "evonet, one call per step"),
        "a call per step costs the same for any network, and these are small",
    ),
    Claim(
        "evaluation of neat-python's genomes: times neat-python",
        _PERFORMANCE,
        60.0,
        _ratio("plugin-evaluate", "neat-python"),
        _PACKING,
    ),
    Claim(
        "the same: times ParallelEvaluator",
        _PERFORMANCE,
        60.0,
        _ratio("plugin-evaluate", "neat-python, ParallelEvaluator"),
        _PACKING,
    ),
    Claim(
        "evonet's own loop on neat-python's config, 1,000 genomes: times neat-python",
        _PERFORMANCE,
        50.0,
        _ratio("generation-medium-1000", "neat-python"),
        _BREEDING,
    ),
)


def check_claims(bench: Bench) -> list[Checked]:
    """Compares all claims that a run measured; a quick run measures none."""
    found = []
    for claim in () if bench.quick else CLAIMS:
        measured = claim.measure(bench)
        if measured is None:
            continue
        share = claim.quoted / measured if claim.seconds else measured / claim.quoted
        quoted, shown = (
            duration(value) if claim.seconds else f"{digits(value)}×"
            for value in (claim.quoted, measured)
        )
        met = share >= ENOUGH
        reason = "" if met else claim.reason
        found.append(Checked(claim.says, claim.page, quoted, shown, met, reason))
    return found


def claims_table(checked: list[Checked]) -> ResultTable:
    """What is quoted, what was measured, and why some of it was missed."""
    rows = tuple(
        (c.says, c.page, c.quoted, c.measured, "met" if c.met else f"short: {c.reason}")
        for c in checked
    )
    head = ("", "page", "quoted", "measured", "")
    return ResultTable(head, rows, (True, True, False, False, True))
