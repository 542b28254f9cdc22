"""A table of functions that may grow: names, ids, and formulas.

An id means one formula for as long as the process lives, so whatever uses a function stays valid
after its name was removed.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias, overload

from evonet.errors import OptionError, UnknownFunctionError
from evonet.functions.expressions.expression import Expression, make_expression
from evonet.functions.expressions.tree import FunctionKind
from evonet.messages import name as quoted

Definition: TypeAlias = "str | Callable[..., Any]"
"""An expression as text, or a simple Python function; see docs/functions.md."""

NUM_IDS: Final = 255  # genes store them in bytes, and 255 means none
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
WORDS: Final = ("random", "none")  # these mean something else in a config


class Function(NamedTuple):
    """One registered function."""

    name: str  # the name that neat-python and config files use
    formula: str  # what it computes, for people
    expression: Expression | None = None  # what it computes, for backends; None for a built-in one


class Functions(Sequence[Function]):
    """All functions of one kind, by id; new ones are appended.

    Custom functions start at the id `num_builtin`; `ids` is a view of all names that follows
    changes.
    """

    def __init__(self, kind: FunctionKind, builtin: Iterable[Function]) -> None:
        self.kind: Final = kind
        self._all = list(builtin)
        self._ids = {function.name: i for i, function in enumerate(self._all)}
        self._lock = threading.RLock()
        self._num_used = 0  # ids below this may be in use, and keep their meaning
        self.num_builtin: Final = len(self._all)
        self.ids: Final[Mapping[str, int]] = MappingProxyType(self._ids)

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, at: int) -> Function: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Function]: ...
    def __getitem__(self, at: int | slice) -> Function | Sequence[Function]:
        return self._all[at]

    def register(self, name: str, definition: Definition, where: str | None = None) -> bool:
        """Gives a name to a formula, as `register_activation` does; False if it has it already."""
        where = where or f'register_{self.kind}("{quoted(str(name)[:40])}", ...)'
        if not isinstance(name, str) or not NAME.fullmatch(name) or name in WORDS:
            raise OptionError(
                f"{where}: this is no name for a function. Use up to 40 letters, digits and "
                f"underscores, a letter first, and not {' or '.join(WORDS)}."
            )
        made = make_expression(definition, self.kind, where)
        with self._lock:
            known = self._ids.get(name)
            if known is not None:
                self._check_same(known, made, where)
                return False
            self._ids[name] = self._give_id(Function(name, made.text, made), where)
        return True

    @contextmanager
    def undone_on_error(self) -> Iterator[None]:
        """Takes back what a block registers if it raises: names and ids are free again.

        Other threads register nothing meanwhile, so all that is new is the block's.
        """
        with self._lock:
            names, length = set(self._ids), len(self._all)
            try:
                yield
            except BaseException:
                for name in self._ids.keys() - names:
                    del self._ids[name]
                del self._all[max(length, self._num_used) :]
                raise

    @contextmanager
    def used(self) -> Iterator[int]:
        """Gives the number of ids, all of which keep their meaning from now on."""
        with self._lock:
            self._num_used = len(self._all)
            yield self._num_used

    def formula(self, name: str) -> str:
        """The formula of a name."""
        return self._all[self._ids[name]].formula

    def unregister(self, name: str) -> None:
        """Removes a name; see `unregister_activation`."""
        with self._lock:
            if self._ids.get(name, 0) < self.num_builtin:
                own = [f.name for f in self._all[self.num_builtin :] if f.name in self._ids]
                listed = f"There are {', '.join(own)}." if own else "There is none."
                raise OptionError(f'"{name}" is not a custom {self.kind}. {listed}')
            del self._ids[name]

    def own(self, ids: Iterable[int]) -> dict[str, str]:
        """The custom functions among some ids: expressions by name, sorted by name."""
        found: dict[str, str] = {}
        for i in sorted({int(i) for i in ids if i >= self.num_builtin}):
            name, text, _ = self._all[i]
            if name in found:
                raise OptionError(
                    f'there are two {self.kind}s "{name}", {found[name]} and {text}. '
                    "Rename one of them."
                )
            found[name] = text
        return dict(sorted(found.items()))

    def id_of(self, name: str, text: str) -> int:
        """The id of a name and its expression, even if the name was removed since."""
        for i, function in enumerate(self._all):
            if i >= self.num_builtin and function[:2] == (name, text):
                return i
        raise UnknownFunctionError(f'there is no {self.kind} "{name}" with the formula {text}.')

    def _check_same(self, known: int, made: Expression, where: str) -> None:
        function = self._all[known]
        if known < self.num_builtin:
            raise OptionError(f"{where}: {function.name} is built in. Choose another name.")
        if function.formula != made.text:
            raise OptionError(
                f"{where}: {made.text} is not what {function.name} stands for already, "
                f"{function.formula}. Choose another name, or give this one up with "
                f'evonet.unregister_{self.kind}("{function.name}").'
            )

    def _give_id(self, function: Function, where: str) -> int:
        for i in range(self.num_builtin, len(self._all)):
            if self._all[i][:2] == function[:2]:
                return i
        if len(self._all) == NUM_IDS:
            raise OptionError(
                f"{where}: {NUM_IDS - self.num_builtin} custom {self.kind}s are registered, and a "
                "process has no room for more."
            )
        self._all.append(function)
        return len(self._all) - 1
