"""Motions with impacts in MuJoCo at fixed steps, and in Drake with CENIC, its steps to an accuracy.

The contacts of both are compliant. So each is compared with its own limit, that of its finest
setting. Drake has point contacts, and friction that is regularized. CENIC is that of
arXiv 2511.08771.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.errors import PeerError
from robosim.loaders.writers import save
from robosim.measuring.motions import Motion, Run, points_of, timed
from robosim.peers.mujoco_run import MuJoCoRun, Settings

Array = NDArray[np.float64]
DRAKE = "http://drake.mit.edu"  # namespace of its elements
INTEGRATORS = ("Euler", "implicitfast", "RK4")
STEPS = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4)  # [s], of MuJoCo
LIMIT = 2e-5  # [s], of MuJoCo's limit
ACCURACIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)  # of Drake; the last one is the limit
LONGEST = 0.1  # [s], of Drake's steps


def drake_available() -> bool:
    """Whether Drake is installed."""
    return importlib.util.find_spec("pydrake") is not None


def mujoco_runs(
    motion: Motion,
    repetitions: int = 3,
    steps: tuple[float, ...] = STEPS,
    note: Callable[[str], None] = lambda text: None,
) -> list[Run]:
    """A motion with each integrator and timestep, after the run that is its limit.

    Raises
    ------
    PeerError
        For a motion that has no MJCF here.
    """
    if any(contact.restitution > 0 for contact in motion.robot.contacts):
        raise PeerError("restitution of contacts has no MJCF")
    found = [_mujoco(motion, LIMIT, "RK4", 1)]
    for integrator in INTEGRATORS:
        for timestep in steps:
            note(f"{motion.name}: MuJoCo, {integrator}, {1e3 * timestep:g} ms")
            found.append(_mujoco(motion, timestep, integrator, repetitions))
    return found


def _mujoco(motion: Motion, timestep: float, integrator: str, repetitions: int) -> Run:
    import mujoco

    peer = MuJoCoRun(motion.robot, timestep, Settings(integrator), servos=motion.pd)
    peer.model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    steps = round(motion.seconds / timestep)

    def start() -> None:
        mujoco.mj_resetData(peer.model, peer.data)
        if motion.pd is not None:
            peer.data.ctrl[:] = motion.pd.gains["target"]
        peer.set_state(motion.q, motion.v)

    cpu = timed(lambda: peer.step(steps), start, repetitions)
    mujoco.mj_kinematics(peer.model, peer.data)
    ids = [peer.model.body(body.name).id for body in motion.robot.bodies]
    turns = peer.data.xmat[ids].reshape(-1, 3, 3)
    # The frame of a body in the MJCF has another origin than its centre of mass.
    points = points_of(motion.robot, peer.data.xipos[ids], turns)
    lost = peer.failed_at is not None
    points = np.full_like(points, np.nan) if lost else points
    return Run("MuJoCo", integrator, timestep, () if lost else cpu, points)


def drake_runs(
    motion: Motion,
    repetitions: int = 3,
    accuracies: tuple[float, ...] = ACCURACIES,
    note: Callable[[str], None] = lambda text: None,
) -> list[Run]:
    """A motion with each accuracy of CENIC, after the run that is its limit.

    Raises
    ------
    PeerError
        For a motion that Drake does not have.
    """
    robot = motion.robot
    if any(contact.restitution > 0 for contact in robot.contacts):
        raise PeerError("contacts of Drake have no coefficient of restitution")
    if any(joint.limit_restitution > 0 for joint in robot.joints):
        raise PeerError("joint limits of Drake have no coefficient of restitution")
    if robot.loop_joints:
        raise PeerError("loops are not closed in Drake's continuous time")
    world = Drake(motion)
    found: list[Run] = []
    for accuracy in (accuracies[-1], *accuracies[:-1]):
        note(f"{motion.name}: Drake, accuracy {accuracy:g}")
        found.append(world.run(accuracy, repetitions if found else 1))
    return found


class Drake:
    """A motion in Drake: a plant in continuous time, stepped by CENIC.

    Parameters
    ----------
    motion : Motion
        Of a robot with a floating base.
    """

    def __init__(self, motion: Motion) -> None:
        from pydrake.geometry import HalfSpace
        from pydrake.math import RigidTransform
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import (
            AddMultibodyPlant,
            CoulombFriction,
            MultibodyPlantConfig,
        )
        from pydrake.systems.framework import DiagramBuilder

        self._motion, builder = motion, DiagramBuilder()
        config = MultibodyPlantConfig(time_step=0.0, contact_model="point")
        self._plant: Any
        self._plant, scene = AddMultibodyPlant(config, builder)
        (friction,) = {contact.friction for contact in motion.robot.contacts}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "robot.urdf"
            save(_on_points(motion.robot), path)
            _rub(path, friction)
            Parser(self._plant).AddModels(str(path))
        world, both = self._plant.world_body(), CoulombFriction(friction, friction)
        self._plant.RegisterCollisionGeometry(world, RigidTransform(), HalfSpace(), "ground", both)
        self._servos()
        self._plant.Finalize()
        self._apart(scene)
        self._diagram = builder.Build()

    def _servos(self) -> None:
        """The PD of the motion as gains of Drake's actuators, which CENIC takes implicitly."""
        from pydrake.multibody.tree import PdControllerGains

        self._targets: list[float] = []
        if self._motion.pd is None:
            return
        names = [name for joint in self._motion.robot.joints for name in [joint.name] * joint.nv]
        for gains in self._motion.pd.gains:
            joint = self._plant.GetJointByName(names[int(gains["v_index"])])
            motor = self._plant.AddJointActuator(joint.name(), joint, np.inf)
            motor.set_controller_gains(
                PdControllerGains(p=float(gains["kp"]), d=float(gains["kd"]))
            )
            self._targets.append(float(gains["target"]))

    def _apart(self, scene: Any) -> None:
        """Links touch the ground only, as in robosim."""
        from pydrake.geometry import CollisionFilterDeclaration, GeometrySet

        bodies = [self._plant.GetBodyByName(body.name) for body in self._motion.robot.bodies]
        shapes = [
            shape for body in bodies for shape in self._plant.GetCollisionGeometriesForBody(body)
        ]
        apart = CollisionFilterDeclaration().ExcludeWithin(GeometrySet(shapes))
        scene.collision_filter_manager().Apply(apart)

    def _start(self, accuracy: float) -> Any:
        from pydrake.systems.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig

        simulator = Simulator(self._diagram)
        config = SimulatorConfig(
            integration_scheme="cenic", max_step_size=LONGEST, accuracy=accuracy
        )
        ApplySimulatorConfig(config, simulator)
        own = self._plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        q, v = self._motion.q, self._motion.v
        # Angular velocities of Drake's floating bodies are in the axes of the world.
        omega = quaternions.rotation_matrix(q[3:7]) @ v[3:6]
        self._plant.SetPositions(own, np.concatenate((q[3:7], q[:3], q[7:])))
        self._plant.SetVelocities(own, np.concatenate((omega, v[:3], v[6:])))
        if self._targets:
            wanted = np.concatenate((self._targets, np.zeros(len(self._targets))))
            motor = self._plant.get_joint_actuator(self._plant.GetJointActuatorIndices()[0])
            port = self._plant.get_desired_state_input_port(motor.model_instance())
            port.FixValue(own, wanted)
        simulator.Initialize()
        return simulator

    def run(self, accuracy: float, repetitions: int) -> Run:
        """The motion with an accuracy of CENIC."""
        robot = self._motion.robot
        made: list[Any] = []
        lost = np.full((4 * len(robot.bodies), 3), np.nan)
        try:
            cpu = timed(
                lambda: made[-1].AdvanceTo(self._motion.seconds),
                lambda: made.append(self._start(accuracy)),
                repetitions,
            )
        except RuntimeError:
            return Run("Drake", "CENIC", accuracy, (), lost)
        own = self._plant.GetMyContextFromRoot(made[-1].get_context())
        x, turns = [], []
        for body in robot.bodies:
            found = self._plant.GetBodyByName(body.name)
            pose = self._plant.EvalBodyPoseInWorld(own, found)
            x.append(pose @ found.default_com())
            turns.append(pose.rotation().matrix())
        steps = float(made[-1].get_integrator().get_num_steps_taken())
        return Run(
            "Drake", "CENIC", accuracy, cpu, points_of(robot, x, turns), {"intervals": steps}
        )


def _rub(path: Path, friction: float) -> None:
    """Give all collision shapes of a URDF a coefficient of friction, in Drake's words."""
    tree = etree.parse(str(path))
    for shape in tree.iter("collision"):
        of = etree.SubElement(shape, f"{{{DRAKE}}}proximity_properties")
        for kind in ("mu_static", "mu_dynamic"):
            etree.SubElement(of, f"{{{DRAKE}}}{kind}", value=repr(friction))
    tree.write(str(path))


def _on_points(robot: Mechanism) -> Mechanism:
    """A box on the points at its corners: Drake has a single contact for a box on the ground."""
    if len(robot.bodies) > 1:
        return robot
    return replace(robot, bodies=tuple(replace(body, collisions=()) for body in robot.bodies))
