"""A whole generation, phase by phase: the host's part measured here, the GPU's by a model."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from evonet.backends.cuda.cards import CARDS, Card
from evonet.backends.cuda.cost import Workload
from evonet.backends.cuda.genetics.cost import GenesWorkload
from evonet.backends.cuda.genetics.mating import is_worth_while
from evonet.backends.cuda.pricing import GenerationPrice, price_generation
from evonet.backends.genetics import NativeEngine
from evonet.config import Config
from evonet.doctor.findings import Finding
from evonet.evolution import NEAT
from evonet.evolution.neat.reproduction import share_out
from evonet.evolution.neat.species import join_members
from evonet.installation import load_native
from evonet.network import Network, compile


class Load(NamedTuple):
    """What a generation consists of."""

    genomes: int
    hidden: int
    samples: int
    inputs: int
    outputs: int
    connections: str
    measured: int  # genomes that stand for all


LOADS = (
    Load(10_000, 46, 256, 8, 4, "partial_direct 0.34", 2000),
    Load(1_000_000, 1, 4, 2, 1, "full_direct", 20_000),
)


@dataclasses.dataclass(frozen=True)
class HostPhases:
    """Seconds of a generation on this processor: measured for some genomes, scaled to all."""

    plan: float  # choosing parents, and taking the scores
    rank: float  # as much of that as is ranking and drawing, which a GPU does for many genomes
    breed: float  # and divide into species
    compile: float  # schedules
    evaluate: float
    work: Workload
    genes: GenesWorkload

    @property
    def total(self) -> float:
        """A generation on this processor."""
        return self.plan + self.breed + self.compile + self.evaluate

    @property
    def plan_beside_gpu(self) -> float:
        """What stays on the host of choosing parents, where a GPU breeds."""
        is_there = is_worth_while(self.genes.num_genomes)
        return max(0.0, self.plan - self.rank) if is_there else self.plan


def measure_host(load: Load) -> HostPhases:
    """Evolves a few genomes of a size for three generations, of which the fastest counts."""
    count = load.measured
    config = Config.from_dict(
        {
            "neat": {"pop_size": count},
            "genome": {
                "num_inputs": load.inputs,
                "num_outputs": load.outputs,
                "num_hidden": load.hidden,
                "initial_connection": load.connections,
            },
            "speciation": {"threshold": 4.0},
        }
    )
    algorithm = NEAT(config, seed=1, backend="cpu")
    x = np.linspace(-1, 1, load.samples * load.inputs, dtype=np.float32)
    x = x.reshape(load.samples, load.inputs)
    targets = np.zeros((load.samples, load.outputs), np.float32)
    rounds = [_one_generation(algorithm, x, targets) for _ in range(4)][1:]
    scale = load.genomes / count
    phases = [scale * min(r[0][i] for r in rounds) for i in range(4)]
    schedule = rounds[-1][1].schedule
    some = Workload.of(schedule, 0, count, load.samples, True)
    work = dataclasses.replace(
        some,
        num_genomes=load.genomes,
        num_nodes=round(some.num_nodes * scale),
        num_edges=round(some.num_edges * scale),
        num_levels=round(some.num_levels * scale),
    )
    population = algorithm.state.population
    genes = GenesWorkload(
        num_genomes=load.genomes,
        num_nodes=round(population.num_nodes * scale),
        num_connections=round(population.num_connections * scale),
        itemsize=population.dtype.itemsize,
        old_species=len(algorithm.species),
    )
    plan, breed, compiling, evaluate = phases
    rank = scale * min(_time_ranking(algorithm) for _ in range(3))
    return HostPhases(plan, rank, breed, compiling, evaluate, work, genes)


def _time_ranking(algorithm: NEAT) -> float:
    """Ranks genomes and draws parents as the next generation would; takes the seconds."""
    state, config = algorithm.state, algorithm.config
    assert state.verdict is not None
    assert state.fitness is not None
    members = join_members(state.verdict.survivors)
    shares = share_out(state.fitness, *members, config.neat.pop_size, 1, config.reproduction)
    engine = NativeEngine(algorithm.threads)
    start = time.perf_counter()
    engine.mate(state.fitness, shares, algorithm.seed, 1)
    return time.perf_counter() - start


def _one_generation(
    algorithm: NEAT, x: np.ndarray, targets: np.ndarray
) -> tuple[tuple[float, float, float, float], Network]:
    times, before = [time.perf_counter()], sum(algorithm.spent.values())
    population = algorithm.ask()
    times.append(time.perf_counter())
    network = compile(population, backend="cpu")
    times.append(time.perf_counter())
    loss = network.loss(x, targets)
    times.append(time.perf_counter())
    algorithm.tell(-loss)
    times.append(time.perf_counter())
    ask, compiling, evaluate, tell = np.diff(times).tolist()
    breed = sum(algorithm.spent.values()) - before
    return (ask - breed + tell, breed, compiling, evaluate), network


def price_on(card: Card, host: HostPhases) -> GenerationPrice:
    """What the model expects of a card that breeds."""
    return price_generation(
        host.genes,
        host.work,
        card.limits,
        gigahertz=card.gigahertz,
        link=card.link * 1e9,
        memory=card.memory * 1e9,
    )


def look_at_generation() -> Iterator[Finding]:
    """Where the time of a generation goes, here and on two public cards."""
    if load_native() is None:
        return
    for load in LOADS:
        host = measure_host(load)
        size = f"{host.work.num_nodes / load.genomes:.0f} nodes, "
        size += f"{host.work.num_edges / load.genomes:.0f} links"
        lines = [
            f"{load.genomes:,} genomes ({size}), {load.samples} samples; milliseconds",
            f"here, scaled from {load.measured:,} genomes: choose parents {_ms(host.plan)}, "
            f"breed {_ms(host.breed)}, compile {_ms(host.compile)}, "
            f"evaluate {_ms(host.evaluate)}; in all {_ms(host.total)}",
        ]
        for card in CARDS:
            price = price_on(card, host)
            lines.append(
                f"{card.name}, a model: choose parents here {_ms(host.plan_beside_gpu)}, "
                f"breed {_ms(price.breed)}, speciate {_ms(price.speciate)}, "
                f"compile {_ms(price.compile)}, evaluate {_ms(price.evaluate)}, "
                f"copies {_ms(price.copies)}, calls {_ms(price.calls)}; "
                f"in all {_ms(host.plan_beside_gpu + price.total)}"
            )
        yield Finding("generation", "ok", "\n".join(lines))


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:,.0f}" if seconds >= 0.01 else f"{1e3 * seconds:.2f}"
