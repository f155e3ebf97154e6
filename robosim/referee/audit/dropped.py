"""What a simulator's reader has dropped of a file, or changed, beside robosim's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.referee.audit.runs import Opened
from robosim.referee.finding import Finding

_TAKEN = "<option>: Simulation takes as arguments"
"""A remark of robosim's reader on what an audit passes on."""
_UNMOVED = ("camera", "sensor", "visual", "it is taken as fixed to the world")
"""Words of remarks on what no motion depends on."""
_MENDS = {
    "mujoco": "write the robot for it with: robosim convert FILE FILE.xml",
    "drake": "add what is missing to the plant in code, before Finalize",
    "pybullet": "add what is missing in code: createConstraint (JOINT_GEAR for a mimic joint, "
    "JOINT_POINT2POINT for a loop), changeDynamics for masses and damping",
    "newton": "add what is missing to the ModelBuilder in code (add_joint with no articulation for "
    "a loop); its solver Kamino has no mimic joints",
}
_ALIKE = 1e-6
_LISTED = 4


def of_robosim(robot: Mechanism) -> Iterator[Finding]:
    """What robosim's own reader has said about the file."""
    for warning in robot.warnings:
        if not warning.startswith(_TAKEN):
            yield Finding(
                "dropped",
                "note",
                "the file",
                f"robosim says of the file: {warning}",
                effects={"robosim": warning},
            )


def moves(said: str) -> bool:
    """Whether the motion may depend on what a reader has said."""
    return not any(word in said for word in _UNMOVED)


def of_peer(robot: Mechanism, opened: Opened, title: str, written: bool) -> Iterator[Finding]:
    """What a simulator has dropped or changed.

    Parameters
    ----------
    robot : Mechanism
    opened : Opened
    title : str
        Of the simulator.
    written : bool
        Whether robosim has written the file for the simulator.
    """
    name = f"{title} {opened.version}"
    mend = "" if written else _MENDS.get(opened.peer, "")

    def finding(severity: str, element: str, said: str, value: float | None = None) -> Finding:
        return Finding(
            "dropped",
            severity,  # type: ignore[arg-type]
            element,
            f"{name} {said}",
            mend,
            {title: said},
            value,
            cause="reader",
        )

    missing = len(robot.couplings) + len(robot.loop_joints) - opened.equalities - opened.tendons
    if missing > 0:
        for coupling in robot.couplings if opened.equalities == 0 else ():
            yield finding(
                "error",
                f"joint '{coupling.joint}'",
                f"drops the mimic joint: '{coupling.joint}' does not follow '{coupling.source}'",
            )
        for joint in robot.loop_joints if opened.equalities == 0 else ():
            yield finding(
                "error",
                f"joint '{joint.name}'",
                f"drops the joint '{joint.name}' that closes a loop",
            )
        if opened.equalities:
            yield finding("error", "the file", f"drops {missing} of the robot's constraints")
    groups = robot.rigid_groups
    loose = [body for body in robot.bodies if groups[body.name] != groups.get(None)]
    moving = float(sum(body.mass for body in loose if not body.carrier))
    if opened.mass and abs(opened.mass - moving) > _ALIKE * moving:
        said = f"has a mass of {opened.mass:.6g} kg, and robosim {moving:.6g} kg"
        yield finding("warning", "the whole robot", said, abs(opened.mass - moving))
    yield from _joints(robot, opened, finding)
    links: dict[str, set[str]] = {body.name: {body.name} for body in robot.bodies}
    for index, frame in robot.frames():
        links[robot.bodies[index].name].add(frame.name)
    touching = set(opened.touching)
    ours = {contact.body for contact in robot.contacts}
    lost = sorted(name for name in ours if not links[name] & touching)
    if lost:
        told = ", ".join(f"'{one}'" for one in lost[:_LISTED])
        more = f" and {len(lost) - _LISTED} more" if len(lost) > _LISTED else ""
        yield finding("warning", lost[0], f"has no shapes that touch for {told}{more}")


def _joints(robot: Mechanism, opened: Opened, finding: object) -> Iterator[Finding]:
    """Limits, dampers, dry friction and rotors that differ."""
    for joint in robot.tree_joints:
        names = joint.coordinate_names or (joint.name,)
        if joint.has_quaternion or len(names) != joint.nv:
            continue
        for k, name in enumerate(names):
            theirs = opened.joints.get(name)
            if theirs is None:
                continue
            ours = {
                "lower": float(np.asarray(joint.lower)[k]),
                "upper": float(np.asarray(joint.upper)[k]),
                "damping": float(joint.per_coordinate("damping")[k]),
                "friction": float(joint.per_coordinate("friction")[k]),
                "armature": float(joint.per_coordinate("armature")[k]),
            }
            for what, own in ours.items():
                other = theirs[what]
                if own != other and not abs(own - other) <= _ALIKE * max(1.0, abs(own)):
                    yield finding(  # type: ignore[operator]
                        "warning",
                        f"joint '{name}'",
                        f"gives joint '{name}' a {what} of {other:g}, and robosim {own:g}",
                    )
