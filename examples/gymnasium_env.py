"""Evolves on any Gymnasium environment: one network call per step for the whole population.

pip install -e '.[gym]', then: python examples/gymnasium_env.py [ENVIRONMENT]
"""

import sys

import evonet
from evonet.tasks import make_task

environment = sys.argv[1] if len(sys.argv) > 1 else "CartPole-v1"
task = make_task(f"gym:{environment}", episodes=2)
config = evonet.Config.from_dict(
    {
        "run": {"generations": 15, "seed": 1},
        "neat": {"pop_size": 40},
        "genome": {"activation_default": "tanh", "activation_options": ["tanh"]},
    }
)
result = evonet.evolve(task, config, callbacks=[evonet.Progress()])
print(f"{environment} solved: {result.solved}, fitness {result.best.fitness:g}")
