"""Mechanisms with loops that are closed at a pose, without a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from random_mechanisms import Array, closing_joint, random_body, random_joint

from robosim import Joint, Mechanism
from robosim.dynamics import Kinematics
from robosim.quaternions import from_matrix

LEG = (  # joints of a leg after Agility's Cassie: name, kind, parent
    ("hip_roll", "revolute", "pelvis"),
    ("hip_yaw", "revolute", "hip_roll"),
    ("hip_pitch", "revolute", "hip_yaw"),
    ("knee", "revolute", "hip_pitch"),
    ("shin", "revolute", "knee"),
    ("tarsus", "revolute", "shin"),
    ("heel", "revolute", "tarsus"),
    ("achilles", "spherical", "hip_pitch"),
    ("crank", "revolute", "tarsus"),
    ("plantar", "spherical", "crank"),
    ("foot", "revolute", "tarsus"),
)
MOTORS = ("hip_roll", "hip_yaw", "hip_pitch", "knee", "crank")
SPRINGS = ("shin", "heel")


def poses(robot: Mechanism, q: Array) -> dict[str | None, tuple[Array, Array]]:
    """(centre of mass, orientation) of all bodies and the world at tree coordinates q."""
    dense = Kinematics(robot, q)
    places = zip(robot.bodies, dense.x, dense.R, strict=True)
    found: dict[str | None, tuple[Array, Array]] = {
        body.name: (x.copy(), from_matrix(R)) for body, x, R in places
    }
    return {None: (np.zeros(3), np.array([1.0, 0, 0, 0])), **found}


def closed(
    rng: np.random.Generator,
    robot: Mechanism,
    q: Array,
    loops: Sequence[tuple[str, str | None, str]],
    **parts: float,
) -> Mechanism:
    """The tree `robot` with joints (kind, parent, child) added that are satisfied at q."""
    places = poses(robot, q)
    joints = [
        closing_joint(rng, f"loop{k}", kind, (parent, child), places, **parts)
        for k, (kind, parent, child) in enumerate(loops)
    ]
    return replace(robot, joints=(*robot.joints, *joints), home=q)


def cassie(seed: int = 0) -> tuple[Mechanism, Array]:
    """The joints, loops, springs and motors of Cassie, with random sizes; and a closed pose."""
    rng = np.random.default_rng(seed)
    bodies = [random_body(rng, "pelvis")]
    joints: list[Joint] = [Joint("base", "floating", None, "pelvis")]
    for side in ("left", "right"):
        for name, kind, parent in LEG:
            above = parent if parent == "pelvis" else f"{side}_{parent}"
            joint = random_joint(rng, f"{side}_{name}", kind, above, f"{side}_{name}")
            stiffness = 20.0 if name in SPRINGS else 0.0
            joints.append(replace(joint, actuated=name in MOTORS, stiffness=stiffness))
            bodies.append(random_body(rng, f"{side}_{name}"))
    tree = Mechanism("cassie", tuple(bodies), tuple(joints))
    q = tree.neutral()
    for begin, joint in zip(tree.q_offsets, tree.joints, strict=False):
        if joint.nv == 1:
            q[begin] = rng.uniform(-0.5, 0.5)
    loops = [
        ("spherical", f"{side}_{a}", f"{side}_{b}")
        for side in ("left", "right")
        for a, b in (("achilles", "heel"), ("plantar", "foot"))
    ]
    robot = closed(rng, tree, q, loops)
    passive = [replace(joint, actuated=False) for joint in robot.loop_joints]
    return replace(robot, joints=(*robot.tree_joints, *passive)), q
