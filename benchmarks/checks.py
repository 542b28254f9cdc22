"""Times what must stay cheap on large files and in every call: reading, writing and checking.

    python -m benchmarks.checks

`evonet inspect` of a champion with 40,000 links, in a process of its own; `save_champion` of a
million links; and the checks of `compile`. These are timed by genes whose last flag is no truth
value, which are refused once everything before it was checked, beside compiling the same genes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from evonet import Population
from evonet.installation import require_native
from evonet.runs.champion import save_champion


def fastest(call: Callable[[], object], rounds: int) -> float:
    """The seconds of the fastest of some calls."""
    spent = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return min(spent)


def compile_genes(population: Population, enabled: np.ndarray) -> bool:
    """Compiles on one thread; returns whether the genes were taken."""
    p = population
    nodes = (p.node_start, p.node_key, p.bias, p.response, p.activation, p.aggregation)
    links = (p.conn_start, p.source, p.target, p.weight, enabled, p.rank)
    try:
        require_native().compile_schedule(
            p.num_inputs, p.num_outputs, *nodes, *links, 0, 0, True, 1
        )
    except ValueError:
        return False
    return True


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "champion.json"
        save_champion(file, Population.random(1, 100, 10, num_nodes=3000, num_connections=40_000))
        command = [sys.executable, "-m", "evonet", "inspect", str(file)]
        seconds = fastest(lambda: subprocess.run(command, capture_output=True, check=True), 3)
        print(f"inspect, 40,000 links: {seconds:.2f} s")
        large = Population.random(1, 100, 10, num_nodes=50_000, num_connections=1_000_000)
        seconds = fastest(lambda: save_champion(file, large), 3)
        print(f"save_champion, a million links: {seconds:.2f} s")
    population = Population.random(1000, 8, 4, num_nodes=50, num_connections=200)
    wrong = population.enabled.copy()
    wrong.view(np.uint8)[-1] = 2
    if not compile_genes(population, population.enabled) or compile_genes(population, wrong):
        raise SystemExit("genes are not checked as this benchmark expects")
    checks = fastest(lambda: compile_genes(population, wrong), 200)
    whole = fastest(lambda: compile_genes(population, population.enabled), 50)
    print(f"checks of compile: {checks * 1e6:.0f} of {whole * 1e6:.0f} us, {checks / whole:.2%}")


if __name__ == "__main__":
    main()
