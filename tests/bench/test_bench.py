"""The benchmark: fits, turns, shares, tables, pages, peers. Nothing here depends on speed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evonet
from benchmarks import performance
from benchmarks.claims import CLAIMS, check_claims
from benchmarks.performance import as_markdown, write_document
from benchmarks.plots import alone, bars_height, draw_bars
from evonet.bench import timing
from evonet.bench.charts import bar_length, draw_growth, growth_height
from evonet.bench.comparison import BenchOptions, Findings, SpeedComparison, Work
from evonet.bench.growth import Growth, GrowthLine, fit_power_law, fit_tail
from evonet.bench.limits import Limits, describe_machine
from evonet.bench.page import render_page
from evonet.bench.peers.installed import PEERS, Peers
from evonet.bench.peers.level_networks import LevelNetworks, scipy_sums
from evonet.bench.result import Bench
from evonet.bench.scaling import layered_population
from evonet.bench.suites import SUITES
from evonet.bench.tables import (
    ResultTable,
    comparison_table,
    digits,
    duration,
    growth_table,
    percent,
    short,
)
from evonet.bench.terminal import as_text, closing_text, findings_text
from evonet.bench.timing import Contender, Entry, Timing, take_turns
from evonet.cli.bench import SUITES as NAMES
from evonet.errors import FileFormatError
from evonet.installation import require_native
from tests.support.cli_runs import CommandLine

LIMITS = {"fma": 1e9, "l1": 1e10, "memory": 1e9}
sizes = st.lists(st.integers(1, 10**6), min_size=2, max_size=12, unique=True).map(sorted)


def timed(*seconds: float) -> Timing:
    return Timing(seconds)


def example_comparison(
    name: str = "forward-small-sigmoid", faster: float = 4000.0
) -> SpeedComparison:
    return SpeedComparison(
        name=name,
        title="small: <10> genomes",
        unit="a genome on a sample",
        entries=(
            Entry("evonet", timed(2e-8, 1e-8, 3e-8)),
            Entry("neat-python", timed(faster * 2e-8), "one process", {"evaluate": 1e-5}),
        ),
        work=Work(fma=10.0, l1=40.0),
    )


def example_growth() -> Growth:
    x = (1, 10, 100, 1000)
    return Growth(
        name="samples",
        title="Samples: the forward pass",
        axis="samples & <more>",
        unit="a call",
        x=x,
        lines=(
            GrowthLine("straight", tuple(timed(1e-6 * size) for size in x)),
            GrowthLine("flat at first", tuple(timed(1e-6 * max(size, 10)) for size in x)),
        ),
        expected=1.0,
        if_flatter="a call costs something",
        if_steeper="caches end",
    )


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(
        command="evonet bench all",
        quick=False,
        seconds=1.5,
        machine=describe_machine(2),
        limits=Limits([1e9, 2e9], [1e10], [1e9]),
        peers={"neat-python": "2.0.0"},
        missing=("PyTorch: not installed: pip install torch",),
        findings={
            "forward": Findings([example_comparison()]),
            "scaling": Findings(growths=[example_growth()]),
        },
    )


# ---- growth ----------------------------------------------------------------------------------


@given(sizes, st.floats(-2, 3), st.floats(1e-9, 1e3))
def test_a_power_law_is_recovered(x: list[int], exponent: float, factor: float) -> None:
    fit = fit_power_law(x, [factor * size**exponent for size in x])
    assert math.isclose(fit.exponent, exponent, abs_tol=1e-6)
    assert math.isclose(fit.at(x[0]), factor * x[0] ** exponent, rel_tol=1e-6)
    assert fit.spread < 1 + 1e-6


@given(st.floats(-1, 2), st.lists(st.floats(0.9, 1.1), min_size=13, max_size=13))
def test_noise_moves_an_exponent_by_no_more_than_it_can(
    exponent: float, noise: list[float]
) -> None:
    x = [10 ** (k / 2) for k in range(13)]
    fit = fit_power_law(x, [size**exponent * off for size, off in zip(x, noise, strict=True)])
    assert abs(fit.exponent - exponent) < 0.03
    assert fit.spread < 1.25


@given(st.floats(0.5, 2), st.floats(1, 1000))
def test_the_upper_half_ignores_fixed_costs_at_the_small_end(exponent: float, most: float) -> None:
    x = [10.0**k for k in range(9)]
    flat = [max(size, 1e3) ** exponent * most for size in x]
    assert math.isclose(fit_tail(x, flat).exponent, exponent, abs_tol=1e-9)


def test_the_upper_half_has_at_least_two_points() -> None:
    assert math.isclose(fit_tail([1, 2], [1.0, 4.0]).exponent, 2.0)
    assert math.isclose(fit_tail([1, 2, 1000], [5.0, 7.0, 3500.0]).exponent, 1.0, abs_tol=1e-3)


@pytest.mark.parametrize(("x", "y"), [([1], [1.0]), ([2, 2], [1.0, 2.0]), ([1, 2], [0.0, 1.0])])
def test_no_power_law_fits_one_point_or_nothing(x: list[float], y: list[float]) -> None:
    with pytest.raises(ValueError, match="no power law fits"):
        fit_power_law(x, y)


def test_bends_are_where_the_slope_is_not_the_expected_one() -> None:
    growth = example_growth()
    straight, flat = growth.lines
    assert growth.bends(straight) == []
    (bend,) = growth.bends(flat)
    assert (bend.begin, bend.end, bend.exponent) == (1, 10, 0.0)
    assert growth.reasons() == ["Flatter where a call costs something."]


def test_a_layered_population_has_the_given_depth() -> None:
    for depth in (1, 3, 10):
        network = evonet.compile(layered_population(2, depth, 30), backend="cpu")
        assert network.schedule.num_levels.tolist() == [depth + 1] * 2
        assert network.schedule.num_nodes == 2 * (30 + 1)


# ---- turns -----------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A clock that moves only when a test advances it."""
    now = [0.0]

    def advance(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    return advance


def test_contenders_take_turns_and_are_timed_per_unit(clock: Callable[[float], None]) -> None:
    order: list[str] = []
    parts = {"phase": 0.0}

    def work(name: str, seconds: float) -> float:
        order.append(name)
        clock(seconds)
        if name == "a":
            parts["phase"] += seconds / 4
        return 2.0

    a, b = take_turns(
        [
            Contender("a", lambda: work("a", 1.0), parts=parts),
            Contender("b", lambda: work("b", 4.0), "slow"),
        ],
        rounds=3,
        seconds=2.0,
    )
    # A call each to warm up, then two calls of a for one of b, every other round backwards.
    assert order == ["a", "b", *"aab", *"baa", *"aab"]
    assert a.timing.rounds == (0.5, 0.5, 0.5)
    assert b.timing.rounds == (2.0, 2.0, 2.0)
    assert b.note == "slow"
    assert a.parts == {"phase": 0.125}  # the warm-up is forgotten


def test_generations_are_replayed_bit_by_bit() -> None:
    from evonet.bench.generation import EvonetRun
    from evonet.tasks import xor

    config = evonet.Config.from_dict({"neat": {"pop_size": 40, "no_fitness_termination": True}})
    config = config.replace({"genome.num_inputs": 2, "genome.num_outputs": 1})
    run = EvonetRun(config, xor(), threads=1, describe=True)
    run.warm_up(2)
    assert run.replay(3) == 120
    first = run.algorithm.state
    run.replay(3)
    again = run.algorithm.state
    assert first is not again
    assert first.population == again.population
    assert first.generation == again.generation == 4
    assert min(run.seconds.values()) > 0


def test_best_and_median_are_of_rounds() -> None:
    assert timed(3.0, 1.0, 2.0).best == 1.0
    assert timed(3.0, 1.0, 2.5).median == 2.5


def test_shares_are_work_over_time_over_limits() -> None:
    comparison = example_comparison()
    ours, theirs = comparison.entries
    shares = comparison.shares(ours, LIMITS)
    assert shares == pytest.approx({"fma": 10 / 2e-8 / 1e9, "l1": 40 / 2e-8 / 1e10})
    assert comparison.ratio(theirs) == pytest.approx(4000)
    assert comparison.best_ratio(theirs) == pytest.approx(8000)
    assert comparison.entry("nobody") is None


def test_bars_grow_with_time_and_stay_inside() -> None:
    comparison = example_comparison()
    lengths = [bar_length(comparison, entry) for entry in comparison.entries]
    assert 0 < lengths[0] < lengths[1] <= 1


def test_the_machine_is_measured() -> None:
    native = require_native()
    simd = native.simd_levels()[0]
    rates = native.read_bandwidth(simd, 2, 100_000, 3, 4)
    assert len(rates) == 4
    assert min(rates) > 0
    limits = Limits()
    limits.measure(1, memory_bytes=1 << 20)
    assert set(limits.best()) == {"fma", "l1", "memory"}
    assert all(limits.best()[name] >= value > 0 for name, value in limits.median().items())


# ---- words, tables and pages -----------------------------------------------------------------


def test_figures_have_three_digits() -> None:
    assert [duration(s) for s in (1.234e-9, 9.9999e-7, 1e-6, 2.5e-2, 61.0)] == [
        "1.23 ns",
        "1.00 µs",
        "1.00 µs",
        "25.0 ms",
        "61.0 s",
    ]
    assert [digits(v) for v in (0, 1.0, 12.34, 1234.5)] == ["0", "1.00", "12.3", "1,234"]
    assert [percent(v) for v in (0.5, 0.0123, 0.0001)] == ["50%", "1.2%", "< 0.1%"]
    assert [short(v) for v in (1, 316, 1000, 1e6)] == ["1", "316", "1k", "1M"]


def test_a_table_is_text_and_markdown() -> None:
    table = ResultTable(("who", "time"), (("a & b", "1 ns"), ("c", "10 ns")), (True, False))
    assert as_text(table) == "who     time\na & b   1 ns\nc      10 ns"
    assert as_markdown(table).splitlines()[1] == "| --- | ---: |"


def test_tables_show_ratios_phases_and_exponents() -> None:
    shown = comparison_table(example_comparison(), LIMITS)
    assert shown.head == ("", "best", "median", "ratio", "of FMA peak", "of L1", "")
    assert shown.rows[0][3] == "1×"
    assert shown.rows[1][3] == "4,000×"
    assert shown.rows[1][-1] == "one process; evaluate 10.0 µs"
    grown = growth_table(example_growth())
    assert grown.rows[-2] == ("exponent", "1.00", "1.00")
    assert grown.rows[-1] == ("bends", "", "0.00 from 1 to 10")


def test_text_ends_with_limits_and_who_is_missing(bench: Bench) -> None:
    found = [part for each in bench.findings.values() for part in findings_text(each, LIMITS)]
    said = "\n".join([*found, *closing_text(bench)])
    assert "multiply-adds in registers" in said
    assert "PyTorch: not installed: pip install torch" in said
    assert "expected exponent 1" in said


KEYS = {
    "": "schema command quick seconds machine limits peers missing comparisons growths",
    "machine": "processor threads simd system python numpy evonet",
    "limits.fma": "best median unit",
    "comparisons.0": "name title unit command work entries",
    "comparisons.0.work": "fma l1 memory",
    "comparisons.0.entries.0": "name note rounds best median ratio best_ratio shares parts",
    "growths.0": "name title axis unit command expected reasons x lines",
    "growths.0.lines.1": "name rounds median exponent spread bends",
    "growths.0.lines.1.bends.0": "begin end exponent",
}


def test_json_keeps_its_keys(bench: Bench) -> None:
    found = json.loads(json.dumps(bench.to_dict(), allow_nan=False))
    assert found["schema"] == 2
    for place, names in KEYS.items():
        value: Any = found
        for step in filter(None, place.split(".")):
            value = value[int(step)] if step.isdigit() else value[step]
        assert set(value) == set(names.split()), place


def test_claims_are_met_or_come_with_a_reason(bench: Bench) -> None:
    (met,) = check_claims(bench)
    assert met.met
    assert met.reason == ""
    slow = example_comparison(faster=1000.0)
    (missed,) = check_claims(_with(bench, [slow]))
    assert not missed.met
    assert missed.measured == "1,000×"
    assert missed.reason
    assert check_claims(_with(bench, [slow], quick=True)) == []
    assert all(claim.reason for claim in CLAIMS)


def _with(bench: Bench, comparisons: list[SpeedComparison], quick: bool = False) -> Bench:
    return Bench(
        bench.command, quick, bench.seconds, bench.machine, bench.limits, bench.peers,
        bench.missing, {"forward": Findings(comparisons)},
    )  # fmt: skip


class _Balance(HTMLParser):
    """Counts what is opened and never closed."""

    VOID = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_escaped(bench: Bench) -> None:
    page = render_page(bench)
    parser = _Balance()
    parser.feed(page.removeprefix("<!doctype html>"))
    assert parser.open == []
    assert "small: &lt;10&gt; genomes" in page
    assert "<10>" not in page
    assert page.count("samples &amp; &lt;more&gt;") == 2  # in the plot and above the table
    assert "one process; evaluate 10.0 µs" in page


def test_plots_are_files_of_their_own() -> None:
    comparison, growth = example_comparison(), example_growth()
    for drawing in (
        alone(draw_bars(comparison), "a & b", bars_height(comparison)),
        alone(draw_growth(growth), "a & b", growth_height(growth)),
    ):
        root = ElementTree.fromstring(drawing)
        assert root.tag.endswith("svg")
        assert "nan" not in drawing


def test_a_document_gets_results_between_its_marks_and_nothing_else(
    bench: Bench, tmp_path: Path
) -> None:
    page = tmp_path / "speed.md"
    parts = ("machine", "forward", "generation", "scaling")
    text = "# Speed\n" + "".join(
        f"<!-- bench {name} -->\nold {name}\n<!-- end {name} -->\nprose\n" for name in parts
    )
    page.write_text(text)
    written = write_document(bench, page)
    first = page.read_text()
    assert [file.name for file in written] == [
        "speed.md",
        "forward-small-sigmoid.svg",
        "samples.svg",
    ]
    assert all(file.is_file() for file in written)
    assert "old generation" in first  # it was not measured
    assert "old forward" not in first
    assert "![Samples: the forward pass](speed/samples.svg)" in first
    assert first.count("prose") == 4
    write_document(bench, page)
    assert page.read_text() == first


def test_a_document_without_marks_is_refused(bench: Bench, tmp_path: Path) -> None:
    page = tmp_path / "speed.md"
    page.write_text("# Speed\n<!-- bench machine --><!-- end machine -->")
    with pytest.raises(FileFormatError, match="bench forward"):
        write_document(bench, page)
    assert not (tmp_path / "speed").exists()


# ---- peers -----------------------------------------------------------------------------------


def small_network(activation: str) -> tuple[evonet.Population, evonet.Network, Any]:
    population = evonet.Population.random(
        5, 3, 2, num_nodes=9, num_connections=20, activations=(activation,), seed=3
    )
    x = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
    return population, evonet.compile(population, backend="cpu"), x


class TorchStandIn(ModuleType):
    """The few functions of PyTorch that are used, in NumPy."""

    def __init__(self) -> None:
        super().__init__("torch")
        self.from_numpy = np.asarray
        self.sigmoid = lambda z: 1 / (1 + np.exp(-z))
        self.tanh = np.tanh
        self.relu = lambda z: np.maximum(z, 0)
        self.addmm = lambda bias, a, b: bias + a @ b
        self.cat = lambda parts, dim: np.concatenate(parts, axis=dim)
        self.stack = lambda parts: SimpleNamespace(numpy=lambda: np.stack(parts))

    class inference_mode:  # noqa: N801
        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "relu"])
@pytest.mark.parametrize("peer", ["NumPy", "SciPy", "PyTorch"])
def test_peers_that_take_arrays_compute_what_evonet_does(
    peer: str, activation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, network, x = small_network(activation)
    answer: Callable[[Any], Any]
    if peer == "NumPy":
        answer = LevelNetworks(network.schedule, activation)
    elif peer == "SciPy":
        answer = LevelNetworks(network.schedule, activation, scipy_sums)
    else:
        from evonet.bench.peers.torch_networks import TorchNetworks

        if Peers().find("PyTorch") is None:
            monkeypatch.setitem(sys.modules, "torch", TorchStandIn())
        answer = TorchNetworks(network.schedule, activation)
    np.testing.assert_allclose(answer(x), network(x), rtol=1e-4, atol=1e-5)


def test_numpy_takes_samples_of_each_genomes_own() -> None:
    _, network, _ = small_network("tanh")
    x = np.random.default_rng(2).standard_normal((5, 4, 3)).astype(np.float32)
    found = LevelNetworks(network.schedule, "tanh", own_inputs=True)(x)
    np.testing.assert_allclose(found, network(x), rtol=1e-4, atol=1e-5)


def test_genes_for_tensorneat_keep_places_and_weights() -> None:
    from evonet.bench.peers.tensorneat import _genes

    _, network, _ = small_network("sigmoid")
    nodes, conns = _genes(network.schedule)
    for g in range(5):
        present = nodes[g, ~np.isnan(nodes[g, :, 0]), 0]
        assert present[:5].tolist() == [0, 1, 2, 3, 4]  # inputs, then outputs
        links = conns[g][~np.isnan(conns[g, :, 0])]
        assert set(links[:, :2].ravel()) <= set(present)
        schedule = network.schedule
        begin, end = schedule.edge_start[schedule.node_start[g : g + 2]]
        assert links[:, 2].tolist() == schedule.weight[begin:end].tolist()


def test_neat_python_computes_what_evonet_does() -> None:
    from evonet.bench.peers.neat_python import neat_networks

    population, network, x = small_network("sigmoid")
    found = [[net.activate(row) for row in x.tolist()] for net in neat_networks(population)]
    np.testing.assert_allclose(found, network(x), rtol=1e-4, atol=1e-5)


def test_processes_score_as_one_does_and_end_at_once() -> None:
    from evonet.bench.peers.neat_python import ParallelScores, neat_genomes, neat_networks, score

    population, _, x = small_network("sigmoid")
    rows = [(row, [0.5, 0.5]) for row in x.tolist()]
    genomes, config = neat_genomes(population)
    scores = ParallelScores(rows, 4.0, 2)
    try:
        scores(genomes, config)
    finally:
        scores.close()
    expected = [score(net, rows, 4.0) for net in neat_networks(population)]
    assert [genome.fitness for _, genome in genomes] == expected


def test_cartpole_in_numpy_and_in_python_are_the_same_game() -> None:
    from evonet.bench.peers.cartpole import play_alone, play_together

    start = np.array([[0.01, -0.02], [0.02, 0.0], [0.03, -0.01], [0.0, 0.04]])

    def lean(seen: Any) -> Any:
        angle = np.asarray(seen)[..., 2] + 0.3 * np.asarray(seen)[..., 3]
        return np.stack([-angle, angle], axis=-1)

    alone_steps = [play_alone(lean, start[:, g].tolist()) for g in range(2)]
    assert play_together(lean, start) == sum(alone_steps)
    assert play_alone(lambda seen: (1.0, 0.0), [0.0, 0.0, 0.0, 0.0]) < 20


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> Peers:
    """As if no peer were installed."""
    for peer in PEERS:
        monkeypatch.setitem(sys.modules, peer.module, None)
    return Peers()


def test_a_missing_peer_is_listed_with_the_command_that_installs_it(nobody: Peers) -> None:
    for peer in PEERS:
        assert nobody.find(peer.name) is None
        assert nobody.missing[peer.name] == f"{peer.name}: not installed: {peer.install}"
    assert nobody.versions() == {}


def test_a_broken_peer_is_not_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> ModuleType:
        raise OSError("libx.so: cannot open shared object file")

    monkeypatch.setattr("evonet.bench.peers.installed.importlib.import_module", fail)
    peers = Peers()
    assert peers.find("SciPy") is None
    assert peers.missing["SciPy"].endswith(
        "cannot be imported: libx.so: cannot open shared object file"
    )


def test_evonet_is_measured_without_any_peer(nobody: Peers) -> None:
    from evonet.bench.forward import run_forward
    from evonet.bench.generation import run_generation
    from evonet.bench.plugin import run_plugin

    options = BenchOptions(quick=True, rounds=1, threads=1, peers=nobody)
    found = run_forward(options)
    assert [entry.name for entry in found.comparisons[0].entries] == ["evonet", "NumPy"]
    (generation,) = run_generation(options).comparisons
    assert [entry.name for entry in generation.entries] == ["evonet"]
    assert set(generation.entries[0].parts) == {"evaluate", "breed and speciate", "compile", "tell"}
    assert run_plugin(options).comparisons == []
    assert "neat-python" in nobody.missing


# ---- the command -----------------------------------------------------------------------------


@pytest.fixture
def command_line(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


def test_the_command_knows_all_benchmarks() -> None:
    assert tuple(SUITES) == NAMES


def test_the_command_times_the_forward_pass(tmp_path: Path) -> None:
    page = tmp_path / "bench.html"
    options = ["--quick", "--rounds", "1", "--json", "-", "--html", str(page)]
    done = subprocess.run(
        [sys.executable, "-m", "evonet", "bench", "forward", *options],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["quick"]
    assert found["command"] == "evonet bench forward --quick --rounds 1"
    names = [entry["name"] for entry in found["comparisons"][0]["entries"]]
    assert names[0] == "evonet"
    assert "neat-python" in names
    assert "figures mean nothing" in page.read_text()
    assert f"{page} is written" in done.stderr


@pytest.mark.parametrize("suite", ["rollout", "scaling", "plugin"])
def test_every_other_benchmark_runs(suite: str, command_line: CommandLine) -> None:
    done = command_line("bench", suite, "--quick", "--rounds", "1", "--threads", "1")
    assert done.status == 0, done.err
    assert "multiply-adds in registers" in done.out


def test_an_unknown_benchmark_is_a_usage_error(command_line: CommandLine) -> None:
    assert command_line("bench", "everything").status == 2


def test_documentation_is_written_by_a_command_of_its_own(
    command_line: CommandLine, tmp_path: Path, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "speed.md"
    page.write_text(
        "".join(f"<!-- bench {name} -->\n<!-- end {name} -->" for name in ("machine", *SUITES))
    )
    assert command_line("bench", "forward", "--quick", "--write", page).status == 2
    asked = []

    def run_suites(names: list[str], options: BenchOptions, command: str) -> Bench:
        asked.append((names, options.quick, options.rounds, command))
        return bench

    monkeypatch.setattr(performance, "run_suites", run_suites)
    monkeypatch.setattr(sys, "argv", ["performance", "--page", str(page), "forward", "scaling"])
    performance.main()
    assert asked == [(["forward", "scaling"], False, 5, "evonet bench forward scaling")]
    assert "multiply-adds" in page.read_text()


def test_the_page_about_performance_has_a_place_for_everything() -> None:
    page = (Path(__file__).parents[2] / "docs" / "performance.md").read_text()
    for name in ("machine", *SUITES, "claims"):
        assert page.count(f"<!-- bench {name} -->") == page.count(f"<!-- end {name} -->") == 1
