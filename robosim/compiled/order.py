"""In which order the elements of a mechanism are compiled, and where their coordinates are."""

from __future__ import annotations

from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.springs import PointSpring
from robosim.description.tendon import Tendon


def all_joints(mechanism: Mechanism) -> list[Joint | PointSpring | Tendon]:
    """Joints of the tree, of loops, and springs and tendons, which are compiled to joints too."""
    return [*mechanism.joints, *mechanism.springs, *mechanism.tendons]


def driven_elements(mechanism: Mechanism) -> list[Joint | Tendon]:
    """Joints and tendons that are driven or held, in the order of the driven coordinates."""
    elements: list[Joint | Tendon] = [*mechanism.joints, *mechanism.tendons]
    return [element for element in elements if element.motion is not None]


def n_lengths(mechanism: Mechanism) -> int:
    """Number of lengths of springs and tendons, which follow the joints' coordinates."""
    return len(mechanism.springs) + len(mechanism.tendons)


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


def contact_order(mechanism: Mechanism) -> list[int]:
    """Indices of the mechanism's contacts in the model's order: sorted by body."""
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    return sorted(range(len(mechanism.contacts)), key=lambda c: index[mechanism.contacts[c].body])
