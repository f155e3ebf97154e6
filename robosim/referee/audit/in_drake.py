"""Drake with the robot's own URDF: an adapter, for a process of its own.

Settings of a job are ``contact_approximation`` ("sap", "lagged", "similar" or "tamsi") and
``near_rigid_threshold``, which is how stiff Drake's rigid contacts are.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from pydrake.geometry import (
    AddContactMaterial,
    HalfSpace,
    ProximityProperties,
    RoleAssign,
)
from pydrake.math import RigidTransform
from pydrake.multibody.parsing import PackageMap, Parser
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    CoulombFriction,
    DiscreteContactApproximation,
)
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

from robosim import quaternions, safe_xml
from robosim.description.mechanism import Mechanism
from robosim.errors import PeerError
from robosim.referee.audit.of_urdf import frictions_of, on_coordinates, servo_torques
from robosim.referee.audit.runs import HELD, WORLD, Array, Job, Look, Opened, Touches

FAR = 1e6
"""Distance beyond which Drake counts as unstable [m]."""
APPROXIMATIONS = {
    "sap": DiscreteContactApproximation.kSap,
    "lagged": DiscreteContactApproximation.kLagged,
    "similar": DiscreteContactApproximation.kSimilar,
    "tamsi": DiscreteContactApproximation.kTamsi,
}


def _root_of(file: str) -> str:
    """The name of the link of a URDF that is no joint's child."""
    path = Path(file)
    root = safe_xml.parse_model(safe_xml.read_bytes(path), path, [])
    children = {child.get("link") for child in root.iterfind("joint/child")}
    names = [str(link.get("name")) for link in root.iterfind("link")]
    return next(name for name in names if name not in children)


class InDrake:
    """A URDF in Drake.

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
        For other files, and robots with joints that Drake has not.
    """

    def __init__(
        self, source: str, kind: str, robot: Mechanism | None, gravity: Array | None = None
    ) -> None:
        if kind != "urdf" or robot is None:
            raise PeerError("only URDF files that robosim has loaded are run in Drake")
        self.version = version("drake")
        self.robot, self._source = robot, source
        self._gravity = np.array([0.0, 0.0, -9.81] if gravity is None else gravity)
        self._torques = np.zeros(0)
        self._gains: Any = None
        self._build(1e-3, {})

    def _build(self, timestep: float, settings: Any) -> None:
        """A new plant with a time step [s] and settings."""
        robot, builder = self.robot, DiagramBuilder()
        plant, scene = AddMultibodyPlantSceneGraph(builder, timestep)
        parser = Parser(plant)
        packages = PackageMap()
        packages.PopulateFromFolder(str(Path(self._source).parent))
        parser.package_map().AddMap(packages)
        try:
            (model,) = parser.AddModels(self._source)
        except RuntimeError as error:
            raise PeerError(f"Drake cannot load it: {error}") from error
        if not robot.floating_base:
            root = _root_of(self._source)
            if root != "world":  # which is Drake's own
                body = plant.GetBodyByName(root, model)
                plant.WeldFrames(plant.world_frame(), body.body_frame())
        if robot.contacts:
            ground = CoulombFriction(1.0, 1.0)
            plant.RegisterCollisionGeometry(
                plant.world_body(), RigidTransform(), HalfSpace(), "ground", ground
            )
        plant.mutable_gravity_field().set_gravity_vector(self._gravity)
        name = settings.get("contact_approximation")
        if name is not None:
            plant.set_discrete_contact_approximation(APPROXIMATIONS[name])
        if "near_rigid_threshold" in settings:
            plant.set_sap_near_rigid_threshold(settings["near_rigid_threshold"])
        plant.Finalize()
        self.plant, self._model = plant, model
        self._rub(scene)
        self._diagram = builder.Build()
        self._simulator = Simulator(self._diagram)
        self._context = self._simulator.get_mutable_context()
        self._of_plant = plant.GetMyMutableContextFromRoot(self._context)
        self._placed = self._coordinates()
        bodies = [plant.get_body(k) for k in plant.GetBodyIndices(model)]
        welded = {body.index() for body in plant.GetBodiesWeldedTo(plant.world_body())}
        self._moving = [body for body in bodies if body.index() not in welded]
        self.bodies = tuple(body.name() for body in self._moving)
        self._names = {int(body.index()): body.name() for body in self._moving}

    def _rub(self, scene: Any) -> None:
        """Friction of all shapes as in robosim, and no contacts within the robot."""
        plant, robot = self.plant, self.robot
        friction_of = frictions_of(robot)
        inspector = scene.model_inspector()
        for k in plant.GetBodyIndices(self._model):
            body = plant.get_body(k)
            mu = friction_of(body.name())
            # Drake takes the harmonic mean of two frictions, and the ground has 1.
            own = mu / max(2.0 - mu, 1e-9)
            for geometry in plant.GetCollisionGeometriesForBody(body):
                properties = ProximityProperties(inspector.GetProximityProperties(geometry))
                if properties.HasProperty("material", "coulomb_friction"):
                    properties.RemoveProperty("material", "coulomb_friction")
                AddContactMaterial(friction=CoulombFriction(own, own), properties=properties)
                scene.AssignRole(plant.get_source_id(), geometry, properties, RoleAssign.kReplace)
        self._filter(scene)

    def _filter(self, scene: Any) -> None:
        from pydrake.geometry import CollisionFilterDeclaration, GeometrySet

        plant = self.plant
        shapes = [
            geometry
            for k in plant.GetBodyIndices(self._model)
            for geometry in plant.GetCollisionGeometriesForBody(plant.get_body(k))
        ]
        if shapes and not self.robot.self_collision:
            declared = CollisionFilterDeclaration().ExcludeWithin(GeometrySet(shapes))
            scene.collision_filter_manager().Apply(declared)

    def _coordinates(self) -> list[tuple[int, int, int, int]]:
        """Indices in q and v, and in Drake's, of each coordinate but those of the base."""
        found, robot, plant = [], self.robot, self.plant
        for at, begin, joint in zip(
            robot.q_offsets, robot.v_offsets, robot.tree_joints, strict=False
        ):
            if joint.kind == "fixed" or (robot.floating_base and begin == 0):
                continue
            if joint.nv != 1 or not plant.HasJointNamed(joint.name, self._model):
                raise PeerError(f"Drake has no joint '{joint.name}' of the kind {joint.kind}")
            other = plant.GetJointByName(joint.name, self._model)
            if other.num_velocities() != 1:
                raise PeerError(f"Drake has no joint '{joint.name}' of the kind {joint.kind}")
            found.append(
                (int(at), int(begin), int(other.position_start()), int(other.velocity_start()))
            )
        return found

    def opened(self) -> Opened:
        """What Drake has made of the file."""
        plant, joints = self.plant, {}
        for k in plant.GetJointIndices(self._model):
            joint = plant.get_joint(k)
            if joint.num_velocities() == 1:
                damping = joint.default_damping_vector()
                joints[joint.name()] = {
                    "lower": float(joint.position_lower_limits()[0]),
                    "upper": float(joint.position_upper_limits()[0]),
                    "damping": float(damping[0]) if len(damping) else 0.0,
                    "friction": 0.0,
                    "armature": self._armature(joint.name()),
                }
        mass = sum(body.default_mass() for body in self._moving)
        touching = tuple(
            plant.get_body(k).name()
            for k in plant.GetBodyIndices(self._model)
            if plant.GetCollisionGeometriesForBody(plant.get_body(k))
        )
        of = "drake", self.version, self.bodies, joints, float(mass), plant.num_constraints()
        return Opened(*of, touching=touching, angles=tuple(joints))

    def _armature(self, joint: str) -> float:
        plant = self.plant
        for k in plant.GetJointActuatorIndices(self._model):
            actuator = plant.get_joint_actuator(k)
            if actuator.joint().name() == joint:
                return float(actuator.default_reflected_inertia())
        return 0.0

    def begin(self, job: Job) -> str:
        """A new plant with the time step, settings and state of a job."""
        self._build(job.timestep, job.settings)
        self._torques, self._gains = np.zeros(self.robot.nv), job.gains
        if job.q is not None:
            self._place(job.q, np.zeros(self.robot.nv) if job.v is None else job.v)
        self._simulator.Initialize()
        return ", ".join(f"{name}={value}" for name, value in job.settings.items())

    def _place(self, q: Array, v: Array) -> None:
        plant = self.plant
        positions = plant.GetPositions(self._of_plant)
        velocities = plant.GetVelocities(self._of_plant)
        for at, begin, to, rate in self._placed:
            positions[to], velocities[rate] = q[at], v[begin]
        if self.robot.floating_base:
            at, rate = self._base()
            R = quaternions.rotation_matrix(q[3:7])
            positions[at : at + 4], positions[at + 4 : at + 7] = q[3:7], q[:3]
            velocities[rate : rate + 3] = R @ v[3:6]
            velocities[rate + 3 : rate + 6] = v[:3]
        plant.SetPositions(self._of_plant, positions)
        plant.SetVelocities(self._of_plant, velocities)

    def _base(self) -> tuple[int, int]:
        (base,) = self.plant.GetFloatingBaseBodies()
        body = self.plant.get_body(base)
        return int(body.floating_positions_start()), int(body.floating_velocities_start_in_v())

    def drive(self, row: Array, kind: str) -> None:
        """Torques on joints; a URDF has no actuators with controls."""
        if kind == HELD:
            return
        self._torques = on_coordinates(self.robot, row)

    def step(self, steps: int) -> str | None:
        """Take time steps, until the robot is far away."""
        plant = self.plant
        for _ in range(steps):
            forces = np.zeros(plant.num_velocities())
            torques = self._torques
            if self._gains is not None:
                torques = torques + servo_torques(self._gains, *self._state())
            for _, begin, _, rate in self._placed:
                forces[rate] = torques[begin]
            plant.get_applied_generalized_force_input_port().FixValue(self._of_plant, forces)
            try:
                self._simulator.AdvanceTo(self._context.get_time() + plant.time_step())
            except RuntimeError as error:
                return f"Drake could not solve a step: {' '.join(str(error).split())[:200]}"
        place = plant.GetPositions(self._of_plant)
        if not np.isfinite(place).all() or np.abs(place).max() > FAR:
            return "Drake was unstable"
        return None

    def _state(self) -> tuple[Array, Array]:
        plant, robot = self.plant, self.robot
        positions = plant.GetPositions(self._of_plant)
        velocities = plant.GetVelocities(self._of_plant)
        q, v = np.array(robot.home), np.zeros(robot.nv)
        for at, begin, to, rate in self._placed:
            q[at], v[begin] = positions[to], velocities[rate]
        if robot.floating_base:
            at, rate = self._base()
            q[:3], q[3:7] = positions[at + 4 : at + 7], positions[at : at + 4]
            R = quaternions.rotation_matrix(q[3:7])
            v[:3] = velocities[rate + 3 : rate + 6]
            v[3:6] = R.T @ velocities[rate : rate + 3]
        return q, v

    def look(self) -> Look:
        """The present state."""
        plant, context = self.plant, self._of_plant
        q, v = self._state()
        poses = [plant.EvalBodyPoseInWorld(context, body) for body in self._moving]
        x = np.array([pose.translation() for pose in poses])
        R = np.array([pose.rotation().matrix() for pose in poses])
        kinetic = float(plant.CalcKineticEnergy(context))
        energy = kinetic + float(plant.CalcPotentialEnergy(context))
        effort = float(np.abs(self._torques).max(initial=0.0))
        touches, limits = self._touches(), self._limits(q)
        return Look(q, v, x, R, energy, kinetic, touches, {}, limits, effort)

    def _touches(self) -> dict[Any, Any]:
        found, plant = Touches(), self.plant
        if plant.time_step() == 0:
            return {}
        results = plant.get_contact_results_output_port().Eval(self._of_plant)
        for k in range(results.num_point_pair_contacts()):
            info = results.point_pair_contact_info(k)
            pair, point = info.point_pair(), np.array(info.contact_point())
            ends = []
            for index in (info.bodyA_index(), info.bodyB_index()):
                body = plant.get_body(index)
                pose = plant.EvalBodyPoseInWorld(self._of_plant, body).translation()
                twist = plant.EvalBodySpatialVelocityInWorld(self._of_plant, body)
                velocity = twist.translational() + np.cross(twist.rotational(), point - pose)
                ends.append((self._names.get(int(index), WORLD), velocity))
            (one, first), (other, second) = ends
            normal = np.array(pair.nhat_BA_W)
            force = abs(float(np.array(info.contact_force()) @ normal))
            found.add(one, other, float(pair.depth), force, normal, second - first)
        return found.found

    def _limits(self, q: Array) -> dict[str, float]:
        found = {}
        names = self.robot.q_names
        lower, upper = (
            self.plant.GetPositionLowerLimits(),
            self.plant.GetPositionUpperLimits(),
        )
        for at, _, to, _ in self._placed:
            beyond = max(lower[to] - q[at], q[at] - upper[to])
            if beyond > 0:
                found[names[at]] = float(beyond)
        return found
