"""Rendering of environments: a live view in the browser, or pictures as arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.errors import OptionError
from robosim.simulation import Simulation
from robosim.viz import RealTimePacer, Viewer
from robosim.viz.drawing import Drawer

MODES = ("human", "rgb_array")


class Screen:
    """Shows a simulation according to a render mode.

    Parameters
    ----------
    mode : "human", "rgb_array" or None
    size : (width, height) [pixels]
        Size of pictures.
    open_browser : bool
        Whether the live view opens the default browser.

    Attributes
    ----------
    url : str or None
        Address of the live view, once it has been opened.

    Raises
    ------
    OptionError
        For an unknown mode.
    """

    def __init__(
        self, mode: str | None, size: tuple[int, int] = (640, 480), open_browser: bool = True
    ) -> None:
        if mode not in (None, *MODES):
            raise OptionError(f"render_mode must be one of {', '.join(MODES)}, not {mode!r}")
        self.mode, self._size, self._open = mode, size, open_browser
        self.url: str | None = None
        self._viewer: Viewer | None = None
        self._drawer: Drawer | None = None
        self._pacer: RealTimePacer | None = None

    def show(self, sim: Simulation, elapsed: float) -> None:
        """Show a simulation in the live view, in real time.

        ``elapsed`` is the simulated time [s]; the call waits until as much time has passed.
        """
        if self._viewer is None:
            self._viewer, self._pacer = Viewer(sim.robot, open_browser=self._open), RealTimePacer()
            self.url = self._viewer.url
            self._pacer.start(elapsed)
        self._viewer.show(sim)
        if self._pacer is not None:
            self._pacer.wait(elapsed)

    def picture(self, sim: Simulation) -> NDArray[np.uint8]:
        """A picture, (height, width, 3) of uint8."""
        if self._drawer is None:
            self._drawer = Drawer(sim.robot, *self._size)
        return self._drawer.picture(sim)

    def close(self) -> None:
        """Close the live view."""
        if self._viewer is not None:
            self._viewer.close()
        self._viewer, self._drawer = None, None
