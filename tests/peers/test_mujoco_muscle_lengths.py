"""Extreme lengths of muscles, which MuJoCo finds by pulling: limits of joints and of tendons."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robosim

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peer

SPATIAL = '<spatial name="t" {}><site site="w"/><site site="s"/></spatial>'
FIXED = '<fixed name="t" {}><joint joint="j" coef="2"/></fixed>'
BESIDE = '<body pos="5 0 0"><joint range="0 9"/><geom size=".1"/></body>'
# Joint of the body, tendon and its range, the gear.
CASES = {
    "free": ("<freejoint/>", SPATIAL, 'range="0 4"', 1),
    "free, from more than nothing": ("<freejoint/>", SPATIAL, 'range=".5 3"', 1),
    "backwards": ("<freejoint/>", SPATIAL, 'range=".5 3"', -2),
    "ball": ('<joint type="ball"/>', SPATIAL, "", 1),
    "limited ball": ('<joint type="ball" range="0 40"/>', SPATIAL, "", 1),
    "ball and tendon": ('<joint type="ball"/>', SPATIAL, 'range=".8 1.2"', 1),
    "slide": ('<joint name="j" type="slide"/>', FIXED, 'range="-1 2"', 1),
    "hinge": ('<joint name="j"/>', FIXED, 'range="-1 2"', 3),
    "limited hinge": ('<joint name="j" range="-20 50" axis="0 1 0"/>', SPATIAL, "", 1),
}


def model(case: str, more: str = "") -> str:
    joint, tendon, ends, gear = CASES[case]
    return (
        '<mujoco><option gravity="0 0 0"/><worldbody><site name="w" pos=".5 0 2"/>'
        f'<body pos="0 0 1">{joint}<geom type="box" size=".1 .2 .4"/><site name="s" pos="0 0 .5"/>'
        f"</body>{more}</worldbody><tendon>{tendon.format(ends)}</tendon>"
        f'<actuator><muscle tendon="t" gear="{gear}"/></actuator></mujoco>'
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "more", ["", '<body pos="5 0 0"><joint range="0 9"/><geom size=".1"/></body>']
)
def test_as_mujoco_has_them_but_for_its_soft_limits(tmp_path: Path, case: str, more: str) -> None:
    text = model(case, more)
    (tmp_path / "m.xml").write_text(text)
    (actuator,) = robosim.load(tmp_path / "m.xml").actuators
    ends = mujoco.MjModel.from_xml_string(text).actuator_lengthrange[0]
    assert actuator.muscle is not None
    np.testing.assert_allclose(
        actuator.muscle.length_range, ends, rtol=0, atol=2e-3 * abs(ends).max()
    )


@pytest.mark.parametrize("case", ["free", "slide"])
def test_without_an_end_it_is_left_out(tmp_path: Path, case: str) -> None:
    ends = CASES[case][2]
    (tmp_path / "m.xml").write_text(model(case).replace(ends, ""))
    robot = robosim.load(tmp_path / "m.xml")
    assert robot.actuators == ()
    assert any("whose length has no limits" in text for text in robot.warnings)
    with pytest.raises(ValueError, match="did not converge"):
        mujoco.MjModel.from_xml_string(model(case).replace(ends, ""))
