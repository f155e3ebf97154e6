"""Controllers that hold a pose, and the controller without torques."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robosim.control.pd import PD
from robosim.control.standing import carried_inertia, home_inertia
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError
from robosim.validation import Array, positive


def zero(robot: Mechanism, timestep: float | None = None) -> PD:
    """A controller without torques. The timestep is ignored."""
    return PD(robot, 0.0, 0.0, 0.0)


def stand(
    robot: Mechanism,
    timestep: float | None = None,
    *,
    q: ArrayLike | None = None,
    implicit: bool | None = None,
) -> PD:
    """Hold a standing pose: the robot's stance if it has one, or else its home pose.

    For robots without a stance the gains are those of a critically damped spring of 5 Hz. The
    inertia of a joint is that of the bodies below it. For joints above a foot, the inertia is the
    joint's share of the rest of the robot, if that is larger.

    Parameters
    ----------
    robot : Mechanism
    timestep : float [s] or None
        Time step of the simulation. If held torques would be unstable at this timestep (see
        `holds_over`), the PD is implicit.
    q : (nq,) or None
        A pose to hold instead of home, for robots without a stance.
    implicit : bool or None
        Whether the PD is implicit, at any timestep. None: chosen by `timestep`, and explicit if
        that is None as well.

    Returns
    -------
    PD

    Raises
    ------
    ModelError
        If the robot has no actuated joint.
    OptionError
        For a timestep that is not positive.
    """
    if robot.nu == 0:
        raise ModelError("has no actuated joint to stand with", element=f"robot '{robot.name}'")
    if timestep is not None:
        positive("timestep", timestep)
    if robot.stance is not None:
        known = robot.stance
        target, kp, kd = np.asarray(known.target), np.asarray(known.kp), np.asarray(known.kd)
    else:
        gains = zero(robot).gains
        ours = gains["v_index"] < robot.nv  # joints that close loops follow the tree
        pose = np.asarray(robot.home if q is None else q, dtype=float)
        carried = np.zeros(robot.nu)
        carried[ours] = carried_inertia(robot, pose)[gains["v_index"][ours]]
        frequency = 2 * np.pi * 5.0
        target, kp, kd = np.zeros(robot.nu), carried * frequency**2, 2 * carried * frequency
        target[ours] = pose[gains["q_index"][ours]]
    pd = PD(robot, target, kp, kd)
    if implicit is None:
        implicit = timestep is not None and not holds_over(pd, home_inertia(robot), timestep)
    pd.gains["implicit"] = implicit
    return pd


def holds_over(pd: PD, inertia: Array, timestep: float) -> bool:
    """Whether an explicit PD is stable with this timestep h.

    Consider a free motion along an eigenvector v that grows by the factor z in each step. Then z
    satisfies ``m (z-1)^2 + h d (z-1) + h^2 k (z+1)/2 = 0``. Here m, d and k are the quadratic forms
    in v of the inertia M, of kd and of kp. The roots are within the unit circle if ``h d < 2 m``
    and ``h k < 2 d``. Sufficient conditions are that h times the largest eigenvalue of
    ``M^-1 kd`` is below 2, and that ``h kp < 2 kd`` for each joint. Contacts and loops only add
    to the inertia. Without inertia along a coordinate, none is stable.

    Parameters
    ----------
    pd : PD
    inertia : (nv, nv)
        Mass matrix of the tree with its rotors.
    timestep : float [s]
    """
    g = pd.gains[pd.gains["v_index"] < len(inertia)]
    columns = np.zeros((len(inertia), len(g)))
    columns[g["v_index"], np.arange(len(g))] = np.sqrt(g["kd"])
    try:
        answers = np.linalg.solve(inertia, columns)
    except np.linalg.LinAlgError:  # something moves without inertia, and so at any speed
        return False
    fastest = np.linalg.eigvalsh(columns.T @ answers).max(initial=0.0)
    active = (g["kp"] != 0.0) | (g["kd"] != 0.0)
    stiff = np.any(timestep * g["kp"][active] >= 2 * g["kd"][active])
    return bool(timestep * fastest < 2 and not stiff)
