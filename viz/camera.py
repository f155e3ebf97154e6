"""Pictures of a running simulation, by a headless browser that shows the live page."""

from __future__ import annotations

import io
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.errors import ViewerError
from robosim.viz.browser import headless
from robosim.viz.rendering import check_size, show_scene_alone
from robosim.viz.viewer import Viewer

if TYPE_CHECKING:
    from robosim.description.mechanism import Mechanism
    from robosim.formulation import Formulation

_PATIENCE = 30.0  # [s] for one picture


class _Shared:
    """One headless browser for all cameras, as a thread can drive one only."""

    def __init__(self) -> None:
        self._users, self._stack = 0, ExitStack()
        self._browser: Any = None

    def take(self) -> Any:
        if self._users == 0:
            self._browser = self._stack.enter_context(headless())
        self._users += 1
        return self._browser

    def give_back(self) -> None:
        self._users -= 1
        if self._users == 0:
            self._stack.close()


_SHARED = _Shared()


class Camera:
    """Takes pictures of simulations of a robot; the view follows the robot.

    Parameters
    ----------
    robot : Mechanism
    size : (width, height) [pixels], even

    Raises
    ------
    OptionError
        For an odd size.
    ViewerError
        If there is no browser; the message says how to install one.
    """

    def __init__(self, robot: Mechanism, size: tuple[int, int] = (640, 480)) -> None:
        check_size(size)
        self._stack = ExitStack()
        browser = _SHARED.take()
        self._stack.callback(_SHARED.give_back)
        try:
            self._viewer = self._stack.enter_context(Viewer(robot, quiet=True))
            view = {"width": size[0], "height": size[1]}
            self._tab = browser.new_page(viewport=view, color_scheme="light")
            self._stack.callback(self._tab.close)
            self._tab.goto(self._viewer.url)
        except BaseException:
            self._stack.close()
            raise
        self._alone = False

    def picture(self, sim: Formulation) -> NDArray[np.uint8]:
        """A picture of the present state of a simulation, (height, width, 3) of uint8.

        Raises
        ------
        ViewerError
            If the page does not draw the state within 30 s.
        """
        from PIL import Image

        seen = "window.robosim ? robosim.frames : 0"
        before = self._tab.evaluate(seen)
        self._viewer.show(sim)
        end = time.monotonic() + _PATIENCE
        while self._tab.evaluate(seen) == before:
            if time.monotonic() > end:
                raise ViewerError("the browser has stopped drawing: close this and try again")
            time.sleep(0.002)
        if not self._alone:
            show_scene_alone(self._tab)
            self._alone = True
        return np.asarray(Image.open(io.BytesIO(self._tab.screenshot())).convert("RGB"))

    def close(self) -> None:
        """Close the page. A second call has no effect."""
        self._stack.close()
