"""What holds in every motion: energy, velocities, constraints."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..builder import Array, Case

STEPS = 120
WINDOW = 3
"""Knots before a step of which the one with most energy counts, as at an impact the velocity of a
knot is that halfway between those of the steps beside it."""


RESTS = 1e-6
"""Gap [m] of contacts that stay closed."""


class Trace(NamedTuple):
    """The knots of a motion, and what the steps between them came to."""

    q: Array  # (n + 1, nq)
    v: Array  # (n + 1, nv)
    energy: Array  # (n + 1,)
    turn: Array  # (n + 1,) fastest body [rad/s]
    gap: Array  # (n,)
    violation: Array  # (n,)
    rates: Array  # (n, nv) of the coordinates over the steps
    metric: Array  # (n + 1, nv, nv) mass matrices


@lru_cache(maxsize=4)
def trace(case: Case, parts: int = 1) -> Trace:
    """A motion step by step, or with steps in so many parts."""
    sim = case.simulation(timestep=case.timestep / parts)
    tangent = sim.dynamics
    knots, steps = [(sim.q, sim.v, sim.energy(), np.abs(sim.state.omega).max())], []
    for _ in range(parts * STEPS):
        log = case.run(sim, 1)
        knots.append((sim.q, sim.v, sim.energy(), np.abs(sim.state.omega).max()))
        steps.append((log.samples.gap[0], log.violation[0]))
    q, v, energy, turn = (np.array(each) for each in zip(*knots, strict=True))
    gap, violation = np.array(steps).T
    rates = np.array([tangent.difference(a, b) for a, b in pairwise(q)])
    rates /= sim.timestep
    return Trace(q, v, energy, turn, gap, violation, rates, tangent.mass_matrix(q))


def scale(case: Case) -> float:
    """The energy of a fall by a hand's breadth [J]."""
    return 9.81 * 0.1 * case.robot.total_mass


def bound(case: Case, found: Trace) -> float:
    """What the scheme may make the energy swing by in a step: second order in turns per step.

    Coordinates of charts turn faster than their bodies near singularities.
    """
    turn = max(float(found.turn.max()), float(np.abs(found.rates).max())) * case.timestep
    return (1e-3 + 0.02 * turn**2) * scale(case)


def no_energy_from_nothing(case: Case) -> bool:
    """No step without a motor gains more than `bound`, beyond the knots just before.

    More may be the scheme's where something is fast, and is then less in steps of a quarter.
    """
    if case.motors:
        return False
    found = trace(case)
    gain = most_gained(found)
    if gain > bound(case, found):
        again = most_gained(trace(case, 4))
        assert again < 0.5 * gain, f"a step gains {gain:.3g} J, and one of a quarter {again:.3g} J"
    return True


def most_gained(found: Trace) -> float:
    """The largest gain of energy in a step [J]."""
    energy = found.energy
    before = [energy[max(0, k - WINDOW) : k + 1].max() for k in range(len(energy) - 1)]
    return float((energy[1:] - before).max())


def ideal_motion_keeps_its_energy(case: Case) -> bool:
    """Without motors, friction and dampers, and with restitution 1, energy stays as it is.

    Until a bounce is too short for a step (docs/contacts.md), and without legs, which make many
    such. The bound is that of the swing, and 3 % of the largest kinetic energy. More may be the
    scheme's where something is fast, and is then less with steps of a quarter.
    """
    twin = case.twin("ideal")
    found = trace(twin)
    kinetic = 0.5 * np.einsum("ki,kij,kj->k", found.v, found.metric, found.v).max()
    off = most_changed(found)
    if off > 5 * bound(twin, found) + 0.03 * kinetic:
        less = most_changed(trace(twin, 4))
        assert less < 0.35 * off, f"the energy changes by {off:.3g} J, in quarters by {less:.3g} J"
    return True


def most_changed(found: Trace) -> float:
    """How far the energy gets from that of the start, as long as nothing stays closed [J]."""
    rests = np.flatnonzero((found.gap[:-1] < RESTS) & (found.gap[1:] < RESTS))
    end = int(rests[0]) + 1 if len(rests) else len(found.gap) + 1
    off = np.abs(found.energy - found.energy[0])[:end]
    return float(np.where(impacts(found)[:end], 0.0, off).max())


def sizes(found: Trace, vectors: Array) -> Array:
    """Lengths of velocities (n, nv) at the inner knots, in the mass metric."""
    return np.sqrt(np.einsum("ki,kij,kj->k", vectors, found.metric[1:-1], vectors))


def changes(found: Trace) -> Array:
    """How much the rates change at each inner knot, or at those beside; also from the start."""
    here = sizes(found, np.diff(found.rates, axis=0))
    beside, begin = np.pad(here, 1), 2.0 * (found.rates[0] - found.v[0])
    beside[0] = np.sqrt(begin @ found.metric[0] @ begin)
    return np.maximum(here, np.maximum(beside[:-2], beside[2:]))


def impacts(found: Trace) -> Array:
    """Knots at which the rates change at once, as at an impact, and those beside, (n + 1,)."""
    change = np.pad(changes(found), 1)
    return change > 10 * (np.median(change) + 1e-12)


def velocities_belong_to_the_motion(case: Case) -> bool:
    """`v` is as near to the rates of `q` over both steps beside as these are to each other.

    Half as much again is allowed, and a seventh of what a free fall changes in a step. With
    restitution, half of that fall is allowed as well: what has come back within a step flies on
    freely, and the rate of the next step is off by so much. Not with limits that bounce: what is
    pressed onto them may be hit and come back within each step.
    """
    if "bouncing_limits" in case.features:
        return False
    found = trace(case)
    part = 0.65 if "restitution" in case.features else 0.15
    floor = part * 9.81 * case.timestep * np.sqrt(case.robot.total_mass)
    off = sizes(found, found.v[1:-1] - found.rates[:-1]) - 1.5 * changes(found) - floor
    k = int(np.argmax(off))
    worst = int(np.argmax(np.abs(found.v[k + 1] - found.rates[k])))
    assert off[k] <= 0, (
        f"at knot {k + 1} v of '{case.robot.v_names[worst]}' is {found.v[k + 1][worst]:.5g}, where "
        f"its rate is {found.rates[k][worst]:.5g} before and {found.rates[k + 1][worst]:.5g} after"
    )
    return True


def constraints_hold(case: Case) -> bool:
    """Joints to 1e-9, hard limits to 1e-7, hard gaps to 1e-8 m; a rim as docs/reliability.md tells.

    When a bounce begins is foretold by a motion without the contact, which is off by 1e-7 m.
    Loops and couplings give the joints a compliance, for which it is ten times as much.
    """
    found = trace(case)
    tied = bool(case.robot.loop_joints or case.robot.couplings)
    assert found.violation.max() < (1e-8 if tied else 1e-9), (
        f"a joint is violated by {found.violation.max():.3g}"
    )
    rims = {"cylinder", "on_cylinder"} & set(case.features)
    depth = 1e-7 if "restitution" in case.features else 1e-8
    depth = 4.0 * case.timestep**2 if rims else depth
    depth = np.inf if "compliant" in case.features else depth
    assert found.gap.min() >= -depth, f"a contact is {-found.gap.min():.3g} m deep"
    for joint, begin in zip(case.robot.tree_joints, case.robot.q_offsets, strict=False):
        if joint.motion is None and not joint.has_quaternion and joint.limit_stiffness is None:
            q = found.q[:, begin : begin + joint.nq]
            over = max(
                np.max(np.asarray(joint.lower) - q, initial=0.0),
                np.max(q - np.asarray(joint.upper), initial=0.0),
            )
            assert over < 1e-7, f"'{joint.name}' is {over:.3g} beyond its limits"
    if case.options.get("velocity_limits"):
        for joint, begin in zip(case.robot.tree_joints, case.robot.v_offsets, strict=False):
            v = np.abs(found.v[1:, begin : begin + joint.nv])
            over = np.max(v - joint.per_coordinate("velocity_limit"), initial=0.0)
            assert joint.motion is not None or over < 1e-6, (
                f"'{joint.name}' is {over:.3g} faster than its limit"
            )
    for tendon in case.robot.tendons:
        if np.isfinite(tendon.upper) and tendon.limit_stiffness is None:
            lengths = [lengths_of(case, tendon.path, q) for q in found.q]
            assert max(lengths) < tendon.upper + 1e-7, f"'{tendon.name}' is too long"
    return True


def lengths_of(case: Case, path: tuple, q: Array) -> float:
    """The length of a straight path from a point of the world to one of a body."""
    from robosim.dynamics import Kinematics

    world, end = path
    places = Kinematics(case.robot, q)
    i = case.robot.body_index(end.body)
    point = places.x[i] + places.R[i] @ np.asarray(end.position)
    return float(np.linalg.norm(point - np.asarray(world.position)))


CHECKS = (
    no_energy_from_nothing,
    ideal_motion_keeps_its_energy,
    velocities_belong_to_the_motion,
    constraints_hold,
)
