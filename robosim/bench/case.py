"""Benchmarks, and the options of their runs."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from robosim.bench.report import Report, Row
from robosim.errors import OptionError
from robosim.version import install

# Peer -> (module, its name in rows, the extra that installs it).
PEERS = {
    "mujoco": ("mujoco", "MuJoCo", "peers"),
    "pinocchio": ("pinocchio", "Pinocchio", "pinocchio"),
    "pybullet": ("pybullet", "PyBullet", "engines"),
    "drake": ("pydrake", "Drake", "engines"),
    "newton": ("newton", "Newton (Kamino)", "engines"),
    "genesis": ("genesis", "Genesis", "genesis"),
}


@dataclass(frozen=True)
class Setup:
    """How a case is to be run.

    Attributes
    ----------
    quick : bool
        Shorter runs and fewer sizes, to try a benchmark out.
    peers : tuple of str
        The peers to run; a row says which of these are not installed.
    self_collision : bool
        Whether links of a robot may touch each other, in cases that ask for it.
    note : callable
        Called with a short text that says what is being run.
    """

    quick: bool = False
    peers: tuple[str, ...] = tuple(PEERS)
    self_collision: bool = False
    note: Callable[[str], None] = field(default=lambda text: None)

    def choose(self, full: Any, quick: Any) -> Any:
        """The value for a full or for a quick run."""
        return quick if self.quick else full

    @property
    def repetitions(self) -> int:
        """How many times each run is repeated."""
        return 3 if self.quick else 9

    def has(self, peer: str) -> bool:
        """Whether a peer is to be run and is installed."""
        return peer in self.peers and installed(peer)

    def missing(self, *peers: str) -> tuple[Row, ...]:
        """One row for each requested peer of a case that is not installed."""
        return tuple(
            Row(PEERS[peer][1], "", None, note=f"not installed: {install(PEERS[peer][2])}")
            for peer in peers
            if peer in self.peers and not installed(peer)
        )


@dataclass(frozen=True)
class Case:
    """A benchmark with its name.

    Attributes
    ----------
    name : str
    title : str
        One line for a listing.
    peers : tuple of str
        The peers that the case can run.
    run : callable(setup) -> Report
    """

    name: str
    title: str
    peers: tuple[str, ...]
    run: Callable[[Setup], Report]


def installed(peer: str) -> bool:
    """Whether a peer can be imported."""
    return importlib.util.find_spec(PEERS[peer][0]) is not None


def check_peers(names: list[str]) -> tuple[str, ...]:
    """Check the names of peers.

    Raises
    ------
    OptionError
        If a name is unknown.
    """
    for name in names:
        if name not in PEERS:
            raise OptionError(f"unknown peer '{name}' (known: {', '.join(PEERS)})")
    return tuple(names)


def versions() -> dict[str, str | None]:
    """Version of each peer, None for one that is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    distributions = {
        "mujoco": "mujoco",
        "pinocchio": "pin",
        "pybullet": "pybullet",
        "drake": "drake",
        "newton": "newton",
        "genesis": "genesis-world",
    }
    found: dict[str, str | None] = {}
    for peer, distribution in distributions.items():
        try:
            found[peer] = version(distribution)
        except PackageNotFoundError:
            found[peer] = None
    return found
