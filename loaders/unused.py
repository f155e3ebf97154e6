"""Elements of a URDF file that are not read; a warning lists these."""

from __future__ import annotations

from collections import Counter

from lxml import etree

from robosim.loaders import schema
from robosim.loaders.schema import tag_name

# tag -> children that are read. Other tags are not searched.
_CHILDREN: dict[str, tuple[str, ...]] = {
    "robot": (
        "link", "joint", "material", "gazebo", "loop_joint", "drake:ball_constraint",
        "drake:linear_spring_damper",
    ),
    **schema.READ | {"joint": (*schema.READ["joint"], "screw_thread_pitch")},
    "contact": ("lateral_friction", "restitution"),
    # Options of Gazebo for readings and for the integration of dampers, which robosim always has.
    "gazebo": (
        "mu1", "mu2", "mu", "fdir1", "selfCollide", "self_collide", "springStiffness",
        "springReference", "implicitSpringDamper", "provideFeedback",
    ),
}  # fmt: skip
# tag -> attributes that are read or have no meaning, except for numbers that are checked.
_IDLE = ("calibration",)  # checked, but not used
_ATTRIBUTES: dict[str, set[str]] = {
    "robot": {"name", "version"},
    "visual": {"name"},
    "collision": {"name"},
    "material": {"name"},
    "geometry": {"name"},
    "gazebo": {"reference"},
}


def sentence(root: etree._Element, skip: frozenset[etree._Element] = frozenset()) -> str | None:
    """A warning that counts unused elements of a URDF tree by kind; None if there are none.

    Parameters
    ----------
    root : lxml element
    skip : frozenset of lxml elements
        Used elements of kinds that are mostly unused.
    """
    found: Counter[str] = Counter()
    stack = [root]
    while stack:
        element = stack.pop()
        tag = tag_name(element)
        if tag in _ATTRIBUTES or tag in schema.NUMBERS:
            known = _ATTRIBUTES.get(tag, set()) | set(schema.NUMBERS.get(tag, ()))
            known = set() if tag in _IDLE else known | set(schema.TEXTS.get(tag, ()))
            found.update(f"'{name}' of <{tag}>" for name in element.attrib if name not in known)
        children = _CHILDREN.get(tag, ())
        for child in element:
            if not children or child in skip:
                continue
            name = tag_name(child)
            if name in children:
                stack.append(child)
            else:
                found[f"<{tag}><{name}>" if element is not root else f"<{name}>"] += 1
    if not found:
        return None
    listed = (f"{what} ({n})" if n > 1 else what for what, n in sorted(found.items()))
    return f"the simulation does not use: {', '.join(listed)}"
