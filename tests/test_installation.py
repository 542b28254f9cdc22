"""The compiled extension, life without it, and what the package shows to the outside."""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.metadata
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import neat
import numpy as np
import pytest

import evonet
from evonet import BackendError, EvonetError, OptionError, Population
from evonet.backends import resolve_backend
from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS
from evonet.installation import (
    explain_missing,
    install_command,
    load_native,
    require_native,
    resource_folder,
)
from evonet.schedule import build_schedule

PACKAGE = Path(evonet.__file__).parent


@pytest.fixture
def fresh_search(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lets load_native look for the extension again, now and after the test."""
    monkeypatch.delenv("EVONET_REQUIRE_NATIVE", raising=False)
    load_native.cache_clear()
    yield
    load_native.cache_clear()


@pytest.fixture
def no_extension(fresh_search: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the extension, and any GPU."""
    monkeypatch.delenv("EVONET_BACKEND", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setitem(sys.modules, "evonet._native", None)
    monkeypatch.delattr(evonet, "_native", raising=False)


def population() -> Population:
    return Population.random(
        4, 3, 2, num_nodes=9, num_connections=20, activations=("tanh", "sin"), seed=5
    )


def run_python(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ---- with the extension -------------------------------------------------------------------------


def test_the_extension_is_found_once() -> None:
    assert load_native() is require_native()
    assert load_native() is sys.modules["evonet._native"]


def test_instruction_sets_are_told_apart_and_the_slowest_comes_first() -> None:
    levels = require_native().simd_levels()
    assert levels[0] == "baseline"
    assert len(set(levels)) == len(levels)


@pytest.mark.parametrize("simd", require_native().simd_levels())
def test_every_instruction_set_knows_every_function(simd: str) -> None:
    native = require_native()
    ones, values = np.ones(3), np.array([[1.0, 2.0], [4.0, 8.0], [16.0, 2.0]])
    joined = [native.aggregate(i, ones, values, simd).tolist() for i in range(len(AGGREGATIONS))]
    assert joined == [[21, 12], [64, 32], [16, 8], [1, 2], [16, 8], [4, 2], [7, 4]]
    for i, function in enumerate(neat.activations.ActivationFunctionSet().functions.items()):
        name, activate = function
        assert ACTIVATIONS[i].name == name
        found = native.activate(i, np.array([-0.5, 0.25]), simd).tolist()
        assert found == pytest.approx([activate(-0.5), activate(0.25)], rel=1e-14), name


def test_the_kernels_refuse_an_unknown_instruction_set() -> None:
    with pytest.raises(ValueError, match="no SIMD level v9000"):
        require_native().activate(0, np.zeros(1), "v9000")


def test_the_kernels_refuse_arrays_of_another_type() -> None:
    with pytest.raises(TypeError):
        require_native().activate(0, np.zeros(1, np.int32), "baseline")
    with pytest.raises(TypeError):
        require_native().activate(0, np.zeros(4)[::2], "baseline")


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs CPU affinity")
def test_the_threads_that_may_be_used_are_those_of_the_process() -> None:
    script = """
import os
from evonet.installation import require_native
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
print(require_native().available_threads())
"""
    assert run_python(script) == "1"
    assert require_native().available_threads() == len(os.sched_getaffinity(0))


def stub_names() -> dict[str, list[str]]:
    """The public names of the type stub and of its methods, with those of their parameters."""
    found: dict[str, list[str]] = {}
    for item in ast.parse((PACKAGE / "_native.pyi").read_text()).body:
        if isinstance(item, ast.ClassDef):
            for base in item.bases:  # the same class for another type of numbers
                assert isinstance(base, ast.Name)
                for name in [name for name in found if name.startswith(f"{base.id}.")]:
                    found[f"{item.name}.{name.partition('.')[2]}"] = found[name]
            for method in item.body:
                if isinstance(method, ast.FunctionDef) and not method.decorator_list:
                    parameters = [a.arg for a in method.args.args if a.arg != "self"]
                    found[f"{item.name}.{method.name}"] = parameters
        elif isinstance(item, ast.FunctionDef):
            found[item.name] = [a.arg for a in item.args.args]
    return found


def test_the_type_stub_lists_the_names_of_the_extension() -> None:
    public = {name for name in dir(require_native()) if not name.startswith("_")}
    assert {name.partition(".")[0] for name in stub_names()} == public


def test_the_type_stub_lists_the_parameters_of_the_extension() -> None:
    native = require_native()
    for name, parameters in stub_names().items():
        signatures = attrgetter(name)(native).__nb_signature__
        assert signatures, name
        for signature in signatures:
            plain = re.sub(r"ndarray\[[^\]]*\]", "Any", signature[0])
            plain = re.sub(r"= \\\d+", "= ...", plain)  # nanobind keeps defaults apart
            tree = ast.parse(plain + ": ...").body[0]
            assert isinstance(tree, ast.FunctionDef)
            assert [a.arg for a in tree.args.args if a.arg != "self"] == parameters, name


# ---- without the extension ----------------------------------------------------------------------


@pytest.mark.usefixtures("no_extension")
def test_a_missing_extension_is_told_once_and_the_reference_steps_in() -> None:
    with pytest.warns(RuntimeWarning, match=r"without its compiled .* EVONET_REQUIRE_NATIVE=1"):
        assert load_native() is None
    # From here on a second warning would be an error.
    assert load_native() is None
    assert evonet.compile(population()).backend == "reference"
    assert resolve_backend("auto").name == "reference"
    assert build_schedule(population()).num_genomes == 4


def test_the_fallback_gives_the_same_bits(request: pytest.FixtureRequest) -> None:
    x = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    expected = evonet.compile(population(), backend="cpu")(x)
    request.getfixturevalue("no_extension")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = evonet.compile(population())(x)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.usefixtures("no_extension")
def test_the_compiled_backend_asked_for_by_name_is_an_error() -> None:
    says = r'backend="cpu" needs the compiled extension\. .*apt install g\+\+'
    for ask in (
        require_native,
        lambda: resolve_backend("cpu"),
        lambda: evonet.compile(population(), backend="cpu"),
    ):
        with pytest.raises(BackendError, match=says):
            ask()


@pytest.mark.usefixtures("no_extension")
def test_a_missing_extension_that_is_required_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVONET_REQUIRE_NATIVE", "1")
    for ask in (load_native, require_native, lambda: evonet.compile(population())):
        with pytest.raises(BackendError, match="EVONET_REQUIRE_NATIVE is set"):
            ask()


@pytest.mark.usefixtures("no_extension")
@pytest.mark.parametrize("value", ["", "0"])
def test_a_requirement_that_is_switched_off_is_none(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVONET_REQUIRE_NATIVE", value)
    with pytest.warns(RuntimeWarning, match="without its compiled extension"):
        assert load_native() is None


@pytest.mark.usefixtures("no_extension")
def test_the_fallback_is_told_even_after_the_compiled_backend_was_refused() -> None:
    with pytest.raises(BackendError):
        require_native()
    with pytest.warns(RuntimeWarning, match="without its compiled extension"):
        evonet.compile(population())


class BrokenExtension:
    """Finds an extension that the dynamic linker refuses."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name == "evonet._native":
            return importlib.machinery.ModuleSpec(name, self, origin="_native.so")
        return None

    def create_module(self, spec: Any) -> Any:
        message = "/lib/evonet/_native.cpython-311.so: undefined symbol: _ZN6evonet"
        raise ImportError(message, name="evonet._native", path="/lib/evonet/_native.so")

    def exec_module(self, module: Any) -> None:
        raise AssertionError


@pytest.mark.usefixtures("fresh_search")
def test_a_broken_extension_does_not_pass_for_a_missing_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "evonet._native", raising=False)
    monkeypatch.delattr(evonet, "_native", raising=False)
    monkeypatch.setattr(sys, "meta_path", [BrokenExtension(), *sys.meta_path])
    with pytest.raises(ImportError, match="undefined symbol"):
        load_native()


@pytest.mark.parametrize("value", ["avx", "V3", "baseline,v3", " "])
def test_an_instruction_set_that_does_not_exist_is_refused(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVONET_SIMD", value)
    with pytest.raises(OptionError, match="EVONET_SIMD="):
        evonet.compile(population(), backend="cpu")
    assert evonet.compile(population(), backend="reference").backend == "reference"


# ---- the package --------------------------------------------------------------------------------


def test_every_public_name_can_be_imported() -> None:
    for name in evonet.__all__:
        assert getattr(evonet, name).__name__ == name
    namespace: dict[str, Any] = {}
    exec("from evonet import *", namespace)
    assert set(evonet.__all__) <= set(namespace)


def test_public_names_are_those_of_the_stub() -> None:
    assert set(dir(evonet)) == {*evonet.__all__, "__version__"}
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
    typed = {
        alias.asname: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == evonet._HOME
    documented = set(re.findall(r"[A-Za-z_]+", evonet.__doc__ or ""))
    errors = {name for name in typed if typed[name] == "evonet.errors"}
    assert typed.keys() - errors <= documented


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'evonet' has no attribute 'Populaton'"):
        evonet.Populaton  # noqa: B018
    assert not hasattr(evonet, "nothing")


def test_importing_evonet_imports_nothing_heavy() -> None:
    script = """
import sys
import evonet
print(sorted({"numpy", "safetensors", "neat", "evonet._native"} & set(sys.modules)))
evonet.OptionError
print("numpy" in sys.modules)
"""
    assert run_python(script).splitlines() == ["[]", "False"]


def test_the_version_is_the_one_of_the_distribution() -> None:
    metadata = pytest.importorskip("importlib.metadata")
    try:
        installed = metadata.version("evonet-gpu")
    except metadata.PackageNotFoundError:
        pytest.skip("runs from a bare checkout")
    assert evonet.__version__ == installed


@pytest.mark.parametrize(
    ("name", "holds"), [("kernels", "nodes/activations.h"), ("configs", "forward.toml")]
)
def test_the_folders_that_travel_with_the_package_are_found(name: str, holds: str) -> None:
    assert (resource_folder(name) / holds).is_file()


def test_a_missing_extension_is_explained_in_the_words_of_the_build(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    logs = tmp_path / "build" / "cp311" / "CMakeFiles"
    logs.mkdir(parents=True)
    (logs / "CMakeError.log").write_text("prose\nmain.cpp:3: error: no such header <new>\n")
    (tmp_path / "pyproject.toml").write_text("")
    compiler = tmp_path / "g++"
    compiler.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = explain_missing(tmp_path)
    assert "The build said: main.cpp:3: error: no such header <new>. " in said
    assert said.endswith(f"EVONET_REQUIRE_NATIVE=1 {sys.executable} -m pip install -e {tmp_path}")
    errors = logs.parent / "compiler_errors.log"
    errors.write_text(
        "a.h: In function:\na.h:1: error: first\na.h:2: error: 2nd\nb.h:3: error: 3rd\n"
    )
    os.utime(logs / "CMakeError.log", (0, 0))
    assert "The build said: a.h:1: error: first / a.h:2: error: 2nd. It" in explain_missing(
        tmp_path
    )
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert "No C++ compiler was found (c++, g++, clang++)" in explain_missing(tmp_path)
    assert explain_missing(tmp_path / "wheel").endswith("--no-cache-dir evonet-gpu")


def test_the_command_that_installs_an_extra_fits_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert install_command("neat") == "pip install 'evonet-gpu[neat]'"
    monkeypatch.setenv("PATH", str(tmp_path))  # an environment that is not activated
    assert install_command("neat") == f"{sys.executable} -m pip install 'evonet-gpu[neat]'"

    def missing(name: str) -> Any:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", missing)
    found = shlex.split(install_command("neat"))
    assert found[-3:] == ["install", "-e", f"{PACKAGE.parent}[neat]"]


def test_a_missing_folder_says_to_reinstall() -> None:
    with pytest.raises(EvonetError, match=r"evonet's nonsense/ folder is missing .* Reinstall"):
        resource_folder("nonsense")
