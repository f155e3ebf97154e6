"""Loading of model files into a `Mechanism`: search, parsing, contact points."""

from __future__ import annotations

from robosim.loaders.soft_meshes import soft
from robosim.loaders.sources import available, load

__all__ = ["available", "load", "soft"]
