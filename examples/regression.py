"""Fits a curve to noisy points, and tests it on held-out points.

python examples/regression.py
"""

import numpy as np

import evonet
from evonet.tasks import regression

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3.0, 3.0, (200, 1)), axis=0)
y = np.sin(x) + rng.normal(0.0, 0.05, x.shape)
task = regression(data=(x, y), test_fraction=0.25, solved=-0.01)

config = evonet.Config.from_dict(
    {
        "run": {"generations": 150, "seed": 1},
        "neat": {"pop_size": 500},
        "genome": {
            "num_hidden": 1,
            "activation_default": "tanh",
            "activation_options": ["tanh", "sin", "identity"],
            "activation_mutate_rate": 0.05,
        },
    }
)
result = evonet.evolve(task, config, callbacks=[evonet.Progress()])

best = evonet.compile(result.best.genome)
train, held_out = -result.best.fitness, task.test_scores(best)["loss"][0]
print(f"mean squared error {train:.4f} on the training points, {held_out:.4f} on held-out ones")
for row in range(0, len(x), 20):
    answer = float(best(x[row : row + 1])[0, 0, 0])
    print(f"  {x[row, 0]:+.2f} {' ' * round(20 + 15 * answer)}*")
