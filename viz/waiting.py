"""What a viewer shows while kernels are compiled: the robot at home, and the progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from robosim import quaternions
from robosim.description.poses import body_poses

if TYPE_CHECKING:
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
def waiting(viewer: Viewer, tell: Callable[[str], None] = lambda said: None) -> Iterator[None]:
    """While the block runs, show on the page what it waits for.

    Parameters
    ----------
    viewer : Viewer
    tell : callable(str)
        Called with the same text, from a thread, twice a second while kernels are compiled.
    """
    viewer.document("waiting", {"said": STARTING})
    # Imported after the page has been served, as this imports numba.
    from robosim.runtime.notice import CompileNotice

    before, spent = CompileNotice.kernels, CompileNotice.spent()
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(TOLD_EVERY):
            kernels, seconds = CompileNotice.kernels - before, CompileNotice.spent() - spent
            if kernels:
                said = f"compiling kernels for the first time, {kernels} in {seconds:.0f} s"
                viewer.document("waiting", {"said": said})
                tell(said)

    thread = threading.Thread(target=look, name="robosim waiting", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        viewer.document("waiting", {"said": ""})
