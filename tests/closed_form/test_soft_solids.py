"""Elastic solids of tetrahedra: linear elasticity, beams, what is conserved, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from robosim import (
    Body,
    Dynamics,
    Geometry,
    Joint,
    Mechanism,
    MinimalSimulation,
    ModelError,
    OptionError,
    ReducedSimulation,
    Simulation,
    Soft,
)
from robosim.compiled.building.model import compile_model, connect_pairs
from robosim.experiments.redmax_soft import (
    beam_answer,
    box_of_tetrahedra,
    face_shares,
    middle_of_long_step,
)

Array = NDArray[np.float64]
YOUNG, POISSON, DENSITY = 1e5, 0.3, 1000.0
SIZE = np.array((0.4, 0.1, 0.1))


def on_rollers(robot: Mechanism, points: Array) -> Mechanism:
    """Nodes on each of the planes through the origin stay in it, and slide there."""
    joints = []
    for joint in robot.joints:
        at = points[int(joint.name.rpartition("_")[2])]
        across, along = 1.0 * (at == 0), 1.0 * (at != 0)
        kind = ("fixed_orientation", "planar_fixed_orientation", "prismatic")[int(across.sum())]
        axis = along if kind == "prismatic" else across if across.any() else (0, 0, 1)
        joints.append(Joint(joint.name, kind, None, joint.child, axis=axis, parent_position=at))
    return replace(robot, joints=joints, home=None)


def test_a_bar_is_stretched_by_its_linear_answer() -> None:
    """It is longer by F L / (E A), and thinner by Poisson's ratio of that."""
    points, elements = box_of_tetrahedra((4, 1, 1), SIZE)
    part = Soft("bar", points, elements, YOUNG, POISSON, DENSITY, attached={0: None})
    robot = on_rollers(Mechanism("m", (), (), soft=part), points)
    strain = 1e-7
    pulls = strain * YOUNG * SIZE[1] * SIZE[2] * face_shares(robot, points[:, 0] == SIZE[0])
    loads = {f"bar_{k}": (pull, 0.0, 0.0) for k, pull in enumerate(pulls) if pull}
    found = middle_of_long_step(robot, loads) - points
    expected = strain * points * (1, -POISSON, -POISSON)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * expected.max())


def test_a_bar_bends_to_beam_theory_as_it_is_refined() -> None:
    """The error of linear elements falls as the square of their size, to a beam with shear."""
    cells = np.array((2, 3, 4))
    stiff = np.array([1 / beam_answer(n) for n in cells])
    assert np.all(np.diff(stiff) < 0)
    # stiff = a + b / n^2 twice, with the same a and b.
    a, b = np.linalg.solve(np.column_stack((np.ones(2), 1.0 / cells[1:] ** 2)), stiff[1:])
    assert a == pytest.approx(1.0, abs=0.02)
    assert a + b / cells[0] ** 2 == pytest.approx(stiff[0], rel=0.03)


def test_what_flies_keeps_its_momentum_and_its_energy_has_no_trend() -> None:
    """With a body tied to it, at large strains; elements come back that were inside out."""
    ball = Body.of_shape(Geometry("sphere", (0.05,), name="ball"), mass=0.5)
    base = Joint("floating_base", "floating", None, "ball")
    tied = {0: "ball", 1: "ball"}
    points, elements = box_of_tetrahedra((1, 1, 1), (0.1, 0.1, 0.1))
    part = Soft("jelly", points + 0.05, elements, 3e3, POISSON, DENSITY, attached=tied)
    robot = Mechanism("m", (ball,), (base,), soft=part)
    rng = np.random.default_rng(0)
    sim = Simulation(robot, 2e-3, gravity=(0, 0, 0), tolerance=1e-13)
    sim.set_state(robot.home, 0.4 * rng.normal(size=robot.nv))
    start, still = sim.energy(), replace(robot, soft_meshes=())
    assert start == pytest.approx(Dynamics(still, (0, 0, 0)).energy(sim.q, sim.v))
    energies, momenta = [], []
    for _ in range(3000):
        energies.append(sim.energy())
        momenta.append(np.concatenate(sim.momentum()))
        sim.step()
    momenta, energies = np.array(momenta), np.array(energies)
    np.testing.assert_allclose(momenta - momenta[0], 0.0, atol=1e-11)
    first, second = np.split(energies - start, 2)
    swing = np.ptp(first)
    assert abs(first.mean() - second.mean()) < 0.25 * swing < 0.02 * start


def test_what_is_inside_out_comes_back() -> None:
    """The middle of a long step is at rest, wherever it begins: here turned inside out."""
    points, elements = box_of_tetrahedra((2, 1, 1), (0.2, 0.1, 0.1))
    held = {int(k): None for k in np.flatnonzero(points[:, 0] == 0)}
    robot = Mechanism(
        "m", (), (), soft=Soft("bar", points, elements, YOUNG, POISSON, DENSITY, held)
    )
    q = np.zeros((robot.nq // 3, 3))
    q[:, 0] = -1.5 * np.delete(points, list(held), axis=0)[:, 0]  # through the face that is held
    sim = Simulation(robot, 1e3, gravity=(0, 0, 0), max_iterations=200)
    sim.set_state(q.ravel())
    assert sim.energy() > 1.0
    sim.step()
    np.testing.assert_allclose(sim.q, -q.ravel(), rtol=0, atol=1e-9)


CUBE = box_of_tetrahedra((1, 1, 1), (1, 1, 1))


def made(points=CUBE[0], elements=CUBE[1], young=1e4, poisson=0.3, density=1e3, **more) -> Soft:
    return Soft("cube", points, elements, young, poisson, density, **more)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: made(young=-1.0), "young must be positive, not -1"),
        (lambda: made(poisson=0.5), "poisson must be from 0 to below 0.5, not 0.5"),
        (lambda: made(density=0.0), "density must be positive, not 0"),
        (
            lambda: made(elements=np.vstack((CUBE[1][:2], CUBE[1][2:, [1, 0, 2, 3]]))),
            "tetrahedron 2, of the nodes .* is inside out",
        ),
        (lambda: made(elements=((0, 1, 2, 3), *CUBE[1])), "tetrahedron 0, .* is flat"),
        (lambda: made(elements=((0, 1, 2, 8),)), "tetrahedron 0 has the nodes .* 0 to 7"),
        (lambda: made(elements=CUBE[1][:1]), "is part of no tetrahedron"),
        (lambda: made(elements=((0.5, 1, 2, 3),)), "tetrahedra must be whole numbers"),
        (lambda: made(attached={8: None}), "attaches node 8, and nodes are 0 to 7"),
        (lambda: made(attached=dict.fromkeys(range(8))), "all of its nodes are attached"),
        (
            lambda: Mechanism("m", (), (), soft=made(attached={0: "b"})),
            "node 0 is attached to 'b', which does not exist",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make, told) -> None:
    with pytest.raises(ModelError, match=told):
        make()


def test_what_has_no_soft_solids_refuses_them_by_name() -> None:
    robot = Mechanism("m", (), (), soft=made())
    for formulation in (MinimalSimulation, ReducedSimulation):
        with pytest.raises(ModelError, match="soft 'cube': is elastic"):
            formulation(robot, 0.01)
    q = np.zeros(robot.nq)
    with pytest.raises(ModelError, match="soft 'cube': is elastic"):
        Dynamics(robot).forward_acceleration(q, q, q)
    assert Dynamics(robot).mass_matrix(q).shape == (24, 24)
    with pytest.raises(OptionError, match="trees without springs, tendons and soft solids"):
        Simulation(robot, 0.01, solver="articulated")


def test_pairs_of_bodies_that_come_near_leave_elements_their_blocks() -> None:
    """Each pair of bodies has a block either way, whichever of them share an element or touch."""
    balls = [
        Body.of_shape(Geometry("sphere", (0.1,), name=name), mass=1.0, collides=True)
        for name in ("a", "b")
    ]
    joints = [Joint(ball.name, "floating", None, ball.name) for ball in balls]
    home = np.concatenate([(x, 0, 0, 1, 0, 0, 0) for x in (0.0, 3.0)])
    part = made(attached={0: "a", 1: None})
    robot = Mechanism("m", balls, joints, home=home, soft=part, contact_pairs=[("a", "b")])
    model = compile_model(robot)
    near = connect_pairs(model, np.array([True]))
    assert len(near.graph.updates) > len(model.graph.updates)
    nb = len(robot.bodies)
    for one in (model, near):
        found: dict[tuple[int, int], set[int]] = {}
        for element in one.elements:
            for (a, b), block in np.ndenumerate(element["block"]):
                ends = int(element["body"][a]), int(element["body"][b])
                found.setdefault(ends, set()).add(int(block))
                assert (block < 0) == (nb in ends)
        own = [blocks for ends, blocks in found.items() if nb not in ends]
        assert all(len(blocks) == 1 for blocks in own)
        assert len(set.union(*own)) == len(own)
        assert all(found[ends] == {ends[0]} for ends in found if ends[0] == ends[1] < nb)


def test_two_of_them_become_one_with_all_that_they_have() -> None:
    """Renamed, moved and put together, a solid strains as before."""
    robot = Mechanism("m", (), (), soft=made(attached={0: None}))
    turn = np.array((np.cos(0.3), np.sin(0.3), 0, 0))
    both = robot.add(robot, (0, 0, 3), turn, prefix="other/")
    assert [mesh.name for mesh in both.soft_meshes] == ["cube", "other/cube"]
    assert both.soft_meshes[1].bodies[:2] == (None, "other/cube_1")
    sim = Simulation(both, 1e-2, gravity=(0, 0, 0))
    assert sim.energy() == pytest.approx(0.0, abs=1e-9)
    v = np.zeros((2, 7, 3))
    v[:, -1] = 0.2, 0.1, -0.3
    sim.set_state(sim.q, v.ravel())
    sim.run(0.3)
    halves = sim.q.reshape(2, -1)
    np.testing.assert_allclose(halves[0], halves[1], rtol=0, atol=1e-9)
