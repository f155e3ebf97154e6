"""The same mechanism in MuJoCo: written as MJCF, and stepped with given settings.

Bodies keep their masses, inertias and reference frames. Hinges, balls, slides and free bodies
become MuJoCo's joints with their limits, dampers, dry friction and rotors. Joints that close a loop
become ``connect`` equalities. Collision shapes touch only the ground and obstacles; of meshes the
hulls do, and contact points of bodies without shapes as spheres. A PD becomes MuJoCo's actuators,
whose controls are its targets, or its velocities where it has no kp.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.control.controllers import PD
from robosim.description.body import Body, ContactPoint, Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.errors import PeerError
from robosim.peers.mujoco_obstacles import form_of, without_cones, write_mesh, write_obstacles
from robosim.peers.mujoco_obstacles import numbers as _text

Array = NDArray[np.float64]
JOINTS = {"revolute": "hinge", "prismatic": "slide", "spherical": "ball", "floating": "free"}
POINT = 1e-5  # [m], radius of a contact point that has none
LABELS = {"mujoco_default": "MuJoCo, default", "mujoco_best": "MuJoCo, best setting"}
SAID = {"mujoco_default": "MuJoCo at its defaults", "mujoco_best": "MuJoCo at its best"}


@dataclass(frozen=True)
class Settings:
    """Settings of MuJoCo beyond the model; the defaults are MuJoCo's.

    Attributes
    ----------
    integrator : str
    solref : (2,) or None
        Time constant [s] and damping ratio of contacts and equalities. If given, MuJoCo's lower
        bound of two time steps for the time constant is disabled.
    solimp : (3,) or None
    cone : str
    impratio : float
    """

    integrator: str = "Euler"
    solref: tuple[float, float] | None = None
    solimp: tuple[float, float, float] | None = None
    cone: str = "pyramidal"
    impratio: float = 1.0

    def told(self) -> str:
        """The settings that differ from MuJoCo's defaults, in one line."""
        parts = [] if self.integrator == "Euler" else [self.integrator]
        if self.solref is not None:
            parts.append(f"solref {self.solref[0]:g} {self.solref[1]:g}, refsafe off")
        if self.solimp is not None:
            parts.append("solimp " + " ".join(f"{value:g}" for value in self.solimp))
        if self.cone != "pyramidal":
            parts.append(f"{self.cone} cone")
        if self.impratio != 1.0:
            parts.append(f"impratio {self.impratio:g}")
        return ", ".join(parts) or "default"


ON_FEET = Settings(integrator="implicitfast", cone="elliptic", impratio=10.0)
"""Settings for robots that touch the ground: an elliptic cone, and little slip."""


def said(key: str, settings: str) -> str:
    """A peer's name for a sentence, with the settings that differ from MuJoCo's defaults."""
    return SAID[key] if settings == "default" else f"{SAID[key]} ({settings})"


def available() -> bool:
    """Whether MuJoCo is installed."""
    return importlib.util.find_spec("mujoco") is not None


def version() -> str | None:
    """MuJoCo's version, or None if MuJoCo is not installed."""
    if not available():
        return None
    import mujoco

    return str(mujoco.__version__)


def mjcf(
    robot: Mechanism,
    timestep: float,
    settings: Settings,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    servos: PD | None = None,
) -> str:
    """A robosim mechanism as an MJCF text.

    Parameters
    ----------
    robot : Mechanism
    timestep : float [s]
    settings : Settings
    gravity : (3,) [m/s^2]
    servos : PD or None

    Raises
    ------
    PeerError
        For a joint, an obstacle, or friction by direction, that is not supported here.
    """
    robot = without_cones(robot)
    root = etree.Element("mujoco", model=robot.name)
    etree.SubElement(root, "compiler", angle="radian")
    option = etree.SubElement(
        root,
        "option",
        timestep=_text(timestep),
        gravity=_text(gravity),
        integrator=settings.integrator,
        cone=settings.cone,
        impratio=_text(settings.impratio),
    )
    safe = "enable" if settings.solref is None else "disable"
    etree.SubElement(option, "flag", energy="enable", refsafe=safe)
    soft = _soft(settings)
    _write_meshes(root, robot)
    world = etree.SubElement(root, "worldbody")
    if robot.contacts:
        # MuJoCo takes the larger friction of two geoms, so the plane has none.
        etree.SubElement(
            world, "geom", type="plane", size="100 100 1", contype="2", conaffinity="1",
            friction="0 0 0", **soft,
        )  # fmt: skip
    if robot.obstacles:
        write_obstacles(root, world, robot, soft)
    by_name = {body.name: body for body in robot.bodies}
    elements: dict[str | None, Any] = {None: world}
    for joint in robot.tree_joints:
        if joint.kind not in (*JOINTS, "fixed"):
            raise PeerError(f"joint '{joint.name}': a {joint.kind} joint has no MJCF here")
        if joint.bearing is not None:
            raise PeerError(f"joint '{joint.name}': a bearing has no MJCF")
        if joint.limit_restitution > 0:
            raise PeerError(f"joint '{joint.name}': restitution of limits has no MJCF")
        if joint.limit_stiffness is not None:
            raise PeerError(f"joint '{joint.name}': compliant limits have no MJCF here")
        body = by_name[joint.child]
        R_offset = quaternions.rotation_matrix(np.asarray(joint.offset))
        before = by_name[joint.parent].reference_position if joint.parent else np.zeros(3)
        hinge = np.asarray(joint.child_position) - body.reference_position
        place = np.asarray(joint.parent_position) - before - R_offset @ hinge
        element = etree.SubElement(
            elements[joint.parent], "body", name=_own(body.name), pos=_text(place),
            quat=_text(joint.offset), gravcomp=_text(body.gravity_compensation),
        )  # fmt: skip
        elements[joint.child] = element
        if joint.kind != "fixed":
            _write_joint(element, joint, hinge)
        _write_body(element, robot, body, soft)
    equality = etree.SubElement(root, "equality")
    for joint in robot.loop_joints:
        _write_loop(equality, elements, by_name, joint, soft)
    if servos is not None:
        _write_servos(etree.SubElement(root, "actuator"), robot, servos)
    return str(etree.tostring(root, encoding="unicode"))


def _write_joint(element: Any, joint: Joint, hinge: Array) -> None:
    attributes = {"name": joint.name, "type": JOINTS[joint.kind]}
    if joint.kind != "floating":
        attributes |= {"pos": _text(hinge), "damping": _text(joint.damping)}
    if joint.kind in ("revolute", "prismatic"):
        attributes |= {
            "axis": _text(joint.axis),
            "armature": _text(joint.per_coordinate("armature")),
            "frictionloss": _text(joint.per_coordinate("friction")),
        }
        limits = [float(np.asarray(side)[0]) for side in (joint.lower, joint.upper)]
        if np.isfinite(limits).any():
            # MuJoCo has only pairs of limits, so a missing one is put out of reach.
            attributes |= {"limited": "true", "range": _text(np.clip(limits, -1e6, 1e6))}
    etree.SubElement(element, "joint", attributes)


def _write_body(element: Any, robot: Mechanism, body: Body, soft: Mapping[str, str]) -> None:
    J, reference = np.asarray(body.inertia), body.reference_position
    moments = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
    etree.SubElement(
        element, "inertial", pos=_text(-reference), mass=_text(body.mass),
        fullinertia=_text(moments),
    )  # fmt: skip
    for contact in robot.contacts:
        if contact.anisotropy is not None:
            raise PeerError(f"contact '{contact.name}': friction by direction has no MJCF here")
        if contact.stiffness is not None:
            raise PeerError(f"contact '{contact.name}': a stiffness has no MJCF here")
    contacts = [contact for contact in robot.contacts if contact.body == body.name]
    if not body.collisions:
        _write_points(element, contacts, reference, soft)
    frictions = [contact.friction for contact in contacts]
    # What a geom touches: the ground if its body has contact points, and obstacles.
    ground, world = bool(frictions), bool(robot.obstacles)
    bits = {"contype": "1" if ground else "0", "conaffinity": str(2 * ground + 4 * world)}
    for shape in body.collisions if ground or world else ():
        friction = frictions[0] if frictions else shape.friction
        if world and friction != shape.friction:
            raise PeerError(
                f"body '{body.name}': a shape has the friction {shape.friction:g}, and its contact "
                f"points with the ground {friction:g}, which has no MJCF here"
            )
        etree.SubElement(
            element, "geom", **form_of(shape, _mesh_name(body, shape)),
            pos=_text(np.asarray(shape.position) - reference), quat=_text(shape.quaternion),
            **bits, friction=_text((friction, 0.0, 0.0)), condim="3", **soft,
        )  # fmt: skip


def _own(name: str) -> str:
    """The name of a body, as MuJoCo calls its fixed one "world"."""
    return "world_link" if name == "world" else name


def _write_points(
    element: Any, contacts: list[ContactPoint], reference: Array, soft: Mapping[str, str]
) -> None:
    """The contact points of a body without shapes, as spheres."""
    for contact in contacts:
        if contact.axis is not None or contact.semi_axes is not None:
            raise PeerError(f"contact '{contact.name}': a rim or an ellipsoid needs a shape here")
        etree.SubElement(
            element, "geom", type="sphere", size=_text(max(contact.radius, POINT)),
            pos=_text(np.asarray(contact.position) - reference), contype="1", conaffinity="2",
            friction=_text((contact.friction, 0.0, 0.0)), condim="3", **soft,
        )  # fmt: skip


def _write_meshes(root: Any, robot: Mechanism) -> None:
    """The vertices of meshes that can touch, of which MuJoCo takes the convex hull."""
    asset, touching = None, {contact.body for contact in robot.contacts}
    for body in robot.bodies:
        for shape in body.collisions if robot.obstacles or body.name in touching else ():
            if shape.kind == "mesh":
                asset = etree.SubElement(root, "asset") if asset is None else asset
                write_mesh(asset, shape, _mesh_name(body, shape))


def _mesh_name(body: Body, shape: Geometry) -> str:
    return f"{body.name}.{body.collisions.index(shape)}"


def controls_of(gains: NDArray[np.void]) -> Array:
    """Controls (n,) of the actuators of a PD: targets, or velocities where there is no kp."""
    return np.where(gains["kp"] == 0.0, gains["velocity"], gains["target"])


def _write_servos(actuators: Any, robot: Mechanism, servos: PD) -> None:
    names = [name for joint in robot.joints for name in [joint.name] * joint.nv]
    for gains in servos.gains:
        kp, kd, limit = (float(gains[name]) for name in ("kp", "kd", "limit"))
        limits = {} if np.isinf(limit) else {
            "forcelimited": "true", "forcerange": _text((-limit, limit)),
        }  # fmt: skip
        etree.SubElement(
            actuators, "general", joint=names[int(gains["v_index"])], gaintype="fixed",
            gainprm=_text(kp or kd), biastype="affine", biasprm=_text((0.0, -kp, -kd)), **limits,
        )  # fmt: skip


def _write_loop(
    equality: Any,
    elements: Mapping[Any, Any],
    by_name: Mapping[str, Body],
    joint: Joint,
    soft: Mapping[str, str],
) -> None:
    sites = {}
    for side, body, position in (
        ("site1", joint.parent, joint.parent_position),
        ("site2", joint.child, joint.child_position),
    ):
        sites[side] = f"{joint.name}.{side}"
        place = np.asarray(position) - (by_name[body].reference_position if body else 0.0)
        etree.SubElement(elements[body], "site", name=sites[side], pos=_text(place))
    etree.SubElement(equality, "connect", name=joint.name, **sites, **soft)


def _soft(settings: Settings) -> dict[str, str]:
    values = {"solref": settings.solref, "solimp": settings.solimp}
    return {name: _text(value) for name, value in values.items() if value is not None}


class MuJoCoRun:
    """A mechanism of robosim, stepped by MuJoCo.

    Parameters
    ----------
    robot : Mechanism
    timestep : float [s]
    settings : Settings
    gravity : (3,) [m/s^2]
    servos : PD or None
        Joint control by MuJoCo's actuators.

    Attributes
    ----------
    model, data
        MuJoCo's objects.
    failed_at : float or None [s]
        Time of MuJoCo's first warning of an instability; no step is taken after it.
    """

    def __init__(
        self,
        robot: Mechanism,
        timestep: float,
        settings: Settings,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        servos: PD | None = None,
    ) -> None:
        import mujoco

        self._mujoco = mujoco
        text = mjcf(robot, timestep, settings, gravity, servos)
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)
        if servos is not None:
            self.data.ctrl[:] = controls_of(servos.gains)
        self.failed_at: float | None = None
        self._steps = 0

    def set_state(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Set coordinates and velocities in robosim's order, in which the MJCF was written."""
        self.data.qpos[:] = q
        self.data.qvel[:] = 0.0 if v is None else v
        self._mujoco.mj_forward(self.model, self.data)

    @property
    def time(self) -> float:
        """Time of the present state [s]."""
        return self._steps * float(self.model.opt.timestep)

    def _look(self) -> None:
        """Compute the quantities of the present state; a step leaves those of the state before."""
        with quiet(self._mujoco):
            self._mujoco.mj_step1(self.model, self.data)

    def energy(self) -> float:
        """Kinetic plus potential energy [J] of the present state."""
        self._look()
        return float(self.data.energy.sum())

    def gap(self) -> float:
        """Smallest gap between the ground and a body near it [m]; inf if no body is near."""
        self._look()
        return float(self.data.contact.dist.min()) if self.data.ncon else float("inf")

    def closure(self) -> float:
        """Largest distance of two points that an equality holds together [m]."""
        self._look()
        model, data = self.model, self.data
        ends = data.site_xpos[model.eq_obj1id] - data.site_xpos[model.eq_obj2id]
        return float(np.linalg.norm(ends, axis=1).max(initial=0.0))

    def step(self, steps: int = 1) -> bool:
        """Take some time steps; False from MuJoCo's first warning of an instability on."""
        if self.failed_at is None:
            with quiet(self._mujoco):
                self._mujoco.mj_step(self.model, self.data, nstep=steps)
            self._steps += steps
            kinds = self._mujoco.mjtWarning
            unstable = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
            if any(self.data.warning[int(kind)].number for kind in unstable):
                self.failed_at = self.time
        return self.failed_at is None

    def sample(
        self, steps: int, every: int, *reads: Callable[[], Any]
    ) -> tuple[Array, list[NDArray[Any]]]:
        """Times [s] and values of the functions, at the start and after every `every` steps."""
        t, values = [self.time], [[read() for read in reads]]
        while self._steps < steps and self.step(every):
            t.append(self.time)
            values.append([read() for read in reads])
        return np.array(t), [np.array(column) for column in zip(*values, strict=True)]


@contextmanager
def quiet(mujoco: Any) -> Iterator[None]:
    """Context in which MuJoCo's warnings, which its data count, are not printed."""
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(None)
