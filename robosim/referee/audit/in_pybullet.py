"""PyBullet with the robot's own URDF: an adapter, for a process of its own.

Settings of a job are those of ``setPhysicsEngineParameter``, by their names there.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
import pybullet as pb
from pybullet_utils.bullet_client import BulletClient

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.errors import PeerError
from robosim.referee.audit.of_urdf import frictions_of, on_coordinates, servo_torques
from robosim.referee.audit.runs import HELD, WORLD, Array, Job, Look, Opened, Touches

FAR = 1e6
"""Distance beyond which PyBullet counts as unstable [m]."""
BASE = -1
TURNS = {pb.JOINT_REVOLUTE: "rad", pb.JOINT_PRISMATIC: "m"}


class InPyBullet:
    """A URDF in PyBullet.

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
        For other files, and robots with joints that PyBullet has not.
    """

    def __init__(
        self, source: str, kind: str, robot: Mechanism | None, gravity: Array | None = None
    ) -> None:
        if kind != "urdf" or robot is None:
            raise PeerError("only URDF files that robosim has loaded are run in PyBullet")
        self.version = version("pybullet")
        self.robot, self._source = robot, source
        self._gravity = np.array([0.0, 0.0, -9.81] if gravity is None else gravity)
        self._client: Any = None
        self._torques = np.zeros(0)
        self._gains: Any = None
        self._load()

    def _load(self) -> None:
        """A new world with the robot; the ground touches as in robosim."""
        if self._client is not None:
            self._client.disconnect()
        robot, client = self.robot, BulletClient(pb.DIRECT)
        self._client = client
        client.setGravity(*self._gravity)
        flags = pb.URDF_USE_INERTIA_FROM_FILE | pb.URDF_MAINTAIN_LINK_ORDER
        try:
            self._body = client.loadURDF(
                self._source, useFixedBase=not robot.floating_base, flags=flags
            )
        except pb.error as error:
            raise PeerError(f"PyBullet cannot load it: {error}") from error
        body = self._body
        self._ground = -1
        if robot.contacts:
            plane = client.createCollisionShape(pb.GEOM_PLANE)
            self._ground = client.createMultiBody(0, plane)
            client.changeDynamics(self._ground, BASE, lateralFriction=1.0)
        infos = [client.getJointInfo(body, k) for k in range(client.getNumJoints(body))]
        self._links = {BASE: client.getBodyInfo(body)[0].decode()}
        self._links |= {info[0]: info[12].decode() for info in infos}
        self._joints = {info[1].decode(): info for info in infos}
        friction_of = frictions_of(robot)
        for k, name in self._links.items():
            # PyBullet multiplies the frictions of both bodies.
            friction = friction_of(name)
            client.changeDynamics(
                body, k, linearDamping=0.0, angularDamping=0.0, lateralFriction=friction
            )
        self._placed = self._coordinates()
        for info in infos:
            if info[2] in TURNS:
                # Otherwise a motor would hold every joint.
                client.setJointMotorControl2(body, info[0], pb.VELOCITY_CONTROL, force=0.0)
        moving = [k for k in self._links if k != BASE or robot.floating_base]
        fixed = {self._links[k] for k in self._links if self._is_fixed(k, infos)}
        self._moving = [k for k in moving if self._links[k] not in fixed]
        self.bodies = tuple(self._links[k] for k in self._moving)

    def _is_fixed(self, link: int, infos: list[Any]) -> bool:
        """Whether a link cannot move at all."""
        while link != BASE:
            if infos[link][2] != pb.JOINT_FIXED:
                return False
            link = infos[link][16]
        return not self.robot.floating_base

    def _coordinates(self) -> list[tuple[int, int, int]]:
        """Indices in q, in v, and PyBullet's joint, of each coordinate but those of the base."""
        found, robot = [], self.robot
        for at, begin, joint in zip(
            robot.q_offsets, robot.v_offsets, robot.tree_joints, strict=False
        ):
            if joint.kind == "fixed" or (robot.floating_base and begin == 0):
                continue
            info = self._joints.get(joint.name)
            if info is None or joint.nv != 1 or info[2] not in TURNS:
                raise PeerError(f"PyBullet has no joint '{joint.name}' of the kind {joint.kind}")
            found.append((int(at), int(begin), int(info[0])))
        return found

    def opened(self) -> Opened:
        """What PyBullet has made of the file."""
        client, body = self._client, self._body
        joints = {}
        for name, info in self._joints.items():
            if info[2] in TURNS:
                limited = info[8] <= info[9]
                joints[name] = {
                    "lower": float(info[8]) if limited else -np.inf,
                    "upper": float(info[9]) if limited else np.inf,
                    "damping": float(info[6]),
                    "friction": float(info[7]),
                    "armature": 0.0,
                }
        mass = sum(client.getDynamicsInfo(body, k)[0] for k in self._moving)
        touching = [
            name for k, name in self._links.items() if client.getCollisionShapeData(body, k)
        ]
        angles = tuple(name for name, info in self._joints.items() if info[2] == pb.JOINT_REVOLUTE)
        return Opened(
            "pybullet",
            self.version,
            self.bodies,
            joints,
            float(mass),
            0,
            0,
            0,
            tuple(touching),
            angles,
        )

    def begin(self, job: Job) -> str:
        """A new world with the time step, settings and state of a job."""
        self._load()
        client = self._client
        client.setPhysicsEngineParameter(fixedTimeStep=job.timestep, numSubSteps=0)
        if job.settings:
            client.setPhysicsEngineParameter(**job.settings)
        self._torques, self._gains = np.zeros(self.robot.nv), job.gains
        if job.q is not None:
            self._place(job.q, np.zeros(self.robot.nv) if job.v is None else job.v)
        return ", ".join(f"{name}={value:g}" for name, value in job.settings.items())

    def _place(self, q: Array, v: Array) -> None:
        client, body = self._client, self._body
        for at, begin, joint in self._placed:
            client.resetJointState(body, joint, float(q[at]), float(v[begin]))
        if self.robot.floating_base:
            R = quaternions.rotation_matrix(q[3:7])
            arm = R @ np.array(client.getDynamicsInfo(body, BASE)[3])
            turn = quaternions.multiply(q[3:7], self._inertial_turn())
            omega = R @ v[3:6]
            client.resetBasePositionAndOrientation(body, q[:3] + arm, [*turn[1:], turn[0]])
            client.resetBaseVelocity(body, v[:3] + np.cross(omega, arm), omega)

    def _inertial_turn(self) -> Array:
        x, y, z, w = self._client.getDynamicsInfo(self._body, BASE)[4]
        return np.array([w, x, y, z])

    def drive(self, row: Array, kind: str) -> None:
        """Torques on joints; a URDF has no actuators with controls."""
        if kind == HELD:
            return
        self._torques = on_coordinates(self.robot, row)

    def step(self, steps: int) -> str | None:
        """Take time steps, until the robot is far away."""
        client, body = self._client, self._body
        for _ in range(steps):
            torques = self._torques
            if self._gains is not None:
                torques = torques + servo_torques(self._gains, *self._state())
            for _, begin, joint in self._placed:
                torque = float(torques[begin])
                client.setJointMotorControl2(body, joint, pb.TORQUE_CONTROL, force=torque)
            client.stepSimulation()
        place = np.array(client.getBasePositionAndOrientation(body)[0])
        if not np.isfinite(place).all() or np.abs(place).max() > FAR:
            return "PyBullet was unstable"
        return None

    def _state(self) -> tuple[Array, Array]:
        robot, client = self.robot, self._client
        q, v = np.array(robot.home), np.zeros(robot.nv)
        for at, begin, joint in self._placed:
            q[at], v[begin] = client.getJointState(self._body, joint)[:2]
        if robot.floating_base:
            place, (x, y, z, w) = client.getBasePositionAndOrientation(self._body)
            turn = quaternions.multiply(
                np.array([w, x, y, z]), quaternions.conjugate(self._inertial_turn())
            )
            R = quaternions.rotation_matrix(turn)
            arm = R @ np.array(client.getDynamicsInfo(self._body, BASE)[3])
            linear, angular = map(np.array, client.getBaseVelocity(self._body))
            q[:3], q[3:7] = np.array(place) - arm, turn
            v[:3], v[3:6] = linear - np.cross(angular, arm), R.T @ angular
        return q, v

    def look(self) -> Look:
        """The present state."""
        client, body = self._client, self._body
        q, v = self._state()
        energy = kinetic = 0.0
        places, turns, motions = {}, {}, {}
        for k in self._links:
            if k == BASE:
                centre, turn = client.getBasePositionAndOrientation(body)
                linear, angular = client.getBaseVelocity(body)
                floats = self.robot.floating_base
                place, own = (q[:3], q[3:7]) if floats else (np.zeros(3), np.array([1.0, 0, 0, 0]))
            else:
                state = client.getLinkState(body, k, 1, 1)
                centre, turn, place, linear, angular = (state[i] for i in (0, 1, 4, 6, 7))
                own = np.roll(state[5], 1)
            centre, linear, angular = (np.array(one) for one in (centre, linear, angular))
            places[k], motions[k] = np.array(place), (centre, linear, angular)
            turns[k] = quaternions.rotation_matrix(own)
            mass, _, moments = client.getDynamicsInfo(body, k)[:3]
            x, y, z, w = turn
            spin = quaternions.rotation_matrix(np.array([w, x, y, z])).T @ angular
            moving = 0.5 * mass * linear @ linear + 0.5 * spin @ (np.array(moments) * spin)
            kinetic += float(moving)
            energy += float(moving - mass * self._gravity @ centre)
        x = np.array([places[k] for k in self._moving])
        R = np.array([turns[k] for k in self._moving])
        effort = float(np.abs(self._torques).max(initial=0.0))
        touches = self._touches(motions)
        return Look(q, v, x, R, energy, kinetic, touches, {}, self._limits(q), effort)

    def _touches(self, motions: dict[int, Any]) -> dict[Any, Any]:
        found = Touches()
        for point in self._client.getContactPoints():
            ends = []
            for owner, link, at in ((point[1], point[3], point[5]), (point[2], point[4], point[6])):
                if owner != self._body:
                    ends.append((WORLD, np.zeros(3)))
                    continue
                centre, linear, angular = motions[link]
                fixed = link not in self._moving
                velocity = linear + np.cross(angular, np.array(at) - centre)
                ends.append((WORLD if fixed else self._links[link], velocity))
            (one, first), (other, second) = ends
            normal = np.array(point[7])
            found.add(one, other, -point[8], point[9], normal, second - first)
        return found.found

    def _limits(self, q: Array) -> dict[str, float]:
        found = {}
        joints = {info[0]: (name, info) for name, info in self._joints.items()}
        for at, _, joint in self._placed:
            name, info = joints[joint]
            if info[8] <= info[9]:
                beyond = max(info[8] - q[at], q[at] - info[9])
                if beyond > 0:
                    found[name] = float(beyond)
        return found
