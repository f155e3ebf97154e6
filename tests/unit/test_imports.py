"""What is imported when, and that compiling is announced: in fresh interpreters."""

from __future__ import annotations

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import robosim

KERNELS = sorted((Path(robosim.__file__).parent / "kernels").rglob("*.py"))
COMPILER = Path(robosim.__file__).parent / "kernels" / "compiler"


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


# Libraries that numba imports where it finds them.
OF_NUMBA = {"colorama", "yaml"}
BROUGHT_IN = """
import sys
before = set(sys.modules)
{use}
# Those that have a file: cython makes modules as it runs.
new = [name for name in set(sys.modules) - before if getattr(sys.modules[name], "__file__", None)]
# Of scipy, numba reads the version: what takes long is in its subpackages.
light = ("scipy._", "scipy.version", "_")
found = {{name.partition(".")[0] for name in new if name != "scipy" and not name.startswith(light)}}
print(*sorted(found - set(sys.stdlib_module_names) - {{"robosim"}}))
"""


def brought_in(use: str, **environment: str) -> set[str]:
    """Names of the libraries that an interpreter imports for something."""
    return set(run(BROUGHT_IN.format(use=use), **environment).stdout.split())


@pytest.mark.parametrize(
    ("use", "libraries"),
    [
        ("import robosim", {"numpy"}),
        (
            "import robosim.viz, robosim.loaders.writers, robosim.models.builders",
            {"numpy", "lxml"},
        ),
        ("from robosim.models.builders import chain; chain(3)", {"numpy"}),
    ],
)
def test_what_is_not_needed_is_not_imported(use, libraries):
    """Neither numba, nor scipy and what reads files, nor what draws."""
    assert brought_in(use) == libraries


@pytest.mark.parametrize(
    "use",
    [
        "import robosim; robosim.load('a1')",
        "from robosim.controllers import stand; import robosim; stand(robosim.load('a1'))",
    ],
)
def test_loading_waits_for_neither_numba_nor_what_draws(use):
    heavy = {"numba", "llvmlite", "meshcat", "IPython", "matplotlib", "pyarrow"}
    assert not brought_in(use) & heavy


OPTIONAL = (
    "pinocchio", "example_robot_data", "robot_descriptions", "xacro", "pandas", "mcap", "gymnasium",
    "torch", "jax", "stable_baselines3", "playwright", "mujoco", "casadi", "meshio", "dm_control",
    "ray", "pybullet", "pydrake", "clarabel", "coacd",
)  # fmt: skip


@pytest.mark.parametrize("module", ["robosim.cli", "robosim.bench", "robosim.experiments"])
def test_commands_are_listed_without_any_extra(module):
    """What needs one is imported where it is used, and only that is refused without it."""
    run(f"import sys; sys.modules |= dict.fromkeys({OPTIONAL}); import {module}")


def test_public_names_are_there():
    for name in robosim.__all__:
        assert getattr(robosim, name) is not None
    assert set(robosim.__all__) <= set(dir(robosim))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        robosim.nothing  # noqa: B018


NAMED = """
import robosim
for name in NAMES:
    found = robosim
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError as error:
        print(error)
    except robosim.RobosimError as error:
        assert "get it with: pip install" in str(error), error  # an extra
"""


def test_names_that_the_documents_write_need_no_other_import():
    """Every ``robosim.module.name``, in an interpreter that has imported `robosim` alone."""
    root = Path(__file__).parents[2]
    text = "\n".join(path.read_text(encoding="utf-8") for path in root.glob("docs/*.md"))
    text += (root / "README.md").read_text(encoding="utf-8")
    names = set(re.findall(r"\brobosim\.([a-z_]+\.[A-Za-z_][\w.]*\w)", text))
    assert len(names) > 20
    assert run(f"NAMES = {sorted(names - {'models.builders.NAME'})}\n{NAMED}").stdout == ""
    with pytest.raises(AttributeError, match=r"'robosim\.viz' has no attribute 'nothing'"):
        robosim.viz.nothing  # noqa: B018


SMALL = """
import sys
import robosim
from robosim.models.builders import pendulum
sim = robosim.Simulation(pendulum())
sim.set_state([1.0])
sim.step()
print(sim.q[0], "numba.np.linalg" in sys.modules)
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> tuple[str, dict[str, str]]:
    """What `SMALL` says when it compiles, into which cache."""
    cache = {"NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    first = run(SMALL, **cache)
    # On a busy machine more is said while it goes on.
    assert first.stderr.startswith("compiling kernels (first run, about a minute)\n")
    q, compiles = first.stdout.split()
    assert compiles == "True"
    return q, cache


def test_compiling_is_announced_once_and_then_cached(compiled):
    """From an empty cache; with a full one nothing is said, nor imported that only compiles."""
    q, cache = compiled
    second = run(SMALL, **cache)
    assert (second.stdout.split(), second.stderr) == ([q, "False"], "")


def test_a_step_brings_in_numba_alone(compiled):
    """Of a robot that is built, with its kernels in the cache: the physics needs no more."""
    _, cache = compiled
    assert brought_in(SMALL.partition("print")[0], **cache) - OF_NUMBA == {
        "numpy",
        "numba",
        "llvmlite",
    }


def test_a_copy_finds_what_another_has_compiled(compiled, tmp_path):
    """As a clone and a wheel of the same sources, which are told where to keep kernels."""
    for name in "robosim", "robosim.loaders", "robosim.models", "robosim.viz":
        source = Path(importlib.import_module(name).__file__).parent
        target = tmp_path.joinpath(*name.split("."))
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
    q, cache = compiled
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}){SMALL}print(robosim.__file__)"
    copied = run(code, **cache)
    assert copied.stdout.split() == [q, "False", str(tmp_path / "robosim" / "__init__.py")]
    assert copied.stderr == ""


NOWHERE = """
import robosim.kernels.compiler.cache as cache
cache.is_writable = lambda folder: False
cache.FOLDER = cache.cache_folder()
from robosim.kernels.compiler.jit import entry
from robosim.runtime.notice import CompileNotice

@entry
def double(x):
    return 2 * x

double.py_func.__module__ = "robosim.kernels"
CompileNotice.install()
print(double(21))
"""


def test_where_nothing_can_be_kept_kernels_are_compiled_all_the_same():
    """As in a container that can only be read, of a user whose home can only be read."""
    done = run(NOWHERE)
    assert done.stdout == "42\n"
    assert done.stderr.count("\n") == 1
    assert "NUMBA_CACHE_DIR" in done.stderr


def test_a_folder_that_cannot_be_written_is_passed_over(tmp_path, monkeypatch):
    from robosim.kernels.compiler import cache

    (tmp_path / "file").touch()
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setattr(cache, "PACKAGE", tmp_path / "file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users"))
    assert cache.cache_folder().parent == tmp_path / "users" / "robosim"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cache.cache_folder() is None


def test_warming_up_is_enough():
    """After `warmup` no robot needs another signature of any kernel."""
    code = """
        import robosim, numpy as np
        from robosim.models.builders import chain
        from robosim.runtime import handles
        robosim.warmup()
        for robot in (robosim.load("a1"), chain(3), chain(2, "spherical")):
            sim = robosim.Simulation(robot)
            sim.step(np.zeros(robot.nu))
            sim.set_state(list(sim.q), np.zeros(robot.nv, dtype=np.float32))
            sim.run(0.002)
            sim.run(0.002, lambda sim: np.zeros(robot.nv)[::1])
            sim.constraint_violation()
            sim.run(0.002, "zero")
        functions = [one.func for one in handles._STEP_FUNCTIONS.values()]
        print(len(functions), *(len(one.signatures) for one in (*functions, handles.store)))
    """
    # One step function of one signature; `store` has one for each of the two handles of a call.
    assert run(textwrap.dedent(code)).stdout.split() == ["1", "1", "2"]


def test_warming_up_for_a_robot_compiles_the_other_solver_and_the_lanes():
    """No kernel is compiled any more when a step goes over to it, or when a batch is stepped."""
    code = """
        import robosim, numpy as np
        from robosim.models.builders import double_pendulum
        from robosim.runtime.notice import CompileNotice
        robot = double_pendulum()
        robosim.warmup(robot, batch=True)
        spent = CompileNotice.seconds
        sim = robosim.Simulation(robot)
        sim.run(0.002)
        sim.engine.switch("ldu")
        sim.run(0.002)
        batch = robosim.BatchSimulation(robot, 9)
        batch.rollout(2, np.zeros(robot.nu))
        bound = batch.bind(1, bodies=True, contacts=True)
        for _ in range(2):
            bound.step()
            batch.reset(batch.prepare(), 0)
        print(CompileNotice.seconds == spent)
    """
    assert run(textwrap.dedent(code)).stdout.split() == ["True"]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.name)
def test_kernel_modules_hold_kernels_only(path):
    """Every function compiled, no loops or calls at import, constants that are true literals."""
    if COMPILER in path.parents:
        return  # what kernels are compiled with
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            plain = decorators in (["kernel"], ["aside"], ["entry"], ["stage"], ["bridge"])
            assert plain or decorators[0].startswith(("feature(", "feature_of_states(")), node.name
            assert ast.get_docstring(node) or node.end_lineno - node.lineno < 12, node.name
        elif isinstance(node, ast.Assign):
            assert all(isinstance(target, ast.Name) for target in node.targets)
            assert not any(isinstance(part, ast.Call) for part in ast.walk(node))
        else:
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            assert docstring or isinstance(node, ast.Import | ast.ImportFrom)


def test_the_kernel_cache_is_that_of_all_sources_that_kernels_are_made_of(tmp_path, monkeypatch):
    """A constant that changes in a file of Python's, as those of `model.py`, changes kernels."""
    from robosim.kernels.compiler import cache

    package = Path(robosim.__file__).parent
    copy = tmp_path / package.name
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(cache, "PACKAGE", copy)
    sources = set((copy / "kernels").rglob("*.py"))
    for source in list(sources):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("robosim."):
                imported = copy.joinpath(*node.module.split(".")[1:]).with_suffix(".py")
                sources |= {imported} if imported.is_file() else set()
    assert any("kernels" not in source.relative_to(copy).parts for source in sources)
    folders = {cache.cache_folder()}
    for number, source in enumerate(sorted(sources)):
        with source.open("a", encoding="utf-8") as file:
            file.write("# changed\n")
        folders.add(cache.cache_folder())
        assert len(folders) == number + 2, source
