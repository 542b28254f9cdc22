"""Counts machine instructions of the steps that a generation's kernels consist of.

A step is compiled alone, in a kernel of its own, without unrolled loops; what counts is the code in
its loops, each instruction once and in all branches. That is what a thread issues for a gene, or
more.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from benchmarks import sass
from evonet.backends.cuda import compiler
from evonet.backends.cuda.nvrtc import compile_source

BREED = """
#define EVONET_DRAWS 1
#include "cuda/brood.h"
#include "genetics/breeding.h"
using namespace evonet;
extern "C" __global__ void alone(Child<REAL>* children, const Genome<REAL>* fitter,
                                 const Genome<REAL>* other, const GenomeRules<REAL>* all_rules,
                                 Draws draws, int num_inputs, int num_outputs, unsigned word) {
  Child<REAL> child = children[threadIdx.x];
  Genome<REAL> a = fitter[threadIdx.x], b = other[threadIdx.x];
  const GenomeRules<REAL>& rules = *all_rules;
  draws.child = threadIdx.x;
  STEP
  children[threadIdx.x] = child;
}
"""
MEASURE = """
#include "cuda/dictionary.h"
using namespace evonet;
extern "C" __global__ void alone(const Genome<REAL>* genomes, const Standards<REAL>* all,
                                 const DistanceRules<REAL>* given, int* node_words, int* link_words,
                                 REAL* out) {
  Genome<REAL> genome = genomes[threadIdx.x];
  const Standards<REAL>& standards = *all;
  const int lane = threadIdx.x % kStandards;
  DistanceRules<REAL> rules = *given;
  rules.excess = rules.disjoint = REAL(0);  // as without coefficients for excess genes
  STEP
}
"""
COMPILE = """
#include "cuda/lane_worker.h"
#include "schedule/compile_genome.h"
using namespace evonet;
extern "C" __global__ void alone(GenomeCompiler* compilers, LinkGroups* groups,
                                 NodeRoles* all_roles, CompiledGenome* out,
                                 unsigned long long* work, int count,
                                 ConnectionGenes<long long>* genes, const int* numbers) {
  LaneWorker<1> worker = LaneWorker<1>::here(work);
  GenomeCompiler compiler = *compilers;
  LinkGroups links = *groups;
  const NodeRoles roles = *all_roles;
  CompiledGenome genome = *out;
  STEP
  *out = genome;
}
"""
WALK = "compiler.walk.run(worker, links, count, kLevels, genome.num_live, genome.acyclic);"


class Step(NamedTuple):
    """A step of a kernel."""

    frame: str  # the kernel around it
    code: str
    inner: bool = False  # whether only its largest innermost loop counts


STEPS = {
    "inherit a connection": Step(BREED, "a.num_nodes = 0; inherit(child, a, b, false, draws);"),
    "inherit a node": Step(BREED, "a.num_conns = 0; inherit(child, a, b, false, draws);"),
    "change the structure": Step(
        BREED, "mutate_structure(child, rules, num_inputs, num_outputs, draws);"
    ),
    "remove a connection": Step(BREED, "remove_connection(child, int(word));"),
    "mutate a connection": Step(BREED, "child.num_nodes = 0; mutate_genes(child, rules, draws);"),
    "mutate a node": Step(BREED, "child.num_conns = 0; mutate_genes(child, rules, draws);"),
    "look up a node": Step(
        MEASURE,
        "genome.num_conns = 0; "
        "look_up(standards.nodes, standards.links, genome, node_words, link_words);",
    ),
    "look up a connection": Step(
        MEASURE,
        "genome.num_nodes = 0; "
        "look_up(standards.nodes, standards.links, genome, node_words, link_words);",
    ),
    "compare a node": Step(
        MEASURE,
        "*out = node_distance<REAL>(standards, lane, genome, node_words, rules, "
        "[](int, int) { return true; });",
    ),
    "compare a connection": Step(
        MEASURE, "*out = link_distance<REAL>(standards, lane, genome, link_words, rules);"
    ),
    "group a link": Step(
        COMPILE,
        "links.group(worker, *genes, [&](long long key) { return numbers[key]; }, genome.acyclic);",
    ),
    "walk over a node": Step(COMPILE, WALK),
    "walk over a link": Step(COMPILE, WALK, inner=True),
    "sort a node": Step(
        COMPILE,
        "compiler.order.run(worker, compiler.walk, count, genome.num_live, roles, "
        "genome.num_levels, genome.skipped);",
    ),
    "find a slot": Step(
        COMPILE,
        "compiler.slots.reuse(worker, links, compiler.walk, count, compiler.order.order, "
        "compiler.level_end(genome), genome.num_levels, genome.skipped, genome.num_slots);",
    ),
}
# Headers with loops over genes; others, as that of random numbers, unroll theirs.
ROLLED = ("genetics/", "schedule/", "cuda/", "numerics/key_table")
# Whole kernels without loops over genes, but for searches.
ONCE = {"draw parents": "draw_parents"}
# Whole kernels whose loops pass over genes.
KERNELS: dict[str, tuple[str, dict[str, int | str]]] = {
    "put a gene": ("put_children", {"REAL": "float"}),
    "pack a gene": ("pack_genomes", {"REAL": "float", "TEAM": 32, "MEMORY": 0}),
}


def step_headers() -> dict[str, str]:
    """What steps include, by name."""
    headers = compiler.kernel_sources("compile_genomes", {"TEAM": 1})
    for kernel in ("breed_children", "measure_genomes"):
        headers |= compiler.kernel_sources(kernel, {"REAL": "float", "RULES_SIZE": 0})
    return {
        name: rolled(text) if name.startswith(ROLLED) else text
        for name, text in headers.items()
        if not name.endswith(".cu")
    }


def count_steps(arch: str) -> dict[str, int]:
    """Instructions per gene of each step, for float32."""
    headers = step_headers()
    options = compiler.compile_options({"REAL": "float"}, arch)
    found = {}
    for name, step in STEPS.items():
        source = step.frame.replace("STEP", step.code)
        code, labels = sass.disassemble(compile_source(source, name, headers, options).cubin)
        loops = sass.innermost_loops(code, labels)
        largest = max(len(loop.code) for loop in loops)
        found[name] = largest if step.inner else sass.count_in_loops(code, labels)
    for name, (kernel, defines) in KERNELS.items():
        sources = compiler.kernel_sources(kernel, defines)
        text = rolled(sources.pop(f"cuda/{kernel}.cu"))
        own = compiler.compile_options(defines, arch)
        code, labels = sass.disassemble(compile_source(text, kernel, sources, own).cubin)
        found[name] = sass.count_in_loops(code, labels)
    for name, kernel in ONCE.items():
        sources = compiler.kernel_sources(kernel, {})
        text = sources.pop(f"cuda/{kernel}.cu")
        own = compiler.compile_options({}, arch)
        code, labels = sass.disassemble(compile_source(text, kernel, sources, own).cubin)
        found[name] = len(code)
    return found


def rolled(text: str) -> str:
    """The same source with loops that the compiler does not unroll."""
    text = re.sub(r"EVONET_(KEEP_LOOP|UNROLL)\s+(for|while)", r"\2", text)
    return re.sub(r"\b(for|while) \(", r'_Pragma("unroll 1") \1 (', text)
