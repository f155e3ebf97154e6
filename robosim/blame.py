"""The code that a warning refers to."""

from __future__ import annotations

import sys


def user_level() -> int:
    """The stacklevel with which a warning refers to the code that called robosim."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("robosim."):
        frame, level = frame.f_back, level + 1
    return level
