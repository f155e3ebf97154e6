"""The live view: a robot in the browser, served by a separate process.

The simulation's process only packs a frame of poses and stores it. A thread sends the newest frame
to the server process at most 60 times a second. Nothing here ever waits for a browser.
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
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError
from robosim.viz import items
from robosim.viz.choices import Choices
from robosim.viz.commands import CONTROLS, Command, parse
from robosim.viz.controls import Button, Controls, Signals, Slider
from robosim.viz.link import MAX_WAITING, Link, block
from robosim.viz.page import live_page
from robosim.viz.scene import LAYERS, Contacts, FrameEncoder, encode_scene

if TYPE_CHECKING:
    from robosim.formulation import Formulation
    from robosim.rays.sensing import Sample

LOOPBACK = "127.0.0.1"
MAX_ITEMS = 2000
log = logging.getLogger(__name__)


class Viewer:
    """A live view of a robot in the browser, at ``url``.

    Parameters
    ----------
    robot : Mechanism
    port : int or None
        TCP port; by default the first free one from 7000.
    open_browser : bool
        Whether to open the default browser at ``url``.
    ground : bool
        Whether to draw the plane z = 0.
    host : str or None
        By default the page is served to this machine only, on 127.0.0.1. With an address of this
        machine, or 0.0.0.0 for all of its addresses, the page is served to other machines too.
        ``url`` then has a token, without which no request is answered. The connection is not
        encrypted.
    ghosts : sequence of str
        Names of translucent copies of the robot. In ``update`` their poses come after those of
        the robot.
    quiet : bool
        Whether to omit the line with the address on stderr.

    Attributes
    ----------
    choices : Choices
        Cards on the page, from which one is chosen; none by default.

    Raises
    ------
    OptionError
        For a robot that is not a Mechanism, or a port that is not an integer in 0..65535.
    ViewerError
        If the server cannot be started, for example because the port is in use.

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
        # Neither refers to the viewer, so that it can be garbage collected.
        mailbox = self._link.mailbox
        self._controls = Controls(
            lambda controls: mailbox.put_document("controls", _text({"controls": controls})),
            weakref.WeakMethod(self._listen),
        )
        self.choices = Choices(
            lambda name, content: mailbox.put_document(name, _text(content)),
            weakref.WeakMethod(self._listen),
        )
        self._signals = Signals(
            lambda charts: mailbox.put_document("signals", _text({"charts": charts})),
            mailbox.put_sample,
        )
        # Also ends the process when the viewer is garbage collected, or Python exits.
        self._finalizer = weakref.finalize(self, self._link.close)
        if not quiet:
            print(f"live view: {self.url}", file=sys.stderr, flush=True)

    def __repr__(self) -> str:
        where = f" at {self.url}" if self.alive else ", ended"
        return f"<Viewer of {self.robot.name!r}{where}>"

    @property
    def port(self) -> int:
        """TCP port of the page."""
        return self._link.port

    @property
    def url(self) -> str:
        """Address of the page, with the token if there is one."""
        host = LOOPBACK if self.host in ("0.0.0.0", "::") else self.host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/" + (f"?token={self._token}" if self._token else "")

    @property
    def alive(self) -> bool:
        """Whether the server is running. Otherwise updates are ignored."""
        return self._finalizer.alive and self._link.process.poll() is None

    @property
    def pid(self) -> int:
        """Process id of the server."""
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
        """Show a state. Returns at once, and replaces a state that has not been sent yet.

        Parameters
        ----------
        x : (nb, 3) [m], q : (nb, 4)
            Positions of the centres of mass in world axes, and orientations as quaternions
            (w, x, y, z), body to world. With k ghosts there are (1 + k) nb rows.
        contact_positions : (nc, 3) [m], contact_forces : (nc, 3) [N], or None
            Contacts, and the forces on the bodies, in world axes.
        time : float [s] or None
        pulls : (n, 9) or None
            Pulling forces, drawn with a string, in world axes: point of action (3,) [m], force (3,)
            [N] and other end of the string (3,) [m].
        violations : (nj,) [m] or None
            Violations of the joints, in the order of ``robot.joints``.

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

    def show(self, sim: Formulation, sensors: Sequence[str] = ()) -> None:
        """Show the present state of a simulation, with its contacts.

        `sensors` are names of sensors with rays, whose points are drawn; see `scan`.
        """
        from robosim.viz.snapshot import snapshot

        self.update(**snapshot(sim))
        for name in sensors:
            self.scan(sim.sample(name))  # type: ignore[attr-defined]

    def scan(self, sample: Sample, size: float = 4.0, color: str = "#e4572e") -> None:
        """Draw what a sensor with rays has measured as points, each `size` pixels wide.

        The points replace those of the sensor's sample before. A reading without any point
        removes them.

        Parameters
        ----------
        sample : Sample
            As `Simulation.sample` gives it.
        """
        name, cloud = f"sensor {sample.sensor.name}", sample.cloud
        if len(cloud):
            self.points(name, cloud, size, color)
        else:
            self.remove(name)

    def pose(self, q: ArrayLike | None = None) -> None:
        """Show the robot at joint coordinates q, without a simulation.

        Parameters
        ----------
        q : (nq,) or None
            None: the home pose. Loops must be closed at q.

        Raises
        ------
        StateError
            For a wrong shape, or values that are not finite.
        """
        # Imported here, as this imports numba, which a viewer alone does not need.
        from robosim.kinematics.kinematics import Kinematics
        from robosim.quaternions import from_matrix

        kinematics = Kinematics(self.robot, q)
        self.update(kinematics.x, [from_matrix(R) for R in kinematics.R])

    def layers(self, **shown: bool) -> None:
        """Switch layers of the page on or off, such as ``viewer.layers(names=True)``.

        Raises
        ------
        OptionError
            For an unknown layer; `robosim.viz.scene.LAYERS` lists the layers.
        """
        for name in shown:
            if name not in LAYERS:
                raise OptionError(f"there is no layer '{name}' (known: {', '.join(LAYERS)})")
        # One document for each layer, as a newer document replaces one that has not been sent.
        for name, on in shown.items():
            self.document(f"layer {name}", {"on": bool(on)})

    def trails(self, points: Mapping[str, ArrayLike]) -> None:
        """Choose the points that leave trails, and switch the layer of trails on.

        Parameters
        ----------
        points : mapping of a name to (3,) [m]
            With the name of a body: a point in body axes, from the centre of mass. With the name
            of another frame, such as a merged link: a point in the frame's axes, from its origin.

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
        """Draw a ball of a radius [m] at a position (3,) [m], world axes.

        An item is drawn under a name, and replaces an earlier item of the same name. Colors have
        the form "#rrggbb".

        Raises
        ------
        OptionError
            For a wrong shape, a value that is not finite, or an invalid name or color.
        """
        self._put(name, items.marker(position, radius, color))

    def line(self, name: str, points: ArrayLike, color: str = "#1f77b4") -> None:
        """Draw a line through points (n, 3) [m], world axes; see `marker`."""
        self._put(name, items.line(points, color))

    def arrow(self, name: str, start: ArrayLike, vector: ArrayLike, color: str = "#2ca02c") -> None:
        """Draw an arrow from a point (3,) [m] along a vector (3,) [m], world axes; see `marker`."""
        self._put(name, items.arrow(start, vector, color))

    def text(self, name: str, position: ArrayLike, text: str, color: str = "#24303c") -> None:
        """Draw a text at a position (3,) [m], world axes; see `marker`."""
        self._put(name, items.text(position, text, color))

    def points(
        self, name: str, points: ArrayLike, size: float = 4.0, color: str = "#1f77b4"
    ) -> None:
        """Draw points (n, 3) [m], world axes, each `size` pixels wide; see `marker`."""
        self._put(name, items.points(points, size, color))

    def slider(
        self, name: str, low: float, high: float, value: float | None = None, *, unit: str = ""
    ) -> Slider:
        """Add a slider to the page's panel.

        Parameters
        ----------
        name : str
            Label of the slider. A second slider of the same name replaces the first one.
        low, high : float
            Ends of the slider's range.
        value : float or None
            Initial value; None: `low`.
        unit : str

        Returns
        -------
        Slider
            An object whose ``value`` is the present value of the slider.

        Raises
        ------
        OptionError
            If `low` is not below `high`, for a value out of range, or for the name of a button.

        Examples
        --------
        >>> height = viewer.slider("height", 0.2, 0.35, 0.3, unit="m")      # doctest: +SKIP
        >>> height.value                                                    # doctest: +SKIP
        0.3
        """
        return self._controls.slider(name, low, high, value, unit)

    def button(self, name: str) -> Button:
        """Add a button to the page's panel.

        Returns
        -------
        Button
            An object whose ``pressed()`` returns True once for each press.

        Raises
        ------
        OptionError
            For the name of a slider.
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
        """Add a sample to a chart on the page, and return at once.

        Parameters
        ----------
        name : str
            Title of the chart, which is made with its first sample.
        value : float, or mapping of name to float
            The value of one line, or of several lines by their names. All samples of a chart must
            have the same lines.
        unit : str
            Unit of the values; only that of the first sample is used.
        time : float or None [s]
            None: the time of the last state that was shown. If that had no time, the time since
            the viewer was made.

        Raises
        ------
        OptionError
            For the title of a chart of the run, such as "energy", for other lines than before, or
            for values that are not numbers.

        Examples
        --------
        >>> viewer.plot("height", {"is": z, "wanted": 0.3}, unit="m")       # doctest: +SKIP
        """
        self._signals.plot(name, value, unit, self._time if time is None else time)

    def replace(self, robot: Mechanism) -> None:
        """Show another robot from now on, also in browsers that are open already.

        From now on ``update`` takes states of this robot. Items, sliders, buttons and charts of
        the script are kept.
        """
        scene = encode_scene(robot, ground=self._ground, ghosts=self._ghosts)
        self._encoder = FrameEncoder(robot, copies=1 + len(self._ghosts))
        self.robot = robot
        self._link.mailbox.put_scene(scene)
        for name in ("trails", "body"):  # of bodies that there may be no more
            self._link.mailbox.put_document(name, b"")

    def remove(self, name: str) -> None:
        """Remove the item, the slider or button, and the chart of this name, if there are any."""
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
        """Send a document to the page; it replaces an earlier document of the same name."""
        if name == "panel":
            self._signals.reserve(chart["title"] for chart in content.get("charts", ()))
        self._link.mailbox.put_document(name, _text(content))

    def rows(self, rows: Sequence[ArrayLike]) -> None:
        """Send samples (n, columns) to the charts of the run."""
        if len(rows):
            self._link.mailbox.put_rows(block(0, np.asarray(rows, dtype="<f4").tobytes()))

    def commands(self) -> list[Command]:
        """Checked commands from browsers since the last call, without those for controls."""
        self._listen()
        found: list[Command] = []
        while self._commands:
            found.append(self._commands.popleft())
        return found

    def _listen(self) -> None:
        """Read messages from browsers: to sliders and buttons, or to the run."""
        for line in self._link.lines():
            try:
                command = parse(line)
                if command["do"] in CONTROLS:
                    self._controls.obey(command)
                elif command["do"] == "choose":
                    self.choices.obey(command)
                else:
                    self._commands.append(command)
            except ValueError as error:
                self.refuse(str(error), line)

    def refuse(self, reason: str, message: object) -> None:
        """Log that a message from a browser was dropped."""
        log.warning("dropped a message from a browser: %s: %.120r", reason, message)

    def wait(self, timeout: float) -> None:
        """Wait until a browser sends a message, but no longer than `timeout` [s]."""
        if self._link.inbox is not None:
            self._link.inbox.wait(timeout)

    def close(self) -> None:
        """Send the last state and end the server. A second call has no effect."""
        self._finalizer()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """The live view as an iframe, for a notebook's cell."""
        address = html.escape(self.url, quote=True)
        style = "width: 100%; height: 520px; border: 0; border-radius: 8px"
        return f'<iframe src="{address}" style="{style}"></iframe>'


def _text(content: Mapping[str, Any]) -> bytes:
    """JSON for the page."""
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
