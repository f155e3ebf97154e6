"""What environments look like: in a browser that somebody watches, or as pictures of one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.errors import OptionError
from robosim.simulation import Simulation
from robosim.viz import RealTimePacer, Viewer
from robosim.viz.camera import Camera

MODES = ("human", "rgb_array")


class Screen:
    """Shows a simulation as a render mode asks for it.

    Parameters
    ----------
    mode : "human", "rgb_array" or None
    size : (width, height) [pixels]
        Of pictures.
    open_browser : bool
        Whether the live view opens the default browser.

    Attributes
    ----------
    url : str or None
        Where to look, once a live view has begun.
    """

    def __init__(
        self, mode: str | None, size: tuple[int, int] = (640, 480), open_browser: bool = True
    ) -> None:
        if mode not in (None, *MODES):
            raise OptionError(f"render_mode must be one of {', '.join(MODES)}, not {mode!r}")
        self.mode, self._size, self._open = mode, size, open_browser
        self.url: str | None = None
        self._viewer: Viewer | None = None
        self._camera: Camera | None = None
        self._pacer: RealTimePacer | None = None

    def show(self, sim: Simulation, elapsed: float) -> None:
        """Show where a simulation is, not before this time [s] since the view began."""
        if self._viewer is None:
            self._viewer, self._pacer = Viewer(sim.robot, open_browser=self._open), RealTimePacer()
            self.url = self._viewer.url
            self._pacer.start(elapsed)
        self._viewer.show(sim)
        if self._pacer is not None:
            self._pacer.wait(elapsed)

    def picture(self, sim: Simulation) -> NDArray[np.uint8]:
        """A picture (height, width, 3)."""
        if self._camera is None:
            self._camera = Camera(sim.robot, self._size)
        return self._camera.picture(sim)

    def close(self) -> None:
        """End the live view and the browser."""
        if self._viewer is not None:
            self._viewer.close()
        if self._camera is not None:
            self._camera.close()
        self._viewer, self._camera = None, None
