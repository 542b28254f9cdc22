"""Evolves a network that computes XOR, and saves it.

python examples/xor.py [seed]
"""

import sys
import tempfile
from pathlib import Path

import evonet
from evonet.installation import resource_folder
from evonet.tasks import xor

seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
config = evonet.Config.load(resource_folder("configs") / "xor.toml")
task = xor()


def report(record: evonet.GenerationRecord) -> None:
    if record.generation % 10 == 0:
        print(
            f"generation {record.generation:3}: best {record.best:.3f}, "
            f"mean {record.mean:.3f}, {record.summary}"
        )


result = evonet.evolve(task, config, seed=seed, callbacks=[report])
print(f"solved: {result.solved}, after {result.generation + 1} generations")
print(result.best.genome)

champion = Path(tempfile.mkdtemp()) / "champion.json"
evonet.save_champion(champion, result.best)
network = evonet.compile(evonet.load_champion(champion))
for inputs, answer in zip(task.x, network(task.x)[0], strict=True):
    print(f"{inputs} -> {answer[0]:.3f}")
