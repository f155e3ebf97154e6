"""Errors of robosim and its peers over CPU time, on motions whose right answer is known.

Each peer has a script of its own for each motion, in the words of its own library and with the
settings that its documentation recommends. The scripts are run as they are, in processes.
"""

from __future__ import annotations

from robosim.bench.referee.race import CASES

__all__ = ["CASES"]
