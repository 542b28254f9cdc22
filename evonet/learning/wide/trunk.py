"""Networks whose outputs are the hidden values of a wide level. They are used as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evonet.errors import OptionError, ShapeError
from evonet.genes.population import Population
from evonet.learning.wide.rows import Rows
from evonet.network import Network, compile

IDENTITY = "identity"


def trunk_network(trunk: Any) -> Network:
    """The network of a trunk.

    Args:
        trunk: A compiled network of one genome, a population of one, or something with a `compile`
            that returns such a network, as champions have.

    Raises:
        OptionError: It is something else.
    """
    if isinstance(trunk, Population):
        trunk = compile(trunk, backend="auto")
    elif not isinstance(trunk, Network) and callable(getattr(trunk, "compile", None)):
        trunk = trunk.compile()
    if not isinstance(trunk, Network) or trunk.num_genomes != 1:
        raise OptionError(
            "trunk must be a compiled network, a champion or a population, of one genome, or "
            '"identity".'
        )
    if trunk.kind != "feedforward":
        raise OptionError(f"trunk must be a feed-forward network, and this one is {trunk.kind}.")
    return trunk


def trunk_width(trunk: Any, num_inputs: int) -> int:
    """The number of a trunk's outputs.

    Raises:
        ShapeError: It has other inputs than the samples.
    """
    if isinstance(trunk, str) and trunk == IDENTITY:
        return num_inputs
    network = trunk_network(trunk)
    if network.num_inputs != num_inputs:
        raise ShapeError(f"X has {num_inputs} features, and the trunk {network.num_inputs} inputs.")
    return network.num_outputs


def trunk_rows(trunk: Any, rows: Rows, width: int) -> NDArray[np.float32]:
    """What a trunk answers, [n, width] with zeros behind its outputs."""
    if isinstance(trunk, str) and trunk == IDENTITY:
        answers = rows.dense()
    else:
        network = trunk_network(trunk)
        answers = np.asarray(network(rows.dense().astype(network.dtype)))[0].astype(np.float32)
    hidden = np.zeros((len(rows), width), np.float32)
    hidden[:, : answers.shape[1]] = answers
    return hidden
