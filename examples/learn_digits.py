"""Evolves networks that learn handwritten digits by gradients, and shows which pixels matter.

python examples/learn_digits.py

It needs scikit-learn for the data. Every genome learns for some steps in every generation, and its
children inherit what it learned; evolution finds which links are worth having.
"""

import numpy as np

import evonet
from evonet.tasks import make_task
from evonet.tasks.attribution import input_shares

task = make_task("digits")
config = evonet.Config.from_dict(
    {
        "task": {"name": "digits"},  # with the defaults of its kind, [learning] included
        "run": {"generations": 25, "seed": 1},
        "learning": {"steps": 30, "inherit": "lamarckian"},
    }
)
result = evonet.evolve(task, config, callbacks=[evonet.Progress()])

best = evonet.compile(result.best.genome)
accuracy = task.test_scores(best)["accuracy"][0]
links = np.count_nonzero(result.best.population.enabled)
print(f"{accuracy:.1%} of {task.num_held_out} held-out digits with {links} links")

matters = input_shares(best, task.x, classes=True)
print("Which pixels matter:")
for row in matters.reshape(8, 8):
    print("  " + " ".join(" .:-=+*#"[min(7, int(200 * share))] for share in row))
