"""Timings of robosim beside those of installed peers, each with the error of its answer."""

from robosim.bench.case import PEERS, Case, Setup, check_peers
from robosim.bench.registry import CASES, find, picture, to_dict
from robosim.bench.report import Report, Row, Timing
from robosim.bench.tables import markdown

__all__ = [
    "CASES",
    "PEERS",
    "Case",
    "Report",
    "Row",
    "Setup",
    "Timing",
    "check_peers",
    "find",
    "markdown",
    "picture",
    "to_dict",
]
