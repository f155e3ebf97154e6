"""Staggered projections: normal reactions and friction, solved in alternation.

In [Sueda, Algs. 7, 8], reactions are solved with the present friction, then friction within the
bounds that these reactions allow, until neither changes. Algorithm 7 is here, for contact points.
Algorithm 8, for the pads of bearings, is in `bearings`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robosim.reduced.contacts import Touching
from robosim.reduced.solving import Equations, Solution, Unsolved, root
from robosim.validation import Array

WHOLE = 100  # passes until friction goes only half of the way, so that turns do not repeat a cycle
PASSES = 10_000


class Answer(NamedTuple):
    """The reactions of constraints to the present friction."""

    solution: Solution
    reaction: Array  # in the metric of M^-1; has to converge
    bounds: Array  # (k,) of tangential impulses
    alpha: Array  # (c,) normal impulses of contact points


class Resisted(NamedTuple):
    """A step with contacts and friction."""

    x: Array  # (n,)
    impulse: Array  # (n,) of all constraints and of friction
    slip: Array  # impulses of friction, the initial guess of the next step
    forces: Array  # (c, 3) impulses on active contacts, along their tangents and normals
    passes: int


def settled(
    answer: Callable[[Array], Answer],
    slide: Callable[[Answer, Array], Array],
    slip: Array,
    tolerance: float,
) -> tuple[Answer, Array, int]:
    """The last reactions, the friction they react to, and the number of solutions.

    Parameters
    ----------
    answer : from impulses of friction to reactions
    slide : from reactions and the previous friction to friction
    slip : impulses of friction, the initial guess
    tolerance : float
        Change of the reaction over its size, in the metric of M^-1 [Sueda, Alg. 7, line 14].

    Raises
    ------
    Unsolved
        If the iterations do not converge.
    """
    found = answer(slip)
    for k in range(2, PASSES + 2):
        share = 1.0 if k < WHOLE else 0.5
        before, slip = found.reaction, (1.0 - share) * slip + share * slide(found, slip)
        found = answer(slip)
        change = np.linalg.norm(found.reaction - before)
        if change <= tolerance * share * np.linalg.norm(found.reaction):
            return found, slip, k
    raise Unsolved(f"reactions and friction have not settled in {PASSES} passes")


def within(F: Array, y: Array, bounds: Array) -> Array:
    """The x (k,) with ``-bounds <= x <= bounds`` that minimizes ``|F x - y|`` [Sueda, Eq. 2.114].

    Raises
    ------
    Unsolved
        If the iterations do not converge.
    """
    # Imported here, because scipy.optimize takes longer to import than the rest.
    from scipy.optimize import lsq_linear

    x, acting = np.zeros(len(bounds)), bounds > 0.0
    if acting.any():
        # Unknowns are relative to their bounds, so that the method scales well with tight bounds.
        shares = F[:, acting] * bounds[acting]
        found = lsq_linear(shares, y, (-1.0, 1.0), method="bvls", tol=1e-15, max_iter=100 * len(x))
        if found.status == 0:
            raise Unsolved("the box of friction was not settled")
        x[acting] = found.x * bounds[acting]
    return x


def pyramids(equations: Equations, touching: Touching) -> Resisted:
    """Contacts and their friction in one problem [Sueda, Eq. 1.88].

    For velocities, this is ``(n + mu t) v >= least`` for all edges of a pyramid. Sliding counts as
    an approach, so that a sliding point is lifted and slowed down at once.
    """
    rays, least = touching.rays()
    rays = rays @ equations.J
    found = equations.answered(np.zeros_like(equations.f), rays, least)
    pushes = -found.multipliers[len(found.multipliers) - len(rays) :]
    impulse = equations.impulse(found, rays)
    return Resisted(found.x, impulse, np.zeros(0), together(*touching.of_rays(pushes)), 1)


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
    return Resisted(found.solution.x, impulse, slip, together(found.alpha, -beta), passes)


def together(alpha: Array, tangential: Array) -> Array:
    """Impulses (c, 3) of contacts from normal (c,) and tangential ones (2 c,)."""
    return np.column_stack((tangential.reshape(-1, 2), alpha))
