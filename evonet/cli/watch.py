"""What `evolve` and `resume` print while they run, and at the end."""

from __future__ import annotations

import errno
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from evonet.cli.app import Exit, describe
from evonet.cli.interrupts import Interrupts
from evonet.cli.streams import complain
from evonet.errors import EvonetError, RunFolderError
from evonet.evolution.callbacks import Progress
from evonet.evolution.hooks import Callback, Result, Run
from evonet.evolution.profile import Profile
from evonet.files.atomic import open_atomic
from evonet.messages import counted, number
from evonet.network import compile_with
from evonet.runs.champion_notes import claim_of, score_held_out, score_parts
from evonet.runs.folder import RunFolder
from evonet.runs.loop import task_seed

if TYPE_CHECKING:
    from evonet.definitions.dynamics import Dynamics
    from evonet.genes.population import Population

# What the system reports when a disk or a folder takes nothing more.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)


class Watch:
    """Accompanies a run, which has to call `callbacks`, from the first line to the last."""

    def __init__(
        self,
        home: RunFolder,
        name: str,
        quiet: bool,
        profile: bool = False,
        progress: bool = True,
    ) -> None:
        """Prints nothing yet.

        Quiet runs print nothing as long as all goes well; `profile` prints at the end where the
        time went.
        """
        self._home = home
        self._quiet = quiet
        self._start = _Start()
        self._interrupts = Interrupts()
        self.callbacks: list[Callback] = [self._start, self._interrupts]
        if not quiet:
            self.callbacks.append(_FirstLine(home, name))
        if not quiet and progress:
            self.callbacks.append(Progress())
        self._profile = Profile() if profile else None
        if self._profile is not None:
            self.callbacks.append(self._profile)

    def over(self, run: Callable[[], Result]) -> int:
        """Lets a run happen, then writes its report and prints how it ended.

        Returns the exit code. If the disk or the folder takes nothing more, a `RunFolderError`
        names the fix; all other errors are those of the run.
        """
        result: Result | None = None
        try:
            with self._interrupts:
                result = run()
        except KeyboardInterrupt:
            if self._start.run is None:
                raise
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            hope = "Choose another folder."
            if self._home.config.is_file():
                hope = (
                    "What was saved before is still there; once this is fixed, resume with: "
                    f"{self._resume_command}"
                )
            raise RunFolderError(
                f"{self._home.path}: cannot be written to: {describe(error)} {hope}"
            ) from error
        if self._profile is not None:
            self._profile.stop()
        if result is None or (self._interrupts.asked and not self._is_over(result)):
            assert self._start.run is not None
            self._print_interrupted(self._start.run.algorithm.generations_done)
            self._print_profile()
            return Exit.INTERRUPTED
        self._write_film(result)
        written = self._write_report()
        if not self._quiet:
            self._print_done(result, written)
        self._print_profile()
        return Exit.DONE

    def _is_over(self, result: Result) -> bool:
        """Whether a run would have ended here even if nobody had interrupted it."""
        assert self._start.run is not None
        ended = result.solved or result.algorithm.stalled
        return ended or result.generation + 1 >= self._start.run.generations

    @property
    def _resume_command(self) -> str:
        return f"evonet resume {shlex.quote(str(self._home.path))}"

    def _write_film(self, result: Result) -> None:
        """Lets the champion play an episode for the report, if its task can be drawn."""
        assert self._start.run is not None
        task, best = self._start.run.task, result.best
        if best is None:
            return
        try:
            state = task.state
            if best.task_state:
                task.state = dict(best.task_state)
            try:
                network = compile_with(best.population, result.algorithm.config.dynamics)
                data = task.film(network, task_seed(result.algorithm.seed, best.generation))
            finally:
                task.state = state
            if data is not None:
                with open_atomic(self._home.film) as file:
                    file.write(data)
        except (EvonetError, OSError) as error:
            reason = describe(error) if isinstance(error, OSError) else str(error)
            click.echo(f"evonet: the report has no film: {reason}", err=True)
        except KeyboardInterrupt:
            click.echo("evonet: the report has no film: interrupted.", err=True)

    def _write_report(self) -> bool:
        """Writes the page; a run is not spoilt by a page that cannot be written."""
        from evonet.report import write_report

        shown = not self._quiet and sys.stderr.isatty()
        if shown:
            click.echo("  writing the report ...\r", nl=False, err=True)
        try:
            write_report(self._home)
        except KeyboardInterrupt:
            again = f"evonet report {shlex.quote(str(self._home.path))}"
            click.echo(f"evonet: no report was written: interrupted. Later: {again}", err=True)
            return False
        except (EvonetError, OSError) as error:
            reason = describe(error) if isinstance(error, OSError) else str(error)
            complain(f"evonet: warning: no report was written: {reason}")
            return False
        return True

    def _print_interrupted(self, done: int) -> None:
        saved = "which is saved" if done == 1 else "which are saved"
        when = f"after {counted(done, 'generation')}, {saved}. Resume"
        if done == 0:
            when = "before the first generation was done. Start again"
        click.echo(f"\nevonet: interrupted {when} with: {self._resume_command}", err=True)

    def _print_done(self, result: Result, written: bool) -> None:
        best, config = result.best, result.algorithm.config
        if best is None:
            click.echo("no generation was to be done")
            return
        threshold = config.neat.fitness_threshold
        if result.solved:
            verdict = click.style("solved", fg="green", bold=True)
            line = f"{verdict} in generation {result.generation}"
        else:
            verdict = "done" if threshold is None else "not solved"
            line = f"{verdict} after {counted(result.generation + 1, 'generation')}"
        goal = "" if threshold is None else f" (threshold {number(threshold, 6)})"
        click.echo(
            f"{line}: best fitness {number(best.fitness, 6)}{goal}, "
            f"{counted(result.evaluations, 'evaluation')}, {self._time_taken(result)}"
        )
        if best.tested is not None:
            click.echo(f"  tested    {best.tested}")
        if result.algorithm.stalled and not result.solved:
            age = counted(result.generation - best.generation, "generation")
            click.echo(f"  stopped   no better genome in {age} (run.patience)")
        elif result.out_of_time and not result.solved:
            minutes = number(config.run.minutes, 6)
            click.echo(f"  stopped   out of time (run.minutes = {minutes})")
            click.echo(f"  resume    {self._resume_command}")
        elif not result.solved and threshold is not None:
            more = 2 * max(1, config.run.generations)
            click.echo(f"  resume    {self._resume_command} --generations {more}")
        self._print_scores(best.population, config.dynamics)
        click.echo(f"  champion  {self._home.champion}")
        if written:
            click.echo(f"  report    {self._home.report}")

    def _time_taken(self, result: Result) -> str:
        """Returns the seconds of the run, or of what was done since it was resumed."""
        assert self._start.run is not None
        run, seconds = self._start.run, f"{result.seconds:.1f} s"
        if run.resumed_from is None:
            return seconds
        new = counted(run.algorithm.generations_done - run.first_generation, "generation")
        return f"of which the last {new} took {seconds}"

    def _print_profile(self) -> None:
        """Prints where the time went, if that was asked for."""
        if self._profile is None or self._profile.generations == 0:
            return
        from evonet.installation import load_native

        assert self._start.run is not None
        native = load_native()
        available = native.available_threads() if native else 1
        run = self._start.run
        advice = self._profile.advice(run.task, run.algorithm.threads, available)
        click.echo(f"\n{self._profile.table()}\n\n{advice}")

    def _print_scores(self, champion: Population, dynamics: Dynamics) -> None:
        """Scores the champion on each part of the examples, if there are any."""
        assert self._start.run is not None
        task = self._start.run.task
        parts = score_parts(task, champion, dynamics)
        parts.pop("validation", None)  # it chose the champion, so it flatters
        if task.num_held_out and "held out" not in parts:
            parts["held out"] = score_held_out(task, champion, dynamics)
        claim = claim_of(task, champion, dynamics)
        for part, scores in parts.items():
            shown = ", ".join(f"{name} {score:.4g}" for name, score in scores.items())
            if part == "held out":
                shown += (
                    f"{f', {claim},' if claim else ''} on {counted(task.num_held_out, 'example')}"
                )
            click.echo(f"  {part.ljust(8)}  {shown}")
        if claim is not None and claim.guess is not None and not claim.beats_guess:
            click.echo(
                f"  warning   not clearly better than always answering {claim.guessed}: "
                f"{claim.score} {claim.guess:.4g}"
            )


class _Start(Callback):
    """Keeps the run once it has started, so that there is something to resume."""

    run: Run | None = None

    def on_start(self, run: Run) -> None:
        self.run = run


class _FirstLine(Callback):
    """Prints what is about to happen."""

    def __init__(self, home: RunFolder, name: str) -> None:
        self._home = home
        self._name = name

    def on_start(self, run: Run) -> None:
        from evonet.backends import resolve_backend

        algorithm = run.algorithm
        backend = resolve_backend(algorithm.backend).name
        again = f", from generation {run.first_generation}" if run.resumed_from else ""
        click.echo(
            f"{self._name}: {counted(len(algorithm.state.population), 'genome')} on backend "
            f"{backend}, seed {algorithm.seed}{again}, into {self._home.path}"
        )
        where = () if run.evaluator is None else run.evaluator.notes
        for note in (*run.task.notes, *where):
            click.echo(f"  {note}")
