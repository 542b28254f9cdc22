"""Evolves a network that balances two poles without seeing how fast they move.

One look at the cart does not show where the poles are going, so the network must remember the
last one: it is recurrent. It then balances for half an hour.

python examples/double_pole_no_velocities.py [seed]
"""

import sys

import evonet
from evonet.installation import resource_folder
from evonet.tasks import task_from_config

seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
config = evonet.Config.load(resource_folder("configs") / "double_pole_no_velocities.toml")
result = evonet.evolve(task_from_config(config), config, seed=seed)
print(f"solved: {result.solved}, after {result.evaluations} evaluations")
print(result.best.genome)

evonet.save_champion("champion.json", result.best, config)
champion = evonet.read_champion("champion.json").compile()
returns, steps = champion.rollout("double_pole_no_velocities")
print(f"balanced for {steps[0, 0]:,} steps of 0.02 seconds")
