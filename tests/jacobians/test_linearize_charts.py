"""Derivatives of steps of joints that are charts, beside differences of `Simulation.step` itself.

Kernels are compiled once more for numbers that have derivatives, for some minutes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from step_differences import compare

import robosim
from robosim import (
    BatchSimulation,
    Body,
    ContactPoint,
    Joint,
    Mechanism,
    Simulation,
    linearize,
    optimize,
)
from robosim.controllers import PD
from robosim.gradients import Horizon
from robosim.joints import (
    Composite,
    Euler,
    ExponentialBall,
    Hinge,
    Offset,
    Screw,
    Slide,
    SplineCurve,
    SplineSurface,
)

pytestmark = pytest.mark.slow

INERTIA = np.diag((0.02, 0.03, 0.025))
TURNS = np.linspace(0, 2.5, 6)
FRAMES = np.array([(np.cos(a), np.sin(a), 0.1 * a, np.cos(a / 2), 0, 0, np.sin(a / 2))
                   for a in TURNS])  # fmt: skip
CONTROLS = np.random.default_rng(1).normal(scale=0.15, size=(5, 5, 6))
CONTROLS[:, :, 0] += 0.3 * np.arange(5)[:, None]
CONTROLS[:, :, 1] += 0.3 * np.arange(5)
CHARTS = {
    "hinge": Hinge((1, 2, 0)),
    "slide": Slide((1, 0, 1)),
    "screw": Screw((0, 1, 1), 0.1),
    "two hinges": Composite(Hinge((1, 0, 0)), Hinge((0, 1, 0))),
    "three hinges": Euler("zyx"),
    "hinge, slide": Composite(Hinge((1, 0, 0)), Slide((0, 0, 1))),
    "slide, hinge": Composite(Slide((0, 0, 1)), Hinge((1, 0, 0))),
    "apart": Composite(Offset((0.1, 0, 0.2), (0.6, 0, 0.8, 0)), Hinge((1, 1, 0)),
                       Offset((0, 0.3, 0)), Slide((0, 1, 1)), Hinge()),
    "rotation vector": ExponentialBall(),
    "curve": SplineCurve(FRAMES),
    "closed curve": SplineCurve(FRAMES, periodic=True),
    "surface": SplineSurface(CONTROLS),
}  # fmt: skip
LAWS = {"damping": 0.5, "armature": 0.02, "stiffness": 3.0}
# A hip of three hinges and a knee with a telescope, and a waist, as humanoids in MJCF have them.
HUMANOID = """
<mujoco><worldbody>
  <geom type="plane" size="3 3 1"/>
  <body name="trunk" pos="0 0 {z}"><freejoint/><geom type="box" size=".1 .15 .1" mass="5"/>
    <body name="head" pos="0 0 .2">
      <joint name="waist_z" axis="0 0 1" range="-45 45" damping="3" armature=".02"/>
      <joint name="waist_y" axis="0 1 0" pos=".01 0 -.08" range="-75 30" stiffness="9"/>
      <geom type="capsule" fromto="0 -.1 .2 0 .1 .2" size=".09" mass="2"/></body>
    {legs}
  </body></worldbody>
  <equality><joint joint1="waist_z" joint2="waist_y" polycoef=".1 .5 0 0 0" active="{tied}"/>
  </equality>
  <actuator><motor joint="hip_y1" ctrlrange="-40 40"/><motor joint="hip_y-1" ctrlrange="-40 40"/>
    <motor joint="waist_z"/></actuator>
</mujoco>"""
LEG = """<body name="thigh{s}" pos="0 {y} -.1">
  <joint name="hip_x{s}" axis="1 0 0" range="-25 25" armature=".01" damping="1"/>
  <joint name="hip_z{s}" axis="0 0 1" range="-60 35" armature=".02" damping="1"/>
  <joint name="hip_y{s}" axis="0 1 0" range="-110 20" armature=".03" damping="1"/>
  <geom type="capsule" fromto="0 0 0 0 .01 -.34" size=".06" mass="2"/>
  <body name="shin{s}" pos="0 .01 -.4"><joint name="knee{s}" axis="0 1 0" range="-2 160"/>
    <joint name="stretch{s}" type="slide" axis=".1 0 1" stiffness="9000" damping="20"/>
    <geom size=".05" pos="0 0 -.3" mass="1"/></body></body>"""


def two_charts(chart, floats=True, **laws):
    """A link at a chart, which carries another one at two hinges, behind a floating base."""
    hip = Joint("hip", "composite", "base" if floats else None, "thigh", chart=chart,
                parent_position=(0, 0.1, -0.2), child_position=(0.05, 0, 0.2), **laws)  # fmt: skip
    knee = Joint("knee", "universal", "thigh", "shin", parent_position=(0, 0, -0.2),
                 child_position=(0, 0.02, 0.2))  # fmt: skip
    bodies = [Body("thigh", 0.7, 0.5 * INERTIA), Body("shin", 0.4, 0.3 * INERTIA)]
    if not floats:
        return Mechanism("charts", bodies, (hip, knee))
    base = Joint("root", "floating", None, "base")
    return Mechanism("charts", (Body("base", 1.0, INERTIA), *bodies), (base, hip, knee))


def thrown(robot, chart, seed, dt=2e-3, **options):
    """A simulation from a random state, and random torques of the motors."""
    rng = np.random.default_rng(seed)
    # Rounding in splines is near 1e-12, and an unsolvable step would be divided.
    sim = Simulation(robot, dt, tolerance=1e-11, **options)
    q = np.array(robot.home)
    lower, upper = chart.limits()
    middle = [0.4 * (a + b) if np.isfinite(a) else 0.3 for a, b in zip(lower, upper, strict=True)]
    at = robot.nq - 2 - chart.nv
    q[at:] = [*(middle + rng.uniform(-0.2, 0.2, chart.nv)), *rng.uniform(-1, 1, 2)]
    sim.set_state(q, 0.7 * rng.normal(size=robot.nv))
    tau = np.zeros(robot.nv)
    tau[robot.actuated] = 0.3 * rng.normal(size=robot.nu)
    return sim, tau


def humanoid(folder, tied, **options):
    """From MJCF, in a pose where its feet of balls are just above the ground."""
    legs = "".join(LEG.format(s=s, y=0.1 * s) for s in (1, -1))
    path = folder / "humanoid.xml"
    path.write_text(HUMANOID.format(z=0.85, legs=legs, tied=str(tied).lower()))
    robot = robosim.load(path)
    assert sum(joint.kind == "composite" for joint in robot.joints) == 5
    return Simulation(robot, 1e-3, tolerance=1e-11, **options)


@pytest.mark.parametrize("name", CHARTS)
def test_each_kind_of_chart(name):
    """With what acts along coordinates, held torques and servos; on a base that floats or not."""
    chart = CHARTS[name]
    # Coordinates of a rotation vector are exchanged for others, and have no laws of their own.
    for k, laws in enumerate(
        ({}, LAWS, {"friction": 0.05}) if name != "rotation vector" else ({},)
    ):
        for floats in (True, False):
            robot = two_charts(chart, floats, **laws)
            sim, tau = thrown(robot, chart, 10 * k + floats)
            compare(sim, tau)
            at = [robot.q_names.index(each) for each in robot.actuated_names]
            compare(sim, controller=PD(robot, sim.q[at] + 0.1, 20.0, 1.0, implicit=True))


@pytest.mark.parametrize("name", ["two hinges", "three hinges", "apart", "surface"])
def test_by_the_solver_of_graphs(name):
    robot = two_charts(CHARTS[name], **LAWS)
    sim, tau = thrown(robot, CHARTS[name], 5, solver="ldu")
    compare(sim, tau)
    at = [robot.q_names.index(each) for each in robot.actuated_names]
    compare(sim, controller=PD(robot, sim.q[at] + 0.1, 20.0, 1.0, implicit=True))


@pytest.mark.parametrize("name", ["two hinges", "three hinges", "hinge, slide"])
def test_limits_and_contacts(name):
    """A foot on the ground, and coordinates that reach their limits."""
    chart = CHARTS[name]
    ends = {"lower": [-0.6] * chart.nv, "upper": [0.31] * chart.nv}
    robot = two_charts(chart, **LAWS, **ends)
    feet = tuple(ContactPoint(f"foot{k}", "shin", (x, 0, -0.2), friction=0.6)
                 for k, x in enumerate((-0.1, 0.1)))  # fmt: skip
    robot = replace(robot, contacts=feet)
    sim = Simulation(robot, 1e-3, tolerance=1e-11, contact_speed=1e-3)
    q, v = np.array(robot.home), np.zeros(robot.nv)
    q[7 : 7 + chart.nv], v[6 : 6 + chart.nv] = 0.3, 2.0
    v[2] = -1.0
    sim.place(q)
    sim.set_state(sim.q, v)
    modes, tau = set(), np.zeros(robot.nv)
    for _ in range(200):
        sim.step()
        here = {(one.other, one.mode) for one in linearize(sim, tau).contacts}
        # Slacks are 1e-6 m, of which differences by 1e-7 m leave up to 5e-5 of the derivatives.
        if not here <= modes:
            compare(sim, tau, within=1e-4)
        modes |= here
    assert ("limit", "closed") in modes
    assert {"stick", "slide"} & {mode for _, mode in modes}


@pytest.mark.parametrize("tied", [False, True], ids=["free", "tied"])
def test_a_humanoid_of_a_file(tmp_path, tied):
    """In the air and as it lands; tied coordinates are a start with loops to close."""
    sim = humanoid(tmp_path, tied, contact_speed=1e-3)
    robot, rng = sim.robot, np.random.default_rng(3)
    sim.place(gap=1e-3)
    sim.set_state(sim.q, 0.1 * rng.normal(size=robot.nv))
    tau = np.zeros(robot.nv)
    tau[robot.actuated] = rng.normal(size=robot.nu)
    pd = PD(robot, (-0.1, -0.2, 0.1), 40.0, 2.0, implicit=True)
    compare(sim, tau)
    compare(sim, controller=pd)
    compare(sim, controller=PD(robot, (-0.1, -0.2, 0.1), 40.0, 2.0))
    sim.run(0.2, pd)
    # Longer differences are off by their own error, and shorter ones by rounding.
    found = compare(sim, controller=pd, step=3e-8, within=3e-5)
    assert {"stick", "slide"} & {one.mode for one in found.contacts if one.other != "dry friction"}


def test_regulators_and_plans_of_a_humanoid(tmp_path):
    """The last gains of a fall are those of its last step; a plan bends a hip."""
    sim = humanoid(tmp_path, tied=False)
    robot, n = sim.robot, 20
    sim.place(gap=0.3)
    start = sim.q.copy()
    log = sim.run((n + 1) * sim.timestep)
    Q, R, tau = np.repeat((1.0, 1e-2), robot.nv), 1e-6, np.zeros((n, robot.nu))
    law = optimize.lqr(sim, log.q, log.v, tau, Q, R, final=Q)
    sim.set_state(log.q[n - 1], log.v[n - 1])
    last = linearize(sim, tau[-1])
    BQ = last.B.T * Q
    gains = np.linalg.solve(R * np.eye(robot.nu) + BQ @ last.B, BQ @ last.A)
    np.testing.assert_allclose(law.K[-1], gains, atol=1e-6 * np.abs(gains).max())
    sim.set_state(start)
    hip, weights = robot.q_names.index("hip_y1"), np.zeros(2 * robot.nv)
    start[hip] -= 0.02
    weights[robot.v_names.index("hip_y1")] = 1.0
    cost = optimize.QuadraticCost(robot, start, Q=0.0 * weights, R=1e-9, final=weights)
    found = optimize.ilqr(sim, cost, n)
    assert found.q[-1][hip] == pytest.approx(-0.02, abs=1e-4)


def test_gradients_of_a_humanoid(tmp_path):
    """Beside differences of the rollouts, whose torques bend hips."""
    robot, rng, n = humanoid(tmp_path, tied=False).robot, np.random.default_rng(2), 15
    horizon = Horizon(BatchSimulation(robot, 1, 1e-3, tolerance=1e-11), n)
    inputs = {"q": robot.home + np.eye(robot.nq)[2], "v": 0.1 * rng.normal(size=robot.nv),
              "torques": rng.normal(size=(n, robot.nu))}  # fmt: skip
    run = horizon.run(inputs)
    dq, dv = rng.normal(size=run.q.shape), rng.normal(size=run.v.shape)
    found = horizon.back(run, inputs, dq, dv)
    for name, step in (("q", 1e-6), ("v", 1e-4), ("torques", 1e-3)):
        along, ends = rng.normal(size=inputs[name].shape), []
        for way in (1, -1):
            at = horizon.run({**inputs, name: inputs[name] + way * step * along})
            ends.append((at.q * dq).sum() + (at.v * dv).sum())
        assert (found[name] * along).sum() == pytest.approx((ends[0] - ends[1]) / (2 * step), 1e-5)
