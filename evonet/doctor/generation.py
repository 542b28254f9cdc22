"""A whole generation, phase by phase: the host's part measured here, the GPU's by a model."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from evonet.backends.cuda.cards import CARDS, Card
from evonet.backends.cuda.cost import Workload
from evonet.backends.cuda.pricing import PACK, Price, price_evaluation
from evonet.config import Config
from evonet.doctor.findings import Finding
from evonet.evolution import NEAT
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
    Load(10_000, 46, 256, 8, 4, "partial_direct 0.34", 500),
    Load(1_000_000, 1, 4, 2, 1, "full_direct", 20_000),
)


@dataclasses.dataclass(frozen=True)
class HostPhases:
    """Seconds that the host takes, whatever evaluates: measured for some genomes, scaled to all."""

    ask: float  # plan, breed, divide into species
    compile: float  # schedules
    evaluate: float  # if this processor evaluates, too
    work: Workload

    @property
    def before(self) -> float:
        """What comes before the evaluation."""
        return self.ask + self.compile


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
    ask, compiling, evaluate = (scale * min(r[0][i] for r in rounds) for i in range(3))
    schedule = rounds[-1][1].schedule
    some = Workload.of(schedule, 0, count, load.samples, True)
    work = dataclasses.replace(
        some,
        num_genomes=load.genomes,
        num_nodes=round(some.num_nodes * scale),
        num_edges=round(some.num_edges * scale),
        num_levels=round(some.num_levels * scale),
    )
    return HostPhases(ask, compiling, evaluate, work)


def _one_generation(
    algorithm: NEAT, x: np.ndarray, targets: np.ndarray
) -> tuple[tuple[float, float, float], Network]:
    times = [time.perf_counter()]
    population = algorithm.ask()
    times.append(time.perf_counter())
    network = compile(population, backend="cpu")
    times.append(time.perf_counter())
    loss = network.loss(x, targets)
    times.append(time.perf_counter())
    algorithm.tell(-loss)
    ask, compiling, evaluate = np.diff(times).tolist()
    return (ask, compiling, evaluate), network


def price_on(card: Card, work: Workload) -> Price:
    """What the model expects of a card."""
    return price_evaluation(
        work, card.limits, gigahertz=card.gigahertz, link=card.link * 1e9, pack=PACK
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
            f"here, scaled from {load.measured:,} genomes: ask {_ms(host.ask)}, "
            f"compile {_ms(host.compile)}, evaluate {_ms(host.evaluate)}; "
            f"in all {_ms(host.before + host.evaluate)}",
        ]
        for card in CARDS:
            price = price_on(card, host.work)
            lines.append(
                f"{card.name}, a model: pack {_ms(price.pack)}, upload {_ms(price.upload)}, "
                f"kernel {_ms(price.kernel)}, download {_ms(price.download)}, "
                f"call {_ms(price.call)}; in all {_ms(host.before + price.total)}"
            )
        yield Finding("generation", "ok", "\n".join(lines))


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:,.0f}" if seconds >= 0.01 else f"{1e3 * seconds:.2f}"
