"""Turns the settings and arrays of a file into the state of a run, believing nothing.

A file is refused unless a run could have been in exactly that state: kernels trust what they are
given, and a state that is slightly wrong would evolve into something slightly wrong.
"""

from __future__ import annotations

import tomllib
from typing import Any, Final, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from evonet.config import Config
from evonet.config.config import digest_tables
from evonet.messages import show
from evonet.errors import CheckpointError
from evonet.evolution.neat.neat import Best, OnBadFitness, State
from evonet.evolution.neat.species import Species
from evonet.functions.registry import Texts, is_texts
from evonet.genes.arrays import ARRAYS, MOST_PINS, Int64Array
from evonet.genes.population import Population
from evonet.genes.file import FUNCTIONS, renumber
from evonet.schedule.schedule import build_schedule

# Counters begin below this, so that a run can go on counting for ever.
LARGEST_COUNT: Final = 2**60
LARGEST_GENERATION: Final = 2**31
PER_SPECIES: Final = ("key", "created", "last_improved", "representative")
COUNTERS: Final = ("next_id", "next_node_key", "next_innovation", "next_species")
TENSORS: Final = (
    *ARRAYS,
    *("ids", "fitness", "member_start", "member", "score_start", "score"),
    *(f"species_{name}" for name in PER_SPECIES),
)
SETTINGS: Final = frozenset(
    {
        *("num_inputs", "num_outputs", "activations", "aggregations", "functions"),
        *("config", "config_digest", "seed", "on_bad_fitness"),
        *("generation", "threshold", "best", *COUNTERS),
    }
)


class StateReader:
    """Reads the parts of a state; messages do not say which file it was.

    Raises:
        EvonetError: From every method, if something does not fit.
    """

    def __init__(self, settings: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        self._settings = settings
        self._tensors = tensors
        wrong = sorted((SETTINGS | {"format", "version"}) ^ settings.keys())
        if wrong:
            problem = "is missing" if wrong[0] in SETTINGS else "is unknown"
            raise CheckpointError(f"setting {show(wrong[0])} {problem}.")
        expected = "tables of activations and aggregations with expressions"
        self._expect("functions", is_texts(settings["functions"]), expected)

    def functions(self) -> Texts:
        """Functions of one's own that genomes use or the config names."""
        return cast(Texts, self._settings["functions"])

    def seed(self) -> int:
        """The seed of the run."""
        return self._whole("seed", 0, 2**64 - 1)

    def on_bad_fitness(self) -> OnBadFitness:
        """What the run does about NaN."""
        found = self._settings["on_bad_fitness"]
        self._expect("on_bad_fitness", found in ("error", "worst"), '"error" or "worst"')
        return cast(OnBadFitness, found)

    def config(self) -> Config:
        """The settings of the run."""
        text, digest = self._settings["config"], self._settings["config_digest"]
        self._expect("config", isinstance(text, str), "a text")
        config = Config.loads(text, source="its config")
        # Not config.digest(): a later evonet may have settings that this text does not know.
        known = digest_tables(tomllib.loads(text))
        self._expect("config_digest", digest == known, f"{known}, that of its config")
        return config

    def state(self, config: Config) -> State:
        """Where the run was, under the file's config."""
        generation = self._whole("generation", 0, LARGEST_GENERATION)
        counters = {name: self._whole(name, 0, LARGEST_COUNT) for name in COUNTERS}
        genomes = self._genomes(config, counters)
        size = len(genomes) - (self._settings["best"] is not None)
        _check(size >= 1, "there are no genomes.")
        ids = self._array("ids", np.int64, size)
        _check(_ascends(ids, 1, counters["next_id"]), "ids do not ascend from 1 to next_id - 1.")
        told = self._tensors["fitness"].size > 0
        fitness = self._array("fitness", np.float64, size if told else 0)
        _check(np.isfinite(fitness).all(), "a fitness is not finite.")
        best = self._best(genomes[size:], generation, counters["next_id"])
        if told:
            sign = -1.0 if config.neat.fitness_criterion == "min" else 1.0
            _check(
                best is not None and (sign * fitness <= sign * best.fitness).all(),
                "the best genome so far is not the best one.",
            )
        return State(
            population=genomes[:size],
            ids=ids,
            species=self._species(size, generation, counters["next_species"]),
            generation=generation,
            threshold=_real("threshold", self._settings["threshold"], 0.0),
            fitness=fitness if told else None,
            best=best,
            **counters,
        )

    def _genomes(self, config: Config, counters: dict[str, int]) -> Population:
        arrays: dict[str, Any] = {name: self._tensors[name] for name in ARRAYS}
        for name, (setting, functions) in FUNCTIONS.items():
            arrays[name] = renumber(arrays[name], self._settings[setting], functions, name)
        for name, least in (("num_inputs", 0), ("num_outputs", 1)):
            arrays[name] = self._whole(name, least, MOST_PINS)
            wanted = getattr(config.genome, name)
            self._expect(name, wanted in (None, arrays[name]), f"{wanted}, as in its config")
        genomes = Population(**arrays)
        for name, used in (
            ("next_node_key", genomes.node_key),
            ("next_innovation", genomes.innovation),
        ):
            largest = int(used.max(initial=-1))
            self._expect(name, largest < counters[name], f"more than {largest}, which is in use")
        if config.genome.feed_forward:
            check_acyclic(genomes)
        return genomes

    def _best(self, genome: Population, generation: int, next_id: int) -> Best | None:
        found = self._settings["best"]
        if found is None:
            return None
        known = isinstance(found, dict) and set(found) == {"fitness", "generation", "id"}
        self._expect("best", known, "a table of fitness, generation and id")
        return Best(
            genome=genome,
            fitness=_real("best.fitness", found["fitness"]),
            generation=_whole("best.generation", found["generation"], 0, generation),
            id=_whole("best.id", found["id"], 1, next_id - 1),
        )

    def _species(self, size: int, generation: int, next_species: int) -> list[Species]:
        key = self._array("species_key", np.int64, None)
        created, improved, representative = (
            self._array(f"species_{name}", np.int64, len(key)) for name in PER_SPECIES[1:]
        )
        member, start = self._rows("member", np.int64, len(key))
        score, score_start = self._rows("score", np.float64, len(key))
        _check(len(key) > 0, "there are no species.")
        _check(_ascends(key, 1, next_species), "species do not ascend from 1 to next_species - 1.")
        in_order = (created >= 0) & (created <= improved) & (improved <= generation)
        _check(in_order.all(), "a species improved before it was founded, or in the future.")
        lived = generation - created
        _check((np.diff(score_start) == lived).all(), "a species lacks scores, or has too many.")
        _check(np.isfinite(score).all(), "a score of a species is not finite.")

        counts = np.diff(start)
        _check((counts > 0).all(), "a species has no members.")
        everybody = np.array_equal(np.sort(member), np.arange(size))
        _check(everybody, "species do not partition the genomes.")
        home = np.repeat(np.arange(len(key)), counts)
        _check((np.lexsort((member, home)) == np.arange(size)).all(), "members do not ascend.")
        known = (representative >= 0) & (representative < size)
        known[known] = home[np.argsort(member)][representative[known]] == np.flatnonzero(known)
        _check(known.all(), "a species is represented by a genome that is no member.")
        return [
            Species(
                key=int(key[s]),
                created=int(created[s]),
                last_improved=int(improved[s]),
                members=member[start[s] : start[s + 1]],
                representative=int(representative[s]),
                score_history=score[score_start[s] : score_start[s + 1]].tolist(),
            )
            for s in range(len(key))
        ]

    # Single settings and arrays.

    def _expect(self, name: str, fits: bool, expected: str) -> None:
        _check(fits, f"{name} is {show(self._settings[name])}. Expected {expected}.")

    def _whole(self, name: str, least: int, most: int) -> int:
        return _whole(name, self._settings[name], least, most)

    def _array(self, name: str, dtype: DTypeLike, length: int | None) -> NDArray[Any]:
        array = self._tensors[name]
        fits = array.dtype == dtype and array.ndim == 1 and length in (None, len(array))
        _check(
            fits,
            f"{name} is {array.dtype} of shape {list(array.shape)}. "
            f"Expected {np.dtype(dtype)} of shape [{'any' if length is None else length}].",
        )
        return array

    def _rows(self, name: str, dtype: DTypeLike, rows: int) -> tuple[NDArray[Any], Int64Array]:
        values = self._array(name, dtype, None)
        starts = self._array(f"{name}_start", np.int64, rows + 1)
        ascends = starts[0] == 0 and starts[-1] == len(values) and (starts[1:] >= starts[:-1]).all()
        _check(ascends, f"{name}_start does not ascend from 0 to {len(values)}.")
        return values, starts


def check_acyclic(genomes: Population) -> None:
    """Raises if outputs need a cycle; disabled connections count, as they may be enabled.

    Raises:
        CyclicGenomeError: A genome has a cycle; names it and the cycle.
    """
    arrays: dict[str, Any] = {name: getattr(genomes, name) for name in Population.__slots__}
    arrays["enabled"] = np.ones_like(genomes.enabled)
    build_schedule(Population(**arrays, validate=False))


def _whole(name: str, value: Any, least: int, most: int) -> int:
    fits = type(value) is int and least <= value <= most
    _check(fits, f"{name} is {show(value)}. Expected {least} to {most}.")
    return int(value)


def _real(name: str, value: Any, least: float = -np.inf) -> float:
    fits = type(value) is float and bool(np.isfinite(value)) and value >= least
    _check(fits, f"{name} is {show(value)}. Expected a finite number, as a float.")
    return float(value)


def _ascends(values: NDArray[Any], least: int, end: int) -> bool:
    return bool(values[0] >= least and values[-1] < end and (values[1:] > values[:-1]).all())


def _check(fits: object, message: str) -> None:
    if not fits:
        raise CheckpointError(message)
