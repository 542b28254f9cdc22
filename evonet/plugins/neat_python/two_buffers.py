"""What the drop-in networks with memory have in common: values in two buffers that take turns."""

from __future__ import annotations

from typing import Any

from evonet.plugins.neat_python.compiled import CompiledNodes
from evonet.plugins.neat_python.node_values import NodeValues


class TwoBuffers(CompiledNodes):
    """A mix-in for networks that read one buffer and write the other."""

    _plain_active: int

    @property
    def active(self) -> int:
        """Which of the two buffers the last step wrote."""
        return self._plain_active if self._engine is None else int(self._engine.active)

    @active.setter
    def active(self, active: int) -> None:
        if self._engine is None:
            self._plain_active = active
        else:
            self._engine.active = active

    @property
    def values(self) -> Any:
        """What every node holds, by key, in both buffers."""
        if self._engine is None:
            return self._plain_values
        return [NodeValues(self._engine, buffer, False) for buffer in (0, 1)]

    @values.setter
    def values(self, values: Any) -> None:
        if self._engine is None:
            self._plain_values = values
        else:
            for mine, given in zip(self.values, values, strict=True):
                mine.update(given)
