"""Objects that threads share, threads that cannot start, and too many of them."""

from __future__ import annotations

import copy
import os
import pickle
import resource
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import numpy as np
import pytest

import evonet
from evonet.config import Config
from evonet.errors import FitnessError, OptionError, ShapeError
from tests.support.threads import run_together


def run_alone(code: str, stack: int | None = None) -> str:
    """Runs code in a process of its own, which must end well; returns what it prints.

    Its threads have stacks of so many bytes, if that is given.
    """

    def enlarge() -> None:
        if stack is not None:
            hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
            soft = stack if hard == resource.RLIM_INFINITY else hard
            resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=enlarge,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # which ends a process without threads
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("kind", ["recurrent", "ctrnn", "izhikevich"])
def test_threads_with_different_batches_share_a_network_with_memory(kind: str) -> None:
    """In a process of its own: it used to write behind the end of the state."""
    found = run_alone(f"""
        import numpy as np
        import evonet
        from evonet.errors import ShapeError
        from tests.support.threads import run_together

        population = evonet.Population.random(50, 4, 2, num_nodes=20, num_connections=60)
        network = evonet.compile(population, {kind!r}, threads=2)
        def call(size):
            network(np.ones((size, 4)))
        def forget():
            network.reset()
        works = [lambda size=size: call(size) for size in (1, 7, 64, 1000)]
        raised = run_together([*works, forget], 60)
        assert all(isinstance(error, ShapeError) for error in raised), raised
        network.reset()
        print(network(np.ones((3, 4))).shape)
    """)
    assert found == "(50, 3, 2)\n"


def test_nothing_happens_to_a_memory_while_a_step_is_under_way() -> None:
    """Steps are stretched, so that a missing lock shows on any machine."""
    population = evonet.Population.random(2, 3, 2, num_nodes=4, num_connections=9)
    network = evonet.compile(population, "recurrent")
    x = np.ones((1, 3))
    threads: list[threading.Thread] = []
    waits: list[bool] = []
    plain = network._evaluate

    def slow(samples: Any) -> Any:
        if not threads:
            works = (network.reset, lambda: network.state, lambda: network(x))
            threads.extend(threading.Thread(target=work) for work in works)
            for thread in threads:
                thread.start()
            time.sleep(0.05)
            waits.extend(thread.is_alive() for thread in threads)
        return plain(samples)

    network._evaluate = slow
    network(x)
    for thread in threads:
        thread.join()
    assert waits == [True, True, True]


def test_steps_of_several_threads_follow_each_other() -> None:
    population = evonet.Population.random(20, 3, 2, num_nodes=10, num_connections=30)
    shared, alone = (evonet.compile(population, "recurrent") for _ in range(2))
    x = np.random.default_rng(0).normal(size=(5, 3))
    for _ in range(60):
        wanted = alone(x)
    assert run_together([lambda: shared(x)] * 3, 19) == []
    for _ in range(3):
        found = shared(x)
    assert (found == wanted).all()
    assert (shared.state == alone.state).all()


def test_threads_share_a_feed_forward_network() -> None:
    population = evonet.Population.random(100, 4, 2, num_nodes=20, num_connections=60)
    network = evonet.compile(population, threads=2)
    xs = [np.random.default_rng(size).normal(size=(size, 4)) for size in (1, 17, 300)]
    wanted = [network(x) for x in xs]

    def compare(i: int) -> None:
        assert (network(xs[i]) == wanted[i]).all()

    assert run_together([lambda i=i: compare(i) for i in (0, 1, 2, 1)], 20) == []


def neat(**options: object) -> evonet.NEAT:
    config = Config.from_dict(
        {"genome": {"num_inputs": 2, "num_outputs": 1}, "neat": {"pop_size": 30}}
    )
    return evonet.NEAT(config, 1, **options)  # type: ignore[arg-type]


def test_threads_share_an_algorithm() -> None:
    shared, alone = neat(), neat()
    fitness = np.arange(30.0)

    def evolve() -> None:
        shared.ask()
        shared.tell(fitness)

    raised = run_together([evolve] * 4, 25)
    assert all(isinstance(error, FitnessError) for error in raised)  # told twice, and no more
    while alone.generations_done < shared.generations_done:
        alone.ask()
        alone.tell(fitness)
    assert shared.state.population == alone.state.population
    assert shared.state.next_id == alone.state.next_id


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda found: pickle.loads(pickle.dumps(found))]
)
def test_an_algorithm_with_its_lock_can_be_copied(duplicate: object) -> None:
    algorithm = neat(backend="reference")
    algorithm.ask()
    other = duplicate(algorithm)  # type: ignore[operator]
    for found in (algorithm, other):
        found.tell(np.arange(30.0))
    assert algorithm.ask() == other.ask()


@pytest.mark.parametrize("threads", [-1, 4097, 1.5, "2", True, None])
def test_an_algorithm_refuses_strange_numbers_of_threads(threads: object) -> None:
    if threads is None:
        neat(threads=None)
        return
    with pytest.raises(OptionError, match="threads="):
        neat(threads=threads)


def test_thousands_of_threads_are_never_started() -> None:
    found = run_alone("""
        import numpy as np
        import evonet

        population = evonet.Population.random(2000, 8, 3, num_nodes=40, num_connections=200)
        network = evonet.compile(population, threads=3000)
        few = evonet.compile(population, threads=1)
        x = np.ones((256, 8))
        assert (network(x) == few(x)).all()
        evonet.NEAT(evonet.Config(), 1, num_inputs=2, num_outputs=1, threads=3000)
        with open("/proc/self/status") as status:
            print(next(line for line in status if line.startswith("Threads")).split()[1])
    """)
    assert int(found) < 300


@pytest.mark.limits_memory
def test_work_goes_on_without_threads_that_cannot_start() -> None:
    """Every stack wants more than the address space has."""
    found = run_alone(
        """
        import resource
        import numpy as np
        import evonet

        population = evonet.Population.random(500, 8, 3, num_nodes=40, num_connections=200)
        players = evonet.Population.random(50, 4, 2, num_nodes=5, num_connections=9)
        x = np.ones((256, 8))
        wanted = evonet.compile(population, threads=1)(x)
        with open("/proc/self/statm") as statm:
            used = int(statm.read().split()[0]) * resource.getpagesize()
        room = min(2**29, resource.getrlimit(resource.RLIMIT_STACK)[0] // 2)
        resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
        y = evonet.compile(population, threads=8)(x)
        evonet.compile(players, threads=8).rollout("cartpole", max_steps=20)
        neat = evonet.NEAT(evonet.Config(), 1, num_inputs=2, num_outputs=1, threads=8)
        neat.tell(np.arange(len(neat.ask())))
        neat.ask()
        with open("/proc/self/status") as status:
            threads = next(line for line in status if line.startswith("Threads")).split()[1]
        print((y == wanted).all(), threads)
        """,
        stack=2**40,
    )
    assert found.split()[0] == "True"
    assert int(found.split()[1]) < 8


@pytest.mark.limits_memory
def test_memory_that_is_not_there_is_a_memory_error() -> None:
    found = run_alone("""
        import resource
        import numpy as np
        import evonet

        population = evonet.Population.random(20, 8, 3, num_nodes=40, num_connections=200)
        network = evonet.compile(population, threads=1)
        with open("/proc/self/statm") as statm:
            used = int(statm.read().split()[0]) * resource.getpagesize()
        x = np.ones((1, 8))
        wanted = network(x)
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, resource.RLIM_INFINITY))
        for work in (
            lambda: network(np.ones((2**24, 8), np.float32)),
            lambda: evonet.Population.random(10**6, 8, 3, num_nodes=40, num_connections=200),
            lambda: network(np.ones((2**23, 8))),
        ):
            try:
                work()
            except MemoryError:
                print("MemoryError")
        assert (network(x) == wanted).all()
    """)
    assert found.split() == ["MemoryError"] * 3


def test_a_network_that_is_shared_still_checks_its_samples() -> None:
    population = evonet.Population.random(3, 2, 1, num_nodes=3, num_connections=4)
    network = evonet.compile(population, "recurrent")
    network(np.ones((2, 2)))
    with pytest.raises(ShapeError, match="remember 2"):
        network(np.ones((3, 2)))
