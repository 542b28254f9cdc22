"""Evolves with ask and tell, in a loop of your own.

Networks learn to draw a disc: 1 inside, 0 outside.

    python examples/ask_tell.py
"""

import numpy as np

import evonet

rng = np.random.default_rng(0)
points = rng.uniform(-1.0, 1.0, (256, 2)).astype(np.float32)
inside = (np.hypot(points[:, 0], points[:, 1]) < 0.6).astype(np.float32)

config = evonet.Config.from_dict(
    {
        "neat": {"pop_size": 500},
        "genome": {
            "num_inputs": 2,
            "num_outputs": 1,
            "activation_default": "random",
            "activation_options": ["sigmoid", "tanh", "gauss", "square"],
            "activation_mutate_rate": 0.1,
        },
    }
)
neat = evonet.NEAT(config, seed=3)
for _ in range(60):
    network = evonet.compile(neat.ask())  # all 500 networks at once
    answers = network(points)[:, :, 0]
    neat.tell(1.0 - np.mean((answers - inside) ** 2, axis=1))
    if neat.generation % 10 == 0:
        print(f"generation {neat.generation:2}: best {neat.best.fitness:.4f}")

best = evonet.compile(neat.best.genome)
right = np.mean((best(points)[0, :, 0] > 0.5) == (inside > 0.5))
print(f"the best network gets {right:.0%} of the points right")
