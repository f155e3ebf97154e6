"""A small mechanism for the viewer's tests: a floating box with two contact points, and an arm."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import Body, ContactPoint, Geometry, Joint, Mechanism


@pytest.fixture
def robot() -> Mechanism:
    """A floating box (visual: a box) with an arm that only has a collision shape."""
    box = Geometry("box", size=(0.4, 0.2, 0.1), rgba=(0.8, 0.2, 0.1, 1.0))
    rod = Geometry("cylinder", size=(0.02, 0.3), position=(0.0, 0.0, -0.15))
    return Mechanism(
        "box with arm",
        bodies=(
            Body("box", 2.0, np.eye(3) * 0.01, visuals=(box,)),
            Body("arm", 1.0, np.eye(3) * 0.01, collisions=(rod,)),
        ),
        joints=(
            Joint("base", "floating", None, "box"),
            Joint("hinge", "revolute", "box", "arm", axis=(0, 1, 0)),
        ),
        contacts=(
            ContactPoint("left", "box", (0.0, 0.1, -0.05)),
            ContactPoint("right", "box", (0.0, -0.1, -0.05)),
        ),
    )


@pytest.fixture
def state() -> dict[str, np.ndarray]:
    """Poses, contact points and forces of that mechanism."""
    return {
        "x": np.array([[0.0, 0.0, 0.05], [0.2, 0.0, 0.2]]),
        "q": np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]),
        "contact_positions": np.array([[0.0, 0.1, 0.0], [0.0, -0.1, 0.0]]),
        "contact_forces": np.array([[0.0, 1.0, 29.43], [0.0, 0.0, 0.0]]),
    }
