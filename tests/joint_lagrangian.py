"""Discrete Lagrangians in joint coordinates, written out, and derivatives by differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from random_mechanisms import multiply, random_body, random_coordinates, random_joint

from robosim import Mechanism, MinimalSimulation, se3
from robosim.compiled.minimal import Minimal
from robosim.joints import Composite, Hinge, Slide
from robosim.kinematics.kinematics import Kinematics
from robosim.quaternions import from_axis_angle, normalized, rotation_matrix

Array = NDArray[np.float64]
GRAVITY = np.array([0.3, -0.4, -9.0])
BASE = Composite(Slide((1, 0, 0)), Slide((0, 1, 0)), Hinge((0, 0, 1)), Hinge((0, 1, 0)))
KINDS = ("universal", "spherical", "cylindrical", "fixed", "screw", "planar_free_orientation")


def robot_for_tests(
    seed: int = 5, free: bool = True, turning: tuple[str, ...] = ()
) -> tuple[Mechanism, Array, Array]:
    """A branched tree with springs, dampers and rotors, and q, v.

    `free` on a floating base and with other free rotations, else without any; these have what is
    named in `turning`, of other sizes about each axis.
    """
    rng = np.random.default_rng(seed)
    bodies = tuple(random_body(rng, f"b{i}") for i in range(len(KINDS) + 1))
    joints = [random_joint(rng, "j0", "floating", None, "b0")]
    if not free:
        joints[0] = replace(joints[0], kind="composite", chart=BASE, lower=None, upper=None)
    for i, kind in enumerate(KINDS, start=1):
        if not free:
            kind = {"spherical": "revolute", "planar_free_orientation": "planar"}.get(kind, kind)
        joint = random_joint(rng, f"j{i}", kind, f"b{(i - 1) // 2}", f"b{i}")
        if kind == "screw":
            joint = replace(joint, pitch=0.2)
        if not joint.has_quaternion:
            nv = joint.nv
            joint = replace(
                joint,
                stiffness=rng.uniform(0.5, 2.0, size=nv),
                rest=rng.uniform(-0.5, 0.5, size=nv),
                damping=rng.uniform(0.0, 0.5, size=nv),
                armature=rng.uniform(0.0, 0.1, size=nv),
            )
        joints.append(joint)
    for i, joint in enumerate(joints):
        if joint.has_quaternion:
            acts = {}
            for name in turning:
                acts[name] = np.zeros(joint.nv)
                acts[name][-3:] = rng.uniform(0.1, 0.6, size=3)
            joints[i] = replace(joint, **acts)  # type: ignore[arg-type]
    robot = Mechanism("branched", bodies, tuple(joints))
    return robot, random_coordinates(rng, robot), rng.normal(size=robot.nv)


def simulation_for_tests(
    robot: Mechanism, q: Array, v: Array, timestep: float, integrator: str, order: int
) -> MinimalSimulation:
    """One at a state, with drag, wrenches and torques, so that all forces depend on something."""
    rng = np.random.default_rng(11)
    drag = {}
    for body in robot.bodies:
        root = rng.normal(size=(6, 6))
        drag[body.name] = 0.2 * root @ root.T + 0.1 * rng.normal(size=(6, 6))
    sim = MinimalSimulation(robot, timestep, GRAVITY, integrator=integrator, order=order, drag=drag)
    sim.set_state(q, v)
    for body in robot.bodies:
        sim.apply_wrench(body.name, rng.normal(size=3), rng.normal(size=3))
    return sim


def moved(robot: Mechanism, q: Array, x: Array) -> Array:
    """q (nq,) moved by chart coordinates x (nv,): free rotations by turns about x, y and z."""
    out = q.copy()
    places = zip(robot.tree_joints, robot.q_offsets, robot.v_offsets, strict=False)
    for joint, begin, first in places:
        n = joint.numbers
        out[begin : begin + n] += x[first : first + n]
        if joint.has_quaternion:
            turn = q[begin + n : begin + n + 4]
            for axis in range(3):
                angle = float(x[first + n + axis])
                if angle != 0.0:
                    step = from_axis_angle(np.sign(angle) * np.eye(3)[axis], abs(angle))
                    turn = multiply(turn, np.asarray(step))
            out[begin + n : begin + n + 4] = turn
    return out


def velocities(robot: Mechanism, x: Array, rates: Array) -> Array:
    """v (nv,) of chart coordinates x (nv,) with rates (nv,)."""
    out = rates.copy()
    for joint, first in zip(robot.tree_joints, robot.v_offsets, strict=False):
        if joint.has_quaternion:
            own = slice(first + joint.numbers, first + joint.nv)
            out[own] = axes_of(x[own]) @ rates[own]
    return out


def axes_of(x: Array) -> Array:
    """E (3, 3): angular velocity in child axes by the rates of turns x about x, y and z."""
    back_y = se3.exp(np.array([0, 0, 0, 0, -x[1], 0]))[:3, :3]
    back_z = se3.exp(np.array([0, 0, 0, 0, 0, -x[2]]))[:3, :3]
    return np.column_stack((back_z @ back_y[:, 0], back_z[:, 1], np.eye(3)[:, 2]))


def turn_of(x: Array) -> Array:
    """Rotation (3, 3) by turns x about x, y and z."""
    turns = [se3.exp(np.append(np.zeros(3), x[k] * np.eye(3)[k]))[:3, :3] for k in range(3)]
    return np.asarray(turns[0] @ turns[1] @ turns[2])


def angles_of(R: Array) -> Array:
    """The turns x (3,) that a rotation is of."""
    return np.array(
        [np.arctan2(-R[1, 2], R[2, 2]), np.arcsin(R[0, 2]), np.arctan2(-R[0, 1], R[0, 0])]
    )


class Written:
    """The Lagrangian of a robot, and the discrete ones."""

    def __init__(self, robot: Mechanism, q: Array, timestep: float) -> None:
        self.robot, self.q, self.dt = robot, q, timestep
        self._at = Kinematics(robot, q)
        self._rotors = np.concatenate([j.per_coordinate("armature") for j in robot.tree_joints])

    def poses(self, q: Array) -> list[Array]:
        self._at.move_to(q)
        return [se3.transformation(R, p) for R, p in zip(self._at.R, self._at.x, strict=True)]

    def potential(self, q: Array) -> float:
        self._at.move_to(q)
        masses = np.array([body.mass for body in self.robot.bodies])
        energy = -float(masses @ (self._at.x @ GRAVITY))
        for joint, begin in zip(self.robot.tree_joints, self.robot.q_offsets, strict=False):
            if not joint.has_quaternion:
                away = q[begin : begin + joint.nq] - joint.per_coordinate("rest")
                energy += 0.5 * float(joint.per_coordinate("stiffness") @ away**2)
            else:
                turn = np.eye(4)
                begin += joint.numbers
                turn[:3, :3] = rotation_matrix(normalized(q[begin : begin + 4]))
                energy += 0.5 * float(
                    joint.per_coordinate("stiffness")[-3:] @ se3.log(turn)[3:] ** 2
                )
        return energy

    def kinetic(self, q: Array, v: Array) -> float:
        self._at.move_to(q)
        twists, energy = self._at.twists(v), 0.5 * float(self._rotors @ v**2)
        for body, R, twist in zip(self.robot.bodies, self._at.R, twists, strict=True):
            spin = R.T @ twist[3:]
            energy += 0.5 * body.mass * float(twist[:3] @ twist[:3])
            energy += 0.5 * float(spin @ np.asarray(body.inertia) @ spin)
        return energy

    def on_group(self, x: Array) -> float:
        """L_d of [Lee2016] between chart coordinates x (2, nv)."""
        q1, q2 = (moved(self.robot, self.q, row) for row in x)
        action = 0.5 / self.dt * float(self._rotors @ (x[1] - x[0]) ** 2)
        for body, before, after in zip(
            self.robot.bodies, self.poses(q1), self.poses(q2), strict=True
        ):
            step = se3.log(se3.inverse(before) @ after)
            action += 0.5 / self.dt * body.mass * float(step[:3] @ step[:3])
            action += 0.5 / self.dt * float(step[3:] @ np.asarray(body.inertia) @ step[3:])
        return action - 0.5 * self.dt * (self.potential(q1) + self.potential(q2))

    def by_points(self, x: Array, w: Array, b: Array) -> float:
        """L_d of [Fan2018, Eq. 4] of control points x (s + 1, nv), weights w, rates b.

        The points are given in charts at q; those of free rotations are taken at the first point.
        """
        x, start, action = x.copy(), np.zeros(x.shape[1]), 0.0
        for joint, first in zip(self.robot.tree_joints, self.robot.v_offsets, strict=False):
            if joint.has_quaternion:
                own = slice(first + joint.numbers, first + joint.nv)
                start[own] = x[0, own]
                turns = [turn_of(point) for point in x[:, own]]
                x[:, own] = [angles_of(turns[0].T @ turn) for turn in turns]
        begin = moved(self.robot, self.q, start)
        for point, rates, weight in zip(x, b @ x / self.dt, w, strict=True):
            q = moved(self.robot, begin, point)
            v = velocities(self.robot, point, rates)
            action += weight * self.dt * (self.kinetic(q, v) - self.potential(q))
        return action


def slopes(f: Callable[[Array], Array | float], x: Array, step: float) -> Array:
    """Derivatives of f by all numbers of x, by differences over seven places; last axis."""
    columns = []
    for k in range(x.size):
        total: Array | float = 0.0
        for n, factor in ((1, 45.0), (2, -9.0), (3, 1.0)):
            for sign in (1.0, -1.0):
                there = x.copy()
                there.reshape(-1)[k] += sign * n * step
                total = total + sign * factor * np.asarray(f(there)) / (60.0 * step)
        columns.append(np.asarray(total))
    return np.stack(columns, axis=-1)


def parts_of(sim: MinimalSimulation) -> Minimal:
    return sim.engine.parts


def rows_of(sim: MinimalSimulation) -> tuple[Array, Array]:
    """Segments that move, and the velocity of each."""
    v = parts_of(sim).model.segments["v"]
    moving = np.flatnonzero(v >= 0)
    return moving, v[moving]


def put(sim: MinimalSimulation, x: Array) -> None:
    """Let the unknowns be chart coordinates x (s, nv) of the control points but the first."""
    moving, v = rows_of(sim)
    parts_of(sim).work.x[:] = 0.0
    parts_of(sim).work.x[1:, moving] = x[:, v]


def residual(sim: MinimalSimulation, x: Array) -> tuple[Array, Array]:
    """Residuals (s, nv) at x (s, nv), and momenta along the chart that leave the step (nv,)."""
    put(sim, x)
    sim.engine.calls.residual(sim.engine.address)
    moving, v = rows_of(sim)
    work = parts_of(sim).work
    rows, ends = np.zeros(x.shape), np.zeros(x.shape[1])
    rows[:, v], ends[v] = work.residual[moving].T, work.ends[moving]
    return rows, ends
