"""Pinocchio's forward dynamics, PyBullet and Drake on mechanisms of robosim."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from robosim.bench.case import Setup
from robosim.bench.measure import Contender
from robosim.bench.report import ENERGY
from robosim.description.mechanism import Mechanism
from robosim.measuring.starts import bent_start
from robosim.simulation import Simulation

Array = NDArray[np.float64]
PYBULLET_MOST = 100  # links: PyBullet returns the states of at most 128


def urdf(robot: Mechanism) -> str:
    """A tree of hinges as a URDF text, without shapes; link frames are those of robosim."""
    root = etree.Element("robot", name=robot.name)
    etree.SubElement(root, "link", name="world")
    before: dict[str | None, Any] = {None: np.zeros(3)}
    for joint in robot.tree_joints:
        body = robot.body(joint.child)
        reference = before[body.name] = body.reference_position
        link = etree.SubElement(root, "link", name=body.name)
        inertial = etree.SubElement(link, "inertial")
        etree.SubElement(inertial, "origin", xyz=_text(-reference))
        etree.SubElement(inertial, "mass", value=repr(body.mass))
        J = np.asarray(body.inertia)
        names = {"ixx": (0, 0), "iyy": (1, 1), "izz": (2, 2), "ixy": (0, 1), "ixz": (0, 2)}
        names["iyz"] = (1, 2)
        etree.SubElement(inertial, "inertia", {k: repr(float(J[i])) for k, i in names.items()})
        element = etree.SubElement(root, "joint", name=joint.name, type="continuous")
        etree.SubElement(element, "parent", link=joint.parent or "world")
        etree.SubElement(element, "child", link=body.name)
        # At zero the axes of both bodies agree, as these chains have no rotational offsets.
        place = np.asarray(joint.parent_position) - before[joint.parent]
        place = place - (np.asarray(joint.child_position) - reference)
        etree.SubElement(element, "origin", xyz=_text(place))
        etree.SubElement(element, "axis", xyz=_text(np.asarray(joint.axis)))
    # Written on several lines, because PyBullet takes no line of more than 1000 characters.
    return str(etree.tostring(root, encoding="unicode", pretty_print=True))


def _text(values: Any) -> str:
    return " ".join(repr(float(value)) for value in values)


def aba(robot: Mechanism, text: str, calls: int, size: int = 0, told: str = "") -> Contender:
    """Pinocchio's aba: accelerations without integration and contacts, in Pinocchio's C++ loop.

    The error is the residual of the equations of motion, M a + h - tau, at one of the states.
    """
    import pinocchio as pin

    root = (pin.JointModelFreeFlyer(),) if robot.floating_base else ()
    model = pin.buildModelFromXML(text, *root)
    pool = pin.ModelPool(model, 1)
    rng = np.random.default_rng(0)
    q = np.array(
        [pin.integrate(model, pin.neutral(model), v) for v in rng.normal(size=(calls, model.nv))]
    )
    v, tau = rng.normal(size=(2, calls, model.nv))
    columns = [np.asfortranarray(array.T) for array in (q, v, tau)]
    out = np.asfortranarray(np.zeros((model.nv, calls)))

    def run() -> bool:
        pin.abaInParallel(1, pool, *columns, out)
        return True

    run()
    data = model.createData()
    k = calls // 2
    M = pin.crba(model, data, q[k])
    M = np.triu(M) + np.triu(M, 1).T
    left = M @ out[:, k] + pin.nonLinearEffects(model, data, q[k], v[k]) - tau[k]
    told += "aba alone, accelerations, no step, no contacts"
    error = {"M a + h - tau, relative": float(np.abs(left).max() / np.abs(tau[k]).max())}
    return Contender("Pinocchio", told, calls, run, errors=error, size=size)


def chains(
    setup: Setup, robot: Mechanism, n: int, steps: int, dt: float, scale: float
) -> list[Contender]:
    """Pinocchio's aba, PyBullet and Drake on a chain of hinges, released at 45 degrees."""
    found = []
    text = urdf(robot)
    q = bent_start(robot)
    if setup.has("pinocchio"):
        found.append(aba(robot, text, steps, n))
    engines: dict[str, Callable[[], Engine]] = {
        "pybullet": lambda: PyBullet(text, dt),
        "drake": lambda: Drake(text, dt),
    }
    for name, make in engines.items():
        if setup.has(name) and not (name == "pybullet" and n > PYBULLET_MOST):
            engine = make()
            engine.set_state(q)
            reader = Simulation(robot, timestep=dt)
            energies = [_energy(reader, engine)]
            for _ in range(20):
                engine.step(max(1, steps // 20))
                energies.append(_energy(reader, engine))
            error = float(np.abs(np.array(energies) - energies[0]).max() / scale)
            run, start = partial(engine.step, steps), partial(engine.set_state, q)
            told, errors = engine.told, {ENERGY: error}
            found.append(Contender(engine.who, told, steps, run, start, errors=errors, size=n))
    return found


def _energy(reader: Simulation, engine: Engine) -> float:
    """Energy [J] of another engine's state, computed by robosim."""
    q, v = engine.state()
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        return float("inf")
    reader.set_state(q, v)
    return reader.energy()


class Engine(Protocol):
    """Another simulator with a chain of hinges, whose coordinates are in robosim's order."""

    who: str
    told: str

    def set_state(self, q: Array) -> None:
        """Set the chain at rest at angles q."""
        ...

    def state(self) -> tuple[Array, Array]:
        """Angles and rates."""
        ...

    def step(self, steps: int) -> bool:
        """Take some time steps in a loop in C++; False if the simulation failed."""
        ...


class PyBullet:
    """PyBullet's multibody without motors, damping and sleep; a time step is a substep."""

    who, told = "PyBullet", "substeps"

    def __init__(self, text: str, dt: float) -> None:
        import pybullet

        self._p, self._dt = pybullet, dt
        self._client = pybullet.connect(pybullet.DIRECT)
        more = {"physicsClientId": self._client}
        pybullet.setGravity(0, 0, -9.81, **more)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "chain.urdf"
            file.write_text(text, encoding="utf-8")
            flags = pybullet.URDF_USE_INERTIA_FROM_FILE
            self._body = pybullet.loadURDF(str(file), useFixedBase=True, flags=flags, **more)
        self._n = pybullet.getNumJoints(self._body, **more)
        for k in range(-1, self._n):
            pybullet.changeDynamics(
                self._body, k, linearDamping=0, angularDamping=0, jointDamping=0, **more
            )
        for k in range(self._n):
            velocity = pybullet.VELOCITY_CONTROL
            pybullet.setJointMotorControl2(self._body, k, velocity, force=0, **more)

    def set_state(self, q: Array) -> None:
        for k in range(self._n):
            self._p.resetJointState(self._body, k, q[k], 0.0, physicsClientId=self._client)

    def state(self) -> tuple[Array, Array]:
        found = self._p.getJointStates(
            self._body, list(range(self._n)), physicsClientId=self._client
        )
        q, v = np.array([(one[0], one[1]) for one in found]).T
        return q, v

    def step(self, steps: int) -> bool:
        self._p.setPhysicsEngineParameter(
            fixedTimeStep=self._dt * steps, numSubSteps=steps, physicsClientId=self._client
        )
        self._p.stepSimulation(physicsClientId=self._client)
        return bool(np.isfinite(self.state()[0]).all())


class Drake:
    """Drake's MultibodyPlant in discrete time."""

    who, told = "Drake", "discrete MultibodyPlant"

    def __init__(self, text: str, dt: float) -> None:
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant
        from pydrake.systems.analysis import Simulator

        self._plant: Any = MultibodyPlant(time_step=dt)
        Parser(self._plant).AddModelsFromString(text, "urdf")
        self._plant.Finalize()
        self._simulator = Simulator(self._plant)
        self._simulator.Initialize()
        self._dt = dt

    def set_state(self, q: Array) -> None:
        context = self._simulator.get_mutable_context()
        context.SetTime(0.0)
        self._plant.SetPositions(context, q)
        self._plant.SetVelocities(context, np.zeros(len(q)))
        self._simulator.Initialize()

    def state(self) -> tuple[Array, Array]:
        context = self._simulator.get_context()
        return self._plant.GetPositions(context), self._plant.GetVelocities(context)

    def step(self, steps: int) -> bool:
        end = self._simulator.get_context().get_time() + steps * self._dt
        try:
            self._simulator.AdvanceTo(end)
        except RuntimeError:
            return False
        return True
