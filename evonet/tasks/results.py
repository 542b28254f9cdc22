"""What a network answers to examples, as plain values for reports: the content of results.json.

    {"format": "evonet.results", "version": 1,
     "kind": "classification",                  or "regression", or "truth table"
     "inputs": ["width", ...],                  names, or [] where there are none
     "outputs": ["ant", "bee", "cat"],          the classes, or the names of the numbers
     "parts": {
       "train":      {"examples": 96, "scores": {"loss": 0.02, "accuracy": 0.99}, ...},
       "validation": {...},                     where the task has such a part
       "held out":   {...,                      where the task has such a part
                      "intervals": {"accuracy": [0.93, 1.0]},      99 %
                      "guess": {"accuracy": 0.35, "answer": '"ant"'}}}}

"guess" is what the best answer scores that is the same for every example; weighted classes have
none. A part of a
classification has "confusion", a matrix of counts: confusion[i][j] examples of class i
were taken for class j. A part of a regression has "points": for each output a list of pairs
[right, answered] in the units of the data, at most MOST_POINTS, evenly spaced. A truth table has
"rows": for each example its inputs, the right answers and the network's. Runs add "task",
"generation" and "id" of the champion, and "learning", its `Best.curves`, if it has learned.
"matters" says how much each input matters, in parts of 1, where gradients exist: see
`evonet.tasks.attribution`. Curves are in metrics.jsonl: "best" is the fitness of each
generation, and "validation" the same of the validation part, both minus a loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.tasks.attribution import input_shares

if TYPE_CHECKING:
    from evonet.network import Network
    from evonet.tasks.examples import Examples
    from evonet.tasks.held_out import Claim
    from evonet.tasks.supervised import Supervised

FORMAT: Final = "evonet.results"
VERSION: Final = 1
MOST_POINTS: Final = 500
# Longer truth tables would not be read.
MOST_ROWS: Final = 64

Reals = npt.NDArray[np.float64]


def describe_results(task: Supervised, network: Network) -> dict[str, Any]:
    """Lets one network answer all examples of a task.

    Args:
        task: The examples.
        network: One compiled network.
    """
    parts = task.parts()
    kind = "classification" if task.loss == "cross_entropy" else "regression"
    if not task.mean and len(parts) == 1 and len(task.x) <= MOST_ROWS:
        kind = "truth table"
    claim = task.claim(network)
    # Most inputs of a truth table are 0, which gradient times input takes for nothing.
    shares = None
    if kind != "truth table":
        shares = input_shares(network, task.x, classes=kind == "classification")
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "inputs": list(task.input_names),
        "outputs": list(task.output_names),
        **({} if shares is None else {"matters": [float(f"{s:.6g}") for s in shares]}),
        "parts": {
            name: {
                "examples": len(part.x),
                "scores": {n: _plain(s[0]) for n, s in task.scores(network, part).items()},
                **_details(kind, task, part, _answers(network, part)),
                **(_describe_claim(claim) if part is task.test and claim else {}),
            }
            for name, part in parts.items()
        },
    }


def _describe_claim(claim: Claim) -> dict[str, Any]:
    intervals = {claim.score: [_plain(claim.low), _plain(claim.high)]}
    if claim.guess is None:
        return {"intervals": intervals}
    guess = {claim.score: claim.guess, "answer": claim.guessed}
    return {"intervals": intervals, "guess": guess}


def _answers(network: Network, part: Examples) -> Reals:
    network.reset()  # examples know nothing of each other, even if the network has memory
    answers: Reals = network(part.x)[0].astype(np.float64)
    network.reset()
    return answers


def _details(kind: str, task: Supervised, part: Examples, answers: Reals) -> dict[str, Any]:
    if kind == "classification":
        return {"confusion": confusion_matrix(part.y, answers).tolist()}
    right, answers = task.in_units(part.y), task.in_units(answers)
    if kind == "truth table":
        rows = zip(part.x.tolist(), right.tolist(), answers.tolist(), strict=True)
        return {"rows": [[*x, *y, *map(_plain, answer)] for x, y, answer in rows]}
    chosen = np.unique(np.linspace(0, len(right) - 1, min(len(right), MOST_POINTS)).astype(int))
    pairs = np.stack([right[chosen], answers[chosen]], axis=2)
    return {"points": [[[_plain(v) for v in p] for p in pairs[:, o]] for o in range(len(right.T))]}


def confusion_matrix(y: Reals, answers: Reals) -> npt.NDArray[np.int64]:
    """Counts how many examples of class i were taken for class j.

    Args:
        y: [B, O] targets, the largest of which is the right class.
        answers: [B, O] outputs of a network.
    """
    count = y.shape[1]
    if count == 1:  # two classes, below 0.5 and from there on
        count, right, found = 2, (y[:, 0] >= 0.5).astype(int), (answers[:, 0] >= 0.5).astype(int)
    else:
        right, found = y.argmax(axis=1), np.nan_to_num(answers, nan=-np.inf).argmax(axis=1)
    return np.bincount(count * right + found, minlength=count * count).reshape(count, count)


def _plain(value: float) -> float | None:
    """A number that JSON can hold."""
    return float(value) if np.isfinite(value) else None
