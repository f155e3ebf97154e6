"""Other libraries as a reference: the same model file, with results in robosim's coordinates.

The libraries are optional; each is imported on first use.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from robosim import safe_xml
from robosim.description.mechanism import Mechanism
from robosim.errors import PeerError
from robosim.peers import conversions
from robosim.peers.answers import GRAVITY, Answer
from robosim.peers.reduced_answers import Reduced
from robosim.version import install

Array = NDArray[np.float64]
# Coefficients of higher order of MuJoCo's springs and dampers.
POLYNOMIALS = (
    "jnt_stiffnesspoly", "dof_dampingpoly", "tendon_stiffnesspoly", "tendon_dampingpoly",
)  # fmt: skip


class Peer(Protocol):
    """A library that has loaded the robot's model file."""

    name: str
    version: str
    frames: tuple[str, ...]
    total_mass: float

    def answer(self, q: Array, v: Array, tau: Array) -> Answer:
        """All results at q and v under generalized forces tau, in robosim's coordinates."""
        ...


def open_peer(name: str, robot: Mechanism) -> Peer:
    """The peer with that name, with the robot's model file loaded.

    Raises
    ------
    PeerError
        For a peer that is unknown or not installed, a URDF robot with closed loops, a robot that
        was not loaded from a file, or one that the peer cannot load.
    """
    if name not in PEERS:
        raise PeerError(f"unknown peer '{name}' (known: {', '.join(PEERS)})")
    if PEERS[name] is Reduced:
        return Reduced(robot)
    mjcf = name == "mujoco" and robot.source is not None and _is_mjcf(Path(robot.source))
    if not mjcf:
        conversions.refuse_loops(name, robot)
    if robot.source is None:
        raise PeerError(
            f"robot '{robot.name}' was built in Python: there is no model file that {name} could "
            "load as well"
        )
    if Path(robot.source).suffix.lower() not in (".urdf", ".xml"):
        raise PeerError(f"{robot.source}: not a URDF file, which {name} needs")
    return PEERS[name](robot)


def _is_mjcf(file: Path) -> bool:
    return file.suffix.lower() == ".xml" and _root_of(file).tag == "mujoco"


def _import(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PeerError(f"{module} is not installed; get it with: {install(extra)}") from error


class Pinocchio:
    """Pinocchio, with a free flyer where the robot has a floating base."""

    name = "pinocchio"

    def __init__(self, robot: Mechanism) -> None:
        pin = _import("pinocchio", "pinocchio")
        self._pin = pin
        self._robot = robot
        self.version = str(pin.__version__)
        try:
            # Parsed text, because in the file, names in an encoding other than UTF-8 would be
            # garbled.
            text = etree.tostring(_root_of(Path(str(robot.source))), encoding="unicode")
            model = pin.buildModelFromXML(text)
            # A file can have a floating joint below a massless root.
            if robot.floating_base and not model.existJointName(robot.joints[0].name):
                model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        except Exception as error:  # Pinocchio raises the exceptions of C++
            raise PeerError(f"{robot.source}: Pinocchio cannot load it: {error}") from error
        model.gravity.linear[:] = GRAVITY
        self._model, self._data = model, model.createData()
        self._links = {
            frame.name: k for k, frame in enumerate(model.frames) if frame.type == pin.BODY
        }
        self.frames = tuple(self._links)
        # Pinocchio omits the mass that is fixed to the world, body 0.
        self.total_mass = float(sum(inertia.mass for inertia in model.inertias))

    def answer(self, q: Array, v: Array, tau: Array) -> Answer:
        pin, model, data, robot = self._pin, self._model, self._data, self._robot
        q_pin, v_pin = conversions.to_pinocchio(robot, q, v, model=model)
        T = conversions.velocity_map_from_pinocchio(robot, q, model=model)
        drift = conversions.velocity_drift_from_pinocchio(robot, q, v, model=model)
        acceleration = T @ pin.aba(model, data, q_pin, v_pin, T.T @ tau) + drift
        M = T @ np.array(pin.crba(model, data, q_pin, pin.Convention.WORLD)) @ T.T
        bias = T @ np.array(pin.nonLinearEffects(model, data, q_pin, v_pin)) - M @ drift
        pin.framesForwardKinematics(model, data, q_pin)
        places = {name: data.oMf[k] for name, k in self._links.items()}
        centers = sum(
            inertia.mass * place.act(inertia.lever)
            for inertia, place in zip(model.inertias, data.oMi, strict=True)
        )
        return Answer(
            np.asarray(centers) / self.total_mass,
            {name: np.array(place.translation) for name, place in places.items()},
            {name: np.array(place.rotation) for name, place in places.items()},
            M,
            bias,
            acceleration,
        )


class MuJoCo:
    """MuJoCo with free joints: no contacts, limits, springs, damping or rotors.

    A URDF file is passed on without shapes, an MJCF file unchanged. A robot that was loaded from
    MJCF has MuJoCo's coordinates.
    """

    name = "mujoco"

    def __init__(self, robot: Mechanism) -> None:
        mj = _import("mujoco", "peers")
        self._mj = mj
        self._robot = robot
        self.version = str(mj.__version__)
        file = Path(str(robot.source))
        try:
            self._own = _is_mjcf(file)
            if self._own:
                self._model = mj.MjModel.from_xml_path(str(file))
            else:
                spec = mj.MjSpec.from_string(_for_mujoco(_root_of(file)))
                if robot.floating_base:
                    spec.worldbody.first_body().add_freejoint()
                self._model = spec.compile()
        except Exception as error:  # MuJoCo raises ValueError, mujoco.FatalError and others
            raise PeerError(f"{robot.source}: MuJoCo cannot load it: {error}") from error
        model = self._model
        if self._own and (model.nq, model.nv) != (robot.nq, robot.nv):
            raise PeerError(
                f"{robot.source}: MuJoCo has {model.nq} coordinates and {model.nv} velocities, "
                f"robot '{robot.name}' {robot.nq} and {robot.nv}"
            )
        self._let_go(model)
        self._data = mj.MjData(model)
        # MuJoCo's world is a frame in robosim only if a link of the file has that name.
        frames = (*robot.world_frames, *(frame for _, frame in robot.frames()))
        first = 0 if any(frame.name == "world" for frame in frames) else 1
        # robosim numbers bodies without a name as MuJoCo does.
        self._links = {model.body(k).name or f"body{k}": k for k in range(first, model.nbody)}
        self.frames = tuple(self._links)
        # Bodies fixed to the world are not bodies of a robot from MJCF.
        self._masses = np.array(model.body_mass)
        if self._own:
            self._masses[model.body_treeid < 0] = 0.0
        self.total_mass = float(self._masses.sum())

    def _let_go(self, model: Any) -> None:
        """Disable all forces except inertia, gravity and applied forces."""
        off = self._mj.mjtDisableBit
        model.opt.gravity[:] = GRAVITY
        model.opt.disableflags |= int(off.mjDSBL_CONSTRAINT) | int(off.mjDSBL_ACTUATION)
        model.opt.disableflags &= ~int(off.mjDSBL_GRAVITY)
        model.opt.density = model.opt.viscosity = 0.0
        for array in (
            model.dof_damping, model.dof_frictionloss, model.dof_armature, model.jnt_stiffness,
            model.tendon_stiffness, model.tendon_damping, model.tendon_armature,
            model.body_gravcomp,
            # Polynomial coefficients, which older versions do not have.
            *(getattr(model, name) for name in POLYNOMIALS if hasattr(model, name)),
        ):  # fmt: skip
            array[:] = 0.0
        # Otherwise the rotors would remain in the mass of joints whose inertia is constant.
        self._mj.mj_setConst(model, self._mj.MjData(model))

    def _coordinates(self, q: Array, v: Array) -> tuple[Array, Array]:
        if self._own:
            return q, v
        return conversions.to_mujoco(self._robot, q, v, model=self._model)

    def answer(self, q: Array, v: Array, tau: Array) -> Answer:
        mj, model, data, robot = self._mj, self._model, self._data, self._robot
        data.qpos[:], data.qvel[:] = self._coordinates(q, v)
        order = np.asarray(self._coordinates(q, np.arange(float(robot.nv)))[1], dtype=int)
        data.qfrc_applied[:] = tau[order]
        mj.mj_forward(model, data)
        back = np.argsort(order)
        M = np.zeros((robot.nv, robot.nv))
        for column, unit in zip(M, np.eye(robot.nv), strict=True):
            mj.mj_mulM(model, data, column, unit)
        links = self._links.items()
        return Answer(
            np.array(self._masses @ data.xipos / self.total_mass),
            {name: np.array(data.xpos[k]) for name, k in links},
            {name: np.array(data.xmat[k]).reshape(3, 3) for name, k in links},
            M[np.ix_(back, back)],
            np.array(data.qfrc_bias)[back],
            np.array(data.qacc)[back],
        )


def _root_of(file: Path) -> etree._Element:
    return safe_xml.parse_model(safe_xml.read_bytes(file), file, [])


def _for_mujoco(root: etree._Element) -> str:
    """The text of a URDF without shapes; links that are fixed to each other are not merged."""
    for element in list(root):
        if element.tag == "link":
            for shape in (*element.findall("visual"), *element.findall("collision")):
                element.remove(shape)
        elif element.tag != "joint":
            root.remove(element)
    for joint in root.iterchildren("joint"):
        for extra in ("mimic", "limit", "dynamics", "safety_controller", "calibration"):
            for element in joint.findall(extra):
                joint.remove(element)
    settings = etree.Element("mujoco")
    etree.SubElement(settings, "compiler", fusestatic="false", balanceinertia="false")
    root.insert(0, settings)
    return str(etree.tostring(root, encoding="unicode"))


PEERS: dict[str, Any] = {"pinocchio": Pinocchio, "mujoco": MuJoCo, "reduced": Reduced}
