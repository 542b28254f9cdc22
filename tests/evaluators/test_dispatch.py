"""Pieces cover a job exactly once, whoever fails, dies or takes too long."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evonet.errors import WorkerError
from evonet.evaluators.dispatch import MOST_FAILED_WITHOUT_SUCCESS, MOST_FALSE_STARTS, Dispatch
from evonet.evaluators.jobs import Event, Fault, Job, Piece
from evonet.evaluators.planning import Plan

FAULT = Fault("it failed")


class Pretenders:
    """A crew whose workers take, fail, die and hang as a seed decides, on a clock of its own."""

    def __init__(self, count: int, seed: int, *, trouble: float = 0.0, bad: frozenset[int]) -> None:
        self.now = 0.0
        self.tried: Counter[Piece] = Counter()
        self.tried_on: dict[Piece, list[int]] = {}
        self._random = random.Random(seed)
        self._trouble = trouble
        self._bad = bad
        self._pending: list[tuple[float, Event | None]] = [
            (self._random.random(), Event(i, "ready")) for i in range(count)
        ]
        self._count = count
        self.replacements = 0

    def __len__(self) -> int:
        return self._count

    def name(self, worker: int) -> str:
        return str(worker)

    @property
    def notes(self) -> tuple[str, ...]:
        return ()

    def clock(self) -> float:
        return self.now

    def begin(self, job: Job, arrays: Any) -> None: ...

    def close(self) -> None: ...

    def submit(self, worker: int, token: int, piece: Piece) -> None:
        self.tried[piece] += 1
        self.tried_on.setdefault(piece, []).append(worker)
        takes = self._random.uniform(0.1, 1.0) * len(piece)
        event = Event(worker, "done", token, seconds=takes)
        roll = self._random.random()
        if self._bad & set(range(piece.start, piece.stop)):
            event = Event(worker, "failed", token, fault=FAULT)
        elif roll < self._trouble / 3:
            self._die(worker, takes)
            return
        elif roll < self._trouble * 2 / 3:
            event = Event(worker, "failed", token, fault=FAULT)
        elif roll < self._trouble:
            takes = 1e9
        self._pending.append((self.now + takes, event))

    def _die(self, worker: int, after: float) -> None:
        self._pending.append((self.now + after, Event(worker, "died", fault=FAULT)))
        self._pending.append((self.now + after + 1, Event(worker, "ready")))

    def wait(self, seconds: float | None) -> list[Event]:
        self._pending.sort(key=lambda pair: pair[0])
        assert self._pending or seconds is not None, "nobody will ever answer"
        first = self._pending[0][0] if self._pending else float("inf")
        if seconds is not None and self.now + seconds < first:
            self.now += seconds
            return []
        self.now = max(self.now, first)
        _, event = self._pending.pop(0)
        assert event is not None
        return [event]

    def replace(self, worker: int) -> None:
        self.replacements += 1
        self._pending = [p for p in self._pending if p[1] is None or p[1].worker != worker]
        self._pending.append((self.now + 1, Event(worker, "ready")))


def run(
    crew: Pretenders, plan: Plan, timeout: float = 0.0, retries: int = 2
) -> tuple[list[Piece], list[Piece]]:
    dispatch = Dispatch(crew, timeout=timeout, retries=retries, clock=crew.clock)
    done, failed = list[Piece](), list[Piece]()
    dispatch.run(plan, lambda p, _: done.append(p), lambda p, _: failed.append(p))
    return done, failed


def covered(pieces: list[Piece]) -> list[int]:
    return sorted(i for piece in pieces for i in range(piece.start, piece.stop))


@given(
    st.integers(1, 9),
    st.integers(1, 60),
    st.integers(0, 10**6),
    st.floats(0, 0.6),
    st.frozensets(st.integers(0, 59), max_size=5),
)
def test_every_genome_has_one_result_whatever_happens(
    workers: int, genomes: int, seed: int, trouble: float, bad: frozenset[int]
) -> None:
    bad = frozenset(i for i in bad if i < genomes)
    if len(bad) == genomes:
        bad = frozenset()
    crew = Pretenders(workers, seed, trouble=trouble, bad=bad)
    plan = Plan(np.ones(genomes))
    done, failed = run(crew, plan, timeout=5.0, retries=50)
    assert covered(done + failed) == list(range(genomes))
    assert covered(failed) == sorted(bad)
    assert all(len(piece) == 1 for piece in failed)


@given(st.integers(1, 5), st.integers(1, 8), st.integers(1, 40), st.integers(0, 10**6))
def test_every_episode_of_a_retest_has_one_result(
    workers: int, genomes: int, episodes: int, seed: int
) -> None:
    crew = Pretenders(workers, seed, trouble=0.3, bad=frozenset())
    done, failed = run(crew, Plan(np.ones(genomes), (7, episodes)), timeout=200.0, retries=50)
    cells = [
        (genome, episode)
        for piece in done + failed
        for genome in range(piece.start, piece.stop)
        for episode in range(piece.first_episode, piece.first_episode + piece.episodes)
    ]
    wanted = [(g, e) for g in range(genomes) for e in range(7, 7 + episodes)]
    assert sorted(cells) == wanted


def test_a_guilty_genome_is_found_and_tried_as_often_as_allowed() -> None:
    crew = Pretenders(2, 1, bad=frozenset({13}))
    done, failed = run(crew, Plan(np.ones(40)), retries=3)
    assert failed == [Piece(13, 14)]
    assert crew.tried[Piece(13, 14)] == 4
    assert max(crew.tried[piece] for piece in done) == 1


def test_a_piece_is_tried_again_on_another_worker() -> None:
    crew = Pretenders(3, 1, bad=frozenset({0}))
    run(crew, Plan(np.ones(30)), retries=6)
    assert len(set(crew.tried_on[Piece(0, 1)])) > 1


def test_a_task_that_does_not_split_is_evaluated_whole() -> None:
    crew = Pretenders(3, 1, bad=frozenset())
    done, _ = run(crew, Plan(np.ones(30), splits=False))
    assert done == [Piece(0, 30)]
    crew = Pretenders(3, 1, bad=frozenset({4}))
    dispatch = Dispatch(crew, clock=crew.clock, retries=1)
    failed = list[Piece]()
    plan = Plan(np.ones(30), splits=False)
    dispatch.run(plan, lambda p, _: None, lambda p, _: failed.append(p))
    assert failed == [Piece(0, 30)]
    assert crew.tried[Piece(0, 30)] == 2


def test_if_nothing_works_the_run_ends_early() -> None:
    crew = Pretenders(2, 1, bad=frozenset(range(1000)))
    with pytest.raises(WorkerError, match="no genome could be evaluated") as caught:
        run(crew, Plan(np.ones(1000)), retries=0)
    assert f"{MOST_FAILED_WITHOUT_SUCCESS} failed" in str(caught.value)
    assert sum(crew.tried.values()) < 100


def test_workers_that_never_get_ready_end_the_run() -> None:
    crew = Pretenders(1, 1, bad=frozenset())
    crew._pending = [(i, Event(0, "died", fault=FAULT)) for i in range(10)]
    with pytest.raises(WorkerError, match=r"workers cannot start: 5 of them .* it failed"):
        run(crew, Plan(np.ones(3)))
    assert len(crew._pending) == 10 - MOST_FALSE_STARTS


def test_a_worker_that_cannot_make_the_task_ends_the_run() -> None:
    crew = Pretenders(1, 1, bad=frozenset())
    crew._pending = [(0.0, Event(0, "broken", fault=Fault("there is no such module")))]
    with pytest.raises(WorkerError, match="workers cannot start: there is no such module"):
        run(crew, Plan(np.ones(3)))


def test_a_straggler_is_repeated_by_a_worker_without_work() -> None:
    class OneIsSlow(Pretenders):
        def submit(self, worker: int, token: int, piece: Piece) -> None:
            self.tried[piece] += 1
            takes = 1000.0 if worker == 0 and self.tried[piece] == 1 else 0.5 * len(piece)
            self._pending.append((self.now + takes, Event(worker, "done", token, seconds=takes)))

    crew = OneIsSlow(2, 1, bad=frozenset())
    crew._pending = [(0.0, Event(0, "ready")), (0.0, Event(1, "ready"))]
    done, failed = run(crew, Plan(np.ones(16)))
    assert covered(done) == list(range(16))
    assert not failed
    assert crew.now < 100
    assert max(crew.tried.values()) == 2


def test_a_late_result_of_the_job_before_counts_for_nothing() -> None:
    crew = Pretenders(2, 1, bad=frozenset())
    dispatch = Dispatch(crew, clock=crew.clock)
    first, second = list[Piece](), list[Piece]()
    dispatch.run(Plan(np.ones(4)), lambda p, _: first.append(p), lambda p, _: None)
    stop = RuntimeError("enough")

    def stop_now(piece: Piece, event: Event) -> None:
        raise stop

    with pytest.raises(RuntimeError, match="enough"):
        dispatch.run(Plan(np.ones(50)), stop_now, lambda p, _: None)
    dispatch.run(Plan(np.ones(9)), lambda p, _: second.append(p), lambda p, _: None)
    assert covered(first) == list(range(4))
    assert covered(second) == list(range(9))


def test_an_answer_to_another_question_counts_for_nothing() -> None:
    class Confused(Pretenders):
        def submit(self, worker: int, token: int, piece: Piece) -> None:
            self._pending.append((self.now + 0.1, Event(worker, "done", token + 1000)))
            self._pending.append((self.now + 0.2, Event(worker, "done", token, {"right": True})))

    crew = Confused(2, 1, bad=frozenset())
    found = list[tuple[Piece, Event]]()
    dispatch = Dispatch(crew, clock=crew.clock)
    dispatch.run(Plan(np.ones(20)), lambda p, e: found.append((p, e)), lambda p, _: None)
    assert covered([piece for piece, _ in found]) == list(range(20))
    assert all(event.facts for _, event in found)


@given(st.lists(st.floats(1, 1000), min_size=1, max_size=200), st.integers(1, 8))
def test_pieces_shrink_towards_the_end_by_cost(costs: list[float], workers: int) -> None:
    plan = Plan(np.array(costs))
    pieces = []
    while (piece := plan.take(workers)) is not None:
        pieces.append(piece)
    assert [i for piece in pieces for i in range(piece.start, piece.stop)] == list(
        range(len(costs))
    )
    left = sum(costs)
    for piece in pieces:
        cost = sum(costs[piece.start : piece.stop])
        assert len(piece) == 1 or cost <= left / (2 * workers) * (1 + 1e-9)
        left -= cost
