"""Replays of logs: one log, or several logs with ghosts."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.description.body import lowest_arms
from robosim.description.mechanism import Mechanism
from robosim.errors import LogError
from robosim.log import Log
from robosim.viz.recorder import Recorder
from robosim.viz.snapshot import joint_charts

Array = NDArray[np.float64]
FPS = 60.0


def recording(
    log: Log,
    robot: Mechanism | None = None,
    *,
    others: Sequence[tuple[str, Log]] = (),
    fps: float = FPS,
) -> Recorder:
    """A log as a recording, which can be saved, drawn, or shown in a notebook.

    Positions of contact points are computed from the poses; a log has no contact forces.

    Parameters
    ----------
    log : Log
    robot : Mechanism or None
        None: the robot of the log, or, for a log from a file, the robot that `robosim.load` finds
        by the name in the log.
    others : sequence of (name, Log)
        Logs of the same robot that are drawn as ghosts, at the same times.
    fps : float
        Frames per second of simulated time.

    Returns
    -------
    Recorder

    Raises
    ------
    LogError
        If a log is empty or of another robot, or if the robot cannot be loaded.
    """
    # Imported here, as these import numba, which a viewer alone does not need.
    from robosim.kinematics.kinematics import Kinematics

    robot = robot_of(log) if robot is None else robot
    for one in (log, *(other for _, other in others)):
        if len(one) == 0:
            raise LogError(f"the log of '{one.info.robot}' has no samples to show")
        check_robot(one, robot)
    recorder = Recorder(robot, fps, ghosts=[name for name, _ in others])
    kinematics = Kinematics(robot)
    charts, places = joint_charts(log.info)
    charts.append({"title": "Newton iterations", "unit": "", "names": ["a step"]})
    columns = list(zip((log.q, log.v, log.tau), places, strict=True))
    recorder.charts = [] if others else charts
    for k in _moments(log.t, fps):
        t = float(log.t[k])
        poses = [_poses(kinematics, log.q[k])]
        contacts = lowest_points(robot, kinematics.x, kinematics.R)
        for _, other in others:
            nearest = min(int(np.searchsorted(other.t, t - 1e-9)), len(other) - 1)
            poses.append(_poses(kinematics, other.q[nearest]))
        x, q = (np.concatenate(parts) for parts in zip(*poses, strict=True))
        row = np.concatenate(([t], *(of[k, at] for of, at in columns), [log.iterations[k]]))
        recorder.add(t, x, q, contacts, row=row.copy)
    return recorder


def replay(log: Log, robot: Mechanism | None = None) -> Recorder:
    """Replay a log: in the default browser, or in a notebook as the cell's result.

    Parameters
    ----------
    log : Log
    robot : Mechanism or None
        None: the robot of the log, or, for a log from a file, the robot that `robosim.load` finds
        by the name in the log.

    Returns
    -------
    Recorder
        The recording, which can also be saved.

    Raises
    ------
    LogError
        If the log has no samples or another robot, or if the robot cannot be loaded.
    """
    recorder = recording(log, robot)
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ != "ZMQInteractiveShell":
        # The browser reads the file after this call, so it is not deleted here.
        with tempfile.NamedTemporaryFile(suffix=".html", delete=False) as file:
            path = Path(file.name)
        webbrowser.open(recorder.save(path).as_uri())
    return recorder


def lowest_points(robot: Mechanism, x: Array, R: Array) -> Array:
    """Lowest point of each contact, (nc, 3) [m], world, for poses x (nb, 3), R (nb, 3, 3)."""
    bodies = [robot.body_index(contact.body) for contact in robot.contacts]
    return np.asarray(x[bodies] + lowest_arms(robot.contacts, R[bodies]))


def robot_of(log: Log) -> Mechanism:
    """The robot of a log, or else the robot that is loaded by the name in the log.

    Raises
    ------
    LogError
        If no robot can be loaded by this name.
    """
    if log.robot is not None:
        return log.robot
    from robosim.errors import LoadError
    from robosim.loaders import load

    if not log.info.robot:
        raise LogError(
            "the log does not say of which robot it is, as a CSV file cannot: give the robot as "
            "well (robosim replay --model)"
        )
    try:
        return load(log.info.robot)
    except LoadError as error:
        raise LogError(
            f"the log is of a robot '{log.info.robot}', which cannot be loaded by that name "
            f"({error}): give the robot as well (robosim replay --model)"
        ) from None


def check_robot(log: Log, robot: Mechanism) -> None:
    """Raise a LogError if the log has another number of coordinates than the robot."""
    if log.q.shape[1] != robot.nq:
        raise LogError(
            f"the log has {log.q.shape[1]} coordinates, '{robot.name}' {robot.nq}: it is of "
            "another robot"
        )


def _moments(t: Array, fps: float) -> list[int]:
    """Indices of the first sample in each interval of 1 / fps."""
    slots = np.floor((t - t[0]) * fps + 1e-6)
    return np.flatnonzero(np.diff(slots, prepend=-1.0) > 0).tolist()


def _poses(kinematics: Any, q: Array) -> tuple[Any, Any]:
    from robosim.quaternions import from_matrix

    kinematics.move_to(q)
    return kinematics.x, np.array([from_matrix(R) for R in kinematics.R])
