"""How the first genomes of a run are connected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from evonet.config.rules import RefusedError, Rule
from evonet.messages import nearest

ConnectionKind: TypeAlias = Literal[
    "unconnected",
    "fs_neat",
    "fs_neat_nohidden",
    "fs_neat_hidden",
    "full",
    "full_nodirect",
    "full_direct",
    "partial",
    "partial_nodirect",
    "partial_direct",
]


@dataclass(frozen=True, slots=True)
class InitialConnection:
    """How the first genomes are connected; a file spells it "full" or "partial 0.5".

    Attributes:
        kind: neat-python's name for it.
        fraction: The share of connections that a partial kind makes, 0 to 1; None for others.
    """

    kind: ConnectionKind
    fraction: float | None = None

    def __str__(self) -> str:
        return self.kind if self.fraction is None else f"{self.kind} {self.fraction!r}"


class ConnectionRule(Rule[InitialConnection]):
    """Accepts an `InitialConnection` or its spelling."""

    def check(self, value: object) -> InitialConnection:
        """Demands a fraction of the partial kinds, and of no others."""
        words = str(value).split() if isinstance(value, (str, InitialConnection)) else []
        first, rest = (words[0], words[1:]) if words else ("", [])
        if first not in get_args(ConnectionKind):
            raise RefusedError(f"is not a choice. {nearest(first, get_args(ConnectionKind))}")
        kind = cast(ConnectionKind, first)
        if not kind.startswith("partial"):
            if rest:
                raise RefusedError(
                    f'must be "{kind}" alone. Only the partial kinds take a fraction.'
                )
            return InitialConnection(kind)
        try:
            (fraction,) = map(float, rest)
        except ValueError:
            fraction = -1.0
        if not 0.0 <= fraction <= 1.0:
            raise RefusedError(f'needs one fraction between 0 and 1, such as "{kind} 0.5".')
        return InitialConnection(kind, fraction + 0.0)
