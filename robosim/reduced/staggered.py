"""Staggered projections: reactions without friction and friction without them, in turn.

[Sueda, Algs. 7, 8]: what pushes is found with the present friction, then friction within the bounds
that this push allows, until neither changes. Algorithm 7 is here, over contact points; Algorithm 8
over the pads of bearings is in `bearings`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robosim.reduced.contacts import Touching
from robosim.reduced.solving import Equations, Solution, Unsolved, root
from robosim.validation import Array

PASSES = 10_000


class Answer(NamedTuple):
    """What the constraints do against the present friction."""

    solution: Solution
    reaction: Array  # in the metric of M^-1: what has to settle
    bounds: Array  # (k,) of tangential impulses
    alpha: Array  # (c,) normal impulses of contact points


class Resisted(NamedTuple):
    """A step with contacts and friction."""

    x: Array  # (n,)
    impulse: Array  # (n,) of all constraints and of friction
    slip: Array  # impulses of friction, which the next step begins with
    forces: Array  # (c, 3) impulses on what touches, world
    passes: int


def settled(
    answer: Callable[[Array], Answer],
    slide: Callable[[Answer, Array], Array],
    slip: Array,
    tolerance: float,
) -> tuple[Answer, Array, int]:
    """The last answer, the friction that it is to, and how many there were.

    Parameters
    ----------
    answer : from impulses of friction to reactions
    slide : from reactions and friction before to friction
    slip : impulses of friction to begin with
    tolerance : float
        Change of the reaction over its size, in the metric of M^-1 [Sueda, Alg. 7, line 14].

    Raises
    ------
    Unsolved
        Where they do not settle.
    """
    found = answer(slip)
    for k in range(2, PASSES + 2):
        before, slip = found.reaction, slide(found, slip)
        found = answer(slip)
        change = np.linalg.norm(found.reaction - before)
        if change <= tolerance * np.linalg.norm(found.reaction):
            return found, slip, k
    raise Unsolved(f"reactions and friction have not settled in {PASSES} passes")


def within(F: Array, y: Array, bounds: Array) -> Array:
    """The x (k,) with ``-bounds <= x <= bounds`` of the least ``|F x - y|`` [Sueda, Eq. 2.114].

    Raises
    ------
    Unsolved
        Where the iterations do not end.
    """
    # Not at the top: it takes longer to import than the rest.
    from scipy.optimize import lsq_linear

    x, acting = np.zeros(len(bounds)), bounds > 0.0
    if acting.any():
        # In shares of the bounds, so that the method is not led by what hardly may change.
        shares = F[:, acting] * bounds[acting]
        found = lsq_linear(shares, y, (-1.0, 1.0), method="bvls", tol=1e-15, max_iter=100 * len(x))
        if found.status == 0:
            raise Unsolved("the box of friction was not settled")
        x[acting] = found.x * bounds[acting]
    return x


def pyramids(equations: Equations, touching: Touching) -> Resisted:
    """Contacts and their friction in one problem [Sueda, Eq. 1.88].

    In terms of velocities, no edge of a pyramid may be met: ``(n + mu t) v >= least``. Sliding
    itself counts as an approach, so that a point that slides is lifted and slowed down at once.
    """
    rays, least = touching.rays()
    rays = rays @ equations.J
    found = equations.answered(np.zeros_like(equations.f), rays, least)
    pushes = -found.multipliers[len(found.multipliers) - len(rays) :]
    impulse = equations.impulse(found, rays)
    return Resisted(found.x, impulse, np.zeros(0), in_world(*touching.of_rays(pushes)), 1)


def points(equations: Equations, touching: Touching, slip: Array, tolerance: float) -> Resisted:
    """Contact points by staggered projections [Sueda, Alg. 7], in the coordinates of x."""
    N, T = touching.normals @ equations.J, touching.tangents @ equations.J
    pushed, held = root(equations.compliance(N)), root(equations.compliance(T))
    friction, beta = np.repeat(touching.friction, 2), np.zeros(len(T))

    def answer(slip: Array) -> Answer:
        found = equations.answered(slip, N, touching.least)
        alpha = -found.multipliers[len(found.multipliers) - len(N) :]
        return Answer(found, pushed.T @ alpha, friction * np.repeat(alpha, 2), alpha)

    def slide(answer: Answer, slip: Array) -> Array:
        free = T @ (answer.solution.x - equations.moved(slip))
        y = np.asarray(np.linalg.lstsq(held, free, rcond=None)[0], dtype=float)
        beta[:] = within(held.T, y, answer.bounds)
        return np.asarray(-T.T @ beta)

    found, slip, passes = settled(answer, slide, slip, tolerance)
    impulse = slip + equations.impulse(found.solution, N)
    return Resisted(found.solution.x, impulse, slip, in_world(found.alpha, -beta), passes)


def in_world(alpha: Array, tangential: Array) -> Array:
    """Impulses (c, 3) of normal (c,) and tangential ones (2 c,), the ground being z = 0."""
    return np.column_stack((tangential.reshape(-1, 2), alpha))
