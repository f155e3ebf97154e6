"""What a viewer shows while kernels are compiled: the robot at home, and the progress."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim import quaternions
from robosim.description.poses import body_poses

if TYPE_CHECKING:
    from robosim.runtime.compiling import Estimate
    from robosim.viz.viewer import Viewer

TOLD_EVERY = 0.5  # [s]
STARTING = "starting"


def show_home(viewer: Viewer) -> None:
    """Show the robot in its home pose; no kernel is compiled for this."""
    robot = viewer.robot
    poses = body_poses(robot.tree_joints, np.asarray(robot.home))
    placed = [poses[body.name] for body in robot.bodies]
    viewer.update([x for _, x in placed], [quaternions.from_matrix(R) for R, _ in placed])


@contextmanager
def waiting(viewer: Viewer) -> Iterator[None]:
    """While the block runs, show what it waits for on the page, with a bar for kernels."""
    viewer.document("waiting", {"said": STARTING, "share": None})
    # Imported after the page has been served, as this imports numba.
    from robosim.runtime.notice import CompileNotice

    ended = threading.Event()

    def look() -> None:
        while not ended.wait(TOLD_EVERY):
            spell = CompileNotice.spell
            if spell is not None and CompileNotice.compiles():
                viewer.document("waiting", told(spell.estimate()))

    thread = threading.Thread(target=look, name="robosim waiting", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        viewer.document("waiting", {"said": "", "share": None})


def told(estimate: Estimate) -> dict[str, Any]:
    """What the page is told of compiling: lines of text, and the share of the time that is over."""
    return {"said": "\n".join(("compiling, once", *estimate.texts())), "share": estimate.share}
