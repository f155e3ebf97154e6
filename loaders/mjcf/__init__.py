"""MJCF, MuJoCo's model format, to Mechanism; MuJoCo is not used."""

from __future__ import annotations

from robosim.loaders.mjcf.model import load_mjcf

__all__ = ["load_mjcf"]
