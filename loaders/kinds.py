"""Kinds of model files, by the names of files and by their contents."""

from __future__ import annotations

from pathlib import Path

from robosim import safe_xml

URDF, XACRO, MJCF, SDF, USD = "URDF", "xacro", "MJCF", "SDF", "USD"
USD_SUFFIXES = (".usda", ".usd", ".usdc", ".usdz")
SUFFIXES = (".urdf", ".xml", ".xacro", ".sdf", ".world", *USD_SUFFIXES)
"""Of files that can be loaded, the likeliest first."""
SUFFIX_OF = {"mujoco": ".xml", "sdf": ".sdf"}
"""Root element of a text -> suffix of its file; that of others is .urdf."""
_OF_ROOTS = {"mujoco": MJCF, "sdf": SDF}
_OF_SUFFIXES = {".xacro": XACRO, ".sdf": SDF, ".world": SDF} | dict.fromkeys(USD_SUFFIXES, USD)


def kind_of(path: Path) -> str:
    """The kind of a model file; of .xml files, by their root element.

    Raises
    ------
    LoadError
        For a .xml file that cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix == ".xml":
        data = safe_xml.read_bytes(path, largest=safe_xml.LARGEST_MODEL)
        return _OF_ROOTS.get(str(safe_xml.parse_model(data, path, []).tag), URDF)
    return _OF_SUFFIXES.get(suffix, URDF)
