"""Plans that their feedback follows, in robosim's simulation or in MuJoCo."""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim.errors import OptionError, PeerError
from robosim.log import Chunk, Log
from robosim.optimize.feedback import Feedback
from robosim.peers.conversions import from_mujoco, to_mujoco
from robosim.peers.mujoco_run import ON_FEET, MuJoCoRun, available
from robosim.simulation import Simulation
from robosim.validation import Array, positive
from robosim.version import install

PEERS = (None, "mujoco")


def replayed(
    feedback: Feedback, q: Array, v: Array, seconds: float, sim: Any, peer: str | None
) -> Log:
    """The motion from a state on under a feedback; see `Trajectory.replay`.

    Parameters
    ----------
    feedback : Feedback
    q, v : (nq,), (nv,)
        Where the motion begins, at the time at which the feedback does.
    seconds : float [s]
    sim : Simulation, MinimalSimulation, or None
        What takes the steps without a peer; None: a `Simulation` with the feedback's time step.
    peer : None or "mujoco"

    Raises
    ------
    OptionError
        For an unknown peer.
    PeerError
        If MuJoCo is not installed, does not have the robot, or is unstable.
    """
    if peer not in PEERS:
        raise OptionError(f"peer must be 'mujoco' or None, not {peer!r}")
    seconds = positive("seconds", seconds)
    if peer == "mujoco":
        return _in_mujoco(feedback, q, v, seconds)
    sim = Simulation(feedback.robot, feedback.timestep) if sim is None else sim.copy()
    sim.set_state(q, v, feedback.begin)
    log: Log = sim.run(seconds, feedback)
    return log


def _in_mujoco(feedback: Feedback, q: Array, v: Array, seconds: float) -> Log:
    if not available():
        raise PeerError(f"mujoco is not installed; get it with: {install('peers')}")
    robot, dt = feedback.robot, feedback.timestep
    run = MuJoCoRun(robot, dt, ON_FEET)
    run.set_state(*to_mujoco(robot, q, v, model=run.model))
    n = round(seconds / dt)
    qs, vs = np.empty((n, robot.nq)), np.empty((n, robot.nv))
    taus, gaps = np.empty((n, robot.nu)), np.empty(n)
    # Forces of joints are those along robosim's velocities, which MuJoCo has in the same order.
    at = np.rint(from_mujoco(robot, run.data.qpos, np.arange(float(run.model.nv)),
                             model=run.model)[1]).astype(int)[list(robot.actuated)]  # fmt: skip
    for k in range(n):
        qs[k], vs[k] = from_mujoco(robot, run.data.qpos, run.data.qvel, model=run.model)
        row = feedback.row(feedback.begin + k * dt)
        taus[k] = feedback.torques(row, qs[k][None], vs[k][None])[0]
        run.data.qfrc_applied[at] = taus[k]
        if not run.step():
            raise PeerError(f"MuJoCo is unstable at {run.failed_at:.4g} s")
        gaps[k] = run.gap()
    t = np.asarray(feedback.begin + dt * np.arange(n), dtype=np.float64)
    none = np.zeros(n, dtype=np.int64)
    chunk = Chunk(t, qs, vs, taus, none, none, np.zeros(n), gaps, np.zeros((n, 0)))
    return Log.from_chunks(robot, dt, [chunk])
