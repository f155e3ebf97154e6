"""Cards on the page, from which one is chosen: what ``robosim demo`` shows."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from importlib.resources import files
from typing import Any, NamedTuple


class Choice(NamedTuple):
    """A card.

    Attributes
    ----------
    name, title, text : str
    line : str
        What makes the same, to be copied: a line for a shell, or a script.
    picture : str
        Address of a picture.
    """

    name: str
    title: str
    text: str
    line: str
    picture: str


class Choices:
    """The cards of a viewer.

    Parameters
    ----------
    send : callable(name, content)
        Sends a document to the page.
    listen : callable() -> callable() or None
        Returns what reads messages from browsers; None once there is no viewer any more.

    Attributes
    ----------
    names : list of str
        Names of the cards.
    """

    def __init__(
        self,
        send: Callable[[str, dict[str, Any]], None],
        listen: Callable[[], Callable[[], None] | None],
    ) -> None:
        self._send, self._listen = send, listen
        self.names: list[str] = []
        self._asked: str | None = None

    def offer(self, choices: Iterable[Choice]) -> None:
        """Show these cards."""
        cards = [choice._asdict() for choice in choices]
        self.names = [card["name"] for card in cards]
        self._send("choices", {"cards": cards})

    def tell(self, name: str) -> None:
        """Mark a card as the one that is shown."""
        self._send("chosen", {"name": name})

    def obey(self, command: dict[str, Any]) -> None:
        """Take a command from a browser; raises ValueError if there is no such card."""
        if command["name"] not in self.names:
            raise ValueError(f"there is no card '{command['name']}'")
        self._asked = command["name"]

    @property
    def asked(self) -> str | None:
        """The name of the card that a browser has clicked on last, None without a click."""
        listen = self._listen()
        if listen is not None:
            listen()
        return self._asked

    def taken(self) -> str | None:
        """The same, once for each click."""
        found, self._asked = self.asked, None
        return found


def picture(name: str) -> str:
    """A picture that comes with the package, as an address that has all of it."""
    content = (files("robosim.viz") / "web" / "pictures" / f"{name}.png").read_bytes()
    return f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}"
