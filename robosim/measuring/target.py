"""Targets: limits for measured numbers, and their form in JSON files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Target:
    """A limit for a measured number of robosim.

    Attributes
    ----------
    what : str
        What is measured, with the conditions.
    measured, limit : float
    unit : str
        Unit of both; empty for a plain number.
    at_least : bool
        Whether the limit is the smallest allowed value instead of the largest.
    full_only : bool
        Whether only a full run can be expected to reach the limit, such as one that has the time
        to learn.
    quick : bool
        Whether the run was a quick one; set by `Experiment.judged`.
    """

    what: str
    measured: float
    limit: float
    unit: str = ""
    at_least: bool = False
    full_only: bool = False
    quick: bool = False

    @property
    def reached(self) -> bool | None:
        """Whether the measured number is within the limit; NaN never is.

        None if the run was quick, and cannot be judged by this target.
        """
        if self.full_only and self.quick and not math.isnan(self.measured):
            return None
        if self.at_least:
            return self.measured >= self.limit
        return self.measured <= self.limit

    def to_dict(self) -> dict[str, Any]:
        """The target in the form of the JSON file."""
        return {
            "what": self.what,
            "sense": "at least" if self.at_least else "at most",
            "limit": self.limit,
            "measured": self.measured,
            "unit": self.unit,
            "reached": self.reached,
        }


def plain(value: Any) -> Any:
    """A value for JSON: numpy's numbers and arrays are converted; NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
