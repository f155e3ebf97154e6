"""Couplings and motions of joints: the solver along the tree agrees with the one of the graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import Body, Coupling, Joint, Mechanism, Simulation, quaternions
from robosim.errors import ModelError, StateError
from robosim.models import builders

DT, STEPS = 2e-3, 100


def body(name, mass=1.0):
    return Body(name, mass, np.diag((0.01, 0.02, 0.015)))


def hand(n, *, nested=False, floating=False, motion=None):
    """A palm with n fingers that turn or slide with the first one, in a row if they are nested."""
    kind, point = ("floating", (0, 0, 0)) if floating else ("revolute", (0, 0, 0.4))
    bodies = [body("palm", 2.0)]
    joints = [Joint("base", kind, None, "palm", axis=(0, 1, 0), child_position=point)]
    for k in range(n):
        bodies.append(body(f"finger{k}", 0.3 + 0.1 * k))
        joints.append(
            Joint(
                f"joint{k}",
                ("revolute", "prismatic")[k % 2],
                f"finger{k - 1}" if nested and k else "palm",
                f"finger{k}",
                axis=(1, 0, 0) if k % 2 == 0 else (0, 0.6, 0.8),
                parent_position=(0.1 * k, 0.05, -0.2),
                child_position=(0, 0.02, 0.2),
                stiffness=3.0,
                damping=0.1,
                motion=motion if k == 0 else None,
            )
        )
    couplings = [
        Coupling(f"gear{k}", f"joint{k}", "joint0", 0.3 * k - 0.7, 0.02 * k) for k in range(1, n)
    ]
    return Mechanism("hand", bodies, joints, couplings=couplings)


def swing(t):
    return 0.3 * np.sin(4.0 * t)


def turned(t):
    return quaternions.from_rotation_vector(np.array((0.4, -0.3, 0.6)) * np.sin(2.0 * t))


MOTIONS = {
    "revolute": swing,
    "prismatic": swing,
    "spherical": turned,
    "floating": lambda t: (0.1 * np.sin(2 * t), 0.1 * np.cos(t), 0.1 * t, *turned(t)),
    "planar": lambda t: (0.1 * np.sin(3 * t), 0.05 * t, np.sin(2 * t)),
    "cylindrical": lambda t: (0.1 * np.sin(3 * t), np.cos(t)),
}


def driven(kind, motion):
    """A pendulum whose bob carries another one over a driven joint, and that a ball."""
    bodies = [body("first", 2.0), body("second"), body("third", 0.7)]
    joints = [
        Joint("hinge", "revolute", None, "first", axis=(0, 1, 0), child_position=(0, 0, 0.3)),
        Joint(
            "drive",
            kind,
            "first",
            "second",
            parent_position=(0, 0.1, -0.3),
            child_position=(0, 0, 0.3),
            offset=quaternions.from_rpy((0.3, 0.2, 0.1)),
            motion=motion,
        ),
        Joint(
            "ball",
            "spherical",
            "second",
            "third",
            parent_position=(0, 0, -0.3),
            child_position=(0, 0.05, 0.3),
        ),
    ]
    return Mechanism("driven", bodies, joints)


def both(robot, v=(), order=2, steps=STEPS):
    sims = [
        Simulation(robot, DT, solver=solver, tolerance=1e-12, order=order)
        for solver in ("articulated", "ldu")
    ]
    for sim in sims:
        sim.set_state(None, [*v, *np.zeros(robot.nv - len(v))])
        for _ in range(steps):
            sim.step()
    np.testing.assert_allclose(sims[0].q, sims[1].q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(sims[0].v, sims[1].v, rtol=0, atol=1e-9)
    return sims


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nested": True},
        {"floating": True},
        {"motion": swing},
        {"motion": swing, "nested": True},
    ],
    ids=["side by side", "nested", "floating", "driven", "driven and nested"],
)
def test_couplings_of_a_tree(options):
    sims = both(hand(4, **options), v=(1.0,))
    for sim in sims:
        first, rest = sim.q[-4], sim.q[-3:]
        gears = [(0.3 * k - 0.7) * first + 0.02 * k for k in (1, 2, 3)]
        np.testing.assert_allclose(rest, gears, rtol=0, atol=1e-12)
    forces, others = ([*sim.coupling_forces().values(), *sim.drive_forces().values()]
                      for sim in sims)  # fmt: skip
    np.testing.assert_allclose(forces, others, rtol=0, atol=1e-8)
    assert np.abs(forces).max() > 0.01


def test_six_couplings_that_share_a_joint_are_the_most():
    assert Simulation(hand(7)).solver == "articulated"
    assert Simulation(hand(8)).solver == "ldu"


def test_a_coupling_within_a_loop():
    """A four-bar's five rows and a coupling that turns with its crank."""
    linkage = builders.three_link_loop()
    crank = linkage.joints[0]
    wheel = Joint("wheel", "revolute", crank.child, "wheel", axis=crank.axis)
    robot = replace(
        linkage,
        bodies=(*linkage.bodies, body("wheel")),
        joints=(*linkage.joints, wheel),
        couplings=(Coupling("gear", "wheel", crank.name, -2.0, 5.0),),
        home=None,
    )
    home = dict(zip(linkage.q_names, linkage.home, strict=True))
    robot = replace(robot, home=[home.get(name, 0.0) for name in robot.q_names])
    assert Simulation(robot).solver == "articulated"
    for sim in both(robot, v=(2.0,)):
        q = dict(zip(robot.q_names, sim.q, strict=True))
        assert q["wheel"] == pytest.approx(5.0 - 2.0 * q[crank.name], abs=1e-11)


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("kind", MOTIONS)
def test_motions_of_all_coordinates(kind, order):
    motion = MOTIONS[kind]
    robot = driven(kind, motion)
    sims = both(robot, v=(1.0,), order=order)
    place = slice(*robot.q_offsets[1:3])
    for sim in sims:
        np.testing.assert_allclose(sim.q[place], motion(sim.time), rtol=0, atol=1e-12)
        step, rates = 1e-5, sim.v[slice(*robot.v_offsets[1:3])]
        ends = np.array([sim.q, sim.q])
        for end, t in zip(ends, (sim.time - step, sim.time + step), strict=True):
            end[place] = motion(t)
        by_differences = sim.dynamics.difference(*ends)[slice(*robot.v_offsets[1:3])] / (2 * step)
        np.testing.assert_allclose(rates, by_differences, rtol=0, atol=1e-8)
    forces, others = (np.ravel(sim.drive_forces()["drive"]) for sim in sims)
    assert len(forces) == robot.joints[1].nv
    np.testing.assert_allclose(forces, others, rtol=0, atol=1e-7)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_drives_are_those_of_the_equations_of_motion(solver):
    """Of order two, as the acceleration is that of the simulation's second differences."""
    robot, missed = driven("floating", MOTIONS["floating"]), []
    for dt in (2e-3, 1e-3):
        sim = Simulation(robot, dt, solver=solver, tolerance=1e-12)
        ends = []
        for _ in range(round(0.1 / dt) + 1):
            sim.step()
            _, multipliers = sim.dynamics.constrained_acceleration(
                sim.q, sim.v, np.zeros(robot.nv), time=sim.time
            )
            ends.append(multipliers.drive_forces["drive"])
        mean = 0.5 * (ends[-1] + ends[-2])
        missed.append(np.abs(sim.drive_forces()["drive"] - mean).max())
    assert missed[0] < 1e-2
    assert missed[0] / missed[1] == pytest.approx(4.0, rel=0.2)


def test_a_part_of_a_step_follows_a_turn():
    """Steps that have to be divided meet the motion at their ends all the same."""
    robot = driven("spherical", lambda t: turned(3.0 * t))
    whole, divided = (Simulation(robot, dt, tolerance=1e-12) for dt in (2e-3, 1e-3))
    for _ in range(50):
        whole.step()
        divided.step()
        divided.step()
    place = slice(*robot.q_offsets[1:3])
    np.testing.assert_allclose(whole.q[place], divided.q[place], rtol=0, atol=1e-12)


def test_a_driven_joint_starts_where_its_motion_is():
    robot = driven("spherical", turned)
    sim = Simulation(robot, DT)
    sim.set_state(np.asarray(robot.home), np.zeros(robot.nv), time=0.3)
    np.testing.assert_allclose(sim.q[1:5], turned(0.3), rtol=0, atol=1e-14)
    assert sim.q[0] == 0.0
    assert np.abs(sim.v[1:4]).max() > 0.1
    assert sim.v[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "motion", "told"),
    [
        ("planar", lambda t: (0.0, 0.1), r"shape \(3,\), as its coordinates are, not \(2,\)"),
        ("spherical", lambda t: (0.5, 0.0, 0.0, 0.0), "norm 0.5"),
        ("floating", lambda t: np.full(7, np.nan), "must be finite"),
        ("revolute", lambda t: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_motions_that_are_none(kind, motion, told):
    with pytest.raises(StateError, match="the motion of joint 'drive' .*" + told):
        Simulation(driven(kind, motion))


def test_a_joint_that_closes_a_loop_has_one_coordinate_to_drive():
    linkage = builders.three_link_loop()
    closing = replace(
        linkage.joints[-1], kind="planar", actuated=False, motion=turned, lower=None, upper=None
    )
    with pytest.raises(ModelError, match="closes a loop"):
        replace(linkage, joints=(*linkage.joints[:-1], closing))
