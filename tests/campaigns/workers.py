"""Checks that champions have the same bytes whoever evaluates, dies, hangs or misbehaves.

    python -m tests.campaigns.workers [equal] [kills] [driver] [bad] [ray] [--kills 20] [--quick]

`equal` evolves four tasks without workers, with 1, 2 and 3 processes, and compares champion.json.
`kills` does so while workers are killed at random moments (--kills of them). `driver` kills the
run itself, now and then, and resumes it. `bad` evolves on 35 environments that misbehave, under
both policies: each run must end in time, with a result or one line, and leave nothing behind.
`ray` compares champions on clusters of one and two nodes, kills actors and a node, and ends the
head. Without names, all of it is done; --quick takes fewer generations.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.support.import_paths import importing_from

HOME = Path(__file__).parents[2]
TASKS = {
    "cartpole": ("cartpole", "--population", "100", "--generations", "6"),
    "digits": ("digits", "--population", "100", "--generations", "8"),
    "LunarLander": (
        *("gym:LunarLander-v3", "--population", "30", "--generations", "3"),
        *("--set", "task.max_steps=150", "--set", "task.retests=12"),
    ),
    "python": ("tests/support/worker_tasks.py:Indexed", "--population", "60", "--generations", "8"),
    "normalized": (
        *("gym:Pendulum-v1", "--population", "20", "--generations", "3", "--episodes", "1"),
        *("--set", "task.normalize=true", "--set", "task.retests=6"),
    ),
}
PATIENCE = 900.0

failures: list[str] = []


def check(fine: bool, what: str) -> None:
    """Prints a line, and remembers what is wrong."""
    print(f"  {'ok  ' if fine else 'FAIL'} {what}", flush=True)
    if not fine:
        failures.append(what)


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "evonet", *words]


def evolve(folder: Path, words: Sequence[str], *more: str, **variables: str) -> Any:
    """Starts a run."""
    return subprocess.Popen(
        command("evolve", *words, "--seed", "5", "--out", str(folder), *more),
        cwd=HOME,
        env={**importing_from(HOME), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(run: Any) -> tuple[int, str]:
    """Waits for a run; ends it, and counts it as hanging, if it takes too long."""
    try:
        _, errors = run.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        return -99, "it hangs"
    return run.returncode, errors


def champion(folder: Path) -> bytes:
    file = folder / "champion.json"
    return file.read_bytes() if file.is_file() else b""


def parents() -> dict[int, int]:
    """The parent of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            state, parent = text.rpartition(")")[2].split()[:2]
            if state != "Z":
                found[int(entry.name)] = int(parent)
    return found


def below(process: int) -> list[int]:
    """All processes that another one has started, directly or not."""
    tree = parents()
    found, waiting = [], [process]
    while waiting:
        top = waiting.pop()
        children = [child for child, parent in tree.items() if parent == top]
        found += children
        waiting += children
    return found


def title(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def workers_of(process: int) -> list[int]:
    return [child for child in below(process) if "spawn_main" in title(child)]


def shared_memory() -> set[str]:
    return {name for name in os.listdir("/dev/shm") if name.startswith("psm_")}


def alone(scratch: Path) -> dict[str, bytes]:
    """The champions of runs without workers."""
    found = {}
    for name, words in TASKS.items():
        code, errors = finish(evolve(scratch / name, words, "--workers", "0", "-q"))
        found[name] = champion(scratch / name)
        check(code == 0 and found[name] != b"", f"{name}: evolves {errors}")
    return found


def equal(scratch: Path, wanted: dict[str, bytes]) -> None:
    """Compares champions of runs with worker processes."""
    for name, words in TASKS.items():
        for workers in ("1", "2", "3"):
            folder = scratch / f"{name}-{workers}"
            code, errors = finish(evolve(folder, words, "--workers", workers, "-q"))
            same = code == 0 and champion(folder) == wanted[name]
            check(same, f"{name}: {workers} processes {errors}")


def harass(run: Any, choose: Callable[[int], list[int]], most: int, chance: random.Random) -> int:
    """Kills workers of a run until it ends or enough are dead; returns how many."""
    killed = 0
    while run.poll() is None and killed < most:
        time.sleep(chance.uniform(0.05, 0.8))
        targets = choose(run.pid)
        if targets:
            try:
                os.kill(chance.choice(targets), signal.SIGKILL)
                killed += 1
            except OSError:
                pass
    return killed


def kills(scratch: Path, wanted: dict[str, bytes], most: int) -> None:
    """Kills worker processes at random moments."""
    chance, total, before = random.Random(1), 0, shared_memory()
    while total < most:
        for name, words in TASKS.items():
            if total >= most:
                break
            folder = scratch / f"{name}-kills-{total}"
            run = evolve(folder, words, "--workers", "2", "-q")
            count, few = list[int](), min(4, most - total)

            def kill(run: Any = run, count: list[int] = count, few: int = few) -> None:
                count.append(harass(run, workers_of, few, chance))

            thread = threading.Thread(target=kill)
            thread.start()
            code, errors = finish(run)
            thread.join()
            total += count[0]
            same = code == 0 and champion(folder) == wanted[name]
            check(same, f"{name}: {count[0]} workers killed, {total} in all {errors}")
    check(shared_memory() <= before, "no shared memory is left")


def driver(scratch: Path, wanted: dict[str, bytes]) -> None:
    """Kills the run itself, with SIGKILL and SIGINT, and resumes it."""
    chance, before = random.Random(2), shared_memory()
    for name, words in TASKS.items():
        folder = scratch / f"{name}-driver"
        run = evolve(folder, words, "--workers", "2", "-q")
        ends = 0
        for attempt in range(8):
            time.sleep(chance.uniform(1.5, 4.0))
            started = workers_of(run.pid)
            if run.poll() is None and attempt < 7:
                run.send_signal(signal.SIGKILL if attempt % 2 else signal.SIGINT)
                ends += 1
            code, errors = finish(run)
            check("Traceback" not in errors, f"{name}: no traceback {errors}")
            time.sleep(0.5)
            left = [process for process in started if process in parents()]
            check(not left, f"{name}: no worker outlives the run {left}")
            if code == 0 or not (folder / "config.toml").is_file():
                break
            run = subprocess.Popen(
                command("resume", str(folder), "-q"),
                cwd=HOME,
                env=importing_from(HOME),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        if (folder / "config.toml").is_file():
            check(champion(folder) == wanted[name], f"{name}: ended {ends} times and resumed")
    check(shared_memory() <= before, "no shared memory is left")


def bad(scratch: Path) -> None:
    """Evolves on environments that misbehave, under both policies."""
    from tests.support.bad_environments import BAD

    before = shared_memory()
    ended = {"a result": 0, "a line": 0}
    for name in BAD:
        for policy in ("worst", "error"):
            folder = scratch / f"bad-{name}-{policy}"
            words = (
                *(f"gym:tests.support.bad_environments:Bad-{name}-v0", "--population", "8"),
                *("--generations", "2", "--episodes", "2", "--on-bad-fitness", policy),
                *("--set", "task.retests=2", "--set", "task.max_steps=40"),
                *("--set", "workers.timeout=1.0", "--set", "workers.retries=0"),
                *("--set", "workers.memory=600"),
            )
            run = evolve(folder, words, "--workers", "1", "-q")
            below_it: set[int] = set()
            watch = threading.Event()

            def look(run: Any = run, seen: set[int] = below_it, over: Any = watch) -> None:
                while not over.wait(0.1):
                    seen.update(below(run.pid))

            thread = threading.Thread(target=look)
            thread.start()
            code, errors = finish(run)
            watch.set()
            thread.join()
            lines = [line for line in errors.splitlines() if line.startswith("evonet: ")]
            how = "a result" if code == 0 else "a line"
            ended[how] += 1
            fine = code == 0 or (code == 1 and len(lines) == 1 and "fault in evonet" not in errors)
            shown = lines[-1][:150] if lines else ""
            check(fine, f"{name}, {policy}: {how} {shown}" + ("" if fine else errors[-2000:]))
            time.sleep(0.2)
            left = [p for p in below_it if p in parents() and "resource_tracker" not in title(p)]
            check(not left, f"{name}, {policy}: nothing is left {[title(p) for p in left]}")
    print(f"  {ended}")
    check(shared_memory() <= before, "no shared memory is left")


def on_ray(scratch: Path, wanted: dict[str, bytes]) -> None:
    """Compares champions on clusters of one and two nodes; kills actors, a node and the head."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    def actors(_: int) -> list[int]:
        return [p for p in below(os.getpid()) if title(p).startswith("ray::RayWorker")]

    for nodes in (1, 2):
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1 if nodes == 2 else 2})
        second = cluster.add_node(num_cpus=1) if nodes == 2 else None
        try:
            for name, words in TASKS.items():
                folder = scratch / f"{name}-ray-{nodes}"
                options = ("--workers", "ray", "-q")
                run = evolve(folder, words, *options, RAY_ADDRESS=cluster.address)
                code, errors = finish(run)
                same = code == 0 and champion(folder) == wanted[name]
                check(same, f"{name}: Ray with {nodes} nodes {errors}")
            name, words = "python", TASKS["python"]
            long = (*words[:-1], "60")
            alone, folder = scratch / f"long-{nodes}", scratch / f"long-ray-{nodes}"
            finish(evolve(alone, long, "-q"))
            run = evolve(folder, long, "--workers", "ray", "-q", RAY_ADDRESS=cluster.address)
            count = harass(run, actors, 4, random.Random(3))
            if second is not None:
                cluster.remove_node(second)
            code, errors = finish(run)
            same = code == 0 and champion(folder) == champion(alone)
            lost = " and a node lost" if second is not None else ""
            check(same, f"{name}: {count} actors killed{lost} {errors}")
        finally:
            cluster.shutdown()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    folder = scratch / "head"
    endless = ("gym:LunarLander-v3", "--population", "200", "--generations", "50")
    run = evolve(folder, endless, "--workers", "ray", "-q", RAY_ADDRESS=cluster.address)
    while run.poll() is None and not (folder / "metrics.jsonl").is_file():
        time.sleep(0.5)
    cluster.shutdown()
    code, errors = finish(run)
    check(code != 0 and "evonet: " in errors, f"head lost: {errors[-300:]}")
    check(any((folder / "checkpoints").iterdir()), "head lost: the run can be resumed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ("equal", "kills", "driver", "bad", "ray")
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(names))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    parts = arguments.parts or names
    if arguments.quick:
        for name in list(TASKS):
            TASKS[name] = (*TASKS[name], "--generations", "2")
    scratch = Path(tempfile.mkdtemp(prefix="evonet-workers-"))
    try:
        wanted = {}
        if set(parts) & {"equal", "kills", "driver", "ray"}:
            print("alone", flush=True)
            wanted = alone(scratch)
        if "equal" in parts:
            print("equal", flush=True)
            equal(scratch, wanted)
        if "kills" in parts:
            print("kills", flush=True)
            kills(scratch, wanted, arguments.kills)
        if "driver" in parts:
            print("driver", flush=True)
            driver(scratch, wanted)
        if "bad" in parts:
            print("bad", flush=True)
            bad(scratch)
        if "ray" in parts:
            print("ray", flush=True)
            on_ray(scratch, wanted)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
