"""Islands evolve apart, exchange their best genomes, and can be interrupted anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evonet
from evonet.config import Config
from evonet.errors import CheckpointError, OptionError
from evonet.evolution import NEAT
from evonet.evolution.callbacks import CheckpointSaver, GenerationRecord
from evonet.evolution.checkpoint.file import pack
from evonet.evolution.islands import Islands, island_seed, islands_of
from evonet.runs.loop import evolve
from evonet.tasks import xor
from tests.support.evolution_cases import xor_config


def config(**changes: Any) -> Config:
    return xor_config(12).replace(
        {
            "islands.count": 3,
            "islands.migrate_every": 2,
            "islands.migrants": 2,
            "speciation.threshold": 1.5,
            **changes,
        }
    )


def make(**changes: Any) -> Islands:
    return islands_of(NEAT)(config(**changes), 7, num_inputs=2, num_outputs=1)


def advance(algorithm: Islands, generations: int) -> None:
    for _ in range(generations):
        population = algorithm.ask()
        algorithm.tell(xor().evaluate(evonet.compile(population), 0))


def test_islands_start_as_each_would_alone() -> None:
    found = make()
    assert len(found.ask()) == 36
    for i, island in enumerate(found.state.islands):
        alone = NEAT(config(), island_seed(7, i), num_inputs=2, num_outputs=1)
        assert island.population == alone.ask()
    assert len({island_seed(7, i) for i in range(100)}) == 100


def test_without_migrants_an_island_evolves_as_it_would_alone() -> None:
    found = make(**{"islands.migrants": 0})
    alone = NEAT(config(), island_seed(7, 0), num_inputs=2, num_outputs=1)
    for _ in range(6):
        advance(found, 1)
        population = alone.ask()
        alone.tell(xor().evaluate(evonet.compile(population), 0))
        # Only the numbers of genes and genomes that appear later may differ.
        first = found.state.islands[0]
        assert first.population.weight.tobytes() == population.weight.tobytes()
        assert first.fitness is not None
        assert alone.state.fitness is not None
        assert first.fitness.tolist() == alone.state.fitness.tolist()


def test_the_best_of_each_island_arrive_on_the_next_one() -> None:
    found = make()
    advance(found, 2)
    before = found.state
    assert before.generation == 1
    tops = []
    for island in before.islands:
        assert island.fitness is not None
        order = np.argsort(-island.fitness, kind="stable")[:2]
        tops.append(island.population[order.tolist()])
    found.ask()
    assert found.state.generation == 2
    for i, island in enumerate(found.state.islands):
        assert island.population[-2:] == tops[i - 1]
        assert (island.ids[-2:] >= before.next_id).all()


def test_genomes_move_only_when_it_is_time() -> None:
    with_few, without = make(**{"islands.migrate_every": 100}), make(**{"islands.migrants": 0})
    advance(with_few, 5)
    advance(without, 5)
    assert with_few.state.population == without.state.population


def test_numbers_are_shared_by_all_islands() -> None:
    found = make()
    advance(found, 9)
    state = found.state
    assert len(np.unique(state.ids)) == len(state.ids) == 36
    genes: dict[int, tuple[int, int]] = {}
    for link in zip(
        state.population.innovation.tolist(),
        state.population.source.tolist(),
        state.population.target.tolist(),
        strict=True,
    ):
        assert genes.setdefault(link[0], link[1:]) == link[1:]
    for island in state.islands:
        members = np.concatenate([species.members for species in island.species])  # type: ignore[attr-defined]
        assert sorted(members.tolist()) == list(range(12))


@pytest.mark.parametrize("where", range(1, 9, 2))
def test_a_resumed_run_has_the_bits_of_one_that_was_not_interrupted(
    where: int, tmp_path: Path
) -> None:
    whole = evolve(xor(), config(), generations=9, seed=3)

    def interrupt(record: GenerationRecord) -> None:
        if record.generation == where:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evolve(
            xor(),
            config(),
            generations=9,
            seed=3,
            callbacks=[CheckpointSaver(tmp_path), interrupt],
        )
    for given in (config(), None):
        resumed = evolve(xor(), given, generations=9, seed=3, resume=tmp_path)
        for a, b in zip(pack(resumed.algorithm), pack(whole.algorithm), strict=True):
            assert a.keys() == b.keys()
            assert all(np.array_equal(a[name], b[name]) for name in a)


def test_islands_are_evaluated_by_workers_alike() -> None:
    one = evolve(xor(), config(), generations=4, seed=3)
    two = evolve(xor(), config(), generations=4, seed=3, workers=2)
    assert one.algorithm.state.population == two.algorithm.state.population


def test_a_record_describes_every_island() -> None:
    records = list[GenerationRecord]()
    evolve(xor(), config(), generations=3, seed=3, callbacks=[records.append])
    last = records[-1]
    assert last.size == 36
    assert last.summary.startswith("3 islands, species ")
    assert len(last.details["islands"]) == 3
    assert max(island["best"] for island in last.details["islands"]) == last.best
    keys = [species.key for species in last.species]
    assert len(set(keys)) == len(keys) == last.num_species
    assert sum(species.size for species in last.species) == 36


def test_the_number_of_islands_is_part_of_a_run(tmp_path: Path) -> None:
    assert config().digest() != config(**{"islands.count": 4}).digest()
    assert Config().replace({"islands.count": 1}).digest() == Config().digest()
    evolve(xor(), config(), generations=2, callbacks=[CheckpointSaver(tmp_path)])
    with pytest.raises(CheckpointError, match=r"islands.migrants"):
        evolve(xor(), config(**{"islands.migrants": 3}), generations=3, resume=tmp_path)
    evolve(xor(), config(**{"islands.migrants": 3}), generations=3, resume=tmp_path, fork=True)
    more = config(**{"islands.count": 4})
    with pytest.raises(CheckpointError, match="Not even a fork"):
        evolve(xor(), more, generations=3, resume=tmp_path, fork=True)
    with pytest.raises(CheckpointError, match="was written by the algorithm"):
        evolve(xor(), xor_config(12), generations=3, resume=tmp_path)


def test_damaged_islands_are_refused(tmp_path: Path) -> None:
    from evonet.evolution.checkpoint.file import FORMAT, VERSION, read_checkpoint
    from evonet.files.checksummed_tensors import write_tensors

    algorithm = make()
    advance(algorithm, 2)
    path = tmp_path / "checkpoint.safetensors"
    changes: list[tuple[str, Any]] = [
        ("islands", []),
        ("islands", [{"size": 36}]),
        ("islands", "three"),
        ("island.member.start", np.array([0, 5, 3, 36])),
        ("island.species_key", np.zeros(3, np.int64)),
    ]
    for name, value in changes:
        settings, arrays = pack(algorithm)
        (arrays if name in arrays else settings)[name] = value
        write_tensors(path, FORMAT, VERSION, settings, arrays)
        with pytest.raises(CheckpointError):
            read_checkpoint(path, islands_of(NEAT))


def test_migrants_fit_into_an_island() -> None:
    with pytest.raises(OptionError, match=r"islands\.migrants = 13 must not exceed"):
        make(**{"islands.migrants": 13})
