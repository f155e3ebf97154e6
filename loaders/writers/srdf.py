"""The SRDF file beside a URDF: poses, joints without actuators, excluded pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from lxml import etree

from robosim.description.contact_points import link_of
from robosim.description.mechanism import Mechanism
from robosim.description.selection import selection
from robosim.loaders.writers.parts import (
    Array,
    Lost,
    child,
    extra_contacts,
    link_in,
    named_poses,
    text,
)


def srdf(mechanism: Mechanism) -> etree._Element | None:
    """The <robot> element of an SRDF file; None if it would be empty."""
    root = etree.Element("robot", name=mechanism.name)
    for name, q in named_poses(mechanism).items():
        state = child(root, "group_state", name=name, group="all")
        for moved, values in _values(mechanism, q):
            child(state, "joint", name=moved, value=text(values))
    led = {coupling.joint for coupling in mechanism.couplings}
    for joint in mechanism.tree_joints:
        if not joint.actuated and joint.kind not in ("floating", "fixed") and joint.name not in led:
            child(root, "passive_joint", name=joint.name)
    links = _solid_links(mechanism) if mechanism.excluded_pairs else {}
    for a, b in mechanism.excluded_pairs:
        # One of the two may be an obstacle, which the format does not have.
        for link1 in links.get(a, ()):
            for link2 in links.get(b, ()):
                child(root, "disable_collisions", link1=link1, link2=link2, reason="Never")
    return root if len(root) else None


def _solid_links(mechanism: Mechanism) -> dict[str, list[str]]:
    """The links of the written file that have collision shapes, for each body."""
    names = {body.name: [shape.name for shape in body.collisions] for body in mechanism.bodies}
    for contact in extra_contacts(mechanism, Lost()):
        names[contact.body].append(link_of(contact))
    return {
        body.name: list(dict.fromkeys(link_in(body, name) for name in names[body.name]))
        for body in mechanism.bodies
    }


def _values(mechanism: Mechanism, q: Array) -> Iterator[tuple[str, Array]]:
    """(joint, its values), quaternions as (x, y, z, w)."""
    for start, joint in zip(mechanism.q_offsets, mechanism.tree_joints, strict=False):
        values = q[start : start + joint.nq]
        if joint.directions is not None:  # not available in the format
            m = joint.C_T.shape[1]
            along = selection(joint.kind, joint.axis).C_T.T @ joint.C_T @ values[:m]
            values = np.concatenate((along, values[m:]))
        if joint.has_quaternion:
            values = np.concatenate((values[:-4], values[-3:], values[-4:-3]))
        if len(values):
            yield joint.name, values
