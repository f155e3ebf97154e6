"""Newton's solver Kamino with the robot's own URDF: an adapter, for a process of its own.

Settings of a job are ``dynamics_solver`` ("padmm" or "dvi"), ``integrator`` ("euler" or "moreau"),
``tolerance`` and ``max_iterations`` of both solvers, ``gap``, the distance at which contacts are
found [m], and ``alpha``, ``beta`` and ``gamma``, the parts of an error of joints, limits and
contacts that a step takes away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import newton
import numpy as np
import warp as wp

from robosim import quaternions, safe_xml
from robosim.description.mechanism import Mechanism
from robosim.errors import PeerError
from robosim.referee.audit.of_urdf import frictions_of, on_coordinates
from robosim.referee.audit.runs import HELD, WORLD, Array, Job, Look, Opened, Touches

FAR = 1e6
"""Distance beyond which Newton counts as unstable [m]."""
UNLIMITED = 1e6
"""Effort that Kamino takes as none [N m or N]."""
CONSTRAINTS = ("alpha", "beta", "gamma")
TURNS = (newton.JointType.REVOLUTE, newton.JointType.PRISMATIC)
Kamino = newton.solvers.SolverKamino
Modes = newton.JointTargetMode


class InNewton:
    """A URDF in Newton, simulated by Kamino.

    Parameters
    ----------
    source : str
        The path of a file.
    kind : str
    robot : Mechanism or None
    gravity : (3,) [m/s^2] or None

    Raises
    ------
    PeerError
        For other files, and robots with bodies or joints that Kamino has not.
    """

    def __init__(
        self, source: str, kind: str, robot: Mechanism | None, gravity: Array | None = None
    ) -> None:
        if kind != "urdf" or robot is None:
            raise PeerError("only URDF files that robosim has loaded are run in Newton")
        wp.config.quiet = True
        wp.set_device("cpu")  # where its results are the same each time
        self.version = version("newton")
        self.robot, self._source = robot, source
        self._gravity = np.array([0.0, 0.0, -9.81] if gravity is None else gravity)
        self._torques = np.zeros(0)
        # The first step compiles kernels, for which the first start has the time.
        self.begin(Job("newton", "", 1e-3, 1, 1, q=np.array(robot.home)))
        self.step(1)

    def _build(self, settings: Mapping[str, Any], gains: Any) -> None:
        """A new model with settings, and a PD of joints."""
        robot = self.robot
        builder = newton.ModelBuilder(gravity=tuple(float(one) for one in self._gravity))
        Kamino.register_custom_attributes(builder)
        builder.default_shape_cfg.gap = settings.get("gap", 0.0)  # as Kamino has it
        folder = Path(self._source).resolve().parent
        try:
            builder.add_urdf(
                self._source,
                floating=robot.floating_base and not self._floats_by_a_joint(),
                enable_self_collisions=robot.self_collision,
                package_dirs=[str(folder), str(folder.parent)] if self._packages() else None,
            )
            _merge_massless(builder)
        except Exception as error:  # of the reader, and of libraries that it needs
            raise PeerError(f"Newton cannot load it: {' '.join(str(error).split())}") from error
        self._rub(builder)
        self._motor(builder, gains)
        self.model = model = builder.finalize()
        self._joints = {_name(label): k for k, label in enumerate(model.joint_label)}
        self._names = [_name(label) for label in model.body_label]
        self._types = model.joint_type.numpy()
        self._q_starts, self._v_starts = model.joint_q_start.numpy(), model.joint_qd_start.numpy()
        self._placed = self._coordinates()
        self._mass, self._com = model.body_mass.numpy(), model.body_com.numpy().astype(float)
        self._inertia = model.body_inertia.numpy().astype(float)
        self.bodies = tuple(self._names)

    def _packages(self) -> bool:
        """Whether the file names meshes of packages, for which Newton needs another library."""
        return "package://" in Path(self._source).read_text(encoding="utf-8", errors="replace")

    def _floats_by_a_joint(self) -> bool:
        """Whether a joint of the file makes the base float."""
        path = Path(self._source)
        root = safe_xml.parse_model(safe_xml.read_bytes(path), path, [])
        floating = {
            joint.get("name") for joint in root.iterfind("joint") if joint.get("type") == "floating"
        }
        return any(
            joint.parent is None and joint.name in floating for joint in self.robot.tree_joints
        )

    def _rub(self, builder: Any) -> None:
        """Friction of all shapes as in robosim, and the ground if robosim has it."""
        robot = self.robot
        friction_of = frictions_of(robot)
        frictions = {friction_of(contact.body) for contact in robot.contacts}
        # Kamino takes the mean of two frictions.
        alike = robot.self_collision and len(frictions) == 1
        ground, part = (max(frictions), 1.0) if alike else (0.0, 2.0)
        for k, body in enumerate(builder.shape_body):
            name = WORLD if body < 0 else _name(builder.body_label[body])
            builder.shape_material_mu[k] = part * friction_of(name)
        # Otherwise the ground would let bodies through that have a joint with the world.
        for k, parent in enumerate(builder.joint_parent):
            builder.joint_collision_filter_parent[k] &= parent >= 0
        if robot.contacts:
            config = builder.default_shape_cfg.copy()
            config.mu = ground
            builder.add_ground_plane(cfg=config)

    def _motor(self, builder: Any, gains: Any) -> None:
        """Torques on all joints, without limits, and an implicit PD on some."""
        robot, dofs = self.robot, len(builder.joint_target_mode)
        builder.joint_target_mode[:] = [Modes.EFFORT] * dofs
        builder.joint_effort_limit[:] = [UNLIMITED] * dofs
        self._targets: list[tuple[str, float, float]] = []
        if gains is None:
            return
        starts = {
            int(begin): joint.name
            for begin, joint in zip(robot.v_offsets, robot.tree_joints, strict=False)
        }
        labels = [_name(label) for label in builder.joint_label]
        for row in gains:
            if row["implicit"] and (row["kp"] or row["kd"]):
                name = starts[int(row["v_index"])]
                dof = builder.joint_qd_start[labels.index(name)]
                builder.joint_target_ke[dof] = float(row["kp"])
                builder.joint_target_kd[dof] = float(row["kd"])
                mode = Modes.POSITION_VELOCITY if row["kp"] else Modes.VELOCITY
                builder.joint_target_mode[dof] = mode
                self._targets.append((name, float(row["target"]), float(row["velocity"])))

    def _coordinates(self) -> list[tuple[int, int, int, int]]:
        """Indices in q and v, and in Newton's, of each coordinate of hinges and slides."""
        found, robot, free = [], self.robot, newton.JointType.FREE
        self._free: list[tuple[int, int, int, int, int]] = []
        children = self.model.joint_child.numpy()
        for at, begin, joint in zip(
            robot.q_offsets, robot.v_offsets, robot.tree_joints, strict=False
        ):
            if joint.kind == "fixed":
                continue
            # Newton names the joint of a base itself.
            k = self._joints.get(joint.name, self._joints.get("floating_base"))
            if joint.kind == "floating" and k is not None and self._types[k] == free:
                to, rate = int(self._q_starts[k]), int(self._v_starts[k])
                self._free.append((int(at), int(begin), to, rate, int(children[k])))
                continue
            if k is None or joint.nv != 1 or self._types[k] not in TURNS:
                raise PeerError(f"Newton has no joint '{joint.name}' of the kind {joint.kind}")
            found.append((int(at), int(begin), int(self._q_starts[k]), int(self._v_starts[k])))
        return found

    def opened(self) -> Opened:
        """What Newton has made of the file."""
        model, joints = self.model, {}
        values = {
            "lower": model.joint_limit_lower,
            "upper": model.joint_limit_upper,
            "damping": model.joint_damping,
            "friction": model.joint_friction,
            "armature": model.joint_armature,
        }
        rows = {name: array.numpy() for name, array in values.items()}
        for name, k in self._joints.items():
            if self._types[k] in TURNS:
                joints[name] = {what: _told(row[self._v_starts[k]]) for what, row in rows.items()}
        touches = model.shape_flags.numpy() & int(newton.ShapeFlags.COLLIDE_SHAPES)
        owners = model.shape_body.numpy()[touches != 0]
        touching = tuple(sorted({self._names[k] for k in owners if k >= 0}))
        angles = [
            name for name, k in self._joints.items() if self._types[k] == newton.JointType.REVOLUTE
        ]
        mass = float(self._mass.sum(dtype=float))
        of = "newton", self.version, self.bodies, joints, mass
        return Opened(*of, touching=touching, angles=tuple(angles))

    def begin(self, job: Job) -> str:
        """A new model and solver with the time step, settings and state of a job."""
        self._build(job.settings, job.gains)
        self._timestep = job.timestep
        model = self.model
        try:
            self._solver = Kamino(model, _config(job.settings))
        except ValueError as error:
            raise PeerError(f"Newton cannot load it: {' '.join(str(error).split())}") from error
        self._control = model.control()
        self._seen = newton.CollisionPipeline(model).contacts()
        self._observed = self._solver.observables(
            contacts=self._seen, kinds={self._solver.ObservableKind.CONTACT_F}
        )
        self._stepped = False
        self._torques = np.zeros(self.robot.nv)
        for name, target, rate in self._targets:
            k = self._joints[name]
            _set(self._control.joint_target_q, int(self._q_starts[k]), target)
            _set(self._control.joint_target_qd, int(self._v_starts[k]), rate)
        self._now, self._next = model.state(), model.state()
        if job.q is not None:
            self._place(job.q, np.zeros(self.robot.nv) if job.v is None else job.v)
        return ", ".join(f"{name}={value}" for name, value in job.settings.items())

    def _place(self, q: Array, v: Array) -> None:
        state, model = self._now, self.model
        positions, velocities = model.joint_q.numpy(), model.joint_qd.numpy()
        for at, begin, to, rate in self._placed:
            positions[to], velocities[rate] = q[at], v[begin]
        for at, begin, to, rate, body in self._free:
            turn, linear = q[at + 3 : at + 7], v[begin : begin + 3]
            R = quaternions.rotation_matrix(turn)
            omega = R @ v[begin + 3 : begin + 6]
            positions[to : to + 7] = [*q[at : at + 3], *np.roll(turn, -1)]
            # Newton's is the velocity of the centre of mass.
            velocities[rate : rate + 3] = linear + np.cross(omega, R @ self._com[body])
            velocities[rate + 3 : rate + 6] = omega
        state.joint_q.assign(positions)
        state.joint_qd.assign(velocities)
        state.joint_q_prev.assign(positions)
        newton.eval_fk(model, state.joint_q, state.joint_qd, state)

    def drive(self, row: Array, kind: str) -> None:
        """Torques on joints; a URDF has no actuators with controls."""
        if kind == HELD:
            return
        self._torques = on_coordinates(self.robot, row)

    def step(self, steps: int) -> str | None:
        """Take time steps, until the robot is far away."""
        forces = np.zeros(self.model.joint_dof_count, dtype=np.float32)
        for _, begin, _, rate in self._placed:
            forces[rate] = self._torques[begin]
        self._control.joint_f.assign(forces)
        for k in range(steps):
            observed = self._observed if k == steps - 1 else None
            self._solver.step(
                self._now,
                self._next,
                self._control,
                self._seen,
                self._timestep,
                observables=observed,
            )
            self._now, self._next = self._next, self._now
        self._stepped = True
        place, motion = self._now.body_q.numpy(), self._now.body_qd.numpy()
        if not (np.isfinite(place).all() and np.isfinite(motion).all()):
            return "Newton's state was not finite"
        return "Newton was unstable" if np.abs(place).max(initial=0.0) > FAR else None

    def _state(self, x: Array, R: Array, velocity: Array, omega: Array) -> tuple[Array, Array]:
        robot, state = self.robot, self._now
        positions, velocities = state.joint_q.numpy(), state.joint_qd.numpy()
        q, v = np.array(robot.home, dtype=float), np.zeros(robot.nv)
        for at, begin, to, rate in self._placed:
            q[at], v[begin] = positions[to], velocities[rate]
        for at, begin, _, _, k in self._free:
            turn = state.body_q.numpy()[k, 3:].astype(float)
            q[at : at + 3], q[at + 3 : at + 7] = x[k], np.roll(turn, 1) / np.linalg.norm(turn)
            v[begin : begin + 3] = velocity[k] - np.cross(omega[k], R[k] @ self._com[k])
            v[begin + 3 : begin + 6] = R[k].T @ omega[k]
        return q, v

    def look(self) -> Look:
        """The present state; contacts and their forces are those of the last step."""
        place, motion = self._now.body_q.numpy(), self._now.body_qd.numpy().astype(float)
        x, turns = place[:, :3].astype(float), np.roll(place[:, 3:].astype(float), 1, axis=1)
        R = np.array([quaternions.rotation_matrix(turn) for turn in turns]).reshape(-1, 3, 3)
        velocity, omega = motion[:, :3], motion[:, 3:]
        q, v = self._state(x, R, velocity, omega)
        centres = x + np.einsum("kij,kj->ki", R, self._com)
        spin = np.einsum("kji,kj->ki", R, omega)
        kinetic = 0.5 * float(
            self._mass @ (velocity**2).sum(axis=1)
            + np.einsum("ki,kij,kj->", spin, self._inertia, spin)
        )
        energy = kinetic - float(self._mass @ (centres @ self._gravity))
        touches = self._touches(x, R, centres, velocity, omega) if self._stepped else {}
        effort = float(np.abs(self._torques).max(initial=0.0))
        return Look(q, v, x, R, energy, kinetic, touches, {}, self._limits(q), effort)

    def _touches(
        self, x: Array, R: Array, centres: Array, velocity: Array, omega: Array
    ) -> dict[Any, Any]:
        """Contacts that the last step found, with their points moved to the present poses."""
        found, seen = Touches(), self._seen
        count = min(int(seen.rigid_contact_count.numpy()[0]), seen.rigid_contact_max)
        forces = self._observed.contact_f.numpy()[:count, :3].astype(float)
        normals = seen.rigid_contact_normal.numpy()[:count].astype(float)
        margins = (seen.rigid_contact_margin0.numpy() + seen.rigid_contact_margin1.numpy())[:count]
        owners = self.model.shape_body.numpy()
        sides = (
            (seen.rigid_contact_shape0.numpy(), seen.rigid_contact_point0.numpy()),
            (seen.rigid_contact_shape1.numpy(), seen.rigid_contact_point1.numpy()),
        )
        for k in range(count):
            ends = []
            for shapes, points in sides:
                body, point = int(owners[shapes[k]]), points[k].astype(float)
                if body < 0:
                    ends.append((WORLD, point, np.zeros(3)))
                    continue
                point = x[body] + R[body] @ point
                moving = velocity[body] + np.cross(omega[body], point - centres[body])
                ends.append((self._names[body], point, moving))
            (one, here, first), (other, there, second) = ends
            depth = float(margins[k] - normals[k] @ (there - here))
            force = abs(float(forces[k] @ normals[k]))
            if force > 0 or depth > 0:  # others are only near
                found.add(one, other, depth, force, normals[k], second - first)
        return found.found

    def _limits(self, q: Array) -> dict[str, float]:
        found, names = {}, self.robot.q_names
        lower = self.model.joint_limit_lower.numpy()
        upper = self.model.joint_limit_upper.numpy()
        for at, _, _, rate in self._placed:
            beyond = max(lower[rate] - q[at], q[at] - upper[rate])
            if beyond > 0:
                found[names[at]] = float(beyond)
        return found


def _config(settings: Mapping[str, Any]) -> Any:
    """Settings of Kamino; its own where there are none."""
    of = {name: settings[name] for name in ("dynamics_solver", "integrator") if name in settings}
    # Multiples of an angle are told, as robosim has them.
    config = Kamino.Config(use_collision_detector=True, rotation_correction="continuous", **of)
    constraints = {name: settings[name] for name in CONSTRAINTS if name in settings}
    config.constraints = replace(config.constraints, **constraints)
    if "tolerance" in settings:
        tolerance = settings["tolerance"]
        every = {f"{name}_tolerance": tolerance for name in ("primal", "dual", "compl")}
        config.padmm = replace(config.padmm, **every)
        config.dvi = replace(config.dvi, tolerance=tolerance)
    if "max_iterations" in settings:
        config.padmm = replace(config.padmm, max_iterations=settings["max_iterations"])
    return config


def _merge_massless(builder: Any) -> None:
    """Merge links without mass, which Kamino refuses, with what they are fixed to.

    Newton shifts the inertia of a link with mass wrongly as it merges it, and all others remain.
    """
    fixed, world = newton.JointType.FIXED, {-1}
    keep = []
    for k, kind in enumerate(builder.joint_type):
        if kind != fixed:
            continue
        parent, child = builder.joint_parent[k], builder.joint_child[k]
        if parent in world:
            world.add(child)
            continue
        offset = np.array(builder.joint_X_p[k][:3]) - np.array(builder.joint_X_c[k][:3])
        in_place = builder.body_mass[parent] == 0 and not offset.any()
        if builder.body_mass[child] > 0 and not in_place:
            keep.append(k)
    builder.collapse_fixed_joints(joints_to_keep=keep)


def _set(array: Any, at: int, value: float) -> None:
    values = array.numpy()
    values[at] = value
    array.assign(values)


def _told(value: float) -> float:
    """A number of a joint; Newton's largest stands for none."""
    return float(np.copysign(np.inf, value)) if abs(value) >= newton.MAXVAL else float(value)


def _name(label: str) -> str:
    """The name of an element in the file, which Newton puts behind the robot's."""
    return str(label).partition("/")[2]
