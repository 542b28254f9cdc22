"""The task `images`: what it offers, and what travels with its champions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evonet
from evonet import Config
from evonet.cli.tables import describe_table
from evonet.errors import FileFormatError, OptionError
from evonet.runs.champion import read_champion
from evonet.runs.prediction import predict_file
from evonet.tasks import make_task
from evonet.tasks.image_encoding import ImageEncoding
from evonet.tasks.images import ImageTask
from evonet.tasks.registry import find_task
from tests.images.test_learning import bars

FRONT = {"layers": [{"channels": 4, "pool": 2}, {"channels": 4}]}


def make(**options: Any) -> ImageTask:
    x, y = bars(120)
    labels = np.array(["standing", "lying"])[y.argmax(axis=1)]
    given = {"data": (x, labels), "front": FRONT, "front_steps": 40, "front_rate": 0.02}
    task = make_task("images", **{**given, **options})
    assert isinstance(task, ImageTask)
    return task


def config(**settings: Any) -> Config:
    found = {
        "run.generations": 2,
        "run.seed": 1,
        "neat.pop_size": 12,
        "learning.steps": 20,
        "genome.num_hidden": 2,
        "network.output_activation": "identity",
    }
    return Config().replace({**found, **settings})


def test_the_front_learns_before_it_is_first_needed() -> None:
    task = make()
    drawn = task._front.arrays
    assert task.num_inputs == task._front.num_features
    learned = task.learned_front().arrays
    assert any((learned[name] != drawn[name]).any() for name in drawn)
    assert (
        make(front_steps=0).learned_front().arrays["0.weight"].tobytes()
        == drawn["0.weight"].tobytes()
    )
    # The same again gives the same weights.
    np.testing.assert_array_equal(make().state["front"], task.state["front"])


def test_all_parts_have_the_features_of_their_images() -> None:
    x, _ = bars(120)
    task = make()
    parts = task.parts()
    assert {name: len(part.x) for name, part in parts.items()} == {
        "train": 77,
        "validation": 19,
        "held out": 24,
    }
    features = {row.tobytes() for row in task.learned_front()(x).astype(np.float64)}
    assert all(row.tobytes() in features for part in parts.values() for row in part.x)
    assert task.encoding.scale == 1


def test_state_carries_the_front_to_a_task_that_has_not_learned() -> None:
    task, other = make(), make(front_steps=10**6)  # which would take minutes
    other.state = task.state
    np.testing.assert_array_equal(
        other.learned_front().arrays["1.weight"], task.learned_front().arrays["1.weight"]
    )
    np.testing.assert_array_equal(other.examples().x, task.examples().x)
    with pytest.raises(OptionError, match='has the state "front"'):
        other.state = {"moments": np.zeros(3)}


def test_evolution_finds_a_champion_that_predicts(tmp_path: Path) -> None:
    x, y = bars(40)
    result = evonet.evolve(make(), config())
    assert result.best is not None
    path = tmp_path / "champion.json"
    evonet.save_champion(path, result.best, encoding=make().encoding)
    champion = read_champion(path)
    assert isinstance(champion.encoding, ImageEncoding)
    labels = np.array(["standing", "lying"])[y.argmax(axis=1)]
    np.savez(tmp_path / "new.npz", images=x, labels=labels)
    prediction = predict_file(champion, tmp_path / "new.npz")
    assert prediction.scores()["accuracy"] > 0.9
    rows = list(prediction.rows())
    assert rows[0] == ["image", "label", "prediction", "p(lying)", "p(standing)"]
    np.savez(tmp_path / "new.npz", images=x)
    again = predict_file(champion, tmp_path / "new.npz")
    assert again.answers == prediction.answers
    assert again.scores() == {}
    np.savez(tmp_path / "new.npz", images=x[:, :, 1:])
    with pytest.raises(FileFormatError, match=r"images must be 1 x 8 x 8, found 1 x 7 x 8"):
        predict_file(champion, tmp_path / "new.npz")


def test_a_resumed_run_is_an_uninterrupted_one(tmp_path: Path) -> None:
    whole = evonet.evolve(make(), config(**{"run.generations": 4}))
    checkpoints = evonet.CheckpointSaver(tmp_path)
    evonet.evolve(make(), config(), callbacks=[checkpoints])
    task = make(front_steps=10**6)  # the checkpoint has its front
    resumed = evonet.evolve(task, resume=tmp_path, generations=4)
    assert resumed.best is not None
    assert whole.best is not None
    assert resumed.best.population == whole.best.population
    assert resumed.best.fitness == whole.best.fitness


def test_workers_score_as_this_process_does() -> None:
    front = {"data": "digits", "front": FRONT, "front_steps": 5}
    task = make_task("images", **front)
    wanted = evonet.evolve(task, config(**{"run.generations": 1}))
    found = evonet.evolve(make_task("images", **front), config(**{"run.generations": 1}), workers=2)
    assert wanted.best is not None
    assert found.best is not None
    assert found.best.fitness == wanted.best.fitness


def test_results_show_what_a_network_sees() -> None:
    task = make()
    network = evonet.compile(
        evonet.Population.random(1, task.num_inputs, 2, num_nodes=4, num_connections=20)
    )
    results = task.results(network)
    assert results["kind"] == "classification"
    sight = results["sight"]
    assert sight["labels"] == ["lying", "standing"]
    for view in sight["views"]:
        assert np.shape(view["image"]) == (1, 8, 8)
        assert np.shape(view["maps"]) == (4, 3, 3)
        assert np.max(view["image"]) == 255
        assert view["answer"] == int(np.argmax(view["outputs"]))
        assert sum(view["outputs"]) == pytest.approx(1, abs=1e-3)
        assert view["right"] in (0, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"front": {"layers": [{"channels": 0}]}}, "front.layers[0]: channels=0"),
        ({"front": 3}, "front = 3 must be a table"),
        ({"front_steps": -1}, "front_steps = -1 must"),
        ({"front_rate": 0}, "front_rate = 0 must"),
        ({"front_batch": 0}, "front_batch = 0 must"),
        ({"batch_fraction": 2}, "batch_fraction = 2 must"),
        ({"test_fraction": 1}, "test_fraction = 1 "),
        ({"class_weights": {"sitting": 2}}, 'there is no class "sitting"'),
        ({"data": (np.zeros((3, 8, 8)), np.zeros(3, int))}, "all images are of the class"),
        ({"data": "nothing.txt"}, "must be an .npz file"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError) as caught:
        make(**options)
    assert words in str(caught.value)


def test_a_file_of_images_is_a_task_by_itself(tmp_path: Path) -> None:
    x, y = bars(12)
    np.savez(tmp_path / "bars.npz", images=x, labels=y.argmax(axis=1))
    np.savez(tmp_path / "table.npz", x=x.reshape(12, -1), y=y.argmax(axis=1))
    table, line = describe_table(tmp_path / "bars.npz", {})
    assert table["name"] == "images"
    assert "because it holds images and labels" in line
    assert make_task(**{**table, "front_steps": 0}).num_outputs == 2  # type: ignore[arg-type]
    assert describe_table(tmp_path / "table.npz", {})[0]["name"] == "classification"


def test_custom_activations_cannot_travel() -> None:
    evonet.register_activation("image_bend", "x / (1 + abs(x))")
    try:
        with pytest.raises(OptionError, match="image_bend is a custom activation"):
            make(front={"layers": [{"channels": 2, "activation": "image_bend"}]})
    finally:
        evonet.unregister_activation("image_bend")


def test_an_encoding_from_elsewhere_is_checked() -> None:
    good = make().encoding.to_dict()
    assert ImageEncoding.from_dict(good).to_dict() == good
    for name, bad in {
        "input_shape": [1, 8],
        "layers": [{"channels": 4, "kernel": 99}],
        "scale": 0,
        "classes": [1, 2],
    }.items():
        with pytest.raises(FileFormatError, match="encoding"):
            ImageEncoding.from_dict({**good, name: bad})
    with pytest.raises(FileFormatError, match="encoding must have"):
        ImageEncoding.from_dict({"kind": "images"})
    with pytest.raises(FileFormatError, match="task_state has no weights"):
        make().encoding.front({})
    with pytest.raises(FileFormatError, match="the front has"):
        make().encoding.front({"front": np.zeros(3)})


def test_describing_the_task_teaches_no_front(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ImageTask, "_learn")
    assert find_task("images").defaults["front"] is None
