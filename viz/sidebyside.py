"""The same robot in robosim and in MuJoCo, falling side by side."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.errors import PeerError
from robosim.version import install
from robosim.viz.link import MAX_FPS
from robosim.viz.pacing import RealTimePacer
from robosim.viz.snapshot import snapshot
from robosim.viz.viewer import Viewer

DROP = 0.2  # height of the fall as a fraction of the robot's size, for a free base
FALL_SECONDS = 5.0  # until a restart


def fall(
    robot: Mechanism,
    viewer: Viewer,
    stop: Callable[[], bool],
    *,
    timestep: float = 1e-3,
    seconds: float = FALL_SECONDS,
) -> None:
    """Show both without a controller, in real time, repeatedly until `stop` returns True.

    The robot in robosim is solid; the ghost is the one in MuJoCo, with its default options. A
    robot with a free base starts a little above its home pose.

    Parameters
    ----------
    robot : Mechanism
    viewer : Viewer
        With one ghost.
    stop : callable() -> bool
        Called before each frame.
    timestep, seconds : float [s]
        Time step of both, and duration of each fall.

    Raises
    ------
    PeerError
        If MuJoCo is not installed, or for a joint that MuJoCo does not have.
    """
    from robosim.peers.mujoco_run import MuJoCoRun, Settings, available
    from robosim.simulation import Simulation

    if not available():
        raise PeerError(f"mujoco is not installed; get it with: {install('peers')}")
    sim, peer = Simulation(robot, timestep), MuJoCoRun(robot, timestep, Settings())
    start = np.array(robot.home, dtype=float)
    if robot.floating_base:
        start[2] += DROP * float(np.ptp(sim.state.x, axis=0).max(initial=0.5))
    steps = max(1, round(1 / (MAX_FPS * timestep)))
    pacer = RealTimePacer()
    for frame in itertools.count():
        if stop():
            return
        if frame % max(1, round(seconds / (steps * timestep))) == 0:
            sim.set_state(start)
            peer.set_state(start)
            pacer.resume(0.0)
        for _ in range(steps):
            sim.step()
        peer.step(steps)
        state: dict[str, Any] = snapshot(sim)
        x, q = _poses(peer, robot)
        state["x"], state["q"] = np.vstack((state["x"], x)), np.vstack((state["q"], q))
        viewer.update(**state)
        pacer.wait(sim.time)


def _poses(peer: Any, robot: Mechanism) -> tuple[Any, Any]:
    """Poses of the bodies in MuJoCo, whose frames are placed at the centres of mass."""
    rows = [peer.model.body(body.name).id for body in robot.bodies]
    return peer.data.xpos[rows], peer.data.xquat[rows]
