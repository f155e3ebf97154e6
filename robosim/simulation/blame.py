"""Whom a warning points to."""

from __future__ import annotations

import sys


def user_level() -> int:
    """The stacklevel at which a warning points to who called robosim."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("robosim."):
        frame, level = frame.f_back, level + 1
    return level
