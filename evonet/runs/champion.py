"""Champions: the best genome of a run as one small JSON file that people can read.

    save_champion("champion.json", result.best, result.algorithm.config)
    network = read_champion("champion.json").compile()

Numbers are as short as they can be without losing a bit, connections stand in the order in which
sums follow them, and equal champions give equal bytes. The `sha256` is over everything else;
remove that line after changing a file by hand.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from evonet.config import Config
from evonet.definitions.dynamics import FEEDFORWARD, Dynamics
from evonet.errors import EvonetError, FileFormatError, OptionError
from evonet.evolution.state import Best, Retest
from evonet.files.atomic import open_atomic
from evonet.files.regular import read_bytes
from evonet.functions.registry import adopted
from evonet.genes.arrays import real_type
from evonet.genes.build import check_functions, pack_genes
from evonet.genes.file import pack_functions
from evonet.genes.genome import Connection, Genome, Node
from evonet.genes.population import Population
from evonet.network import Network
from evonet.network import compile as compile_network
from evonet.runs.champion_fields import FORMAT, VERSION, Scalar, check_fields
from evonet.runs.champion_text import digest, digest_text, lay_out_text, write_genes
from evonet.tasks.encoding import Encoding
from evonet.tasks.image_encoding import KIND, ImageEncoding

Document: TypeAlias = dict[str, Any]
DYNAMICS: Final = ("kind", "propagation", "time_step", "steps")
# About ten million links.
MOST_BYTES: Final = 1 << 30
HINT: Final = "If it was changed by hand on purpose, remove the line with the sha256."


@dataclass(frozen=True)
class Champion:
    """What a file holds.

    Attributes:
        population: The one genome.
        dynamics: How its network works through time.
        fitness: What it scored, if that is known.
        generation: When it was found, if that is known.
        id: Its number in the run, if that is known.
        seed: The seed of the run, if that is known.
        config_digest: Names the settings of the run, if they are known.
        metadata: Anything else that was noted, by name.
        encoding: How the rows of a table, or images, become its inputs, if it evolved on some.
        tested: The test in fresh episodes that its fitness is from; None for tasks without chance.
        task_state: What `Task.state` was when it was scored, by name; often nothing.
    """

    population: Population
    dynamics: Dynamics = FEEDFORWARD
    fitness: float | None = None
    generation: int | None = None
    id: int | None = None
    seed: int | None = None
    config_digest: str | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    encoding: Encoding | ImageEncoding | None = None
    tested: Retest | None = None
    task_state: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)

    def compile(self, **options: Any) -> Network:
        """Makes the network that it was; options are those of `evonet.compile`."""
        return compile_network(self.population, **{**self.dynamics.options(), **options})


def save_champion(
    path: str | os.PathLike[str],
    champion: Best | Genome | Population,
    config: Config | None = None,
    *,
    seed: int | None = None,
    fitness: float | None = None,
    generation: int | None = None,
    dynamics: Dynamics | None = None,
    metadata: Mapping[str, Scalar] | None = None,
    encoding: Encoding | ImageEncoding | None = None,
) -> None:
    """Writes one genome, whole or not at all.

    Args:
        path: The file to replace or create.
        champion: The best genome of a run, or any genome or population of one.
        config: The settings of the run, of which the file keeps the digest.
        seed: The seed of the run; None for that of the config.
        fitness: What it scored; None for what is known.
        generation: When it was found; None for what is known.
        dynamics: How its network works through time; None for what the config says, or for a
            feed-forward network.
        metadata: Texts, numbers, truth values or None to remember, by name.
        encoding: How the rows of a table, or images, become its inputs.

    Raises:
        OptionError: There is not exactly one genome, or an argument is out of range.
        OSError: The disk or the folder does not take it.
    """
    best = champion if isinstance(champion, Best) else None
    genome = champion.population if isinstance(champion, Best | Genome) else champion
    if not isinstance(genome, Population) or len(genome) != 1:
        raise OptionError(
            f"A champion is one genome, found {genome!r}. Pass result.best or population[3:4]."
        )
    if best is not None:
        fitness = best.fitness if fitness is None else fitness
        generation = best.generation if generation is None else generation
    tested = best.tested if best is not None and fitness == best.fitness else None
    if config is not None and seed is None:
        seed = config.run.seed
    if dynamics is None:
        dynamics = FEEDFORWARD if config is None else config.dynamics
    document: Document = {
        "format": FORMAT,
        "version": VERSION,
        **dynamics.options(),
        "num_inputs": genome.num_inputs,
        "num_outputs": genome.num_outputs,
        "dtype": genome.dtype.name,
        "fitness": None if fitness is None else float(fitness),
        "generation": generation,
        "id": None if best is None else best.id,
        "seed": seed,
        "config_digest": None if config is None else config.digest(),
        "metadata": dict(metadata or {}),
        "functions": pack_functions(genome)[1],
    }
    if encoding is not None:
        document["encoding"] = encoding.to_dict()
    if tested is not None:
        document["tested"] = asdict(tested)
    if best is not None and best.task_state:
        document["task_state"] = {
            name: np.asarray(array, np.float64).tolist() for name, array in best.task_state.items()
        }
    try:
        check_fields({**document, "nodes": [], "connections": []})
        _encoding(document)
    except FileFormatError as error:
        raise OptionError(f"This champion could not be read again: {error}") from error
    genes = write_genes(genome)  # a population's genes are valid
    document["sha256"] = digest_text(document, genes)
    data = lay_out_text(document, genes)
    if len(data) > MOST_BYTES:
        raise OptionError(
            f"This champion takes {len(data):,} bytes of JSON, and {MOST_BYTES:,} are allowed. "
            "Save it with population.save(path)."
        )
    with open_atomic(path) as file:
        file.write(data)


def load_champion(path: str | os.PathLike[str]) -> Population:
    """Reads a genome that `save_champion` wrote.

    Args:
        path: The file to read. It may come from anywhere: nothing in it is executed, and every
            gene is validated.

    Returns:
        A population of one genome.

    Raises:
        FileFormatError: The file is damaged, from a newer evonet, or no champion.
        OSError: There is no such file, or it cannot be read.
    """
    return read_champion(path).population


def read_champion(path: str | os.PathLike[str]) -> Champion:
    """Reads a genome with all that its file holds; see `load_champion`.

    Raises:
        FileFormatError: The file is damaged, from a newer evonet, or no champion.
        OSError: There is no such file, or it cannot be read.
    """
    data = read_bytes(path, MOST_BYTES)
    where = os.fspath(path)
    try:
        document = _parse(data)
        checksum = document.pop("sha256", None)
        check_fields(document)
        if checksum is not None and checksum != digest(document):
            raise FileFormatError(f"is damaged. Its contents do not match its sha256. {HINT}")
        nodes = [Node(**gene) for gene in document["nodes"]]
        links = [Connection(**gene) for gene in document["connections"]]
        pins = {name: document[name] for name in ("num_inputs", "num_outputs")}
        with adopted(document["functions"]):
            check_functions(nodes, 0)
            arrays = pack_genes([nodes], [links], real_type(document["dtype"]))
            population = Population(**pins, **arrays, validate=True)
            dynamics = Dynamics.of(**{name: document[name] for name in DYNAMICS})
        encoding = _encoding(document)
    except EvonetError as error:
        raise FileFormatError(f"{where}: {error}") from error
    names = ("fitness", "generation", "id", "seed", "config_digest", "metadata")
    known = {name: document[name] for name in names}
    if "tested" in document:
        known["tested"] = Retest(**document["tested"])
    state = document.get("task_state", {})
    known["task_state"] = {name: np.array(row, np.float64) for name, row in state.items()}
    return Champion(population, dynamics, **known, encoding=encoding)


def _encoding(document: Document) -> Encoding | ImageEncoding | None:
    if "encoding" not in document:
        return None
    table = document["encoding"]
    of_images = isinstance(table, dict) and table.get("kind") == KIND
    encoding = ImageEncoding.from_dict(table) if of_images else Encoding.from_dict(table)
    for pins, names in (("inputs", encoding.input_names), ("outputs", encoding.output_names)):
        if len(names) != document[f"num_{pins}"]:
            raise FileFormatError(
                f"encoding has {len(names)} {pins}, and the genome {document[f'num_{pins}']}."
            )
    return encoding


def _parse(data: bytes) -> Document:
    try:
        document = json.loads(
            data.decode(), object_pairs_hook=_distinct, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise FileFormatError(f"is not valid JSON, or cut short: {reason}.") from None
    if not isinstance(document, dict):
        raise FileFormatError(f"holds a {type(document).__name__}. Expected a JSON object.")
    return document


def _distinct(pairs: list[tuple[str, Any]]) -> Document:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a name appears twice in one object")
    return table


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")
