"""Runs a neat-python script, then the same with evonet: two lines change, the genomes do not.

pip install -e '.[neat]', then: python examples/neat_python_plugin.py
"""

import random
import time

import neat

from evonet.installation import resource_folder
from evonet.plugins.neat_python import BatchEvaluator, FeedForwardNetwork, evolve

CONFIG = resource_folder("configs") / "xor-neat.ini"
X = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
Y = [(0.0,), (1.0,), (1.0,), (0.0,)]


def eval_genomes(genomes, config):
    """Scores genomes as a neat-python script does."""
    for _, genome in genomes:
        genome.fitness = 4.0
        net = neat.nn.FeedForwardNetwork.create(genome, config)
        for xi, xo in zip(X, Y, strict=True):
            output = net.activate(xi)
            genome.fitness -= (output[0] - xo[0]) ** 2


def run(fitness_function):
    random.seed(8)
    config = neat.Config(
        neat.DefaultGenome,
        neat.DefaultReproduction,
        neat.DefaultSpeciesSet,
        neat.DefaultStagnation,
        str(CONFIG),
    )
    start = time.perf_counter()
    winner = neat.Population(config).run(fitness_function, 60)
    return winner, config, time.perf_counter() - start


plain, config, seconds = run(eval_genomes)
print(f"neat-python alone:  fitness {plain.fitness:.6f} in {seconds:.2f} s")

winner, config, seconds = run(BatchEvaluator.from_data(X, Y, best=4.0))
print(f"with evonet:        fitness {winner.fitness:.6f} in {seconds:.2f} s")
print(f"the same winner, gene by gene: {str(winner) == str(plain)}")

# Breeding and speciation still run in Python; evonet can do those too.
start = time.perf_counter()
winner = evolve(CONFIG, BatchEvaluator.from_data(X, Y, best=4.0), 300, seed=2)
print(f"evonet's own loop:  fitness {winner.fitness:.6f} in {time.perf_counter() - start:.2f} s")

# Its winner is a neat-python genome like any other.
net = FeedForwardNetwork.create(winner, config)
for xi in X:
    print(f"  {xi} -> {net.activate(xi)[0]:.3f}")
