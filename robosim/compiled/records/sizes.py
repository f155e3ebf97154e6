"""Lengths of arrays inside of records."""

from __future__ import annotations

MAX_FACETS = 16  # of the linearized friction cone
TRENDS = 4  # of what guesses miss: that, how it changes, how this does, and once more
