"""Without numba's internals robosim is slower, and right.

The kernels of both solvers are compiled anew for that, for some minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robosim
from robosim.controllers import PD
from robosim.kernels import compiler
from robosim.kernels.compiler import PRIVATE, SWITCH
from robosim.models import builders

COMPILER, FOLDER = compiler.__name__, Path(compiler.__file__).parent
STEPS = 40
STARTS = {  # the ball falls onto the ground, slides and begins to roll; so does the box, and tips
    "double_pendulum": ([0.3, 0.5], [1.0, -2.0]),
    "sphere": ([0.0, 0.0, 0.26, 1.0, 0.0, 0.0, 0.0], [1.0, 0.2, -1.0, 0.5, 1.0, 0.3]),
    "three_link_loop": (None, None),
    "cube": ([0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0], [1.0, 0.2, -1.0, 0.5, 1.0, 0.3]),
}
SHORT = ("articulated", "sphere"), ("ldu", "double_pendulum")
LONG = tuple(
    (solver, name)
    for solver in ("articulated", "ldu")
    for name in STARTS
    if (solver, name) not in SHORT
)


def simulated(solver: str, name: str, mechanism: Any) -> Any:
    """Some steps of a mechanism, the cube on a half-space of its own, the pendulum with a servo."""
    robot = mechanism()
    if name == "cube":
        robot = robot.with_contacts([robosim.HalfSpace()], ground=False)
    sim = robosim.Simulation(robot, solver=solver, lanes=True)
    sim.set_state(*STARTS[name])
    if name == "double_pendulum":
        sim.run(STEPS * sim.timestep, PD(robot, 0.2, 30.0, 1.0, implicit=True))
    else:
        for _ in range(STEPS):
            sim.step()
    return sim


def asked(cases: tuple[tuple[str, str], ...]) -> str:
    """Code that prints where some cases end, and what has been imported for it."""
    return f"""
import json, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_plain_numba import simulated
from robosim.models import builders
found = {{}}
for solver, name in {cases}:
    sim = simulated(solver, name, getattr(builders, name))
    found[solver + name] = {{"q": [*sim.q], "v": [*sim.v], "lanes": sim.lanes}}
ours = [one for one in sys.modules.values() if one.__name__.startswith({COMPILER!r})]
print(json.dumps({{**found, "files": [one.__file__ for one in ours]}}))
"""


def run(code: str, **environment: str) -> str:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


@pytest.fixture(scope="module")
def plain() -> Any:
    """What a process finds that is told to do without numba's internals."""
    return json.loads(run(asked(SHORT), **{SWITCH: "1"}))


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "name"), SHORT)
def test_steps_are_the_same(plain, solver, name):
    compare(plain[solver + name], solver, name)


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "name"), LONG)
def test_steps_of_everything_are_the_same(solver, name):
    """Each compiles for minutes: loops, shapes and servos, with both solvers."""
    found = json.loads(run(asked(((solver, name),)), **{SWITCH: "1"}))
    compare(found[solver + name], solver, name)


def compare(found: Any, solver: str, name: str) -> None:
    """Up to rounding, as plain numba fuses no product with a sum; v is as exact as a residual."""
    sim = simulated(solver, name, getattr(builders, name))
    assert found["lanes"] is False
    np.testing.assert_allclose(found["q"], sim.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["v"], sim.v, rtol=0, atol=1e-7)


@pytest.mark.slow
def test_no_module_that_needs_internals_is_loaded(plain):
    names = sorted(Path(file).relative_to(FOLDER).as_posix() for file in plain["files"])
    shared = ["__init__.py", "addresses.py", "cache.py", "charts.py"]
    assert names == sorted([*shared, *(f"plain/{name}.py" for name in PRIVATE)])


def test_another_numba_is_told_of_and_borne():
    code = """
        import warnings
        import numba.core.caching
        del numba.core.caching.FunctionCache
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            from robosim.runtime import handles, lanes
            from robosim.kernels.compiler import PLAIN, jit
        print(PLAIN, jit.__file__)
        print(*(one.message for one in told))
    """
    chosen, told = run(code, **{SWITCH: "0"}).splitlines()
    assert chosen == f"True {FOLDER / 'plain' / 'jit.py'}"
    assert told.startswith("robosim's kernels are compiled by plain numba")
    assert told.count("plain numba") == 1
    assert "FunctionCache" in told
