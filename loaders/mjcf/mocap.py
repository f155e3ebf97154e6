"""Mocap bodies that move: bodies on free joints that follow a motion.

In MuJoCo, such a body has no coordinates, and collides with nothing that is fixed to the world.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from robosim.description.inertial import Inertial
from robosim.description.joint import Joint
from robosim.description.names import free_name
from robosim.errors import LoadError
from robosim.loaders.mjcf.orientation import Pose
from robosim.loaders.mjcf.tree import PlacedJoint, TreeBody
from robosim.loaders.options import Motion

_MASS, _INERTIA = 1.0, 0.01  # [kg], [kg m^2] of a body without mass, which have no effect


@dataclass
class Moved:
    """The mocap bodies that follow motions.

    Attributes
    ----------
    joints : dict of str to str
        Names of free joints -> of their bodies.
    """

    motions: Mapping[str, Motion]
    joints: dict[str, str] = field(default_factory=dict)

    @property
    def bodies(self) -> set[str]:
        """Names of the bodies."""
        return set(self.joints.values())

    def driven(self, joint: Joint) -> Joint:
        """A joint with the motion of its body."""
        if joint.name not in self.joints:
            return joint
        return replace(joint, motion=self.motions[self.joints[joint.name]])


def with_mocap(
    bodies: list[TreeBody], inertials: list[Inertial], motions: Mapping[str, Motion]
) -> Moved:
    """Put mocap bodies on free joints, and give those without mass one.

    Raises
    ------
    LoadError
        For a name of no mocap body, or a body that is not in the world or has joints.
    """
    found = Moved(motions)
    known = {body.name: k for k, body in enumerate(bodies) if is_mocap(body)}
    for name in motions:
        if name not in known:
            raise LoadError(
                f"mocap names '{name}', which is no mocap body",
                element="<worldbody>",
                alternatives=tuple(known),
                wanted=name,
            )
        body = bodies[known[name]]
        if body.parent != 0 or body.joints:
            raise body.node.error("a mocap body must be in the world, without joints")
        joint = free_name(f"{name}_mocap", {one.name for b in bodies for one in b.joints})
        node = replace(body.node, tag="joint", attributes={"type": "free"}, children=())
        body.joints = [PlacedJoint(node, joint, Pose.identity())]
        found.joints[joint] = name
        if inertials[known[name]].mass <= 0:
            inertials[known[name]] = Inertial(_MASS, np.zeros(3), _INERTIA * np.eye(3))
    return found


def is_mocap(body: TreeBody) -> bool:
    """Whether a body is a mocap body."""
    return body.node.attributes.get("mocap") == "true"
