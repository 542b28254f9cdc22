"""evonet play: the champion of a run plays fresh episodes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evonet.cli.options import FilePath

if TYPE_CHECKING:
    from evonet.network import Network
    from evonet.tasks.base import Task


@click.command()
@click.argument("run", type=FilePath())
@click.option("--episodes", type=click.IntRange(1), default=10, show_default=True)
@click.option(
    "--seed", type=click.IntRange(0, 2**62), default=0, help="Other seeds are other episodes."
)
@click.option("--film", type=FilePath(), help="Write the first episode as an animated PNG.")
@click.option("--show", is_flag=True, help="Watch the episodes in a window.")
def command(run: Path, episodes: int, seed: int, film: Path | None, show: bool) -> None:
    """Let the champion of the run in the folder RUN play episodes that the run has not seen.

    --film and --show are for Gymnasium environments that can draw themselves.
    """
    from evonet.config import Config
    from evonet.errors import OptionError
    from evonet.evolution.race import interval
    from evonet.runs import RunFolder
    from evonet.runs.champion import read_champion
    from evonet.tasks import task_from_config
    from evonet.tasks.base import adopt

    home = RunFolder(run)
    home.check()
    task = adopt(task_from_config(Config.load(home.config), str(home.config)))
    champion = read_champion(home.champion)
    task.state = champion.task_state
    network = champion.compile()
    fresh = 2**63 + seed  # beyond every seed that a run gives to its task
    if film is not None:
        _write_film(task, network, fresh, film)
    if show:
        _watch(task, network, fresh, episodes)
        return
    if champion.encoding is not None:
        raise OptionError(
            f"{run}: its champion answers examples and has no episodes to play. Let it answer "
            f"others: evonet predict {shlex.quote(str(run))} FILE"
        )
    returns = task.returns(network, fresh, 0, episodes)[0]
    for number, total in enumerate(returns.tolist(), 1):
        click.echo(f"episode {number:4}  return {total:g}")
    if len(returns) > 1:
        mean, low, high = interval(returns)
        click.echo(f"mean {mean:g}, 99 % interval {low:g} to {high:g}")
    if champion.tested is not None:
        click.echo(f"the run states {champion.fitness:g}, {champion.tested}")


def _write_film(task: Task, network: Network, seed: int, path: Path) -> None:
    from evonet.errors import OptionError
    from evonet.files.atomic import open_atomic

    data = task.film(network, seed)
    if data is None:
        raise OptionError(f"{task!r} cannot be drawn; --film needs a Gymnasium environment.")
    with open_atomic(path) as file:
        file.write(data)
    click.echo(f"Wrote {path}")


def _watch(task: Task, network: Network, seed: int, episodes: int) -> None:
    from evonet.errors import OptionError
    from evonet.tasks.gymnasium import GymnasiumTask

    if not isinstance(task, GymnasiumTask):
        raise OptionError(f"{task!r} cannot be drawn; --show needs a Gymnasium environment.")
    from evonet.tasks.environments.film import show_episode

    for number, start in enumerate(task.episode_seeds(seed, 0, episodes), 1):
        shown = show_episode(task, network, start, "human")
        end = "terminated" if shown.terminated else "truncated"
        click.echo(f"episode {number:4}  return {shown.total:g}, {end} after {shown.steps} steps")
