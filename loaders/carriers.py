"""Carriers: light bodies for what a file gives no mass, so that a step has a solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robosim.description.body import Body, Frame, Geometry
from robosim.description.inertias import turnable
from robosim.description.massless import carried_by, idle_ends
from robosim.description.mechanism import Mechanism

# A carrier has this share of the mass and inertia of what it carries: in trees, in those that
# touch the ground, and where bodies are tied to each other or to obstacles, by loops, gears or
# contacts, whose elimination loses more digits to light bodies.
FREE_SHARE, GROUNDED_SHARE, TIED_SHARE = 1e-6, 1e-5, 1e-3
# Of a body that carries nothing: nothing that moves depends on these [kg], [kg m^2].
_MASS, _INERTIA = 1.0, 0.01


def massless(
    name: str,
    frames: Sequence[Frame],
    visuals: Sequence[Geometry],
    collisions: Sequence[Geometry],
) -> Body:
    """A carrier whose mass `with_masses` gives."""
    return Body(
        name,
        _MASS,
        _INERTIA * np.eye(3),
        frames=tuple(frames),
        visuals=tuple(visuals),
        collisions=tuple(collisions),
        carrier=True,
    )


def with_masses(mechanism: Mechanism, tied: bool, warnings: list[str]) -> Mechanism:
    """The mechanism whose carriers have a share of the mass of what they carry.

    Parameters
    ----------
    mechanism : Mechanism
    tied : bool
        Whether bodies touch each other, or obstacles.
    warnings : list of str
        Gets a sentence on bodies without mass.
    """
    carried = carried_by(mechanism)
    if not carried:
        return mechanism
    tied = tied or bool(mechanism.loop_joints or mechanism.couplings or mechanism.tendons)
    share = TIED_SHARE if tied else GROUNDED_SHARE if mechanism.contacts else FREE_SHARE
    masses = {body.name: body for body in mechanism.bodies if not body.carrier}
    bodies = []
    for body in mechanism.bodies:
        held = [masses[name] for name in carried.get(body.name, ())]
        if body.carrier and (held or masses):
            held = held or list(masses.values())
            mass = share * sum(other.mass for other in held)
            moments = [np.trace(turnable(other.inertia, other.mass)) / 3 for other in held]
            body = replace(body, mass=mass, inertia=share * sum(moments) * np.eye(3))
        bodies.append(body)
    mechanism = replace(mechanism, bodies=tuple(bodies))
    ends = idle_ends(mechanism)
    between = [name for name in carried if name not in ends]
    if between:
        warnings.append(
            f"links without mass between joints have {100 * share:g} % of the mass and inertia of "
            f"what they carry in simulations: {', '.join(sorted(between))}"
        )
    if ends:
        warnings.append(
            "nothing says how these links without mass move, so Simulation refuses them, or holds "
            f"them with massless='lock': {', '.join(ends)}"
        )
    return mechanism
