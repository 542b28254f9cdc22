"""One checkpoint as one file: all that a run needs to continue, and no code.

The genomes are those of the population, then the best one so far if there is one. What only one
algorithm has is packed and unpacked by its class; what the task keeps has names with "task." in
front. Everything else is in the settings, the config as TOML. The file's checksum is that of
`evonet.files.checksummed_tensors`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from evonet.config import Config
from evonet.config.config import digest_tables
from evonet.errors import CheckpointError, EvonetError
from evonet.evaluation import OnBadFitness
from evonet.evolution.state import Best, Retest, State
from evonet.files.checksummed_tensors import read_tensors, write_tensors
from evonet.files.saved_state import SavedState, ascends, check, check_real, check_whole
from evonet.functions.registry import adopted, is_texts, join_texts
from evonet.genes.arrays import ARRAYS, MOST_PINS
from evonet.genes.file import FUNCTIONS, pack_functions, renumber
from evonet.genes.population import PARTS, Population
from evonet.genes.selection import drop_idle_inputs
from evonet.messages import show
from evonet.schedule import build_schedule

if TYPE_CHECKING:
    from evonet.evolution.algorithm import Algorithm

FORMAT: Final = "evonet.checkpoint"
VERSION: Final = 1
# Files from before there were other algorithms do not name theirs.
UNNAMED: Final = "neat"
TASK: Final = "task."
# What the task kept when the best genome was scored.
BEST_TASK: Final = "task.best."

LARGEST_GENERATION: Final = 2**31
MOST_POINTS: Final = 1000  # of a learning curve
COUNTERS: Final = ("next_id", "next_node_key", "next_innovation")
SETTINGS: Final = (
    *("num_inputs", "num_outputs", "activations", "aggregations", "functions"),
    *("config", "config_digest", "seed", "on_bad_fitness", "generation", *COUNTERS, "best"),
)
TENSORS: Final = (*ARRAYS, "ids", "fitness")


@dataclass(frozen=True)
class Checkpoint:
    """What a file holds.

    Attributes:
        path: The file.
        algorithm: The class of what evolves.
        config: The settings of the run.
        seed: The seed of the run.
        on_bad_fitness: What the run does about NaN.
        state: Where the run was.
        task_state: What the task keeps from generation to generation, by name.
    """

    path: Path
    algorithm: type[Algorithm]
    config: Config
    seed: int
    on_bad_fitness: OnBadFitness
    state: State
    task_state: Mapping[str, NDArray[Any]]


def write_checkpoint(
    path: str | os.PathLike[str],
    algorithm: Algorithm,
    task_state: Mapping[str, NDArray[Any]] | None = None,
) -> None:
    """Writes one file, whole or not at all; equal states give equal bytes.

    Args:
        path: The file to replace or create.
        algorithm: The evolution, which stays as it is.
        task_state: `Task.state`, if the task keeps any.

    Raises:
        OSError: The disk or the folder does not take it.
    """
    write_tensors(path, FORMAT, VERSION, *pack(algorithm, task_state))


def read_checkpoint(path: str | os.PathLike[str], algorithm: type[Algorithm]) -> Checkpoint:
    """Reads one file, which may come from anywhere: nothing in it is executed or believed.

    Args:
        path: The file.
        algorithm: The class that the file's state is of.

    Raises:
        CheckpointError: It is missing, damaged, from a newer evonet, from another algorithm, or
            no state of any run.
    """
    where = os.fspath(path)
    names = (*TENSORS, *algorithm.packed_arrays)
    try:
        settings, arrays = read_tensors(path, FORMAT, VERSION, names, TASK, _check_name(algorithm))
        settings.pop("algorithm", None)
        saved = SavedState(settings, arrays)
        _check_settings(settings, algorithm)
        with adopted(settings["functions"]):
            config = _config(saved)
            state = algorithm.unpack(_state(saved, config, algorithm.ids_ascend), saved)
            seed, on_bad_fitness = saved.whole("seed", 0, 2**64 - 1), _on_bad_fitness(saved)
    except OSError as error:
        raise CheckpointError(f"{where}: cannot be read: {error.strerror}.") from error
    except RecursionError as error:
        raise CheckpointError(f"{where}: its settings are nested too deeply.") from error
    except EvonetError as error:
        text = str(error)
        text = text if text.startswith(f"{where}: ") else f"{where}: {text}"
        raise CheckpointError(text) from error
    kept = _kept(arrays, TASK)
    return Checkpoint(Path(path), algorithm, config, seed, on_bad_fitness, state, kept)


def pack(
    algorithm: Algorithm, task_state: Mapping[str, NDArray[Any]] | None = None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Lays out a run as settings that JSON can hold and as arrays, without changing it."""
    state, best = algorithm.state, algorithm.state.best
    genomes = state.population
    if best is not None:
        genomes = Population.concatenate([genomes, best.population])
    names, custom, tensors = pack_functions(genomes)
    more_settings, more_arrays = algorithm.pack()
    settings: dict[str, Any] = {
        "num_inputs": genomes.num_inputs,
        "num_outputs": genomes.num_outputs,
        **names,
        "functions": join_texts(custom, algorithm.config.functions),
        "config": algorithm.config.to_toml(),
        "config_digest": algorithm.config.digest(),
        "seed": algorithm.seed,
        "on_bad_fitness": algorithm.on_bad_fitness,
        "generation": state.generation,
        **{name: int(getattr(state, name)) for name in COUNTERS},
        **more_settings,
        "best": None,
    }
    if best is not None:
        settings["best"] = {"fitness": best.fitness, "generation": best.generation, "id": best.id}
        if best.validation is not None:
            settings["best"]["validation"] = best.validation
        if best.tested is not None:
            settings["best"]["tested"] = asdict(best.tested)
        if best.curves:
            settings["best"]["curves"] = {name: list(row) for name, row in best.curves.items()}
    name = algorithm.title()
    if name != UNNAMED:
        settings["algorithm"] = name
    tensors["ids"] = np.asarray(state.ids, np.int64)
    tensors["fitness"] = np.zeros(0) if state.fitness is None else state.fitness
    kept = {f"{TASK}{n}": np.ascontiguousarray(array) for n, array in (task_state or {}).items()}
    if best is not None:
        kept |= {f"{BEST_TASK}{n}": np.ascontiguousarray(a) for n, a in best.task_state.items()}
    return settings, {**tensors, **more_arrays, **kept}


def _kept(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Picks what the task keeps, without what it kept for the best genome."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix) and (prefix == BEST_TASK or not name.startswith(BEST_TASK))
    }


def check_acyclic(genomes: Population) -> None:
    """Raises if outputs need a cycle; disabled connections count, as they may be enabled.

    Raises:
        CyclicGenomeError: A genome has a cycle; names it and the cycle.
    """
    genomes, _ = drop_idle_inputs(genomes)  # a file may declare any number of them
    arrays: dict[str, Any] = {name: getattr(genomes, name) for name in PARTS}
    arrays["enabled"] = np.ones_like(genomes.enabled)
    build_schedule(Population(**arrays, validate=False))


# ---- reading, part by part --------------------------------------------------------------------


def _check_name(algorithm: type[Algorithm]) -> Any:
    """Makes a check that a file is of this algorithm, before its arrays are compared by name."""

    def check_algorithm(settings: Mapping[str, Any]) -> None:
        found, wanted = settings.get("algorithm", UNNAMED), algorithm.title()
        check(
            found == wanted,
            f"it was written by the algorithm {show(found)}, and this run has {show(wanted)}. "
            "Resume it with the algorithm that it has; run.algorithm in the config names it.",
        )

    return check_algorithm


def _check_settings(settings: Mapping[str, Any], algorithm: type[Algorithm]) -> None:
    known = {*SETTINGS, *algorithm.packed_settings}
    wrong = sorted((known | {"format", "version"}) ^ settings.keys())
    if wrong:
        problem = "is missing" if wrong[0] in known else "is unknown"
        raise CheckpointError(f"setting {show(wrong[0])} {problem}.")
    if not is_texts(settings["functions"]):
        raise CheckpointError(
            f"functions is {show(settings['functions'])}. Expected tables of activations and "
            "aggregations with expressions."
        )


def _on_bad_fitness(saved: SavedState) -> OnBadFitness:
    found = saved.settings["on_bad_fitness"]
    saved.expect("on_bad_fitness", found in ("error", "worst"), '"error" or "worst"')
    return cast(OnBadFitness, found)


def _config(saved: SavedState) -> Config:
    text, digest = saved.settings["config"], saved.settings["config_digest"]
    saved.expect("config", isinstance(text, str), "a text")
    config = Config.loads(text, source="its config")
    # Not config.digest(): a later evonet may have settings that this text does not know.
    known = digest_tables(tomllib.loads(text))
    saved.expect("config_digest", digest == known, f"{known}, that of its config")
    return config


def _state(saved: SavedState, config: Config, ids_ascend: bool) -> State:
    """Reads what all algorithms have."""
    generation = saved.whole("generation", 0, LARGEST_GENERATION)
    counters = {name: saved.counter(name) for name in COUNTERS}
    genomes = _genomes(saved, config, counters)
    size = len(genomes) - (saved.settings["best"] is not None)
    check(size >= 1, "there are no genomes.")
    ids = saved.array("ids", np.int64, size)
    if not ids_ascend:
        check(len(np.unique(ids)) == len(ids), "two genomes have the same id.")
    ordered = ids if ids_ascend else np.sort(ids)
    check(ascends(ordered, 1, counters["next_id"]), "ids do not ascend from 1 to next_id - 1.")
    told = saved.arrays["fitness"].size > 0
    fitness = saved.array("fitness", np.float64, size if told else 0)
    check(np.isfinite(fitness).all(), "a fitness is not finite.")
    best = _best(saved, genomes[size:], generation, counters["next_id"])
    if told:
        sign = -1.0 if config.neat.fitness_criterion == "min" else 1.0
        check(
            best is not None
            and (
                best.validation is not None
                or best.tested is not None
                or (sign * fitness <= sign * best.fitness).all()
            ),
            "the best genome so far is not the best one.",
        )
    return State(
        population=genomes[:size],
        ids=ids,
        generation=generation,
        fitness=fitness if told else None,
        best=best,
        **counters,
    )


def _genomes(saved: SavedState, config: Config, counters: Mapping[str, int]) -> Population:
    arrays: dict[str, Any] = {name: saved.arrays[name] for name in ARRAYS}
    for name, (setting, functions) in FUNCTIONS.items():
        arrays[name] = renumber(arrays[name], saved.settings[setting], functions, name)
    for name, least in (("num_inputs", 0), ("num_outputs", 1)):
        arrays[name] = saved.whole(name, least, MOST_PINS)
        wanted = getattr(config.genome, name)
        saved.expect(name, wanted in (None, arrays[name]), f"{wanted}, as in its config")
    genomes = Population(**arrays)
    for name, used in (
        ("next_node_key", genomes.node_key),
        ("next_innovation", genomes.innovation),
    ):
        largest = int(used.max(initial=-1))
        saved.expect(name, largest < counters[name], f"more than {largest}, which is in use")
    if config.genome.feed_forward:
        check_acyclic(genomes)
    return genomes


def _best(saved: SavedState, genome: Population, generation: int, next_id: int) -> Best | None:
    found = saved.settings["best"]
    if found is None:
        return None
    names = {"fitness", "generation", "id"}
    more = {"validation", "tested", "curves"}
    known = isinstance(found, dict) and names <= set(found) <= names | more
    wanted = "a table of fitness, generation and id, and maybe validation, tested and curves"
    saved.expect("best", known, wanted)
    validation = found.get("validation")
    return Best(
        population=genome,
        fitness=check_real("best.fitness", found["fitness"]),
        generation=check_whole("best.generation", found["generation"], 0, generation),
        id=check_whole("best.id", found["id"], 1, next_id - 1),
        validation=None if validation is None else check_real("best.validation", validation),
        tested=_tested(found["tested"], found["fitness"]) if "tested" in found else None,
        task_state=_kept(saved.arrays, BEST_TASK),
        curves=_curves(found.get("curves", {})),
    )


def _curves(found: Any) -> dict[str, list[float]]:
    known = isinstance(found, dict) and all(
        isinstance(row, list) and len(row) <= MOST_POINTS for row in found.values()
    )
    check(known, f"best.curves is {show(found)}. Expected a table of lists of numbers.")
    return {
        name: [check_real(f"best.curves.{show(name)}", value) for value in row]
        for name, row in found.items()
    }


def _tested(found: Any, fitness: float) -> Retest:
    reals = ("low", "high", "worst")
    known = isinstance(found, dict) and set(found) == {"episodes", *reals}
    expected = "Expected a table of episodes, low, high and worst."
    check(known, f"best.tested is {show(found)}. {expected}")
    tested = Retest(
        episodes=check_whole("best.tested.episodes", found["episodes"], 2, 2**31 - 1),
        **{name: check_real(f"best.tested.{name}", found[name]) for name in reals},
    )
    check(tested.low <= fitness <= tested.high, "the best fitness is outside its interval.")
    return tested
