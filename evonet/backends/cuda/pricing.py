"""What a generation on a GPU costs as a whole: the host's work, the copies and the kernels.

It is a model, for `auto` to choose before anything was measured and for tables. Its assumptions:

- genes that are on the host are packed there at `PACK` bytes per second, while the GPU copies what
  is packed already; genes on the GPU are bred, compiled and packed there (`genetics/cost.py`);
- copies reach the link's speed, `LINK` where it is not known, and memory `MEMORY`;
- kernels take the cycles of the cost model, at `GIGAHERTZ` where the clock is not known;
- every evaluation adds `CALL` seconds: Python, launches, and waiting for the result. In a
  generation that stays on the GPU a launch takes the host `LAUNCH_CALL`, and a number that it waits
  for `WAIT_CALL`; host and GPU never work at the same time;
- kernels are compiled, samples are on the GPU, and all genomes fit into its memory.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from evonet.backends.cuda.cost import WARP, Workload
from evonet.backends.cuda.genetics.cost import (
    SORT,
    GenesWorkload,
    KernelTime,
    price_genes,
    rounds,
)
from evonet.backends.cuda.genetics.mating import is_worth_while
from evonet.backends.cuda.limits import DeviceLimits
from evonet.backends.cuda.plan import plan_forward

PACK: Final = 10e9  # bytes per second; two threads of a server's processor packed 12e9
LINK: Final = 12e9  # bytes per second: PCIe 3.0 x16, about what copies reach
MEMORY: Final = 300e9  # bytes per second
GIGAHERTZ: Final = 1.4
CALL: Final = 60e-6  # seconds
LAUNCH_CALL: Final = 36e-6  # seconds: Python 30, by `benchmarks.generation_model`; CuPy, driver 6
SORT_CALL: Final = 100e-6  # seconds: about a dozen launches by Thrust, with little Python: assumed
WAIT_CALL: Final = 15e-6  # seconds: a small copy to the host, and going on after it
EVALUATION_LAUNCHES: Final = 5  # forward pass, loss, two that count connections; the best genome
WAITS: Final = 7  # sizes twice, species, counts, losses, the best genome, and what it enables
LOSS: Final = 6.0  # cycles of a warp for 32 outputs, which are read once


@dataclasses.dataclass(frozen=True)
class Price:
    """Seconds of one evaluation of new genomes, by phase."""

    pack: float  # on the host
    upload: float  # of the genomes, while the next are packed
    kernel: float  # forward pass and loss
    download: float  # of a loss per genome
    call: float = CALL

    @property
    def total(self) -> float:
        """All phases; packing and copying overlap."""
        return max(self.pack, self.upload) + self.kernel + self.download + self.call


@dataclasses.dataclass(frozen=True)
class GenerationPrice:
    """Seconds of a generation whose genes stay on the GPU, by phase.

    The host's work for all genomes is not part of it: shares, and parents that it draws itself.
    """

    breed: float  # kernels
    speciate: float
    compile: float
    evaluate: float
    copies: float  # scores and members, or parents, to the GPU; species and losses to the host
    calls: float  # Python, launches and waiting
    launches: int
    waits: int

    @property
    def kernels(self) -> float:
        """What the GPU computes."""
        return self.breed + self.speciate + self.compile + self.evaluate

    @property
    def total(self) -> float:
        """All phases, one after another."""
        return self.kernels + self.copies + self.calls


def packed_size(work: Workload) -> int:
    """About how many bytes the packed genomes of a workload have."""
    size = work.dtype.itemsize
    per_genome = 3 * 8 + 4 * work.num_outputs
    per_node = 4 * size + 4 + size  # header, place, and half a unit that is left over
    return (
        work.num_genomes * per_genome
        + work.num_nodes * per_node
        + 2 * size * work.num_edges
        + 4 * work.num_levels
    )


def price_evaluation(
    work: Workload,
    limits: DeviceLimits,
    *,
    gigahertz: float = GIGAHERTZ,
    link: float = LINK,
    pack: float = PACK,
) -> Price:
    """Prices the loss of all genomes of a workload that is not empty, on one GPU."""
    copied = packed_size(work)
    cycles = plan_forward(work, limits).cycles
    outputs = work.num_genomes * work.num_samples * work.num_outputs
    cycles += LOSS * outputs / WARP / limits.num_sms
    return Price(
        pack=copied / pack,
        upload=copied / link,
        kernel=cycles / (gigahertz * 1e9),
        download=2 * work.dtype.itemsize * work.num_genomes / link,
    )


def price_breeding(genes: GenesWorkload, limits: DeviceLimits) -> float:
    """Seconds to breed and divide a population into species on one GPU, whose clock is unknown."""
    kernels = [
        one for one in price_genes(genes, limits, GIGAHERTZ, MEMORY) if one.phase != "compile"
    ]
    old, joins = rounds(genes)
    waits = 3 + 2 * old + joins + is_worth_while(genes.num_genomes)
    return sum(one.seconds for one in kernels) + _calls(kernels) + waits * WAIT_CALL


def price_scoring(genes: GenesWorkload, work: Workload, limits: DeviceLimits) -> float:
    """Seconds to compile and evaluate genomes that are on one GPU already."""
    kernels = [
        one for one in price_genes(genes, limits, GIGAHERTZ, MEMORY) if one.phase == "compile"
    ]
    evaluation = price_evaluation(work, limits)
    calls = _calls(kernels) + WAIT_CALL + evaluation.call
    return sum(one.seconds for one in kernels) + evaluation.kernel + evaluation.download + calls


def price_generation(
    genes: GenesWorkload,
    work: Workload,
    limits: DeviceLimits,
    *,
    gigahertz: float = GIGAHERTZ,
    link: float = LINK,
    memory: float = MEMORY,
) -> GenerationPrice:
    """Prices a generation that is bred, divided, compiled and evaluated on one GPU."""
    kernels = price_genes(genes, limits, gigahertz, memory)
    phases = dict.fromkeys(("breed", "speciate", "compile"), 0.0)
    for one in kernels:
        phases[one.phase] += one.seconds
    evaluation = price_evaluation(work, limits, gigahertz=gigahertz, link=link)
    old, joins = rounds(genes)
    launches = sum(one.launches for one in kernels) + EVALUATION_LAUNCHES
    waits = WAITS + 2 * old + joins + is_worth_while(genes.num_genomes)  # for the elites
    # Scores and members, or parents that the host drew; and species.
    parents, species = 2 * 8 * genes.num_genomes, 4 * genes.num_genomes
    return GenerationPrice(
        **phases,
        evaluate=evaluation.kernel,
        copies=evaluation.download + (parents + species) / link,
        calls=_calls(kernels) + EVALUATION_LAUNCHES * LAUNCH_CALL + waits * WAIT_CALL,
        launches=launches,
        waits=waits,
    )


def _calls(kernels: list[KernelTime]) -> float:
    """Seconds in which the host launches kernels."""
    return sum(one.launches * (SORT_CALL if one.kernel == SORT else LAUNCH_CALL) for one in kernels)
