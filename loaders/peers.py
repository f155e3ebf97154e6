"""Comparison of model files with other libraries; see `robosim.peers`."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from robosim import loaders
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError, RobosimError
from robosim.peers import comparison
from robosim.peers.comparison import TOLERANCE, Comparison
from robosim.peers.conformance import STATES, Report, check_robot
from robosim.simulation import Simulation


def compare(
    robot: Mechanism | str | os.PathLike[str],
    peer: str = "pinocchio",
    *,
    states: int = 100,
    seed: int = 0,
    package_dirs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    tolerance: float = TOLERANCE,
) -> Comparison:
    """Compare masses, kinematics and dynamics with another library.

    Configurations are random within the joint limits; a floating base has a random position and
    orientation. Velocities are normal with unit deviation, and forces are scaled by the inertia
    that they act on.

    Parameters
    ----------
    robot : Mechanism, or what `robosim.load` takes
        For a mechanism, the peer reads the file ``robot.source``.
    peer : str
        "pinocchio", "mujoco" or "reduced", the formulation of [Sueda], which reads no file.
    states, seed : int
        Number of random states, and seed of the random numbers.
    package_dirs : path, or iterable of paths
        As for `robosim.load`.
    tolerance : float
        Largest relative error of each row.

    Returns
    -------
    Comparison

    Raises
    ------
    PeerError
        If the peer is not installed or cannot load the robot, or if the robot has closed loops.
    OptionError
        For a number of states or a tolerance that is not positive.
    """
    if not isinstance(robot, Mechanism):
        robot = loaders.load(robot, ground=False, package_dirs=package_dirs)
    return comparison.compare(robot, peer, states=states, seed=seed, tolerance=tolerance)


def check_file(
    file: Path,
    reference: str,
    *,
    name: str | None = None,
    states: int = STATES,
    seed: int = 0,
    **options: Any,
) -> Report:
    """Load a file and compare it with a reference.

    Parameters
    ----------
    file : pathlib.Path
    reference : "pinocchio" or "mujoco"
    name : str or None
        Name of the file in the report.
    states, seed : int
        Number of random states, and the seed of the random numbers.
    **options
        Options for `robosim.load`.
    """
    report = Report(name or str(file), reference)
    try:
        start = time.perf_counter()
        robot = loaders.load(file, **options)
        report.seconds = time.perf_counter() - start
        report.bodies, report.joints = len(robot.bodies), len(robot.joints)
        report.nq, report.nv = robot.nq, robot.nv
        report.warnings = list(robot.warnings)
        check_robot(robot, report, states, seed)
    except ModelError as error:
        report.outcome, report.reason = "refused", error.reason
        report.reason = f"{error.element}: {error.reason}" if error.element else error.reason
    except Exception as error:  # crashes are reported
        report.outcome = "crashed"
        where = traceback.extract_tb(error.__traceback__)[-1]
        report.reason = f"{error!r} ({Path(where.filename).name}:{where.lineno})"
    return report


def simulate_file(file: Path, seconds: float, **options: Any) -> str:
    """The reason why a file cannot be simulated from its home pose on the ground; empty if it can.

    There are no torques: legs collapse, arms swing, and wheels roll.

    Parameters
    ----------
    file : pathlib.Path
    seconds : float [s]
    **options
        Options for `robosim.load`.

    Raises
    ------
    ModelError
        If the file is refused.
    """
    robot = loaders.load(file, **options)
    try:
        Simulation(robot).run(seconds)
    except RobosimError as error:
        return f"{type(error).__name__}: {error}"
    return ""
