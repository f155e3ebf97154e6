"""Serial equivalents: exact where they promise it, and with errors that are measured elsewhere."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from parallel_mechanisms import CASES, FLOATING, SPRINGS, built
from scipy.optimize import nnls

import robosim
from robosim import (
    ContactPoint,
    Dynamics,
    ModelError,
    OptionError,
    Place,
    PointSpring,
    Sensor,
    Simulation,
)
from robosim.dynamics import Kinematics
from robosim.models import builders
from robosim.parallel import SerialEquivalent, Transmission, serial_equivalent, workspace
from robosim.parallel.reduced import ReducedEquations
from robosim.parallel.serial import _Building

SAMPLES = 12


def lead(name: str) -> dict[str, str]:
    """Floating where the builder has a base."""
    return {"base": "floating"} if name in FLOATING else {}


@cache
def equivalent(name: str, floating: bool = False) -> tuple[Transmission, SerialEquivalent]:
    """A mechanism and its equivalent, which several tests use."""
    of = built(name, **(lead(name) if floating else {}))[1]
    return of, serial_equivalent(of, samples=SAMPLES)


def reduced(of: Transmission, serial: robosim.Mechanism) -> tuple[np.ndarray, list[int]]:
    """The mechanism's mass matrix at home along independent velocities of its equivalent."""
    led = [coupling.joint for coupling in serial.couplings]
    names = [name for name in serial.v_names if name not in led]
    free = [of.robot.v_names.index(name) for name in names]
    held = [of.robot.v_names.index(name) for name in of.fixed]
    equations = ReducedEquations(of.robot, free, held, (0, 0, -9.81))
    return equations.mass_matrix(np.asarray(of.home)), [serial.v_names.index(n) for n in names]


@pytest.mark.parametrize("name", CASES)
def test_at_home_masses_and_inertias_are_those_of_the_mechanism(name):
    of, found = equivalent(name, floating=True)
    robot, serial = of.robot, found.robot
    assert not serial.loop_joints
    lost = sum(robot.body(link).mass * shares.get("world", 0.0)
               for link, shares in found.shares.items())  # fmt: skip
    assert serial.total_mass == pytest.approx(robot.total_mass - lost, rel=1e-9)
    for shares in found.shares.values():
        assert sum(shares.values()) == pytest.approx(1.0)
        assert min(shares.values()) > -1e-12
    exact, places = reduced(of, serial)
    equations = ReducedEquations(serial, places, (), (0, 0, -9.81))
    ours = equations.mass_matrix(np.asarray(serial.home))
    outputs = [k for k, v in enumerate(places) if serial.v_names[v] in of.joints]
    if name in FLOATING:
        # Locked joints: the whole, its centre of mass and its inertia.
        base = np.ix_(range(6), range(6))
        np.testing.assert_allclose(ours[base], exact[base], atol=1e-9)
        centres = [Kinematics(one).center_of_mass() for one in (robot, serial)]
        np.testing.assert_allclose(*centres, atol=1e-9)
    assert np.all(found.armature[:, 0] >= 0)
    np.testing.assert_allclose(np.diag(ours)[outputs], np.diag(exact)[outputs], rtol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_errors_are_those_of_both_mass_matrices(name):
    of, found = equivalent(name)
    robot, serial, errors = of.robot, found.robot, found.errors
    if name == "spring_leg":
        return  # its hip is free, too
    dynamics, worst = Dynamics(serial), []
    for q, error in zip(errors.configurations, errors.mass_matrix, strict=True):
        exact = of.mass_matrix(q)
        sizes = np.sqrt(np.diag(exact))
        there = [q[robot.q_names.index(joint)] for joint in serial.q_names]
        off = (dynamics.mass_matrix(there) - exact) / np.outer(sizes, sizes)
        assert np.linalg.norm(off, 2) == pytest.approx(error, abs=1e-9)
        worst.append(np.abs((dynamics.gravity(there) - of.gravity(q)) / sizes).max())
    heaviest = max(
        np.abs(of.gravity(q) / np.sqrt(np.diag(of.mass_matrix(q)))).max()
        for q in errors.configurations
    )
    np.testing.assert_allclose(np.array(worst) / heaviest, errors.gravity, atol=1e-9)
    assert errors.largest["mass_matrix"] == max(errors.mass_matrix) > 0
    assert errors.median["gravity"] <= errors.largest["gravity"]


@pytest.mark.parametrize("name", ["four_bar_knee", "two_rod_ankle", "spring_leg"])
def test_no_other_shares_have_smaller_errors(name):
    of = built(name, base="floating")[1]
    building = _Building(of, workspace(of, SAMPLES))
    bare, _ = building.bare()
    shares, _ = building.fitted(bare, "mean")
    n = len(building.free)
    diagonal = np.flatnonzero(np.equal(*np.triu_indices(n)))
    width = n * (n + 1) // 2 + n

    def least(some: dict[str, dict[str, float]]) -> float:
        """The sum of squares with the best armature."""
        off = building._differences(building.glued(bare, some))
        columns = np.zeros((len(off), len(building.outputs)))
        for s, d in enumerate(building.sizes):
            for j, v in enumerate(building.outputs):
                k = building.free.index(v)
                columns[s * width + diagonal[k], j] = 1.0 / d[k] ** 2
        scale = np.linalg.norm(columns, axis=0)
        return float(nnls(columns / scale, -off)[1] ** 2)

    best, rng = least(shares), np.random.default_rng(0)
    for _ in range(8):
        others = {}
        for link, parts in shares.items():
            weights = rng.dirichlet(np.ones(len(parts)))
            others[link] = dict(zip(parts, weights.tolist(), strict=True))
        assert least(others) >= best * (1 - 1e-4)


def test_a_mean_armature_has_smaller_errors_than_that_of_home():
    of = built("two_rod_ankle")[1]
    home, mean = (serial_equivalent(of, samples=30, armature=a) for a in ("home", "mean"))
    squares = [np.sum(one.errors.mass_matrix**2) for one in (home, mean)]
    assert squares[1] < squares[0]
    assert np.all(home.armature[:, 1] <= home.armature[:, 2])


def test_motors_of_the_joints_have_limits_friction_and_damping_of_the_motors():
    robot = builders.four_bar_knee(crank=0.05, horn=0.06)
    joints = [
        replace(joint, damping=0.5, friction=0.2) if joint.name == "knee_motor" else joint
        for joint in robot.joints
    ]
    of = Transmission(replace(robot, joints=tuple(joints)), "knee")
    found = serial_equivalent(of, samples=SAMPLES)
    knee = found.robot.joints[found.robot.joint_index("knee")]
    ratio = 0.06 / 0.05  # turns of the motor per turn of the knee, at home
    assert knee.actuated is True
    assert knee.effort_limit == pytest.approx(120 * ratio, rel=1e-9)
    assert knee.velocity_limit == pytest.approx(15 / ratio, rel=1e-9)
    assert knee.damping == pytest.approx(0.5 * ratio**2, rel=1e-9)
    assert knee.friction == pytest.approx(0.2 * ratio, rel=1e-9)
    assert knee.upper[0] == pytest.approx(of.joints_at([1.4])[0], abs=1e-9)
    assert found.effort_limits[0, 1] <= found.effort_limits[0, 0] <= found.effort_limits[0, 2]
    assert found.robot.actuated_names == ("knee",)


def test_a_joint_on_the_way_follows_a_joint_linearly():
    """The knee's motor of a leg with springs: the ankle leads it, as in URDF's mimic."""
    of, found = equivalent("spring_leg")
    (coupling,) = found.robot.couplings
    slope = of.inverse_jacobian(of.home)[0, 0]
    assert (coupling.joint, coupling.source) == ("knee", "ankle")
    assert coupling.ratio == pytest.approx(slope, rel=1e-9)
    assert coupling.offset == pytest.approx(0.0, abs=1e-12)
    knee, ankle = (
        found.errors.configurations[:, of.robot.q_names.index(name)] for name in ("knee", "ankle")
    )
    np.testing.assert_allclose(found.errors.position, np.abs(knee - slope * ankle), atol=1e-12)
    kinds = {joint.name: joint.kind for joint in found.robot.joints}
    assert {kinds[spring] for spring in SPRINGS} == {"fixed"}


@pytest.mark.parametrize("suffix", [".urdf", ".xml"])
@pytest.mark.parametrize("name", CASES)
def test_files_have_the_equivalent(name, suffix, tmp_path: Path):
    of, found = equivalent(name)
    serial = found.robot
    robosim.save(serial, tmp_path / f"serial{suffix}")
    read = robosim.load(tmp_path / f"serial{suffix}")
    assert not read.loop_joints
    assert set(read.v_names) == set(serial.v_names)
    order = [read.v_names.index(one) for one in serial.v_names]
    q = 0.02 * np.random.default_rng(0).normal(size=serial.nq)
    there = np.zeros(read.nq)
    there[[read.q_names.index(one) for one in serial.q_names]] = q
    ours, theirs = Kinematics(serial, q).mass_matrix(), Kinematics(read, there).mass_matrix()
    np.testing.assert_allclose(theirs[np.ix_(order, order)], ours, atol=1e-8 * np.abs(ours).max())
    assert set(read.actuated_names) == set(serial.actuated_names) >= set(of.joints)


def test_an_equivalent_is_simulated_beside_the_mechanism():
    """A knee from home: the same change of torque has the same change of acceleration."""
    of, found = equivalent("four_bar_knee")
    robot, serial, moved, h = of.robot, found.robot, [], 1e-3
    for one, torque in ((robot, of.motor_torques(of.home, [10.0])[0]), (serial, 10.0)):
        ends = []
        for factor in (0.0, 1.0):
            sim = Simulation(one, timestep=h)
            sim.run(h, lambda _, t=factor * torque: np.array([t]))
            ends.append(sim.q[one.q_names.index("knee")])
        moved.append(ends[1] - ends[0])
    assert moved[1] == pytest.approx(moved[0], rel=1e-5)
    assert moved[0] > 1e-5


def test_what_refers_to_links_is_left_out_and_told():
    robot = builders.two_rod_ankle()
    given = replace(
        robot,
        contacts=(ContactPoint("tip", "left_rod", (0, 0, 0)),
                  ContactPoint("sole", "foot", (0, 0, -0.05))),
        springs=(PointSpring("pull", "shank", "right_rod", stiffness=1.0, rest_length=0.1),),
        sensors=(Sensor("encoder", "jointpos", of={"left_motor": 1.0}),
                 Sensor("tilt", "accelerometer", place=Place("foot"))),
        configurations={"bent": robot.home},
    )  # fmt: skip
    found = serial_equivalent(Transmission(given, "ankle"), samples=SAMPLES)
    told = {"contact 'tip'", "spring 'pull'", "sensor 'encoder'", "configuration 'bent'"}
    assert set(found.left_out) == told
    assert [one.name for one in found.robot.contacts] == ["sole"]
    assert [one.name for one in found.robot.sensors] == ["tilt"]


def test_what_has_no_equivalent_is_told():
    crank = builders.slider_crank()
    ranges = {"slide": (0.6, 0.65)}
    of = Transmission(crank, "rod_joint", "slide")
    with pytest.raises(OptionError, match="armature must be one of home, mean"):
        serial_equivalent(of, armature="none")
    # The crank leads to the rod, and follows it.
    found = serial_equivalent(of, samples=SAMPLES, ranges=ranges)
    assert [one.joint for one in found.robot.couplings] == ["crank_joint"]
    closing = Transmission(crank, "loop", "crank_joint")
    with pytest.raises(ModelError, match="joint 'loop': closes a loop; a serial equivalent"):
        serial_equivalent(closing, samples=SAMPLES, ranges={"crank_joint": (-2.1, -1.9)})
    leg = built("linear_leg")[1]
    tree = Transmission(leg.robot, ("left_motor", "right_motor"), ("ankle_pitch", "ankle_roll"))
    with pytest.raises(ModelError, match="'left_motor_joint': leads to the joints"):
        serial_equivalent(tree, samples=SAMPLES)


def test_random_samples_are_repeatable():
    of, first = equivalent("two_rod_ankle")
    second, other = (serial_equivalent(of, samples=SAMPLES, seed=seed) for seed in (0, 1))
    np.testing.assert_array_equal(first.errors.mass_matrix, second.errors.mass_matrix)
    assert not np.array_equal(first.errors.configurations, other.errors.configurations)
