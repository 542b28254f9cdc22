"""The command line: what commands do, what they leave behind, and what they say about mistakes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from evonet.cli.app import COMMANDS, Exit
from evonet.config import Config
from evonet.config.docstrings import in_a_file
from evonet.config.schema import settings
from evonet.runs import RunFolder
from evonet.runs.champion import read_champion
from evonet.tasks import TASKS, task_from_config
from tests.support.cli_runs import CommandLine, metrics_of, write_parity


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Nobody pulls the plug here, so nothing need reach the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def evonet(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    """The command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return CommandLine(capsys)


# Finding one's way.


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from evonet.cli.app import main; main(['--help']); "
        "print({'numpy', 'tqdm', 'safetensors', 'evonet.config'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("set()\n")
    assert all(command in done.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(evonet: CommandLine, command: str) -> None:
    said = evonet(command, "--help")
    assert said.status == Exit.DONE
    assert said.out.startswith(f"Usage: evonet {command}")


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evonet", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("evonet, version ")


def test_tasks_lists_all_that_are_registered(evonet: CommandLine) -> None:
    listed = [line.split()[0] for line in evonet("tasks").out.splitlines()]
    assert listed == [*TASKS, "gym:NAME", "minatar:NAME", "jax:PLACE:NAME", "module:Class"]


def test_tasks_lists_the_options_of_one(evonet: CommandLine) -> None:
    said = evonet("tasks", "regression").out
    lines = [line.split() for line in said.splitlines()]
    assert ["data", "required"] in lines
    assert ["validation_fraction", "default", "0.0"] in lines
    found = re.finditer(r"^  \w+ +(default|optional|required)", said, re.MULTILINE)
    columns = {match.start(1) - match.start() for match in found}
    assert len(columns) == 1
    assert ["neat.pop_size", "=", "50"] in lines  # as its networks learn
    assert ["retests", "default", "100"] in map(
        str.split, evonet("tasks", "pendulum").out.splitlines()
    )


@pytest.mark.parametrize("name", TASKS)
def test_tasks_explains_every_option(evonet: CommandLine, name: str) -> None:
    entry = TASKS[name]
    assert set(entry.meanings) == set(entry.options)
    said = " ".join(evonet("tasks", name).out.split())
    for meaning in entry.meanings.values():
        assert in_a_file(meaning) in said


# Any setting from the command line.


def test_any_setting_can_be_set(evonet: CommandLine, tmp_path: Path) -> None:
    changes = ["genome.weight_mutate_rate=0.05", "genome.activation_default = tanh"]
    changes += ['genome.activation_options=["tanh", "sigmoid"]', "task.bits=2"]
    options = [word for change in changes for word in ("--set", change)]
    path = write_parity(tmp_path, generations=1)
    assert evonet("evolve", path, *options, "--out", "run").status == Exit.DONE
    config = Config.load("run/config.toml")
    assert config.genome.weight.mutate_rate == 0.05
    assert config.genome.activation.default == "tanh"
    assert config.genome.activation.options == ("tanh", "sigmoid")
    assert config.task["bits"] == 2


def test_faults_of_settings_from_the_command_line_are_all_listed(evonet: CommandLine) -> None:
    said = evonet("evolve", "xor", "--set", "run.seed", "--set", "seed=3")
    assert said.status == Exit.ERROR
    assert "--set run.seed must be TABLE.KEY=VALUE" in said.err
    assert "--set seed=3 must be TABLE.KEY=VALUE" in said.err
    said = evonet("evolve", "xor", "--set", "neat.pop_sice=3", "--set", "nest.pop_size=3")
    assert (
        'command line: --set: neat.pop_sice is not a setting. Did you mean "pop_size"?' in said.err
    )
    assert 'command line: --set: nest is not a table of a config. Did you mean "neat"?' in said.err
    said = evonet("evolve", "xor", "--seed", "3", "--set", "run.seed=4")
    assert "command line: --set: run.seed is given twice" in said.err


def test_a_resumed_run_may_change_settings(evonet: CommandLine, tmp_path: Path) -> None:
    assert evonet("evolve", write_parity(tmp_path, 2), "--out", "run", "-q").status == Exit.DONE
    change = ("--set", "genome.weight_mutate_rate=0.1")
    said = evonet("resume", "run", "--generations", 4, *change)
    assert "genome.weight_mutate_rate = 0.8, now 0.1" in said.err
    assert evonet("resume", "run", "--generations", 4, *change, "--fork").status == Exit.DONE
    assert Config.load("run/config.toml").genome.weight.mutate_rate == 0.1


NAN_TASK = """
import numpy as np


class Often:
    num_inputs, num_outputs = 1, 1

    def evaluate(self, network, seed):
        return np.where(np.arange(len(network)) == 3, np.nan, 1.0)
"""


def test_bad_fitness_can_count_as_the_worst(evonet: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "often.py").write_text(NAN_TASK)
    said = evonet("evolve", "often.py:Often", "--generations", 2)
    assert 'run.on_bad_fitness = "worst" counts them' in said.err
    options = ("--generations", 2, "--on-bad-fitness", "worst", "--out", "run")
    assert evonet("evolve", "often.py:Often", *options).status == Exit.DONE
    assert Config.load("run/config.toml").run.on_bad_fitness == "worst"
    assert evonet("resume", "run", "--generations", 3).status == Exit.DONE
    said = evonet("resume", "run", "--generations", 4, "--on-bad-fitness", "error")
    assert said.status == Exit.ERROR


def test_a_run_without_progress_ends(evonet: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "flat.py").write_text(NAN_TASK.replace("np.nan", "0.0"))
    said = evonet("evolve", "flat.py:Often", "--set", "run.patience=3", "--out", "run")
    assert said.status == Exit.DONE
    assert "no better genome in 3 generations (run.patience)" in said.out
    assert len(metrics_of(tmp_path / "run")) == 4
    assert evonet("resume", "run").status == Exit.DONE
    assert len(metrics_of(tmp_path / "run")) == 4


def test_a_run_that_is_out_of_time_ends_and_resumes_to_the_same_champion(
    evonet: CommandLine, tmp_path: Path
) -> None:
    options = ("--population", 20, "--seed", 3)
    said = evonet("evolve", "xor", *options, "--minutes", 1e-9, "--out", "cut")
    assert said.status == Exit.DONE
    assert "out of time (run.minutes = 1e-09)" in said.out
    assert "evonet resume cut\n" in said.out
    assert len(metrics_of(tmp_path / "cut")) == 1
    assert evonet("resume", "cut").status == Exit.DONE
    assert len(metrics_of(tmp_path / "cut")) == 2
    assert evonet("resume", "cut", "--minutes", 0, "--generations", 4).status == Exit.DONE
    assert evonet("evolve", "xor", *options, "--generations", 4, "--out", "whole").status == 0
    champions = [(tmp_path / run / "champion.json").read_bytes() for run in ("cut", "whole")]
    assert champions[0] == champions[1]
    assert "--minutes" in evonet("evolve", "xor", "--minutes", -1).err


def test_doctor_passes_its_flag_on(evonet: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[list[str]] = []
    doctor = types.ModuleType("evonet.doctor")
    examine = types.ModuleType("evonet.doctor.__main__")

    def examine_all(arguments: list[str]) -> int:
        heard.append(arguments)
        return 1

    examine.main = examine_all  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "evonet.doctor", doctor)
    monkeypatch.setitem(sys.modules, "evonet.doctor.__main__", examine)
    assert evonet("doctor", "--verify-gpu").status == 1
    evonet("doctor")
    assert heard == [["--verify-gpu"], []]


def test_a_reader_that_goes_away_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m evonet tasks | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


# Evolving.


def test_a_run_leaves_its_folder_behind(evonet: CommandLine, tmp_path: Path) -> None:
    said = evonet("evolve", "cartpole", "--seed", 3, "--out", "run")
    assert said.status == Exit.DONE
    assert "solved in generation" in said.out
    assert said.err == ""  # no bar where there is no terminal
    run = RunFolder("run")
    config = Config.load(run.config)
    assert config.run.seed == 3
    assert config.neat.fitness_threshold == 475
    champion = read_champion(run.champion)
    assert champion.fitness is not None
    assert champion.fitness >= 475
    assert (champion.seed, champion.config_digest) == (3, config.digest())
    assert champion.metadata == {"task": "cartpole"}
    assert [record["generation"] for record in metrics_of(run.path)][-1] == champion.generation
    assert run.report.stat().st_size > 10_000
    assert any(run.checkpoints.iterdir())


def test_options_win_over_the_config(evonet: CommandLine) -> None:
    options = ["--population", 6, "--generations", 2, "--threads", 1, "--backend", "reference"]
    assert evonet("evolve", "cartpole", "--episodes", 2, *options, "--out", "run").status == 0
    config = Config.load("run/config.toml")
    assert (config.neat.pop_size, config.run.generations) == (6, 2)
    assert (config.run.threads, config.run.backend) == (1, "reference")
    assert config.task["episodes"] == 2
    assert len(metrics_of(Path("run"))) == 2


def test_a_folder_with_the_name_of_a_task_does_not_hide_the_task(evonet: CommandLine) -> None:
    for out in ("xor", "again"):
        said = evonet("evolve", "xor", "--generations", 1, "--quiet", "--out", out)
        assert said.status == Exit.DONE


def test_runs_are_numbered(evonet: CommandLine) -> None:
    for _ in range(2):
        evonet("evolve", "xor", "--generations", 1)
    assert sorted(path.name for path in Path("runs").iterdir()) == ["xor-001", "xor-002"]


def test_a_quiet_run_says_nothing(evonet: CommandLine) -> None:
    assert evonet("evolve", "xor", "--generations", 2, "--quiet") == (Exit.DONE, "", "")


def test_an_unsolved_run_says_how_to_go_on(evonet: CommandLine) -> None:
    said = evonet("evolve", "xor", "--generations", 2, "--out", "my run").out
    assert "not solved after 2 generations" in said
    assert "evonet resume 'my run' --generations 4" in said


def test_a_config_finds_its_data_beside_it(evonet: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "points.csv").write_text("x,y\n0,0\n1,1\n2,4\n")
    config = '[task]\nname = "regression"\ndata = "points.csv"\n[run]\ngenerations = 2\n'
    (folder / "fit.toml").write_text(config)
    assert evonet("evolve", "elsewhere/fit.toml", "--out", "run").status == 0
    assert Config.load("run/config.toml").task["data"] == str(folder / "points.csv")


def test_examples_that_were_kept_aside_are_scored_at_the_end(
    evonet: CommandLine, tmp_path: Path
) -> None:
    rows = "".join(f"{i},{i % 2}\n" for i in range(20))
    (tmp_path / "points.csv").write_text("x,odd\n" + rows)
    (tmp_path / "odd.toml").write_text(
        '[task]\nname = "classification"\ndata = "points.csv"\ntest_fraction = 0.25\n'
    )
    said = evonet("evolve", "odd.toml", "--generations", 2).out
    assert "accuracy" in said
    assert "held out" in said
    notes = json.loads(next(tmp_path.glob("runs/*/champion.json")).read_text())["metadata"]
    low, high = notes["kept aside: accuracy low"], notes["kept aside: accuracy high"]
    assert f"99 % interval {low:.4g} to {high:.4g}, on 5 examples" in said
    # Nothing can be learned about odd numbers here, and the run admits it.
    assert "not clearly better than always answering" in said


def test_a_champion_with_memory_is_scored_on_held_out_examples_as_it_evolved(
    evonet: CommandLine, tmp_path: Path
) -> None:
    rows = "".join(f"{i},{i % 2}\n" for i in range(20))
    (tmp_path / "points.csv").write_text("x,odd\n" + rows)
    (tmp_path / "odd.toml").write_text(
        '[task]\nname = "classification"\ndata = "points.csv"\ntest_fraction = 0.25\n'
        '[network]\nkind = "recurrent"\nsteps = 3\n[genome]\nfeed_forward = false\n'
        "conn_add_prob = 0.9\nnode_add_prob = 0.5\n"
    )
    said = evonet("evolve", "odd.toml", "--generations", 5, "--out", "run").out
    notes = json.loads((tmp_path / "run" / "champion.json").read_text())["metadata"]
    assert f"loss {notes['kept aside: loss']:.4g}, accuracy" in said


def test_a_task_of_ones_own_is_found_in_the_current_folder(
    evonet: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "cli_own_task.py").write_text(
        "import numpy as np\n"
        "class Constant:\n"
        "    num_inputs, num_outputs = 1, 1\n"
        "    def evaluate(self, network, seed):\n"
        "        return -np.abs(network([[1.0]])[:, 0, 0] - 0.25)\n"
    )
    said = evonet("evolve", "cli_own_task:Constant", "--generations", 3)
    assert said.status == 0, said.err
    assert "done after 3 generations" in said.out
    assert Path("runs/cli_own_task-Constant-001/report.html").is_file()


# Beginning with a config of one's own.


@pytest.mark.parametrize("task", TASKS)
def test_a_new_config_evolves_as_the_task_does_by_itself(evonet: CommandLine, task: str) -> None:
    assert evonet("new", "mine", "--task", task).status == Exit.DONE
    written = Config.load("mine.toml")
    assert written.task["name"] == task
    shipped = Path(__file__).parents[2] / "configs" / f"{task}.toml"
    if shipped.is_file():
        original = Config.load(shipped).replace(
            {"genome.num_inputs": written.genome.num_inputs or 1}
        )
        assert written.neat == original.neat
        assert written.genome.weight == original.genome.weight


@pytest.mark.parametrize("task", TASKS)
def test_a_new_config_names_every_setting_and_its_default(evonet: CommandLine, task: str) -> None:
    evonet("new", "mine", "--task", task)
    lines = Path("mine.toml").read_text().splitlines()
    written = Config.load("mine.toml")
    for name in settings(Config):
        if name not in ("genome.num_inputs", "genome.num_outputs"):
            assert any(line.lstrip("#").startswith(f"{name.partition('.')[2]} =") for line in lines)
    all_lines = [line[1:] if line[:1] == "#" and line[1:2].isalpha() else line for line in lines]
    Config.loads("\n".join(all_lines))
    defaults = [line for line in all_lines if not line.endswith("an example: there is no default")]
    uncommented = Config.loads("\n".join(defaults))
    threshold = uncommented.neat.fitness_threshold
    assert uncommented.replace({"task": {}, "neat.fitness_threshold": None}) == written.replace(
        {"task": {}, "neat.fitness_threshold": None}
    )
    if task not in ("regression", "classification"):
        lent = getattr(task_from_config(written), "fitness_threshold", None)
        assert threshold == (lent if written.neat.fitness_threshold is None else threshold)
        for option, default in TASKS[task].defaults.items():
            assert uncommented.task.get(option) == written.task.get(option, default)


@pytest.mark.parametrize("task", [*TASKS, "gym:CartPole-v1", "jax:nowhere:Maze"])
def test_a_new_config_has_an_example_for_every_option(evonet: CommandLine, task: str) -> None:
    evonet("new", "mine", "--task", task)
    assert '"?"' not in Path("mine.toml").read_text()


def test_a_new_config_says_which_lines_are_of_evonets_own(evonet: CommandLine) -> None:
    for task, own in (("mountain_car", True), ("iris", False)):
        evonet("new", task, "--task", task)
        text = Path(f"{task}.toml").read_text()
        assert (f"evonet's config for {task}" in text) == own


def test_a_new_config_overwrites_nothing(evonet: CommandLine) -> None:
    evonet("new", "mine")
    Path("mine.toml").write_text("mine")
    said = evonet("new", "mine.toml")
    assert said.status == Exit.ERROR
    assert said.err == "evonet: mine.toml already exists. Choose another name.\n"
    assert Path("mine.toml").read_text() == "mine"


# Looking at champions.


def test_inspect_draws_the_champion_and_analyses_it(evonet: CommandLine) -> None:
    from xml.etree import ElementTree

    evonet("evolve", "cartpole", "--quiet", "--out", "run")
    for path in ("run", "run/champion.json"):
        said = evonet("inspect", path, "--svg", "champion.svg")
        assert said.status == Exit.DONE
        for word in ("pole speed", "push left", "work", "critical path: ", "Brent"):
            assert word in said.out
        root = ElementTree.parse("champion.svg").getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_report_can_be_written_again(evonet: CommandLine) -> None:
    evonet("evolve", "xor", "--generations", 2, "--quiet", "--out", "run")
    page = Path("run/report.html").read_bytes()
    Path("run/report.html").unlink()
    assert evonet("report", "run").out == f"Wrote {Path('run/report.html')}\n"
    assert Path("run/report.html").read_bytes() == page


# Mistakes: one line each, and nothing is left behind or lost.


def one_line(said: tuple[int, str, str], status: Exit, *words: str) -> None:
    assert said[0] == status
    assert said[2].count("\n") == 1, said[2]
    assert said[2].startswith("evonet: ")
    for word in words:
        assert word in said[2]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["evolev"], Exit.USAGE, ["'evolev' is not a command", 'Did you mean "evolve"?']),
        (["evolve"], Exit.USAGE, ["Missing argument", "TASK_OR_FILE"]),
        (["evolve", "xor", "--populaton", "3"], Exit.USAGE, ["--populaton"]),
        (["evolve", "xor", "--population", "x"], Exit.USAGE, ["--population"]),
        (["evolve", "carpole"], Exit.ERROR, ["carpole", 'Did you mean "cartpole"?']),
        (["evolve", "gone.toml"], Exit.ERROR, ["gone.toml: No such file"]),
        (
            ["evolve", "xor", "--population", "0"],
            Exit.ERROR,
            ["command line: --population: neat.pop_size = 0"],
        ),
        (
            ["evolve", "cartpole", "--episodes", "0"],
            Exit.ERROR,
            ["command line: --episodes: task.episodes = 0"],
        ),
        (["evolve", "xor", "--threads", "5000"], Exit.ERROR, ["--threads", "between 0 and 4096"]),
        (["evolve", ":"], Exit.ERROR, ["':' must have the form"]),
        (["evolve", "folder"], Exit.ERROR, ["the folder of a run", "evonet resume folder"]),
        (["evolve", "xor", "--episodes", "3"], Exit.ERROR, ["episodes is not an option"]),
        (["evolve", "xor", "--seed", "-1"], Exit.ERROR, ["run.seed = -1"]),
        (["evolve", "gym:Nowhere-v0"], Exit.ERROR, ["gym:Nowhere-v0 cannot be made"]),
        (["evolve", "nowhere:Task"], Exit.ERROR, ["cannot be imported"]),
        (["evolve", "broken.toml"], Exit.ERROR, ["broken.toml: ", "(line 2)"]),
        (["evolve", "typo.toml"], Exit.ERROR, ["typo.toml: ", 'Did you mean "pop_size"?']),
        (["evolve", "taskless.toml"], Exit.ERROR, ["taskless.toml: [task] has no name"]),
        (["evolve", "column.toml"], Exit.ERROR, ["points.csv has no column", '"y"?']),
        (
            ["evolve", "missing.toml"],
            Exit.ERROR,
            ["missing.toml: task: nowhere.csv: there is no such file", "looked for in /"],
        ),
        (["evolve", "xor", "--out", "typo.toml/run"], Exit.ERROR, ["Choose another folder"]),
        (["evolve", "xor", "--out", "typo.toml"], Exit.ERROR, ["Choose another folder"]),
        (["resume", "nowhere"], Exit.ERROR, ["nowhere: there is no such folder."]),
        (["resume", "."], Exit.ERROR, ["it has no config.toml"]),
        (["report", "nowhere"], Exit.ERROR, ["nowhere: there is no such folder."]),
        (["inspect", "nowhere"], Exit.ERROR, ["nowhere: No such file"]),
        (["inspect", "typo.toml"], Exit.ERROR, ["typo.toml: is not valid JSON"]),
        (["tasks", "carpole"], Exit.ERROR, ['Did you mean "cartpole"?']),
        (["tasks", "gym"], Exit.ERROR, ['"gym" is not a task but the first part', "gym:NAME"]),
        (["evolve", "xyz"], Exit.ERROR, ['"gym:NAME", "jax:NAME", "minatar:NAME"']),
        (["new", "there", "--task", "carpole"], Exit.ERROR, ['Did you mean "cartpole"?']),
        (["new", "no/such/folder"], Exit.ERROR, ["no/such/folder.toml: No such file"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_a_mistake_is_one_line(
    evonet: CommandLine, tmp_path: Path, arguments: list[str], status: Exit, words: list[str]
) -> None:
    (tmp_path / "points.csv").write_text("x,y\n0,0\n1,1\n")
    examples = 'data = "points.csv"\ntargets = "yy"\n'
    for name, text in {
        "broken": "[run]\nseed = = 3\n",
        "typo": "[neat]\npop_sise = 3\n",
        "taskless": "[neat]\npop_size = 3\n",
        "column": f'[task]\nname = "regression"\n{examples}',
        "missing": '[task]\nname = "regression"\ndata = "nowhere.csv"\n',
    }.items():
        (tmp_path / f"{name}.toml").write_text(text)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "config.toml").touch()
    before = sorted(tmp_path.rglob("*"))
    one_line(evonet(*arguments), status, *words)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("out", [(), ("--out", "run")], ids=["numbered", "named"])
def test_a_run_that_fails_in_its_first_generation_leaves_no_folder(
    evonet: CommandLine, tmp_path: Path, out: tuple[str, ...]
) -> None:
    (tmp_path / "cli_nan_task.py").write_text(
        "import numpy as np\n"
        "class Nan:\n"
        "    num_inputs, num_outputs = 1, 1\n"
        "    def evaluate(self, network, seed):\n"
        "        return np.full(len(network), np.nan)\n"
    )
    said = evonet("evolve", "cli_nan_task:Nan", "--quiet", *out)
    one_line(said, Exit.ERROR, "its fitness is nan")
    assert not [path for path in tmp_path.rglob("*") if path.name in ("config.toml", ".lock")]
    assert not list(tmp_path.glob("run*/*"))


def test_a_drawing_that_cannot_be_written_is_named(evonet: CommandLine) -> None:
    evonet("evolve", "xor", "--generations", 1, "--quiet", "--out", "run")
    said = evonet("inspect", "run", "--svg", "nowhere/x.svg")
    one_line(said, Exit.ERROR, "evonet: nowhere/x.svg: No such file")


def test_one_is_not_many(evonet: CommandLine) -> None:
    said = evonet("evolve", "xor", "--generations", 1, "--out", "run").out
    assert "after 1 generation:" in said
    said = evonet("inspect", "run").out
    assert "1 output, 0 hidden nodes, 2 connections" in said
    assert "1 level, nodes on each:" in said


def test_a_folder_with_a_run_is_left_alone(evonet: CommandLine, tmp_path: Path) -> None:
    parity = write_parity(tmp_path, generations=2)
    evonet("evolve", parity, "--quiet", "--out", "run")
    before = {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}
    one_line(
        evonet("evolve", parity, "--seed", 9, "--out", "run"),
        Exit.ERROR,
        "run: already holds config.toml of a run. Resume that run, or choose another folder.",
    )
    assert before == {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}


def test_a_run_that_cannot_begin_leaves_nothing_behind(evonet: CommandLine) -> None:
    Path("wrong.toml").write_text('[task]\nname = "xor"\n[genome]\nnum_inputs = 3\n')
    for out in ([], ["--out", "run"]):
        said = evonet("evolve", "wrong.toml", *out)
        one_line(said, Exit.ERROR, "num_inputs=2 of the task contradicts the config")
    assert sorted(path.name for path in Path().rglob("*")) == ["runs", "wrong.toml"]


def test_a_folder_that_cannot_be_written_to_is_named(
    evonet: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, *arguments: object, **options: object) -> None:
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    one_line(evonet("evolve", "xor"), Exit.ERROR, "runs", "Read-only file system", "--out")
    one_line(evonet("evolve", "xor", "--out", "run"), Exit.ERROR, "run: ", "Read-only file system")


def test_a_report_that_cannot_be_written_spoils_nothing(
    evonet: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(home: RunFolder) -> None:
        raise OSError(28, "No space left on device", str(home.report))

    monkeypatch.setattr("evonet.report.write_report", refuse)
    said = evonet("evolve", "xor", "--generations", 2, "--quiet", "--out", "run")
    assert said.status == Exit.DONE
    assert said.err.startswith("evonet: warning: no report was written: ")
    assert Path("run/champion.json").is_file()


def test_a_population_that_contradicts_other_settings_blames_no_file(evonet: CommandLine) -> None:
    said = evonet("evolve", "xor", "--population", 1)
    assert said.status == Exit.ERROR
    assert "xor.toml" not in said.err
    for setting in ("reproduction.elitism", "reproduction.min_species_size"):
        assert f"command line: --population: {setting} = 2 must not exceed" in said.err
        assert f"with --set {setting}=..." in said.err
