"""The registry: what a mechanism can have, each feature a function that edits a `Builder`.

The order is that in which features are built: joints, shapes, what is below these, elements,
options. A feature that needs what its row lacks adds the plainest of that kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from random_mechanisms import closing_joint

from robosim import (
    Anisotropy,
    Body,
    Coupling,
    Geometry,
    HalfSpace,
    HeightField,
    Joint,
    ModelError,
    OptionError,
    PointSpring,
    Soft,
    Strand,
    Tendon,
    TriangleMesh,
)
from robosim.actuators import Actuator
from robosim.description.contact_points import contacts_of
from robosim.experiments.redmax_soft import box_of_tetrahedra
from robosim.joints import Bearing, Composite, Hinge, Offset, SplineCurve
from robosim.muscles import HillMuscle
from robosim.tendons import Point

from .builder import UP, Array, Builder, Wave


@dataclass(frozen=True)
class Feature:
    """One thing that a mechanism can have.

    Attributes
    ----------
    name : str
    kind : str
        "joint", "shape", "below", "surface", "ground", "element", "control", "solver" or "option".
    edit : callable(Builder)
    motor, loss, rough : bool
        Whether it may give energy, may take it, or has forces that are not smooth.
    """

    name: str
    kind: str
    edit: Callable[[Builder], None]
    motor: bool = False
    loss: bool = False
    rough: bool = False

    @property
    def suits_lanes(self) -> bool:
        """Whether states with it may take steps in lanes (docs/batch.md)."""
        return self.name in IN_LANES

    @property
    def suits_limbs(self) -> bool:
        """Whether limbs of a robot with it may do so."""
        return self.name in IN_LIMBS

    @property
    def is_smooth(self) -> bool:
        """Whether the motion with it is a smooth function of time and state."""
        return self.kind in ("joint", "element", "solver", "option") and not self.rough


FEATURES: dict[str, Feature] = {}
IN_LIMBS = {
    "floating", "revolute", "prismatic", "spherical", "cylindrical", "planar", "fixed", "legs",
    "planar_fixed_orientation", "axis_rotation", "fixed_orientation", "sphere", "box", "capsule",
    "cone", "cylinder", "ellipsoid", "hull", "restitution", "points", "joint_spring", "damping",
    "rotor",
    "dry_friction", "limits", "velocity_limit", "motion", "drag", "implicit_pd", "explicit_pd",
    "linearized_cone", "anisotropy", "bouncing_limits", "compliant", "compliant_limits",
}  # fmt: skip
IN_LANES = IN_LIMBS | {
    "several_hinges", "screw", "loop", "coupling", "slope", "plane", "height_field", "block",
    "mesh", "on_sphere", "on_box", "on_capsule", "on_cylinder", "on_ellipsoid", "on_hull",
    "surface_velocity",
}  # fmt: skip
SPRINGY = {"restitution", "compliant"}
"""Surfaces that states in lanes may have on contact points alone."""
MOST = {"joint": 4, "shape": 2, "below": 1, "ground": 1, "control": 1, "solver": 1}
"""Largest numbers of features of a kind in a row."""

NO_TREE = "solver must be 'ldu'"
REFUSED: dict[tuple[str, str], tuple[type[Exception], str]] = {
    ("articulated", name): (OptionError, NO_TREE)
    for name in (
        "spring_between_points", "tendon", "tendon_friction", "tendon_limit", "muscle", "strand",
        "soft_solid",
    )
}  # fmt: skip
REFUSED["restitution", "compliant"] = (ModelError, "exclude each other")
REFUSED["bouncing_limits", "compliant_limits"] = (ModelError, "exclude each other")
"""Pairs that the library refuses, with the error and what it says."""


def feature(kind: str, **flags: bool) -> Callable[[Callable[[Builder], None]], Any]:
    """Put a function into the registry, under its name."""

    def put(edit: Callable[[Builder], None]) -> Callable[[Builder], None]:
        FEATURES[edit.__name__] = Feature(edit.__name__, kind, edit, **flags)
        return edit

    return put


def fits(name: str, row: frozenset[str]) -> bool:
    """Whether there is room in a row for a feature's kind, and the library takes it."""
    kind = FEATURES[name].kind
    alike = sum(FEATURES[other].kind == kind for other in row)
    refused = any((a, b) in REFUSED for other in row for a, b in ((name, other), (other, name)))
    return name not in row and alike < MOST.get(kind, len(FEATURES)) and not refused


# Joints ------------------------------------------------------------------------------------------


def _joint(name: str, kind: str, loss: bool = False, **options: Any) -> None:
    def edit(make: Builder) -> None:
        make.hang(name, kind, **options)

    FEATURES[name] = Feature(name, "joint", edit, loss=loss)


for _kind in ("floating", "revolute", "prismatic", "spherical", "cylindrical", "planar", "fixed"):
    _joint(_kind, _kind)
for _kind in ("planar_fixed_orientation", "axis_rotation", "fixed_orientation", "universal"):
    _joint(_kind, _kind)
_joint("screw", "screw", pitch=0.05)
_joint(
    "several_hinges",
    "composite",
    chart=Composite(Hinge((1, 0, 0)), Offset((0, 0, 0.05)), Hinge((0, 1, 0)), Hinge((0, 0, 1))),
)
_ANGLES = 0.3 * np.arange(6)
_ARC = np.column_stack(
    (0.2 * np.sin(_ANGLES), 0 * _ANGLES, 0.2 - 0.2 * np.cos(_ANGLES),
     np.cos(_ANGLES / 2), 0 * _ANGLES, -np.sin(_ANGLES / 2), 0 * _ANGLES)
)  # fmt: skip
_joint("spline", "spline", loss=True, chart=SplineCurve(_ARC))  # at its ends


@feature("joint")
def massless(make: Builder) -> None:
    """A link without mass between two hinges."""
    make.hang("massless", "revolute", axis=(1, 0, 0), child_position=(0, 0, 0))
    make.bodies["massless"] = Body("massless", 1e-4, 1e-7 * np.eye(3), carrier=True)
    make.hang("beyond", "revolute", axis=(0, 1, 0), parent_position=(0, 0, 0))


@feature("joint")
def legs(make: Builder) -> None:
    """A floating trunk with four legs of two hinges, on feet."""
    parent = make.chain[-1] if make.chain else None
    make.bodies["trunk"] = Body.box("trunk", (0.4, 0.2, 0.1), mass=make.drawn.uniform(2, 6))
    kind = "floating" if parent is None else "revolute"
    make.joints["trunk_joint"] = Joint(
        "trunk_joint", kind, parent, "trunk", (0, 0, 1), (0, 0, 0.3 if parent else 0)
    )
    make.home["trunk_joint"] = np.array([0, 0, 0.0, 1, 0, 0, 0]) if parent is None else np.zeros(1)
    bend, spread = make.drawn.uniform(0.2, 0.8), make.drawn.uniform(0.02, 0.08)
    for k, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        hip = (0.2 * x, (0.1 + spread) * y, 0)
        for part, above, at in (("thigh", "trunk", hip), ("shank", f"thigh{k}", (0, 0, -0.1))):
            name = f"{part}{k}"
            make.bodies[name] = Body.box(name, (0.03, 0.03, 0.2), mass=0.3)
            make.joints[f"{name}_joint"] = Joint(
                f"{name}_joint", "revolute", above, name, (0, 1, 0), at, (0, 0, 0.1)
            )
            make.home[f"{name}_joint"] = np.array([bend if part == "thigh" else -2 * bend])
            make.chain.append(name)
        foot = Geometry("sphere", (0.02,), (0, 0, -0.1), friction=make.friction)
        make.bodies[f"shank{k}"] = replace(make.bodies[f"shank{k}"], collisions=(foot,))
    make.chain.append("trunk")


@feature("joint")
def caster(make: Builder) -> None:
    """A wheel in a fork that swivels, on a carriage."""
    if not make.chain:
        straight = {"offset": (1, 0, 0, 0), "parent_position": (0, 0, 0)}
        make.hang("carriage", "planar_fixed_orientation", axis=(0, 1, 0), **straight)
    trail, radius = make.drawn.uniform(0.01, 0.05), make.drawn.uniform(0.03, 0.08)
    make.hang("fork", "revolute", axis=(0, 0, 1), offset=(1, 0, 0, 0))
    tread = Geometry("cylinder", (radius, 0.02), quaternion=(0.5**0.5, 0.5**0.5, 0, 0),
                     friction=0.8, name="caster")  # fmt: skip
    make.hang("caster", "revolute", axis=(0, 1, 0), parent_position=(-trail, 0, -radius),
              child_position=(0, 0, 0), offset=(1, 0, 0, 0))  # fmt: skip
    body = Body.of_shape(tread, mass=make.drawn.uniform(0.05, 0.3), collides=True)
    make.bodies["caster"] = replace(body, name="caster", frames=(), visuals=())


# Shapes, and what they touch ---------------------------------------------------------------------


def _shape_of(make: Builder, kind: str, size: float) -> Geometry:
    """A shape of a kind of about a size, with a friction coefficient."""
    d = make.drawn
    if kind == "hull":
        points = size * np.array([d.normal(3) for _ in range(10)])
        points = np.vstack((points, size * np.vstack((np.eye(3), -np.eye(3)))))
        faces = np.zeros((0, 3), dtype=int)
        return Geometry("mesh", vertices=points, faces=faces, friction=make.friction)
    sizes = {
        "sphere": lambda: (d.uniform(0.6 * size, size),),
        "box": lambda: tuple(d.uniform(size, 2 * size, size=3)),
        "capsule": lambda: (d.uniform(0.4 * size, 0.8 * size), d.uniform(size, 2 * size)),
        "cylinder": lambda: (d.uniform(0.6 * size, size), d.uniform(0.5 * size, 2 * size)),
        "cone": lambda: (d.uniform(0.6 * size, size), d.uniform(size, 2 * size)),
        "ellipsoid": lambda: tuple(d.uniform(0.4 * size, 1.2 * size, size=3)),
    }
    return Geometry(kind, sizes[kind](), friction=make.friction)


def _shape(kind: str) -> None:
    def edit(make: Builder) -> None:
        make.friction = make.drawn.choice((0.0,) if make.ideal else (0.5, 0.0, 0.8))
        shape = _shape_of(make, kind, 0.1)
        if make.chain and make.drawn.choice((False, True)):
            last = make.chain[-1]
            at = make.drawn.uniform(-0.1, 0.1, size=3)
            body = make.bodies[last]
            shapes = (*body.collisions, replace(shape, position=at))
            make.bodies[last] = replace(body, collisions=shapes)
        else:
            make.solid(kind, shape)

    FEATURES[kind] = Feature(kind, "shape", edit)


SHAPES = "sphere", "box", "capsule", "cylinder", "ellipsoid", "hull"
for _kind in (*SHAPES, "cone"):
    _shape(_kind)


def _below(kind: str) -> None:
    def edit(make: Builder) -> None:
        make.solid("below", _shape_of(make, kind, 0.2))
        make.solids.remove("below")
        make.below = "below"
        if not make.row & GROUNDS:
            # On nothing, it swings.
            make.joints["below_joint"] = Joint(
                "below_joint", "spherical", None, "below", child_position=(0, 0, 0.3),
                actuated=False,
            )  # fmt: skip
            make.home["below_joint"] = make.home["below_joint"][3:]

    FEATURES[f"on_{kind}"] = Feature(f"on_{kind}", "below", edit)


for _kind in SHAPES:
    _below(_kind)


@feature("surface")
def restitution(make: Builder) -> None:
    make.surface["restitution"] = make.drawn.choice((1.0,) if make.ideal else (1.0, 0.5))


@feature("surface", loss=True)
def compliant(make: Builder) -> None:
    """Surfaces that are springs, from soft to nearly hard."""
    make.surface["stiffness"] = make.drawn.choice((1e4, 1e3, 1e6))
    make.surface["dissipation"] = make.drawn.choice((0.0, 0.5, 5.0))


@feature("surface", loss=True)
def rolling_friction(make: Builder) -> None:
    make.surface["rolling_friction"] = make.drawn.uniform(1e-3, 5e-3)


@feature("surface", loss=True)
def torsional_friction(make: Builder) -> None:
    make.surface["torsional_friction"] = make.drawn.uniform(1e-3, 5e-3)


@feature("surface", loss=True)
def anisotropy(make: Builder) -> None:
    """Friction by direction, fixed to each shape, to the world or to a body."""
    axes = make.drawn.choice((None, "world", make.chain[0] if make.chain else None))
    factors = make.drawn.choice(((1.0, 0.3), (0.0, 1.0), (0.8, 1.2)))
    make.surface["anisotropy"] = Anisotropy(make.drawn.normal(3), *factors, axes=axes)


@feature("surface", motor=True)
def surface_velocity(make: Builder) -> None:
    make.surface["surface_velocity"] = tuple(make.drawn.uniform(-1, 1, size=3))
    make.surface["surface_spin"] = tuple(make.drawn.uniform(-2, 2, size=3))


def stand(make: Builder, ground: Callable[[Builder], None] | None) -> None:
    """Put all that has a shape above what is below it, and that on the ground."""
    if not any(make.bodies[name].collisions for name in (*make.chain, *make.solids)):
        FEATURES["sphere"].edit(make)
    make.bodies = {
        name: replace(body, collisions=tuple(replace(s, **make.surface) for s in body.collisions))
        for name, body in make.bodies.items()
    }
    if ground is None and make.below is None:
        ground = plane
    height, d = 0.0, make.drawn
    if make.below is not None:
        make.lift([make.below], d.uniform(0.0, 0.02) if ground else 0.5)
        _, height = make.extent([make.below], UP)
    for names in ([*make.chain], *([name] for name in make.solids)):
        make.lift(names, height + d.choice((0.01, 0.001, 0.05)))
        above = [n for n in names if make.bodies[n].collisions]
        if make.below is not None:
            for name in above:
                make.add("contact_pairs", (name, make.below))
    if ground is not None:
        ground(make)
    make.grounded = True


GROUNDS = {"points", "plane", "slope", "height_field", "block", "mesh"}
BELOW = {f"on_{kind}" for kind in SHAPES}


def _surface(make: Builder) -> dict[str, Any]:
    return {"friction": make.friction, **make.surface}


def points(make: Builder) -> None:
    """Contact points on the plane z = 0."""
    friction = dict.fromkeys(make.bodies, make.friction)
    for contact in contacts_of(tuple(make.bodies.values()), friction, make.friction):
        make.add("contacts", contact)


def plane(make: Builder) -> None:
    make.add("obstacles", HalfSpace(**_surface(make)))


def slope(make: Builder) -> None:
    tilt = make.drawn.uniform(0.0, 0.4, size=2)
    normal = np.array([*tilt, 1.0])
    normal /= np.linalg.norm(normal)
    low, _ = make.extent([n for n in make.bodies if make.bodies[n].collisions], normal)
    make.add("obstacles", HalfSpace(normal, normal * (low - 0.01), **_surface(make)))


def height_field(make: Builder) -> None:
    heights = np.array([make.drawn.uniform(-0.05, 0.0, size=4) for _ in range(4)])
    make.add("obstacles", HeightField(heights, (3.0, 3.0), **_surface(make)))


def block(make: Builder) -> None:
    """A box, over the edge of which a body may fall."""
    edge = make.drawn.choice((2.0, 0.3))
    size = (edge, edge, 0.4)
    make.add("obstacles", Geometry("box", size, (0, 0, -0.2), name="block", **_surface(make)))


def mesh(make: Builder) -> None:
    """Two triangles with a fold between them."""
    corner = make.drawn.uniform(-0.1, 0.0)
    square = np.array([[-2, -2, 0], [2, -2, corner], [2, 2, 0], [-2, 2, corner]], dtype=float)
    shape = Geometry("mesh", vertices=square, faces=np.array([[0, 1, 2], [0, 2, 3]]), name="mesh")
    make.add("obstacles", TriangleMesh(shape, **_surface(make)))


for _ground in (points, plane, slope, height_field, block, mesh):
    FEATURES[_ground.__name__] = Feature(_ground.__name__, "ground", _ground)


# Elements ----------------------------------------------------------------------------------------


@feature("element")
def joint_spring(make: Builder) -> None:
    for joint in make.some(make.moving()):
        make.change(joint, stiffness=make.drawn.uniform(1.0, 20.0))


@feature("element", loss=True)
def damping(make: Builder) -> None:
    for joint in make.some(make.moving()):
        make.change(joint, damping=make.drawn.uniform(0.02, 0.5))


@feature("element")
def rotor(make: Builder) -> None:
    for joint in make.some(make.moving()):
        make.change(joint, armature=make.drawn.uniform(0.001, 0.02))


@feature("element", loss=True, rough=True)
def dry_friction(make: Builder) -> None:
    for joint in make.some(make.moving()):
        make.change(joint, friction=make.drawn.uniform(0.05, 0.5))


@feature("element", loss=True, rough=True)
def bearing(make: Builder) -> None:
    kinds = "revolute", "prismatic", "spherical"
    found = [joint for joint in make.moving() if joint.kind in kinds]
    if not found:
        make.hinge()
        found = [make.joints[f"{make.chain[-1]}_joint"]]
    joint = make.drawn.choice(found)
    length = 0.0 if joint.kind == "spherical" else 0.1
    make.change(joint, bearing=Bearing(make.drawn.uniform(0.05, 0.2), 0.02, length))


@feature("element", loss=True, rough=True)
def limits(make: Builder) -> None:
    for joint in make.some(make.moving()):
        if joint.has_quaternion:
            turn = float(2 * np.arccos(min(1.0, abs(make.home[joint.name][-4]))))
            if turn < 2.5:
                make.change(joint, largest_turn=turn + make.drawn.uniform(0.01, 0.1))
            continue
        at, room = make.home[joint.name], make.drawn.uniform(0.01, 0.1)
        make.change(joint, lower=at - room, upper=at + 0.02)


@feature("element", loss=True, rough=True)
def bouncing_limits(make: Builder) -> None:
    """Stops that a joint bounces off."""
    limits(make)
    for joint in make.moving():
        make.change(joint, limit_restitution=make.drawn.uniform(0.3, 1.0))


@feature("element", loss=True, rough=True)
def compliant_limits(make: Builder) -> None:
    """Stops that are springs with dampers."""
    limits(make)
    for joint in make.moving():
        make.change(
            joint,
            limit_stiffness=make.drawn.choice((1e3, 1e2, 1e5)),
            limit_damping=make.drawn.choice((0.0, 1.0)),
        )


@feature("element", loss=True, rough=True)
def velocity_limit(make: Builder) -> None:
    make.options["velocity_limits"] = True
    for joint in make.some(make.moving()):
        make.change(joint, velocity_limit=make.drawn.uniform(0.5, 1.5))


@feature("element", motor=True)
def motion(make: Builder) -> None:
    joint = make.drawn.choice(make.single(2))
    wave = Wave(make.coordinate(joint), make.drawn.uniform(-0.2, 0.2), 10.0)
    make.change(joint, motion=wave, bearing=None, lower=None, upper=None)


@feature("element")
def loop(make: Builder) -> None:
    """A joint that closes a loop where the chain is at home, and leaves it something to move."""
    make.moving(5 if make.row & {"motion", "coupling"} else 3)
    kinds = "spherical", "cylindrical_free_orientation", "planar_free_orientation", "revolute"
    kind, a = make.drawn.choice(kinds), make.drawn.choice((None, make.chain[0]))
    ends = a, make.chain[-1] if make.chain[-1] != a else make.chain[-2]
    joint = closing_joint(make.drawn, "loop", kind, ends, make.places(), actuated=False)  # type: ignore[arg-type]
    make.joints["loop"] = joint


@feature("element")
def coupling(make: Builder) -> None:
    a, b = make.single(2)[:2]
    ratio = make.drawn.choice((-1.5, 0.5))
    offset = make.coordinate(a) - ratio * make.coordinate(b)
    make.add("couplings", Coupling("gear", a.name, b.name, ratio, offset))


def _end(make: Builder) -> tuple[str, Array, Array]:
    """The last body of the chain, a point of it, and a point of the world off that."""
    make.moving()
    body, place = make.chain[-1], make.drawn.uniform(-0.1, 0.1, size=3)
    away = np.array([0.3, 0.0, 0.3]) + make.drawn.uniform(-0.1, 0.1, size=3)
    return body, place, make.point(body, place) + away


@feature("element")
def spring_between_points(make: Builder) -> None:
    body, place, world = _end(make)
    rate = make.drawn.uniform(10, 50)
    make.add("springs", PointSpring("spring", None, body, world, place, rate, 0.3))


def _tendon(make: Builder, name: str, **options: Any) -> float:
    body, place, world = _end(make)
    length = float(np.linalg.norm(make.point(body, place) - world))
    path = Point(None, world), Point(body, place)
    scaled = {key: length * value if key in ("lower", "upper") else value
              for key, value in options.items()}  # fmt: skip
    make.add("tendons", Tendon(name, path, **scaled))
    return length


@feature("element")
def tendon(make: Builder) -> None:
    _tendon(make, "tendon", stiffness=make.drawn.uniform(10, 50), rest_length=0.3)


@feature("element", loss=True, rough=True)
def tendon_friction(make: Builder) -> None:
    _tendon(make, "rubbing", friction=make.drawn.uniform(0.1, 1.0))


@feature("element", loss=True, rough=True)
def tendon_limit(make: Builder) -> None:
    upper, springs = make.drawn.uniform(1.005, 1.05), {}
    if "compliant_limits" in make.row:
        springs = {"limit_stiffness": 1e4, "limit_damping": 2.0}
    _tendon(make, "limited", upper=upper, **springs)


@feature("element", motor=True)
def muscle(make: Builder) -> None:
    length = _tendon(make, "path")
    law = HillMuscle(make.drawn.uniform(5, 30), 0.5 * length, 0.5 * length, 10.0)
    make.add("actuators", Actuator("muscle", {"path": 1.0}, muscle=law, implicit=True))
    make.controls.append(make.drawn.uniform(0.0, 0.6))


@feature("element", loss=True)
def drag(make: Builder) -> None:
    rate = make.drawn.uniform(0.01, 0.2)
    for name, body in make.bodies.items():
        make.bodies[name] = replace(body, drag=rate)


@feature("element")
def strand(make: Builder) -> None:
    body, place, world = _end(make)
    nodes = np.linspace(world, make.point(body, place), 4)
    make.add("soft", Strand("strand", nodes, 5.0, 0.1, attached={0: None, -1: body}))


@feature("element")
def soft_solid(make: Builder) -> None:
    body, place, _ = _end(make)
    nodes, elements = box_of_tetrahedra((1, 1, 1), (0.1, 0.1, 0.1))
    nodes = nodes + make.point(body, place) - nodes[0]
    part = Soft("soft", nodes, elements, 1e4, 0.3, 200.0, attached={0: body})
    make.add("soft", part)


@feature("element", loss=True, rough=True)
def backlash(make: Builder) -> None:
    """A play behind the gears of a hinge or slide, through which its rotor runs."""

    def has_gears(joint: Joint) -> bool:
        carries = joint.child is not None and make.bodies[joint.child].carrier
        return joint.kind in ("revolute", "prismatic") and not carries

    found = [joint for joint in make.single() if has_gears(joint)]
    if not found:
        make.hinge()
        found = [make.joints[f"{make.chain[-1]}_joint"]]
    joint = make.drawn.choice(found)
    make.change(joint, armature=make.drawn.uniform(0.005, 0.02))
    make.plays[joint.name] = make.drawn.uniform(0.005, 0.05)


# Options -----------------------------------------------------------------------------------------


def _pd(make: Builder, implicit: bool) -> None:
    from robosim.controllers import PD

    make.moving()
    # Implicit gains are stable at any timestep; with others v overshoots from knot to knot.
    kp = make.drawn.uniform(10, 100) if implicit else make.drawn.uniform(2, 20)
    kd = make.drawn.uniform(0.1, 2.0) if implicit else make.drawn.uniform(0.005, 0.04)
    limit = make.drawn.choice((None, 2.0))

    def control(robot: Any) -> PD:
        names = [robot.v_names[v] if v < robot.nv else "" for v in robot.actuated]
        single = set(robot.q_names).intersection(robot.v_names)
        gains = np.array([kp if name in single else 0.0 for name in names])
        # The solver of trees has no rows for what acts along a ball joint alone.
        plain = implicit and make.options.get("solver") == "articulated"
        dampers = np.array([kd if name in single or not plain else 0.0 for name in names])
        target = np.zeros(robot.nu)
        q = np.asarray(robot.home)
        for k, name in enumerate(names):
            if name in single:
                target[k] = q[robot.q_names.index(name)] + 0.2
        return PD(robot, target, gains, dampers, limit=limit, implicit=implicit)

    make.control = control


@feature("control", motor=True)
def implicit_pd(make: Builder) -> None:
    _pd(make, True)


@feature("control", motor=True)
def explicit_pd(make: Builder) -> None:
    _pd(make, False)


@feature("control", motor=True)
def motors(make: Builder) -> None:
    """Motors behind a law, a bus and a digital controller, with a winding that gets warm."""
    from robosim.controllers import DCMotor, Delay, Motors, Rate

    _pd(make, False)
    law = make.control
    assert law is not None
    make.control = None
    stages = make.drawn.choice(((), (Delay,), (Rate,), (Rate, Delay)))
    inductance = make.drawn.choice((0.0, 2e-3))
    limit = make.drawn.uniform(26.0, 60.0)

    def drive(robot: Any) -> Motors:
        h = make.options["timestep"]
        made = [Rate(0.5 / h) if stage is Rate else Delay(2 * h) for stage in stages]
        motor = DCMotor(
            2.0, 0.02, efficiency=0.8, voltage_limit=24.0, current_limit=8.0, inductance=inductance,
            thermal_resistance=3.0, thermal_capacity=0.01, temperature_limit=limit,
        )  # fmt: skip
        return Motors(robot, law(robot), *made, motor)

    make.drive = drive


@feature("solver")
def ldu(make: Builder) -> None:
    make.options["solver"] = "ldu"


@feature("solver")
def articulated(make: Builder) -> None:
    make.options["solver"] = "articulated"


@feature("option")
def linearized_cone(make: Builder) -> None:
    make.options["friction_cone"] = "linearized"
    make.options["friction_facets"] = make.drawn.choice((4, 8))


@feature("option")
def order_four(make: Builder) -> None:
    make.options["order"] = 4
