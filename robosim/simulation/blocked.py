"""Whether prescribed motions lead where no pose is: the certificate of a `NoMotionError`.

Let $g_i(\\Delta)$ be the gaps of contacts and limits at the end of a step, with all driven
coordinates where their motions put them, and the others moved by $\\Delta$. If some weights
$\\lambda_i \\ge 0$ of sum one leave

$$
V(\\lambda) = \\max_{|\\Delta| \\le R} \\sum_i \\lambda_i g_i(\\Delta) < 0 ,
$$

then one gap at least is negative wherever the mechanism may go, as the mean of all is. The weights
are the directions in which contacts push with the motions' forces in equilibrium, as in Farkas'
lemma; here $g_i$ is taken to second order, since a contact may open by bending what is straight.
$V$ is convex, and its least value is found by cutting planes: a linear program has the
weights, a trust-region problem the next plane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.kinds import LIMIT
from robosim.compiled.order import driven_elements
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import HalfSpace, obstacle_name
from robosim.formulation import Contact
from robosim.kinematics.kinematics import Kinematics
from robosim.kinematics.motions import value_at
from robosim.runtime.handles import Parts
from robosim.simulation.readings import GROUND, contacts
from robosim.validation import Array

REACH = 0.5  # [rad or m] by which coordinates that are not driven may move
LEAST = 1e-7  # [m] of overlap that counts, more than what a step may end with
SMALL = 1e-4  # [rad or m] step of differences
AHEAD = (1, 2, 4, 8)  # time steps after which a motion may be blocked
CENTRES = 3  # places about which gaps are taken to second order
MOST = 32  # coordinates that may move, of which second differences are many
PLANES = 60
WEIGHT = 1e-3  # from which on something holds


class Blocked(NamedTuple):
    """What holds a mechanism against its motions; see the attributes of `NoMotionError`."""

    motions: tuple[str, ...]
    holding: tuple[str, ...]
    overlap: float
    ends: float


class Model(NamedTuple):
    """Gaps to second order in the coordinates that may move."""

    values: Array  # (m,)
    slopes: Array  # (m, n)
    curvatures: Array  # (m, n, n)

    def at(self, change: Array) -> Array:
        """Gaps (m,) where coordinates have changed."""
        bent = 0.5 * np.einsum("mij,i,j->m", self.curvatures, change, change)
        return np.asarray(self.values + self.slopes @ change + bent)


def blocked(robot: Mechanism, parts: Parts, time: float) -> Blocked | None:
    """What holds the mechanism in the step that begins at `time` [s], if motions lead through it.

    None where nothing has been shown: without driven joints, with loops or couplings, or if there
    may be a pose.
    """
    driven = driven_elements(robot)
    if not driven or robot.loop_joints or robot.couplings:
        return None
    moves = np.ones(robot.nv, dtype=bool)
    of_motion: dict[str, tuple[Joint, slice, slice]] = {}
    for element in driven:
        if not isinstance(element, Joint) or element.has_quaternion or element.own_chart:
            return None
        j = robot.joint_index(element.name)
        v, places = (slice(*offsets[j : j + 2]) for offsets in (robot.v_offsets, robot.q_offsets))
        moves[v], of_motion[element.name] = False, (element, v, places)
    free: NDArray[np.int64] = np.flatnonzero(moves)
    if len(free) > MOST:
        return None
    values = parts.model, parts.state, parts.memory, parts.work
    touching = [
        one for one in contacts(robot, *values, parts.options.dt) if one.stiffness == np.inf
    ]
    names, limits = _limits(robot, parts, moves)
    holding = [f"contact of '{one.body}' with '{one.other}'" for one in touching] + names
    if not holding:
        return None
    flat = {GROUND, *(obstacle_name(one) for one in robot.obstacles if isinstance(one, HalfSpace))}
    of_world = np.array([one.other in flat for one in touching], dtype=bool)
    # Otherwise it is not known to which of both the plane of a contact belongs: either has to hold.
    planes = [np.ones(len(touching), dtype=bool)] + [of_world] * (not of_world.all())
    q = parts.state.q[: robot.nq]
    each = [_gaps(Kinematics(robot, q), touching, plane, limits) for plane in planes]
    for steps in AHEAD:
        to, ends = np.zeros(robot.nv), time + steps * parts.options.dt
        for element, v, places in of_motion.values():
            to[v] = value_at(element, ends) - q[places]
        weights = None
        for gaps in each:
            weights = _weights(gaps, to, free)
            if weights is None:
                break
        if weights is not None:
            rates = {name: v for name, (_, v, _) in of_motion.items()}
            return _named(each[0], to, weights, holding, rates, ends)
    return None


def _named(
    gaps: Callable[[Array], Array],
    to: Array,
    weights: tuple[Array, float],
    holding: Sequence[str],
    of_motion: dict[str, slice],
    ends: float,
) -> Blocked:
    """The names of what takes part."""
    share, overlap = weights
    motions = []
    for name, v in of_motion.items():
        before = to.copy()
        before[v] = 0.0
        if share @ (gaps(to) - gaps(before)) < -WEIGHT * overlap:
            motions.append(name)
    held = dict.fromkeys(
        what for what, weight in zip(holding, share, strict=True) if weight > WEIGHT
    )
    return Blocked(tuple(motions or of_motion), tuple(held), overlap, ends)


def _limits(robot: Mechanism, parts: Parts, moves: Array) -> tuple[list[str], tuple[Array, ...]]:
    """Names of hard limits of single coordinates that may move; place, sign, gap and scale."""
    joints, slots = parts.model.joints, parts.model.contacts[parts.model.n_ground :]
    names, rows = [], []
    for slot in slots[(slots["kind"] == LIMIT) & (slots["compliant"] == 0)]:
        joint = joints[slot["joint"]]
        v, at = int(joint["v_begin"] + slot["row"]), int(joint["q_begin"] + slot["row"])
        if v >= robot.nv or not moves[v]:
            continue
        sign, scale = float(slot["sign"]), float(slot["scale"])
        gap = scale * sign * (float(parts.state.q[at]) - float(slot["bound"]))
        rows.append((v, scale * sign, gap))
        side = "lower" if sign > 0 else "upper"
        names.append(f"{side} limit of '{robot.v_names[v]}'")
    table = np.array(rows).reshape(-1, 3)
    return names, (table[:, 0].astype(int), table[:, 1], table[:, 2])


def _gaps(
    kinematics: Kinematics,
    touching: Sequence[Contact],
    on_other: NDArray[np.bool_],
    limits: tuple[Array, ...],
) -> Callable[[Array], Array]:
    """Gaps [m] of contacts and limits, as a function of how far coordinates have moved.

    The plane of a contact turns with the body, or is `on_other`.
    """
    robot, start = kinematics.robot, kinematics.q
    nb = len(robot.bodies)
    index = {body.name: b for b, body in enumerate(robot.bodies)}
    a = np.array([index[one.body] for one in touching], dtype=int)
    b = np.array([index.get(one.other, nb) for one in touching], dtype=int)
    points = np.array([one.position for one in touching]).reshape(-1, 3)
    normals = np.array([one.normal for one in touching]).reshape(-1, 3)
    there = np.array([one.gap for one in touching])
    moving = Kinematics(robot, start)

    def poses() -> tuple[Array, Array]:
        world = np.concatenate((moving.R, np.eye(3)[None]))
        return np.concatenate((moving.x, np.zeros((1, 3)))), world

    x, R = poses()
    on = [np.einsum("mji,mj->mi", R[side], points - x[side]) for side in (a, b)]
    plane = np.where(on_other, b, a)
    leans = np.einsum("mji,mj->mi", R[plane], normals)
    places, scales, ahead = limits

    def gaps(change: Array) -> Array:
        moving.move_to(start)
        moving.move_to(moving.moved(change, 1.0))
        x, R = poses()
        p, other = (
            x[side] + np.einsum("mij,mj->mi", R[side], arm)
            for side, arm in zip((a, b), on, strict=True)
        )
        along = np.einsum("mij,mj->mi", R[plane], leans)
        return np.concatenate(
            (there + np.sum(along * (p - other), axis=1), ahead + scales * change[places])
        )

    return gaps


def _weights(
    gaps: Callable[[Array], Array], to: Array, free: NDArray[np.int64]
) -> tuple[Array, float] | None:
    """Weights of gaps whose mean is negative wherever coordinates move, and by how much [m]."""
    middle = np.zeros(len(free))
    for _ in range(CENTRES):

        def moved(change: Array, middle: Array = middle) -> Array:
            there = to.copy()
            there[free] += middle + change
            return gaps(there)

        found, best = _weights_about(moved, len(free))
        if found is not None:
            return found
        middle = middle + best
        if np.linalg.norm(middle) > REACH:
            break
    return None


def _weights_about(
    moved: Callable[[Array], Array], n: int
) -> tuple[tuple[Array, float] | None, Array]:
    """The same with gaps to second order about one place; and where their mean is highest."""
    steps = SMALL * np.eye(n)
    values = moved(np.zeros(n))
    ahead = np.array([moved(step) for step in steps]).reshape(n, len(values))
    behind = np.array([moved(-step) for step in steps]).reshape(n, len(values))
    bent = np.zeros((len(values), n, n))
    for i in range(n):
        bent[:, i, i] = (ahead[i] - 2.0 * values + behind[i]) / SMALL**2
        for j in range(i):
            both = moved(steps[i] + steps[j]) - ahead[i] - ahead[j] + values
            bent[:, i, j] = bent[:, j, i] = both / SMALL**2
    model = Model(values, ((ahead - behind) / (2.0 * SMALL)).T, bent)
    planes, best = [model.values], np.zeros(n)
    for _ in range(PLANES):
        share, least = _least(np.array(planes))
        if least > -LEAST:
            break
        worst, changes = _highest(model, share)
        if worst < min(-LEAST, 0.5 * least):
            # The gaps themselves have to say so as well, far from where they were differentiated.
            tried = [*changes, *(part * REACH * one for part in (0.25, 0.5, 1.0, -0.25, -0.5, -1.0)
                                 for one in np.eye(n))]  # fmt: skip
            holds = all(share @ moved(change) < 0.5 * worst for change in tried)
            return ((share, -worst) if holds else None), best
        best = changes[0]
        planes += [model.at(change) for change in changes]
    return None, best


def _least(planes: Array) -> tuple[Array, float]:
    """Weights for which the highest of some planes (k, m) is least, and its height."""
    from scipy.optimize import linprog  # for steps that fail alone

    k, m = planes.shape
    found = linprog(
        np.r_[np.zeros(m), 1.0],
        A_ub=np.hstack((planes, -np.ones((k, 1)))),
        b_ub=np.zeros(k),
        A_eq=np.r_[np.ones(m), 0.0][None],
        b_eq=[1.0],
        bounds=[(0.0, None)] * m + [(None, None)],
    )
    if found.x is None:
        return np.full(m, 1.0 / m), np.inf
    return found.x[:m], float(found.x[m])


def _highest(model: Model, share: Array) -> tuple[float, list[Array]]:
    """A bound of the mean gap within `REACH`, and changes where it is as high, or nearly so."""
    height, slope = float(share @ model.values), share @ model.slopes
    if not len(slope):
        return height, [slope]
    bends, axes = np.linalg.eigh(np.einsum("m,mij->ij", share, model.curvatures))
    along = axes.T @ slope

    def length(shift: float) -> float:
        return float(np.linalg.norm(along / (shift - bends))) - REACH

    # Differences of second order have errors of this size.
    lowest = max(float(bends[-1]), 0.0) + 1e-7
    shift = lowest
    if length(lowest) > 0.0:
        from scipy.optimize import brentq  # for steps that fail alone

        shift = brentq(length, lowest, lowest + np.linalg.norm(along) / REACH + 1e-6, xtol=1e-15)
    change = along / (shift - bends)
    height += 0.5 * float(along @ change) + 0.5 * shift * REACH**2
    rest = max(REACH**2 - float(change @ change), 0.0)
    more = float(np.sqrt(rest)) if bends[-1] > 1e-6 else 0.0
    sides = [change + sign * more * np.eye(len(along))[-1] for sign in (1.0, -1.0)]
    return height, [axes @ one for one in (sides if more else sides[:1])]
