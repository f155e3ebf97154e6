"""Comparison with other libraries that have read the same model file."""

from __future__ import annotations

from robosim.loaders.peers import compare
from robosim.peers.comparison import (
    LARGEST_ANGLE,
    LARGEST_LENGTH,
    TOLERANCE,
    Comparison,
    Row,
    random_state,
)

__all__ = [
    "LARGEST_ANGLE",
    "LARGEST_LENGTH",
    "TOLERANCE",
    "Comparison",
    "Row",
    "compare",
    "random_state",
]
