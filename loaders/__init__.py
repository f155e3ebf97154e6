"""Model files to Mechanism: where to find them, how to read them, what touches the ground."""

from __future__ import annotations

from robosim.loaders.sources import available, load

__all__ = ["available", "load"]
