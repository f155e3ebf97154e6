"""The home pose of a model: its reference, within limits, with couplings, above the ground."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.poses import body_poses
from robosim.loaders import placement
from robosim.loaders.loads import trees
from robosim.loaders.notes import Notes
from robosim.loaders.options import LoadOptions

Array = NDArray[np.float64]

_LEVEL = 1e-9
_SUNK = 1e-6  # [m]


def at_home(
    mechanism: Mechanism, reference: Array, options: LoadOptions, notes: Notes
) -> Mechanism:
    """The mechanism with its home pose, and with the notes as warnings.

    What is below the ground is raised, if possible, with all that joints tie it to. Contact points
    that remain below lose their ground contact.

    Parameters
    ----------
    mechanism : Mechanism
    reference : (nq,)
        The pose of the file.
    options : LoadOptions
    notes : Notes
    """
    q = _coupled(mechanism, placement.within_limits(mechanism, reference))
    mechanism = replace(mechanism, home=q, stance=options.stance_of(mechanism))
    if mechanism.stance is not None:
        q = placement.in_stance(mechanism, mechanism.stance)
    q = _raised(mechanism, q)
    sunk = _sunk(mechanism, q)
    if sunk:
        notes.add("start below the ground and so do not touch it", ", ".join(sorted(sunk)))
    contacts = tuple(c for c in mechanism.contacts if c.body not in sunk)
    warnings = (*mechanism.warnings, *notes.sentences())
    return replace(mechanism, home=q, contacts=contacts, warnings=warnings)


def _coupled(mechanism: Mechanism, q: Array) -> Array:
    """q with coupled joints moved to the values of their couplings."""
    starts = {
        joint.name: start
        for start, joint in zip(mechanism.q_offsets, mechanism.tree_joints, strict=False)
    }
    # One pass for each coupling, for chains of couplings.
    for _ in mechanism.couplings:
        for c in mechanism.couplings:
            q[starts[c.joint]] = c.ratio * q[starts[c.source]] + c.offset
    return q


def _raised(mechanism: Mechanism, q: Array) -> Array:
    """q with each robot that is below the ground raised until its lowest contact point is there."""
    q, roots = q.copy(), _roots(mechanism)
    for tied in _tied(mechanism):
        contacts = [point for point in mechanism.contacts if point.body in tied]
        gap = placement.lowest_gap(mechanism.tree_joints, contacts, q)
        own = [(joint, start) for joint, start in roots if joint.child in tied]
        upward = [_upward(joint, start, q, len(roots) == 1) for joint, start in own]
        if gap < 0 and all(way is not None for way in upward):
            for index, sign in filter(None, upward):
                q[index] -= sign * gap
    return q


def _roots(mechanism: Mechanism) -> list[tuple[Joint, int]]:
    """Joints of the world that nothing leads, and where their coordinates begin."""
    return [
        (joint, start)
        for joint, start in zip(mechanism.tree_joints, mechanism.q_offsets, strict=False)
        if joint.parent is None and joint.motion is None
    ]


def _tied(mechanism: Mechanism) -> list[set[str]]:
    """Bodies that joints tie to each other, those that close loops as well."""
    of = trees(mechanism)
    for joint in mechanism.loop_joints:
        if joint.parent is not None:
            a, b = of[joint.parent], of[joint.child]
            of = {name: a if tree == b else tree for name, tree in of.items()}
    return [{name for name, tree in of.items() if tree == k} for k in dict.fromkeys(of.values())]


def _upward(joint: Joint, start: int, q: Array, alone: bool) -> tuple[int, float] | None:
    """(coordinate, sign) that moves a joint's body, and all others with it, vertically.

    Of several robots in a file, only those on free joints are moved.
    """
    if not alone and joint.kind != "floating":
        return None
    slides = _slides(joint, q[start : start + joint.nq])
    axes = quaternions.rotation_matrix(np.asarray(joint.offset)) @ slides
    for k in range(axes.shape[1]):
        if abs(abs(axes[2, k]) - 1) < _LEVEL:
            return start + k, float(np.sign(axes[2, k]))
    return None


def _slides(joint: Joint, q: Array) -> Array:
    """Directions (3, n) in which coordinates q (nq,) move the child by pure translation."""
    if joint.own_chart is None:
        return joint.C_T
    S = joint.own_chart.columns(q)
    moves = joint.own_chart.pose(q)[:3, :3] @ S[:3]
    return np.where(np.any(S[3:], axis=0), 0.0, moves)


def _sunk(mechanism: Mechanism, q: Array) -> set[str]:
    """Bodies with contact points below the ground."""
    poses = body_poses(mechanism.tree_joints, q)
    heights = placement.heights(poses, mechanism.contacts)
    touching = zip(mechanism.contacts, heights, strict=True)
    return {contact.body for contact, height in touching if height < -_SUNK}
