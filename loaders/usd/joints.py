"""Joints of UsdPhysics, with their limits, drives and what Isaac adds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.description.actuator import Actuator
from robosim.loaders.assembly.parts import HINGE, SLIDE, Cord, Tie
from robosim.loaders.notes import Notes
from robosim.loaders.pose import Pose
from robosim.loaders.usd.library import library
from robosim.loaders.usd.stage import LARGEST_NUMBER, Stage

Array = NDArray[np.float64]

KNOWN = (
    "PhysicsFixedJoint",
    "PhysicsRevoluteJoint",
    "PhysicsPrismaticJoint",
    "PhysicsSphericalJoint",
    "PhysicsDistanceJoint",
    "PhysicsJoint",
)
_AXES = {"X": np.eye(3)[0], "Y": np.eye(3)[1], "Z": np.eye(3)[2]}
_DOFS = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
# Three free rotations -> kind by the number of free translations.
_BALLS = ("spherical", "cylindrical_free_orientation", "planar_free_orientation")
_UNLIMITED = 1e30  # PhysX writes infinities as the largest number of single precision


@dataclass
class Joints:
    """Converts joints.

    Attributes
    ----------
    stage : Stage
    body_of : callable
        Prim -> the body that it is a part of, as (name, pose of the body in the world), or None
        for the world.
    notes : Notes
    ties : list of Tie
    cords : list of Cord
    actuators : list of Actuator
    targets : dict of actuator to its control
    """

    stage: Stage
    body_of: Callable[[Any], tuple[str, Pose] | None]
    notes: Notes
    ties: list[Tie] = field(default_factory=list)
    cords: list[Cord] = field(default_factory=list)
    actuators: list[Actuator] = field(default_factory=list)
    targets: dict[str, float] = field(default_factory=dict)

    def read(self, prim: Any, name: str) -> None:
        """Add the joint of a prim.

        Raises
        ------
        LoadError
            For a type that is not read, ends that do not exist, and limits in the wrong order.
        """
        UsdPhysics = library().UsdPhysics
        kind = str(prim.GetTypeName())
        if kind not in KNOWN:
            raise self._refusal(prim, f"joints of type '{kind}' are not read", KNOWN)
        joint = UsdPhysics.Joint(prim)
        if joint.GetJointEnabledAttr().Get() is False:
            self.notes.add("joints that are not enabled are left out", name)
            return
        ends = [self._end(prim, joint, k) for k in (0, 1)]
        for what in ("Force", "Torque"):
            strength = self.stage.number(
                prim, getattr(joint, f"GetBreak{what}Attr")(), np.inf, unbounded=True
            )
            if strength < _UNLIMITED:
                self.notes.add("joints do not break here, as breakForce and breakTorque say", name)
        if joint.GetCollisionEnabledAttr().Get():
            self.notes.add("bodies with a joint between them do not collide here", name)
        if kind == "PhysicsDistanceJoint":
            self._distance(prim, name, ends)
            return
        (parent, first), (child, second) = ends
        tie = Tie(
            name, "fixed", parent, child, first, second,
            lambda reason, alternatives=(): self._refusal(prim, reason, alternatives),
            last=bool(joint.GetExcludeFromArticulationAttr().Get()),
        )  # fmt: skip
        if kind == "PhysicsJoint":
            if not self._of_limits(prim, tie):
                return
        elif kind == "PhysicsSphericalJoint":
            self._spherical(prim, tie)
        elif kind != "PhysicsFixedJoint":
            self._single(prim, tie, kind)
        self.ties.append(tie)

    def _refusal(self, prim: Any, reason: str, alternatives: Sequence[str] = ()) -> Any:
        return self.stage.refusal(prim, reason, alternatives)

    def _end(self, prim: Any, joint: Any, k: int) -> tuple[str | None, Pose]:
        """(body or None for the world, joint frame in the body) of an end."""
        targets = getattr(joint, f"GetBody{k}Rel")().GetTargets()
        place = self.stage.vector(prim, getattr(joint, f"GetLocalPos{k}Attr")())
        p = np.zeros(3) if place is None else place
        if not np.abs(p).max() <= LARGEST_NUMBER:
            raise self._refusal(prim, f"physics:localPos{k} must be finite, not {p.tolist()}")
        R = self.stage.rotation(prim, getattr(joint, f"GetLocalRot{k}Attr")())
        if R is None:
            raise self._refusal(prim, f"physics:localRot{k} must not be of length zero")
        if len(targets) > 1:
            raise self._refusal(prim, f"physics:body{k} must be one prim, not {len(targets)}")
        if not targets:
            up = self.stage.up
            return None, Pose(up @ R, self.stage.metres * (up @ p))
        other = self.stage.usd.GetPrimAtPath(targets[0])
        if not other:
            raise self._refusal(prim, f"physics:body{k} is '{targets[0]}', which does not exist")
        placed = self.stage.place(other)
        there = placed.pose @ Pose(R, placed.stretch @ p)
        body = self.body_of(other)
        return (None, there) if body is None else (body[0], body[1].inverse() @ there)

    def _single(self, prim: Any, tie: Tie, kind: str) -> None:
        """A hinge or slide."""
        UsdPhysics = library().UsdPhysics
        turns = kind == "PhysicsRevoluteJoint"
        schema = (UsdPhysics.RevoluteJoint if turns else UsdPhysics.PrismaticJoint)(prim)
        tie.kind = "revolute" if turns else "prismatic"
        tie.axis = _AXES[self.stage.axis(prim, schema.GetAxisAttr())]
        bounds = (
            self.stage.number(prim, schema.GetLowerLimitAttr(), -np.inf, unbounded=True),
            self.stage.number(prim, schema.GetUpperLimitAttr(), np.inf, unbounded=True),
        )
        drive = self._drive(prim, tie.name, ("angular", "rotX") if turns else ("linear", "transX"),
                            turns)  # fmt: skip
        tie.options = {
            **self._limits(prim, bounds, turns),
            **self._of_physx(prim, turns),
            **self._effort(drive),
        }
        self._servo(tie.name, tie.name, drive)

    def _spherical(self, prim: Any, tie: Tie) -> None:
        schema = library().UsdPhysics.SphericalJoint(prim)
        tie.kind, tie.options = "spherical", {"actuated": False}
        cones = [
            self.stage.number(prim, attribute, -1.0, unbounded=True)
            for attribute in (schema.GetConeAngle0LimitAttr(), schema.GetConeAngle1LimitAttr())
        ]
        angles = [angle for angle in cones if 0 <= angle < 180]
        if not angles:
            return
        axis = _AXES[self.stage.axis(prim, schema.GetAxisAttr())]
        upright = abs(abs((tie.second.R @ axis)[2]) - 1) < 1e-6
        if len(angles) == 2 and abs(angles[0] - angles[1]) < 1e-4 and upright:
            tie.options["cone"] = np.deg2rad(angles[0])
        else:
            self.notes.add(
                "cones of spherical joints limit nothing here, unless they are round about z of "
                "the body",
                tie.name,
            )

    def _of_limits(self, prim: Any, tie: Tie) -> bool:
        """The kind of a joint whose limits say what is free; False if everything is."""
        bounds = {dof: self._bounds(prim, dof) for dof in _DOFS}
        held = [dof for dof, (low, high) in bounds.items() if low == high != 0]
        if held:
            raise self._refusal(prim, f"{held[0]} is held at {bounds[held[0]][0]}, not at zero")
        free = [dof for dof, (low, high) in bounds.items() if low < high]
        slides = [dof for dof in free if dof.startswith("trans")]
        turns = [dof for dof in free if dof.startswith("rot")]
        if not free:
            return True
        limited = [dof for dof in free if np.any(np.isfinite(bounds[dof]))]
        drives = {dof: self._drive(prim, f"{tie.name}.{dof}", (dof,), dof in turns) for dof in free}
        if len(free) == 6 and not limited and not any(drives.values()):
            self.notes.add("joints that leave all six directions free are left out", tie.name)
            return False
        acting = limited or any(drives.values())
        if len(turns) == 3 and len(slides) < 3 and not acting:
            tie.kind, tie.options = _BALLS[len(slides)], {"actuated": False}
            locked = [dof[-1] for dof in _DOFS[:3] if dof not in slides]
            names = [slides[0][-1]] if len(slides) == 1 else locked
            tie.axis = _AXES[names[0]] if slides else _AXES["Z"]
            return True
        each = [
            {**self._limits(prim, bounds[dof], dof in turns), **self._effort(drives[dof])}
            for dof in free
        ]
        if len(free) == 1:
            tie.kind = "revolute" if turns else "prismatic"
            tie.axis, tie.options = _AXES[free[0][-1]], each[0]
            self._servo(tie.name, tie.name, drives[free[0]])
            return True
        if len(turns) > 1:
            self.notes.add(
                "rotations of generic joints follow each other about X, Y and Z, as in Newton",
                tie.name,
            )
        tie.kind = "composite"
        tie.moves = tuple((SLIDE if dof in slides else HINGE, _AXES[dof[-1]]) for dof in free)
        names = [f"{tie.name}.{dof}" for dof in free]
        tie.options = {
            "coordinate_names": tuple(names),
            **{what: [one.get(what, DEFAULTS[what]) for one in each] for what in DEFAULTS},
        }
        for dof, name in zip(free, names, strict=True):
            self._servo(name, name, drives[dof])
        return True

    def _bounds(self, prim: Any, dof: str) -> tuple[float, float]:
        """Low and high of a direction in the stage's units; low above high is locked."""
        api = library().UsdPhysics.LimitAPI
        if not prim.HasAPI(api, dof):
            return -np.inf, np.inf
        limit = api(prim, dof)
        return (
            self.stage.number(prim, limit.GetLowAttr(), -np.inf, unbounded=True),
            self.stage.number(prim, limit.GetHighAttr(), np.inf, unbounded=True),
        )

    def _limits(self, prim: Any, bounds: Sequence[float], turns: bool) -> dict[str, float]:
        found = {
            what: value * self._unit(turns) if abs(value) < _UNLIMITED else value * np.inf
            for what, value in zip(("lower", "upper"), bounds, strict=True)
        }
        if found["lower"] > found["upper"]:
            raise self._refusal(
                prim, f"limits are the wrong way round: lower {bounds[0]}, upper {bounds[1]}"
            )
        return found

    def _unit(self, turns: bool) -> float:
        """Of a coordinate [rad] or [m]."""
        return float(np.pi / 180) if turns else self.stage.metres

    def _force(self, turns: bool) -> float:
        """Of a force or torque [N] or [N m]."""
        return self.stage.kilograms * self.stage.metres ** (2 if turns else 1)

    def _of_physx(self, prim: Any, turns: bool) -> dict[str, float]:
        """What PhysX and Newton add: the inertia of a rotor, friction, and the largest rate."""
        units = {
            "armature": self.stage.kilograms * (self.stage.metres**2 if turns else 1.0),
            "jointFriction": self._force(turns),
            "maxJointVelocity": self._unit(turns),
        }
        ours = {"jointFriction": "friction", "maxJointVelocity": "velocity_limit"}
        found = {}
        for what, unit in units.items():
            for space in ("physxJoint", "newton"):
                attribute = prim.GetAttribute(f"{space}:{what}")
                if attribute and attribute.HasAuthoredValue():
                    value = self.stage.number(prim, attribute, unbounded=True)
                    if value < 0:
                        raise self._refusal(prim, f"{space}:{what} must not be {value}")
                    if value < _UNLIMITED:
                        found[ours.get(what, what)] = value * unit
        return found

    def _drive(
        self, prim: Any, name: str, instances: Sequence[str], turns: bool
    ) -> dict[str, float] | None:
        """Stiffness, damping, targets and largest force of a drive in SI units; None without."""
        api = library().UsdPhysics.DriveAPI
        there = [instance for instance in instances if prim.HasAPI(api, instance)]
        if not there:
            return None
        drive = api(prim, there[0])
        if drive.GetTypeAttr().Get() == "acceleration":
            self.notes.add("drives of type 'acceleration' are left out", name)
            return None
        unit, force = self._unit(turns), self._force(turns)
        number = self.stage.number
        most = number(prim, drive.GetMaxForceAttr(), np.inf, unbounded=True)
        found = {
            "stiffness": number(prim, drive.GetStiffnessAttr()) * force / unit,
            "damping": number(prim, drive.GetDampingAttr()) * force / unit,
            "position": number(prim, drive.GetTargetPositionAttr()) * unit,
            "velocity": number(prim, drive.GetTargetVelocityAttr()) * unit,
            "most": np.inf if most >= _UNLIMITED else most * force,
        }
        for what in ("stiffness", "damping", "most"):
            if not found[what] >= 0:
                raise self._refusal(prim, f"the drive's {what} must not be negative")
        return found

    def _effort(self, drive: dict[str, float] | None) -> dict[str, Any]:
        """Whether a joint has a motor, and its largest force: that of its drive."""
        if drive is None or drive["most"] == 0:
            return {"actuated": False}
        return {"actuated": True, "effort_limit": drive["most"]}

    def _servo(self, name: str, coordinate: str, drive: dict[str, float] | None) -> None:
        """Add the servo of a drive with stiffness or damping, and its control."""
        if drive is None or not (drive["stiffness"] or drive["damping"]) or not drive["most"]:
            return
        kp, kd = drive["stiffness"], drive["damping"]
        gain = (kp, 0.0, 0.0) if kp else (kd, 0.0, 0.0)
        self.actuators.append(
            Actuator(
                f"{name}_drive",
                {coordinate: 1.0},
                gain=gain,
                bias=(kd * drive["velocity"] if kp else 0.0, -kp, -kd),
                force_range=(-drive["most"], drive["most"]),
            )
        )
        self.targets[f"{name}_drive"] = drive["position" if kp else "velocity"]

    def _distance(self, prim: Any, name: str, ends: Sequence[tuple[str | None, Pose]]) -> None:
        """A cord of limited length between two points."""
        schema = library().UsdPhysics.DistanceJoint(prim)
        low = self.stage.number(prim, schema.GetMinDistanceAttr(), -1.0)
        high = self.stage.number(prim, schema.GetMaxDistanceAttr(), -1.0)
        bounds = [
            default if value < 0 else value * self.stage.metres
            for value, default in ((low, 0.0), (high, np.inf))
        ]
        if bounds[0] > bounds[1]:
            raise self._refusal(prim, f"minDistance {low} is above maxDistance {high}")
        if bounds[0] == 0 and np.isinf(bounds[1]):
            self.notes.add("joints that leave all six directions free are left out", name)
            return
        (a, first), (b, second) = ends
        self.cords.append(Cord(name, (a, first.p), (b, second.p), bounds[0] or -np.inf, bounds[1]))


DEFAULTS: dict[str, Any] = {
    "lower": -np.inf,
    "upper": np.inf,
    "effort_limit": np.inf,
    "velocity_limit": np.inf,
    "armature": 0.0,
    "friction": 0.0,
    "actuated": False,
}
