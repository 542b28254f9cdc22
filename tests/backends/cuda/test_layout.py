"""Packed schedules: every number is where kernels/cuda/schedule_units.h looks for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evonet import BackendError, Population
from evonet.backends.cuda import layout
from evonet.backends.cuda.layout import pack_schedule, packed_nbytes
from evonet.schedule import Schedule, build_schedule
from tests.support import strategies


def read_units(arrays: dict[str, np.ndarray], dtype: Any, genome: int) -> list[tuple[Any, ...]]:
    """Reads the nodes of a genome back, as a kernel does."""
    header_units, per_unit = (1, 2) if dtype == np.float32 else (2, 1)
    at, end = arrays["unit_start"][genome : genome + 2]
    found = []
    while at < end:
        unit = arrays["units"][at]
        bias, response = unit.view(dtype)[:2]
        links, place = (
            int(word)
            for word in arrays["units"][at : at + header_units].reshape(-1)[
                2 * np.dtype(dtype).itemsize // 4 :
            ][:2]
        )
        count, slot = links >> 8, place >> 9
        functions = (place >> 8 & 1, links & 0xFF, place & 0xFF)
        at += header_units
        num_units = -(-count // per_unit)
        words = arrays["units"][at : at + num_units].reshape(num_units * per_unit, 4 // per_unit)
        back = words[:count, 0].view(np.int32)
        weights = np.ascontiguousarray(words).view(dtype).reshape(-1, 2)[:count, 1]
        at += num_units
        found.append((bias, response, slot, functions, (slot - back).tolist(), weights.tolist()))
    assert at == end
    return found


def expected_nodes(s: Schedule, genome: int) -> list[tuple[Any, ...]]:
    begin, end = s.node_start[genome : genome + 2]
    rows = []
    for k in range(begin, end):
        links = slice(s.edge_start[k], s.edge_start[k + 1])
        rows.append(
            (
                s.bias[k],
                s.response[k],
                s.slot[k],
                (k == end - 1, s.aggregation[k], s.activation[k]),
                s.source[links].tolist(),
                s.weight[links].tolist(),
            )
        )
    return rows


@given(strategies.populations(min_genomes=1), st.data())
def test_every_node_and_link_is_where_the_kernels_look(
    population: Population, data: st.DataObject
) -> None:
    schedule = build_schedule(population, on_cycle="zero")
    begin = data.draw(st.integers(0, population.num_genomes - 1))
    end = data.draw(st.integers(begin + 1, population.num_genomes))
    native = data.draw(st.sampled_from([None, False]))
    arrays = pack_schedule(schedule, begin, end, native)
    for genome in range(begin, end):
        found = read_units(arrays, population.dtype, genome - begin)
        assert found == expected_nodes(schedule, genome)
        nodes = slice(*arrays["node_start"][genome - begin : genome - begin + 2])
        headers = arrays["units"][arrays["unit_start"][genome - begin] + arrays["node_unit"][nodes]]
        np.testing.assert_array_equal(
            headers.view(population.dtype)[:, 0],
            schedule.bias[schedule.node_start[genome] : schedule.node_start[genome + 1]],
        )
    np.testing.assert_array_equal(arrays["output_slot"], schedule.output_slot[begin:end])


@given(strategies.populations(min_genomes=1), st.data())
def test_the_compiled_packer_equals_the_readable_one(
    population: Population, data: st.DataObject
) -> None:
    schedule = build_schedule(population, on_cycle="zero")
    begin = data.draw(st.integers(0, population.num_genomes))
    end = data.draw(st.integers(begin, population.num_genomes))
    found, expected = (pack_schedule(schedule, begin, end, native) for native in (None, False))
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


@given(strategies.populations(min_genomes=1), st.data())
def test_size_is_known_before_packing(population: Population, data: st.DataObject) -> None:
    schedule = build_schedule(population, on_cycle="zero")
    begin = data.draw(st.integers(0, population.num_genomes))
    end = data.draw(st.integers(begin, population.num_genomes))
    arrays = pack_schedule(schedule, begin, end)
    assert packed_nbytes(schedule, begin, end) == sum(array.nbytes for array in arrays.values())
    assert all(array.flags.c_contiguous for array in arrays.values())


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [
        ("MOST_SLOTS", 5, "genome 1 has 6 inputs, live nodes and states"),
        ("MOST_SLOTS", 1, "the genomes have 2 outputs"),
        ("MOST_UNITS", 3, "at a time"),
    ],
)
def test_what_kernels_cannot_count_is_refused(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int, message: str
) -> None:
    population = Population.random(3, 4, 2, num_nodes=2, num_connections=8)
    schedule = build_schedule(population)
    monkeypatch.setattr(layout, limit, value)
    with pytest.raises(BackendError, match=message):
        pack_schedule(schedule, 1, 3)
