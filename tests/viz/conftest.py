"""What the viewer's tests share: a small mechanism, its state, and a browser with a page.

The mechanism is a floating box with two contact points, and an arm.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from robosim import Body, ContactPoint, Geometry, Joint, Mechanism
from robosim.errors import ViewerError
from robosim.viz.browser import headless

SIZE = {"width": 960, "height": 600}


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    try:
        with headless() as found:
            yield found
    except ViewerError as error:
        if os.environ.get("ROBOSIM_BROWSER") == "required":
            raise
        pytest.skip(str(error))


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page in which nothing may go wrong."""
    context = browser.new_context(viewport=SIZE, color_scheme="light")
    # As if someone had chosen so: how fast this machine draws must not matter.
    context.add_init_script("localStorage.setItem('robosim detail', 'true')")
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on(
        "console",
        lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None,
    )
    yield opened
    context.close()
    # What the browser itself says of drawing in software, and of a server that is away, is not
    # the page's.
    said = ("GL Driver", "WebGL", "ERR_CONNECTION_REFUSED")
    assert [text for text in wrong if not any(known in text for known in said)] == []
