"""What it takes to move a joint along a given function of time."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import Body, Joint, Mechanism, Simulation

M, L, INERTIA, G, DT = 2.0, 0.5, 0.2, 9.81, 1e-3  # [kg], [m], [kg m^2], [m/s^2], [s]


def driven(motion, kind="revolute", **options):
    """An arm about y that hangs out along x at 0, or a slider along z."""
    body = Body("arm", M, INERTIA * np.eye(3))
    if kind == "revolute":
        options |= {"axis": (0, 1, 0), "child_position": (-L, 0, 0)}
    joint = Joint("drive", kind, None, "arm", motion=motion, **options)
    sim = Simulation(Mechanism("arm", (body,), (joint,)), DT, tolerance=1e-11)
    assert sim.drive_forces() == {"drive": 0.0}
    return sim


@pytest.mark.parametrize("angle", [0.0, 0.7, -2.0])
def test_an_arm_that_is_held_still(angle):
    sim = driven(lambda t: angle)
    for _ in range(5):
        sim.step()
        # Its weight turns it down, which is the way of y.
        assert sim.drive_forces()["drive"] == pytest.approx(-M * G * L * np.cos(angle), abs=1e-7)


def test_an_arm_that_turns_at_a_constant_rate():
    sim = driven(lambda t: 3.0 * t)
    for _ in range(300):
        sim.step()
        angle = 3.0 * (sim.time - 0.5 * DT)
        expected = -M * G * L * np.cos(angle)
        # A step's chord is off by a share of (omega dt)^2.
        assert sim.drive_forces()["drive"] == pytest.approx(expected, abs=1e-4)


def test_an_arm_that_swings():
    rate = 5.0
    sim = driven(lambda t: 0.4 * np.sin(rate * t))
    for _ in range(300):
        sim.step()
        angle = 0.4 * np.sin(rate * (sim.time - 0.5 * DT))
        expected = -(rate**2) * angle * (INERTIA + M * L * L) - M * G * L * np.cos(angle)
        # The second difference of the motion is off by (rate dt)^2 / 12 of it.
        assert sim.drive_forces()["drive"] == pytest.approx(expected, abs=1e-3)


def test_a_slider_that_accelerates():
    """2 m/s^2 up, so that second differences are exact."""
    sim = driven(lambda t: t * t, "prismatic", axis=(0, 0, 1))
    for _ in range(100):
        sim.step()
        assert sim.drive_forces()["drive"] == pytest.approx(M * (G + 2.0), rel=1e-6)


def test_torques_of_the_step_are_not_the_drive():
    sim = driven(lambda t: 0.0)
    for _ in range(3):
        sim.step([4.0])
    assert sim.drive_forces()["drive"] == pytest.approx(-M * G * L - 4.0, abs=1e-7)


def crank_and_slider(motion):
    """A crank that drives a slider by a rod: a loop, whose drive moves against gravity."""

    def rod(name, length, mass):
        moments = mass * length**2 / 12 * np.array([0.01, 1.0, 1.0])
        return Body(name, mass, np.diag(moments))

    bodies = rod("crank", 0.2, 1.0), rod("rod", 0.6, 0.8), Body("slider", 2.0, 0.01 * np.eye(3))
    joints = (
        Joint("crank", "revolute", None, "crank", (0, 1, 0), child_position=(-0.1, 0, 0),
              motion=motion),
        Joint("pin", "revolute", "crank", "rod", (0, 1, 0), (0.1, 0, 0), (-0.3, 0, 0)),
        Joint("rail", "prismatic", None, "slider", (1, 0, 0), (0.8, 0, 0)),
        Joint("wrist", "revolute", "rod", "slider", (0, 1, 0), (0.3, 0, 0)),
    )  # fmt: skip
    return Mechanism("engine", bodies, joints)


def test_the_work_of_a_drive_is_the_energy_that_it_gives():
    """To second order: its mean force times how far its coordinate moves, in each step."""
    robot, off = crank_and_slider(lambda t: 0.3 + 2.0 * t + 6.0 * t * t), []
    for dt in (4e-3, 2e-3, 1e-3):
        sim, work, worst = Simulation(robot, dt, tolerance=1e-12), 0.0, 0.0
        begin = sim.energy()
        for _ in range(round(0.8 / dt)):
            angle = sim.q[0]
            sim.step()
            work += sim.drive_forces()["crank"] * (sim.q[0] - angle)
            worst = max(worst, abs(work - (sim.energy() - begin)))
        off.append(worst)
    assert work > 5.0
    assert off[-1] < 1e-3
    assert off[0] / off[1] == pytest.approx(4.0, rel=0.1)
    assert off[1] / off[2] == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_the_reaction_of_a_swing_is_the_mean_over_each_step(solver):
    """To second order from the first step on: m (g + a) of a rod that a torque turns as well."""
    body = Body("rod", M, INERTIA * np.eye(3))
    hinge = Joint("hinge", "revolute", None, "rod", (0, 1, 0), child_position=(-L, 0, 0))
    errors = []
    for dt in (4e-3, 2e-3):
        sim = Simulation(Mechanism("m", (body,), (hinge,)), dt, solver=solver)
        sim.set_state([0.3])
        off = []
        for _ in range(round(1.0 / dt)):
            q, v = sim.q[0], sim.v[0]
            sim.step([0.7])
            angle, rate = 0.5 * (q + sim.q[0]), (sim.q[0] - q) / dt
            out = np.array([np.cos(angle), 0, -np.sin(angle)])
            along = np.array([-np.sin(angle), 0, -np.cos(angle)])
            force = M * L * ((sim.v[0] - v) / dt * along - rate**2 * out) + [0, 0, M * G]
            off.append(np.abs(sim.joint_wrenches()["hinge"][:3] - force).max())
        errors.append(max(off))
    assert errors[0] < 0.01
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
