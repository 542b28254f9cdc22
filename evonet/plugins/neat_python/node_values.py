"""What nodes hold, looked at as the dict that neat-python's classes have."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any


class NodeValues(MutableMapping[int, float]):
    """A view on one buffer of a network: reads and writes go to the network itself."""

    def __init__(self, engine: Any, buffer: int, feed_forward: bool) -> None:
        """Looks at a network.

        Args:
            engine: A native `NeatNetwork`.
            buffer: Which of its two, 0 or 1.
            feed_forward: Whether hidden nodes only appear after the first activation.
        """
        self._engine = engine
        self._buffer = buffer
        self._feed_forward = feed_forward

    def __getitem__(self, key: int) -> float:
        if key not in self:
            raise KeyError(key)
        value: float = self._engine.get_value(self._buffer, key)
        return value

    def __setitem__(self, key: int, value: float) -> None:
        self._engine.set_value(self._buffer, key, value)

    def __delitem__(self, key: int) -> None:
        raise TypeError("nodes of a network cannot be removed")

    def __iter__(self) -> Iterator[int]:
        return iter(self._keys())

    def __len__(self) -> int:
        return len(self._keys())

    def __contains__(self, key: object) -> bool:
        return key in self._keys()

    def __repr__(self) -> str:
        return repr(dict(self))

    def _keys(self) -> list[int]:
        keys: list[int] = self._engine.value_keys(self._feed_forward)
        return keys
