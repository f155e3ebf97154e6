"""The elimination of trees along their joints, against the block LDU with all multipliers."""

from dataclasses import replace

import numpy as np
import pytest
from kernels_for_tests import newton_direction, parts_of, start_newton
from random_mechanisms import (
    close_at,
    random_body,
    random_coordinates,
    random_joint,
    random_tree,
)

from robosim import Body, Joint, Mechanism, OptionError, PointSpring, Simulation, load
from robosim.joints import KINDS
from robosim.models import builders

KAPPA = 1e-3
SOLVERS = ("articulated", "ldu")
SINGLE = {"revolute": 1, "prismatic": 1}


def loaded_tree(rng: np.random.Generator, base: str, contacts: int) -> Mechanism:
    """A random tree of all kinds of joints, some of them with springs, rotors, limits, friction."""
    robot = random_tree(rng, 9, base, KINDS, contacts)
    joints = []
    for k, joint in enumerate(robot.joints):
        law = {"stiffness": 3.0, "damping": 0.2, "armature": 0.05} if k % 3 == 1 else {}
        if joint.kind in SINGLE and k % 2 == 0:
            law |= {"lower": -1.01, "upper": 1.01, "friction": 0.1}
        joints.append(replace(joint, **law))
    return replace(robot, joints=tuple(joints))


def find_direction(sim: Simulation, first: Simulation, q, v, tau) -> None:
    """Leave in sim its Newton direction from q, v at the motion that the first one has."""
    sim.start.place(q, v, 0.0)
    sim.parts.loads.tau[:] = tau
    info = sim.engine.single.values.infos[0]
    start_newton(*parts_of(sim), sim.parts.options, KAPPA, info)
    for name in ("v", "P"):
        sim.parts.work.bodies[name] = first.parts.work.bodies[name]
    assert newton_direction(*parts_of(sim), sim.timestep, KAPPA, info) == 0


def compare_directions(robot: Mechanism, rng: np.random.Generator) -> None:
    """Both solvers' directions from the same motion, which the joints of the tree allow."""
    q, v = random_coordinates(rng, robot), rng.normal(size=robot.nv)
    tau = rng.normal(size=robot.nv)
    sims = [Simulation(robot, 0.01, solver=solver) for solver in SOLVERS]
    found = []
    for sim in sims:
        find_direction(sim, sims[0], q, v, tau)
        found.append(sim.parts.work.rhs["w"][: len(robot.bodies)].copy())
    scale = np.abs(found[1]).max()
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("massless", [0, 1, 2])
def test_a_matrix_of_something_that_nothing_resists_is_singular(massless):
    """Each of three bodies on hinges of their own."""
    bodies = [Body(f"b{k}", 1.0, np.eye(3)) for k in range(3)]
    joints = [Joint(f"j{k}", "revolute", None, f"b{k}", (0, 1, 0)) for k in range(3)]
    sim = Simulation(Mechanism("hinges", bodies, joints), islands=False, solver="articulated")
    info = sim.engine.single.values.infos[0]
    start_newton(*parts_of(sim), sim.parts.options, KAPPA, info)
    assert newton_direction(*parts_of(sim), sim.timestep, KAPPA, info) == 0
    model = sim.parts.model.bodies.copy()
    model["mass"][massless], model["inertia"][massless] = 0.0, 0.0
    parts = (sim.parts.model._replace(bodies=model), *parts_of(sim)[1:])
    sim.parts.memory.system.inertias["J"][massless] = 0.0
    assert newton_direction(*parts, sim.timestep, KAPPA, info) != 0


@pytest.mark.parametrize("base", KINDS)
@pytest.mark.parametrize("contacts", [0, 1])
def test_newton_direction(base, contacts):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        compare_directions(loaded_tree(rng, base, contacts), rng)


def test_newton_direction_with_drag():
    """Matrices that couple all six components, of every other body."""
    rng = np.random.default_rng(0)
    robot = loaded_tree(rng, "floating", 0)
    roots = 3.0 * rng.normal(size=(len(robot.bodies), 6, 6))
    bodies = [
        replace(body, drag=root @ root.T) if k % 2 else body
        for k, (body, root) in enumerate(zip(robot.bodies, roots, strict=True))
    ]
    compare_directions(replace(robot, bodies=tuple(bodies)), rng)


@pytest.mark.parametrize("base", ["floating", "spherical", "planar", "fixed", "prismatic"])
def test_trajectories_agree(base):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        robot = loaded_tree(rng, base, 0)
        q, v = random_coordinates(rng, robot), rng.normal(size=robot.nv)
        ends = []
        for solver in SOLVERS:
            sim = Simulation(robot, 1e-3, solver=solver, tolerance=1e-12)
            sim.start.place(q, v, 0.0)
            sim.run(0.02)
            ends.append(np.concatenate((sim.q, sim.v)))
        np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9)


def looped_tree(
    rng: np.random.Generator, closing: str, top: str | None, contacts: int
) -> Mechanism:
    """A body with two legs of unlike joints and a twig, closed to a loop; another loop on a foot.

    The first loop hangs on the body, or on the world.
    """
    kinds = ("spherical", "revolute", "cylindrical", "revolute", "planar", "spherical")
    parents = ("b0", "b1", top, "b3", "b1", "b5")
    robot = random_tree(rng, 1, "spherical" if top is None else "floating", contacts=contacts)
    rest = [random_body(rng, f"b{k + 1}") for k in range(6)]
    joints = [
        random_joint(rng, f"j{k + 1}", kind, parent, f"b{k + 1}")
        for k, (kind, parent) in enumerate(zip(kinds, parents, strict=True))
    ]
    robot = Mechanism("looped", (*robot.bodies, *rest), (*robot.joints, *joints), robot.contacts)
    # The first over b1, b2 and b3, b4; the second hangs on b1, over b5 and b6, or over b6 alone.
    loops = [(closing, "b4", "b2"), ("planar", "b1", "b6")]
    robot = close_at(rng, robot, random_coordinates(rng, robot), loops)
    passive = [replace(joint, actuated=False) for joint in robot.loop_joints]
    return replace(robot, joints=(*robot.tree_joints, *passive))


def test_a_feature_that_is_not_compiled_is_no_jump_to_nowhere():
    robot = looped_tree(np.random.default_rng(0), "revolute", "b0", 0)
    sim = Simulation(robot, 0.01, solver="articulated")
    info = sim.engine.single.values.infos[0]
    find_direction(sim, sim, np.array(robot.home), np.zeros(robot.nv), 0.0)
    parts = parts_of(sim)
    sim.parts.model.calls[:] = 0
    with pytest.raises(SystemError):
        newton_direction(*parts, sim.timestep, KAPPA, info)


def make_exact(sim: Simulation) -> None:
    """Take the compliance out of a tree's joints, which they have with multipliers and loops."""
    joints = sim.parts.model.joints
    joints.setflags(write=True)
    joints[: len(sim.robot.bodies)]["compliance_T"] = 0.0
    joints[: len(sim.robot.bodies)]["compliance_R"] = 0.0


@pytest.mark.parametrize("top", ["b0", None])
@pytest.mark.parametrize("closing", ["revolute", "spherical", "fixed", "prismatic"])
def test_newton_direction_of_loops(closing, top):
    """Motions and multipliers of both solvers, from a motion that the tree's joints allow."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        robot = looped_tree(rng, closing, top, contacts=0 if top is None else 2)
        q, v = np.array(robot.home), rng.normal(size=robot.nv)
        found = []
        sims = [Simulation(robot, 0.01, solver=solver) for solver in SOLVERS]
        for sim in sims:
            make_exact(sim)
            find_direction(sim, sims[0], q, v, np.zeros(robot.v_offsets[-1]))
            bodies = sim.parts.work.rhs["w"][: len(robot.bodies)]
            loops = sim.parts.work.rhs["w"][sim.parts.model.joints["node"][len(robot.bodies) :]]
            found.append((bodies.copy(), loops.copy()))
        for mine, theirs in zip(*found, strict=True):
            scale = np.abs(theirs).max()
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("closing", ["revolute", "spherical"])
def test_trajectories_of_loops_agree(closing):
    """Bodies, joints that close loops, and what they bear."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        robot = looped_tree(rng, closing, "b0", 0)
        v = 0.1 * rng.normal(size=robot.nv)
        ends, wrenches = [], []
        for solver in SOLVERS:
            sim = Simulation(robot, 1e-3, solver=solver, tolerance=1e-11)
            assert sim.solver == solver
            sim.set_state(robot.home, v)
            make_exact(sim)
            log = sim.run(0.05)
            assert log.violation.max() < 1e-11
            ends.append(np.concatenate((sim.q, sim.v)))
            wrenches.append(np.array(list(sim.joint_wrenches().values())))
        np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-8)
        scale = np.abs(wrenches[1]).max()
        np.testing.assert_allclose(wrenches[0], wrenches[1], rtol=0, atol=1e-3 * scale)


@pytest.mark.parametrize("cone", ["second_order", "linearized"])
def test_contacts_agree(cone):
    """The A1 lands, leaning; to what contact_speed leaves open."""
    robot = load("a1")
    ends = []
    for solver in SOLVERS:
        sim = Simulation(robot, 1e-3, solver=solver, friction_cone=cone, tolerance=1e-11)
        sim.run(0.2, "stand")
        ends.append(np.concatenate((sim.q, sim.v, sim.contact_forces().ravel() / 100)))
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-6)


def test_joint_wrenches_agree():
    rng = np.random.default_rng(3)
    robot = loaded_tree(rng, "revolute", 0)
    q, v = random_coordinates(rng, robot), rng.normal(size=robot.nv)
    found = []
    for solver in SOLVERS:
        sim = Simulation(robot, 1e-4, solver=solver, tolerance=1e-10)
        sim.start.place(q, v, 0.0)
        sim.run(5e-4)
        found.append(np.array(list(sim.joint_wrenches().values())))
    scale = np.abs(found[1]).max()
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-3 * scale)


def test_joints_hold_to_rounding():
    """Whatever the tolerance is: the joints' own motions are the unknowns."""
    sim = Simulation(builders.chain(20), 0.01, tolerance=1e-4)
    q = np.array(sim.robot.home)
    q[0] = 1.0
    sim.set_state(q)
    log = sim.run(5.0)
    assert log.violation.max() < 1e-13
    assert sim.constraint_violation() < 1e-13


def test_joints_that_have_come_apart_close_in_a_step():
    """As rounding may part them, so that it does not add up."""
    sim = Simulation(builders.chain(3), 0.01, solver="articulated")
    sim.set_state([0.3, -0.4, 0.5])
    sim.step()
    sim.parts.state.bodies["x"][1] += 1e-7
    sim.parts.memory.system.valid[:] = 0
    assert sim.step().violation < 1e-14


def test_the_default_and_what_is_refused():
    body = Body("b", 1.0, np.eye(3))
    hinge = Joint("j", "revolute", None, "b")
    spring = PointSpring("s", None, "b", (0, 0, 1), (0.5, 0, 0), stiffness=1.0)
    assert Simulation(Mechanism("tree", (body,), (hinge,))).solver == "articulated"
    tied = Mechanism("tied", (body,), (hinge,), springs=(spring,))
    assert Simulation(tied).solver == "ldu"
    with pytest.raises(OptionError, match="solver"):
        Simulation(tied, solver="articulated")
    assert Simulation(builders.rhombus()).solver == "articulated"
    # Its loops share joints; a motor where a loop is closed acts on more than the tree.
    assert Simulation(builders.scissor_lift(3)).solver == "ldu"
    four_bar = builders.rhombus()
    driven = tuple(replace(joint, actuated=True) for joint in four_bar.joints)
    assert Simulation(replace(four_bar, joints=driven)).solver == "ldu"
    with pytest.raises(OptionError, match="'cholesky'"):
        Simulation(tied, solver="cholesky")
