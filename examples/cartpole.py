"""Evolves a network that balances a pole, then tests it on a hundred new episodes.

python examples/cartpole.py [seed]
"""

import sys

import evonet
from evonet.installation import resource_folder
from evonet.tasks import task_from_config

seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
config = evonet.Config.load(resource_folder("configs") / "cartpole.toml")
result = evonet.evolve(task_from_config(config), config, seed=seed)
print(f"solved: {result.solved}, after {result.evaluations} evaluations")
print(result.best.genome)

champion = evonet.compile(result.best.genome)
returns, steps = champion.rollout("cartpole", episodes=100, seed=12345)
print(f"mean return of 100 new episodes: {returns.mean():.1f}, shortest: {steps.min()} steps")
