"""Variants of URDF, converted to elements of the format."""

from __future__ import annotations

from lxml import etree

from robosim.loaders import drake_joints
from robosim.loaders.schema import tag_name


def standard_names(root: etree._Element, warnings: list[str]) -> None:
    """Convert Drake's extensions of the format in place: shapes and joints.

    Raises
    ------
    LoadError
        For a joint of Drake's that is not supported.
    """
    drake_joints.standard(root, warnings)
    for geometry in root.iter("geometry"):
        for shape in geometry:
            if tag_name(shape) in ("drake:capsule", "drake:ellipsoid"):
                shape.tag = tag_name(shape).removeprefix("drake:")
