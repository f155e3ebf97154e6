"""The parts of a robot for its reduced equations, and the forces on it at a knot."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from robosim import quaternions
from robosim.control.pd import pd_torques
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.springs import PointSpring
from robosim.description.tendon import Tendon
from robosim.reduced import forces, muscles
from robosim.reduced.constraints import Drive, Gears
from robosim.reduced.contacts import Touching
from robosim.reduced.forces import BodyForces, Ends
from robosim.reduced.point_force import PointForce
from robosim.reduced.resisting import Resisting
from robosim.reduced.tree import Links
from robosim.validation import Array


class Loads(NamedTuple):
    """External inputs of a step."""

    tau: Array  # (nv,) held forces
    servos: np.ndarray  # GAINS of an implicit PD, part of the equations
    wrenches: Array  # (nb, 6) on bodies, world axes, about centres of mass
    controls: Array = np.zeros(0)  # controls of implicit actuators


class JointForces(NamedTuple):
    """Forces along coordinates, with K = df/dq and D = -df/dv of each joint."""

    f: Array  # (nv,), including damping
    K: list[Array]  # of each joint, (n, n)
    D: Array  # (nv,)


@dataclass
class Model:
    """A robot and the forces on it.

    Attributes
    ----------
    robot : Mechanism
    gravity : (3,) [m/s^2]
    drags : (nb, 6, 6)
    pushes : sequence of PointForce
    explicit : names of springs and point forces without K and D
    baumgarte : float or None [1/s]
    limited : bool
        Whether limits of joints act; ends of splines always do.
    contacts : str or None
    settling : float
    has_bearings : bool
        Options of `Resisting`.
    drives : list of Drive
    """

    robot: Mechanism
    gravity: Array
    drags: Array
    pushes: Sequence[PointForce]
    explicit: Collection[str]
    baumgarte: float | None
    limited: bool = True
    contacts: str | None = None
    settling: float = 1e-6
    has_bearings: bool = True
    drives: list[Drive] = field(default_factory=list)

    def __post_init__(self) -> None:
        robot = self.robot
        self.links, self.gears = Links(robot), Gears(robot)
        self.acting = muscles.acting(robot)
        self.resisting = Resisting(robot, self.contacts, self.settling, self.has_bearings)
        none = np.zeros(0)
        self.damping = np.concatenate(
            (none, *(joint.per_coordinate("damping") for joint in self.links.joints))
        )
        self.pushed = []
        for push in self.pushes:
            body, frame = robot.body_or_frame(push.body)
            R = quaternions.rotation_matrix(np.asarray(frame.quaternion))
            point = np.asarray(frame.position) + R @ np.asarray(push.point)
            self.pushed.append((body, point, push.size * np.asarray(push.direction)))
        self.led: list[tuple[int, Joint]] = [
            (i, joint) for i, joint in enumerate(self.links.joints) if joint.motion is not None
        ]
        self.limits = [
            limit
            for i, joint in enumerate(self.links.joints)
            if joint.motion is None
            for limit in self._limits_of(i, joint)
        ]

    def _limits_of(self, i: int, joint: Joint) -> Iterator[tuple[int, int, float, float]]:
        """(index into v, into q, 1 or -1, bound) of a joint's limits, or of ends of splines."""
        bounds = np.asarray(joint.lower), np.asarray(joint.upper)
        if not self.limited:
            ends = np.full(joint.nv, -np.inf), np.full(joint.nv, np.inf)
            bounds = ends if joint.own_chart is None else joint.own_chart.limits()
        for k in range(joint.numbers):
            for side, bound in ((1.0, bounds[0][k]), (-1.0, bounds[1][k])):
                if np.isfinite(bound):
                    yield self.links.v[i].start + k, self.links.q[i].start + k, side, float(bound)

    @property
    def is_constrained(self) -> bool:
        """Whether loops, couplings or motions constrain coordinates."""
        return bool(self.robot.loop_joints or self.robot.couplings or self.led)

    def ends(self, spring: PointSpring, E: Sequence[Array], twists: Array) -> Ends:
        """The ends of a spring."""
        names = spring.parent, spring.child
        a, b = (None if name is None else self.robot.body_index(name) for name in names)
        points = np.asarray(spring.parent_position), np.asarray(spring.child_position)
        return Ends((a, b), points, E, twists)

    def body_forces(self, E: Sequence[Array], twists: Array, loads: Loads) -> BodyForces:
        """Wrenches on bodies, with K and D of all elements that are not explicit."""
        found = BodyForces(forces.coriolis_and_weight(self.links, E, twists, self.gravity), [], [])
        for i, (F, wrench) in enumerate(zip(E, loads.wrenches, strict=True)):
            if wrench.any():
                R = F[:3, :3].T
                found.f[i] += np.concatenate((R @ wrench[:3], R @ wrench[3:]))
            if self.drags[i].any():
                found.f[i] -= self.drags[i] @ twists[i]
                found.D.append((i, i, self.drags[i]))
        for push, (i, point, along) in zip(self.pushes, self.pushed, strict=True):
            wrench, K = forces.point_force(E[i], point, along)
            found.f[i] += wrench
            if push.name not in self.explicit:
                found.K.append((i, i, K))
        for spring in self.robot.springs:
            ends = self.ends(spring, E, twists)
            f, K, D = forces.pull(ends, spring)
            for a in (0, 1):
                body = ends.bodies[a]
                if body is None:
                    continue
                found.f[body] += f[6 * a : 6 * a + 6]
                for b in (0, 1):
                    if (j := ends.bodies[b]) is None or spring.name in self.explicit:
                        continue
                    block = np.s_[6 * a : 6 * a + 6, 6 * b : 6 * b + 6]
                    found.K.append((body, j, K[block]))
                    if spring.damping:
                        found.D.append((body, j, D[block]))
        for one, control in zip(self.acting, loads.controls, strict=True):
            if isinstance(one.on, Tendon):
                path = list(muscles.parts_of(self.robot, one.on, E, twists))
                acted, f, K, D = muscles.along_path(path, one, float(control))
                found.f[acted] += f.reshape(-1, 6)
                found.K += muscles.blocks(acted, K)
                found.D += muscles.blocks(acted, D)
        return found

    def joint_forces(self, q: Array, v: Array, loads: Loads) -> JointForces:
        """Forces along the coordinates: of springs, dampers and servos, and the held ones.

        Forces on driven joints only change the forces that drive these.
        """
        f, K = loads.tau - self.damping * v, []
        D = self.damping.copy()
        for i, joint in enumerate(self.links.joints):
            own, slope = forces.joint_forces(joint, q[self.links.q[i]])
            f[self.links.v[i]] += own
            K.append(slope)
        for g in loads.servos:
            k = int(g["v_index"])
            i = self._joint_of(k)
            at = k - self.links.v[i].start
            f[k] += g["kp"] * (g["target"] - q[g["q_index"]]) + g["kd"] * (g["velocity"] - v[k])
            K[i][at, at] -= g["kp"]
            D[k] += g["kd"]
        for one, control in zip(self.acting, loads.controls, strict=True):
            if not isinstance(one.on, Tendon):
                k, at_q = one.on
                force, stiffness, damping = one.law(float(control), float(q[at_q]), float(v[k]))
                i = self._joint_of(k)
                at = k - self.links.v[i].start
                f[k] += force
                K[i][at, at] += stiffness
                D[k] -= damping
        return JointForces(f, K, D)

    def _joint_of(self, k: int) -> int:
        """Index of the joint of a velocity."""
        return next(i for i, place in enumerate(self.links.v) if place.start <= k < place.stop)

    def touching(self, E: Sequence[Array]) -> Touching:
        """Contact points that touch the ground, with bodies at poses E."""
        return self.resisting.touching(E, self.baumgarte or 0.0)

    def limits_at(self, q: Array) -> tuple[Array, Array]:
        """Rows (l, nv) of the limits that are reached, and their lower bounds (l,).

        This is [Sueda, Eq. 2.105] for velocities: a limit is active if it is reached or exceeded.
        """
        gamma = self.baumgarte or 0.0
        reached = [limit for limit in self.limits if limit[2] * (q[limit[1]] - limit[3]) <= 0.0]
        C, d = np.zeros((len(reached), self.robot.nv)), np.zeros(len(reached))
        for row, (on, at, side, bound) in enumerate(reached):
            C[row, on] = side
            d[row] = gamma * side * (bound - q[at])
        return C, d

    def energy(self, E: Sequence[Array], twists: Array, q: Array, v: Array) -> float:
        """Kinetic and potential energy [J]."""
        total = 0.5 * float(self.links.armature @ v**2)
        for M, phi in zip(self.links.inertias, twists, strict=True):
            total += 0.5 * float(phi @ M @ phi)
        for mass, F in zip(self.links.gravitational_masses, E, strict=True):
            total -= mass * float(self.gravity @ F[:3, 3])
        for i, joint in enumerate(self.links.joints):
            total += forces.joint_energy(joint, q[self.links.q[i]])
        for spring in self.robot.springs:
            length = float(np.linalg.norm(self.ends(spring, E, twists).across))
            total += forces.spring_energy(spring, length)
        for i, point, along in self.pushed:
            total -= float(along @ (E[i][:3, :3] @ point + E[i][:3, 3]))
        return total

    def momentum(self, E: Sequence[Array], twists: Array) -> tuple[Array, Array]:
        """Linear and angular momentum about the world's origin."""
        linear, angular = np.zeros(3), np.zeros(3)
        for M, F, phi in zip(self.links.inertias, E, twists, strict=True):
            p = F[:3, :3] @ (M @ phi)[:3]
            linear += p
            angular += np.cross(F[:3, 3], p) + F[:3, :3] @ (M @ phi)[3:]
        return linear, angular


def within_limits(servos: np.ndarray, q: Array, v: Array) -> tuple[Array, Array]:
    """Forces of servos at q and v, without and with the limits of their motors (n,)."""
    return pd_torques(servos, q[servos["q_index"]], v[servos["v_index"]])
