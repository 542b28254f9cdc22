"""Who compiles a genome on a GPU: a thread if it has few genes, else a warp."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from evonet.backends.cuda.cost import WARP, resident_blocks
from evonet.backends.cuda.launch import LaunchPlan
from evonet.backends.cuda.plan import BLOCK

if TYPE_CHECKING:
    from evonet.backends.cuda.genetics.genes import DeviceGenes
    from evonet.backends.cuda.limits import DeviceLimits
    from evonet.backends.cuda.nvrtc import Defines

# A level is sorted by comparing all pairs, and one lane walks: larger genomes are the host's.
MOST_NODES: Final = 4096
MOST_CONNECTIONS: Final = 1 << 16
FEW_GENES: Final = 24  # of an average genome, for which a thread is enough
REGISTERS: Final = 64  # of a thread
LEAST_WARPS: Final = 8  # of a multiprocessor, for which shared memory must suffice
MOST_SCRATCH: Final = 256 << 20  # bytes
WORD: Final = 4  # bytes


@dataclasses.dataclass(frozen=True)
class CompilePlan:
    """The launches that compile and pack genomes."""

    team: int  # lanes that share a genome
    team_words: int  # of memory
    compile: LaunchPlan
    pack: LaunchPlan  # its defines are completed by what the networks are


def option_sets() -> list[tuple[str, Defines]]:
    """Every kernel of this package with every set of defines."""
    sets: list[tuple[str, Defines]] = [("used_functions", {})]
    for team in (1, WARP):
        sets.append(("compile_genomes", {"TEAM": team}))
        sets += [
            ("pack_genomes", {"REAL": real, "TEAM": team, "MEMORY": memory})
            for real in ("float", "double")
            for memory in (0, 1)
        ]
    return sets


def team_words(num_inputs: int, nodes: int, connections: int) -> int:
    """The memory of a team in `kernels/cuda/compile_genomes.cu`, in words of 4 bytes."""
    steps = 3 * nodes + 2 + nodes % 2
    links = 2 * (connections + 4) + 2 * connections
    words = steps + links + 2 * (nodes + 1) + 2 * nodes + 2 + 3 * num_inputs + 4 * nodes
    return words + words % 2


def can_compile(genes: DeviceGenes) -> bool:
    """Whether the kernels take genomes of such sizes."""
    return (
        0 < genes.num_genomes <= 2**31 // WARP // 2
        and genes.most_nodes <= MOST_NODES
        and genes.most_connections <= MOST_CONNECTIONS
    )


def plan_compile(
    genes: DeviceGenes, num_inputs: int, limits: DeviceLimits, defines: Defines
) -> CompilePlan:
    """Plans the launches for genomes that the kernels take; `defines` are those of packing."""
    count = genes.num_genomes
    team = 1 if genes.num_nodes + genes.num_connections <= FEW_GENES * count else WARP
    words = team_words(num_inputs, genes.most_nodes, genes.most_connections)
    teams, shared = BLOCK // team, words * WORD
    while teams > 1 and teams * shared > limits.shared_per_block_optin:
        teams //= 2
    resident = resident_blocks(limits, team * teams, REGISTERS, shared * teams)
    wanted = min(LEAST_WARPS * WARP, -(-count * team // limits.num_sms))
    in_global = shared * teams > limits.shared_per_block_optin or resident * teams * team < wanted
    if in_global:
        teams = BLOCK // team
        resident = resident_blocks(limits, BLOCK, REGISTERS, 0)
    blocks = min(-(-count // teams), resident * limits.num_sms)
    if in_global:
        blocks = max(1, min(blocks, MOST_SCRATCH // (teams * shared)))
    return CompilePlan(
        team=team,
        team_words=words,
        compile=LaunchPlan(
            kernel="compile_genomes",
            defines={"TEAM": team},
            grid=(blocks,),
            block=(team * teams,),
            shared_mem=0 if in_global else shared * teams,
            scratch_nbytes=blocks * teams * shared if in_global else 0,
            team_size=team,
        ),
        pack=LaunchPlan(
            kernel="pack_genomes",
            defines={**defines, "TEAM": team},
            grid=(-(-count * team // BLOCK),),
            block=(BLOCK,),
            team_size=team,
        ),
    )
