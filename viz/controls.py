"""Sliders, buttons and charts that a script adds to the page."""

from __future__ import annotations

import math
import threading
import time as clock
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.errors import OptionError

MAX_CONTROLS = 200
MAX_SIGNALS = 200
MAX_LINES = 200  # in a chart
_LONGEST = 100  # characters of a name


class Slider:
    """A slider on the page, made by `Viewer.slider`.

    ``value`` is the present value. Setting ``value`` moves the slider in all browsers.

    Attributes
    ----------
    name, unit : str
    low, high : float
        Ends of the range.
    """

    def __init__(
        self, name: str, low: float, high: float, value: float, unit: str, owner: Controls
    ) -> None:
        self.name, self.low, self.high, self.unit = name, low, high, unit
        self._value, self._owner = value, owner

    @property
    def value(self) -> float:
        """The present value, in the slider's unit.

        Raises
        ------
        OptionError
            When it is set to a value out of range.
        """
        self._owner.listen()
        return self._value

    @value.setter
    def value(self, value: float) -> None:
        self._value = _within(value, self.low, self.high, f"the value of '{self.name}'")
        self._owner.tell()

    def moved(self, value: float) -> None:
        """Take a value from a browser; raises ValueError if it is out of range."""
        if not self.low <= value <= self.high:
            raise ValueError(f"'{self.name}' goes from {self.low:g} to {self.high:g}")
        self._value = float(value)

    def described(self) -> dict[str, Any]:
        """The description of the slider that is sent to the page."""
        return {
            "kind": "slider",
            "name": self.name,
            "low": self.low,
            "high": self.high,
            "value": self._value,
            "unit": self.unit,
        }


class Button:
    """A button on the page, made by `Viewer.button`.

    Attributes
    ----------
    name : str
    """

    def __init__(self, name: str, owner: Controls) -> None:
        self.name, self._owner = name, owner
        self._presses = 0

    def pressed(self) -> bool:
        """Whether there is a press that no earlier call has returned; True once for each press."""
        self._owner.listen()
        waiting = self._presses > 0
        self._presses -= waiting
        return waiting

    def press(self) -> None:
        """Press the button, as a browser does."""
        self._presses += 1

    def described(self) -> dict[str, Any]:
        """The description of the button that is sent to the page."""
        return {"kind": "button", "name": self.name}


class Controls:
    """The sliders and buttons of a viewer.

    Parameters
    ----------
    tell : callable(list of dict)
        Sends the descriptions of all controls to the page.
    listen : callable() -> callable() or None
        Returns the function that reads messages from browsers, or None if the viewer is gone.
    """

    def __init__(
        self,
        tell: Callable[[list[dict[str, Any]]], None],
        listen: Callable[[], Callable[[], None] | None],
    ) -> None:
        self._tell, self._listen = tell, listen
        self._known: dict[str, Slider | Button] = {}

    def slider(self, name: str, low: float, high: float, value: float | None, unit: str) -> Slider:
        """Add a slider, or replace the slider of this name; see `Viewer.slider`."""
        self._check(name, Slider)
        low, high = (_number(end, f"an end of '{name}'") for end in (low, high))
        if not low < high:
            raise OptionError(f"the ends of '{name}' must differ and rise, not {low:g} to {high:g}")
        start = low if value is None else value
        start = _within(start, low, high, f"the value of '{name}'")
        if not isinstance(unit, str) or len(unit) > _LONGEST:
            raise OptionError(f"the unit of '{name}' must be a short text, not {unit!r:.60}")
        made = self._known[name] = Slider(name, low, high, start, unit, self)
        self.tell()
        return made

    def button(self, name: str) -> Button:
        """Add a button, or return the button of this name; see `Viewer.button`."""
        self._check(name, Button)
        found = self._known.get(name)
        made = found if isinstance(found, Button) else Button(name, self)
        self._known[name] = made
        self.tell()
        return made

    def _check(self, name: str, kind: type[Slider] | type[Button]) -> None:
        check_name(name, "control")
        found = self._known.get(name)
        if found is not None and not isinstance(found, kind):
            taken = type(found).__name__.lower()
            raise OptionError(
                f"'{name}' is the name of a {taken} already: choose another name, "
                f"or remove the {taken} first with viewer.remove('{name}')"
            )
        if found is None and len(self._known) >= MAX_CONTROLS:
            raise OptionError(f"'{name}' would be more than {MAX_CONTROLS} controls: remove some")

    def listen(self) -> None:
        """Read messages from browsers."""
        take = self._listen()
        if take is not None:
            take()

    def tell(self) -> None:
        """Send the descriptions of all controls to the page."""
        self._tell([control.described() for control in self._known.values()])

    def remove(self, name: str) -> None:
        """Remove the control of this name, if there is one."""
        if self._known.pop(name, None) is not None:
            self.tell()

    def obey(self, command: Mapping[str, Any]) -> None:
        """Execute a command for a slider or a button; raises ValueError for an unknown one."""
        found = self._known.get(command["name"])
        if command["do"] == "slider" and isinstance(found, Slider):
            found.moved(command["value"])
            self.tell()
        elif command["do"] == "press" and isinstance(found, Button):
            found.press()
        else:
            raise ValueError("there is no such control")


class Signals:
    """The charts that a script adds to a viewer. The lines of a chart never change.

    Parameters
    ----------
    tell : callable(list of dict)
        Sends the descriptions of all charts to the page.
    send : callable(int, bytes)
        Sends a sample: the chart's number, and time and values as float32.
    """

    def __init__(
        self, tell: Callable[[list[dict[str, Any]]], None], send: Callable[[int, bytes], None]
    ) -> None:
        self._tell, self._send = tell, send
        self._known: dict[str, dict[str, Any]] = {}
        self._taken: set[str] = set()
        self._next = 1  # 0 is for the charts of the run
        self._begun = clock.monotonic()
        self._lock = threading.Lock()

    def reserve(self, titles: Iterable[str]) -> None:
        """Reserve titles for the charts of the run."""
        self._taken = set(titles)

    def plot(
        self, name: str, value: float | Mapping[str, float], unit: str, time: float | None
    ) -> None:
        """Add a sample at a time [s]; None: the time since the viewer was made.

        Raises
        ------
        OptionError
            As `Viewer.plot`.
        """
        check_name(name, "chart")
        if name in self._taken:
            raise OptionError(
                f"the chart '{name}' is one of the run itself: choose another name, "
                f"such as 'my {name}'"
            )
        lines = list(value) if isinstance(value, Mapping) else [name]
        values = list(value.values()) if isinstance(value, Mapping) else [value]
        if not 1 <= len(lines) <= MAX_LINES or not all(isinstance(line, str) for line in lines):
            raise OptionError(f"'{name}' needs 1 to {MAX_LINES} named lines, not {lines!r:.80}")
        row = [_number(one, f"a value of '{name}'", finite=False) for one in values]
        at = clock.monotonic() - self._begun if time is None else _number(time, "time")
        with self._lock:
            known = self._known.get(name)
            if known is None:
                known = self._begin(name, lines, unit)
            if known["names"] != lines:
                raise OptionError(
                    f"the chart '{name}' has the lines {', '.join(known['names'])}, not "
                    f"{', '.join(lines)}: choose another name, or make a new chart after "
                    f"viewer.remove('{name}')"
                )
        self._send(known["id"], np.array([at, *row], dtype="<f4").tobytes())

    def _begin(self, name: str, lines: list[str], unit: str) -> dict[str, Any]:
        if len(self._known) >= MAX_SIGNALS:
            raise OptionError(f"'{name}' would be more than {MAX_SIGNALS} charts: remove some")
        if not isinstance(unit, str) or len(unit) > _LONGEST:
            raise OptionError(f"the unit of '{name}' must be a short text, not {unit!r:.60}")
        made = {"id": self._next, "title": name, "unit": unit, "names": lines}
        self._next += 1
        self._known[name] = made
        self._tell(list(self._known.values()))
        return made

    def remove(self, name: str) -> None:
        """Remove the chart of this name, if there is one."""
        if self._known.pop(name, None) is not None:
            self._tell(list(self._known.values()))


def check_name(name: str, what: str) -> None:
    """Raise an OptionError for an empty or too long name."""
    if not isinstance(name, str) or not 0 < len(name.strip()) <= _LONGEST:
        raise OptionError(f"the name of a {what} must be a short text, not {name!r:.60}")


def _number(value: ArrayLike, what: str, finite: bool = True) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise OptionError(f"{what} must be a number, not {value!r:.60}") from None
    if finite and not math.isfinite(number):
        raise OptionError(f"{what} must be finite, not {number}")
    return number


def _within(value: float, low: float, high: float, what: str) -> float:
    number = _number(value, what)
    if not low <= number <= high:
        raise OptionError(f"{what} must be from {low:g} to {high:g}, not {number:g}")
    return number
