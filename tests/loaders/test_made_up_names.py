"""Names that are made up for elements of an MJCF file step aside for those that the file has."""

from __future__ import annotations

from pathlib import Path

import pytest

import robosim

BODY = '<body {0}><joint name="{1}" axis="0 1 0"/><geom size=".1"/><site name="{1}s"/></body>'
TWO = f"<worldbody>{BODY.format('', 'j')}{BODY.format('', 'k')}</worldbody>"


def load(folder: Path, inside: str, **options: object) -> robosim.Mechanism:
    path = folder / "m.xml"
    path.write_text(f"<mujoco>{inside}</mujoco>")
    return robosim.load(path, **options)


def test_of_bodies(tmp_path):
    """The second one is named body1, which the first one would be called."""
    robot = load(tmp_path, TWO.replace("<body >", '<body name="body1">').replace(
        '<body name="body1">', "<body>", 1))  # fmt: skip
    assert [body.name for body in robot.bodies] == ["body1_", "body1"]


def test_of_joints(tmp_path):
    inside = ('<body name="a"><joint/><geom size=".1"/></body><body name="b">'
              '<joint name="a/joint0"/><geom size=".1"/></body>')  # fmt: skip
    robot = load(tmp_path, f"<worldbody>{inside}</worldbody>")
    assert [joint.name for joint in robot.joints] == ["a/joint0_", "a/joint0"]


def test_of_carriers_and_of_joints_of_several(tmp_path):
    slides = (
        '<joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>'
    )
    hinge = '<joint name="h"/><joint name="g" axis="0 1 0"/>'
    inside = (
        f'<body name="a">{hinge}<geom size=".1"/></body><body name="a/carrier0">{slides}'
        '<geom size=".1"/><body><joint name="x+y"/><geom size=".1"/></body></body>'
    )
    robot = load(tmp_path, f"<worldbody>{inside}</worldbody>")
    assert [body.name for body in robot.bodies][:3] == ["a/carrier0_", "a", "a/carrier0"]
    assert [joint.name for joint in robot.joints] == ["h", "g", "x+y_", "x+y"]


@pytest.mark.parametrize("first", [True, False])
def test_of_what_the_other_sections_have(tmp_path, first):
    """One with a name that the reader would make up, before or behind one without a name."""
    parts = '<joint joint="j" coef="1"/><joint joint="k" coef="{}"/>'
    sections = {
        "tendon": [f'<fixed {{}} stiffness="1">{parts.format(1)}</fixed>',
                   f'<fixed {{}} stiffness="2">{parts.format(2)}</fixed>'],
        "actuator": ['<motor {} joint="j"/>', '<motor {} joint="k"/>'],
        "sensor": ['<jointpos {} joint="j"/>', '<jointpos {} joint="k"/>'],
        "keyframe": ['<key {} qpos="0 0"/>', '<key {} qpos="0 1"/>'],
        "equality": ['<connect {} site1="js" site2="ks"/>', '<connect {} site1="js" site2="ks"/>'],
    }  # fmt: skip
    made = {"tendon": "tendon{}", "actuator": "actuator{}", "sensor": "jointpos{}",
            "keyframe": "key{}", "equality": "connect{}"}  # fmt: skip
    inside = TWO
    for tag, (one, other) in sections.items():
        taken = made[tag].format(1 if first else 0)
        named, plain = one.format(f'name="{taken}"'), other.format("")
        both = named + plain if first else plain + named
        inside += f"<{tag}>{both}</{tag}>"
    robot = load(tmp_path, inside)
    for tag, names in {
        "tendon": [tendon.name for tendon in robot.tendons],
        "actuator": [actuator.name for actuator in robot.actuators],
        "sensor": [sensor.name for sensor in robot.sensors],
        "keyframe": list(robot.configurations),
        "equality": [joint.name for joint in robot.loop_joints],
    }.items():
        taken = made[tag].format(1 if first else 0)
        assert sorted(names) == [taken, f"{taken}_"], tag


def test_of_the_base(tmp_path):
    inside = f'<body name="a"><geom size=".1"/>{BODY.format("", "floating_base")}</body>'
    robot = load(tmp_path, f"<worldbody>{inside}</worldbody>", floating_base=True)
    assert [joint.name for joint in robot.joints] == ["floating_base_", "floating_base"]


def test_of_obstacles(tmp_path):
    """The first has the name of its body, which the second one has itself."""
    static = ('<body name="b"><geom type="box" size="1 1 .1"/>'
              '<geom name="b" pos="0 0 1" type="box" size="1 1 .1"/></body>')  # fmt: skip
    ball = '<body name="ball" pos="0 0 3"><freejoint/><geom size=".1"/></body>'
    robot = load(tmp_path, f"<worldbody>{static}{ball}</worldbody>")
    assert [shape.name for shape in robot.obstacles] == ["b_", "b"]


def test_of_sites_and_tendons_that_are_called_as_something_else(tmp_path):
    body = (
        '<body name="a"><joint name="t"/><joint name="tendon:t" axis="0 1 0"/>'
        '<geom size=".1"/><site name="a"/><site name="site:a" pos="0 0 1"/></body>'
    )
    tendon = ('<tendon><fixed name="t" stiffness="1"><joint joint="t" coef="1"/>'
              '<joint joint="tendon:t" coef="2"/></fixed></tendon>')  # fmt: skip
    robot = load(tmp_path, f"<worldbody>{body}</worldbody>{tendon}")
    assert [tendon.name for tendon in robot.tendons] == ["tendon:t_"]
    assert {"site:a_", "site:a", "a"} <= {frame.name for _, frame in robot.frames()}
