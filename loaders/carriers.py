"""Carriers: massless links as light bodies, so that the equations of a step have a solution.

Most links without mass need no carrier: the joints before and after such a link are one `composite`
joint. When files are written, such joints become chains again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robosim.description import chains
from robosim.description.body import Body, Frame, Geometry
from robosim.description.charts import MOST, is_independent
from robosim.description.inertias import turnable
from robosim.description.joint import Joint
from robosim.description.massless import carried_by, idle_ends
from robosim.description.mechanism import Mechanism
from robosim.description.names import free_name

# A carrier has this share of the mass and inertia of the bodies that it carries. The values are for
# free trees, for trees with ground contacts, and for connected bodies. With loops, gears or
# contacts between bodies, elimination loses more digits to light bodies.
FREE_SHARE, GROUNDED_SHARE, TIED_SHARE = 1e-6, 1e-5, 1e-3
# For a carrier that carries nothing, whose values have no effect [kg], [kg m^2].
_MASS, _INERTIA = 1.0, 0.01


def massless(
    name: str,
    frames: Sequence[Frame],
    visuals: Sequence[Geometry],
    collisions: Sequence[Geometry],
) -> Body:
    """A carrier, whose mass is set by `with_masses`."""
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
    """The mechanism with carriers that have a share of the mass of the bodies they carry.

    Parameters
    ----------
    mechanism : Mechanism
    tied : bool
        Whether bodies have contacts with each other or with obstacles.
    warnings : list of str
        Receives a warning about bodies without mass.
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
    if between and masses:
        warnings.append(
            f"links without mass between joints have {100 * share:g} % of the mass and inertia of "
            f"what they carry in simulations: {', '.join(sorted(between))}"
        )
    if ends:
        warnings.append(
            "the motion of these links without mass is undetermined, so Simulation refuses them, "
            f"or locks them with massless='lock': {', '.join(ends)}"
        )
    return mechanism


def united(mechanism: Mechanism, warnings: list[str]) -> Mechanism:
    """The mechanism with one joint in place of hinges and slides around bare carriers.

    A carrier remains if it has a shape, or a further frame, joint or spring. A carrier also remains
    between joints that are coupled, that have safety limits, or whose coordinates are dependent.

    Parameters
    ----------
    mechanism : Mechanism
    warnings : list of str
        Receives a warning about links that are no longer frames.
    """
    coupled = {name for c in mechanism.couplings for name in (c.joint, c.source)}
    single = {joint.name for joint in mechanism.tree_joints if _is_single(joint)} - coupled
    bare = _bare(mechanism)
    behind = {joint.parent: joint for joint in mechanism.tree_joints}
    taken = {name for j in mechanism.joints for name in (j.name, *j.coordinate_names)}
    waiting: dict[str | None, list[Joint]] = {}
    joints: list[Joint] = []
    gone: set[str] = set()
    for joint in mechanism.tree_joints:
        chain = [*waiting.pop(joint.parent, ()), joint]
        both = joint.child in bare and {joint.name, behind[joint.child].name} <= single
        if both and len(chain) < MOST:
            waiting[joint.child] = chain
        elif len(chain) > 1 and is_independent(chains.chart_of(chain)):
            name = free_name("+".join(each.name for each in chain), taken)
            taken.add(name)
            joints.append(chains.united(chain, name))
            gone |= {each.child for each in chain[:-1]}
        else:
            joints += chain
    if gone:
        warnings.append(
            "the joints before and behind these links without mass are one, and the links no "
            f"bodies or frames: {', '.join(sorted(gone))}"
        )
    return replace(
        mechanism,
        bodies=tuple(body for body in mechanism.bodies if body.name not in gone),
        joints=(*joints, *mechanism.loop_joints),
        excluded_pairs=tuple(p for p in mechanism.excluded_pairs if gone.isdisjoint(p)),
    )


def _is_single(joint: Joint) -> bool:
    """Whether a joint is a hinge or slide that a chart can represent without loss."""
    unlimited = not np.any(np.isfinite(np.array((joint.lower, joint.upper), dtype=float)))
    told = joint.continuous in (None, joint.kind == "revolute" and unlimited)
    plain = joint.motion is None and joint.safety is None
    return joint.kind in ("revolute", "prismatic") and told and plain


def _bare(mechanism: Mechanism) -> set[str]:
    """Carriers with exactly two joints and no other elements."""
    ends = Counter(end for joint in mechanism.joints for end in (joint.parent, joint.child))
    ends.update(end for spring in mechanism.springs for end in (spring.parent, spring.child))
    return {
        body.name
        for body in mechanism.bodies
        if body.carrier
        and (len(body.frames), ends[body.name]) == (1, 2)
        and any(joint.parent == body.name for joint in mechanism.tree_joints)
        and not (body.visuals or body.collisions)
    }


def taken_apart(mechanism: Mechanism) -> Mechanism:
    """The mechanism with chains of hinges and slides in place of charts that consist of these.

    Coordinates are unchanged, and joints have the names of the coordinates.
    """
    taken = {body.name for body in mechanism.bodies}
    taken |= {frame.name for _, frame in mechanism.frames()}
    taken |= {frame.name for frame in mechanism.world_frames}
    bodies = list(mechanism.bodies)
    joints: list[Joint] = []
    for start, joint in zip(mechanism.v_offsets, mechanism.tree_joints, strict=False):
        if not chains.is_of_hinges_and_slides(joint):
            joints.append(joint)
            continue
        names = mechanism.v_names[start : start + joint.nv]
        between = [free_name(f"{name}_link", taken) for name in names[:-1]]
        taken.update(between)
        bodies += [massless(name, (Frame(name),), (), ()) for name in between]
        joints += chains.taken_apart(joint, names, between)
    if len(bodies) == len(mechanism.bodies):
        return mechanism
    return replace(mechanism, bodies=tuple(bodies), joints=(*joints, *mechanism.loop_joints))
