"""The data of integrators in joint coordinates: parameters, state, loads, scratch memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import LINE, aligned
from robosim.compiled.records.graph import ROW
from robosim.compiled.records.joint import MOTION, SERVO
from robosim.compiled.records.minimal import BASE, CHORD, NODE, TURN_POINT
from robosim.validation import Array

RIQN, NEWTON, GALERKIN = 0, 1, 2  # methods that find the root; the last is another scheme, too
POSITION, VELOCITY, EULER, ACCELERATION = 0, 1, 2, 3  # guesses of the next configuration


class Rule(NamedTuple):
    """Control points of a Galerkin integrator, at the points of Lobatto's quadrature."""

    c: Array  # (s + 1,) where they are in a step, 0 to 1
    w: Array  # (s + 1,) weights
    b: Array  # (s + 1, s + 1) rates times the timestep, by control points
    a: Array  # (s + 1, s + 1) w[j] b[j, i]


class Tree(NamedTuple):
    """The parameters of a robot, read-only."""

    segments: NDArray[np.void]  # (n,) SEGMENT
    coordinates: NDArray[np.void]  # (nv,) COORDINATE
    pieces: NDArray[np.void]  # PIECE of all potentials
    gravity: Array  # (3,) [m/s^2]
    rule: Rule | None  # None for the scheme of second order on the group
    constraints: NDArray[np.void] | None  # (m,) CONSTRAINT, None for a tree alone


class State(NamedTuple):
    """The knot."""

    q: Array  # (nq,)
    v: Array  # (nv,) velocities, from p
    p: Array  # (nv,) momenta conjugate to v


class Loads(NamedTuple):
    """Loads over a step, as in `robosim.compiled.loads.Loads`."""

    tau: Array  # (nv,)
    servos: NDArray[np.void]  # (nv,) SERVO
    motion: NDArray[np.void]  # (0,) MOTION
    external: NDArray[np.void]  # (nb,) ROW, wrenches on the bodies, world
    controls: Array | None = None  # of implicit actuators


class Elimination(NamedTuple):
    """A linear system over a tree, to be solved from the leaves to the root and back.

    Each link has s unknowns dx, a motion z = z_parent + B^T dx of m numbers, and a response
    f = N z + l to this motion. Its rows of the system are r + A f + C z + L dx = 0.

    In memory rows of m numbers have zeros after them, up to a multiple of eight (`LINE`).
    """

    N: Array  # (n + 1, m, m), of a link and all beyond it
    A: Array  # (n, s, m)
    B: Array  # (n, s, m)
    C: Array  # (n, s, m)
    H: Array  # (n, s, m) H^T dx is part of the parent's f
    L: Array  # (n, s, s) in the rows, then inverse of the derivative of the rows by dx
    X: Array  # (n, s, m) unknowns by the motion of the parent
    r: Array  # (n, s) residuals of the rows
    l: Array  # (n + 1, m)  # noqa: E741
    z: Array  # (n + 1, m)
    dx: Array  # (n, s)


class Rotations(NamedTuple):
    """Free rotations, whose three hinges are eliminated together, as they turn each other."""

    links: Elimination  # of 3 s unknowns each; N, l and z are those of the links
    points: NDArray[np.void]  # (s + 1,) TURN_POINT, scratch


class Multipliers(NamedTuple):
    """Constraints at both ends of a step, and the impulses that hold them; n links.

    `begin`, `answers`, `factors` and `open_by` are kept from the knot.
    """

    begin: Array  # (m, n) rows at the knot
    answers: Array  # (m, n) velocities there by unit impulses
    factors: Array  # (m, m) of begin answers^T
    open_by: Array  # (m,) values at the knot [m, sine, or rad]
    end: Array  # (m, n) rows at the end of the step
    columns: Array  # (m, n) changes of the end by unit impulses
    free: Array  # (n,) the direction of the step without impulses
    matrix: Array  # (m, m) of end columns^T
    value: Array  # (m,) values at the end, with the compliance of the constraints
    size: Array  # (m,) magnitude of the terms of `value`
    impulse: Array  # (m,)
    tried: Array  # (m,)
    change: Array  # (m,) direction of the impulses
    kept: Array  # (m,) impulses that were added to the momenta of the knot


class Law(NamedTuple):
    """Torques u(t, q, v) at the control points [Fan2018, Assumption 1], beside those that are held.

    Zero without a law.
    """

    address: NDArray[np.int64]  # (1,) of a compiled function (t, q, v, tau), 0 for none
    time: Array  # (1,) [s] of the knot
    torques: Array  # (s + 1, rates)
    stiffness: Array  # (s + 1, nv) their slopes by the same coordinate, of hinges and slides
    damping: Array  # (s + 1, nv)
    q: Array  # (nq,) at a control point
    v: Array  # (nv,)
    tried: Array  # (rates,)


class Work(NamedTuple):
    """Scratch memory; `bases`, nodes[0] and the factors in `mass` are kept from the knot."""

    bases: NDArray[np.void]  # (n,) BASE
    nodes: NDArray[np.void]  # (s + 1, n + 1) NODE; the world is the last link
    chords: NDArray[np.void]  # (n,) CHORD
    origin: Array  # (3,) the point that the knot's wrenches are about, world
    mass: Elimination  # m = 6, s = 1
    step: Elimination
    x: Array  # (s + 1, n) coordinates at the control points
    rates: Array  # (s + 1, n)
    tried: Array  # (s + 1, n)
    residual: Array  # (n, s) impulses
    size: Array  # (n,) magnitude of the terms of the residual
    scale: Array  # (n,) velocity by a unit impulse
    ends: Array  # (n,) momenta along the links' coordinates at the end of the step
    acceleration: Array  # (n,) of the links' coordinates at the knot
    quaternion: Array  # (4, 4)
    law: Law
    multipliers: Multipliers | None
    rotations: Rotations | None  # of Galerkin integrators


class Options(NamedTuple):
    """How steps are taken."""

    dt: float
    tolerance: float  # [m/s]
    max_iterations: int
    method: int
    guess: int


class Minimal(NamedTuple):
    """The data that the kernels of one simulation work on."""

    model: Tree
    state: State
    loads: Loads
    work: Work
    options: Options


def make_elimination(n: int, m: int, s: int) -> Elimination:
    """Memory for n links."""
    wide = -(-m // LINE) * LINE
    return Elimination(
        N=np.zeros((n + 1, m, wide)),
        A=np.zeros((n, s, wide)),
        B=np.zeros((n, s, wide)),
        C=np.zeros((n, s, wide)),
        H=np.zeros((n, s, wide)),
        L=np.zeros((n, s, s)),
        X=np.zeros((n, s, wide)),
        r=np.zeros((n, s)),
        l=np.zeros((n + 1, wide)),
        z=np.zeros((n + 1, wide)),
        dx=np.zeros((n, s)),
    )


def make_rotations(tree: Tree, m: int, s: int) -> Rotations:
    """Memory for the free rotations of a tree."""
    count = int(np.sum(tree.segments["turn"] == 3))
    links = make_elimination(count, m, 3 * s)
    return Rotations(links, aligned(s + 1, TURN_POINT))


def make_multipliers(m: int, n: int) -> Multipliers:
    """Memory for m constraints of n links."""
    shapes = (m, n), (m, n), (m, m), m, (m, n), (m, n), n, (m, m), m, m, m, m, m, m
    return Multipliers(*(np.zeros(shape) for shape in shapes))


def make_law(s: int, nq: int, nv: int, rates: int) -> Law:
    """Memory for a law that there is not yet, of torques along all coordinates that have rates."""
    points = np.zeros((s + 1, rates)), np.zeros((s + 1, nv)), np.zeros((s + 1, nv))
    return Law(
        np.zeros(1, dtype=np.int64),
        np.zeros(1),
        *points,
        np.zeros(nq),
        np.zeros(nv),
        np.zeros(rates),
    )


def make_minimal(tree: Tree, nq: int, nb: int, options: Options) -> Minimal:
    """Memory for a robot, whose state is not set yet."""
    n, nv = len(tree.segments), len(tree.coordinates)
    s = 1 if tree.rule is None else len(tree.rule.c) - 1
    m = 6 if tree.rule is None else 6 * (2 * s + 1)
    held = tree.constraints
    nodes = aligned((s + 1, n + 1), NODE)
    nodes["R"][:, n] = np.eye(3)
    servos = np.zeros(nv, dtype=SERVO)
    servos["limit"] = np.inf
    work = Work(
        bases=aligned(n, BASE),
        nodes=nodes,
        chords=aligned(n, CHORD),
        origin=np.zeros(3),
        mass=make_elimination(n, 6, 1),
        step=make_elimination(n, m, s),
        x=np.zeros((s + 1, n)),
        rates=np.zeros((s + 1, n)),
        tried=np.zeros((s + 1, n)),
        residual=np.zeros((n, s)),
        size=np.zeros(n),
        scale=np.zeros(n),
        ends=np.zeros(n),
        acceleration=np.zeros(n),
        quaternion=np.zeros((4, 4)),
        law=make_law(s, nq, nv, nv),
        rotations=None if tree.rule is None else make_rotations(tree, m, s),
        multipliers=None if held is None else make_multipliers(len(held), n),
    )
    loads = Loads(np.zeros(nv), servos, np.zeros(0, dtype=MOTION), np.zeros(nb, dtype=ROW))
    return Minimal(tree, State(np.zeros(nq), np.zeros(nv), np.zeros(nv)), loads, work, options)
