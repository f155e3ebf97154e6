"""The adapter of Newton: states, forces, contacts and energies against robosim's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_cases import CASES, INERTIA, INERTIAL, hinge, link, urdf

import robosim
from robosim.control.pd import PD
from robosim.errors import PeerError
from robosim.kinematics.kinematics import Kinematics
from robosim.quaternions import rotation_matrix
from robosim.referee.audit import audit
from robosim.referee.audit.in_robosim import InRobosim
from robosim.referee.audit.playing import play
from robosim.referee.audit.runs import TORQUES, WORLD, Job

pytest.importorskip("newton")
pytestmark = pytest.mark.peer

GRAVITY = np.array([0.0, 0.0, -9.81])
CUBE = (
    '<robot name="case"><link name="cube">{}<collision><geometry><box size=".2 .2 .2"/>'
    "</geometry></collision></link></robot>"
).format(INERTIAL.format("0 0 0"))
ARM = urdf(
    link("arm"),
    '<joint name="j" type="revolute"><parent link="world"/><child link="arm"/>'
    '<origin xyz="0 0 1"/><axis xyz="0 1 0"/><limit lower="-.5" upper=".5" effort="1" '
    'velocity="100"/><dynamics damping=".05" friction=".2"/></joint>',
)


def opened(file: Path, text: str = "", gravity: Any = None) -> tuple[Any, Any]:
    from robosim.referee.audit.in_newton import InNewton

    if text:
        file.write_text(text)
    robot = robosim.load(file)
    return InNewton(str(file), "urdf", robot, gravity), robot


def both(peer: Any, robot: Any, job: Job, gravity: Any = None) -> tuple[Any, Any]:
    ours = InRobosim(robot, GRAVITY if gravity is None else np.array(gravity))
    return play(peer, job), play(ours, job)


def test_states_bodies_and_kinetic_energies_are_those_of_robosim():
    robot = robosim.load("a1")
    peer, _ = opened(Path(str(robot.source)))
    rng = np.random.default_rng(3)
    q, v = np.array(robot.home), rng.standard_normal(robot.nv)
    q[:3], q[3:7] = rng.standard_normal(3), rng.standard_normal(4)
    q[3:7] /= np.linalg.norm(q[3:7])
    q[7:] += 0.2 * rng.standard_normal(12)
    peer.begin(Job("newton", "", 1e-3, 1, 1, q=q, v=v))
    seen = peer.look()
    assert seen.q == pytest.approx(q, abs=2e-6)
    assert seen.v == pytest.approx(v, abs=2e-6)
    kinematics = Kinematics(robot)
    kinematics.move_to(q)
    frames = {frame.name: (k, frame) for k, frame in robot.frames()}
    for name, x, R in zip(peer.bodies, seen.x, seen.R, strict=True):
        k, frame = frames[name]
        turn = kinematics.R[k]
        assert x == pytest.approx(kinematics.x[k] + turn @ np.asarray(frame.position), abs=2e-6)
        assert turn @ rotation_matrix(frame.quaternion) == pytest.approx(R, abs=2e-6)
    sim = robosim.Simulation(robot, 1e-3)
    kinetic = 0.5 * v @ sim.dynamics.mass_matrix(q) @ v
    assert seen.kinetic == pytest.approx(kinetic, rel=1e-5)
    assert peer.opened().mass == pytest.approx(robot.total_mass)


def test_limits_damping_and_dry_friction_are_those_of_the_file(tmp_path):
    peer, robot = opened(tmp_path / "case.urdf", ARM)
    told = peer.opened().joints["j"]
    assert told == pytest.approx(
        {"lower": -0.5, "upper": 0.5, "damping": 0.05, "friction": 0.2, "armature": 0.0}
    )
    job = Job("newton", "", 2e-4, 1, 1500, q=np.array([-0.4]), v=np.array([5.0]))
    theirs, ours = both(peer, robot, job)
    # The arm meets its limit, and swings back.
    assert ours.q.max() > 0.499
    assert theirs.q == pytest.approx(ours.q, abs=2e-3)
    # Without its friction and damping the arm would be elsewhere.
    free, other = opened(tmp_path / "free.urdf", ARM.replace(' friction=".2"', ""))
    loose, _ = both(free, other, job)
    assert np.abs(loose.q - ours.q).max() > 1e-2


def test_torques_are_not_limited_by_efforts_and_a_pd_is_implicit(tmp_path):
    peer, robot = opened(tmp_path / "case.urdf", ARM)
    push = np.array([[2.0]])
    job = Job("newton", "", 2e-4, 1, 500, q=np.zeros(1), kind=TORQUES, table=push)
    theirs, ours = both(peer, robot, job)
    assert ours.q[-1, 0] > 0.1
    assert theirs.q == pytest.approx(ours.q, abs=1e-3)
    # Explicit, such gains would diverge at this time step.
    gains = PD(robot, 0.2, 5e4, 50.0, limit=1e6, implicit=True).gains
    job = replace(job, period=5e-3, samples=200, table=0.0 * push, gains=gains)
    theirs, ours = both(peer, robot, job)
    assert theirs.q[-1] == pytest.approx(ours.q[-1], abs=1e-3)
    assert theirs.q[-1, 0] == pytest.approx(0.2, abs=1e-3)


@pytest.mark.parametrize("alone", [True, False])
def test_a_cube_slides_as_friction_has_it_and_its_contact_is_seen(tmp_path, alone):
    peer, robot = opened(tmp_path / "case.urdf", CUBE)
    (contact, *_) = robot.contacts
    if not alone:  # when bodies of one friction may touch each other
        peer.robot = replace(robot, self_collision=True)
    q, v = np.array([0, 0, 0.1, 1, 0, 0, 0.0]), np.array([1.0, 0, 0, 0, 0, 0])
    run = play(peer, Job("newton", "", 1e-3, 1, 60, q=q, v=v))
    assert run.bodies == ("cube",)
    touch = run.touches["cube", WORLD]
    assert touch.force[1:].mean() == pytest.approx(9.81, rel=0.02)
    assert np.abs(touch.depth[1:]).max() < 1e-4
    slowed = 1.0 - contact.friction * 9.81 * run.t
    assert run.v[:, 0] == pytest.approx(slowed, abs=1e-2)
    assert np.linalg.norm(touch.slip[30]) == pytest.approx(slowed[30], abs=1e-2)


def test_what_diverges_is_told(tmp_path):
    peer, _robot = opened(tmp_path / "case.urdf", CUBE)
    q = np.array([0, 0, 1.0, 1, 0, 0, 0])
    run = play(peer, Job("newton", "", 1e-3, 1, 10, q=q, v=np.full(6, 1e30)))
    assert run.ended is not None
    assert "Newton" in run.ended
    assert len(run) == 1


def test_links_without_mass_are_merged_with_what_they_are_fixed_to(tmp_path):
    bare = '<link name="tip"/><joint name="t" type="fixed"><parent link="arm"/><child link="tip"/>'
    more = bare + '<origin xyz="0 0 -.3"/></joint>'
    peer, _robot = opened(tmp_path / "case.urdf", ARM.replace("</robot>", more + "</robot>"))
    assert peer.bodies == ("arm",)
    plain, _ = opened(tmp_path / "plain.urdf", ARM)
    job = Job("newton", "", 1e-3, 1, 50, q=np.array([-0.4]))
    assert play(peer, job).q == pytest.approx(play(plain, job).q, abs=1e-6)


def test_fixed_links_with_mass_keep_their_inertia(tmp_path):
    inertial = f'<inertial><mass value="2"/><origin xyz="0 0 -.1"/>{INERTIA}</inertial>'
    more = (
        f'<link name="tip">{inertial}</link><joint name="t" type="fixed"><parent link="arm"/>'
        '<child link="tip"/><origin xyz="0 .1 -.3" rpy=".3 0 0"/></joint>'
    )
    peer, robot = opened(tmp_path / "case.urdf", ARM.replace("</robot>", more + "</robot>"))
    assert peer.bodies == ("arm", "tip")
    theirs, ours = both(peer, robot, Job("newton", "", 2e-4, 1, 500, q=np.array([-0.4])))
    assert np.ptp(ours.q) > 0.04
    assert theirs.q == pytest.approx(ours.q, abs=1e-3)


def test_bodies_that_float_beside_each_other_have_their_starts(tmp_path):
    box = "<collision><geometry><box size='.2 .2 .2'/></geometry></collision></link>"
    floats = '<joint name="f{0}" type="floating"><parent link="world"/><child link="{0}"/></joint>'
    parts = [link(name).replace("</link>", box) + floats.format(name) for name in ("one", "two")]
    peer, _robot = opened(tmp_path / "case.urdf", urdf(*parts))
    q = np.array([0, 0, 1.0, 1, 0, 0, 0, 1, 0, 3.0, 0.6, 0.8, 0, 0])
    peer.begin(Job("newton", "", 1e-3, 1, 1, q=q, v=np.arange(12.0)))
    assert peer.look().q == pytest.approx(q, abs=1e-6)
    assert peer.look().v == pytest.approx(np.arange(12.0), abs=1e-5)


def test_what_kamino_has_not_is_a_finding_or_refused(tmp_path):
    file = tmp_path / "case.urdf"
    file.write_text(CASES["a mimic joint that one reader drops"].text)
    found = audit(file, seconds=0.02, peers=["newton"])
    (one,) = (one for one in found.findings if one.check == "dropped")
    assert "drops the mimic joint: 'b' does not follow 'a'" in one.said
    assert "Kamino has no mimic joints" in one.mend
    planar = urdf(link("arm"), hinge("j", "world", "arm", "0 0 1").replace("continuous", "planar"))
    with pytest.raises(PeerError, match="no joint 'j' of the kind"):
        opened(tmp_path / "planar.urdf", planar)
    from robosim.referee.audit.in_newton import InNewton

    with pytest.raises(PeerError, match="only URDF"):
        InNewton("case.xml", "mjcf", None)
