"""A list that refuses to change, for what a compiled network was made from."""

from __future__ import annotations

from typing import Any, NoReturn


class ReadOnlyList(list[Any]):
    """Equal to any list with the same items, and a list to whoever asks."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError(
            "a compiled network does not follow changes of its nodes. Make another one from "
            "changed nodes: type(network)(inputs, outputs, node_evals)."
        )

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies as a plain list."""
        return list, (list(self),)
