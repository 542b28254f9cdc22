"""Islands: several algorithms side by side that exchange their best genomes, in a ring.

`islands_of(NEAT)` is an algorithm as every other one: its population is that of all islands in
turn. Each island has a seed of its own, and breeds as it would alone, except that all islands
number genomes, nodes and connections together, so that a gene means the same on each of them.

When it is time to migrate, the best genomes of each island take the place of the last children on
the next island, as new genomes of their own. Who they are follows from fitness alone.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from evonet.config import Config
from evonet.errors import CheckpointError, OptionError
from evonet.evaluation import Evaluation
from evonet.evolution.algorithm import Algorithm, Description
from evonet.evolution.state import State
from evonet.files.saved_state import SavedState, check, check_whole
from evonet.genes.population import Population

# What all islands count together.
COUNTERS: Final = ("next_id", "next_node_key", "next_innovation")
PREFIX: Final = "island."


@dataclass(kw_only=True)
class IslandsState(State):
    """The state of all islands; `population`, `ids` and `fitness` are theirs in turn.

    Attributes:
        islands: The state of each island.
    """

    islands: list[State] = field(default_factory=list)


def island_seed(seed: int, island: int) -> int:
    """The seed of an island, 0 to 2^64 - 1."""
    text = f"evonet island {seed} {island}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


class Islands(Algorithm):
    """Several algorithms side by side; `islands_of` makes it for a kind of algorithm.

    Attributes:
        inner: The class of each island.
    """

    inner: ClassVar[type[Algorithm]]
    ids_ascend = False

    state: IslandsState

    def __reduce__(self) -> tuple[Any, ...]:
        # No module has a class that `islands_of` made.
        return _restore, (self.inner,), self.__getstate__()

    # ---- states --------------------------------------------------------------------------------

    def first_state(self, generation: int) -> IslandsState:
        """Makes the first generation of every island.

        Raises:
            OptionError: More genomes would migrate than there are on an island.
        """
        migrants, size = self.config.islands.migrants, self.config.neat.pop_size
        if migrants > size:
            raise OptionError(
                f"islands.migrants = {migrants} must not exceed neat.pop_size = {size}, the "
                "genomes of an island."
            )
        self._inner = [self._make(i, None) for i in range(self.config.islands.count)]
        states, next_id = [], 1
        for algorithm in self._inner:
            state = replace(algorithm.state, generation=generation)
            state.ids = state.ids + (next_id - 1)
            next_id += len(state.ids)
            states.append(state)
        return self._joined(states, next_id=next_id)

    def continued_state(self, state: State) -> IslandsState:
        """Completes the state of every island."""
        assert isinstance(state, IslandsState)
        self._inner = [self._make(i, island) for i, island in enumerate(state.islands)]
        state.islands = [algorithm.state for algorithm in self._inner]
        return state

    def told_state(self, state: State, evaluation: Evaluation) -> IslandsState:
        """Tells every island its part of an evaluation."""
        assert isinstance(state, IslandsState)
        told = []
        for algorithm, island, (start, stop) in self._each(state):
            # Set anew each time: an interrupt may have left the last attempt half done.
            algorithm.state = island
            algorithm.tell(_part(evaluation, start, stop), state.best)
            told.append(algorithm.state)
        state.islands = told
        return state

    def next_state(self, state: State, scores: npt.NDArray[np.float64]) -> IslandsState:
        """Breeds on every island, and lets genomes migrate if it is time.

        Raises:
            ExtinctionError: Nobody is left to breed from on an island.
        """
        assert isinstance(state, IslandsState)
        table = self.config.islands
        counters = {name: getattr(state, name) for name in COUNTERS}
        bred, travellers = [], list[Population]()
        migrates = (state.generation + 1) % table.migrate_every == 0 and table.migrants > 0
        for algorithm, island, (start, stop) in self._each(state):
            if migrates:
                best = np.argsort(-scores[start:stop], kind="stable")[: table.migrants]
                travellers.append(island.population[best.tolist()])
            algorithm.state = island
            new = algorithm.next_state(replace(island, **counters), scores[start:stop])
            counters = {name: getattr(new, name) for name in COUNTERS}
            bred.append(new)
        if migrates:
            # Children that are replaced leave gaps in the numbers, which nobody minds.
            for i, algorithm in enumerate(self._inner):
                guests = travellers[i - 1]
                first = counters["next_id"]
                counters["next_id"] += len(guests)
                ids = np.arange(first, counters["next_id"])
                bred[i] = algorithm.receive(replace(bred[i], **counters), guests, ids)
        return self._joined(bred, best=state.best, **counters)

    def _joined(self, states: Sequence[State], **changes: Any) -> IslandsState:
        counters = {name: max(getattr(s, name) for s in states) for name in COUNTERS}
        shared = {**counters, **changes}
        islands = [replace(state, **shared) for state in states]
        return IslandsState(
            population=Population.concatenate(state.population for state in islands),
            ids=np.concatenate([state.ids for state in islands]),
            generation=islands[0].generation,
            islands=islands,
            **shared,
        )

    def _make(self, island: int, state: State | None) -> Algorithm:
        made = self.inner(
            self.config,
            island_seed(self.seed, island),
            num_inputs=self.num_inputs,
            num_outputs=self.num_outputs,
            dtype=self.dtype,
            backend=self.backend,
            threads=self.threads,
            on_bad_fitness=self.on_bad_fitness,
            state=state,
        )
        for name, seconds in made.spent.items():
            self.spent[name] = self.spent.get(name, 0.0) + seconds
        made.spent = self.spent
        return made

    def _each(self, state: IslandsState) -> list[tuple[Algorithm, State, tuple[int, int]]]:
        """Every island's algorithm and state, and where its genomes start and end."""
        ends = accumulate((len(island.ids) for island in state.islands), initial=0)
        return list(zip(self._inner, state.islands, pairwise(ends), strict=True))

    # ---- records -------------------------------------------------------------------------------

    def describe(self) -> Description:
        """Describes every island; species of all islands are listed together."""
        state, count = self.state, len(self._inner)
        islands, species, words = list[dict[str, Any]](), list[Any](), list[str]()
        for i, (algorithm, island, _) in enumerate(self._each(state)):
            algorithm.state = island
            assert island.fitness is not None
            fields = dict(algorithm.describe().fields)
            found: list[Any] = fields.pop("species", [])
            # Islands count their species apart, so keys are made to differ.
            species += [replace(each, key=each.key * count + i) for each in found]
            best = float((self.sign * island.fitness).max()) * self.sign
            fields.pop("innovations", None)
            islands.append({"best": best, **fields})
            words.append(str(len(found)))
        fields = {"innovations": state.next_innovation, "islands": islands}
        summary = f"{count} islands"
        if species:
            fields |= {"species": species, "num_species": len(species)}
            summary += f", species {'+'.join(words)}"
        return Description(fields, summary)

    # ---- checkpoints ---------------------------------------------------------------------------

    def pack(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Returns what every island adds to a checkpoint, its arrays behind each other."""
        settings, parts = [], list[dict[str, npt.NDArray[Any]]]()
        for algorithm, island, _ in self._each(self.state):
            algorithm.state = island
            own, arrays = algorithm.pack()
            settings.append({"size": len(island.ids), **own})
            parts.append(arrays)
        packed: dict[str, npt.NDArray[Any]] = {}
        for name in self.inner.packed_arrays:
            found = [part[name] for part in parts]
            lengths = [0, *accumulate(len(array) for array in found)]
            packed[f"{PREFIX}{name}"] = np.concatenate(found)
            packed[f"{PREFIX}{name}.start"] = np.array(lengths, np.int64)
        return {"islands": settings}, packed

    @classmethod
    def unpack(cls, state: State, saved: SavedState) -> IslandsState:
        """Reads every island from a checkpoint."""
        found = saved.settings["islands"]
        wanted = {"size", *cls.inner.packed_settings}
        fits = isinstance(found, list) and all(
            isinstance(own, dict) and own.keys() == wanted for own in found
        )
        saved.expect("islands", fits and found, f"a list of tables of {', '.join(sorted(wanted))}")
        arrays = cls._unpack_arrays(saved, len(found))
        islands, start = [], 0
        for own, part in zip(found, arrays, strict=True):
            stop = start + check_whole("islands.size", own["size"], 1, len(state.ids) - start)
            fitness = None if state.fitness is None else state.fitness[start:stop]
            island = State(
                population=state.population[start:stop],
                ids=state.ids[start:stop],
                fitness=fitness,
                **{name: getattr(state, name) for name in ("generation", *COUNTERS, "best")},
            )
            islands.append(cls.inner.unpack(island, SavedState(own, part)))
            start = stop
        check(start == len(state.ids), "the islands do not have all genomes.")
        return IslandsState(**vars(state), islands=islands)

    @classmethod
    def _unpack_arrays(cls, saved: SavedState, count: int) -> list[dict[str, npt.NDArray[Any]]]:
        arrays: list[dict[str, npt.NDArray[Any]]] = [{} for _ in range(count)]
        for name in cls.inner.packed_arrays:
            whole = saved.arrays[f"{PREFIX}{name}"]
            check(whole.ndim > 0, f"{PREFIX}{name} is a single number. Expected an array.")
            starts = saved.array(f"{PREFIX}{name}.start", np.int64, count + 1)
            fits = starts[0] == 0 and starts[-1] == len(whole) and (np.diff(starts) >= 0).all()
            check(fits, f"{PREFIX}{name}.start does not ascend from 0 to {len(whole)}.")
            for part, (start, stop) in zip(arrays, pairwise(starts.tolist()), strict=True):
                part[name] = whole[start:stop]
        return arrays

    @classmethod
    def forked_state(cls, state: State, config: Config, changes: frozenset[str]) -> IslandsState:
        """Fits every island to a config that was changed on purpose.

        Raises:
            CheckpointError: The number of islands was changed.
        """
        assert isinstance(state, IslandsState)
        if len(state.islands) != config.islands.count:
            raise CheckpointError(
                f"islands.count = {config.islands.count}, and the run has {len(state.islands)} "
                "islands. Not even a fork can change that."
            )
        islands = [cls.inner.forked_state(island, config, changes) for island in state.islands]
        return replace(state, islands=islands)


def _part(evaluation: Evaluation, start: int, stop: int) -> Evaluation:
    """The scores of one island."""

    def cut(found: Any) -> Any:
        return None if found is None else found[start:stop]

    return replace(
        evaluation,
        fitness=cut(evaluation.fitness),
        measures=cut(evaluation.measures),
        objectives=cut(evaluation.objectives),
        validation=cut(evaluation.validation),
        population=cut(evaluation.population),
        gathered={},
        curves={},
    )


@functools.cache
def islands_of(inner: type[Algorithm]) -> type[Islands]:
    """Returns the class of islands on each of which another algorithm evolves.

    Args:
        inner: That algorithm.
    """
    arrays = [f"{PREFIX}{name}{end}" for name in inner.packed_arrays for end in ("", ".start")]
    content = {
        "__doc__": f"Islands of {inner.__name__}.",
        "__module__": __name__,
        "inner": inner,
        "name": f"islands of {inner.title()}",
        "packed_settings": ("islands",),
        "packed_arrays": tuple(arrays),
    }
    return type(f"IslandsOf{inner.__name__}", (Islands,), content)


def _restore(inner: type[Algorithm]) -> Islands:
    """Makes islands that take their state from a pickle."""
    made = islands_of(inner)
    return made.__new__(made)
