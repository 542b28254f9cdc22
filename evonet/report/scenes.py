"""Control tasks as moving pictures: what stands still, and where each part is at each step.

The page only moves parts about; all that is known about a task is here. A part is a group of
shapes around its own origin, with [T + 1, 4] places: x, y, turn in degrees, stretch along x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from evonet.report.episode import Episode
from evonet.report.history import Floats

WIDTH: Final = 480
HEIGHT: Final = 250
GROUND: Final = 190.0


@dataclass(frozen=True)
class Part:
    """Something that moves.

    Attributes:
        shapes: SVG around the part's origin.
        places: [T + 1, 4].
    """

    shapes: str
    places: Floats


@dataclass(frozen=True)
class Scene:
    """A moving picture.

    Attributes:
        backdrop: SVG that stands still.
        parts: What moves in front of it, in this order.
        steps_per_second: How fast to play it.
    """

    backdrop: str
    parts: list[Part]
    steps_per_second: float


def make_scene(episode: Episode) -> Scene:
    """Turns an episode into a picture."""
    name = episode.control
    if name.startswith("mountain_car"):
        scene = _mountain_car(episode)
    elif name == "pendulum":
        scene = _pendulum(episode)
    elif name == "acrobot":
        scene = _acrobot(episode)
    elif name == "copy":
        scene = _copy(episode)
    elif name == "t_maze":
        scene = _t_maze(episode)
    else:
        scene = _cart(episode)
    return Scene(scene.backdrop + _METER, [*scene.parts, _meter(episode)], scene.steps_per_second)


def _places(x: object, y: object, turn: object = 0.0, stretch: object = 1.0) -> Floats:
    columns = np.broadcast_arrays(x, y, turn, stretch)  # type: ignore[arg-type]
    return np.stack(columns, axis=1).astype(np.float64)


# ---- what the network does, below every scene ----

_METER: Final = (
    f'<rect class="meter" x="{WIDTH / 2 - 90:g}" y="{HEIGHT - 18}" width="180" height="8" rx="4"/>'
    f'<text class="tick" x="{WIDTH / 2 - 98:g}" y="{HEIGHT - 10}" text-anchor="end">action</text>'
)


def _meter(episode: Episode) -> Part:
    action = np.append(episode.action, episode.action[-1:])
    shape = '<rect class="action" x="0" y="-4" width="90" height="8" rx="2"/>'
    return Part(shape, _places(WIDTH / 2, HEIGHT - 14.0, 0.0, action))


# ---- carts with poles ----

_METRE: Final = 88.0  # pixels


def _cart(episode: Episode) -> Scene:
    x = WIDTH / 2 + _METRE * episode.states[:, 0]
    limit = 2.4 * _METRE
    left, right = WIDTH / 2 - limit, WIDTH / 2 + limit
    backdrop = (
        f'<line class="ground" x1="8" x2="{WIDTH - 8}" y1="{GROUND}" y2="{GROUND}"/>'
        f'<path class="limit" d="M{left:.0f},{GROUND - 14}v28M{right:.0f},{GROUND - 14}v28"/>'
    )
    cart = (
        '<rect class="body" x="-30" y="-32" width="60" height="22" rx="5"/>'
        '<circle class="wheel" cx="-17" cy="-7" r="7"/>'
        '<circle class="wheel" cx="17" cy="-7" r="7"/>'
    )
    parts = [Part(cart, _places(x, GROUND))]
    num_poles = episode.states.shape[1] // 2 - 1
    for pole in range(num_poles):
        turn = np.degrees(episode.states[:, 2 + 2 * pole])
        length = 1.3 * _METRE * (1.0 if pole == 0 else 0.1)
        shape = (
            f'<line class="pole p{pole}" x1="0" y1="0" x2="0" y2="{-length:.1f}"/>'
            '<circle class="joint" cx="0" cy="0" r="3.5"/>'
        )
        offset = 0.0 if num_poles == 1 else (-12.0, 12.0)[pole]
        parts.append(Part(shape, _places(x + offset, GROUND - 32, turn)))
    return Scene(backdrop, parts, 50.0)


# ---- a car between hills ----


def _hill(x: Floats) -> Floats:
    height: Floats = np.sin(3 * x) * 0.45 + 0.55  # as Gymnasium draws it
    return height


def _mountain_car(episode: Episode) -> Scene:
    goal = 0.45 if episode.control.endswith("continuous") else 0.5
    across, up = (WIDTH - 16) / 1.8, 165.0

    def spot(x: Floats) -> tuple[Floats, Floats]:
        return 8 + across * (x + 1.2), 214.0 - up * _hill(x)

    ground = np.linspace(-1.2, 0.6, 121)
    line = "L".join(f"{a:.1f},{b:.1f}" for a, b in zip(*spot(ground), strict=True))
    flag_x, flag_y = (float(v[0]) for v in spot(np.array([goal])))
    backdrop = (
        f'<path class="hill" d="M{line}L{WIDTH - 8},222L8,222Z"/>'
        f'<path class="ground" fill="none" d="M{line}"/>'
        f'<path class="flagpole" d="M{flag_x:.1f},{flag_y:.1f}v-34"/>'
        f'<path class="flag" d="M{flag_x:.1f},{flag_y - 34:.1f}l16,6l-16,6Z"/>'
    )
    x = episode.states[:, 0]
    turn = -np.degrees(np.arctan(up / across * 1.35 * np.cos(3 * x)))
    car = (
        '<rect class="body" x="-17" y="-19" width="34" height="11" rx="4"/>'
        '<path class="body" d="M-9,-18l4,-7h9l5,7Z"/>'
        '<circle class="wheel" cx="-10" cy="-6" r="5"/>'
        '<circle class="wheel" cx="10" cy="-6" r="5"/>'
    )
    return Scene(backdrop, [Part(car, _places(*spot(x), turn))], 30.0)


# ---- things that swing ----


def _pendulum(episode: Episode) -> Scene:
    turn = -np.degrees(np.unwrap(episode.states[:, 0]))
    rod = (
        '<line class="pole p0" x1="0" y1="0" x2="0" y2="-84"/>'
        '<circle class="bob" cx="0" cy="-84" r="10"/><circle class="joint" cx="0" cy="0" r="4"/>'
    )
    backdrop = f'<circle class="orbit" cx="{WIDTH / 2:g}" cy="112" r="84"/>'
    return Scene(backdrop, [Part(rod, _places(WIDTH / 2, 112.0, turn))], 20.0)


def _acrobot(episode: Episode) -> Scene:
    length = 50.0
    first = np.unwrap(episode.states[:, 0])
    second = first + np.unwrap(episode.states[:, 1])
    x, y = WIDTH / 2, 118.0
    elbow_x, elbow_y = x + length * np.sin(first), y + length * np.cos(first)
    rods = [
        f'<line class="pole p{i}" x1="0" y1="0" x2="0" y2="{length:g}"/>'
        '<circle class="joint" cx="0" cy="0" r="4.5"/>'
        for i in range(2)
    ]
    top = y - length
    backdrop = (
        f'<line class="goal" x1="40" x2="{WIDTH - 40}" y1="{top:g}" y2="{top:g}"/>'
        f'<text class="tick" x="{WIDTH - 40}" y="{top - 5:g}" text-anchor="end">goal</text>'
        f'<line class="ground" x1="{x - 26:g}" x2="{x + 26:g}" y1="{y:g}" y2="{y:g}"/>'
    )
    parts = [
        Part(rods[0], _places(x, y, -np.degrees(first))),
        Part(rods[1], _places(elbow_x, elbow_y, -np.degrees(second))),
    ]
    return Scene(backdrop, parts, 12.0)


# ---- things to remember ----


def _copy(episode: Episode) -> Scene:
    """Bits that were heard above, answers below; a frame moves from one to the next."""
    bits = episode.states[0, 1:]
    size, gap, left = 44.0, 70.0, WIDTH / 2 - 70.0 * (len(bits) - 1) / 2
    backdrop = ['<text class="tick" x="30" y="62">hears</text><text class="tick" x="30" y="152">'
                "says</text>"]  # fmt: skip
    parts = []
    for i, bit in enumerate(bits):
        x = left + gap * i
        shape = f'x="{-size / 2:g}" y="{-size / 2:g}" width="{size:g}" height="{size:g}" rx="8"'
        hue = "body" if bit > 0 else "bit"
        backdrop.append(f'<g transform="translate({x:g},57)"><rect class="{hue}" {shape}/></g>')
        backdrop.append(f'<rect class="orbit" x="{x - size / 2:g}" y="125" width="{size:g}" '
                        f'height="{size:g}" rx="8"/>')  # fmt: skip
        said = np.arange(len(episode.states)) > len(bits) + i
        answer = float(episode.action[len(bits) + i]) if len(episode) > len(bits) + i else 0.0
        hue = "body" if answer > 0 else "bit"
        parts.append(
            Part(
                f'<rect class="{hue}" {shape} opacity="{0.15 + 0.85 * abs(answer):.2f}"/>',
                _places(x, np.where(said, 147.0, -200.0)),
            )
        )
    step = np.minimum(np.arange(len(episode.states)), 2 * len(bits) - 1)
    frame = '<rect class="limit" fill="none" x="-30" y="-30" width="60" height="60" rx="12"/>'
    column, row = step % len(bits), step // len(bits)
    parts.append(Part(frame, _places(left + gap * column, np.where(row == 0, 57.0, 147.0))))
    return Scene("".join(backdrop), parts, 2.0)


def _t_maze(episode: Episode) -> Scene:
    side, length = episode.states[0, 1], int(episode.states[0, 2])
    cell = 34.0
    left, middle = WIDTH / 2 - cell * (length + 1) / 2, 112.0
    end = left + cell * length
    goal_y = middle + side * 2 * cell
    backdrop = (
        f'<path class="wall" d="M{left - 17:g},{middle - 17:g}H{end - 17:g}V{middle - 85:g}h34v170'
        f'h-34V{middle + 17:g}H{left - 17:g}Z"/>'
        f'<path class="flagpole" d="M{end:g},{goal_y + 12:g}v-26"/>'
        f'<path class="flag" d="M{end:g},{goal_y - 14:g}l16,6l-16,6Z"/>'
        f'<text class="tick" x="{left:g}" y="{middle + 34:g}" text-anchor="middle">sign: '
        f"{'left' if side < 0 else 'right'}</text>"
    )
    x = left + cell * np.minimum(episode.states[:, 0], length)
    y = np.full(len(x), middle)
    if episode.ended:
        y[-1] += 2 * cell * episode.action[-1]
    walker = '<circle class="body" r="11"/>'
    return Scene(backdrop, [Part(walker, _places(x, y))], 4.0)
