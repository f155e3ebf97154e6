"""SDF files (SDFormat 1.4 to 1.8) to Mechanism."""

from __future__ import annotations

from robosim.loaders.sdf.model import load_sdf

__all__ = ["load_sdf"]
