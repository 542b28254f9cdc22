"""Evolves the trunk of a wide classifier, then trains the classifier on the champion in full.

A genome's fitness is the precision (P@1) that a wide output level reaches on its outputs after one
short pass. In the end gradients train the level alone, and then the champion's weights as well.

python examples/wide_trunk.py
"""

import numpy as np

import evonet

NUM_CLASSES, NUM_INPUTS, NUM_FEATURES = 300, 8, 24
rng = np.random.default_rng(1)
centres = rng.normal(size=(NUM_CLASSES, NUM_INPUTS))


def draw(count):
    """Points around the centres of their classes."""
    labels = rng.integers(0, NUM_CLASSES, count)
    return centres[labels] + 0.25 * rng.normal(size=(count, NUM_INPUTS)), labels


x, y = draw(4000)
held_x, held_y = draw(1000)


class Precision:
    """P@1 of a wide level after a short training on each genome's outputs."""

    num_inputs, num_outputs = NUM_INPUTS, NUM_FEATURES

    def evaluate(self, network, seed):
        """Scores all genomes, [P]."""
        features, held = network(x[:1500]), network(held_x)
        scores = []
        for own, own_held in zip(features, held, strict=True):
            level = evonet.WideClassifier(
                NUM_CLASSES, trunk="identity", epochs=1, batch=64, limit=32, rate=0.05
            )
            scores.append(level.fit(own, y[:1500]).score(own_held, held_y))
        return np.array(scores)


config = evonet.Config.from_dict(
    {
        "run": {"generations": 8, "seed": 1},
        "neat": {"pop_size": 30},
        "genome": {
            "initial_connection": "full",
            "activation_default": "tanh",
            "activation_options": ["tanh", "sin", "gauss"],
        },
    }
)
result = evonet.evolve(Precision(), config)
print(f"after a short training: P@1 {result.best.fitness:.2f}")
for train_trunk in (False, True):
    made = evonet.WideClassifier(
        NUM_CLASSES,
        trunk=result.best.population,
        train_trunk=train_trunk,
        epochs=10,
        rate=0.02,
        limit=64,
    ).fit(x, y)
    trained = "trunk and level" if train_trunk else "level only"
    print(f"P@1 {made.score(held_x, held_y):.2f} after the full training, {trained}")
