"""Prints what the CUDA kernels need: registers, instructions, and what a model expects of them.

    python -m benchmarks.cuda_cost [--write docs/gpu.md]

Everything but the model is read off the machine code that NVRTC makes, so no GPU is needed: pip
install '.[cuda13]' nvidia-cuda-nvdisasm. --write replaces the tables between the marks of a page.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import evonet
from benchmarks import sass, wide_model
from evonet.backends.cuda import reverse
from evonet.backends.cuda.cards import CARDS
from evonet.backends.cuda.cost import Workload, resident_blocks
from evonet.backends.cuda.launch import LaunchPlan
from evonet.backends.cuda.layout import packed_nbytes
from evonet.backends.cuda.limits import DeviceLimits
from evonet.backends.cuda.nvrtc import nvrtc_version
from evonet.backends.cuda.plan import WIDE_REGISTERS, option_sets, plan_forward
from evonet.backends.learning import OPTIMIZERS
from evonet.definitions.controls import CONTROLS
from evonet.schedule import build_schedule

BEGIN, END = "<!-- kernel tables: begin -->", "<!-- kernel tables: end -->"
ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


# Genomes, inputs, outputs, nodes, connections, samples.
WORKLOADS = (
    (10_000, 2, 1, 4, 8, 4),
    (1000, 8, 4, 50, 200, 1),
    (1000, 8, 4, 50, 200, 32),
    (1000, 8, 4, 50, 200, 1024),
    (1000, 32, 8, 200, 4000, 1024),
    (100, 64, 10, 5000, 50_000, 32),
)


def tables() -> Iterator[str]:
    """All tables, as lines of Markdown."""
    yield f"Made by `python -m benchmarks.cuda_cost` with NVRTC {nvrtc_version()}."
    yield ""
    yield from kernel_table()
    yield ""
    yield from activation_table()
    yield ""
    yield from rollout_table()
    yield ""
    yield from reverse_table()
    yield ""
    yield from model_table()
    yield ""
    yield from wide_model.lines()


def kernel_table() -> Iterator[str]:
    yield "**SASS instructions per connection and sample** in the loop over the links of a sum, and"
    yield "registers of a thread. No kernel spills on any of these architectures."
    yield ""
    yield "| kernel | " + " | ".join(ARCHS) + " |"
    yield "|---|" + "---|" * len(ARCHS)
    for kernel, defines in option_sets():
        if kernel == "rollout" or defines.get("MEMORY") or kernel.startswith("grid_"):
            continue  # the loop over links is the same with memory
        cells = [describe(defines)]
        for arch in ARCHS:
            found = sass.report(kernel, defines, arch)
            if found.spills:
                raise SystemExit(f"{kernel} {defines} spills {found.spills} bytes on {arch}")
            loop = found.hot_loop if kernel != "loss" else None
            figure = f"{loop.per_product:.2f} · " if loop else ""
            cells.append(f"{figure}{found.registers}")
        yield f"| `{kernel}`, " + " | ".join(cells) + " |"


def describe(defines: dict[str, Any]) -> str:
    words = ["float32" if defines["REAL"] == "float" else "float64"]
    if "VECTOR" in defines:
        words.append(f"{defines['VECTOR']} per thread")
    if "WIDE_TEAM" in defines:
        words.append("a block per genome" if defines["WIDE_TEAM"] else "genomes share a block")
    if defines.get("GLOBAL_VALUES") and "MEMORY" in defines:
        words.append("values in global memory")
    if "OPTIMIZER" in defines:
        words.append(OPTIMIZERS[defines["OPTIMIZER"]])
    if "LOSS" in defines:
        words.append(evonet.functions.registry.LOSSES[defines["LOSS"]].name)
    return ", ".join(words)


def activation_table() -> Iterator[str]:
    yield "**SASS instructions per activation and sample** on sm_86, four samples at a time:"
    yield ""
    floats, doubles = (sass.activation_costs("sm_86", real) for real in ("float", "double"))
    names = sorted(floats, key=floats.__getitem__)
    for part in (names[: len(names) // 2], names[len(names) // 2 :]):
        yield "| | " + " | ".join(part) + " |"
        yield "|---|" + "---|" * len(part)
        yield "| float32 | " + " | ".join(f"{floats[name]:.0f}" for name in part) + " |"
        yield "| float64 | " + " | ".join(f"{doubles[name]:.0f}" for name in part) + " |"
        yield ""


def rollout_table() -> Iterator[str]:
    found = {
        (str(defines["CONTROL"]), defines["REAL"], defines["GLOBAL_VALUES"]): sass.report(
            kernel, defines, "sm_86"
        )
        for kernel, defines in option_sets()
        if kernel == "rollout" and not defines["MEMORY"]
    }
    if any(report.spills for report in found.values()):
        raise SystemExit("a rollout spills")
    kinds = [(real, in_global) for real in ("float", "double") for in_global in (0, 1)]
    names = [describe({"REAL": r, "GLOBAL_VALUES": g, "MEMORY": 0}) for r, g in kinds]
    loops = [found[("cartpole", *kind)].hot_loop for kind in kinds]  # no solver, so those of links
    yield "**Registers of a thread of `rollout`** on sm_86, network and task in one kernel, and"
    yield "SASS instructions per connection and episode:"
    yield ""
    yield "| | " + " | ".join(names) + " |"
    yield "|---|" + "---|" * len(names)
    for control in CONTROLS:
        cells = (str(found[(control.name, *kind)].registers) for kind in kinds)
        yield f"| {control.name} | " + " | ".join(cells) + " |"
    yield (
        "| a connection | " + " | ".join(f"{loop.per_product:.2f}" for loop in loops if loop) + " |"
    )
    yield ""


def reverse_table() -> Iterator[str]:
    yield "**The kernels that differentiate and learn**, without spills: registers of a thread, and"
    yield "before them SASS instructions. Those of `gradient` are per connection and sample:"
    yield "forwards, for the adjoint of its source, and for its weight's derivative; those of"
    yield "`learn_step` per gene, its part of the norm included."
    yield ""
    yield "| kernel | " + " | ".join(ARCHS) + " |"
    yield "|---|" + "---|" * len(ARCHS)
    for kernel, defines in reverse.option_sets():
        cells = []
        for arch in ARCHS:
            found = sass.report(kernel, defines, arch)
            if found.spills:
                raise SystemExit(f"{kernel} {defines} spills {found.spills} bytes on {arch}")
            of = link_instructions if kernel == "gradient" else gene_instructions
            cells.append(f"{of(found)} · {found.registers}")
        yield f"| `{kernel}`, {describe(defines)} | " + " | ".join(cells) + " |"


def link_instructions(gradient: sass.Report) -> str:
    """Instructions of the three loops over links: those with one product and little else."""
    simple = [loop for loop in gradient.loops if loop.products == 1]
    reading = sorted(len(loop.code) for loop in simple if not loop.stores)
    summing = min(len(loop.code) for loop in simple if loop.stores)
    return f"{reading[0]} + {reading[-1]} + {summing}"


def gene_instructions(step: sass.Report) -> str:
    """Instructions of the loops over genes: the norm and the step, for each of three sorts."""
    writing = [len(loop.code) for loop in step.loops if loop.stores]
    if len(writing) != 6:
        raise SystemExit(f"six loops over genes were expected, and {len(writing)} found")
    return f"{sum(writing) / 3:.0f}"


def model_table() -> Iterator[str]:
    yield "**A model, not a measurement**: what `evonet/backends/cuda/cost.py` expects of float32"
    yield "networks with sigmoid on two public cards, from the counts above, latencies and data"
    yield "sheets. Copies are those of the schedule to the GPU and of all outputs back."
    yield ""
    yield (
        "| genomes × (nodes, connections) × samples | card | launch | warps per SM | kernel "
        "| connections × samples per second | copies |"
    )
    yield "|---|---|---|---|---|---|---|"
    for shape in WORKLOADS:
        genomes, inputs, outputs, nodes, connections, samples = shape
        population = evonet.Population.random(
            genomes, inputs, outputs, num_nodes=nodes, num_connections=connections
        )
        schedule = build_schedule(population)
        work = Workload.of(schedule, 0, genomes, samples, True)
        for card in CARDS:
            plan = plan_forward(work, card.limits)
            seconds = plan.cycles / (card.gigahertz * 1e9)
            rate = work.num_edges * samples / seconds
            copied = packed_nbytes(schedule, 0, genomes) + genomes * samples * outputs * 4
            yield (
                f"| {genomes:,} × ({nodes:,}, {connections:,}) × {samples:,} | {card.name} "
                f"| {launch(plan)} | {resident_warps(plan, card.limits)} | {duration(seconds)} "
                f"| {rate:.1e} | {duration(copied / (card.link * 1e9))} |"
            )


def launch(plan: LaunchPlan) -> str:
    if plan.mapping == "samples":
        return f"`samples`, {plan.defines['VECTOR']} per thread"
    if plan.mapping == "wide":
        samples = f"{plan.columns:,} samples at a time"
        return f"`wide`, {plan.strip} nodes for {plan.tile} samples, {samples}"
    return f"`levels`, {plan.team_size} threads for {plan.tile} samples"


def resident_warps(plan: LaunchPlan, limits: DeviceLimits) -> int:
    """Warps that a multiprocessor holds, with the registers that the plan reckons with."""
    registers = {"samples": 48, "levels": 64, "wide": WIDE_REGISTERS[4]}[plan.mapping]
    room = resident_blocks(limits, plan.block[0], registers, plan.shared_mem)
    blocks = min(room, -(-plan.grid[0] // limits.num_sms))
    return -(-blocks * plan.block[0] // 32)


def duration(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="a page with marks, to put the tables into")
    page = parser.parse_args().write
    text = "\n".join(tables()).rstrip()
    if page is None:
        print(text)
        return
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
