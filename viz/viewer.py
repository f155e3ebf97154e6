"""The live view: a robot in the browser, served by a process of its own.

The simulation's process only packs a frame of poses and puts it into a slot; a thread passes the
newest one on at most 60 times a second, and a separate process serves it to browsers. Nothing
here ever waits for a browser.
"""

from __future__ import annotations

import html
import json
import logging
import secrets
import sys
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError
from robosim.viz import items
from robosim.viz.commands import CONTROLS, Command, parse
from robosim.viz.controls import Button, Controls, Signals, Slider
from robosim.viz.link import MAX_WAITING, Link, block
from robosim.viz.page import live_page
from robosim.viz.scene import LAYERS, Contacts, FrameEncoder, encode_scene

if TYPE_CHECKING:
    from robosim.simulation import Simulation

LOOPBACK = "127.0.0.1"
MAX_ITEMS = 2000
log = logging.getLogger(__name__)


class Viewer:
    """A robot live in the browser, at ``url``.

    Parameters
    ----------
    robot : Mechanism
    port : int or None
        TCP port; by default the first free one from 7000.
    open_browser : bool
        Open the default browser at ``url``.
    ground : bool
        Draw the plane z = 0.
    host : str or None
        By default the page is served to this machine only, on 127.0.0.1. An address of this
        machine, or 0.0.0.0 for all of them, serves it to others too; ``url`` then has a token,
        without which nothing is answered. The connection is not encrypted.
    ghosts : sequence of str
        Names of copies of the robot to draw translucent beside it, whose poses follow those of
        the robot in ``update``.
    quiet : bool
        By default the address is printed on stderr, for whoever is to open it.

    Raises
    ------
    OptionError
        For a port that is not an integer in 0..65535.
    ViewerError
        If the server cannot be started, as when the port is taken.

    Examples
    --------
    >>> viewer = Viewer(robot)                                              # doctest: +SKIP
    >>> viewer.show(sim)                                                    # doctest: +SKIP
    >>> viewer.arrow("push", (0, 0, 0.3), (0.2, 0, 0))                      # doctest: +SKIP
    """

    def __init__(
        self,
        robot: Mechanism,
        *,
        port: int | None = None,
        open_browser: bool = False,
        ground: bool = True,
        host: str | None = None,
        ghosts: Sequence[str] = (),
        quiet: bool = False,
    ) -> None:
        if not isinstance(robot, Mechanism):
            raise OptionError(f"robot must be a Mechanism, not {type(robot).__name__}")
        if port is not None and (
            not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= 65535
        ):
            raise OptionError(f"port must be an integer in 0..65535, not {port!r}")
        self.robot = robot
        self.host = LOOPBACK if host is None else host
        self._token = secrets.token_urlsafe(18) if host is not None else ""
        self._ground, self._ghosts = ground, tuple(ghosts)
        self._encoder = FrameEncoder(robot, copies=1 + len(ghosts))
        self._items: set[str] = set()
        self._commands: deque[Command] = deque(maxlen=MAX_WAITING)
        self._time: float | None = None
        page = live_page(f"{robot.name} - robosim", anywhere=host is not None).encode()
        scene = encode_scene(robot, ground=ground, ghosts=ghosts)
        first = [(b"T", self._token.encode()), (b"P", page), (b"S", scene)]
        self._link = Link(self.host, port, open_browser, first)
        # Neither refers to the viewer, which is to end when it is forgotten.
        mailbox = self._link.mailbox
        self._controls = Controls(
            lambda controls: mailbox.put_document("controls", _text({"controls": controls})),
            weakref.WeakMethod(self._listen),
        )
        self._signals = Signals(
            lambda charts: mailbox.put_document("signals", _text({"charts": charts})),
            mailbox.put_sample,
        )
        # Also ends the process when the viewer is forgotten or Python exits.
        self._finalizer = weakref.finalize(self, self._link.close)
        if not quiet:
            print(f"live view: {self.url}", file=sys.stderr, flush=True)

    def __repr__(self) -> str:
        where = f" at {self.url}" if self.alive else ", ended"
        return f"<Viewer of {self.robot.name!r}{where}>"

    @property
    def port(self) -> int:
        """TCP port that the page is served on."""
        return self._link.port

    @property
    def url(self) -> str:
        """Where to look."""
        host = LOOPBACK if self.host in ("0.0.0.0", "::") else self.host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/" + (f"?token={self._token}" if self._token else "")

    @property
    def alive(self) -> bool:
        """Whether the server still runs; once it does not, updates are ignored."""
        return self._finalizer.alive and self._link.process.poll() is None

    @property
    def pid(self) -> int:
        """Process number of the server."""
        return self._link.process.pid

    def update(
        self,
        x: ArrayLike,
        q: ArrayLike,
        contact_positions: ArrayLike | None = None,
        contact_forces: ArrayLike | None = None,
        time: float | None = None,
        *,
        pulls: ArrayLike | None = None,
        violations: ArrayLike | None = None,
    ) -> None:
        """Show this state; returns at once, and replaces a state that has not been sent yet.

        Parameters
        ----------
        x : (nb, 3) [m], q : (nb, 4)
            Of the bodies' centres of mass, in the world; (w, x, y, z), body to world. Those of
            ghosts follow.
        contact_positions : (nc, 3) [m], contact_forces : (nc, 3) [N], or None
            In world axes, forces on the body.
        time : [s] or None
        pulls : (n, 9) or None
            Forces to draw with a string: where they act [m], the force [N], what it pulls to [m].
        violations : (nj,) [m] or None
            Of the joints, in the order of ``robot.joints``.

        Raises
        ------
        StateError
            For wrong shapes or values that are not finite.
        """
        contacts = Contacts(contact_positions, contact_forces)
        self._time = time
        self._link.mailbox.put_frame(
            self._encoder.encode(time, x, q, contacts, pulls=pulls, violations=violations)
        )

    def show(self, sim: Simulation) -> None:
        """Show the present state of a simulation, with its contacts."""
        from robosim.viz.snapshot import snapshot

        self.update(**snapshot(sim))

    def pose(self, q: ArrayLike | None = None) -> None:
        """Show the robot at joint coordinates q (nq,), without a simulation.

        Parameters
        ----------
        q : (nq,) or None
            The home pose if None. Closed loops have to be closed by q.

        Raises
        ------
        StateError
            For a wrong shape, or values that are not finite.
        """
        # Here, as it imports numba, which a viewer alone does not need.
        from robosim.quaternions import from_matrix
        from robosim.simulation.kinematics import Kinematics

        kinematics = Kinematics(self.robot, q)
        self.update(kinematics.x, [from_matrix(R) for R in kinematics.R])

    def layers(self, **shown: bool) -> None:
        """Switch layers on or off, as the page's panel does: ``viewer.layers(names=True)``.

        Raises
        ------
        OptionError
            For a layer that there is not; `LAYERS` lists them.
        """
        for name in shown:
            if name not in LAYERS:
                raise OptionError(f"there is no layer '{name}' (known: {', '.join(LAYERS)})")
        # A document of each, as one that a browser has missed must not be lost with the next.
        for name, on in shown.items():
            self.document(f"layer {name}", {"on": bool(on)})

    def trails(self, points: Mapping[str, ArrayLike]) -> None:
        """Choose the points whose way the trails' layer draws, and switch it on.

        Parameters
        ----------
        points : mapping of a name to (3,) [m]
            By the name of a body, in its axes from the centre of mass. By the name of another
            frame, links that were merged included, in the frame's axes from its origin.

        Raises
        ------
        ModelError
            If there is no such body or frame.
        """
        chosen = []
        for name, at in points.items():
            index, frame = self.robot.body_or_frame(name)
            point = np.asarray(frame.position)
            point = point + quaternions.rotation_matrix(frame.quaternion) @ items.point(at, "point")
            chosen.append({"name": name, "body": index, "point": point.tolist()})
        self.document("trails", {"points": chosen})
        self.layers(trails=True)

    def marker(
        self, name: str, position: ArrayLike, radius: float = 0.02, color: str = "#d62728"
    ) -> None:
        """Put a ball at a position (3,) [m], or move the item of that name there."""
        self._put(name, items.marker(position, radius, color))

    def line(self, name: str, points: ArrayLike, color: str = "#1f77b4") -> None:
        """Draw a line through points (n, 3) [m]."""
        self._put(name, items.line(points, color))

    def arrow(self, name: str, start: ArrayLike, vector: ArrayLike, color: str = "#2ca02c") -> None:
        """Draw an arrow from a point (3,) [m] along a vector (3,) [m]."""
        self._put(name, items.arrow(start, vector, color))

    def text(self, name: str, position: ArrayLike, text: str, color: str = "#24303c") -> None:
        """Write at a position (3,) [m]."""
        self._put(name, items.text(position, text, color))

    def points(
        self, name: str, points: ArrayLike, size: float = 4.0, color: str = "#1f77b4"
    ) -> None:
        """Draw a cloud of points (n, 3) [m], each `size` pixels wide."""
        self._put(name, items.points(points, size, color))

    def slider(
        self, name: str, low: float, high: float, value: float | None = None, *, unit: str = ""
    ) -> Slider:
        """Put a slider of one's own into the page's panel.

        Parameters
        ----------
        name : str
            What is written beside it. The same name again replaces the slider.
        low, high : float
            Its ends.
        value : float or None
            Where it stands at first; None: at `low`.
        unit : str

        Returns
        -------
        Slider
            Whose ``value`` is where the slider stands whenever that is asked.

        Raises
        ------
        OptionError
            For ends that do not rise, a value beyond them, or a name that a button has.

        Examples
        --------
        >>> height = viewer.slider("height", 0.2, 0.35, 0.3, unit="m")      # doctest: +SKIP
        >>> height.value                                                    # doctest: +SKIP
        0.3
        """
        return self._controls.slider(name, low, high, value, unit)

    def button(self, name: str) -> Button:
        """Put a button into the page's panel; its ``pressed()`` is true once for each press.

        Raises
        ------
        OptionError
            For a name that a slider has.
        """
        return self._controls.button(name)

    def plot(
        self,
        name: str,
        value: float | Mapping[str, float],
        *,
        unit: str = "",
        time: float | None = None,
    ) -> None:
        """Add a sample to a chart of one's own, beside those of the run; returns at once.

        Parameters
        ----------
        name : str
            Of the chart; the first sample makes it.
        value : float, or mapping of name to float
            One line, or several by their names, which stay the same.
        unit : str
            Of the first sample.
        time : float or None [s]
            None: that of the state that was shown last, or, where none had a time, seconds since
            the viewer was made.

        Raises
        ------
        OptionError
            For a name that a chart of the run has, such as "energy", other lines than before, or
            what is no number.

        Examples
        --------
        >>> viewer.plot("height", {"is": z, "wanted": 0.3}, unit="m")       # doctest: +SKIP
        """
        self._signals.plot(name, value, unit, self._time if time is None else time)

    def replace(self, robot: Mechanism) -> None:
        """Show another robot from now on, in the browsers that are open too.

        Its states are those that ``update`` takes afterwards. Items, controls and charts of one's
        own stay.
        """
        scene = encode_scene(robot, ground=self._ground, ghosts=self._ghosts)
        self._encoder = FrameEncoder(robot, copies=1 + len(self._ghosts))
        self.robot = robot
        self._link.mailbox.put_scene(scene)
        for name in ("trails", "body"):  # of bodies that there may be no more
            self._link.mailbox.put_document(name, b"")

    def remove(self, name: str) -> None:
        """Take away the item, the control and the chart of that name, if there are any."""
        self._controls.remove(name)
        self._signals.remove(name)
        if name in self._items:
            self._items.discard(name)
            self._link.mailbox.put_document(f"item {name}", b"")

    def _put(self, name: str, item: Mapping[str, Any]) -> None:
        if not isinstance(name, str) or not 0 < len(name.encode()) <= 200:
            raise OptionError(f"the name of an item must be a short text, not {name!r}")
        if name not in self._items and len(self._items) >= MAX_ITEMS:
            raise OptionError(f"'{name}' would be more than {MAX_ITEMS} items: remove some")
        self._items.add(name)
        self.document(f"item {name}", item)

    def document(self, name: str, content: Mapping[str, Any]) -> None:
        """Tell the page something; it replaces what it was told under that name before."""
        if name == "panel":
            self._signals.reserve(chart["title"] for chart in content.get("charts", ()))
        self._link.mailbox.put_document(name, _text(content))

    def rows(self, rows: Sequence[ArrayLike]) -> None:
        """Send samples (n, columns) to the charts."""
        if len(rows):
            self._link.mailbox.put_rows(block(0, np.asarray(rows, dtype="<f4").tobytes()))

    def commands(self) -> list[Command]:
        """What browsers have asked of the run since the last time, checked."""
        self._listen()
        found: list[Command] = []
        while self._commands:
            found.append(self._commands.popleft())
        return found

    def _listen(self) -> None:
        """Take in what browsers have said: to sliders and buttons, or to the run."""
        for line in self._link.lines():
            try:
                command = parse(line)
                if command["do"] in CONTROLS:
                    self._controls.obey(command)
                else:
                    self._commands.append(command)
            except ValueError as error:
                self.refuse(str(error), line)

    def refuse(self, reason: str, message: object) -> None:
        """Say in the log that a message from a browser was dropped."""
        log.warning("dropped a message from a browser: %s: %.120r", reason, message)

    def wait(self, timeout: float) -> None:
        """Until a browser asks for something, but no longer than `timeout` [s]."""
        if self._link.inbox is not None:
            self._link.inbox.wait(timeout)

    def close(self) -> None:
        """Send the last state and end the server; a second time does nothing."""
        self._finalizer()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """The scene in a notebook's cell."""
        address = html.escape(self.url, quote=True)
        style = "width: 100%; height: 520px; border: 0; border-radius: 8px"
        return f'<iframe src="{address}" style="{style}"></iframe>'


def _text(content: Mapping[str, Any]) -> bytes:
    """JSON as the page reads it."""
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
