"""Tables: files as people have them, and how they become examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evonet import FileFormatError, OptionError
from evonet.tasks import classification, make_task, regression
from evonet.tasks.data import load_data, split_data
from evonet.tasks.dates import parse_date
from evonet.tasks.encoding import Encoding
from evonet.tasks.identifiers import find_identifiers
from evonet.tasks.tables import infer_kind, read_table


def write(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# The file.


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("a,b\n1,2\n", ("a", "b"), [["1", "2"]]),
        ("1,2\n3,4\n", ("c1", "c2"), [["1", "2"], ["3", "4"]]),
        ("a;b\n1,5;2\n", ("a", "b"), [["1.5", "2"]]),
        ("a;b\n-1.234,5;2\n7;x,1\n", ("a", "b"), [["-1234.5", "2"], ["7", "x,1"]]),
        ("1,5;2,5\n2,5;3,5\n", ("c1", "c2"), [["1.5", "2.5"], ["2.5", "3.5"]]),
        ("a,b\nx;y,1\n", ("a", "b"), [["x;y", "1"]]),
        ("1,5;red\n2;blue\n", ("c1", "c2"), [["1.5", "red"], ["2", "blue"]]),
        ("2024-01-05,red\n2024-01-06,blue\n", ("c1", "c2"), None),
        ("a\tb\n1\t2\n", ("a", "b"), [["1", "2"]]),
        ("5.1,red\n4.9,blue\n", ("c1", "c2"), [["5.1", "red"], ["4.9", "blue"]]),
        ("x,y\ny,x\nx,x\n", ("x", "y"), [["y", "x"], ["x", "x"]]),
        ("p,x\np,x\ne,x\n", ("c1", "c2"), [["p", "x"], ["p", "x"], ["e", "x"]]),
        (",a\n0,5\n1,7\n", ("a",), [["5"], ["7"]]),
        (",a\n5,0\n3,1\n", ("c1", "a"), [["5", "0"], ["3", "1"]]),
        ('"a, b",c\n"1",2\n', ("a, b", "c"), [["1", "2"]]),
    ],
)
def test_names_and_delimiters_are_found(
    text: str, names: tuple[str, ...], rows: list[list[str]] | None, tmp_path: Path
) -> None:
    table = read_table(write(tmp_path, text))
    assert table.names == names
    assert table.rows == (rows or [line.split(",") for line in text.split()])


def test_decimal_commas_are_noted(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, "a;b;c\n1,5;2;x\n2;3;y\n"))
    assert table.notes == ("decimal commas: a",)


def test_text_of_spreadsheets_is_read_and_other_text_is_refused_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path.write_bytes("größe,y\n1,2\n".encode(encoding))
        assert read_table(path).names == ("größe", "y")
    path.write_bytes("a,b\nKöln,2\n".encode("latin-1"))
    with pytest.raises(FileFormatError, match=r"line 2 is not text in UTF-8\. .* iconv"):
        read_table(path)


def test_a_file_without_names_keeps_its_first_row_and_says_so(tmp_path: Path) -> None:
    task = regression(data=write(tmp_path, "1,2\n3,4\n5,6\n"))
    assert task.x.tolist() == [[1], [3], [5]]
    assert any("has no line of column names" in note for note in task.notes)
    with_header = regression(data=write(tmp_path, "1,2\n3,4\n5,6\n"), header="yes")
    assert with_header.x.tolist() == [[3], [5]]
    with pytest.raises(OptionError, match="header = true is not a choice"):
        regression(data=write(tmp_path, "1,2\n"), header=True)  # type: ignore[arg-type]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match='two columns have the name "a"'):
        read_table(write(tmp_path, "a,a\n1,2\n"))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["yes", "no"] * 5, "classification"),
        (["0", "1"] * 5, "classification"),
        ([str(i % 3) for i in range(30)], "classification"),
        ([str(i) for i in range(30)], "regression"),
        ([str(i % 25) for i in range(500)], "regression"),
        (["0.5", "1"] * 20, "regression"),
        (["0", "1", "?"] * 5, "classification"),
    ],
)
def test_the_kind_of_task_follows_from_the_target(
    cells: list[str], kind: str, tmp_path: Path
) -> None:
    table = read_table(write(tmp_path, "\n".join(["x,y", *(f"1,{cell}" for cell in cells)])))
    assert infer_kind(table, "y")[0] == kind


# Columns.

PETS = "size,kind,sex,grams\n1,cat,f,10\n2,dog,m,20\n3,ant,f,30\n4,cat,m,40\n"


def test_categories_become_inputs_of_0_or_1(tmp_path: Path) -> None:
    task = regression(data=write(tmp_path, PETS))
    assert task.input_names == ("size", "kind=ant", "kind=cat", "kind=dog", "sex=m")
    assert task.x.tolist() == [[1, 0, 1, 0, 0], [2, 0, 0, 1, 1], [3, 1, 0, 0, 0], [4, 0, 1, 0, 1]]
    assert any("kind, sex become 4 inputs" in note for note in task.notes)
    numbered = regression(data=write(tmp_path, PETS), categories=["size"], exclude=["kind"])
    assert numbered.input_names == ("size=1", "size=2", "size=3", "size=4", "sex=m")
    with pytest.raises(OptionError, match=r'exclude: .* no column "kinds". Did you mean "kind"'):
        regression(data=write(tmp_path, PETS), exclude=["kinds"])


def test_columns_that_nothing_can_be_learnt_from_are_refused(tmp_path: Path) -> None:
    names = "\n".join(["name,y", *(f"person {i},{i}" for i in range(30))])
    with pytest.raises(FileFormatError, match=r"30 rows: \"name\" 30\..*exclude=\[\"name\"\]"):
        regression(data=write(tmp_path, names))
    both = "\n".join(["name,street,y", *(f"p {i % 29},way {i % 28},{i}" for i in range(30))])
    with pytest.raises(FileFormatError, match=r'"name" 29, "street" 28.*\["name", "street"\]'):
        regression(data=write(tmp_path, both))
    with pytest.raises(FileFormatError, match=r'row 3, column "a" holds "x".*categories'):
        regression(data=write(tmp_path, "a,b\n1,2\nx,4\n"))
    mixed = regression(data=write(tmp_path, "a,b\n1,2\nx,4\n"), categories="a")
    assert mixed.input_names == ("a=x",)


def test_identifiers_are_left_out_and_said(tmp_path: Path) -> None:
    rows = [f"{7 * i},u{i},{i % 3},{1990 + i},{i * i},{i}" for i in range(40)]
    table = "\n".join(["userID,ref,size,year,amount,y", *rows])
    task = regression(data=write(tmp_path, table))
    assert task.input_names == ("size", "year", "amount")
    (note,) = [note for note in task.notes if note.startswith("identifiers")]
    assert 'userID, ref (--set \'task.keep=["userID", "ref"]\' keeps them)' in note
    kept = regression(data=write(tmp_path, table), keep=["userID"])
    assert kept.input_names == ("userID", "size", "year", "amount")
    with pytest.raises(OptionError, match=r'keep: .* no column "user"'):
        regression(data=write(tmp_path, table), keep=["user"])
    with pytest.raises(FileFormatError, match=r'"ref" 40\.'):
        regression(data=write(tmp_path, table), keep=["ref"])


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("id", [str(i // 2) for i in range(40)]),  # twice each
        ("id", [f"{i / 7:.4f}" for i in range(40)]),  # quantities
        ("amount", [str(i) for i in range(40)]),
        ("paid", [str(i) for i in range(40)]),
        ("day_id", [f"2024-01-{i + 1:02}" for i in range(31)]),
        ("id", [str(i) for i in range(10)]),  # too few to tell
    ],
)
def test_what_may_be_a_quantity_is_no_identifier(
    name: str, cells: list[str], tmp_path: Path
) -> None:
    rows = [f"{cell},{i % 3},{i}" for i, cell in enumerate(cells)]
    table = read_table(write(tmp_path, "\n".join([f"{name},a,y", *rows])))
    assert find_identifiers(table, table.names[:2]) == []


def test_an_identifier_stays_where_it_is_the_only_input(tmp_path: Path) -> None:
    table = "\n".join(["index,y", *(f"{i},{i * i}" for i in range(30))])
    assert regression(data=write(tmp_path, table)).input_names == ("index",)


GAPS = "p,q,y\n1,a,1\n?,b,2\n3,,3\n5,a,NA\n4,b,4\n"


def test_targets_that_nothing_can_be_learnt_from_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "x,y\n1,a\n2,a\n")
    with pytest.raises(FileFormatError, match=r'column "y" holds nothing but "a"'):
        classification(data=path)
    prices = "\n".join(["x,price", *(f'{i},"${i},000"' for i in range(1, 30))])
    with pytest.raises(FileFormatError, match=r'too many for classes.*1000 instead of "\$1,000"'):
        classification(data=write(tmp_path, prices))


# Dates.

SALES = "sold,y\n2024-01-01,1\n2024-04-01,2\n2023-12-31,3\n"


def test_dates_become_days_and_places_in_year_and_week(tmp_path: Path) -> None:
    task = regression(data=write(tmp_path, SALES))
    cycles = ("sold year sin", "sold year cos", "sold week sin", "sold week cos")
    assert task.input_names == ("sold", *cycles)
    assert any("dates: sold become 5 inputs" in note for note in task.notes)
    days, *_ = task.x.T
    assert (days - days[0]).tolist() == [0, 91, -1]
    for sin, cos in (task.x[:, 1:3].T, task.x[:, 3:5].T):
        assert sin**2 + cos**2 == pytest.approx(1)
    year, week = task.x[:, 1:3], task.x[:, 3:5]
    assert np.linalg.norm(year[0] - year[2]) < 0.02 < np.linalg.norm(year[0] - year[1])
    assert week[0] == pytest.approx(week[1])  # both are Mondays


def test_times_of_day_are_seen_and_missing_dates_can_be_filled(tmp_path: Path) -> None:
    text = "at,y\n2024/1/1 6:00,1\n2024-01-01T18:00:00+06:00,2\n?,3\n2024-01-02 00:00Z,4\n"
    task = regression(data=write(tmp_path, text), missing="fill")
    assert task.input_names[-2:] == ("at day sin", "at day cos")
    assert task.x[:, -2] == pytest.approx([1, 0, 1 / 3, 0], abs=1e-9)
    assert task.x[2, 0] == pytest.approx(task.x[[0, 1, 3], 0].mean())
    assert (task.x[[1, 3], 0] - task.x[0, 0]).tolist() == [0.25, 0.75]  # east of Greenwich is early


@pytest.mark.parametrize(
    "cell", ["2024-13-01", "2024-02-30", "24-01-01", "2024-01-01 25:00", "1/2/2024"]
)
def test_what_is_no_date_is_a_category(cell: str, tmp_path: Path) -> None:
    assert parse_date(cell) is None
    task = regression(data=write(tmp_path, f"at,y\n2024-01-01,1\n{cell},2\n"))
    assert task.input_names == (f"at={sorted((cell, '2024-01-01'))[1]}",)


def test_a_cell_among_dates_that_is_none_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, SALES + "soon,4\n")
    with pytest.raises(FileFormatError, match=r'row 5, column "sold" holds "soon".*a date'):
        regression(data=path)
    assert len(regression(data=path, categories=["sold"]).input_names) == 4


def test_an_encoding_of_dates_travels_as_json(tmp_path: Path) -> None:
    path = write(tmp_path, SALES)
    encoding = regression(data=path).encoding
    assert encoding is not None
    again = Encoding.from_dict(json.loads(json.dumps(encoding.to_dict())))
    assert again == encoding
    with pytest.raises(
        FileFormatError, match=r'row 2, column "sold" holds "soon".*Expected a date'
    ):
        again.raw_inputs(read_table(write(tmp_path, "sold,y\nsoon,1\n")))
    broken = encoding.to_dict()
    broken["columns"][0]["dates"] = "year"
    with pytest.raises(FileFormatError, match='dates is "year"'):
        Encoding.from_dict(broken)


def test_missing_cells_are_an_error_that_counts_them(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError) as caught:
        regression(data=write(tmp_path, GAPS))
    text = str(caught.value)
    assert 'row 3, column "p" holds "?"' in text
    assert '1 cell of "p", 1 cell of "q", 1 cell of "y"' in text
    assert "--set task.missing=fill" in text


def test_missing_cells_can_be_filled_or_dropped(tmp_path: Path) -> None:
    filled = regression(data=write(tmp_path, GAPS), missing="fill")
    assert filled.x[:, 0].tolist() == [1, pytest.approx(8 / 3), 3, 4]
    assert filled.x[:, 1].tolist() == [0, 1, pytest.approx(2 / 3), 1]
    assert filled.y[:, 0].tolist() == [1, 2, 3, 4]
    assert any("1 row of 5 are left out" in note for note in filled.notes)
    dropped = regression(data=write(tmp_path, GAPS), missing="drop")
    assert dropped.x.tolist() == [[1, 0], [4, 1]]
    assert any("3 rows of 5 are left out" in note for note in dropped.notes)
    with pytest.raises(FileFormatError, match="every row misses something"):
        regression(data=write(tmp_path, "a,b\n,1\n2,\n"), missing="drop")


def test_filled_inputs_are_the_mean_of_training_alone(tmp_path: Path) -> None:
    rows = [f"{'' if i % 4 == 0 else i},{i}" for i in range(40)]
    path = write(tmp_path, "\n".join(["x,y", *rows]))
    task = regression(data=path, missing="fill", test_fraction=0.5, standardize=True)
    given = [i for i in task.y[:, 0] if i % 4]
    assert task.encoding is not None
    assert task.encoding.fill == pytest.approx([np.mean(given)])
    assert task.x[task.y[:, 0] % 4 == 0].tolist() == [[0.0]] * int((task.y % 4 == 0).sum())
    assert task.x.mean() == pytest.approx(0)


def test_classes_that_are_numbers_are_in_numeric_order(tmp_path: Path) -> None:
    path = write(tmp_path, "x,y\n1,10\n2,9\n3,10\n")
    assert classification(data=path).output_names == ("9", "10")


# Parts.


@given(st.lists(st.integers(0, 3), min_size=20, max_size=200), st.integers(0, 50))
@settings(max_examples=40, deadline=None)
def test_every_part_has_its_share_of_each_class(labels: list[int], seed: int) -> None:
    labels += [0, 1]
    x = np.arange(len(labels), dtype=float)[:, None]
    data = load_data((x, labels), None, classes=True)
    parts = split_data(data, test_fraction=0.2, validation_fraction=0.25, split_seed=seed)
    assert parts.test is not None
    assert parts.validation is not None
    together = np.concatenate([p.x[:, 0] for p in (parts.train, parts.validation, parts.test)])
    assert sorted(together) == x[:, 0].tolist()
    total = data.examples.y.sum(axis=0)
    for part in (parts.train, parts.validation, parts.test):
        share = part.y.sum(axis=0) - total * len(part.x) / len(labels)
        assert abs(share).max() <= 2


def test_weights_of_classes_count_in_training_and_validation_alone() -> None:
    x = np.arange(40.0)[:, None]
    labels = ["rare" if i % 4 == 0 else "usual" for i in range(40)]
    fractions: dict[str, Any] = {"test_fraction": 0.2, "validation_fraction": 0.25}
    task = classification(data=(x, labels), class_weights="balanced", **fractions)
    assert task.y.sum(axis=0) == pytest.approx([12, 12])
    assert task.test is not None
    assert task.validation is not None
    assert set(task.test.y.ravel()) == {0.0, 1.0}
    assert task.validation.y.max() == pytest.approx(2)
    given = classification(data=(x, labels), class_weights={"rare": 5})
    assert given.y.max(axis=0).tolist() == [5, 1]
    for wrong in ({"rate": 2}, {"rare": 0}, "equal", 3):
        with pytest.raises(OptionError, match="class_weights"):
            classification(data=(x, labels), class_weights=wrong)


def test_targets_can_be_standardized_and_come_back() -> None:
    x = np.arange(50.0)[:, None]
    task = regression(data=(x, 100 + 7 * x), test_fraction=0.2, standardize_targets=True)
    assert task.y.mean() == pytest.approx(0)
    assert task.y.std() == pytest.approx(1)
    assert task.in_units(task.y) == pytest.approx(100 + 7 * task.x)


def test_an_encoding_travels_as_json(tmp_path: Path) -> None:
    task = regression(
        data=write(tmp_path, GAPS), missing="fill", standardize=True, standardize_targets=True
    )
    assert task.encoding is not None
    document = json.loads(json.dumps(task.encoding.to_dict()))
    assert Encoding.from_dict(document) == task.encoding
    for name in document:
        for wrong in (None, 3, "text", [1, 2, 3, 4], [[]], {}):
            if wrong == document[name]:
                continue
            with pytest.raises(FileFormatError, match="encoding"):
                Encoding.from_dict({**document, name: wrong})
    with pytest.raises(FileFormatError, match=r"encoding\.scale is .* Expected finite"):
        Encoding.from_dict({**document, "scale": [10**400] * len(document["scale"])})
    with pytest.raises(FileFormatError, match="encoding must have"):
        Encoding.from_dict({**document, "more": 1})


# Data sets by name.


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "count"),
    [
        ("iris", 4, 3, 150),
        ("wine", 13, 3, 178),
        ("breast_cancer", 30, 2, 569),
        ("digits", 64, 10, 1797),
        ("diabetes", 10, 1, 442),
    ],
)
def test_data_sets_have_their_shapes(name: str, inputs: int, outputs: int, count: int) -> None:
    task, again = make_task(name), make_task(name)
    assert (task.num_inputs, task.num_outputs) == (inputs, outputs)
    parts, others = task.parts(), again.parts()  # type: ignore[attr-defined]
    assert sum(len(part.x) for part in parts.values()) == count
    assert list(parts) == ["train", "validation", "held out"]
    assert len(parts["held out"].x) == round(0.2 * count)
    assert parts["train"].x.mean() == pytest.approx(0, abs=1e-12)
    assert parts["held out"].x.tobytes() == others["held out"].x.tobytes()


def test_a_missing_scikit_learn_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn", None)
    with pytest.raises(OptionError, match="pip install scikit-learn"):
        make_task("iris")
