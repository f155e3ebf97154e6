"""USD stages with UsdPhysics to Mechanism."""

from __future__ import annotations

from robosim.loaders.usd.model import load_usd

__all__ = ["load_usd"]
