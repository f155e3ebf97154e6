"""Checks of joints: limits, efforts, damping and rotors, in proportion to what they move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from robosim.description.joint import Joint
from robosim.description.poses import body_poses
from robosim.referee.doctor.case import Case
from robosim.referee.doctor.effects import EFFECTS
from robosim.referee.finding import Finding, Severity

G = 9.81  # [m/s^2]
TURNS = 4.01 * np.pi  # [rad], a range beyond which limits are doubtful; many arms turn twice
FAST = 1e3  # [rad/s or m/s], speed after a millisecond of the largest effort
STIFF = 1e3  # [1/s], rate at which damping stops a joint
ROTOR = 50.0  # ratio of a rotor's inertia to that of all that the joint moves
MILLISECOND = 1e-3


@dataclass(frozen=True)
class _Coordinate:
    """A coordinate of the tree with a joint, and the numbers that the file gives it."""

    case: Case
    name: str
    joint: Joint
    number: int  # in the joint
    index: int  # in v

    def of(self, what: str) -> float:
        """The coordinate's value of an attribute of its joint."""
        return float(self.joint.per_coordinate(what)[self.number])

    @property
    def inverse(self) -> float | None:
        """The acceleration per force [1/(kg m^2) or 1/kg] at home, where all else is free."""
        inverse = self.case.mobility
        return None if inverse is None else float(inverse[self.index, self.index])

    @property
    def unit(self) -> str:
        return self.joint.units[self.number]

    @property
    def force(self) -> str:
        return "N" if self.unit == "m" else "N m"

    def found(
        self, check: str, severity: Severity, said: str, mend: str, value: float | None = None
    ) -> Finding:
        place = self.case.document.joint(self.joint.name)
        name = self.joint.name if self.joint.nv == 1 else self.name
        return Finding(
            check,
            severity,
            f"joint '{name}'",
            said,
            mend,
            # Those of "limits" are of equal ones, which the loader tells.
            {} if check == "limits" else EFFECTS.get(check, {}),
            value,
            "",
            place.file,
            place.line,
        )


def _coordinates(case: Case) -> Iterator[_Coordinate]:
    """Coordinates of joints that are neither free nor those of carriers."""
    for index, (name, joint, number) in enumerate(case.coordinates()):
        if joint.kind != "floating" and not joint.has_quaternion:
            yield _Coordinate(case, name, joint, number, index)


def limits(case: Case) -> Iterator[Finding]:
    """Limits that leave out the start, or that no joint has."""
    for one in _coordinates(case):
        lower = float(np.asarray(one.joint.lower)[one.number])
        upper = float(np.asarray(one.joint.upper)[one.number])
        if not lower < upper:
            continue
        if not lower <= 0 <= upper and case.document.kind == "urdf":
            least = lower if lower > 0 else upper
            yield one.found(
                "start",
                "note",
                f"0 is outside of its limits, {lower:.4g} to {upper:.4g} {one.unit}",
                f"begin at {least:.4g} {one.unit} or beyond",
                abs(least),
            )
        finite = np.isfinite(lower) and np.isfinite(upper)
        if finite and one.unit == "rad" and upper - lower > TURNS:
            yield one.found(
                "limits",
                "note",
                f"turns by {(upper - lower) / (2 * np.pi):.3g} revolutions between its limits: are "
                "they in degrees?",
                "give radians, or make the joint continuous",
                upper - lower,
            )


def efforts(case: Case) -> Iterator[Finding]:
    """Motors that are too weak for what they carry, or stronger than any."""
    loads = _loads(case)
    for one in _coordinates(case):
        if one.index not in case.model.actuated:
            continue
        effort = one.of("effort_limit")
        if one.of("velocity_limit") == 0:
            yield one.found(
                "effort", "warning", "its velocity limit is 0", "give its largest velocity"
            )
        if not np.isfinite(effort):
            continue
        load = loads.get(one.name, 0.0)
        if effort == 0:
            yield one.found(
                "effort",
                "warning",
                f"its largest effort is 0 {one.force}: no motor moves it where limits are kept",
                f"give what its motor can do; to hold what it carries takes {load:.3g} {one.force}",
            )
        elif effort < load:
            yield one.found(
                "effort",
                "note",
                f"its largest effort of {effort:.3g} {one.force} does not hold what it carries, "
                f"stretched out: {load:.3g} {one.force}",
                "check the effort and the masses behind the joint",
                load / effort,
            )
        elif one.inverse is not None and effort * one.inverse * MILLISECOND > FAST:
            speed = effort * one.inverse * MILLISECOND
            yield one.found(
                "effort",
                "note",
                f"its largest effort of {effort:.3g} {one.force} gives it {speed:.3g} {one.unit}/s "
                "within a millisecond",
                "give what the motor can do, or its rotor's inertia",
                speed,
            )


def _loads(case: Case) -> dict[str, float]:
    """The largest force of weight on each coordinate of one-coordinate joints [N m or N].

    Of the bodies behind the joint as they are at home, in any direction of gravity.
    """
    robot = case.model
    poses = body_poses(robot.tree_joints, case.home)
    behind: dict[str, list[str]] = {}
    for joint in reversed(robot.tree_joints):
        children = [j.child for j in robot.tree_joints if j.parent == joint.child]
        behind[joint.child] = [joint.child, *(name for c in children for name in behind[c])]
    masses = {body.name: 0.0 if body.carrier else body.mass for body in robot.bodies}
    g = _gravity(case)
    found = {}
    for name, joint, _ in case.coordinates():
        if joint.nv != 1 or joint.kind not in ("revolute", "prismatic"):
            continue
        names = behind[joint.child]
        mass = sum(masses[one] for one in names)
        if joint.kind == "prismatic":
            found[name] = g * mass
            continue
        turn, x = poses[joint.child]
        origin = x + turn @ np.asarray(joint.child_position)
        axis = turn @ np.asarray(joint.axis)
        center = sum(masses[one] * poses[one][1] for one in names) / max(mass, 1e-300)
        found[name] = g * mass * float(np.linalg.norm(np.cross(axis, center - origin)))
    return found


def _gravity(case: Case) -> float:
    """The gravity of an MJCF file [m/s^2], in any direction, or that of the earth."""
    for option in reversed(case.document.all("option")):
        if (numbers := option.numbers("gravity")) is not None:
            return float(np.linalg.norm(numbers))
    return G


def damping(case: Case) -> Iterator[Finding]:
    """Damping, dry friction and rotors out of proportion."""
    for one in _coordinates(case):
        if one.inverse is None:
            continue
        rate = one.of("damping") * one.inverse
        if rate > STIFF:
            yield one.found(
                "damping",
                "warning",
                f"its damping of {one.of('damping'):.3g} stops a motion within {1e3 / rate:.3g} ms",
                "check its unit (N m s/rad, not N m s/deg)",
                rate,
            )
        friction, effort = one.of("friction"), one.of("effort_limit")
        if 0 < effort < friction:
            yield one.found(
                "damping",
                "warning",
                f"its dry friction of {friction:.3g} {one.force} is more than its largest effort, "
                f"{effort:.3g} {one.force}",
                "check both",
                friction / effort,
            )
        armature = one.of("armature")
        rest = 1.0 / one.inverse - armature
        if armature > ROTOR * max(rest, 0.0) and armature > 0:
            told = f"{armature / rest:.3g} times" if rest > 0 else "far more than"
            yield one.found(
                "armature",
                "note",
                f"its rotor's inertia of {armature:.3g} is {told} that of what it moves",
                "reflected inertia is that of the rotor times the square of the gear ratio",
                armature / rest if rest > 0 else None,
            )
