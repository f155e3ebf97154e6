"""What each library does with a fault of a model; the tests run MuJoCo and Pinocchio on each.

Of versions 4.0 of MuJoCo and 4.1 of Pinocchio, and of a URDF where a file format matters.
"""

from __future__ import annotations

from collections.abc import Mapping

ROBOSIM, MUJOCO, PINOCCHIO = "robosim", "MuJoCo", "Pinocchio"


def _of(robosim: str, mujoco: str, pinocchio: str) -> Mapping[str, str]:
    return {ROBOSIM: robosim, MUJOCO: mujoco, PINOCCHIO: pinocchio}


EFFECTS: dict[str, Mapping[str, str]] = {
    "inertia": _of(
        "simulates an inertia without the triangle inequality, and refuses one that is not "
        "positive definite",
        "refuses both",
        "takes any number, and divides by it",
    ),
    "massless": _of(
        "refuses links whose motion nothing determines; massless='lock' fixes them",
        "gives a link without an inertial the mass of its collision shapes; without shapes it "
        "refuses the file",
        "loads them, and its accelerations are not finite",
    ),
    "shapes": _of(
        "simulates masses and inertias as they are given",
        "simulates them as they are given, unless inertiafromgeom is 'true'",
        "computes with them as they are given",
    ),
    "neighbours": _of(
        "solves both together, at any ratio",
        "needs an integrator and a time step for the lighter one",
        "loses as many digits of the accelerations",
    ),
    "symmetry": _of(
        "simulates both as they are given",
        "simulates both as they are given",
        "computes with both as they are given",
    ),
    "reach": _of(
        "lets both pass through each other unless self_collision is given",
        "stops the joint where both touch, but for parent and child",
        "reports a collision",
    ),
    "effort": _of(
        "keeps the limit where a controller is asked to, as PD(limit=True)",
        "clips the joint's motors to it, and takes 0 as no limit",
        "stores it, and does not use it",
    ),
    "limits": _of(
        "takes equal limits as none where the joint is no fixed one, and says so",
        "drops equal and reversed limits, with a line in its log",
        "keeps both ends as they are",
    ),
    "start": _of(
        "begins at home, which is within the limits",
        "begins at 0, from where the limit throws the joint",
        "takes 0 as neutral, outside of the limits",
    ),
    "axis": _of("scales it to length 1", "scales it to length 1", "scales it to length 1"),
    "mimic": _of(
        "couples both joints exactly",
        "makes a soft equality, which yields under load",
        "lets the joint move on its own, unless built with mimic=True",
    ),
    "names": _of(
        "refuses the file", "refuses links of one name, and accepts joints", "refuses the file"
    ),
    "missing-mesh": _of(
        "refuses a file whose collision meshes are missing, unless contacts='none'; leaves out "
        "drawn ones",
        "refuses the file",
        "loads the bodies alone",
    ),
    "hull": _of(
        "collides with the hull of the mesh, in up to 32 corners, unless convex='decompose'",
        "collides with the hull of the mesh",
        "collides with the mesh itself, by way of Coal",
    ),
    "overlap": _of(
        "leaves pairs that overlap at home out, where bodies collide with each other",
        "pushes them apart from the first step, but for parent and child",
        "reports a collision",
    ),
    "never-collide": _of(
        "lets them pass through each other unless self_collision is given",
        "lets them collide",
        "has collision pairs only where they are added",
    ),
    "no-collision": _of(
        "lets it pass through everything",
        "lets it pass through everything",
        "has no geometry of it",
    ),
    "ignored": _of(
        "does not use it, and says so",
        "skips unknown elements of a URDF in silence; refuses those of an MJCF",
        "skips it in silence",
    ),
    "base": _of(
        "floats the root unless it has no mass; --fixed-base fixes it",
        "fixes the root of a URDF to the world and drops its mass, unless <mujoco><compiler "
        "fusestatic='false'/> and a free joint are added",
        "fixes the root, unless it is built with JointModelFreeFlyer",
    ),
    "timestep": _of(
        "takes damping and springs of joints, and PD(implicit=True), at any time step",
        "is stable in stiff dampers with integrator='implicitfast'; springs and kp are explicit "
        "in all",
        "has no time step of its own",
    ),
    "damping": _of(
        "is stable at any time step",
        "is stable, as its Euler step takes damping of joints implicitly",
        "does not apply it",
    ),
    "armature": _of(
        "adds it to the inertia of the joint",
        "adds it to the inertia of the joint",
        "adds it to the mass matrix",
    ),
    "loops": _of(
        "closes it at the start, by the nearest pose in which it does",
        "pulls the loop together in the first steps, with a jerk",
        "keeps it as a constraint model, which its plain algorithms ignore",
    ),
    "solref": _of(
        "has hard contacts, without a time constant",
        "raises it to two time steps",
        "does not read it",
    ),
}
"""By check."""
