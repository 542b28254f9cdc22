"""Thirty Gymnasium environments that misbehave, each registered as Bad-NAME-v0.

All see two numbers, act by one of two actions, and are fine until some step of some episode.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces

STEPS: Final = 12
Answer = tuple[Any, Any, Any, Any, Any]


class Fine(gymnasium.Env[Any, Any]):
    """Rewards the action that the observation asks for, for a few steps."""

    observation_space = spaces.Box(-1, 1, (2,), np.float64)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = self._ones = 0
        return self._see(), {}

    def _see(self) -> Any:
        self._seen = self.np_random.uniform(-1, 1, 2)
        return self._seen

    def step(self, action: Any) -> Answer:
        reward = float(action == int(self._seen[0] > 0))
        self._steps += 1
        self._ones += int(action)
        return self._see(), reward, self._steps >= STEPS, False, {}

    @property
    def is_time(self) -> bool:
        """Whether to misbehave: half way through, if the network mostly took action 1."""
        return self._steps == STEPS // 2 and self._ones > STEPS // 4


def _in_step(misbehave: Callable[[Any, Answer], Any]) -> type[Fine]:
    class Bad(Fine):
        def step(self, action: Any) -> Any:
            answer = super().step(action)
            return misbehave(self, answer) if self.is_time else answer

    return Bad


def _in_reset(misbehave: Callable[[Any, Any], Any]) -> type[Fine]:
    class Bad(Fine):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            found = super().reset(seed=seed)
            return misbehave(self, found) if int(self.np_random.integers(3)) == 0 else found

    return Bad


def _raise(error: BaseException) -> Callable[[Any, Any], Any]:
    def misbehave(environment: Any, answer: Any) -> Any:
        raise error

    return misbehave


def _do(something: Callable[[], object]) -> Callable[[Any, Any], Any]:
    def misbehave(environment: Any, answer: Any) -> Any:
        something()
        return answer

    return misbehave


def _fork() -> None:
    if os.fork() == 0:
        return  # and goes on playing


def _close_everything() -> None:
    os.closerange(3, 256)


def _spin() -> None:
    while True:
        pass


def _start_thread_that_raises() -> None:
    threading.Thread(target=lambda: 1 / 0).start()


def _start_child() -> None:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])


def _eat() -> None:
    hoard = []
    for _ in range(40):
        hoard.append(np.ones(4 << 20))
        time.sleep(0.05)


def _recurse() -> None:
    _recurse()


class NoSpaces(Fine):
    observation_space = None  # type: ignore[assignment]


class TextSpace(Fine):
    observation_space = spaces.Text(5)  # type: ignore[assignment]


class FailsWhenMade(Fine):
    def __init__(self) -> None:
        raise RuntimeError("there is no licence")


class NeverEnds(Fine):
    def step(self, action: Any) -> Answer:
        seen, reward, _, _, info = super().step(action)
        return seen, reward, False, False, info


class FailsWhenClosed(Fine):
    def close(self) -> None:
        raise RuntimeError("cannot close")


def _nan(environment: Any, answer: Answer) -> Answer:
    return answer[0], float("nan"), *answer[2:]


BAD: Final[dict[str, type[Fine]]] = {
    "Raises": _in_step(_raise(ValueError("a bug\nin two lines"))),
    "RaisesInReset": _in_reset(_raise(KeyError("no level"))),
    "RaisesBaseException": _in_step(_raise(BaseException("strange"))),
    "KeyboardInterrupts": _in_step(_raise(KeyboardInterrupt())),
    "StopIteration": _in_step(_raise(StopIteration())),
    "Exits": _in_step(_raise(SystemExit(2))),
    "ExitsAtOnce": _in_step(_do(lambda: os._exit(7))),
    "KillsItself": _in_step(_do(lambda: os.kill(os.getpid(), signal.SIGKILL))),
    "Segfaults": _in_step(_do(lambda: os.kill(os.getpid(), signal.SIGSEGV))),
    "Aborts": _in_reset(_do(os.abort)),
    "Hangs": _in_step(_do(lambda: time.sleep(600))),
    "Spins": _in_step(_do(_spin)),
    "NanReward": _in_step(_nan),
    "InfiniteReward": _in_step(lambda e, a: (a[0], float("inf"), *a[2:])),
    "TextReward": _in_step(lambda e, a: (a[0], "good", *a[2:])),
    "ArrayReward": _in_step(lambda e, a: (a[0], np.ones(3), *a[2:])),
    "NanObservation": _in_step(lambda e, a: (np.full(2, np.nan), *a[1:])),
    "WrongShape": _in_step(lambda e, a: (np.ones(5), *a[1:])),
    "WrongShapeInReset": _in_reset(lambda e, f: (np.ones((3, 3)), {})),
    "NoObservation": _in_step(lambda e, a: (None, *a[1:])),
    "ShortAnswer": _in_step(lambda e, a: a[:3]),
    "NoAnswer": _in_reset(lambda e, f: None),
    "Forks": _in_step(_do(_fork)),
    "StartsChildren": _in_step(_do(_start_child)),
    "Prints": _in_step(_do(lambda: print("y" * 100_000))),
    "ClosesFiles": _in_step(_do(_close_everything)),
    "ChangesFolder": _in_step(_do(lambda: os.chdir("/"))),
    "ThreadRaises": _in_step(_do(_start_thread_that_raises)),
    "Eats": _in_step(_do(_eat)),
    "Recurses": _in_step(_do(_recurse)),
    "NoSpaces": NoSpaces,
    "TextSpace": TextSpace,
    "FailsWhenMade": FailsWhenMade,
    "NeverEnds": NeverEnds,
    "FailsWhenClosed": FailsWhenClosed,
}

for _name, _kind in {"Fine": Fine, **BAD}.items():
    if f"Bad-{_name}-v0" not in gymnasium.registry:
        gymnasium.register(f"Bad-{_name}-v0", entry_point=_kind)
