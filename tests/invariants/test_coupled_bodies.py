"""Contacts between the bodies of a tree: as the solver with multipliers has them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from touching import box, clapping, free

from robosim import ContactPoint, ConvergenceError, Joint, Mechanism, Simulation

KINDS = ("revolute", "prismatic", "spherical", "cylindrical", "planar", "universal")


def started(robot: Mechanism, solver: str | None) -> Simulation:
    """With both arms on their way to each other, above the ground if the trunk floats."""
    sim = Simulation(robot, 2e-3, solver=solver, tolerance=1e-11)
    q, v = np.array(robot.home), np.zeros(robot.nv)
    if robot.joints[0].kind == "floating":
        q[2] = 0.6
    v[robot.v_names.index("left shoulder")] = 4.0
    v[robot.v_names.index("right shoulder")] = -3.0
    sim.set_state(q, v)
    return sim


def coupled(sim: Simulation) -> int:
    """Contacts between bodies in the equations of the last step."""
    return int(sim.engine.parts.memory.system.coupled.number[0])


@pytest.mark.parametrize("base", ["floating", "fixed"])
@pytest.mark.parametrize("kind", KINDS)
def test_both_solvers_agree(kind, base):
    robot = clapping(kind, base)
    sims = [started(robot, solver) for solver in (None, "ldu")]
    assert [sim.solver for sim in sims] == ["articulated", "ldu"]
    met = 0
    for _ in range(120):
        for sim in sims:
            sim.step()
        met += int(coupled(sims[0]) > 0)
    assert met > 5
    assert sims[0].solver == "articulated"
    np.testing.assert_allclose(sims[0].q, sims[1].q, rtol=0, atol=2e-6)
    assert sims[0].min_gap() > -1e-7


def laden(boxes: int) -> tuple[Mechanism, np.ndarray]:
    """A tray on a spring with boxes on it that resist turning: eight contacts each."""
    tray = box("tray", (1.0, 1.0, 0.05), 5.0)
    bodies, joints = [tray], [Joint("lift", "prismatic", None, "tray", (0, 0, 1), stiffness=5e3)]
    q = [0.0]
    for n in range(boxes):
        loose = box(f"box {n}")
        shape = replace(loose.collisions[0], torsional_friction=0.01)
        bodies.append(replace(loose, collisions=(shape,)))
        joints.append(Joint(f"box {n}", "floating", None, f"box {n}"))
        q += [0.3 * (n % 2), 0.3 * (n // 2), 0.126, 1.0, 0.0, 0.0, 0.0]
    return Mechanism("laden", tuple(bodies), tuple(joints), self_collision=True), np.array(q)


@pytest.mark.parametrize(("boxes", "away"), [(2, False), (4, True)])
def test_what_is_too_much_for_the_tree_goes_to_the_graph(boxes, away):
    robot, q = laden(boxes)
    sims = [Simulation(robot, 2e-3, solver=solver, tolerance=1e-11) for solver in (None, "ldu")]
    solvers = set()
    for sim in sims:
        sim.set_state(q)
    for _ in range(60):
        for sim in sims:
            sim.step()
        solvers.add(sims[0].solver)
    assert solvers == ({"articulated", "ldu"} if away else {"articulated"})
    np.testing.assert_allclose(sims[0].q, sims[1].q, rtol=0, atol=1e-7)


def test_springs_of_contacts_count_as_contacts_between_bodies():
    """Two boxes with eight contacts each are not too much, but their two springs are."""
    robot, q = laden(2)
    soft = [replace(shape, stiffness=1e5) for shape in robot.bodies[0].collisions]
    robot = replace(robot, bodies=(replace(robot.bodies[0], collisions=soft), *robot.bodies[1:]))
    sims = [Simulation(robot, 2e-3, solver=solver, tolerance=1e-11) for solver in (None, "ldu")]
    for sim in sims:
        sim.set_state(q)
        for _ in range(20):
            sim.step()
    assert len(sims[0].contacts()) == 8
    assert sims[0].solver == "ldu"
    np.testing.assert_allclose(sims[0].q, sims[1].q, rtol=0, atol=1e-7)


def test_contacts_with_the_ground_are_none_between_bodies():
    """Twenty of them, which trees take one by one."""
    robot = clapping("revolute", "floating")
    places = itertools.product((-0.2, -0.1, 0.0, 0.1, 0.2), (-0.3, -0.1, 0.1, 0.3), (-0.05,))
    points = tuple(ContactPoint(str(place), "trunk", place) for place in places)
    robot = replace(robot, contacts=points, obstacles=())
    sim = Simulation(robot, 2e-3)
    q = np.array(robot.home)
    q[2] = 0.05
    sim.set_state(q)
    for _ in range(5):
        sim.step()
    assert np.count_nonzero(sim.contact_forces()[:, 2] > 0) > 16
    assert sim.solver == "articulated"


def test_a_tree_that_was_asked_for_says_what_it_does_not_take():
    robot, q = laden(4)
    sim = Simulation(robot, 2e-3, solver="articulated")
    sim.set_state(q)
    with pytest.raises(ConvergenceError, match="16 contacts between bodies"):
        sim.run(0.1)
    assert sim.time < 0.1


@pytest.mark.parametrize(("boxes", "solver"), [(4, "articulated"), (5, "ldu")])
def test_a_heap_is_left_to_the_graph_at_once(boxes, solver):
    assert Simulation(laden(boxes)[0], islands=False).solver == solver


def test_loose_bodies_alone_are_a_heap():
    robot = free(box("a"), box("b"), self_collision=True)
    assert Simulation(robot, islands=False).solver == "ldu"
