"""Lengths of arrays inside of records."""

from __future__ import annotations

MAX_FACETS = 16  # of the linearized friction cone
TRENDS = 4  # of errors of guesses: the error, its change, the change of this, and one more
