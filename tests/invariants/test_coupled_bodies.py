"""Contacts between the bodies of a tree: as the solver with multipliers has them."""

import numpy as np
import pytest
from touching import ball, box

from robosim import HalfSpace, Joint, Mechanism, Simulation

KINDS = ("revolute", "prismatic", "spherical", "cylindrical", "planar", "universal")


def clapping(kind: str, base: str, loose: int = 0) -> Mechanism:
    """A trunk with two arms of two links, whose hands meet, and loose balls that fall on it."""
    trunk = box("trunk", (0.4, 0.4, 0.1), 3.0)
    bodies, joints = [trunk], [Joint("base", base, None, "trunk")]
    for side, y in (("left", 0.15), ("right", -0.15)):
        arm, hand = box(f"{side} arm", (0.04, 0.04, 0.2), 0.5), ball(f"{side} hand", 0.06, 0.4)
        turn = -np.sign(y) * 0.4
        offset = (np.cos(turn / 2), np.sin(turn / 2) * -1.0, 0.0, 0.0)
        joints.append(
            Joint(
                f"{side} shoulder",
                "revolute",
                "trunk",
                arm.name,
                (1, 0, 0),
                (0, y, 0.06),
                (0, 0, -0.11),
                offset=offset,
            )
        )
        joints.append(
            Joint(
                f"{side} wrist", kind, arm.name, hand.name, (1, 0, 0), (0, 0, 0.11), (0, 0, -0.08)
            )
        )
        bodies += [arm, hand]
    for n in range(loose):
        bodies.append(ball(f"loose {n}", 0.05, 0.2))
        joints.append(Joint(f"loose {n}", "floating", None, f"loose {n}"))
    return Mechanism(
        "clapping", tuple(bodies), tuple(joints), self_collision=True, obstacles=(HalfSpace(),)
    )


def started(robot: Mechanism, solver: str | None, loose: int, **options) -> Simulation:
    sim = Simulation(robot, 2e-3, solver=solver, tolerance=1e-11, **options)
    q, v = np.array(robot.home), np.zeros(robot.nv)
    names = [joint.name for joint in robot.joints]
    q[robot.q_offsets[0] + 2] = 0.6 if robot.joints[0].kind == "floating" else q[0]
    for side, rate in (("left", 4.0), ("right", -3.0)):
        v[robot.v_offsets[names.index(f"{side} shoulder")]] = rate
    for n in range(loose):
        at = robot.q_offsets[names.index(f"loose {n}")]
        q[at : at + 3] = 0.02 * n, 0.08 * (n - 1), 0.85 + 0.12 * n
    sim.set_state(q, v)
    return sim


@pytest.mark.parametrize("base", ["floating", "fixed"])
@pytest.mark.parametrize("kind", KINDS)
def test_both_solvers_agree(kind, base):
    robot = clapping(kind, base)
    sims = [started(robot, solver, 0) for solver in (None, "ldu")]
    assert [sim.solver for sim in sims] == ["articulated", "ldu"]
    met = 0
    for _ in range(120):
        for sim in sims:
            sim.step()
        met += int(sims[0].engine.parts.memory.system.coupled.count[0] > 0)
    assert met > 5
    assert sims[0].solver == "articulated"
    np.testing.assert_allclose(sims[0].q, sims[1].q, rtol=0, atol=2e-6)
    assert sims[0].min_gap() > -1e-7
