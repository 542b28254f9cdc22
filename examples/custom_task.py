"""Evolves on a custom world, in a run folder: a boat crosses a current to a harbour.

python examples/custom_task.py [folder]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import evonet
from evonet.report import write_report
from evonet.tasks import Stepwise


class Crossing:
    """N boats side by side, as arrays; a step is one call for the whole population."""

    num_inputs, num_outputs, max_steps = 3, 1, 60

    def reset(self, seeds):
        """Starts [N] crossings; equal seeds start alike, so all genomes cross the same rivers."""
        draws = np.array([np.random.default_rng(int(seed)).uniform(-1, 1, 2) for seed in seeds])
        self.across = np.zeros(len(seeds))
        self.along = draws[:, 0]
        self.current = 0.6 * draws[:, 1]
        return self._inputs()

    def step(self, outputs):
        """Steers by outputs [N, 1]; returns inputs [N, 3], rewards [N] and whether it ended [N]."""
        heading = np.clip(np.nan_to_num(outputs[:, 0]), -1, 1) * np.pi / 2
        self.across += 0.03 * np.cos(heading)
        self.along += 0.03 * (np.sin(heading) + self.current)
        arrived = self.across >= 1
        # Boats that land nearer to the harbour at (1, 0) score higher.
        reward = np.where(arrived, 1 - np.abs(self.along), 0.0) - 0.002
        return self._inputs(), reward, arrived

    def _inputs(self):
        return np.stack([self.across, self.along, self.current], axis=1)


# Solved if the champion surely reaches this on crossings that nobody was selected by.
task = Stepwise(Crossing(), episodes=8, solved=0.7)
config = evonet.Config.from_dict(
    {
        "run": {"generations": 60, "seed": 2},
        "neat": {"pop_size": 150},
        "genome": {"activation_default": "tanh", "activation_options": ["tanh"]},
    }
)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()) / "crossing"
result = evonet.start_run(folder, task, config, callbacks=[evonet.Progress()])
write_report(evonet.RunFolder(folder))
print(f"solved: {result.solved}, fitness {result.best.fitness:.3f}")
print(f"open {folder / 'report.html'}, or continue with evonet.resume_run({str(folder)!r}, task)")
