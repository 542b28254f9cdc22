"""Evaluates a thousand random networks at once, and compares the speed with neat-python's.

python examples/forward.py
"""

import time

import numpy as np

import evonet
from evonet.installation import resource_folder

NUM_GENOMES, NUM_SAMPLES, NUM_INPUTS, NUM_OUTPUTS = 1000, 32, 8, 4

# 1. A population: every genome has its own sparse topology.
population = evonet.Population.random(
    NUM_GENOMES, NUM_INPUTS, NUM_OUTPUTS, num_nodes=50, num_connections=200, seed=1
)
print(population)

# 2. Compiled once: every network becomes a schedule of dependency levels.
start = time.perf_counter()
network = evonet.compile(population)
compiled = time.perf_counter() - start
print(f"compiled in {compiled * 1e3:.1f} ms for backend {network.backend!r}")
print(network.schedule.analyze())

# 3. Called like a function: [B, I] -> [P, B, O].
x = np.random.default_rng(2).standard_normal((NUM_SAMPLES, NUM_INPUTS)).astype(np.float32)
y = network(x)
rounds = []
for _ in range(20):
    start = time.perf_counter()
    network(x)
    rounds.append(time.perf_counter() - start)
ours = sorted(rounds)[len(rounds) // 2] / (NUM_GENOMES * NUM_SAMPLES)
print(f"outputs {y.shape}; {1 / ours / 1e6:.1f} million activations per second")

# 4. The same genomes in neat-python, one network and one sample at a time.
try:
    import neat
except ImportError:
    raise SystemExit("Install neat-python to compare: pip install neat-python") from None

config = neat.Config(
    neat.DefaultGenome,
    neat.DefaultReproduction,
    neat.DefaultSpeciesSet,
    neat.DefaultStagnation,
    str(resource_folder("configs") / "forward-neat.ini"),
)
config.genome_config.input_keys = [-1 - i for i in range(NUM_INPUTS)]
config.genome_config.output_keys = list(range(NUM_OUTPUTS))
genomes = population[:20].to_neat(config)
nets = [neat.nn.FeedForwardNetwork.create(genome, config) for _, genome in genomes]
start = time.perf_counter()
theirs_y = [[net.activate(row) for row in x.tolist()] for net in nets]
theirs = (time.perf_counter() - start) / (len(nets) * NUM_SAMPLES)
print(
    f"neat-python: {1 / theirs / 1e6:.3f} million per second, so evonet is {theirs / ours:.0f}x "
    f"faster; largest difference between the two {np.abs(y[:20] - theirs_y).max():.1e}"
)
