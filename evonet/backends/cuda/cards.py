"""Public cards, by their data sheets."""

from __future__ import annotations

import dataclasses

from evonet.backends.cuda.limits import DeviceLimits

KIB = 1024


@dataclasses.dataclass(frozen=True)
class Card:
    """A public card, by its data sheet.

    Attributes:
        name: What it is called.
        limits: Its multiprocessors.
        gigahertz: Boost clock.
        link: GB/s of its connection to the host, about what copies reach.
        memory: GB/s of its memory.
    """

    name: str
    limits: DeviceLimits
    gigahertz: float
    link: float
    memory: float


CARDS = (
    Card(
        "GeForce RTX 3090",
        DeviceLimits("sm_86", 82, 99 * KIB, 100 * KIB, 1536, 65536),
        gigahertz=1.695,
        link=25,
        memory=936,
    ),
    Card(
        "H100 SXM",
        DeviceLimits("sm_90", 132, 227 * KIB, 228 * KIB, 2048, 65536),
        gigahertz=1.98,
        link=50,
        memory=3350,
    ),
)
