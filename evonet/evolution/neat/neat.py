"""NEAT: genomes of growing complexity, protected by species (Stanley and Miikkulainen, 2002).

`stagnation` decides which species die, `reproduction` who has how many children with whom. Only
the engines in `evonet.backends.genetics` touch genes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.config import Config
from evonet.errors import ExtinctionError
from evonet.evaluation import Evaluation
from evonet.evolution.algorithm import Algorithm, Description
from evonet.evolution.neat.reproduction import plan_mating
from evonet.evolution.neat.saved import ARRAYS, SETTINGS, pack_species, unpack_species
from evonet.evolution.neat.species import Species, SpeciesRecord
from evonet.evolution.neat.stagnation import Verdict, judge_species
from evonet.evolution.state import State
from evonet.files.saved_state import SavedState
from evonet.genes.population import Population
from evonet.genes.rules import Rules, distance_rules


@dataclass(kw_only=True)
class NeatState(State):
    """The state of NEAT.

    Attributes:
        species: By ascending key; they partition the population.
        threshold: The distance that divides species, which may adapt.
        next_species: The next species' key.
        verdict: What the fitness of this generation means for its species; None until it is told.
    """

    species: list[Species] = field(default_factory=list)
    threshold: float
    next_species: int
    verdict: Verdict | None = None


class NEAT(Algorithm):
    """Evolves topologies and weights, divided into species; see `Algorithm`.

    Attributes:
        state: What a checkpoint would hold.
        spent: Seconds that breeding and dividing into species took so far, by name.
    """

    name = "neat"
    packed_settings = SETTINGS
    packed_arrays = ARRAYS

    state: NeatState

    @property
    def species(self) -> tuple[Species, ...]:
        """The species of the current generation, by age."""
        return tuple(self.state.species)

    def describe(self) -> Description:
        """Describes the species of the generation that was told."""
        state = self.state
        assert state.fitness is not None
        assert state.verdict is not None
        species = [
            SpeciesRecord(
                key=s.key,
                size=len(s.members),
                best=self.sign * score,
                age=state.generation - s.created,
                last_improved=s.last_improved,
            )
            for s, score in zip(state.verdict.species, state.verdict.highest, strict=True)
        ]
        fields = {
            "species": species,
            "num_species": len(species),
            "innovations": state.next_innovation,
            "threshold": state.threshold,
        }
        return Description(fields, f"species {len(species)}")

    def first_state(self, generation: int) -> NeatState:
        """Makes a first generation and divides it into species."""
        state = NeatState(
            **vars(self.first_genomes(generation)),
            threshold=self.config.speciation.threshold,
            next_species=1,
        )
        return self._divided(state, [], state.population)

    def continued_state(self, state: State) -> NeatState:
        """Judges the species, if the generation was told."""
        assert isinstance(state, NeatState)
        if state.fitness is not None:
            scores, rules = self.sign * state.fitness, self.config.stagnation
            state.verdict = judge_species(state.species, scores, state.generation, rules)
        return state

    def told_state(self, state: State, evaluation: Evaluation) -> NeatState:
        """Judges the species."""
        return self.continued_state(state)

    def next_state(self, state: State, scores: npt.NDArray[np.float64]) -> NeatState:
        """Breeds the next generation within the species that survive.

        Raises:
            ExtinctionError: All species stagnated, and the config does not start over.
        """
        assert isinstance(state, NeatState)
        assert state.verdict is not None
        if not state.verdict.survivors:
            return self._start_over(state)
        plan = plan_mating(
            state.verdict.survivors,
            scores,
            self.config.neat.pop_size,
            self.config.reproduction,
            self.seed,
            state.generation + 1,
            self._engine,
            self.threads,
        )
        made = self.breed(state, plan.fitter, plan.other, plan.copies)
        bred = replace(state, **made, verdict=None)
        return self._divided(bred, sorted(plan.species, key=lambda s: s.key), state.population)

    def receive(self, state: State, guests: Population, ids: npt.NDArray[np.int64]) -> NeatState:
        """Puts genomes from elsewhere in the place of the last ones, and divides again."""
        received = super().receive(state, guests, ids)
        assert isinstance(received, NeatState)
        threshold = received.threshold  # breeding has adapted it for this generation already
        divided = self._divided(received, received.species, state.population)
        return replace(divided, threshold=threshold)

    def pack(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Returns species and thresholds for a checkpoint."""
        state = self.state
        settings = {"threshold": float(state.threshold), "next_species": int(state.next_species)}
        return settings, pack_species(state.species)

    @classmethod
    def unpack(cls, state: State, saved: SavedState) -> NeatState:
        """Reads species and thresholds from a checkpoint."""
        next_species = saved.counter("next_species")
        return NeatState(
            **vars(state),
            threshold=saved.real("threshold", 0.0),
            next_species=next_species,
            species=unpack_species(saved, len(state.ids), state.generation, next_species),
        )

    @classmethod
    def forked_state(cls, state: State, config: Config, changes: frozenset[str]) -> NeatState:
        """Takes over a new distance that divides species, if it was changed."""
        assert isinstance(state, NeatState)
        if "speciation.threshold" not in changes:
            return state
        return replace(state, threshold=config.speciation.threshold)

    @cached_property
    def _distance_rules(self) -> Rules:
        return distance_rules(self.config)

    # ---- one generation ----------------------------------------------------------------------

    def _start_over(self, old: NeatState) -> NeatState:
        if not self.config.neat.reset_on_extinction:
            raise ExtinctionError(
                f"generation {old.generation}: all species stagnated. Raise "
                "stagnation.max_stagnation or stagnation.species_elitism, or set "
                "neat.reset_on_extinction = true to start over."
            )
        fresh = self.first_state(old.generation + 1)
        return replace(
            fresh,
            ids=fresh.ids + (old.next_id - 1),
            next_id=fresh.next_id + old.next_id - 1,
            next_node_key=max(fresh.next_node_key, old.next_node_key),
            next_innovation=max(fresh.next_innovation, old.next_innovation),
            species=[replace(s, key=s.key + old.next_species - 1) for s in fresh.species],
            next_species=fresh.next_species + old.next_species - 1,
            best=old.best,
        )

    def _divided(self, state: NeatState, old: list[Species], parents: Population) -> NeatState:
        """Divides a generation into species.

        Args:
            state: A new state, which gets the species of its population.
            old: Species that may live on, by ascending key.
            parents: The generation before, to which their representatives belong.
        """
        start = time.perf_counter()
        members, starts, chosen = self._engine.speciate(
            state.population,
            parents,
            np.array([s.representative for s in old], np.int64),
            state.threshold,
            self._distance_rules,
        )
        self.spent["speciate"] = self.spent.get("speciate", 0.0) + time.perf_counter() - start
        bounds = pairwise(starts.tolist())
        species: list[Species] = []
        for i, (representative, (a, b)) in enumerate(zip(chosen.tolist(), bounds, strict=True)):
            if representative < 0:
                continue
            if i < len(old):
                species.append(old[i].with_members(members[a:b], representative))
            else:
                now, key = state.generation, state.next_species
                species.append(Species(key, now, now, members[a:b], representative))
                state.next_species += 1
        state.species = species
        state.threshold = self._adapted(state.threshold, len(species))
        return state

    def _adapted(self, threshold: float, num_species: int) -> float:
        rules = self.config.speciation
        if rules.target_num_species is None:
            return threshold
        step = np.sign(num_species - rules.target_num_species) * rules.threshold_adjust_rate
        return max(rules.threshold_min, min(rules.threshold_max, threshold + float(step)))
