"""Workers on a Ray cluster, an actor each.

The genomes of a piece go into Ray's object store, and from there to the one node that needs them.
Ray starts actors, moves arrays and notices deaths; who does what is decided as for processes.
"""

from __future__ import annotations

import os
import socket
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from evonet.config.workers import WorkersTable
from evonet.errors import OptionError, WorkerError
from evonet.evaluators.jobs import Event, Fault, Job, Piece
from evonet.evaluators.last_words import LastWords
from evonet.evaluators.packing import Arrays, cut_arrays
from evonet.evaluators.parcel import unpack_task
from evonet.evaluators.process_worker import used_megabytes
from evonet.evaluators.workbench import Workbench, describe_error
from evonet.installation import install_command
from evonet.messages import counted

T = TypeVar("T")

# Seconds after which a cluster that has started no worker at all is given up.
START_SECONDS: Final = 180.0
# Seconds from one look at a cluster to the next while nothing happens.
LOOK_EVERY: Final = 2.0
# What is left to say if it is too late to say anything else.
ENDED: Final = "the run was ended from outside, as Ray does when the cluster is lost."
SAVED: Final = "What was saved is still there: once the cluster is back, resume the run."


class RayWorker:
    """What runs in an actor."""

    def __init__(self, data: bytes, threads: int) -> None:
        """Takes what `pack_task` returned."""
        self._fault: Fault | None = None
        self._bench: Workbench | None = None
        try:
            self._bench = Workbench(*unpack_task(data))
        except Exception as error:  # reported by `prepare`: an error here would only be Ray's
            self._fault = Fault(str(error).rstrip("."))

    def prepare(self) -> tuple[str, Fault | None]:
        """Returns the node's address, and why this worker cannot work, if it cannot."""
        import ray

        return str(ray.util.get_node_ip_address()), self._fault

    def work(self, job: Job, piece: Piece, arrays: Mapping[str, Any]) -> tuple[Any, ...]:
        """Evaluates a piece; returns facts, arrays, seconds and megabytes, or a fault alone."""
        assert self._bench is not None
        start = time.perf_counter()
        try:
            facts, found = self._bench.work(job, piece, arrays)
        except BaseException as error:  # tasks may raise anything, SystemExit too
            return (describe_error(error),)
        return facts, found, time.perf_counter() - start, used_megabytes()


@dataclass
class _Member:
    """One worker, as the driver sees it."""

    actor: Any
    strategy: Any
    name: str = ""


class RayCrew:
    """Workers on a Ray cluster; see `Crew`.

    Attributes:
        dashboard: The address of Ray's own dashboard, or "".
    """

    def __init__(self, data: bytes, table: WorkersTable) -> None:
        """Connects to a cluster, or starts one on this machine, and starts actors.

        Args:
            data: What `pack_task` returned.
            table: The settings; `WorkersTable` documents them.

        Raises:
            OptionError: Ray is not installed.
            WorkerError: There is no such cluster, or it has no room for a worker.
        """
        self._ray = import_ray()
        self._table = table
        self._data = data
        self._refs: dict[Any, tuple[int, int]] = {}  # the worker and the token of each answer
        self._members: list[_Member] = []
        self._job: tuple[Job, Arrays] | None = None
        self._since = time.monotonic()
        self._is_ready = False
        self._connected_here = not self._ray.is_initialized()
        self.dashboard = ""
        self._last_words: LastWords | None = None
        if self._connected_here:
            self._connect()
            self._last_words = LastWords(f"evonet: {ENDED} {SAVED}")
        self._head: tuple[str, int] | None = None
        self._missed, self._looked = 0, time.monotonic()
        with suppress(Exception):  # through Ray's client, the head's address is not known
            host, _, port = self._ray.get_runtime_context().gcs_address.rpartition(":")
            self._head = host, int(port)
        try:
            self._strategies = self._plan_actors()
            for i in range(len(self._strategies)):
                self._members.append(_Member(None, self._strategies[i]))
                self._start(i)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        table, options = self._table, dict[str, Any]()
        if table.where != "ray":
            options["address"] = table.where
        environment: dict[str, Any] = {}
        if table.files:
            environment["working_dir"] = table.files
        if table.packages:
            environment["pip"] = list(table.packages)
        try:
            with _quiet_stdout():
                context = self._ray.init(
                    runtime_env=environment or None,
                    log_to_driver=False,
                    logging_level="ERROR",
                    **options,
                )
        except Exception as error:  # Ray raises many kinds of errors
            text = " ".join(str(error).split())[:300]
            raise WorkerError(
                f"no Ray cluster could be reached at {table.where}: {text} Start one with "
                "`ray start --head`, or leave the address out to start one on this machine."
            ) from error
        # None without one, as in a minimal installation of Ray.
        self.dashboard = str(getattr(context, "dashboard_url", None) or "")

    def _plan_actors(self) -> list[Any]:
        """A scheduling strategy for each actor, as many as the settings or the cluster want."""
        table = self._table
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        if table.cpus == 0:
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as Affinity

            found: list[Any] = [Affinity(node["NodeID"], soft=True) for node in nodes]
            return found[: table.count] if table.count else found
        if table.count:
            return ["SPREAD"] * table.count
        room = 0
        for node in nodes:
            resources = node["Resources"]
            fits = int(resources.get("CPU", 0) // table.cpus)
            if table.gpus:
                fits = min(fits, int(resources.get("GPU", 0) // table.gpus))
            room += fits
        if room == 0:
            wanted = f"{table.cpus} cores" + (f" and {table.gpus:g} GPUs" if table.gpus else "")
            raise WorkerError(
                f"no node of the Ray cluster has {wanted} for a worker: see workers.cpus and "
                "workers.gpus."
            )
        return ["SPREAD"] * room

    def __len__(self) -> int:
        return len(self._members)

    def name(self, worker: int) -> str:
        """The worker's number and its node."""
        where = self._members[worker].name
        return f"{worker} on {where}" if where else str(worker)

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines about the cluster, for people."""
        shown = f"{counted(len(self), 'worker')} on Ray"
        return (f"{shown}, dashboard at http://{self.dashboard}" if self.dashboard else shown,)

    def begin(self, job: Job, arrays: Arrays) -> None:
        """Keeps what pieces are cut from; see `Crew`."""
        self._job = job, arrays

    def submit(self, worker: int, token: int, piece: Piece) -> None:
        """Calls an actor; see `Crew`."""
        assert self._job is not None
        job, arrays = self._job
        actor = self._members[worker].actor

        def send() -> Any:
            stored = self._ray.put(cut_arrays(arrays, piece.start, piece.stop))
            return actor.work.remote(job, piece, stored)

        self._refs[self._call(send)] = worker, token

    def wait(self, seconds: float | None) -> list[Event]:
        """Waits for answers and deaths; see `Crew`."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            limit = LOOK_EVERY if end is None else min(LOOK_EVERY, max(0.0, end - time.monotonic()))
            with self._cluster():
                ready, _ = self._ray.wait(list(self._refs), timeout=limit)
                if ready:
                    ready, _ = self._ray.wait(
                        list(self._refs), num_returns=len(self._refs), timeout=0
                    )
            events = [event for ref in ready for event in self._read(ref)]
            if not events:
                self._check_head()
            if events or (end is not None and time.monotonic() >= end):
                return events
            self._check_start()

    def _read(self, ref: Any) -> Iterator[Event]:
        if ref not in self._refs:  # of a worker that was replaced meanwhile
            return
        worker, token = self._refs.pop(ref)
        member = self._members[worker]
        try:
            answer = self._call(lambda: self._ray.get(ref))
        except self._ray.exceptions.RayActorError as error:
            self._start(worker)
            yield Event(worker, "died", fault=Fault(f"its worker died: {_first_line(error)}"))
            return
        except self._ray.exceptions.RayError as error:
            yield Event(worker, "failed", token, fault=Fault(_first_line(error)))
            return
        if token < 0:
            member.name, fault = answer
            self._is_ready = True
            yield Event(worker, "ready" if fault is None else "broken", fault=fault)
        elif len(answer) == 1:
            yield Event(worker, "failed", token, fault=answer[0])
        else:
            facts, arrays, took, used = answer
            yield Event(worker, "done", token, facts, arrays, seconds=took)
            if self._table.memory and used > self._table.memory:
                self.replace(worker)
                yield Event(worker, "left")

    def replace(self, worker: int) -> None:
        """Kills an actor and starts another; see `Crew`."""
        with suppress(self._ray.exceptions.RayError):  # it is dead already
            self._call(lambda: self._ray.kill(self._members[worker].actor))
        self._refs = {ref: own for ref, own in self._refs.items() if own[0] != worker}
        self._start(worker)

    def close(self) -> None:
        """Kills all actors, and leaves the cluster; see `Crew`."""
        with suppress(Exception):  # the cluster is gone
            self._call(self._leave)
        self._members.clear()
        self._refs.clear()
        if self._last_words is not None:
            self._last_words.close()

    def _leave(self) -> None:
        for member in self._members:
            with suppress(Exception):  # it is dead already
                if member.actor is not None:
                    self._ray.kill(member.actor)
        if self._connected_here:
            self._ray.shutdown()

    def _start(self, worker: int) -> None:
        member, table = self._members[worker], self._table
        variables = {"OMP_NUM_THREADS": str(table.threads)} if table.threads else {}

        def start() -> tuple[Any, Any]:
            actor = (
                self._ray.remote(RayWorker)
                .options(
                    num_cpus=table.cpus,
                    num_gpus=table.gpus or None,
                    scheduling_strategy=member.strategy,
                    max_restarts=0,
                    runtime_env={"env_vars": variables} if variables else None,
                )
                .remote(self._data, table.threads)
            )
            return actor, actor.prepare.remote()

        member.actor, ref = self._call(start)
        self._refs[ref] = worker, -1

    def _call(self, call: Callable[[], T]) -> T:
        """Calls Ray from another thread, and looks at the head for as long as it takes.

        Without a head Ray does not return for a minute, and then ends this process.

        Raises:
            WorkerError: The cluster is lost.
        """
        found: list[T] = []
        raised: list[BaseException] = []

        def run() -> None:
            try:
                found.append(call())
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=run, name="evonet-ray", daemon=True)
        thread.start()
        thread.join(LOOK_EVERY)
        while thread.is_alive():
            self._check_head()
            thread.join(LOOK_EVERY)
        with self._cluster():
            for error in raised:
                raise error
        return found[0]

    def _check_head(self) -> None:
        """Raises if nobody answers at the head's address.

        Ray itself would wait for a minute, and then end this process without a chance to say why.
        """
        now = time.monotonic()
        if self._head is None or now - self._looked < LOOK_EVERY:
            return
        self._looked = now
        try:
            socket.create_connection(self._head, timeout=2.0).close()
            self._missed = 0
        except OSError as error:
            self._missed += 1
            if self._missed > 1:
                raise WorkerError(_lost(f"its head does not answer: {error}.")) from error

    def _check_start(self) -> None:
        if not self._is_ready and time.monotonic() - self._since > START_SECONDS:
            free = self._ray.available_resources().get("CPU", 0)
            raise WorkerError(
                f"no worker was ready after {START_SECONDS:g} s: the Ray cluster has {free:g} free "
                f"cores, and a worker needs {self._table.cpus} (workers.cpus)."
            )

    @contextmanager
    def _cluster(self) -> Iterator[None]:
        """Turns the loss of the cluster into a clear line."""
        try:
            yield
        except self._ray.exceptions.RayActorError:
            raise
        except (
            ConnectionError,
            self._ray.exceptions.RaySystemError,
            self._ray.exceptions.RpcError,
        ) as error:
            raise WorkerError(_lost(_first_line(error))) from error


def import_ray() -> Any:
    """Imports Ray.

    Raises:
        OptionError: It is not installed.
    """
    # Ray reports what people do with it unless it is told not to before it is imported.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise OptionError(
            f"workers on other machines need Ray. Install it with: {install_command('ray')}"
        ) from None
    return ray


def dumps_by_value(found: Any) -> bytes:
    """Pickles an object together with the classes of the user's own modules.

    So other machines need not have the files. Modules that are installed, and evonet, are taken
    for installed there too.
    """
    cloudpickle = import_ray().cloudpickle
    own = [module for name, module in list(sys.modules.items()) if _is_own(name, module)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        data: bytes = cloudpickle.dumps(found)
    except Exception:  # something in those modules refuses: by their names, then
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)
        own = []
        data = cloudpickle.dumps(found)
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)
    return data


def _is_own(name: str, module: Any) -> bool:
    """Whether a module is the user's, and not installed."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or name.split(".")[0] in ("evonet", "__main__", "__mp_main__"):
        return False
    places = {sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    path = Path(file)
    return "-packages" not in file and not any(path.is_relative_to(place) for place in places)


def _lost(reason: str) -> str:
    return f"the Ray cluster is lost: {reason} {SAVED}"


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no reason given'}"[:300]


@contextmanager
def _quiet_stdout() -> Iterator[None]:
    """Keeps what Ray prints when it starts out of the standard output."""
    before = sys.stdout
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stdout = before
