"""A whole generation on a GPU that breeds: instructions, the host's time, and a model of all of it.

    python -m benchmarks.generation_model [--write docs/gpu.md] [--keep FOLDER] [--rounds 11 5]

No GPU is needed, and none is measured. Instructions are counted in machine code. The host's time is
measured beside an imaginary GPU that sends what the SIMT runner computed (`recorded_gpu`): the
median of some generations; the recording takes minutes, and --keep stores it. Kernels are priced
by `evonet/backends/cuda/pricing.py`, which lists what it assumes.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks import recorded_gpu
from benchmarks.generation import Workload as Run
from benchmarks.generation import medium, small
from benchmarks.genetics_steps import count_steps
from evonet.backends.cuda.cards import CARDS
from evonet.backends.cuda.cost import Workload
from evonet.backends.cuda.genetics.cost import (
    INSTRUCTIONS,
    SORT,
    GenesWorkload,
    KernelTime,
    price_genes,
)
from evonet.backends.cuda.pricing import WAIT_CALL, price_generation
from evonet.evolution import NEAT
from evonet.schedule import build_schedule

Durations = Callable[[str, str], float]
BEGIN, END = "<!-- generation tables: begin -->", "<!-- generation tables: end -->"
DRIVER = 6e-6  # seconds of CuPy and the driver for a launch: assumed
SORT_DRIVER = 70e-6  # seconds of CuPy, Thrust and the driver for a sort: assumed


def steps_table() -> Iterator[str]:
    """Instructions as counted, beside those that the model reckons with."""
    yield "**SASS instructions of a thread per gene** in the loops of breeding, species and"
    yield "compiling, with all branches and without unrolling; float32."
    yield ""
    yield "| step | model | sm_86 | sm_90 |"
    yield "|---|---|---|---|"
    counted = [count_steps(arch) for arch in ("sm_86", "sm_90")]
    for name, assumed in INSTRUCTIONS.items():
        yield f"| {name} | {assumed} | " + " | ".join(str(found[name]) for found in counted) + " |"


def evolved(run: Run) -> NEAT:
    """The population as the model takes it, bred on the processor."""
    inputs, outputs = run.task.num_inputs, run.task.num_outputs
    algorithm = NEAT(run.config, seed=1, backend="cpu", num_inputs=inputs, num_outputs=outputs)
    for _ in range(run.generations):
        count = len(algorithm.ask())
        algorithm.tell(np.random.default_rng(algorithm.generation).normal(size=count))
    return algorithm


def measure(run: Run, rounds: int, keep: Path | None) -> tuple[NEAT, recorded_gpu.Generation]:
    """The host's part: the generation of median duration."""
    algorithm = evolved(run)
    count = rounds + 1
    file = None if keep is None else keep / f"{len(algorithm.state.population)}-{count}.npz"
    if file is not None and file.exists():
        with np.load(file) as stored:
            downloads = [stored[f"arr_{i}"] for i in range(len(stored.files))]
    else:
        downloads = recorded_gpu.record(run.config, algorithm.state, run.task, count)
        if file is not None:
            np.savez(file, *downloads)
    state = algorithm.state
    found = recorded_gpu.replay(run.config, state, run.task, count, downloads)
    found.sort(key=lambda each: sum(each.seconds.values()))
    return algorithm, found[(len(found) - 1) // 2]


def host_table(runs: list[tuple[str, recorded_gpu.Generation]]) -> Iterator[str]:
    """What the host does and asks for, by phase."""
    yield "**The host's part** of a generation whose genes are on the GPU, measured without one:"
    yield "milliseconds of Python and native code on this machine, launches and sorts, downloads"
    yield "that it waits for, and bytes to and from the GPU. Ranking few genomes is part of `ask`."
    yield ""
    yield "| | phase | ms | launches | waits | to the GPU | to the host |"
    yield "|---|---|---|---|---|---|---|"
    for name, found in runs:
        title = f"{name}; {found.old_species} species, then {found.species}"
        for phase, seconds in found.seconds.items():
            tally = found.tally[phase]
            yield (
                f"| {title} | {phase} | {1e3 * seconds:.2f} | {sum(tally.launches.values())} "
                f"| {tally.downloads} | {tally.uploaded:,} | {tally.downloaded:,} |"
            )
            title = ""


def seconds_with(found: recorded_gpu.Generation, duration: Durations) -> tuple[float, float]:
    """Plays a generation: launches run when the GPU is free, and downloads wait for all of them.

    Args:
        found: The generation, with the time of every launch and download on the host.
        duration: Seconds of a launch, by phase and kernel.

    Returns:
        Seconds in all, and those in which the host waits.
    """
    late = waited = free = 0.0  # how much the host is behind its own clock; when the GPU is free
    for phase, name, at in found.events:
        now = at + late
        if name is None:
            pause = max(0.0, free - now) + WAIT_CALL
            late += pause
            waited += pause
        else:
            call = SORT_DRIVER if name == SORT else DRIVER
            late += call
            free = max(free, now + call) + duration(phase, name)
    return sum(found.seconds.values()) + late, waited


def model_table(runs: list[tuple[str, NEAT, recorded_gpu.Generation, Run]]) -> Iterator[str]:
    """The generation by phase, on public cards."""
    yield "**A model, not a measurement; no GPU was measured**: milliseconds of a generation."
    yield "The GPU works while the host goes on, until the host waits for a number. The host is the"
    yield f"table below, and {1e6 * DRIVER:.0f} µs for a launch, {1e6 * SORT_DRIVER:.0f} for a"
    yield f"sort, {1e6 * WAIT_CALL:.0f} for a wait."
    yield ""
    yield "| | card | breed | speciate | compile | evaluate | copies | host | in all |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, algorithm, found, run in runs:
        population = algorithm.state.population
        some = population[list(range(min(2000, len(population))))]
        schedule = build_schedule(some)
        work = scaled(Workload.of(schedule, 0, len(some), len(run.task.x), True), len(population))
        founded = max(0, found.species - found.old_species)
        genes = GenesWorkload(
            *(found.genomes, found.nodes, found.connections, population.dtype.itemsize),
            *(found.old_species, founded),
        )
        for card in CARDS:
            price = price_generation(
                *(genes, work, card.limits),
                gigahertz=card.gigahertz,
                link=card.link * 1e9,
                memory=card.memory * 1e9,
            )
            genes_time = price_genes(genes, card.limits, card.gigahertz, card.memory * 1e9)
            whole, waited = seconds_with(found, durations(genes_time, price.evaluate))
            whole += price.copies
            host = whole - waited - price.copies
            cells = (price.breed, price.speciate, price.compile, price.evaluate, price.copies, host)
            numbers = " | ".join(f"{1e3 * x:.2f}" for x in (*cells, whole))
            yield f"| {name} | {card.name} | {numbers} |"
            name = ""


# Kernels that the model prices together.
TOGETHER = {
    "scan_tiles": "scan",
    "scan_join": "scan",
    "claim_numbers": "numbers",
    "count_numbers": "numbers",
}


def durations(kernels: list[KernelTime], evaluation: float) -> Durations:
    """Seconds of a launch, by the phase of the loop and the kernel."""
    found = {(one.phase, one.kernel): one.seconds / max(1, one.launches) for one in kernels}
    phases = {"ask": ("speciate", "breed"), "compile": ("compile",)}

    def of(phase: str, name: str) -> float:
        if name.startswith("forward"):
            return evaluation  # with its loss
        known = TOGETHER.get(name, name)
        return max((found.get((each, known), 0.0) for each in phases.get(phase, ())), default=0.0)

    return of


def scaled(some: Workload, count: int) -> Workload:
    """The same genomes, as many of them as wanted."""
    scale = count / some.num_genomes
    return dataclasses.replace(
        some,
        num_genomes=count,
        num_nodes=round(some.num_nodes * scale),
        num_edges=round(some.num_edges * scale),
        num_levels=round(some.num_levels * scale),
    )


def tables(sizes: tuple[int, ...], rounds: tuple[int, ...], keep: Path | None) -> Iterator[str]:
    """All tables, as lines of Markdown."""
    steps = list(steps_table())  # before CuPy is replaced
    makers: tuple[Callable[[int], Run], ...] = medium, small
    runs = []
    for maker, size, number in zip(makers, sizes, rounds, strict=True):
        run = maker(size)
        algorithm, found = measure(run, number, keep)
        runs.append((run.name, algorithm, found, run))
    yield "Made by `python -m benchmarks.generation_model`."
    yield ""
    yield from model_table(runs)
    yield ""
    yield from host_table([(name, found) for name, _, found, _ in runs])
    yield ""
    yield from steps


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", type=Path, help="a page with marks, to put the tables into")
    parser.add_argument("--keep", type=Path, help="a folder for recordings")
    parser.add_argument("--rounds", type=int, nargs=2, default=(11, 5), help="generations")
    parser.add_argument("--genomes", type=int, nargs=2, default=(10_000, 1_000_000))
    options = parser.parse_args()
    text = "\n".join(tables(tuple(options.genomes), tuple(options.rounds), options.keep))
    if options.write is None:
        print(text)
        return
    before, rest = options.write.read_text().split(BEGIN)
    options.write.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
