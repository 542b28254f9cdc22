"""Evolves on an Atari game, seen in grey at a fifth of its size through a convolutional front.

pip install -e '.[gym]' ale-py, then: python examples/atari.py [GAME] [GENERATIONS]
"""

import sys
from typing import Any

import gymnasium
import numpy as np

import evonet
from evonet.tasks import make_task

try:
    import ale_py
except ImportError:
    print("This example needs the Arcade Learning Environment: pip install ale-py")
    sys.exit()


class SmallScreens(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Squares of five by five pixels become one; the most frequent grey, the background, 0."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self.observation_space = gymnasium.spaces.Box(-1, 1, (42, 32), np.float32)

    def observation(self, screen: Any) -> Any:
        """Makes a screen [210, 160] of bytes a small one."""
        background = np.bincount(screen.reshape(-1)).argmax()
        away = (screen.astype(np.float32) - background) / 255
        return away.reshape(42, 5, 32, 5).mean(axis=(1, 3))


def make_small(game: str, **more: Any) -> Any:
    gymnasium.register_envs(ale_py)
    made = gymnasium.make(f"ALE/{game}-v5", obs_type="grayscale", disable_env_checker=True, **more)
    return SmallScreens(made)


game = sys.argv[1] if len(sys.argv) > 1 else "Pong"
generations = int(sys.argv[2]) if len(sys.argv) > 2 else 2
gymnasium.register("SmallAtari-v0", make_small)
task = make_task(
    "gym:SmallAtari-v0",
    episodes=1,
    max_steps=60,
    retests=2,
    frame_stack=2,  # two screens show how a ball flies
    front={
        "layers": [
            {"channels": 8, "kernel": 4, "stride": 2},
            {"channels": 16, "kernel": 3, "pool": 2},
        ]
    },
    options={"game": game},
)
config = evonet.Config.from_dict(
    {
        "run": {"generations": generations, "seed": 1},
        "neat": {"pop_size": 6},
        "genome": {
            "initial_connection": "full",
            "activation_default": "identity",
            "activation_options": ["identity"],
            "weight_init_stdev": 0.1,
            "weight_mutate_rate": 0.1,
        },
    }
)
result = evonet.evolve(task, config, callbacks=[evonet.Progress()])
print(f"{game}: {task.num_inputs} features of a screen, fitness {result.best.fitness:g}")
