from typing import Any

import numpy as np
from numpy.typing import NDArray

from evonet.genes.population import Population
from evonet.schedule.schedule import Schedule

def processor_level() -> int: ...
def simd_levels() -> list[str]: ...
def available_threads() -> int: ...
def compile_schedule(
    num_inputs: int,
    num_outputs: int,
    node_start: NDArray[np.int64],
    node_key: NDArray[np.int64],
    bias: NDArray[Any],
    response: NDArray[Any],
    activation: NDArray[np.uint8],
    aggregation: NDArray[np.uint8],
    conn_start: NDArray[np.int64],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    weight: NDArray[Any],
    enabled: NDArray[np.bool_],
    rank: NDArray[np.int32],
    wiring: int,
    num_states: int,
    reuse_slots: bool,
    threads: int,
) -> tuple[dict[str, Any], int]: ...
def map_genes(
    num_inputs: int,
    num_outputs: int,
    node_start: NDArray[np.int64],
    node_key: NDArray[np.int64],
    conn_start: NDArray[np.int64],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    enabled: NDArray[np.bool_],
    rank: NDArray[np.int32],
    live_start: NDArray[np.int64],
    live_key: NDArray[np.int64],
    edge_start: NDArray[np.int64],
    threads: int,
    node: NDArray[np.int64],
    link: NDArray[np.int64],
) -> None: ...
def plan_mating(
    scores: NDArray[np.float64],
    members: NDArray[np.int64],
    member_start: NDArray[np.int64],
    num_elites: NDArray[np.int64],
    num_parents: NDArray[np.int64],
    num_children: NDArray[np.int64],
    interspecies: float,
    seed: int,
    generation: int,
    threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def wide_weights(
    weights: NDArray[np.float32], hidden: int, scale: float, seed: int, level: int, threads: int
) -> None: ...
def wide_hash(
    kind: int,
    bits: int,
    tables: int,
    columns: int,
    signs: NDArray[np.float32],
    positions: NDArray[np.int32],
    borrow: NDArray[np.int32],
    rows: NDArray[np.float32],
    which: NDArray[np.int32] | None,
    codes: NDArray[np.int32],
    by_table: bool,
    threads: int,
    simd: str,
) -> None: ...
def wide_build(
    codes: NDArray[np.int32],
    capacity: int,
    keep: int,
    seed: int,
    epoch: int,
    starts: NDArray[np.int32],
    ids: NDArray[np.int32],
    threads: int,
) -> None: ...
def wide_active(
    codes: NDArray[np.int32],
    starts: NDArray[np.int32],
    ids: NDArray[np.int32],
    label_start: NDArray[np.int64],
    labels: NDArray[np.int32],
    shared: NDArray[np.int32],
    fill: NDArray[np.int32],
    limit: int,
    minimum: int,
    seed: int,
    step: int,
    active: NDArray[np.int32],
    count: NDArray[np.int64],
    threads: int,
) -> None: ...
def wide_forward(
    dense: NDArray[np.float32],
    weights: NDArray[np.float32],
    state: NDArray[np.float32],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    rows: NDArray[np.int32],
    label_start: NDArray[np.int64],
    labels: NDArray[np.int32],
    scale: float,
    gradient: NDArray[np.float32],
    loss: NDArray[np.float32],
    hit: NDArray[np.bool_],
    threads: int,
    simd: str,
) -> None: ...
def wide_sum(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    rows: NDArray[np.int32],
    coefficient: NDArray[np.float32],
    weights: NDArray[np.float32],
    rectify: bool,
    out: NDArray[np.float32],
    threads: int,
    simd: str,
) -> None: ...
def wide_update(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    rows: NDArray[np.int32],
    coefficient: NDArray[np.float32],
    dense: NDArray[np.float32],
    weights: NDArray[np.float32],
    mean: NDArray[np.float32],
    square: NDArray[np.float32],
    state: NDArray[np.float32],
    with_bias: bool,
    keep_mean: float,
    keep_square: float,
    add_mean: float,
    add_square: float,
    epsilon: float,
    corrected_rate: NDArray[np.float32],
    correction: NDArray[np.float32],
    threads: int,
    simd: str,
) -> None: ...
def wide_top(
    dense: NDArray[np.float32],
    weights: NDArray[np.float32],
    state: NDArray[np.float32],
    ids: NDArray[np.int32],
    scores: NDArray[np.float32],
    threads: int,
    simd: str,
) -> None: ...
def read_xmc(text: bytes, where: str) -> tuple[Any, ...]: ...
def share_out(
    scores: NDArray[np.float64],
    members: NDArray[np.int64],
    member_start: NDArray[np.int64],
    pop_size: int,
    least: int,
    elitism: int,
    survival: float,
    canonical: bool,
    proportional: bool,
    threads: int = 1,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
def exact_sum(values: NDArray[np.float64], threads: int = 1) -> float: ...
def join_pairs32(pairs: NDArray[np.float32]) -> NDArray[np.float64]: ...
def join_pairs64(pairs: NDArray[np.float64]) -> NDArray[np.float64]: ...
def mean_and_deviation(
    values: NDArray[np.float64], threads: int = 1
) -> tuple[float, float, int]: ...
def exact_group_sums(
    values: NDArray[np.float64], starts: NDArray[np.int64]
) -> NDArray[np.float64]: ...
def check_schedule32(schedule: Schedule) -> None: ...
def check_schedule64(schedule: Schedule) -> None: ...

class SchedulePacker32:
    def __init__(self, schedule: Schedule, begin: int, end: int, threads: int) -> None: ...
    @property
    def num_units(self) -> int: ...
    @property
    def max_slots(self) -> int: ...
    @property
    def largest_genome(self) -> int: ...
    @property
    def max_level_width(self) -> int: ...
    def nbytes(self, begin: int, end: int) -> int: ...
    def piece_end(self, begin: int, nbytes: int) -> int: ...
    def write(
        self, begin: int, end: int, piece: NDArray[np.uint8]
    ) -> list[tuple[str, int, int, int]]: ...

class SchedulePacker64(SchedulePacker32): ...

class Gradient32:
    def __init__(self, schedule: Schedule, threads: int, simd: str, waits: bool) -> None: ...
    def gradient(
        self,
        x: NDArray[Any],
        targets: NDArray[Any],
        loss: int,
        backward: bool,
        weight: NDArray[Any],
        bias: NDArray[Any],
        response: NDArray[Any],
        losses: NDArray[Any],
        d_weight: NDArray[Any],
        d_bias: NDArray[Any],
        d_response: NDArray[Any],
        d_kept: NDArray[Any],
        d_x: NDArray[Any],
    ) -> None: ...
    def learn(
        self,
        x: NDArray[Any],
        targets: NDArray[Any],
        order: NDArray[np.int64],
        loss: int,
        optimizer: int,
        rule: NDArray[np.float64],
        corrections: NDArray[np.float64],
        weights: bool,
        biases: bool,
        responses: bool,
        weight: NDArray[Any],
        bias: NDArray[Any],
        response: NDArray[Any],
        first_weight: NDArray[Any],
        first_bias: NDArray[Any],
        first_response: NDArray[Any],
        second_weight: NDArray[Any],
        second_bias: NDArray[Any],
        second_response: NDArray[Any],
        active: NDArray[np.bool_],
        steps: NDArray[np.int64],
        losses: NDArray[Any],
    ) -> None: ...

class Gradient64(Gradient32): ...

class Function:
    def __init__(
        self,
        code: NDArray[np.uint16],
        constants: NDArray[np.float64],
        bounds: NDArray[np.int32],
        result: int,
    ) -> None: ...
    def activate(self, x: NDArray[Any], simd: str) -> NDArray[Any]: ...
    def aggregate(self, weights: NDArray[Any], values: NDArray[Any], simd: str) -> NDArray[Any]: ...
    def terms(self, weights: NDArray[Any], values: NDArray[Any], simd: str) -> NDArray[Any]: ...

def define(
    joins: bool,
    id: int,
    code: NDArray[np.uint16],
    constants: NDArray[np.float64],
    bounds: NDArray[np.int32],
    result: int,
    slope: bool = False,
) -> None: ...
def pack_neat(
    genomes: list[Any], activations: dict[str, int], aggregations: dict[str, int]
) -> dict[str, NDArray[Any]] | None: ...
def set_neat_functions(
    activations: list[Any], aggregations: list[Any], sum: Any, compensates_sums: bool
) -> None: ...
def subtract_squares(
    y: NDArray[np.float64],
    targets: NDArray[np.float64],
    best: float,
    out: NDArray[np.float64],
) -> None: ...
def activate(id: int, x: NDArray[Any], simd: str) -> NDArray[Any]: ...
def aggregate(id: int, weights: NDArray[Any], values: NDArray[Any], simd: str) -> NDArray[Any]: ...
def fma_peak(simd: str, threads: int) -> float: ...
def read_bandwidth(simd: str, threads: int, bytes: int, turns: int, rounds: int) -> list[float]: ...
def breed32(
    parents: Population,
    fitter: NDArray[np.int64],
    other: NDArray[np.int64],
    rules: dict[str, Any],
    seed: int,
    generation: int,
    next_node_key: int,
    next_innovation: int,
    threads: int,
    simd: str,
) -> tuple[dict[str, NDArray[Any]], int, int]: ...
def first_generation32(
    num_genomes: int,
    num_inputs: int,
    num_nodes: int,
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    num_wanted: int,
    one_input: bool,
    rules: dict[str, Any],
    seed: int,
    generation: int,
    threads: int,
    simd: str,
) -> dict[str, NDArray[Any]]: ...
def group_by_species(
    species: NDArray[np.int32], num_species: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def speciate32(
    population: Population,
    parents: Population,
    representatives: NDArray[np.int64],
    threshold: float,
    rules: dict[str, Any],
    threads: int,
    simd: str,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
def distances32(
    population: Population,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    rules: dict[str, Any],
    simd: str,
) -> NDArray[np.float32]: ...
def breed64(
    parents: Population,
    fitter: NDArray[np.int64],
    other: NDArray[np.int64],
    rules: dict[str, Any],
    seed: int,
    generation: int,
    next_node_key: int,
    next_innovation: int,
    threads: int,
    simd: str,
) -> tuple[dict[str, NDArray[Any]], int, int]: ...
def first_generation64(
    num_genomes: int,
    num_inputs: int,
    num_nodes: int,
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    num_wanted: int,
    one_input: bool,
    rules: dict[str, Any],
    seed: int,
    generation: int,
    threads: int,
    simd: str,
) -> dict[str, NDArray[Any]]: ...
def speciate64(
    population: Population,
    parents: Population,
    representatives: NDArray[np.int64],
    threshold: float,
    rules: dict[str, Any],
    threads: int,
    simd: str,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
def distances64(
    population: Population,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    rules: dict[str, Any],
    simd: str,
) -> NDArray[np.float64]: ...
def controls() -> list[tuple[str, int, int, int, int]]: ...
def rollout32(
    schedule: Schedule,
    control: int,
    genomes: NDArray[np.int64],
    first_episode: int,
    episodes: int,
    max_steps: int,
    seed: int,
    threads: int,
    simd: str,
) -> tuple[NDArray[np.float32], NDArray[np.int32]]: ...
def rollout64(
    schedule: Schedule,
    control: int,
    genomes: NDArray[np.int64],
    first_episode: int,
    episodes: int,
    max_steps: int,
    seed: int,
    threads: int,
    simd: str,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]: ...

class Control32:
    def __init__(self, control: int, simd: str) -> None: ...
    def reset(self, seed: int, first_episode: int, count: int) -> NDArray[np.float32]: ...
    def observe(self, state: NDArray[np.float32]) -> NDArray[np.float32]: ...
    def step(
        self, state: NDArray[np.float32], output: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]: ...

class Control64:
    def __init__(self, control: int, simd: str) -> None: ...
    def reset(self, seed: int, first_episode: int, count: int) -> NDArray[np.float64]: ...
    def observe(self, state: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def step(
        self, state: NDArray[np.float64], output: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]: ...

class Actor32:
    def __init__(self, schedule: Schedule, genome: int, simd: str) -> None: ...
    def __call__(self, x: NDArray[Any]) -> list[float]: ...
    def reset(self) -> None: ...

class Actor64:
    def __init__(self, schedule: Schedule, genome: int, simd: str) -> None: ...
    def __call__(self, x: NDArray[Any]) -> list[float]: ...
    def reset(self) -> None: ...

class Forward32:
    def __init__(self, schedule: Schedule, threads: int, simd: str) -> None: ...
    def __call__(self, x: NDArray[np.float32], y: NDArray[np.float32]) -> None: ...
    def side_by_side(
        self, x: NDArray[np.float32], y: NDArray[np.float32], gathers: bool
    ) -> bool: ...
    def tiles(
        self, x: NDArray[np.float32], y: NDArray[np.float32], drop: bool
    ) -> tuple[int, list[int], list[float]]: ...
    def step(
        self,
        x: NDArray[np.float32],
        y: NDArray[np.float32],
        state: NDArray[np.float32],
        next_state: NDArray[np.float32],
    ) -> None: ...
    def loss(
        self,
        x: NDArray[np.float32],
        targets: NDArray[np.float32],
        loss: int,
        out: NDArray[np.float32],
    ) -> None: ...

class Forward64:
    def __init__(self, schedule: Schedule, threads: int, simd: str) -> None: ...
    def __call__(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> None: ...
    def side_by_side(
        self, x: NDArray[np.float64], y: NDArray[np.float64], gathers: bool
    ) -> bool: ...
    def tiles(
        self, x: NDArray[np.float64], y: NDArray[np.float64], drop: bool
    ) -> tuple[int, list[int], list[float]]: ...
    def step(
        self,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        state: NDArray[np.float64],
        next_state: NDArray[np.float64],
    ) -> None: ...
    def loss(
        self,
        x: NDArray[np.float64],
        targets: NDArray[np.float64],
        loss: int,
        out: NDArray[np.float64],
    ) -> None: ...

class NeatNetwork:
    width: int
    active: int
    time: float
    activated: bool
    @staticmethod
    def create(
        feed_forward: bool,
        genome: Any,
        inputs: list[int],
        outputs: list[int],
        activations: Any,
        aggregations: Any,
        time_constant: float | None,
    ) -> NeatNetwork: ...
    @staticmethod
    def of_rows(inputs: list[int], outputs: list[int], rows: list[Any]) -> NeatNetwork: ...
    def rows(self) -> list[Any]: ...
    def reads_only_what_is_known(self) -> bool: ...
    def activate_feed_forward(self, inputs: Any) -> list[float]: ...
    def activate_recurrent(self, inputs: Any) -> list[float]: ...
    def advance(
        self, inputs: Any, seconds: float, time_step: float, exponential: bool
    ) -> list[float]: ...
    def answer_rows(
        self, feed_forward: bool, x: NDArray[np.float64], y: NDArray[np.float64]
    ) -> None: ...
    def advance_rows(
        self,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        seconds: float,
        time_step: float,
        exponential: bool,
    ) -> None: ...
    def begin(self, num_samples: int) -> None: ...
    def value_keys(self, feed_forward: bool) -> list[int]: ...
    def get_value(self, buffer: int, key: int) -> float: ...
    def set_value(self, buffer: int, key: int, value: float) -> None: ...
    def python_functions(self) -> list[Any]: ...
    def copy(self) -> NeatNetwork: ...

class NeatPopulation:
    @staticmethod
    def create(
        feed_forward: bool,
        genomes: list[Any],
        inputs: list[int],
        outputs: list[int],
        activations: Any,
        aggregations: Any,
        time_constant: float | None,
        threads: int,
    ) -> NeatPopulation: ...
    def begin(self, num_samples: int) -> None: ...
    def answer(self, steps: int, x: NDArray[np.float64], y: NDArray[np.float64]) -> None: ...
    def advance(
        self,
        steps: int,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        time_step: float,
        exponential: bool,
    ) -> None: ...
    def calling_python(self) -> list[int]: ...
    def __len__(self) -> int: ...
    def network(self, g: int) -> NeatNetwork: ...

class NeatNeuron:
    key: int
    bias: float
    a: float
    b: float
    c: float
    d: float
    v: float
    u: float
    fired: float
    current: float
    def reset(self) -> None: ...

class NeatSpikingNetwork:
    @staticmethod
    def create(genome: Any, inputs: list[int], outputs: list[int]) -> NeatSpikingNetwork: ...
    def set_inputs(self, inputs: list[float]) -> None: ...
    def advance(self, dt: float, resets_what_is_not_finite: bool) -> list[float]: ...
    def reset(self) -> None: ...
    def __len__(self) -> int: ...
    def neuron(self, i: int) -> NeatNeuron: ...
    def links(self, i: int) -> list[tuple[int, float]]: ...
    def input_values(self) -> dict[int, float]: ...
    def copy(self) -> NeatSpikingNetwork: ...

class ImageFront32:
    def __init__(
        self,
        channels: int,
        height: int,
        width: int,
        sizes: NDArray[np.int32],
        weights: list[NDArray[Any]],
        biases: list[NDArray[Any]],
        threads: int,
        simd: str,
    ) -> None: ...
    def __call__(
        self, images: NDArray[Any], features: NDArray[Any], channels_last: bool, path: int
    ) -> list[tuple[int, int, int, int, int]]: ...
    def gradient(
        self,
        images: NDArray[Any],
        adjoint: NDArray[Any],
        channels_last: bool,
        d_weights: list[NDArray[Any]],
        d_biases: list[NDArray[Any]],
        d_images: NDArray[Any],
    ) -> None: ...
    def set_weights(self, weights: list[NDArray[Any]], biases: list[NDArray[Any]]) -> None: ...
    @property
    def output_shape(self) -> list[int]: ...

class ImageFront64(ImageFront32): ...

def update32(
    optimizer: int,
    rule: NDArray[np.float64],
    corrections: NDArray[np.float64],
    num_samples: int,
    genes: list[NDArray[Any]],
    first: list[NDArray[Any]],
    second: list[NDArray[Any]],
    gradients: list[NDArray[Any]],
    decays: list[bool],
    simd: str,
) -> bool: ...
def update64(
    optimizer: int,
    rule: NDArray[np.float64],
    corrections: NDArray[np.float64],
    num_samples: int,
    genes: list[NDArray[Any]],
    first: list[NDArray[Any]],
    second: list[NDArray[Any]],
    gradients: list[NDArray[Any]],
    decays: list[bool],
    simd: str,
) -> bool: ...
