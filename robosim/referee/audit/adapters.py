"""The simulators that an audit knows, and how each is opened."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any

from robosim.referee.audit.runs import Array, Peer

MADE = "made"
"""The kind of an MJCF that robosim has written."""


@dataclass(frozen=True)
class Source:
    """What a simulator opens.

    Attributes
    ----------
    file : str
    kind : str
        "mjcf" or "urdf"; `MADE` for an MJCF that robosim has written.
    robot : Mechanism or None
        In robosim.
    gravity : (3,) [m/s^2] or None
    """

    file: str
    kind: str
    robot: Any
    gravity: Array | None


@dataclass(frozen=True)
class Known:
    """A simulator: what it is called, what it needs, and where its adapter is.

    Attributes
    ----------
    title : str
    module : str
        The Python module that it needs.
    install : str
        How to get it.
    adapter : str
        Module and class.
    start : float [s]
        Longest time in which it starts and loads a file.
    """

    title: str
    module: str
    install: str
    adapter: str
    start: float = 60.0


_ROOM = "robosim.referee.audit"
PEERS = {
    "mujoco": Known("MuJoCo", "mujoco", "pip install mujoco", f"{_ROOM}.in_mujoco:InMuJoCo"),
    "drake": Known("Drake", "pydrake", "pip install drake", f"{_ROOM}.in_drake:InDrake"),
    "pybullet": Known(
        "PyBullet", "pybullet", "pip install pybullet", f"{_ROOM}.in_pybullet:InPyBullet"
    ),
    # Its first start compiles kernels, which takes minutes.
    "newton": Known("Newton", "newton", "pip install newton", f"{_ROOM}.in_newton:InNewton", 600.0),
}
"""By the names of ``--peers``."""


def why_not(name: str) -> str | None:
    """Why a simulator cannot be asked; None if it can."""
    known = PEERS[name]
    if importlib.util.find_spec(known.module) is None:
        return f"{known.title} is not installed; get it with: {known.install}"
    return None


def opened_peer(adapter: str, source: Source) -> Peer:
    """A simulator with the file loaded, in this process, by module and class of its adapter.

    Raises
    ------
    PeerError
        If it cannot load the file.
    """
    module, _, made = adapter.partition(":")
    peer: Peer = getattr(importlib.import_module(module), made)(
        source.file, source.kind, source.robot, source.gravity
    )
    return peer
