"""Everything about a config's tables derives from the fields of `Config`."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evonet.config import Config
from evonet.config import config as config_module
from evonet.config import schema as schema_module
from evonet.config.config import EVOLUTION, TABLES
from evonet.config.draft import RESERVED
from evonet.config.schema import Schema
from evonet.config.task_defaults import TASK_DEFAULTS
from evonet.definitions.algorithms import ALGORITHM_NAMES
from evonet.errors import ConfigError
from evonet.evolution.algorithms import ALGORITHMS
from evonet.functions.registry import unregister_activation

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "evolving.md"


def test_each_table_has_a_file_of_its_own() -> None:
    for field in dataclasses.fields(Config):
        home = Path(config_module.__file__).parent / f"{field.name}.py"
        assert f"[{field.name}] table" in home.read_text().split("\n")[0]
        if isinstance(field.default, Schema):
            assert type(field.default).__module__ == f"evonet.config.{field.name}"
            assert type(field.default).__name__ == f"{field.name.title()}Table"


def test_a_file_has_the_tables_in_order() -> None:
    config = Config().replace({"functions.activations.half": "x / 2"})
    unregister_activation("half")
    assert list(config.to_dict()) == list(TABLES)
    assert re.findall(r"^\[(\w+)\]", config.to_toml(), re.MULTILINE) == list(TABLES)
    assert tuple(TABLES)[3:] == EVOLUTION
    assert {use.algorithm for use in TABLES.values()} <= {None, *ALGORITHM_NAMES}


def test_the_documentation_lists_all_tables() -> None:
    text = DOCUMENTATION.read_text()
    assert re.findall(r"^\| `\[(\w+)\]` \|", text, re.MULTILINE) == list(TABLES)
    (sentence,) = re.findall(r"Unknown tables.*?later versions", text, re.DOTALL)
    assert re.findall(r"`\[(\w+)\]`", sentence) == list(RESERVED)


@pytest.mark.parametrize("table", [*TABLES, *RESERVED])
def test_every_table_shows_that_a_file_is_toml(tmp_path: Path, table: str) -> None:
    path = tmp_path / "config"
    path.write_text(f"[{table}]\n")
    with pytest.raises(ConfigError, match=r"This is a TOML file. Rename it to end in .toml"):
        Config.load(path)


@pytest.mark.parametrize("table", RESERVED)
def test_a_reserved_table_is_refused_for_now(table: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config.loads(f"\n[{table}]\nrate = 1", source="my.toml")
    expected = f"my.toml: {table} is a table that evonet does not support yet. Remove it. (line 2)"
    assert str(caught.value) == expected


def test_the_config_loads_nothing_of_the_rooms_above_it() -> None:
    code = "import sys, evonet.config; print(*(m for m in sys.modules if m.startswith('evonet.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rooms = {module.split(".")[1] for module in done.stdout.split()}
    below = {"errors", "messages", "installation", "numerics", "files", "definitions", "functions"}
    assert "config" in rooms
    assert rooms <= {"config", *below}


# ---- the algorithm -------------------------------------------------------------------------------


def test_the_algorithm_is_written_but_not_part_of_the_digest() -> None:
    config = Config()
    tables: Any = config.to_dict()
    assert tables["run"]["algorithm"] == config.run.algorithm == "neat"
    assert 'algorithm = "neat"\n' in config.to_toml()
    del tables["run"]["algorithm"]
    assert config_module.digest_tables(tables) == config.digest()
    assert Config.from_dict(tables) == config


def test_every_name_of_an_algorithm_has_a_class() -> None:
    assert tuple(ALGORITHMS) == ALGORITHM_NAMES
    assert all(ALGORITHMS[name].name == name for name in ALGORITHM_NAMES)


def test_an_unknown_algorithm_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError) as caught:
        Config.loads('[run]\nalgorithm = "NEATS"')
    message = 'config: run.algorithm = "NEATS" is not a choice. Did you mean "neat"? (line 2)'
    assert str(caught.value) == message


# ---- checks --------------------------------------------------------------------------------------


def test_reading_and_replacing_check_all_settings_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def check(schema: type[Schema], values: dict[str, object], *rest: Any) -> Any:
        calls.append(len(values))
        return original(schema, values, *rest)

    original = schema_module.check
    monkeypatch.setattr(schema_module, "check", check)
    monkeypatch.setattr(config_module, "check", check)
    all_settings = len(schema_module.settings(Config))
    config = Config.loads("[neat]\npop_size = 5")
    assert calls == [all_settings]
    config.replace({"run.seed": 1})
    assert calls == [all_settings] * 2


def test_a_setting_that_was_unset_does_not_fall_back_to_the_default_of_the_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(TASK_DEFAULTS, "mine", {"speciation.target_num_species": 5})
    config = Config.from_dict({"task": {"name": "mine"}})
    assert config.speciation.target_num_species == 5
    unset = config.replace({"speciation.target_num_species": None})
    assert unset.replace({"run.seed": 1}).speciation.target_num_species is None


def test_a_setting_leaves_the_other_defaults_of_a_task_alone_unless_it_conflicts_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    defaults = {"neat.pop_size": 40, "reproduction.elitism": 3}
    monkeypatch.setitem(TASK_DEFAULTS, "mine", defaults)

    def read(**neat_and_reproduction: object) -> Config:
        return Config.from_dict({"task": {"name": "mine"}, **neat_and_reproduction})

    assert read(reproduction={"elitism": 2}).neat.pop_size == 40
    assert read(reproduction={"elitism": 41}).neat.pop_size == Config().neat.pop_size
    assert read(neat={"pop_size": 10}).reproduction.elitism == 3
    assert read(neat={"pop_size": 2}).reproduction.elitism == Config().reproduction.elitism
