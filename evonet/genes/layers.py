"""Layered networks: matrices of links, dense or sparse, as genes.

A layer computes y = f(x W + b) for a matrix W of shape [inputs, outputs]. Every stored entry of a
sparse matrix, and every entry of a dense one that is not 0, is a link. A node adds up its links by
ascending source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from evonet.errors import OptionError, ShapeError
from evonet.functions.registry import AGGREGATION_IDS, activation_id
from evonet.genes.arrays import MOST_PINS, GeneArrays, Int64Array, RealType, starts_of
from evonet.messages import show


class Layer(NamedTuple):
    """One layer, by the nodes that it computes.

    Attributes:
        num_inputs: Width of the layer before it.
        start: [n + 1] first link of each node, int64.
        source: [E] position in the layer before it that each link reads, ascending, int32.
        weight: [E].
        bias: [n].
        activation: The id of the activation.
    """

    num_inputs: int
    start: Int64Array
    source: npt.NDArray[np.int32]
    weight: npt.NDArray[Any]
    bias: npt.NDArray[Any]
    activation: int

    @property
    def num_nodes(self) -> int:
        """Width of the layer."""
        return len(self.bias)


def read_layers(weights: Any, biases: Any, activation: Any, dtype: RealType) -> list[Layer]:
    """Reads the layers of one network; `Population.from_layers` describes the arguments.

    Raises:
        ShapeError: A matrix or bias has the wrong shape or type, or a number is not finite.
        OptionError: There are no layers, or lists have different lengths.
        UnknownFunctionError: There is no such activation.
    """
    if isinstance(weights, Mapping):
        if biases is not None:
            raise OptionError("biases must be None where weights is a mapping: it holds both.")
        weights, biases = split_mapping(weights)
    matrices = list(weights)
    if not matrices:
        raise OptionError("weights holds no layers; a network needs at least one.")
    count = len(matrices)
    names = [activation] * count if isinstance(activation, str) else list(activation)
    scalar = biases is None or isinstance(biases, Real) or getattr(biases, "ndim", 1) == 0
    listed = [0.0 if biases is None else biases] * count if scalar else list(biases)
    for name, found in (("activation", names), ("biases", listed)):
        if len(found) != count:
            raise OptionError(f"{name} has {len(found)} entries for {count} layers.")
    layers: list[Layer] = []
    for i, (matrix, bias) in enumerate(zip(matrices, listed, strict=True)):
        layer = read_layer(matrix, bias, activation_id(names[i]), dtype, f"layer {i}")
        if layers and layers[-1].num_nodes != layer.num_inputs:
            raise ShapeError(
                f"layer {i} has {layer.num_inputs} inputs, and the layer before it "
                f"{layers[-1].num_nodes} nodes. Matrices are [inputs, outputs]."
            )
        layers.append(layer)
    return layers


def read_layer(matrix: Any, bias: Any, activation: int, dtype: RealType, where: str) -> Layer:
    """Reads one layer from a SciPy matrix or an array [inputs, outputs].

    Raises:
        ShapeError: The matrix or bias has the wrong shape or type, or a number is not finite.
    """
    if hasattr(matrix, "tocsc"):
        columns = matrix.tocsc(copy=True)
        columns.sum_duplicates()
        columns.sort_indices()
        shape, start = columns.shape, columns.indptr
        source, weight = columns.indices, columns.data
    else:
        dense = np.asarray(matrix)
        if dense.ndim != 2:
            raise ShapeError(f"{where}: a matrix must be [inputs, outputs], found {dense.shape}.")
        target, source = np.nonzero(dense.T)
        shape, weight = dense.shape, dense.T[target, source]
        start = np.searchsorted(target, np.arange(shape[1] + 1))
    if len(shape) != 2 or max(shape) > MOST_PINS:
        raise ShapeError(f"{where}: a matrix must be [inputs, outputs], found {shape}.")
    biases = np.asarray(bias)
    for name, numbers in (("weights", weight), ("biases", biases)):
        if numbers.dtype.kind not in "fiub":
            raise ShapeError(f"{where}: {name} must be real numbers, found {numbers.dtype}.")
    if biases.ndim > 1 or (biases.ndim == 1 and len(biases) != shape[1]):
        raise ShapeError(f"{where}: biases must be [{shape[1]}], found {list(biases.shape)}.")
    with np.errstate(over="ignore"):
        layer = Layer(
            int(shape[0]),
            np.asarray(start, np.int64),
            np.ascontiguousarray(source, np.int32),
            np.ascontiguousarray(weight, dtype),
            np.ascontiguousarray(np.broadcast_to(biases, shape[1]), dtype),
            activation,
        )
    for name, numbers in (("weight", layer.weight), ("bias", layer.bias)):
        bad = np.flatnonzero(~np.isfinite(numbers))
        if len(bad):
            raise ShapeError(f"{where}: {name} {int(bad[0])} is {numbers[bad[0]]}, not finite.")
    return layer


def split_mapping(tensors: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Finds the linear layers among named arrays, such as a state_dict: NAME.weight, NAME.bias.

    Returns:
        Matrices [inputs, outputs], transposed from the [outputs, inputs] of such files, and biases,
        0 where there is none, in the order of the mapping.

    Raises:
        ShapeError: A name is neither, or a weight is not a matrix.
    """
    weights, biases = [], []
    for name, array in tensors.items():
        stem, _, kind = str(name).rpartition(".")
        if kind == "bias" and f"{stem}.weight" in tensors:
            continue
        if kind != "weight":
            raise ShapeError(
                f"{show(name)} belongs to no linear layer. Expected NAME.weight and NAME.bias."
            )
        found = array if hasattr(array, "tocsc") else np.asarray(array)
        if found.ndim != 2:
            raise ShapeError(
                f"{show(name)} has shape {list(found.shape)}. Linear layers are [outputs, inputs]."
            )
        weights.append(found.T)
        biases.append(tensors.get(f"{stem}.bias", 0.0))
    return weights, biases


def layers_to_arrays(networks: Sequence[Sequence[Layer]], dtype: RealType) -> GeneArrays:
    """Packs networks of layers as genes.

    Outputs are the last layer; hidden keys count up through the others. A link's innovation is its
    place in the full matrices of all layers, so that equal links of networks of equal widths match.
    """
    parts = [_genes(layers) for layers in networks]
    counts = {name: np.array([len(p[name]) for p in parts]) for name in ("node_key", "source")}
    arrays: GeneArrays = {
        "node_start": starts_of(counts["node_key"]),
        "conn_start": starts_of(counts["source"]),
    }
    for name in parts[0]:
        arrays[name] = np.concatenate([part[name] for part in parts])
    nodes, links = len(arrays["node_key"]), len(arrays["source"])
    arrays |= {
        "response": np.ones(nodes, dtype),
        "time_constant": np.ones(nodes, dtype),
        "aggregation": np.full(nodes, AGGREGATION_IDS["sum"], np.uint8),
        "enabled": np.ones(links, np.bool_),
    }
    return arrays


def _genes(layers: Sequence[Layer]) -> GeneArrays:
    outputs = layers[-1].num_nodes
    keys, first = [], outputs
    for layer in layers[:-1]:
        keys.append(np.arange(first, first + layer.num_nodes))
        first += layer.num_nodes
    keys.append(np.arange(outputs))
    before = -1 - np.arange(layers[0].num_inputs)
    columns: dict[str, list[npt.NDArray[Any]]] = {
        name: [] for name in ("innovation", "source", "target", "weight")
    }
    offset = 0
    for layer, own in zip(layers, keys, strict=True):
        target = np.repeat(np.arange(layer.num_nodes), np.diff(layer.start))
        by_source = np.argsort(layer.source, kind="stable")
        source, target = layer.source[by_source].astype(np.int64), target[by_source]
        columns["innovation"].append(offset + source * layer.num_nodes + target)
        columns["source"].append(before[source])
        columns["target"].append(own[target])
        columns["weight"].append(layer.weight[by_source])
        offset += layer.num_inputs * layer.num_nodes
        before = own
    found = {name: np.concatenate(column) for name, column in columns.items()}
    found["rank"] = np.arange(len(found["source"]), dtype=np.int32)
    last_first = [layers[-1], *layers[:-1]]
    found["node_key"] = np.concatenate([keys[-1], *keys[:-1]])
    found["bias"] = np.concatenate([layer.bias for layer in last_first])
    found["activation"] = np.repeat(
        np.array([layer.activation for layer in last_first], np.uint8),
        [layer.num_nodes for layer in last_first],
    )
    return found


def is_one_network(weights: Any) -> bool:
    """Whether `weights` lists the matrices of one network, not several networks."""
    if isinstance(weights, (Mapping, np.ndarray)):
        return not isinstance(weights, np.ndarray) or weights.ndim != 4
    first: Any = next(iter(weights), None)
    if isinstance(first, (list, tuple)):
        inner = first[0] if first else None
        return not (hasattr(inner, "tocsc") or getattr(inner, "ndim", 1) == 2)
    return not isinstance(first, Mapping)
