"""What species remember of their scores, however long they live."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from evonet import NEAT, Config
from evonet.evolution.neat.species import MOST_SCORES, ScoreHistory


def test_a_history_keeps_the_last_scores_and_the_best_of_all() -> None:
    history = ScoreHistory()
    scores = [5.0, 9.0, *np.linspace(0, 1, 3 * MOST_SCORES).tolist()]
    for score in scores:
        before, history = history, history.extended(score)
        assert list(before) == scores[: scores.index(score)][-MOST_SCORES:]
    assert list(history) == scores[-MOST_SCORES:]
    assert history.best == 9.0
    again = ScoreHistory(history.packed())
    assert list(again) == list(history)
    assert (again.best, again.packed()) == (history.best, history.packed())
    assert ScoreHistory(scores).packed() == history.packed()


def long_lived(folder: Path | None = None) -> NEAT:
    config = Config.from_dict(
        {
            "neat": {"pop_size": 6},
            "stagnation": {"max_stagnation": 10**6},
            "genome": dict.fromkeys(("node_add_prob", "conn_add_prob", "node_delete_prob"), 0.0),
        }
    )
    neat = NEAT(config, 3, num_inputs=1, num_outputs=1, threads=1)
    rng = np.random.default_rng(1)
    for generation in range(3 * MOST_SCORES):
        neat.ask()
        neat.tell(rng.random(6))
        if folder is not None and generation in (MOST_SCORES + 50, 3 * MOST_SCORES - 1):
            neat.save(folder, keep=9)
    return neat


def test_checkpoints_of_long_lived_species_do_not_grow(tmp_path: Path) -> None:
    neat = long_lived(tmp_path)
    sizes = [path.stat().st_size for path in sorted(tmp_path.glob("*.safetensors"))]
    assert len(sizes) == 2
    # A species that was young may have filled its history; 8 bytes are a score.
    assert sizes[1] - sizes[0] < 8 * MOST_SCORES * len(neat.species)
    assert max(len(s.score_history.packed()) for s in neat.species) == MOST_SCORES + 1


def test_a_long_lived_species_resumes_with_its_best_score(tmp_path: Path) -> None:
    whole = long_lived(tmp_path)
    resumed = NEAT.resume(tmp_path)
    for neat in (whole, resumed):
        neat.ask()
        neat.tell(np.arange(6.0) / 10)
    assert [(s.last_improved, s.score_history.packed()) for s in whole.species] == [
        (s.last_improved, s.score_history.packed()) for s in resumed.species
    ]
    assert whole.ask() == resumed.ask()
