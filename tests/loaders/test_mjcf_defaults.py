"""Default classes of MJCF: what a class has of those around it, and whose class an element takes.

Every class sets one number of its own, so that what a joint ends up with tells where it is from.
"""

from __future__ import annotations

import pytest

import robosim

CLASSES = """<default>
  <joint damping="1" armature="1" frictionloss="1" stiffness="1"/>
  <default class="leg"><joint damping="2" armature="2" frictionloss="2"/>
    <default class="knee"><joint damping="3" armature="3"/>
      <default class="pin"><joint damping="4"/></default></default>
    <default class="hip"><joint armature="5"/></default></default>
</default>"""
# class -> (damping, armature, dry friction, stiffness)
HAS = {
    None: (1, 1, 1, 1),
    "leg": (2, 2, 2, 1),
    "knee": (3, 3, 2, 1),
    "pin": (4, 3, 2, 1),
    "hip": (2, 5, 2, 1),
}


def numbers(folder, world):
    """What each joint of the file has, by its name."""
    path = folder / "m.xml"
    path.write_text(f"<mujoco>{CLASSES}<worldbody>{world}</worldbody></mujoco>")
    robot = robosim.load(path)
    return {
        coordinate: tuple(
            float(joint.per_coordinate(name)[k])
            for name in ("damping", "armature", "friction", "stiffness")
        )
        for joint in robot.joints
        for k, coordinate in enumerate(joint.coordinate_names or (joint.name,))
    }


def body(joint, inside="", childclass=None):
    own = "" if childclass is None else f' childclass="{childclass}"'
    return f'<body pos="0 0 1"{own}>{joint}<geom size=".1"/>{inside}</body>'


@pytest.mark.parametrize("name", HAS)
def test_a_class_has_what_those_around_it_have(tmp_path, name):
    own = "" if name is None else f'class="{name}"'
    found = numbers(tmp_path, body(f'<joint name="j" {own}/>'))
    assert found == {"j": HAS[name]}


def test_the_nearest_childclass_counts(tmp_path):
    """Of bodies and frames inside of each other; those without one hand it on."""
    innermost = body('<joint name="e"/><joint name="f" axis="1 0 0" class="hip"/>')
    framed = f'<frame childclass="pin">{body(chr(32), innermost)}</frame>'
    inner = body('<joint name="d"/>', framed, "knee")
    middle = body('<joint name="c"/>', inner)
    outer = body('<joint name="b"/>', middle, "leg")
    found = numbers(tmp_path, body('<joint name="a"/>', outer))
    expected = {"a": None, "b": "leg", "c": "leg", "d": "knee", "e": "pin", "f": "hip"}
    assert found == {joint: HAS[name] for joint, name in expected.items()}


def test_a_childclass_of_the_world_counts_too(tmp_path):
    path = tmp_path / "m.xml"
    world = body('<joint name="a"/>', body('<joint name="b"/>', "", "hip"))
    path.write_text(f'<mujoco>{CLASSES}<worldbody childclass="knee">{world}</worldbody></mujoco>')
    damping = [joint.damping for joint in robosim.load(path).joints]
    assert damping == [3.0, 2.0]
