"""Steps of a front's weights, by the optimisers of networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.backends.learning import UpdateRule
from evonet.backends.reference.optimizers import update
from evonet.images.front import ConvFront
from evonet.installation import load_native, require_native

Array = npt.NDArray[Any]


class FrontOptimizer:
    """Where a front is in its learning: all weights as one vector, all biases as another.

    A front counts as one genome: weights decay and biases do not, and one norm is clipped.
    """

    def __init__(self, front: ConvFront) -> None:
        """Starts from the weights of a front."""
        self._shapes = {name: array.shape for name, array in front.arrays.items()}
        self._backend = front.backend
        self._genes = self._flatten(front.arrays)
        self._first = [np.zeros_like(vector) for vector in self._genes]
        self._second = [np.zeros_like(vector) for vector in self._genes]

    def step(self, gradients: Mapping[str, Array], num_samples: int, rule: UpdateRule) -> bool:
        """Takes the first step of a rule; False, and no step, if the gradients are not finite.

        Args:
            gradients: By name, the sums over samples.
            num_samples: By which they are divided.
            rule: How weights change.
        """
        sums = self._flatten(gradients)
        corrections = np.ascontiguousarray(rule.corrections[0])
        dtype = sums[0].dtype
        if self._backend == "reference" or load_native() is None:
            rows = zip(self._genes, self._first, self._second, sums, (True, False), strict=True)
            inverse = dtype.type(1) / dtype.type(num_samples)
            return update(list(rows), inverse, rule, corrections)
        from evonet.backends.cpu import CpuBackend

        native = require_native()
        change = native.update32 if dtype == np.float32 else native.update64
        moved: bool = change(
            *(rule.optimizer, np.array(rule[1:8], np.float64), corrections, num_samples),
            *(self._genes, self._first, self._second, sums, [True, False]),
            CpuBackend().simd_level(),
        )
        return moved

    @property
    def arrays(self) -> dict[str, Array]:
        """All weights and biases by name, as copies."""
        found, at = {}, [0, 0]
        for name, shape in self._shapes.items():
            sort, count = int(name.endswith("bias")), int(np.prod(shape))
            part = self._genes[sort][at[sort] : at[sort] + count]
            found[name] = part.reshape(shape).copy()
            at[sort] += count
        return found

    def _flatten(self, arrays: Mapping[str, Array]) -> list[Array]:
        return [
            np.concatenate(
                [arrays[name].reshape(-1) for name in self._shapes if name.endswith(end)]
            )
            for end in ("weight", "bias")
        ]
