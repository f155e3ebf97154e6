"""Round trips: logs of all formats, and model files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import robosim
from robosim import Mechanism, SaveError
from robosim.log import Log

from ..builder import Case, hold

STEPS = 30
NEAR = 1e-7
HARMLESS = "that the pose", "frames that are not", "names of springs"
"""What a file may lose and still be the same mechanism."""


def logs_come_back(case: Case) -> bool:
    """All digits, from npz, parquet, csv and MCAP."""
    log = case.run(case.simulation(), STEPS)
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("npz", "parquet", "csv", "mcap"):
            path = Path(folder) / f"run.{suffix}"
            try:
                log.save(path)
            except SaveError:
                # ROS 2 has models as URDF, which does not have all joints.
                hold(suffix == "mcap", "the log is refused")
                continue
            back = Log.load(path)
            for name in log.names:
                a, b = log.column(name), back.column(name)
                assert np.array_equal(a, b), f"column '{name}' of a {suffix} file is another"
    return True


def through(suffix: str) -> Callable[[Case], bool]:
    """A check of a format of model files."""

    def check(case: Case) -> bool:
        both = (one for one in (case, case.twin("smooth")) if one.robot.nv)
        found = [comes_back(one, suffix) for one in both]
        return any(found)

    check.__name__ = f"{suffix}_files_come_back"
    check.__doc__ = "A model that loses nothing moves as it did, to the tolerance; or an error."
    return check


def comes_back(case: Case, suffix: str) -> bool:
    """Whether a file holds all of a case, which then moves as before."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"robot.{suffix}"
        try:
            lost = robosim.save(case.robot, path)
        except SaveError as error:
            names = [joint.name for joint in case.robot.joints]
            hold(any(name in str(error) for name in names), f"names nothing: {error}")
            return False
        options = {} if case.touches else {"ground": False}
        again = robosim.load(path, compliant="compliant" in case.features, **options)
    # A carrier has another mass when it is read.
    whole = all(told.startswith(HARMLESS) for told in lost)
    whole = whole and not {"massless", "backlash"} & set(case.features)
    if case.driven or not whole:
        return False
    compare(case, again)
    return True


def compare(case: Case, again: Mechanism) -> None:
    """The same names and motion."""
    robot = case.robot
    # A joint with several coordinates may be read as several joints.
    if sorted(again.v_names) != sorted(robot.v_names):
        assert again.nv == robot.nv, "another number of coordinates"
        return
    # A file may have a spring as a tendon, which another solver has.
    options = {**case.options, "solver": None}
    sim, other = case.simulation(), robosim.Simulation(again, **options)
    other.set_state(reordered(case.q, robot.q_names, again.q_names),
                    reordered(case.v, robot.v_names, again.v_names))  # fmt: skip
    if case.controls:
        other.set_controls(case.controls)
    for one in (sim, other):
        one.run(STEPS * case.timestep)
    off = np.abs(reordered(sim.q, robot.q_names, again.q_names) - other.q).max()
    assert off < NEAR, f"the model that was written moves otherwise, by {off:.3g}"


def reordered(values: np.ndarray, names: tuple, others: tuple) -> np.ndarray:
    """Values by their names, in another order."""
    by_name = dict(zip(names, values, strict=True))
    return np.array([by_name[name] for name in others])


CHECKS = (logs_come_back, through("urdf"), through("xml"))
