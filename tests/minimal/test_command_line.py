"""Runs in joint coordinates from the shell, recorded and logged as others are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from robosim import MinimalSimulation
from robosim.cli import app
from robosim.log import read_log
from robosim.models.builders import double_pendulum

LEFT_OUT = ("--ignore", "contacts", "--ignore", "limits", "--ignore", "friction")


def simulate(*args: str) -> Any:
    return CliRunner().invoke(app, ["simulate", *args])


def test_a_run_is_that_of_python(tmp_path: Path) -> None:
    """The same numbers, in the log as well."""
    log = tmp_path / "run.npz"
    told = simulate(
        "double_pendulum", "--formulation", "galerkin", "--order", "4", "--seconds", "0.5",
        "--timestep", "0.005", "--q", "joint1=1", "--log", str(log), "--json",
    )  # fmt: skip
    assert told.exit_code == 0, told.output
    sim = MinimalSimulation(double_pendulum(), 0.005, integrator="galerkin", order=4)
    sim.set_state([1.0, 0.0])
    expected = sim.run(0.5)
    outcome = json.loads(told.stdout)
    np.testing.assert_array_equal(outcome["final_q"], sim.q)
    np.testing.assert_array_equal(read_log(log).q, expected.q)
    assert outcome["steps"] == 100
    assert outcome["min_gap_m"] is None


def test_the_a1_in_the_air_is_recorded(tmp_path: Path) -> None:
    """What it leaves out is said, and its contact points are shown without forces."""
    page = tmp_path / "run.html"
    args = ("a1", "--formulation", "newton", "--seconds", "0.05", "--json", "--record", str(page))
    refused = simulate(*args)
    assert refused.exit_code == 1
    assert "can touch the ground" in refused.stderr
    told = simulate(*args, *LEFT_OUT)
    assert told.exit_code == 0, told.output
    assert page.stat().st_size > 10_000
    outcome = json.loads(told.stdout)
    assert outcome["energy_final"] == pytest.approx(outcome["energy_initial"], abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--formulation", "minimal"), "--formulation must be one of maximal, newton"),
        (("--ignore", "contacts"), "--ignore is for --formulation newton"),
        (("--formulation", "riqn", "--velocity-limits"), "--velocity-limits is for"),
        (("--formulation", "riqn", "--lanes"), "--lanes is for"),
        (("--formulation", "newton", "--order", "4"), "order must be 2"),
    ],
)
def test_options_that_do_not_go_together(options: tuple[str, ...], message: str) -> None:
    """Are refused before anything runs."""
    told = simulate("double_pendulum", "--seconds", "0.1", *options)
    assert told.exit_code == 1
    assert message in told.stderr
