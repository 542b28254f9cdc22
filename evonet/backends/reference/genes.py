"""Initial and mutated genes: the NumPy twin of `kernels/genetics/genes.h`.

All functions take many genes at once; a gene never depends on its neighbours, so the bits are
those of one gene at a time. Rates are float32 for both types of genes, as in the kernels.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.genes.arrays import CONNECTION_ARRAYS, NODE_ARRAYS, Int64Array, RealArray
from evonet.genes.population import Population
from evonet.genes.rules import Rules
from evonet.numerics.elementary import log_float, sin_of_5
from evonet.numerics.philox import Purpose, Words, choose, philox, uniform

Flags = npt.NDArray[np.bool_]

# A turn is 2 pi / 5, because the sine takes a fifth of its argument.
TURN: Final = np.float32(float.fromhex("0x1.41b2f8p+0"))


@dataclass(frozen=True)
class Draws:
    """All random draws for one child of one generation."""

    seed: int  # the run's seed
    generation: int  # the generation that is being bred
    child: int  # the child's index in it

    def __call__(self, purpose: Purpose, draw: npt.ArrayLike) -> Words:
        """Returns four words per draw, [4, ...]."""
        return philox(self.seed, self.generation, self.child, purpose, draw)

    def several(self, purpose: Purpose, num_genes: int, each: int) -> list[Words]:
        """Returns `each` draws [4, genes]; gene g has the numbers g * each, g * each + 1, ..."""
        draw = np.arange(num_genes * each).reshape(num_genes, each)
        return list(np.moveaxis(self(purpose, draw), 2, 0))


@dataclass
class Genes:
    """One genome that is being made; `Population` describes each array."""

    node_key: Int64Array
    bias: RealArray
    response: RealArray
    activation: npt.NDArray[np.uint8]
    aggregation: npt.NDArray[np.uint8]
    time_constant: RealArray
    innovation: Int64Array
    source: Int64Array
    target: Int64Array
    weight: RealArray
    enabled: Flags
    rank: npt.NDArray[np.int32]

    @classmethod
    def of(cls, population: Population, genome: int) -> Genes:
        """Copies one genome out of a population."""
        one = population[genome : genome + 1]
        return cls(*(getattr(one, field.name).copy() for field in fields(cls)))

    def ends(self) -> list[tuple[int, int]]:
        """Returns source and target of each connection."""
        return list(zip(self.source.tolist(), self.target.tolist(), strict=True))

    def pick_nodes(self, wanted: npt.NDArray[Any]) -> None:
        """Keeps only some nodes, or changes their order."""
        for name in NODE_ARRAYS:
            setattr(self, name, getattr(self, name)[wanted])

    def pick_connections(self, wanted: npt.NDArray[Any]) -> None:
        """Keeps only some connections, or changes their order."""
        for name in CONNECTION_ARRAYS:
            setattr(self, name, getattr(self, name)[wanted])

    def append(self, **values: npt.ArrayLike) -> None:
        """Adds genes at the end of the named arrays."""
        for name, more in values.items():
            old = getattr(self, name)
            setattr(self, name, np.append(old, np.asarray(more, old.dtype)))


def normal(a: Words, b: Words) -> npt.NDArray[np.float32]:
    """Draws normal numbers of mean 0 and deviation 1, by the Box-Muller transform."""
    u = ((a >> np.uint64(8)) + np.uint64(1)).astype(np.float32) * np.float32(2.0**-24)
    radius: npt.NDArray[np.float32] = np.sqrt(np.float32(-2.0) * log_float(u))
    wave: npt.NDArray[np.float32] = sin_of_5(uniform(b) * TURN)
    return radius * wave


def clamp(rule: Rules, values: RealArray) -> RealArray:
    """Moves values into the rule's range."""
    most, least = (values.dtype.type(rule[name]) for name in ("max_value", "min_value"))
    values = np.where(values < most, values, most)
    return np.where(values > least, values, least)


def first_values(rule: Rules, a: Words, b: Words, dtype: np.dtype[Any]) -> RealArray:
    """Draws initial values of a real gene."""
    return values_from(rule, uniform(a).astype(dtype), normal(a, b).astype(dtype))


def values_from(rule: Rules, flat: RealArray, bell: RealArray) -> RealArray:
    """Scales uniform or normal draws to initial values, whichever the rule asks for."""
    real = flat.dtype.type
    mean, deviation = real(rule["init_mean"]), real(rule["init_stdev"])
    if not rule["init_uniform"]:
        return clamp(rule, mean + deviation * bell)
    reach = real(2) * deviation
    low, high = mean - reach, mean + reach
    low = low if low > real(rule["min_value"]) else real(rule["min_value"])
    high = high if high < real(rule["max_value"]) else real(rule["max_value"])
    return clamp(rule, low + (high - low) * flat)


def mutated_values(
    rule: Rules, values: RealArray, decision: Words, a: Words, b: Words
) -> RealArray:
    """Adds normal noise to some values and replaces others by new ones."""
    r = uniform(decision)
    mutate, replace = np.float32(rule["mutate_rate"]), np.float32(rule["replace_rate"])
    if mutate + replace <= 0:
        return values
    bell = normal(a, b).astype(values.dtype)
    moved = clamp(rule, values + values.dtype.type(rule["mutate_power"]) * bell)
    anew = values_from(rule, uniform(a).astype(values.dtype), bell)
    return np.where(r < mutate, moved, np.where(r < mutate + replace, anew, values))


def any_options(rule: Rules, words: Words) -> npt.NDArray[np.uint8]:
    """Picks functions at random."""
    options = np.array(rule["options"], np.uint8)
    return options[choose(words, len(options))]


def first_options(rule: Rules, words: Words) -> npt.NDArray[np.uint8]:
    """Picks the functions of new nodes."""
    if rule["first"] < 0:
        return any_options(rule, words)
    return np.full(words.shape, rule["first"], np.uint8)


def mutated_options(
    rule: Rules, options: npt.NDArray[np.uint8], decision: Words, words: Words
) -> npt.NDArray[np.uint8]:
    """Replaces some functions at random."""
    mutates = uniform(decision) < np.float32(rule["mutate_rate"])
    return np.where(mutates, any_options(rule, words), options)


def coins(words: Words) -> Flags:
    """Returns true or false, equally likely."""
    return (words >> np.uint64(31)).astype(np.bool_)


def first_flags(rule: Rules, words: Words) -> Flags:
    """Returns whether new connections are enabled."""
    return coins(words) if rule["first"] < 0 else np.full(words.shape, rule["first"] != 0)


def mutated_flags(rule: Rules, flags: Flags, decision: Words, words: Words) -> Flags:
    """Tosses a coin for some flags, which may give the old value."""
    add = np.where(flags, np.float32(rule["to_false_add"]), np.float32(rule["to_true_add"]))
    mutates = uniform(decision) < np.float32(rule["mutate_rate"]) + add
    return np.where(mutates, coins(words), flags)
