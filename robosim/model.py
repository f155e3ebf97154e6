"""A Mechanism compiled to flat arrays, its state and the scratch memory of the kernels.

`Model` holds no state and is read-only, `State` holds no parameters, `Workspace` is scratch.
Each is a NamedTuple of a few record arrays: a kernel reads ``model.bodies[i].mass``, and a call
from Python passes a dozen pointers instead of a hundred. It also tells the compiler every inner
shape: a 6x6 product over ``blocks[n].F`` takes half of the time that it takes over a 3D array,
whose strides are known only when it runs.

Body i hangs on joint i; joints that close loops follow, and after them the springs between points,
which are joints without constraints whose one coordinate is a distance, and the tendons, whose
coordinate is a length and which have any number of bodies, their spans. The world takes the last
place of the pose arrays, index nb, so that a joint to the world is no special case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.bodies import Body
from robosim.collision import AnyShape, ShapeData, ShapeScratch, compile_shapes, make_shape_scratch
from robosim.compiled.arrays import aligned
from robosim.compiled.elimination import Graph, constrained_order, eliminate
from robosim.compiled.kinds import (
    BALL,
    CAPSULE,
    CONE,
    CYLINDER_WRAP,
    DRY,
    FREE,
    GENERAL,
    HEIGHT_FIELD,
    HINGE,
    LIMIT,
    PLANE,
    PULLEY,
    RIM,
    SPHERE,
    SPHERE_WRAP,
    TERM,
    TURN,
    VIA,
)
from robosim.compiled.records.body import BODY, BODY_STATE, BODY_WORK, POSE
from robosim.compiled.records.contact import CONTACT, CONTACT_STATE, CONTACT_WORK
from robosim.compiled.records.graph import BLOCK, ROW
from robosim.compiled.records.joint import (
    COMPLIANCE,
    COORDINATE,
    COUPLING,
    COUPLING_STATE,
    COUPLING_WORK,
    DRIVE,
    JOINT,
    JOINT_STATE,
    JOINT_WORK,
    MOTION,
    PIECE,
)
from robosim.compiled.records.shape import FEATURE, FOUND, PAIR
from robosim.compiled.records.sizes import TRENDS
from robosim.compiled.records.step import SCRATCH
from robosim.compiled.records.tendon import PATH, SPAN
from robosim.compiled.records.tree import ARM_WORK, LOOP_WORK, TREE_WORK
from robosim.elements import PointSpring
from robosim.joints import Joint
from robosim.mechanism import Mechanism
from robosim.tendons import Point, Pulley, Tendon, Term, Wrap

Array = NDArray[np.float64]

# Files write 1e14 for a wheel that must not slip. A cone of 84 degrees does not let it either, and
# leaves the solver's scales where they can be computed with.
MAX_FRICTION = 10.0
# Limits of a coordinate that leave less [m or rad] are moved apart: an interior point has to have
# an interior, and one of no width is all surface.
LEAST_ROOM = 1e-9


class Collision(NamedTuple):
    """Shapes that may touch each other, read-only."""

    shapes: NDArray[np.void]  # (ns,) SHAPE of robosim.collision
    data: ShapeData
    pairs: NDArray[np.void]  # (np,) PAIR


class CollisionWork(NamedTuple):
    """Scratch memory of finding where shapes touch."""

    scratch: ShapeScratch
    features: NDArray[np.void]  # (4,) FEATURE of robosim.collision
    found: NDArray[np.void]  # (np,) FOUND
    ids: NDArray[np.int64]  # (n_slots,) of the feature in a slot, -1 for none


class Loops(NamedTuple):
    """Joints that close loops of a tree which share no joints, by the top of their loops."""

    joint: NDArray[np.int64]  # (nl,) that closes the loop
    top: NDArray[np.int64]  # (nl,) body that both sides of the loop hang on, nb for the world
    first: NDArray[np.int64]  # (nb + 2,) the first loop with a body, or the world, for its top
    over: NDArray[np.int64]  # (nb,) loop that the joint of a body is part of, -1 for none


class Model(NamedTuple):
    """The parameters of a mechanism, read-only."""

    bodies: NDArray[np.void]  # (nb,) BODY
    joints: NDArray[np.void]  # (nj,) JOINT
    coordinates: NDArray[np.void]  # (one for each velocity of a joint,) COORDINATE
    pieces: NDArray[np.void]  # PIECE of all potentials
    paths: NDArray[np.void]  # PATH of all tendons
    spans: NDArray[np.void]  # SPAN of all tendons
    couplings: NDArray[np.void]  # COUPLING
    contacts: NDArray[np.void]  # CONTACT: with the ground, sorted by body; then of coordinates
    n_ground: int  # number of the former
    collision: Collision | None
    facets: Array | None  # (nf, 2) of the linearized friction cone; None for the exact one
    graph: Graph
    tree: bool | None  # True if its joints are eliminated as a tree; None leaves that uncompiled
    loops: Loops | None  # of a tree, None if it has none


class State(NamedTuple):
    """What a step starts from: the knot, momenta and joint directions there, and a guess."""

    bodies: NDArray[np.void]  # (nb,) BODY_STATE
    joints: NDArray[np.void]  # (nj,) JOINT_STATE
    couplings: NDArray[np.void]  # COUPLING_STATE
    contacts: NDArray[np.void]  # (nc,) CONTACT_STATE
    q: Array  # joint coordinates at the knot: the tree's nq, then those of other joints
    v: Array  # joint velocities at the knot, in the same order
    trend: Array  # (TRENDS,) 1 for each of `missed` that the next guess takes, 0 for the others
    contact_trend: Array  # (TRENDS,) and of `changed` of contacts


class Options(NamedTuple):
    """What a step needs to know beyond the model; see Simulation for the meaning and defaults."""

    dt: float
    gravity: Array  # (3,) [m/s^2]
    tolerance: float  # of the equations [m/s]
    contact_speed: float  # creep and gap over dt that a resting contact may have [m/s]
    max_iterations: int
    max_substeps: int
    last_attempt: int  # at a step, of kernels.interior_point
    order: int  # 2, or 4 where the motion is smooth


class Workspace(NamedTuple):
    """Scratch memory of one step."""

    bodies: NDArray[np.void]  # (nb + 1,) BODY_WORK, the world last
    joints: NDArray[np.void]  # (nj,) JOINT_WORK
    couplings: NDArray[np.void]  # COUPLING_WORK
    contacts: NDArray[np.void]  # (nc,) CONTACT_WORK
    span1: NDArray[np.void]  # ROW of each span at the first knot
    span2: NDArray[np.void]  # and at the second one
    pose1: NDArray[np.void]  # (nb + 1,) POSE at the first knot, the world last
    pose2: NDArray[np.void]  # (nb + 1,) POSE at the second knot, the world last
    twists: NDArray[np.void]  # (nb + 1,) ROW, world twists, the world last
    known: NDArray[np.void]  # (nb + 1,) ROW, momenta of the bodies plus the forces' half at a knot
    slots: NDArray[np.void]  # CONTACT: the model's contacts, then room for features of pairs
    collision: CollisionWork | None
    impulse: NDArray[np.void]  # (nb + 1,) ROW, impulses of joints and contacts at knot 1
    blocks: NDArray[np.void]  # (n_blocks,) BLOCK
    residual: NDArray[np.void]  # (n_nodes,) ROW, left of the equations but for contacts' answer
    rhs: NDArray[np.void]  # (n_nodes,) ROW
    correction: NDArray[np.void]  # (n_nodes,) ROW, what refining adds to a direction
    active: NDArray[np.int64]  # (nc + 1,) their count, then the contacts in the equations
    tau: Array  # generalized forces held over the step, one for each velocity of a joint
    drives: NDArray[np.void]  # DRIVE, one for each velocity of a joint
    motion: NDArray[np.void]  # MOTION of the driven coordinates over the step
    external: NDArray[np.void]  # (nb + 1,) ROW, wrenches on the bodies held over the step, world
    q2: Array  # joint coordinates at the second knot, of joints with laws
    last_dt: Array  # (1,) length of the interval that led to the knot [s], 0 at a start
    stale: Array  # (1,) 1 if the state's velocities are not those at its knot, as nobody asked
    # (3,) 1 while blocks hold the factors of the knot's projection, 1 while poses and joints of a
    # tree are placed at the knot, 1 if the last motion of a tree was as it had been guessed
    factored: NDArray[np.int64]
    scratch: NDArray[np.void]  # (1,) SCRATCH
    saved: State  # what a step that fails goes back to
    tree: NDArray[np.void] | None  # (nb + 1,) TREE_WORK, the world last
    border: NDArray[np.void] | None  # (nl,) LOOP_WORK of a tree with loops
    arms: NDArray[np.void] | None  # (nb,) ARM_WORK of a tree with loops


def compile_model(mechanism: Mechanism, n_facets: int = 0, articulated: bool = False) -> Model:
    """Flatten a mechanism for the kernels; contacts keep the mechanism's order within a body.

    Without facets friction has the exact second-order cone.
    """
    joints, coordinates, pieces = _joint_records(mechanism)
    paths, spans = _path_records(mechanism, joints)
    couplings = _coupling_records(mechanism, joints)
    contacts = _contact_records(mechanism, joints)
    collision = _collision(mechanism, len(contacts))
    driven = coordinates["driven"] >= 0
    graph = _graph(len(mechanism.bodies), joints, spans, couplings, driven)
    bodies = _body_records(mechanism, contacts)
    angles = 2 * np.pi * np.arange(n_facets) / n_facets
    facets = np.column_stack((np.cos(angles), np.sin(angles))) if n_facets else None
    for array in (bodies, joints, coordinates, pieces, paths, spans, couplings, contacts, *graph):
        array.setflags(write=False)
    return Model(
        bodies,
        joints,
        coordinates,
        pieces,
        paths,
        spans,
        couplings,
        contacts,
        len(mechanism.contacts),
        collision,
        facets,
        graph,
        True if articulated else None,
        _separate_loops(mechanism) if articulated and mechanism.loop_joints else None,
    )


def is_tree_with_loops(mechanism: Mechanism) -> bool:
    """Whether nothing ties bodies to each other but a tree's joints, and loops that share none."""
    if mechanism.couplings or mechanism.springs or mechanism.tendons:
        return False
    if any(joint.motion is not None for joint in mechanism.joints):
        return False
    if any(None not in (a[0], b[0]) for a, b in mechanism.touching_shapes()):
        return False
    return not mechanism.loop_joints or _separate_loops(mechanism) is not None


def _separate_loops(mechanism: Mechanism) -> Loops | None:
    """The loops of a mechanism; None if two share a joint, or anything acts where one is closed."""
    if any(v >= mechanism.nv for v in mechanism.actuated):
        return None
    nb = len(mechanism.bodies)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    above, floats = np.full(nb, nb), np.zeros(nb, dtype=bool)
    for joint in mechanism.tree_joints:
        child = index[joint.child]
        above[child] = nb if joint.parent is None else index[joint.parent]
        floats[child] = joint.n_constraints == 0
    over = np.full(nb, -1, dtype=np.int64)
    found: list[tuple[int, int, list[int]]] = []
    for k, joint in enumerate(mechanism.loop_joints):
        acts = (joint.per_coordinate(name).any() for name in ("stiffness", "damping", "armature"))
        if joint.n_constraints == 0 or joint.resists or joint.potential is not None or any(acts):
            return None
        sides = []
        for end in (index[joint.child], nb if joint.parent is None else index[joint.parent]):
            side = [end]
            while side[-1] < nb:
                side.append(int(above[side[-1]]))
            sides.append(side)
        top = next(body for body in sides[0] if body in sides[1])
        path = [body for side in sides for body in side[: side.index(top)]]
        found.append((top, nb + k, path))
    found.sort(key=lambda loop: loop[0])
    for n, (_, _, path) in enumerate(found):
        if np.any(over[path] >= 0) or np.any(floats[path]):
            return None
        over[path] = n
    tops = np.array([loop[0] for loop in found], dtype=np.int64)
    first = np.searchsorted(tops, np.arange(nb + 2)).astype(np.int64)
    return Loops(np.array([loop[1] for loop in found], dtype=np.int64), tops, first, over)


def connect_pairs(model: Model, near: NDArray[np.bool_]) -> Model:
    """The model with blocks of their own for the pairs of bodies that are `near`, and no others.

    Parameters
    ----------
    model : Model
    near : (np,) for each pair of shapes; those with the world need no blocks
    """
    assert model.collision is not None
    joints, spans, couplings = model.joints.copy(), model.spans.copy(), model.couplings.copy()
    pairs = model.collision.pairs.copy()
    driven = model.coordinates["driven"] >= 0
    graph = _graph(len(model.bodies), joints, spans, couplings, driven, pairs, near)
    for array in (joints, spans, couplings, pairs, *graph):
        array.setflags(write=False)
    return model._replace(
        joints=joints,
        spans=spans,
        couplings=couplings,
        collision=model.collision._replace(pairs=pairs),
        graph=graph,
    )


def _collision(mechanism: Mechanism, n_contacts: int) -> Collision | None:
    """Shapes and pairs of a mechanism, or None if nothing but the ground can be touched."""
    scene = mechanism.touching_shapes()
    if not scene:
        return None
    nb = len(mechanism.bodies)
    index: dict[int, int] = {}
    shapes: list[AnyShape] = []
    for sides in scene:
        for _, shape in sides:
            if id(shape) not in index:
                index[id(shape)] = len(shapes)
                shapes.append(shape)
    records, data = compile_shapes(shapes)
    pairs = np.zeros(len(scene), dtype=PAIR)
    slot = n_contacts
    for record, sides in zip(pairs, scene, strict=True):
        for letter, (body, shape) in zip("ab", sides, strict=True):
            i = index[id(shape)]
            record[f"shape_{letter}"] = i
            record[f"body_{letter}"] = nb if body is None else body
            record[f"reach_{letter}"] = np.linalg.norm(records["x"][i]) + records["reach"][i]
        # The more slippery of the two decides.
        record["mu"] = min(MAX_FRICTION, *(shape.friction for _, shape in sides))
        kinds = [int(records["kind"][index[id(shape)]]) for _, shape in sides]
        n_slots = 1 if max(kinds) == SPHERE else 2 if max(kinds) <= CAPSULE else 8
        n_slots = 16 if max(kinds) >= HEIGHT_FIELD else n_slots  # its bends are many
        record["slot_begin"], record["slot_end"] = slot, slot + n_slots
        record["block_ab"] = record["block_ba"] = -1
        slot += n_slots
    pairs.setflags(write=False)
    return Collision(records, data, pairs)


def all_joints(mechanism: Mechanism) -> list[Joint | PointSpring | Tendon]:
    """Joints of the tree, of loops, and springs and tendons, which are compiled to joints too."""
    return [*mechanism.joints, *mechanism.springs, *mechanism.tendons]


def driven_elements(mechanism: Mechanism) -> list[Joint | Tendon]:
    """What is driven along a function of time or held, in the order of the driven coordinates."""
    elements: list[Joint | Tendon] = [*mechanism.joints, *mechanism.tendons]
    return [element for element in elements if element.motion is not None]


def _n_lengths(mechanism: Mechanism) -> int:
    """Number of the coordinates behind those of the joints."""
    return len(mechanism.springs) + len(mechanism.tendons)


def _joint_records(
    mechanism: Mechanism,
) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.void]]:
    """JOINT, COORDINATE and PIECE records."""
    nb = len(mechanism.bodies)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    elements = all_joints(mechanism)
    joints = aligned(len(elements), JOINT)
    n_rates = mechanism.v_offsets[-1] + _n_lengths(mechanism)
    coordinates = np.zeros(n_rates, dtype=COORDINATE)
    pieces: list[tuple[float, Array]] = []
    nq = nv = driven = 0
    for j, joint in enumerate(elements):
        record = joints[j]
        record["q_begin"], record["v_begin"], record["node"] = nq, nv, -1
        record["offset"], record["R_offset"] = quaternions.IDENTITY, np.eye(3)
        if isinstance(joint, Tendon):
            # A joint of the world with itself: what it acts on are its spans.
            record["parent"], record["child"], record["m_T"] = nb, nb, 1
        else:
            parent = nb if joint.parent is None else index[joint.parent]
            record["parent"], record["child"] = parent, index[joint.child]
            record["p_a"], record["p_b"] = joint.parent_position, joint.child_position
            _set_scales(mechanism, record)
        potential, motion = None, None
        if isinstance(joint, Tendon):
            lowest, highest = np.asarray(joint.rest_length)
            names = ("stiffness", "damping", "armature")
            rows: dict[str, Any] = {name: getattr(joint, name) for name in names}
            rows |= {"rest": lowest, "slack": highest - lowest}
            size_q = size_v = 1
            motion = joint.motion
        elif isinstance(joint, PointSpring):
            # A joint with one free translation, of which only the length is looked at.
            record["distance"], record["m_T"] = 1, 1
            rows = {"stiffness": joint.stiffness, "damping": joint.damping, "armature": 0.0}
            rows["rest"] = joint.rest_length
            size_q = size_v = 1
            potential = joint.potential
        else:
            record["offset"] = joint.offset
            record["R_offset"] = quaternions.rotation_matrix(joint.offset)
            for letter, count, matrix in (
                ("D_T", "n_T", joint.D_T),
                ("D_R", "n_R", joint.D_R),
                ("C_T", "m_T", joint.C_T),
                ("C_R", "m_R", joint.C_R),
            ):
                record[count] = matrix.shape[1]
                record[letter][: matrix.shape[1]] = matrix.T
            record["axis_a"] = record["R_offset"] @ record["C_R"][0]
            acting = ("stiffness", "rest", "damping", "armature")
            rows = {name: joint.per_coordinate(name) for name in acting}
            size_q, size_v = joint.nq, joint.nv
            potential, motion = joint.potential, joint.motion
        mine = coordinates[nv : nv + size_v]
        for name, value in rows.items():
            mine[name] = value
        mine["driven"] = -1
        mine["piece_begin"] = mine["piece_end"] = len(pieces)
        if potential is not None:
            x = np.asarray(potential.x)
            pieces += list(zip(x[:-1].tolist(), potential.pieces, strict=True))
            mine["piece_end"] = len(pieces)
        if motion is not None:
            mine["driven"] = driven
            driven += 1
        acts = any(mine[name].any() for name in ("stiffness", "damping", "armature"))
        record["law"] = acts or potential is not None or motion is not None
        resists = isinstance(joint, Tendon | Joint) and joint.resists
        if resists and record["n_T"] + record["n_R"] == 0:
            # Limits and friction act on coordinates, and with no constraints nothing else asks
            # for a node to have them on.
            record["law"] = 1
        record["kind"] = _elimination(record, nb, resists)
        record["first_child"], record["next_child"] = -1, -1
        if record["child"] < nb:
            record["per_inertia"] = 1.0 / _own_inertia(mechanism.bodies[record["child"]], record)
        nq, nv = nq + size_q, nv + size_v
    for b in range(nb - 1, -1, -1):
        if joints[b]["parent"] < nb:
            parent = joints[joints[b]["parent"]]
            joints[b]["next_child"], parent["first_child"] = parent["first_child"], b
    return joints, coordinates, np.array(pieces, dtype=PIECE)


def _own_inertia(body: Body, joint: Any) -> float:
    """Inertia of a joint's child along its rotations, their mean if it is not a hinge."""
    inertia, arm = np.asarray(body.inertia), joint["p_b"]
    square = float(arm @ arm)
    if joint["kind"] == HINGE:
        axis = joint["C_R"][0]
        return float(axis @ inertia @ axis + body.mass * (square - (axis @ arm) ** 2))
    return float(np.trace(inertia)) / 3.0 + (0.0 if joint["kind"] == FREE else body.mass * square)


def _elimination(joint: Any, nb: int, resists: bool) -> int:
    """How the elimination of a tree takes a joint: as a ball only if nothing acts along it."""
    free = int(joint["m_T"]), int(joint["m_R"])
    if free == (0, 1):
        return HINGE
    if free == (0, 3) and joint["law"] == 0 and not resists:
        return BALL
    if free == (3, 3) and joint["law"] == 0 and joint["parent"] == nb:
        return FREE
    return GENERAL


def _set_scales(mechanism: Mechanism, record: Any) -> None:
    """Inverse mass and inertia that a joint acts on."""
    mass, inertia = 0.0, 0.0
    for i in (int(record["parent"]), int(record["child"])):
        if i < len(mechanism.bodies):
            body = mechanism.bodies[i]
            mass += 1.0 / body.mass
            inertia += 3.0 / float(np.trace(np.asarray(body.inertia)))
    record["scale_T"] = mass
    record["scale_R"] = np.sqrt(mass * inertia)
    record["compliance_T"], record["compliance_R"] = COMPLIANCE * mass, COMPLIANCE * inertia


def _path_records(
    mechanism: Mechanism, joints: NDArray[np.void]
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """PATH and SPAN records; the joints of tendons get theirs."""
    nb = len(mechanism.bodies)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    places = coordinate_places(mechanism)
    paths: list[Any] = []
    spans: list[int] = []
    for joint, tendon in zip(joints[len(joints) - len(mechanism.tendons) :], mechanism.tendons,
                             strict=True):  # fmt: skip
        joint["path_begin"], joint["span_begin"] = len(paths), len(spans)
        mine: dict[int, int] = {nb: -1}

        def span(body: int, mine: dict[int, int] = mine) -> int:
            if body not in mine:
                mine[body] = len(spans)
                spans.append(body)
            return mine[body]

        for part in tendon.path:
            record: Any = np.zeros((), dtype=PATH)
            match part:
                case Term():
                    j, row = places[part.coordinate]
                    ends = int(joints[j]["child"]), int(joints[j]["parent"])
                    record["kind"], record["joint"], record["row"] = TERM, j, row
                    record["factor"], record["p"] = part.factor, part.higher
                    record["span"], record["span_parent"] = span(ends[0]), span(ends[1])
                case Pulley():
                    record["kind"], record["factor"] = PULLEY, 1 / part.divisor
                case Point() | Wrap():
                    body = nb if part.body is None else index[part.body]
                    record["kind"], record["body"], record["span"] = VIA, body, span(body)
                    record["p"] = part.position
            if isinstance(part, Wrap):
                record["kind"] = SPHERE_WRAP if part.kind == "sphere" else CYLINDER_WRAP
                record["axes"] = quaternions.rotation_matrix(part.quaternion).T
                record["radius"] = part.radius
                if part.side is not None:
                    record["has_side"], record["side"] = 1, part.side.position
                    record["side_body"] = nb if part.side.body is None else index[part.side.body]
            paths.append(record)
        joint["path_end"], joint["span_end"] = len(paths), len(spans)
        # A unit of tension moves a coordinate by what the joint's own would, times its factor.
        for body in mine.keys() - {nb}:
            joint["scale_T"] += 1 / mechanism.bodies[body].mass
        if tendon.is_fixed:
            terms = paths[int(joint["path_begin"]) :]
            joint["scale_T"] = sum(_term_scale(joints, term) for term in terms)
        joint["compliance_T"] = COMPLIANCE * joint["scale_T"]
    found = np.zeros(len(spans), dtype=SPAN)
    found["body"] = spans
    return np.array(paths, dtype=PATH), found


def _term_scale(joints: NDArray[np.void], term: Any) -> float:
    """What a unit of a tendon's impulse does to one of its coordinates, as a velocity."""
    joint = joints[term["joint"]]
    scale = joint["scale_R" if term["row"] >= joint["m_T"] else "scale_T"]
    return abs(float(term["factor"] * scale))


def coordinate_places(mechanism: Mechanism) -> dict[str, tuple[int, int]]:
    """Name of each coordinate that is a number -> index of its joint, row in that."""
    names = set(mechanism.q_names)
    return {
        mechanism.v_names[begin + row]: (j, row)
        for j, (joint, begin) in enumerate(
            zip(mechanism.tree_joints, mechanism.v_offsets, strict=False)
        )
        for row in range(joint.nv)
        if mechanism.v_names[begin + row] in names
    }


def _coupling_records(mechanism: Mechanism, joints: NDArray[np.void]) -> NDArray[np.void]:
    """COUPLING records; the joints that they couple get rows for their coordinates."""
    names = [joint.name for joint in mechanism.joints]
    couplings = np.zeros(len(mechanism.couplings), dtype=COUPLING)
    for record, coupling in zip(couplings, mechanism.couplings, strict=True):
        for k, name in enumerate((coupling.joint, coupling.source)):
            joint = joints[names.index(name)]
            joint["law"] = 1
            record["joint"][k] = names.index(name)
            record["row"][k] = joint["n_T"] + joint["n_R"]
            record["compliance"] += joint["compliance_R" if joint["m_R"] else "compliance_T"]
        record["factor"], record["offset"] = (1.0, -coupling.ratio), coupling.offset
    return couplings


def _graph(
    nb: int,
    joints: NDArray[np.void],
    spans: NDArray[np.void],
    couplings: NDArray[np.void],
    driven: NDArray[np.bool_],
    pairs: NDArray[np.void] | None = None,
    near: NDArray[np.bool_] | None = None,
) -> Graph:
    """Number the nodes, order and eliminate them; sets the blocks of all that has some."""
    nodes: list[tuple[Any, list[int]]] = []
    soft: list[tuple[Any, list[int]]] = []
    for joint in joints:
        ends = [int(joint["child"]), int(joint["parent"])]
        over = spans["body"][joint["span_begin"] : joint["span_end"]].tolist()
        if joint["n_T"] + joint["n_R"] > 0:
            nodes.append((joint, ends))
        elif over and driven[joint["v_begin"]]:
            # The length of a tendon, of which it is all the same whether the world is in it.
            nodes.append((joint, [*over, nb]))
        elif joint["law"]:
            soft.append((joint, over or ends))
    for coupling in couplings:
        ends = [int(joints[j][role]) for j in coupling["joint"] for role in ("child", "parent")]
        nodes.append((coupling, ends))
    edges: list[tuple[int, int]] = []
    for k, (record, ends) in enumerate((*nodes, *soft)):
        record["node"] = nb + k
        edges += [(nb + k, end) for end in dict.fromkeys(ends) if end < nb]
    touching: list[tuple[int, int]] = []
    if pairs is not None and near is not None:
        ends_of = {(int(p["body_a"]), int(p["body_b"])) for p in pairs[near]}
        touching = sorted({(min(ends), max(ends)) for ends in ends_of})
    order = constrained_order(
        nb,
        [[end for end in ends if end < nb] for _, ends in nodes],
        [[end for end in ends if end < nb] for _, ends in soft],
        [nb in ends for _, ends in (*nodes, *soft)],
        touching,
    )
    graph, blocks = eliminate(nb + len(nodes) + len(soft), edges + touching, order)
    if pairs is not None and near is not None:
        pairs["block_ab"] = pairs["block_ba"] = -1
        for pair in (pairs[n] for n in np.flatnonzero(near)):
            a, b = int(pair["body_a"]), int(pair["body_b"])
            pair["block_ab"], pair["block_ba"] = blocks[a, b], blocks[b, a]
    loops = len(nodes) > sum(1 for joint in joints[:nb] if joint["n_T"] + joint["n_R"] > 0)
    for record, ends in (*nodes, *soft):
        node = int(record["node"])
        if "body_node" in record.dtype.names:
            for k, end in enumerate(ends):
                if end < nb:
                    record["body_node"][k], record["node_body"][k] = (
                        blocks[end, node],
                        blocks[node, end],
                    )
            continue
        if record["span_end"] > record["span_begin"]:
            for n in range(record["span_begin"], record["span_end"]):
                end = int(spans["body"][n])
                spans["body_node"][n], spans["node_body"][n] = blocks[end, node], blocks[node, end]
            continue
        child, parent = ends
        record["child_joint"], record["joint_child"] = blocks[child, node], blocks[node, child]
        if parent < nb:
            record["parent_joint"] = blocks[parent, node]
            record["joint_parent"] = blocks[node, parent]
    if not loops:
        joints["compliance_T"], joints["compliance_R"] = 0.0, 0.0
    return graph


def _contact_records(mechanism: Mechanism, joints: NDArray[np.void]) -> NDArray[np.void]:
    """CONTACT records: points above the ground by body, then limits and dry friction of joints."""
    nb = len(mechanism.bodies)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    order = contact_order(mechanism)
    ground = np.zeros(len(order), dtype=CONTACT)
    for record, c in zip(ground, order, strict=True):
        point = mechanism.contacts[c]
        record["kind"], record["body"], record["other"] = PLANE, index[point.body], nb
        record["p"], record["radius"] = point.position, point.radius
        if point.axis is not None:
            record["p_end"], record["lying"] = point.axis, point.radius == 0
            record["kind"] = RIM if point.radius > 0 else PLANE
        record["o_end"], record["mu"] = (0.0, 0.0, 1.0), min(point.friction, MAX_FRICTION)
        record["mass"], record["joint"] = mechanism.body(point.body).mass, -1
    found: list[Any] = []
    for j, joint in enumerate(mechanism.joints):
        if joint.motion is not None:
            continue
        # Angles count as arcs of the child's radius of gyration, so that all that is held apart
        # moves at speeds in m/s and answers with the child's mass.
        body, turns = mechanism.body(joint.child), joint.C_T.shape[1]
        for row in range(joint.nv):
            lower, upper = (float(np.asarray(side)[row]) for side in (joint.lower, joint.upper))
            friction = float(joint.per_coordinate("friction")[row])
            scale = _arm(body) if row >= turns else 1.0
            found += _coordinate_contacts(j, row, lower, upper, friction, body.mass, scale)
        if np.isfinite(joint.cone):
            cone = np.cos(joint.cone)
            found.append(_on_coordinate(CONE, j, turns, 0.0, cone, body.mass, _arm(body)))
        if np.isfinite(joint.largest_turn):
            half = 0.5 * joint.largest_turn
            scale = _arm(body) / float(np.sin(half))
            found.append(_on_coordinate(TURN, j, turns, 0.0, np.cos(half), body.mass, scale))
    first = len(joints) - len(mechanism.tendons)
    for j, tendon in enumerate(mechanism.tendons, start=first):
        if tendon.motion is not None:
            continue
        mass, scale = _lightest(mechanism, tendon)
        lower, upper = tendon.lower, tendon.upper
        found += _coordinate_contacts(j, 0, lower, upper, tendon.friction, mass, scale)
    for limit in found:
        limit["body"], limit["other"] = nb, nb
    contacts = np.concatenate((ground, np.array(found, dtype=CONTACT)))
    contacts["part"] = 1.0
    return contacts


def _arm(body: Body) -> float:
    """Radius of gyration of a body [m]."""
    return float(np.sqrt(np.trace(np.asarray(body.inertia)) / 3 / body.mass))


def _lightest(mechanism: Mechanism, tendon: Tendon) -> tuple[float, float]:
    """Mass of the lightest body that a tendon moves, and metres in a unit of its length there."""
    if not tendon.is_fixed:
        names = [name for name in tendon.bodies() if name is not None]
        return min(mechanism.body(name).mass for name in names), 1.0
    places, found = coordinate_places(mechanism), []
    for term in (part for part in tendon.path if isinstance(part, Term) and part.factor):
        joint_index, row = places[term.coordinate]
        joint = mechanism.joints[joint_index]
        body = mechanism.body(joint.child)
        arm = _arm(body) if row >= joint.C_T.shape[1] else 1.0
        found.append((body.mass, arm / abs(term.factor)))
    return min(found)


def _coordinate_contacts(
    j: int, row: int, lower: float, upper: float, friction: float, mass: float, scale: float
) -> list[Any]:
    """CONTACT records of the limits and of the dry friction of a coordinate."""
    found = []
    widen = 0.5 * max(0.0, LEAST_ROOM - (upper - lower))
    for sign, bound in ((1.0, lower - widen), (-1.0, upper + widen)):
        if np.isfinite(bound):
            found.append(_on_coordinate(LIMIT, j, row, sign, bound, mass, scale))
    if friction > 0:
        found.append(_on_coordinate(DRY, j, row, 0.0, friction / scale, mass, scale))
    return found


def _on_coordinate(
    kind: int, j: int, row: int, sign: float, bound: float, mass: float, scale: float
) -> Any:
    limit: Any = np.zeros((), dtype=CONTACT)
    limit["kind"], limit["joint"], limit["row"] = kind, j, row
    limit["mass"], limit["scale"] = mass, scale
    limit["sign"], limit["mu"] = sign * scale, 1.0 if kind == DRY else 0.0
    limit["bound"] = bound
    return limit


def _body_records(mechanism: Mechanism, contacts: NDArray[np.void]) -> NDArray[np.void]:
    nb = len(mechanism.bodies)
    bodies = np.zeros(nb, dtype=BODY)
    base = _floating_bases(mechanism)
    floating = np.zeros(nb)
    for i, body in enumerate(mechanism.bodies):
        if base[i] >= 0:
            floating[base[i]] += body.mass
    distance = np.sqrt(np.sum(contacts["p"] ** 2, axis=1)) + contacts["radius"]
    on_ground = np.where(contacts["other"] == nb, contacts["body"], -1)
    for i, body in enumerate(mechanism.bodies):
        mine = np.flatnonzero(on_ground == i)
        begin = int(mine[0]) if len(mine) else 0
        reach = float(np.max(distance[mine])) if len(mine) else 0.0
        inverse = np.linalg.inv(np.asarray(body.inertia))
        mass = floating[base[i]] if base[i] >= 0 else 0.0
        contacts_of = begin, begin + len(mine)
        bodies[i] = (body.mass, body.inertia, inverse, reach, *contacts_of, base[i], mass, 1.0)
    return bodies


def _floating_bases(mechanism: Mechanism) -> NDArray[np.int64]:
    """For each body the one whose joint is free and carries it, or -1, (nb,)."""
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    base = np.full(len(mechanism.bodies), -1, dtype=np.int64)
    for joint in mechanism.tree_joints:
        child = index[joint.child]
        if joint.n_constraints == 0:
            base[child] = child
        elif joint.parent is not None:
            base[child] = base[index[joint.parent]]
    return base


def contact_order(mechanism: Mechanism) -> list[int]:
    """Indices of the mechanism's contacts in the model's order: sorted by body."""
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    return sorted(range(len(mechanism.contacts)), key=lambda c: index[mechanism.contacts[c].body])


def make_blocks(model: Model) -> NDArray[np.void]:
    """Memory for the blocks of the linear system."""
    used = [model.graph.neighbours["upper"], model.graph.neighbours["lower"]]
    last = max([len(model.graph.pivots) - 1, *(int(b.max()) for b in used if len(b))])
    return aligned(last + 1, BLOCK)


def n_slots(model: Model) -> int:
    """Number of contacts of the model and of the features that its pairs have room for."""
    if model.collision is None:
        return len(model.contacts)
    return int(model.collision.pairs["slot_end"][-1])


def make_state(mechanism: Mechanism, model: Model) -> State:
    """A state of zeros of the right sizes; set it before it is stepped."""
    return State(
        bodies=np.zeros(len(model.bodies), dtype=BODY_STATE),
        joints=np.zeros(len(model.joints), dtype=JOINT_STATE),
        couplings=np.zeros(len(model.couplings), dtype=COUPLING_STATE),
        contacts=np.zeros(n_slots(model), dtype=CONTACT_STATE),
        q=np.zeros(mechanism.q_offsets[-1] + _n_lengths(mechanism)),
        v=np.zeros(len(model.coordinates)),
        trend=np.zeros(TRENDS),
        contact_trend=np.zeros(TRENDS),
    )


def make_workspace(mechanism: Mechanism, model: Model) -> Workspace:
    """Scratch memory for stepping one state of the model."""
    nb = len(model.bodies)
    poses = [np.zeros(nb + 1, dtype=POSE) for _ in range(2)]
    for pose in poses:
        pose["q"][:, 0] = 1.0
        pose["R"][:] = np.eye(3)
    world_last = np.zeros(nb + 1, dtype=BODY_WORK)
    world_last["P"][:, 0] = 1.0
    collision = None
    slots = model.contacts.copy()
    if model.collision is not None:
        shapes, data, pairs = model.collision
        room = np.zeros(n_slots(model) - len(slots), dtype=CONTACT)
        room["part"] = 1.0
        slots = np.concatenate((slots, room))
        collision = CollisionWork(
            make_shape_scratch(shapes, data),
            np.zeros(4, dtype=FEATURE),
            np.zeros(len(pairs), dtype=FOUND),
            np.full(len(slots), -1, dtype=np.int64),
        )
    drives = np.zeros(len(model.coordinates), dtype=DRIVE)
    drives["limit"] = np.inf
    return Workspace(
        bodies=world_last,
        joints=aligned(len(model.joints), JOINT_WORK),
        couplings=np.zeros(len(model.couplings), dtype=COUPLING_WORK),
        contacts=aligned(len(slots), CONTACT_WORK),
        slots=slots,
        collision=collision,
        span1=np.zeros(len(model.spans), dtype=ROW),
        span2=np.zeros(len(model.spans), dtype=ROW),
        pose1=poses[0],
        pose2=poses[1],
        twists=np.zeros(nb + 1, dtype=ROW),
        known=np.zeros(nb + 1, dtype=ROW),
        impulse=np.zeros(nb + 1, dtype=ROW),
        blocks=make_blocks(model),
        residual=np.zeros(len(model.graph.pivots), dtype=ROW),
        rhs=np.zeros(len(model.graph.pivots), dtype=ROW),
        correction=np.zeros(len(model.graph.pivots), dtype=ROW),
        active=np.zeros(len(slots) + 1, dtype=np.int64),
        tau=np.zeros(len(model.coordinates)),
        drives=drives,
        motion=np.zeros(int(np.sum(model.coordinates["driven"] >= 0)), dtype=MOTION),
        external=np.zeros(nb + 1, dtype=ROW),
        q2=np.zeros(mechanism.q_offsets[-1] + _n_lengths(mechanism)),
        last_dt=np.ones(1),
        stale=np.zeros(1),
        factored=np.zeros(3, dtype=np.int64),
        scratch=aligned(1, SCRATCH),
        saved=make_state(mechanism, model),
        tree=None if model.tree is None else aligned(nb + 1, TREE_WORK),
        border=None if model.loops is None else aligned(len(model.loops.joint), LOOP_WORK),
        arms=None if model.loops is None else aligned(nb, ARM_WORK),
    )
