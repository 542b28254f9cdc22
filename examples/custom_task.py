"""A world of one's own: a boat steers for a harbour across a current. Keeps a run folder.

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
    """N boats side by side, as arrays; every step is one call for the whole population."""

    num_inputs, num_outputs, max_steps = 3, 1, 60

    def reset(self, seeds):
        """Begins [N] crossings; equal seeds begin alike, so all genomes cross the same rivers."""
        draws = np.array([np.random.default_rng(int(seed)).uniform(-1, 1, 2) for seed in seeds])
        self.across = np.zeros(len(seeds))
        self.along = draws[:, 0]
        self.current = 0.6 * draws[:, 1]
        return self._seen()

    def step(self, outputs):
        """Steers by outputs [N, 1]; gives what is seen [N, 3], rewards [N], whether over [N]."""
        heading = np.clip(np.nan_to_num(outputs[:, 0]), -1, 1) * np.pi / 2
        self.across += 0.03 * np.cos(heading)
        self.along += 0.03 * (np.sin(heading) + self.current)
        arrived = self.across >= 1
        # The nearer to the harbour at (1, 0) a boat lands, the better.
        reward = np.where(arrived, 1 - np.abs(self.along), 0.0) - 0.002
        return self._seen(), reward, arrived

    def _seen(self):
        return np.stack([self.across, self.along, self.current], axis=1)


task = Stepwise(Crossing(), episodes=8, solved=0.87)
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
print(f"open {folder / 'report.html'}, or go on with evonet.resume_run({str(folder)!r}, task)")
