"""Every kind of nonsense in a population is found and named."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evonet.errors import GenomeError, OptionError, ShapeError, UnknownFunctionError
from evonet.genes.arrays import ARRAYS
from evonet.genes.gene_checks import TABLE
from evonet.genes.population import Population
from evonet.genes.validation import PART, check_population
from tests.support.strategies import populations


def two_genomes() -> dict[str, Any]:
    """Genome 0 has the nodes 0, 1, 7; genome 1 has the nodes 0, 1, 2."""
    population = Population.from_genes(
        2,
        2,
        [
            ([0, 1, 7], [(-1, 7, 0.5), (7, 0, 1.5), (-2, 1, 2.5)]),
            ([0, 1, 2], [(-2, 2, 0.5), (2, 0, 1.5), (2, 1, 2.5), (-1, 0, 3.5)]),
        ],
    )
    arrays = {name: getattr(population, name).copy() for name in ARRAYS}
    return {"num_inputs": 2, "num_outputs": 2, **arrays}


def built_with(**changes: Any) -> Population:
    """Changes single entries, given as name=(index, value), or whole arguments."""
    arrays = two_genomes()
    for name, change in changes.items():
        if isinstance(change, tuple):
            arrays[name][change[0]] = change[1]
        else:
            arrays[name] = change
    return Population(**arrays)


def test_the_unchanged_example_is_valid() -> None:
    assert len(built_with()) == 2


@given(populations())
def test_drawn_populations_are_valid(population: Population) -> None:
    check_population(population)


GENE_FAULTS = [
    ({"node_key": (2, 1)}, 0, "genome 0: node 1: its key appears twice."),
    (
        {"node_key": (4, 9)},
        1,
        "genome 1: node 2: it comes after node 9. Expected ascending keys.",
    ),
    ({"node_key": (3, -1)}, 1, "genome 1: node -1: its key is negative."),
    ({"node_key": (2, 2**62 + 1)}, 0, f"genome 0: node {2**62 + 1}: its key is too large."),
    (
        {"node_key": ([0, 1], [1, 2])},
        0,
        "genome 0: output node 0 is missing. 2 outputs need nodes 0 to 1.",
    ),
    ({"node_key": ([4, 5], [3, 4])}, 1, "genome 1: output node 1 is missing."),
    ({"num_outputs": 3}, 0, "genome 0: output node 2 is missing."),
    ({"num_outputs": 4}, 0, "genome 0: output node 2 is missing."),
    ({"num_outputs": 2**31 - 1}, 0, "genome 0: output node 2 is missing."),
    ({"activation": (4, 250)}, 1, "genome 1: node 1: activation 250 is not a known id."),
    ({"aggregation": (2, 255)}, 0, "genome 0: node 7: aggregation 255 is not a known id."),
    ({"bias": (2, np.nan)}, 0, "genome 0: node 7: bias is nan. Expected a finite number."),
    ({"bias": (2, -np.inf)}, 0, "genome 0: node 7: bias is -inf."),
    ({"response": (5, np.inf)}, 1, "genome 1: node 2: response is inf."),
    ({"time_constant": (0, np.nan)}, 0, "genome 0: node 0: time_constant is nan."),
    ({"time_constant": (0, np.inf)}, 0, "genome 0: node 0: time_constant is inf."),
    (
        {"time_constant": (1, 0.0)},
        0,
        "genome 0: node 1: time_constant is 0.0. Expected more than 0.",
    ),
    ({"time_constant": (1, -1.0)}, 0, "genome 0: node 1: time_constant is -1.0."),
    ({"weight": (4, np.nan)}, 1, "genome 1: connection (2, 0): weight is nan."),
    ({"weight": (1, np.inf)}, 0, "genome 0: connection (7, 0): weight is inf."),
    ({"innovation": (0, -1)}, 0, "genome 0: connection (-1, 7): innovation is -1. Expected 0 to"),
    ({"innovation": (2, 2**62 + 1)}, 0, f"connection (-2, 1): innovation is {2**62 + 1}."),
    (
        {"innovation": (1, 0)},
        0,
        "genome 0: connection (7, 0): innovation 0 is also that of connection (-1, 7).",
    ),
    ({"innovation": (1, 9)}, 0, "genome 0: connection (-2, 1): innovation 2 comes after 9."),
    (
        {"target": (0, 3)},
        0,
        "genome 0: connection (-1, 3): target 3 is not a node of this genome. "
        "Its nodes are 0, 1, 7.",
    ),
    ({"target": (3, 7)}, 1, "genome 1: connection (-2, 7): target 7 is not a node"),
    ({"target": (3, 2**63 - 1)}, 1, "is not a node of this genome. Its nodes are 0, 1, 2."),
    ({"target": (1, -1)}, 0, "genome 0: connection (7, -1): target -1 is an input."),
    ({"source": (4, 7)}, 1, "genome 1: connection (7, 0): source 7 is not a node of this genome."),
    ({"source": (4, 2**63 - 1)}, 1, f"source {2**63 - 1} is not a node of this genome."),
    (
        {"source": (0, -3)},
        0,
        "genome 0: connection (-3, 7): source -3 is not an input. Inputs are -1 to -2.",
    ),
    ({"num_inputs": 1}, 0, "genome 0: connection (-2, 1): source -2 is not an input."),
    ({"num_inputs": 0}, 0, "source -1 is not an input. There are no inputs."),
    (
        {"source": (5, 2), "target": (5, 0)},
        1,
        "genome 1: connection (2, 0): there is another connection between the same ends.",
    ),
    ({"rank": (0, -1)}, 0, "genome 0: connection (-1, 7): rank is -1. Expected 0 to 2."),
    ({"rank": (6, 4)}, 1, "genome 1: connection (-1, 0): rank is 4. Expected 0 to 3."),
    ({"rank": (1, 2)}, 0, "genome 0: connection (7, 0): rank 2 appears twice."),
]


@pytest.mark.parametrize("table", [1, TABLE])
@pytest.mark.parametrize(("changes", "genome", "message"), GENE_FAULTS)
def test_a_bad_gene_is_named(
    changes: dict[str, Any], genome: int, message: str, table: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the ends of all genomes are looked up at once, or one genome after the other."""
    monkeypatch.setattr("evonet.genes.gene_checks.TABLE", table)
    with pytest.raises(GenomeError, match=re.escape(message)) as caught:
        built_with(**changes)
    assert caught.value.genome == genome


@pytest.mark.parametrize("name", ["activation", "aggregation"])
def test_an_unknown_function_id_is_an_unknown_function_error(name: str) -> None:
    with pytest.raises(UnknownFunctionError, match=r"is not a known id. Ids are 0"):
        built_with(**{name: (0, 200)})


@pytest.mark.parametrize("name", ["num_inputs", "num_outputs"])
@pytest.mark.parametrize("value", [-1, 2**31])
def test_a_number_of_pins_out_of_range_is_refused(name: str, value: int) -> None:
    with pytest.raises(OptionError, match=f"{name}={value} is not between 0 and"):
        built_with(**{name: value})


@pytest.mark.parametrize("name", list(ARRAYS))
def test_an_array_of_the_wrong_type_is_refused(name: str) -> None:
    with pytest.raises(ShapeError, match=f"{name} has type complex128. Expected "):
        built_with(**{name: two_genomes()[name].astype(np.complex128)})


def test_real_valued_genes_of_two_types_are_refused() -> None:
    weight = two_genomes()["weight"].astype(np.float64)
    with pytest.raises(ShapeError, match=r"weight has type float64. Expected float32, the type of"):
        built_with(weight=weight)


@pytest.mark.parametrize("name", list(ARRAYS))
def test_an_array_of_two_dimensions_is_refused(name: str) -> None:
    with pytest.raises(ShapeError, match=rf"{name} has shape \(1, .\). Expected one dimension."):
        built_with(**{name: two_genomes()[name][None]})


@pytest.mark.parametrize("name", list(ARRAYS))
def test_an_array_with_gaps_between_entries_is_refused(name: str) -> None:
    with pytest.raises(ShapeError, match=f"{name} is not contiguous and aligned"):
        built_with(**{name: np.repeat(two_genomes()[name], 2)[::2]})


def test_a_misaligned_array_is_refused() -> None:
    raw = np.zeros(7 * 8 + 1, np.uint8)[1:].view(np.int64)
    with pytest.raises(ShapeError, match="source is not contiguous and aligned"):
        built_with(source=raw)


@pytest.mark.parametrize("name", list(ARRAYS))
def test_a_list_instead_of_an_array_is_refused(name: str) -> None:
    with pytest.raises(ShapeError, match=f"{name} is a list. Expected a NumPy array."):
        built_with(**{name: two_genomes()[name].tolist()})


@pytest.mark.parametrize("name", [name for name in ARRAYS if not name.endswith("_start")])
def test_an_array_of_the_wrong_length_is_refused(name: str) -> None:
    right = two_genomes()[name]
    message = f"{name} has {len(right) - 1} entries. Expected {len(right)}, where"
    with pytest.raises(ShapeError, match=message):
        built_with(**{name: right[:-1]})


def test_offsets_that_disagree_on_the_number_of_genomes_are_refused() -> None:
    with pytest.raises(ShapeError, match="conn_start has 2 offsets and node_start has 3"):
        built_with(conn_start=np.array([0, 7]))


def test_no_offsets_at_all_are_refused() -> None:
    with pytest.raises(ShapeError, match="node_start is empty"):
        built_with(node_start=np.zeros(0, np.int64))


@pytest.mark.parametrize("name", ["node_start", "conn_start"])
def test_offsets_that_do_not_start_with_0_are_refused(name: str) -> None:
    with pytest.raises(ShapeError, match=f"{name} starts with 1. Expected 0."):
        built_with(**{name: (0, 1)})


@pytest.mark.parametrize("name", ["node_start", "conn_start"])
def test_offsets_that_fall_are_refused(name: str) -> None:
    with pytest.raises(ShapeError, match=f"{name} falls from 99 to . at genome 1."):
        built_with(**{name: (1, 99)})


def test_offsets_that_end_too_late_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"node_key has 6 entries. Expected 8, where node_start"):
        built_with(node_start=(2, 8))


def test_genomes_without_any_gene_need_their_outputs() -> None:
    empty = Population.empty(1, 0)
    arrays = {name: getattr(empty, name) for name in ARRAYS}
    arrays.update(node_start=np.zeros(4, np.int64), conn_start=np.zeros(4, np.int64))
    assert len(Population(num_inputs=1, num_outputs=0, **arrays)) == 3
    with pytest.raises(GenomeError, match=r"genome 0: output node 0 is missing. 1 output needs"):
        Population(num_inputs=1, num_outputs=1, **arrays)


def test_a_connection_of_a_genome_without_nodes_dangles() -> None:
    with pytest.raises(
        GenomeError, match=r"target 0 is not a node of this genome. It has no nodes"
    ):
        Population.from_genes(1, 0, [([], [(-1, 0, 1.0)])])


def test_without_outputs_even_node_0_may_dangle() -> None:
    with pytest.raises(GenomeError, match=r"connection \(0, 3\): source 0 is not a node"):
        Population.from_genes(1, 0, [([3], [(0, 3, 1.0)])])


def test_the_list_of_nodes_in_a_message_is_short() -> None:
    with pytest.raises(GenomeError, match=r"Its nodes are 0, 1, .*, 11 and 88 more\."):
        Population.from_genes(1, 1, [(range(100), [(-1, 100, 1.0)])])


def test_skipping_the_validation_accepts_anything() -> None:
    arrays = two_genomes()
    arrays["target"][0] = 99
    assert Population(**arrays, validate=False).target[0] == 99


def test_one_bad_gene_is_found_anywhere_in_a_large_population() -> None:
    """Validation works in parts; a fault near any border of a part must not slip through."""
    population = Population.random(700, 3, 2, num_nodes=20, num_connections=100)
    assert population.num_connections + population.num_nodes > 2 * PART
    border = PART // 120
    for genome in [0, border - 1, border, border + 1, 2 * border, 2 * border + 1, 699]:
        target = population.target.copy()
        target[population.conn_start[genome + 1] - 1] = 20
        with pytest.raises(GenomeError, match=f"^genome {genome}: connection .*: target 20 is not"):
            check_population(population._with({"target": target}))


@given(populations(min_genomes=1), st.data())
def test_a_target_moved_to_an_unused_key_is_found(population: Population, data: Any) -> None:
    """Also for keys so large that they need renumbering."""
    if population.num_connections == 0:
        return
    i = data.draw(st.integers(0, population.num_connections - 1))
    genome = int(np.searchsorted(population.conn_start, i, side="right")) - 1
    used = {node.key for node in population[genome].nodes}
    key = data.draw(
        st.sampled_from([3, 10**5, 2**40, 2**62, 2**63 - 1]).filter(lambda key: key not in used)
    )
    for end in ("source", "target"):
        keys = getattr(population, end).copy()
        keys[i] = key
        with pytest.raises(
            GenomeError, match=f"{end} {key} is not a node of this genome"
        ) as caught:
            check_population(population._with({end: keys}))
        assert caught.value.genome == genome


def test_labels_replace_the_numbers_of_genomes() -> None:
    population = Population(**two_genomes())
    broken = population._with({"rank": population.rank + 1})
    with pytest.raises(GenomeError, match=r"^Ada: connection"):
        check_population(broken, ["Ada", "Bob"].__getitem__)
