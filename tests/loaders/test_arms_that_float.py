"""A root without a joint floats by default, and of what cannot stand a warning says so."""

from __future__ import annotations

import pytest

import robosim

WARNING = "--fixed-base"


def link(name: str, size: str = "0.1 0.1 0.1", z: float = 0.0) -> str:
    shape = f'<origin xyz="0 0 {z}"/><geometry><box size="{size}"/></geometry>'
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 {z}"/><mass value="1"/>'
        '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
        f"<collision>{shape}</collision></link>"
    )


def hinge(name: str, parent: str, child: str, at: str) -> str:
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at}"/><axis xyz="0 1 0"/></joint>'
    )


ARM = "".join((
    link("base"), link("upper", z=0.2), link("lower", z=0.2),
    hinge("shoulder", "base", "upper", "0 0 0.1"), hinge("elbow", "upper", "lower", "0 0 0.4"),
    link("hand"), hinge("wrist", "lower", "hand", "0 0 0.4"),
))  # fmt: skip
BALLOON = ARM.replace("<collision>", "<!--").replace("</collision>", "-->")
DOG = link("base") + "".join(
    link(leg, z=-0.2) + hinge(f"hip_{leg}", "base", leg, f"{x} {y} 0")
    for leg, x, y in (("fl", 1, 1), ("fr", 1, -1), ("rl", -1, 1), ("rr", -1, -1))
)
MONOPOD = "".join((
    link("base"), link("thigh", z=-0.2), link("shank", z=-0.2),
    hinge("hip", "base", "thigh", "0 0 -0.1"), hinge("knee", "thigh", "shank", "0 0 -0.4"),
))  # fmt: skip
DRONE = link("base", "0.5 0.5 0.1") + "".join(
    link(name, "0.1 0.1 0.01", 0.1) + hinge(f"rotor_{name}", "base", name, f"{x} 0 0.1")
    for name, x in (("left", 0.2), ("right", -0.2))
)
STONE = link("base")


def loaded(tmp_path, text: str, **options):
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="robot">{text}</robot>')
    return robosim.load(path, **options)


@pytest.mark.parametrize(
    ("text", "warned"),
    [(ARM, 1), (BALLOON, 1), (DOG, 0), (MONOPOD, 0), (DRONE, 0), (STONE, 0)],
    ids=["arm", "without shapes", "dog", "monopod", "drone", "stone"],
)
def test_who_cannot_stand_is_told_how_to_be_held(tmp_path, text, warned):
    robot = loaded(tmp_path, text)
    assert robot.floating_base
    assert sum(WARNING in warning for warning in robot.warnings) == warned
    for chosen in (True, False):
        robot = loaded(tmp_path, text, floating_base=chosen)
        assert robot.floating_base is chosen
        assert not any(WARNING in warning for warning in robot.warnings)
