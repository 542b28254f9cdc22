"""A population of genomes, packed into flat arrays."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from evonet.definitions.providers import GENOME_READERS, GENOME_WRITERS
from evonet.errors import OptionError, ShapeError
from evonet.genes.arrays import ARRAYS, Int64Array, RealArray, RealType, real_type
from evonet.genes.build import GenomeLike, arrays_from_lists
from evonet.genes.distant import DistantGenes
from evonet.genes.file import read_population, save_population
from evonet.genes.genome import Genome
from evonet.genes.layers import is_one_network, layers_to_arrays, read_layers
from evonet.genes.random import random_arrays
from evonet.genes.selection import join_genomes, select_genomes
from evonet.genes.validation import check_population
from evonet.messages import counted

PARTS: Final = ("num_inputs", "num_outputs", *ARRAYS)
"""What a population consists of, by name."""


class Population:
    """P genomes as a struct of flat arrays, without padding.

    Genome g owns the nodes `node_start[g]:node_start[g + 1]`, by ascending key, and the connections
    `conn_start[g]:conn_start[g + 1]`, by ascending innovation number. Inputs have the keys
    -1..-I and no genes; outputs have the keys 0..O-1 and always a node; hidden nodes have larger
    keys. A population never changes: its arrays are read-only, and methods that seem to change it
    return a new population.

    `population[3]` is a readable `Genome`; `population[2:5]` (which shares memory),
    `population[mask]` and `population[[3, 1, 1]]` are populations. Two populations are equal if
    all their arrays have the same bits, so 0.0 and -0.0 differ.

    The genes of a population that was bred on a GPU stay there; an array is copied to the host when
    it is first read, and then kept.

    Attributes:
        num_inputs: How many inputs each network has, I.
        num_outputs: How many outputs each network has, O.
        node_start: Where the nodes of each genome start, int64 [P+1].
        node_key: Key of each node, int64 [N].
        bias: Added to the aggregate of a node's links, [N].
        response: Multiplies that aggregate, [N].
        activation: Id from `evonet.functions.registry.ACTIVATIONS`, uint8 [N].
        aggregation: Id from `evonet.functions.registry.AGGREGATIONS`, uint8 [N].
        time_constant: For continuous-time networks, in seconds, above 0, [N].
        conn_start: Where the connections of each genome start, int64 [P+1].
        innovation: Number of the mutation that invented the connection, int64 [E].
        source: Key of a node or an input, int64 [E].
        target: Key of a node, int64 [E].
        weight: Multiplies the source's value, [E].
        enabled: Whether the connection carries anything, bool [E].
        rank: The order in which the genome lists its links, a permutation of 0, 1, ... inside
            each genome, int32 [E]. Sums follow this order.
        distant: The genes in the memory of a GPU, for code that can use them there; usually None.
    """

    __slots__ = (*PARTS, "distant")
    __hash__ = None  # type: ignore[assignment]

    num_inputs: int
    num_outputs: int
    node_start: Int64Array
    node_key: Int64Array
    bias: RealArray
    response: RealArray
    activation: NDArray[np.uint8]
    aggregation: NDArray[np.uint8]
    time_constant: RealArray
    conn_start: Int64Array
    innovation: Int64Array
    source: Int64Array
    target: Int64Array
    weight: RealArray
    enabled: NDArray[np.bool_]
    rank: NDArray[np.int32]
    distant: DistantGenes | None

    def __init__(
        self,
        *,
        num_inputs: SupportsIndex,
        num_outputs: SupportsIndex,
        validate: bool = True,
        **arrays: NDArray[Any],
    ) -> None:
        """Wraps arrays without copying them; they must not be changed afterwards.

        Args:
            num_inputs: I.
            num_outputs: O.
            validate: Whether to check everything. Kernels trust a population, so False is only
                for arrays that are right by construction.
            **arrays: All arrays among the attributes of the class, contiguous, and of exactly the
                types given there; all real-valued ones are float32, or all float64.

        Raises:
            TypeError: An array is missing, or there is no such array.
            OptionError: The number of inputs or outputs is out of range.
            ShapeError: An array has the wrong type, shape or length, or offsets do not ascend.
            UnknownFunctionError: A node has a function id that nobody registered.
            GenomeError: A gene makes no sense; the message names the genome and the gene.
        """
        if arrays.keys() != ARRAYS.keys():
            raise TypeError(f"A population consists of the arrays {', '.join(ARRAYS)}.")
        _set(self, "num_inputs", operator.index(num_inputs))
        _set(self, "num_outputs", operator.index(num_outputs))
        _set(self, "distant", None)
        for name, array in arrays.items():
            _set(self, name, _read_only(array, name))
        if validate:
            check_population(self)

    @classmethod
    def from_distant(cls, num_inputs: int, num_outputs: int, genes: DistantGenes) -> Population:
        """Wraps genes that are right by construction and stay where they are until they are read.

        Args:
            num_inputs: I.
            num_outputs: O.
            genes: All arrays, in the memory of a GPU.
        """
        population = cls.__new__(cls)
        _set(population, "num_inputs", num_inputs)
        _set(population, "num_outputs", num_outputs)
        _set(population, "distant", genes)
        return population

    def __getattr__(self, name: str) -> Any:
        """Fetches an array that is not on the host yet; others are found without this."""
        if name not in ARRAYS or self.distant is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        array = _read_only(self.distant.fetch(name), name)
        _set(self, name, array)
        return array

    @classmethod
    def empty(cls, num_inputs: int, num_outputs: int, dtype: DTypeLike = np.float32) -> Population:
        """Makes a population of no genomes.

        Raises:
            OptionError: The number of inputs or outputs is out of range.
            ShapeError: The type is neither float32 nor float64.
        """
        return cls.from_genes(num_inputs, num_outputs, [], dtype)

    @classmethod
    def from_genes(
        cls,
        num_inputs: int,
        num_outputs: int,
        genomes: Iterable[GenomeLike],
        dtype: DTypeLike = np.float32,
    ) -> Population:
        """Packs genes written as Python lists.

        XOR with one hidden node:

            xor = Population.from_genes(2, 1, [(
                [dict(key=0, bias=-0.5), dict(key=1, bias=-1.5)],
                [(-1, 0, 1.0), (-2, 0, 1.0), (-1, 1, 1.0), (-2, 1, 1.0), (1, 0, -2.0)],
            )])

        Args:
            num_inputs: I.
            num_outputs: O.
            genomes: One pair (nodes, connections) per genome. A node is a dict with `key` and any
                of `bias`, `response`, `activation`, `aggregation`, `time_constant`, or a tuple of
                these in this order, or just a key. A connection is a tuple (source, target,
                weight), optionally followed by enabled and innovation, or a dict. Connections
                without an innovation number get one by structure. Sums follow the listed order.
            dtype: float32 or float64.

        Raises:
            ShapeError: The type is neither float32 nor float64.
            UnknownFunctionError: A node names a function that nobody registered.
            GenomeError: A gene makes no sense; the message names the genome and the gene.
        """
        arrays = arrays_from_lists(genomes, real_type(dtype))
        return cls(num_inputs=num_inputs, num_outputs=num_outputs, validate=True, **arrays)

    @classmethod
    def from_layers(
        cls,
        weights: Any,
        biases: Any = None,
        activation: str | Sequence[str] = "relu",
        dtype: DTypeLike = np.float32,
    ) -> Population:
        """Turns layered networks, such as pruned models, into genomes.

        A layer computes f(x W + b). Every stored entry of a sparse matrix is a connection, and
        every entry of a dense one that is not 0.

        Args:
            weights: For each layer a matrix [inputs, outputs], as a SciPy matrix or array of any
                format or as a dense array; or a mapping from names to arrays, as a state_dict or a
                safetensors file has them: NAME.weight [outputs, inputs] and NAME.bias, in order. A
                list of such lists or mappings makes one genome of each.
            biases: For each layer an array [outputs] or a number; or one number for all; None for
                0. For several networks, the same for all of them or a list with one entry for each.
            activation: The activation of all layers, or of each.
            dtype: float32 or float64.

        Raises:
            OptionError: There are no layers, or lists have different lengths.
            ShapeError: A matrix or bias has the wrong shape or type, or a number is not finite.
            UnknownFunctionError: There is no such activation.
        """
        real = real_type(dtype)
        if is_one_network(weights):
            networks = [read_layers(weights, biases, activation, real)]
        else:
            several = list(weights)
            each = biases if isinstance(biases, list) else [biases] * len(several)
            if len(each) != len(several):
                raise OptionError(f"biases has {len(each)} entries for {len(several)} networks.")
            networks = [
                read_layers(one, bias, activation, real)
                for one, bias in zip(several, each, strict=True)
            ]
        pins = {(network[0].num_inputs, network[-1].num_nodes) for network in networks}
        if len(pins) != 1:
            raise ShapeError(
                "all networks of a population have equally many inputs and outputs, "
                f"found {sorted(pins)}."
            )
        (num_inputs, num_outputs) = pins.pop()
        return cls(
            num_inputs=num_inputs,
            num_outputs=num_outputs,
            validate=True,
            **layers_to_arrays(networks, real),
        )

    @classmethod
    def from_neat(
        cls, genomes: Mapping[int, Any] | Iterable[Any], config: Any, dtype: DTypeLike = np.float64
    ) -> Population:
        """Packs neat-python genomes; neither the genomes nor the config change.

        Where neat-python has no innovation numbers (before 1.0), or a genome uses one twice,
        equal (source, target) pairs get equal numbers. Where it has no time constants, they are 1.

        Args:
            genomes: Pairs (id, genome), as fitness functions get them, or genomes, or a dict of
                genomes by id.
            config: A `neat.Config`, or its `genome_config`.
            dtype: float64, as in neat-python, or float32.

        Raises:
            OptionError: The genomes or the config are something else.
            ShapeError: The type is neither float32 nor float64.
            UnknownFunctionError: A node names a function that nobody registered.
            GenomeError: A gene makes no sense; the message names the genome's id and the gene.
        """
        population: Population = GENOME_READERS["neat"].load()(genomes, config, dtype, cls)
        return population

    def to_neat(self, config: Any, keys: Iterable[int] | None = None) -> list[tuple[int, Any]]:
        """Makes neat-python genomes; `from_neat` turns them into an equal population.

        The config's innovation tracker and node counter stay as they are: to breed these genomes
        further in neat-python, raise both above the largest numbers in use.

        Args:
            config: A `neat.Config`, or its `genome_config`, with the same inputs and outputs.
            keys: Ids of the genomes, [P]; 1, 2, ... if absent.

        Returns:
            Pairs (id, genome), without fitness.

        Raises:
            OptionError: The config or the keys do not fit this population.
            GenomeError: The installed neat-python has no time constants, and a node needs one.
        """
        genomes: list[tuple[int, Any]] = GENOME_WRITERS["neat"].load()(self, config, keys)
        return genomes

    @classmethod
    def random(
        cls,
        num_genomes: int,
        num_inputs: int,
        num_outputs: int,
        *,
        num_nodes: int,
        num_connections: int,
        dtype: DTypeLike = np.float32,
        seed: int = 0,
        feed_forward: bool = True,
        activations: Sequence[str] = ("sigmoid",),
        aggregations: Sequence[str] = ("sum",),
        enabled: float = 1.0,
        weight_scale: float = 1.0,
        bias_scale: float = 1.0,
    ) -> Population:
        """Draws random networks of one size; the same arguments give the same networks.

        As long as the connections suffice, every hidden node is connected towards an output, and
        every node reads something.

        Args:
            num_genomes: P.
            num_inputs: I.
            num_outputs: O.
            num_nodes: Hidden and output nodes of each genome.
            num_connections: Distinct connections of each genome.
            dtype: float32 or float64; float32 gives the rounded genes of float64.
            seed: Determines the networks.
            feed_forward: Whether to draw only acyclic networks, in which outputs are never
                sources. Otherwise any node may read any node, including itself.
            activations: Names to choose from for each node.
            aggregations: Names to choose from for each node.
            enabled: Probability that a connection is enabled.
            weight_scale: Standard deviation of the normally distributed weights.
            bias_scale: Standard deviation of the normally distributed biases.

        Raises:
            OptionError: An argument is out of range, or the connections do not fit.
            ShapeError: The type is neither float32 nor float64.
            UnknownFunctionError: Nobody registered an activation or aggregation.
        """
        arrays = random_arrays(
            num_genomes,
            num_inputs,
            num_outputs,
            num_nodes=num_nodes,
            num_connections=num_connections,
            dtype=real_type(dtype),
            seed=seed,
            feed_forward=feed_forward,
            activations=activations,
            aggregations=aggregations,
            enabled=enabled,
            weight_scale=weight_scale,
            bias_scale=bias_scale,
        )
        return cls(num_inputs=num_inputs, num_outputs=num_outputs, **arrays, validate=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes this population to one safetensors file, whole or not at all.

        Equal populations give equal bytes.

        Args:
            path: The file to replace or create.

        Raises:
            OSError: The file cannot be written.
        """
        save_population(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Population:
        """Reads a population from a file that `save` wrote.

        Args:
            path: The file to read. It may come from anywhere: nothing in it is executed, and
                every gene is validated.

        Raises:
            FileFormatError: The file is damaged, from a newer evonet, or not a population.
            OSError: The file does not exist or cannot be read.
        """
        return read_population(path, cls)

    @classmethod
    def concatenate(cls, populations: Iterable[Population]) -> Population:
        """Joins populations, in order, into one.

        Raises:
            OptionError: There are none, or they differ in inputs, outputs or type.
        """
        parts = list(populations)
        arrays = join_genomes(parts)
        return parts[0]._with(arrays)

    @property
    def num_genomes(self) -> int:
        """How many genomes there are, P."""
        return len(self.node_start) - 1 if self.distant is None else self.distant.num_genomes

    @property
    def num_nodes(self) -> int:
        """How many nodes all genomes have together, N."""
        return len(self.node_key) if self.distant is None else self.distant.num_nodes

    @property
    def num_connections(self) -> int:
        """How many connections all genomes have together, enabled or not, E."""
        return len(self.innovation) if self.distant is None else self.distant.num_connections

    @property
    def num_enabled(self) -> int:
        """How many connections of all genomes together are enabled."""
        if self.distant is None:
            return int(np.count_nonzero(self.enabled))
        return self.distant.count_enabled()

    @property
    def dtype(self) -> RealType:
        """Type of the real-valued genes, float32 or float64."""
        return self.bias.dtype if self.distant is None else self.distant.dtype

    @property
    def sizes(self) -> Int64Array:
        """Number of nodes and of connections of each genome, [P, 2]."""
        return np.stack([np.diff(self.node_start), np.diff(self.conn_start)], axis=1)

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(getattr(self, name).nbytes for name in ARRAYS)

    def astype(self, dtype: DTypeLike) -> Population:
        """Rounds the real-valued genes to another type.

        Raises:
            ShapeError: The type is neither float32 nor float64.
            GenomeError: A gene is too large for float32, or a time constant too small.
        """
        to = real_type(dtype)
        if to == self.dtype:
            return self
        reals = [name for name, kind in ARRAYS.items() if kind == "real"]
        with np.errstate(over="ignore", under="ignore"):  # The validation finds overflow.
            arrays = {name: getattr(self, name).astype(to) for name in reals}
        return self._with(arrays, validate=to == np.float32)

    def nodes_and_enabled(self, genome: int) -> tuple[int, int]:
        """Returns the numbers of nodes and of enabled connections of one genome.

        Args:
            genome: Its position, from 0.
        """
        if self.distant is not None:
            one = self[[genome]]
            return one.num_nodes, one.num_enabled
        first, last = self.conn_start[genome], self.conn_start[genome + 1]
        nodes = self.node_start[genome + 1] - self.node_start[genome]
        return int(nodes), int(np.count_nonzero(self.enabled[first:last]))

    def __len__(self) -> int:
        return self.num_genomes

    def __iter__(self) -> Iterator[Genome]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: SupportsIndex) -> Genome: ...

    @overload
    def __getitem__(self, index: slice | ArrayLike) -> Population: ...

    def __getitem__(self, index: SupportsIndex | slice | ArrayLike) -> Genome | Population:
        """Selects one genome, or several as a population.

        Args:
            index: A number, a slice, a bool mask [P], or the wanted numbers [Q].

        Raises:
            IndexError: There is no such genome.
            ShapeError: A mask has the wrong length, or an index is not made of whole numbers.
        """
        selected = type(self)(
            num_inputs=self.num_inputs,
            num_outputs=self.num_outputs,
            validate=False,
            **select_genomes(self, index),
        )
        several = isinstance(index, slice) or np.asarray(index).ndim
        return selected if several else Genome(selected)

    def replace(self, **arrays: NDArray[Any]) -> Population:
        """A population with other genes in some of its arrays, such as weight=...

        Args:
            **arrays: Arrays by name, of the same shapes and types as now.

        Raises:
            ShapeError: There is no such array, or it has another shape or type.
            GenomeError: The genes make no sense.
        """
        for name, array in arrays.items():
            if name not in ARRAYS:
                raise ShapeError(f"a population has no array {name!r}. Its arrays: {[*ARRAYS]}.")
            now = getattr(self, name)
            if not isinstance(array, np.ndarray) or (array.shape, array.dtype) != (
                now.shape,
                now.dtype,
            ):
                raise ShapeError(
                    f"{name} must be an array {now.dtype} of shape {list(now.shape)}, as it is now."
                )
        return self._with({name: array.copy() for name, array in arrays.items()}, validate=True)

    def _with(self, arrays: Mapping[str, object], validate: bool = False) -> Population:
        """Replaces some arrays."""
        state: dict[str, Any] = {name: getattr(self, name) for name in PARTS}
        state.update(arrays)
        return type(self)(**state, validate=validate)

    def __add__(self, other: Population) -> Population:
        if not isinstance(other, Population):
            return NotImplemented
        return Population.concatenate([self, other])

    def __eq__(self, other: object) -> bool:
        """Compares all arrays bit by bit."""
        if not isinstance(other, Population):
            return NotImplemented
        if (self.num_inputs, self.num_outputs) != (other.num_inputs, other.num_outputs):
            return False
        return all(_same_bits(getattr(self, name), getattr(other, name)) for name in ARRAYS)

    def __repr__(self) -> str:
        return (
            f"Population({counted(self.num_genomes, 'genome')}, "
            f"{counted(self.num_inputs, 'input')}, {counted(self.num_outputs, 'output')}, "
            f"{counted(self.num_nodes, 'node')}, {counted(self.num_connections, 'connection')}, "
            f"{self.dtype})"
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"A population never changes, so {name} cannot be set.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"A population never changes, so {name} cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies by plain state; the copy is read-only too."""
        return _restore, ({name: getattr(self, name) for name in PARTS},)


_set = object.__setattr__


def _restore(state: dict[str, Any]) -> Population:
    return Population(**state, validate=False)


def _read_only(array: object, name: str) -> NDArray[Any]:
    if not isinstance(array, np.ndarray):
        raise ShapeError(f"{name} is a {type(array).__name__}. Expected a NumPy array.")
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def _same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        bits = f"u{a.dtype.itemsize}"
        return bool((a.view(bits) == b.view(bits)).all())
    return bool((a == b).all())
