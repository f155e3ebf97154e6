"""A model file as robosim loads it, compared with the library whose format it is.

URDF is compared with Pinocchio, and with MuJoCo where MuJoCo reads the file; MJCF with MuJoCo's
compiled model. First the elements are compared: joints, coordinates, bodies with mass, centre and
inertia, and frames. Then follow derived quantities at random states, by `robosim.compare`.

Bodies that a library keeps apart, although they cannot move against each other, count as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.errors import PeerError
from robosim.peers.comparison import compare
from robosim.peers.conversions import count_joints, to_pinocchio
from robosim.peers.libraries import Peer, open_peer

Array = NDArray[np.float64]

STATES = 20
"""Random states in which a file is compared."""
TOLERANCE = 1e-9
"""Largest relative difference of a row that agrees."""
TOLERANCES = {"mass matrix": 1e-8, "bias forces": 1e-8, "forward accelerations": 1e-7}
"""That of the rows that have another one."""


class Moving(NamedTuple):
    """A moving body: mass [kg], centre (3,) [m] and inertia (3, 3) [kg m^2] about the centre.

    Axes and origin are those of the frame that the body's joint leads to.
    """

    mass: float
    center: Array
    inertia: Array


class Structure(NamedTuple):
    """The elements of a model.

    Attributes
    ----------
    nq, nv : int
    joints : int
        Joints that can move.
    bodies : dict of str to Moving
        By the name of one of their frames, without bodies fixed to the world.
    frames : dict of str to ((3, 3), (3,))
        Rotation and position in the body that the frame is fixed to.
    """

    nq: int
    nv: int
    joints: int
    bodies: Mapping[str, Moving]
    frames: Mapping[str, tuple[Array, Array]]


@dataclass(frozen=True)
class Check:
    """One quantity: its error and its tolerance."""

    name: str
    error: float
    tolerance: float

    @property
    def ok(self) -> bool:
        """Whether the error is at most the tolerance; NaN is not."""
        return self.error <= self.tolerance


@dataclass
class Report:
    """The result of the comparison of one file.

    Attributes
    ----------
    file : str
    outcome : str
        "agrees", "differs", "refused" (by robosim, with a typed error), "not compared", or
        "crashed". A file is not compared if the reference does not read it, or has no such joint.
    reason : str
        Reason of any other outcome than "agrees".
    reference : str
    bodies, joints, nq, nv : int
    seconds : float [s], for loading
    checks : list of Check
    warnings : list of str
    """

    file: str
    reference: str
    outcome: str = "agrees"
    reason: str = ""
    bodies: int = 0
    joints: int = 0
    nq: int = 0
    nv: int = 0
    seconds: float = 0.0
    checks: list[Check] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON; an error that is not finite is None."""
        told = dict(vars(self))
        told["checks"] = [
            {
                "name": check.name,
                "error": check.error if np.isfinite(check.error) else None,
                "tolerance": check.tolerance,
                "ok": check.ok,
            }
            for check in self.checks
        ]
        return told


def check_robot(robot: Mechanism, report: Report, states: int = STATES, seed: int = 0) -> None:
    """Compare a robot that was loaded from a file with the report's reference, and report it.

    Parameters
    ----------
    robot : Mechanism
    report : Report
        The report of that file, which is filled in.
    states, seed : int
        Number of random states, and the seed of the random numbers.
    """
    try:
        peer = open_peer(report.reference, robot)
        report.checks = structure_checks(structure(robot, report.reference), of_peer(peer))
        comparison = compare(robot, report.reference, states=states, seed=seed)
    except PeerError as error:
        report.outcome, report.reason = "not compared", str(error)
        return
    report.checks += [
        Check(row.name, row.error, TOLERANCES.get(row.name, TOLERANCE)) for row in comparison.rows
    ]
    failed = [check.name for check in report.checks if not check.ok]
    if failed:
        report.outcome, report.reason = "differs", ", ".join(failed)


def structure(robot: Mechanism, reference: str) -> Structure:
    """The elements of a mechanism, with coordinates counted as the reference counts them."""
    # A carrier, a body between the parts of one joint, is not in the file.
    carriers = {body.name for body in robot.bodies if body.carrier}
    moving = [joint for joint in robot.tree_joints if joint.nv > 0]
    bodies = {}
    for joint in moving:
        if joint.child not in carriers:
            body = robot.body(joint.child)
            bodies[body.frames[0].name] = Moving(
                body.mass, -body.reference_position, np.asarray(body.inertia)
            )
    count = count_joints(robot)
    if reference == "mujoco":  # whose other joints have one coordinate each
        parts = (joint.nv - 2 * joint.has_quaternion for joint in moving)
        free = sum(joint.kind == "floating" and joint.parent is None for joint in moving)
        count = sum(parts) - 3 * free
    frames = {}
    for index, frame in robot.frames():
        origin = robot.bodies[index].reference_position
        R = quaternions.rotation_matrix(frame.quaternion)
        frames[frame.name] = R, np.asarray(frame.position) - origin
    for frame in robot.world_frames:
        R = quaternions.rotation_matrix(frame.quaternion)
        frames[frame.name] = R, np.asarray(frame.position)
    nq = len(to_pinocchio(robot, robot.neutral())) if reference == "pinocchio" else robot.nq
    return Structure(nq, robot.nv, count, bodies, frames)


def of_peer(peer: Peer) -> Structure:
    """The elements of a model that Pinocchio or MuJoCo has loaded."""
    return _of_pinocchio(peer) if peer.name == "pinocchio" else _of_mujoco(peer)


def _of_pinocchio(peer: Any) -> Structure:
    pin, model = peer._pin, peer._model
    inertias = list(model.inertias)
    bodies, frames = {}, {}
    for frame in model.frames:
        if frame.type != pin.BODY:
            continue
        frames[frame.name] = (
            np.array(frame.placement.rotation),
            np.array(frame.placement.translation),
        )
        joint = frame.parentJoint
        if joint > 0:
            theirs = inertias[joint]
            bodies[frame.name] = Moving(
                theirs.mass, np.array(theirs.lever), np.array(theirs.inertia)
            )
    return Structure(model.nq, model.nv, model.njoints - 1, bodies, frames)


def _of_mujoco(peer: Any) -> Structure:
    mj, model = peer._mj, peer._model
    data = mj.MjData(model)
    mj.mj_kinematics(model, data)
    mj.mj_comPos(model, data)
    x, R = np.array(data.xpos), np.array(data.xmat).reshape(-1, 3, 3)
    frames: dict[str, tuple[Array, Array]] = {}
    parts: dict[int, list[tuple[float, Array, Array]]] = {}
    for k in range(model.nbody):
        # A body in no tree does not move. A mocap body is its own root in MuJoCo.
        top = model.body_weldid[k] if model.body_treeid[k] >= 0 else 0
        frames[model.body(k).name or f"body{k}"] = R[top].T @ R[k], R[top].T @ (x[k] - x[top])
        R_i = np.array(data.ximat[k]).reshape(3, 3)
        if top > 0:
            inertia = R[top].T @ R_i @ np.diag(model.body_inertia[k]) @ R_i.T @ R[top]
            center = R[top].T @ (data.xipos[k] - x[top])
            parts.setdefault(top, []).append((model.body_mass[k], center, inertia))
    bodies = {model.body(top).name or f"body{top}": _together(own) for top, own in parts.items()}
    return Structure(model.nq, model.nv, model.njnt, bodies, frames)


def _together(parts: list[tuple[float, Array, Array]]) -> Moving:
    mass = sum(part[0] for part in parts)
    center = sum((m * c for m, c, _ in parts), np.zeros(3)) / (mass or 1.0)
    inertia = np.zeros((3, 3))
    for m, c, own in parts:
        r = c - center
        inertia += own + m * (r @ r * np.eye(3) - np.outer(r, r))
    return Moving(mass, center, inertia)


def structure_checks(ours: Structure, theirs: Structure) -> list[Check]:
    """Counts have to be equal, numbers within 1e-9 of the largest of their kind in the model.

    An inertia is relative to that of the same body, which may be far smaller than others.
    """
    checks = [
        Check(what, abs(getattr(ours, what) - getattr(theirs, what)), 0)
        for what in ("nq", "nv", "joints")
    ]
    common = [name for name in theirs.bodies if name in ours.bodies]
    checks.append(Check("bodies", len(ours.bodies) - len(common), 0))
    pairs = [(ours.bodies[name], theirs.bodies[name]) for name in common]
    length = max((float(np.abs(p).max()) for _, p in theirs.frames.values()), default=0.0)
    length = max(length, *(float(np.abs(b.center).max()) for _, b in pairs), 1e-6)
    frames = [name for name in theirs.frames if name in ours.frames]
    rotations = [ours.frames[name][0] - theirs.frames[name][0] for name in frames]
    positions = [ours.frames[name][1] - theirs.frames[name][1] for name in frames]
    return [
        *checks,
        Check("masses", _largest([(a.mass - b.mass) / b.mass for a, b in pairs]), TOLERANCE),
        Check("centres", _largest([a.center - b.center for a, b in pairs]) / length, TOLERANCE),
        Check(
            "inertias",
            # A point mass has no inertia to compare with.
            _largest([(a.inertia - b.inertia) / (np.abs(b.inertia).max() or 1) for a, b in pairs]),
            TOLERANCE,
        ),
        Check("frames: rotations", _largest(rotations), TOLERANCE),
        Check("frames: positions", _largest(positions) / length, TOLERANCE),
    ]


def _largest(errors: list[Any]) -> float:
    # Not Python's max(), which may drop a NaN.
    return float(np.max([np.max(np.abs(error)) for error in errors], initial=0.0))
