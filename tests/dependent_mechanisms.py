"""Mechanisms whose coordinates depend on each other or on time, which a tree's equations lack."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robosim import Body, Coupling, Joint, Mechanism, Tendon
from robosim.tendons import Term


def bar(**parts):
    """Two hinges, with what makes them depend on each other or on time."""
    joints = tuple(Joint(n, "revolute", None, n, axis=(0, 1, 0)) for n in "ab")
    joints += parts.pop("joints", ())
    bodies = tuple(Body(n, 1.0, np.eye(3)) for n in "ab")
    return Mechanism("bar", bodies, joints, **parts)


# A robot, and what names in a message what it has.
DEPENDENT = [
    (bar(joints=(Joint("pin", "spherical", "a", "b"),)), "'pin', which closes a loop"),
    (bar(couplings=(Coupling("gear", "b", "a"),)), "coupling 'gear'"),
    (bar(tendons=(Tendon("rod", (Term("a"), Term("b")), lower=0, upper=0),)), "tendon 'rod'"),
    (replace(bar(), joints=(replace(bar().joints[0], motion=np.sin), bar().joints[1])),
     "motion of joint 'a'"),
]  # fmt: skip
