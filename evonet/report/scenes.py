"""Control tasks as animations: what stands still, and where each sprite is at each step.

The page only moves sprites; everything about a task is here. A sprite is a group of shapes around
its own origin, with [T + 1, 4] places: x, y, turn in degrees, stretch along x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from evonet.report.episode import Episode
from evonet.report.history import Floats
from evonet.report.markup import horizontal, label

WIDTH: Final = 480
HEIGHT: Final = 250
GROUND: Final = 190.0
CENTRE: Final = WIDTH / 2


@dataclass(frozen=True)
class Sprite:
    """Something that moves."""

    shapes: str  # SVG around the sprite's origin
    places: Floats  # [T + 1, 4], where it is before each step and at the end


@dataclass(frozen=True)
class Scene:
    """An animation."""

    backdrop: str  # SVG that stands still
    sprites: list[Sprite]  # what moves in front of it, drawn in this order
    steps_per_second: float  # how fast to play it


def make_scene(episode: Episode) -> Scene:
    """Turns an episode into an animation, with a meter of the network's action below."""
    scene = _SCENES.get(episode.control, _cart)(episode)
    x, y = CENTRE, HEIGHT - 14.0
    bar = f'<rect class="meter" x="{x - 90:g}" y="{y - 4:g}" width="180" height="8" rx="4"/>'
    action = np.append(episode.action, episode.action[-1:])
    meter = Sprite(
        '<rect class="action" x="0" y="-4" width="90" height="8" rx="2"/>',
        _places(x, y, 0.0, action),
    )
    backdrop = scene.backdrop + bar + label("tick", x - 98, y + 4, "action", "end")
    return Scene(backdrop, [*scene.sprites, meter], scene.steps_per_second)


def _places(x: object, y: object, turn: object = 0.0, stretch: object = 1.0) -> Floats:
    columns = np.broadcast_arrays(x, y, turn, stretch)  # type: ignore[arg-type]
    return np.stack(columns, axis=1).astype(np.float64)


def _wheels(apart: float, radius: float) -> str:
    """Two wheels that touch the ground."""
    y = 1.0 - radius
    return "".join(
        f'<circle class="wheel" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>' for x in (-apart, apart)
    )


def _rod(number: int, end: float, joint: float = 4.0) -> str:
    """A pole from the origin to (0, end), with its joint."""
    return (
        f'<line class="pole p{number}" x1="0" y1="0" x2="0" y2="{end:g}"/>'
        f'<circle class="joint" cx="0" cy="0" r="{joint:g}"/>'
    )


def _flag(x: float, y: float, height: float) -> str:
    return (
        f'<path class="flagpole" d="M{x:.1f},{y:.1f}v-{height:g}"/>'
        f'<path class="flag" d="M{x:.1f},{y - height:.1f}l16,6l-16,6Z"/>'
    )


# ---- carts with poles ----

_METRE: Final = 88.0  # pixels


def _cart(episode: Episode) -> Scene:
    x = CENTRE + _METRE * episode.states[:, 0]
    limit = 2.4 * _METRE
    backdrop = (
        f"{horizontal('ground', 8, WIDTH - 8, GROUND)}"
        f'<path class="limit" d="M{CENTRE - limit:.0f},{GROUND - 14}v28'
        f'M{CENTRE + limit:.0f},{GROUND - 14}v28"/>'
    )
    cart = '<rect class="body" x="-30" y="-32" width="60" height="22" rx="5"/>' + _wheels(17, 7)
    sprites = [Sprite(cart, _places(x, GROUND))]
    num_poles = episode.states.shape[1] // 2 - 1
    for pole in range(num_poles):
        turn = np.degrees(episode.states[:, 2 + 2 * pole])
        length = 1.3 * _METRE * (1.0 if pole == 0 else 0.1)
        offset = 0.0 if num_poles == 1 else (-12.0, 12.0)[pole]
        sprites.append(Sprite(_rod(pole, -length, 3.5), _places(x + offset, GROUND - 32, turn)))
    return Scene(backdrop, sprites, 50.0)


# ---- a car between hills ----


def _mountain_car(episode: Episode) -> Scene:
    goal = 0.45 if episode.control.endswith("continuous") else 0.5
    across, up = (WIDTH - 16) / 1.8, 165.0

    def place(x: Floats) -> tuple[Floats, Floats]:
        height = np.sin(3 * x) * 0.45 + 0.55  # as Gymnasium draws it
        return 8 + across * (x + 1.2), 214.0 - up * height

    ground = np.linspace(-1.2, 0.6, 121)
    line = "L".join(f"{a:.1f},{b:.1f}" for a, b in zip(*place(ground), strict=True))
    flag_x, flag_y = (float(v[0]) for v in place(np.array([goal])))
    backdrop = (
        f'<path class="hill" d="M{line}L{WIDTH - 8},222L8,222Z"/>'
        f'<path class="ground" fill="none" d="M{line}"/>{_flag(flag_x, flag_y, 34)}'
    )
    x = episode.states[:, 0]
    turn = -np.degrees(np.arctan(up / across * 1.35 * np.cos(3 * x)))
    car = (
        '<rect class="body" x="-17" y="-19" width="34" height="11" rx="4"/>'
        f'<path class="body" d="M-9,-18l4,-7h9l5,7Z"/>{_wheels(10, 5)}'
    )
    return Scene(backdrop, [Sprite(car, _places(*place(x), turn))], 30.0)


# ---- things that swing ----


def _pendulum(episode: Episode) -> Scene:
    turn = -np.degrees(np.unwrap(episode.states[:, 0]))
    rod = f'{_rod(0, -84)}<circle class="bob" cx="0" cy="-84" r="10"/>'
    backdrop = f'<circle class="orbit" cx="{CENTRE:g}" cy="112" r="84"/>'
    return Scene(backdrop, [Sprite(rod, _places(CENTRE, 112.0, turn))], 20.0)


def _acrobot(episode: Episode) -> Scene:
    length = 50.0
    first = np.unwrap(episode.states[:, 0])
    second = first + np.unwrap(episode.states[:, 1])
    x, y = CENTRE, 118.0
    elbow_x, elbow_y = x + length * np.sin(first), y + length * np.cos(first)
    top = y - length
    backdrop = (
        horizontal("goal", 40, WIDTH - 40, top)
        + label("tick", WIDTH - 40, top - 5, "goal", "end")
        + horizontal("ground", x - 26, x + 26, y)
    )
    sprites = [
        Sprite(_rod(0, length, 4.5), _places(x, y, -np.degrees(first))),
        Sprite(_rod(1, length, 4.5), _places(elbow_x, elbow_y, -np.degrees(second))),
    ]
    return Scene(backdrop, sprites, 12.0)


# ---- things to remember ----


def _copy(episode: Episode) -> Scene:
    """The bits above, the answers below; a frame moves from one to the next."""
    bits = episode.states[0, 1:]
    gap, above, below = 70.0, 57.0, 147.0
    left = CENTRE - gap * (len(bits) - 1) / 2
    square = 'x="-22" y="-22" width="44" height="44" rx="8"'
    backdrop = label("tick", 30, above + 5, "bits", "start")
    backdrop += label("tick", 30, below + 5, "answers", "start")
    steps = np.arange(len(episode.states))
    sprites = []
    for i, bit in enumerate(bits):
        x = left + gap * i
        for y, style in ((above, _bit_style(bit)), (below, "orbit")):
            backdrop += (
                f'<g transform="translate({x:g},{y:g})"><rect class="{style}" {square}/></g>'
            )
        answered = len(bits) + i
        answer = float(episode.action[answered]) if len(episode) > answered else 0.0
        opacity = 0.15 + 0.85 * abs(answer)
        shape = f'<rect class="{_bit_style(answer)}" {square} opacity="{opacity:.2f}"/>'
        sprites.append(Sprite(shape, _places(x, np.where(steps > answered, below, -200.0))))
    row, column = np.divmod(np.minimum(steps, 2 * len(bits) - 1), len(bits))
    frame = '<rect class="limit" fill="none" x="-30" y="-30" width="60" height="60" rx="12"/>'
    sprites.append(Sprite(frame, _places(left + gap * column, np.where(row, below, above))))
    return Scene(backdrop, sprites, 2.0)


def _bit_style(value: float) -> str:
    return "body" if value > 0 else "bit"


def _t_maze(episode: Episode) -> Scene:
    side, length = episode.states[0, 1], int(episode.states[0, 2])
    cell = 34.0
    left, middle = CENTRE - cell * (length + 1) / 2, 112.0
    end = left + cell * length
    sign = f"sign: {'left' if side < 0 else 'right'}"
    backdrop = (
        f'<path class="wall" d="M{left - 17:g},{middle - 17:g}H{end - 17:g}V{middle - 85:g}h34v170'
        f'h-34V{middle + 17:g}H{left - 17:g}Z"/>'
        f"{_flag(end, middle + side * 2 * cell + 12, 26)}{label('tick', left, middle + 34, sign)}"
    )
    x = left + cell * np.minimum(episode.states[:, 0], length)
    y = np.full(len(x), middle)
    if episode.ended:
        y[-1] += 2 * cell * episode.action[-1]
    return Scene(backdrop, [Sprite('<circle class="body" r="11"/>', _places(x, y))], 4.0)


# ---- screens ----

PIXEL: Final = 26.0


def _screen(row: Floats, column: Floats, bats: list[tuple[str, Floats]]) -> Scene:
    """Eight by eight pixels, a ball, and bats with their places."""
    side = 8 * PIXEL
    left, top = CENTRE - side / 2, 8.0
    backdrop = f'<rect class="orbit" x="{left:g}" y="{top:g}" width="{side:g}" height="{side:g}"/>'
    size = f'width="{PIXEL:g}" height="{PIXEL:g}"'
    sprites = [Sprite(shape, places + np.array([left, top, 0.0, 0.0])) for shape, places in bats]
    ball = Sprite(
        f'<rect class="bob" {size} rx="6"/>', _places(left + PIXEL * column, top + PIXEL * row)
    )
    return Scene(backdrop, [*sprites, ball], 5.0)


def _catch(episode: Episode) -> Scene:
    row, column, bat = episode.states[:, 0], episode.states[:, 1], episode.states[:, 3]
    shape = f'<rect class="body" x="{-PIXEL:g}" width="{3 * PIXEL:g}" height="{PIXEL:g}" rx="4"/>'
    return _screen(row, column, [(shape, _places(PIXEL * bat, 7 * PIXEL))])


def _pong(episode: Episode) -> Scene:
    states = episode.states
    shape = f'<rect class="body" y="{-PIXEL:g}" width="{PIXEL:g}" height="{3 * PIXEL:g}" rx="4"/>'
    other = shape.replace('"body"', '"bit"')
    bats = [
        (shape, _places(7 * PIXEL, PIXEL * states[:, 4])),
        (other, _places(0.0, PIXEL * states[:, 5])),
    ]
    return _screen(states[:, 1], states[:, 0], bats)


_SCENES: Final[dict[str, Callable[[Episode], Scene]]] = {
    "mountain_car": _mountain_car,
    "mountain_car_continuous": _mountain_car,
    "pendulum": _pendulum,
    "acrobot": _acrobot,
    "copy": _copy,
    "t_maze": _t_maze,
    "catch": _catch,
    "pong": _pong,
}
