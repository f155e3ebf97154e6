"""The sparse block LDU against dense solves, on trees, graphs with cycles and real steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from constraint_graphs import (
    ConstraintGraph,
    chain_of_rings,
    fixed_at,
    floating,
    ladder,
    net,
    random_graph,
    random_rows,
    random_tree_graph,
    ring,
    wheel,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels_for_tests import factor_and_solve, parts_of, start_newton
from random_mechanisms import random_coordinates, random_tree
from test_newton_matrix import KAPPA, dense

from robosim import (
    Body,
    ContactPoint,
    Joint,
    Mechanism,
    PointSpring,
    Simulation,
    Soft,
    Strand,
)
from robosim.compiled.elimination import (
    constrained_order,
    depth_first_order,
    eliminate,
    minimum_degree_order,
)
from robosim.compiled.records.graph import BLOCK, ROW
from robosim.experiments.redmax_soft import box_of_tetrahedra
from robosim.joints import KINDS
from robosim.models.builders import chain, hanging_net


def solve_both(n: int, edges: list[tuple[int, int]], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A random system with the pattern of a graph, solved sparsely and densely."""
    rng = np.random.default_rng(seed)
    graph, numbers = eliminate(n, edges, depth_first_order(n, edges))
    blocks, F = np.zeros(graph.n_blocks, dtype=BLOCK), np.zeros((6 * n, 6 * n))
    pattern = {(i, i) for i in range(n)} | set(edges) | {(j, i) for i, j in edges}
    for i, j in sorted(pattern):
        block = rng.normal(size=(6, 6))
        if i == j:  # dominant, as pivots are not exchanged
            block += 12 * (1 + sum(i in edge for edge in edges)) * np.eye(6)
        blocks["F"][numbers[i, j], :, :6] = block
        F[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = block
    rhs = np.zeros(n, dtype=ROW)
    rhs["w"] = rng.normal(size=(n, 6))
    expected = np.linalg.solve(F, rhs["w"].ravel())
    assert factor_and_solve(graph, blocks, rhs) == 0
    return rhs["w"].ravel(), expected


@st.composite
def graphs(draw, cycles: bool):
    """(number of nodes, edges) of a forest or, with cycles, of any graph."""
    n = draw(st.integers(1, 12))
    if cycles:
        pairs = [(i, j) for j in range(n) for i in range(j)]
        edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    else:
        parents = [draw(st.integers(-1, i - 1)) for i in range(n)]
        edges = [(parent, i) for i, parent in enumerate(parents) if parent >= 0]
    return n, edges


@settings(deadline=None, max_examples=100)
@given(graphs(cycles=True), st.integers(0, 2**32 - 1))
def test_any_graph_against_a_dense_solve(graph, seed):
    sparse, expected = solve_both(*graph, seed)
    np.testing.assert_allclose(sparse, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("degree", [2, 4, 8, 20])
@pytest.mark.parametrize("seed", range(4))
def test_fronts_against_a_dense_solve(degree, seed):
    """Nodes of six rows, three and one, some of them with many neighbours; some particles."""
    rng = np.random.default_rng(seed)
    n, beside = 60, [(5, 60), (9, 61)]
    rows = rng.choice([1, 3, 6], p=[0.2, 0.5, 0.3], size=n + 2)
    rows[[5, 9]], rows[60:] = 3, 6
    edges = sorted({(i, int(j)) for i in range(1, n) for j in rng.integers(i, size=degree // 2)})
    order = minimum_degree_order(n, edges, {}, [(i,) for i in range(n)])
    graph, numbers = eliminate(n + 2, edges, order, rows.tolist(), beside)
    assert bool(len(graph.fronts)) == (degree > 2)
    assert len(set(numbers.values())) == len(numbers) <= graph.n_blocks

    blocks, F = np.zeros(graph.n_blocks, dtype=BLOCK), np.zeros((6 * n + 12, 6 * n + 12))
    for i, j in [*((i, i) for i in range(n)), *edges, *((j, i) for i, j in edges)]:
        block = np.zeros((6, 6))
        block[: rows[i], : rows[j]] = rng.normal(size=(rows[i], rows[j]))
        if i == j:
            block[: rows[i], : rows[i]] += 6.0 * np.eye(rows[i]) * (2 + degree)
            if i in (5, 9):
                block[:3, 3:], block[3:] = rng.normal(size=(3, 3)), rng.normal(size=(3, 6))
        blocks["F"][numbers[i, j], :, :6] = F[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = block
    for body, joint in beside:
        own, column, diagonal = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6))
        own[:3, 3:], column[3:, :3] = np.eye(3)[[1, 2, 0]], rng.normal(size=(3, 3))
        diagonal[3:, 3:] = np.eye(3)
        if body == 9:  # held
            own[3:, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            column[:3, 3:], diagonal[3:, 3:] = -own[3:, :3].T, 1e-9 * np.eye(3)
        for (i, j), block in {
            (body, joint): column,
            (joint, body): own,
            (joint, joint): diagonal,
        }.items():
            blocks["F"][numbers[i, j], :, :6] = F[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = block
    used = (np.arange(6) < np.where(np.isin(np.arange(n + 2), (5, 9)), 6, rows)[:, None]).ravel()
    rhs = np.zeros(n + 2, dtype=ROW)
    rhs["w"] = rng.normal(size=(n + 2, 6))
    expected = np.linalg.solve(F[np.ix_(used, used)], rhs["w"].ravel()[used])
    assert factor_and_solve(graph, blocks, rhs) == 0
    found = rhs["w"].ravel()[used]
    # What holds the second particle's coordinates is a difference of motions over the compliance.
    np.testing.assert_allclose(found[:-3], expected[:-3], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found[-3:], expected[-3:], rtol=0, atol=1e-6)


@settings(deadline=None, max_examples=100)
@given(graphs(cycles=True), st.integers(0, 11))
def test_depth_first_order(graph, root):
    """Every node once, the root last, and neighbours on one path to the root.

    That is what bounds the fill-in: a depth-first search leaves no edge between branches.
    """
    n, edges = graph
    root %= n
    order = depth_first_order(n, edges, [root])
    assert sorted(order) == list(range(n))
    assert order[-1] == root
    program, _ = eliminate(n, edges, order)
    neighbours = {
        int(p["node"]): set(program.neighbours["node"][p["neighbour_begin"] : p["neighbour_end"]])
        for p in program.pivots
    }
    position = {node: k for k, node in enumerate(order)}
    for node, later in neighbours.items():
        assert all(position[other] > position[node] for other in later)
        if later:
            first = min(later, key=position.__getitem__)
            assert later - {first} <= neighbours[first]


@settings(deadline=None, max_examples=100)
@given(graphs(cycles=False))
def test_trees_have_no_fill_in_and_linear_work(graph):
    n, edges = graph
    program, blocks = eliminate(n, edges, depth_first_order(n, edges))
    assert len(blocks) == n + 2 * len(edges)
    assert len(program.pivots) == n
    assert len(program.neighbours) == len(program.updates) == len(edges)


def test_a_ring_fills_in_along_its_path():
    """n nodes in a ring: eliminated from one end, each but the last three fills one pair."""
    for n in (3, 4, 10, 50):
        edges = [(i, (i + 1) % n) for i in range(n)]
        program, blocks = eliminate(n, edges, depth_first_order(n, edges))
        assert len(blocks) == n + 2 * n + 2 * (n - 3)
        assert len(program.neighbours) == 2 * (n - 2) + 1
        assert len(program.updates) == 4 * (n - 2) + 1


def random_definite(rng: np.random.Generator, n: int) -> np.ndarray:
    """Symmetric (n, n) with eigenvalues between 0.5 and 2, plus some of what is not symmetric."""
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return Q * rng.uniform(0.5, 2.0, size=n) @ Q.T + 0.05 * rng.normal(size=(n, n))


class System:
    """[M, -G1^T; G2, eps] in blocks and dense, rows that nobody uses padded with an identity."""

    def __init__(self, graph: ConstraintGraph) -> None:
        self.nb = graph.n_bodies
        self.order = constrained_order(self.nb, graph.constraints, graph.soft, graph.grounded)
        self.program, self.numbers = eliminate(len(self.order), graph.edges, self.order)
        self.F = np.eye(6 * len(self.order))

    def set_body(self, body: int, M: np.ndarray) -> None:
        self.F[6 * body : 6 * body + 6, 6 * body : 6 * body + 6] = M

    def set_rows(self, k: int, G1: np.ndarray, G2: np.ndarray, diagonal: np.ndarray) -> None:
        """Rows (n, 6 nb) of the k-th constraint or soft element."""
        begin, n, width = 6 * (self.nb + k), len(G1), 6 * self.nb
        self.F[begin : begin + n, :width] = G2
        self.F[:width, begin : begin + n] = -G1.T
        self.F[begin : begin + n, begin : begin + n] = diagonal

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """By blocks, in the order of elimination."""
        blocks, rows = (
            np.zeros(self.program.n_blocks, dtype=BLOCK),
            np.zeros(len(rhs) // 6, dtype=ROW),
        )
        for (i, j), number in self.numbers.items():
            blocks["F"][number, :, :6] = self.F[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
        rows["w"] = rhs.reshape(-1, 6)
        assert factor_and_solve(self.program, blocks, rows) == 0
        return rows["w"].ravel()


def random_system(rng: np.random.Generator, graph: ConstraintGraph) -> System:
    """One to three rows per constraint as long as all are well independent, else none.

    G1 and G2 belong to positions that differ as those of two knots do.
    """
    nb, system = graph.n_bodies, System(graph)
    x1 = rng.normal(size=(nb, 3))
    x2 = x1 + 0.01 * rng.normal(size=(nb, 3))
    for body in range(nb):
        system.set_body(body, random_definite(rng, 6))
    used = np.zeros((0, 6 * nb))
    for k, (bodies, fixed) in enumerate(zip(graph.constraints, graph.grounded, strict=True)):
        G1, G2 = random_rows(rng, bodies, fixed, [x1, x2], int(rng.integers(1, 4)))
        both = np.vstack((used, G1))
        if len(both) <= 6 * nb and np.linalg.svd(both, compute_uv=False)[-1] > 0.05:
            used = both
            system.set_rows(k, G1, G2, np.zeros((len(G1), len(G1))))
    for k, bodies in enumerate(graph.soft, start=len(graph.constraints)):
        G1, G2 = random_rows(rng, bodies, len(bodies) == 1, [x1, x2], 3)
        compliance = random_definite(rng, 3) * 10 ** rng.uniform(-3, 3)
        system.set_rows(k, G1, G2, compliance)
    return system


HELD = {
    "ring": ring(8),
    "ring on the world": fixed_at(ring(8), 5),
    "loop through the world": fixed_at(floating(5, [(i, i + 1) for i in range(4)]), 0, 4),
    "ladder": fixed_at(ladder(12), 0),
    "floating ladder": ladder(12),
    "net": fixed_at(net(4), 0),
    "net held at two corners": fixed_at(net(4), 0, 15),
    "wheel": wheel(10),
    "wheel held at its rim": fixed_at(wheel(10), 4),
    "chain of rings": fixed_at(chain_of_rings(8), 0),
    "chain of rings held at both ends": fixed_at(chain_of_rings(8), 0, 30),
    "gears": ConstraintGraph(
        4, [(0,), (0, 1), (1, 2), (1, 3), (0, 1, 2), (0, 1, 2, 3)], [True, *[False] * 5]
    ),
    "chain with springs across": fixed_at(floating(8, [(i, i + 1) for i in range(7)]), 0)._replace(
        soft=[(0, 7), (2, 5), (3,)]
    ),
    "pile": ConstraintGraph(16, [], [], [*net(4).constraints, *((i,) for i in range(4))]),
}


@pytest.mark.parametrize("name", HELD)
def test_constraints_in_loops_against_a_dense_solve(name):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        system = random_system(rng, HELD[name])
        rhs = rng.normal(size=len(system.F))
        expected = np.linalg.solve(system.F, rhs)
        np.testing.assert_allclose(
            system.solve(rhs), expected, rtol=0, atol=1e-9 * np.abs(expected).max()
        )


@pytest.mark.parametrize("family", [random_tree_graph, random_graph])
def test_random_constraints_against_a_dense_solve(family):
    for seed in range(50):
        rng = np.random.default_rng(seed)
        system = random_system(rng, family(rng, int(rng.integers(1, 12))))
        rhs = rng.normal(size=len(system.F))
        expected = np.linalg.solve(system.F, rhs)
        np.testing.assert_allclose(
            system.solve(rhs), expected, rtol=0, atol=1e-9 * np.abs(expected).max()
        )


def hinge_rows(x: np.ndarray, bodies: tuple[int, ...], point: np.ndarray) -> np.ndarray:
    """Rows (5, 6 nb) of a hinge about z: velocity at a point, and two angular velocities."""
    G = np.zeros((5, 6 * len(x)))
    for body, sign in zip(bodies, (1.0, -1.0), strict=False):
        G[:3, 6 * body : 6 * body + 3] = sign * np.eye(3)
        G[:3, 6 * body + 3 : 6 * body + 6] = -sign * np.cross(np.eye(3), point - x[body])
        G[3:, 6 * body + 3 : 6 * body + 5] = sign * np.eye(2)
    return G


def parallelogram(angle: float, floating_base: bool) -> tuple[np.ndarray, np.ndarray]:
    """Centres (nb, 3) and joints (4, 3) of a four-bar with two cranks of one length.

    Bodies are crank, coupler, crank and, where it floats, the base; the cranks' centres of mass
    lie off the plane.
    """
    crank, base = np.array([np.cos(angle), np.sin(angle), 0]), np.array([1.5, 0, 0])
    points = np.array([0 * base, crank, base + crank, base])
    above = np.array([0, 0, 0.3])
    centres = [crank / 2 + above, crank + base / 2, base + crank / 2 - above, base / 2]
    return np.array(centres[: 4 if floating_base else 3]), points


@pytest.mark.parametrize("floating_base", [False, True])
@pytest.mark.parametrize("angle", [0.7, 0.0])
def test_redundant_constraints_leave_the_motion_exact(angle, floating_base):
    """A planar four-bar: 20 rows of rank 17, at the flat angle 16; eps holds the rest apart.

    The motion is that of any independent rows, here from the null space of all.
    """
    nb = 4 if floating_base else 3
    eps, rng = 1e-10, np.random.default_rng(0)
    bars = [(0,), (0, 1), (1, 2), (2,)]
    if floating_base:
        bars = [(0, 3), (0, 1), (1, 2), (2, 3)]
    graph = ConstraintGraph(nb, bars, [len(bodies) == 1 for bodies in bars])
    system = System(graph)
    knots = [
        parallelogram(angle, floating_base),
        parallelogram(angle + 0.01 * angle, floating_base),
    ]
    M = np.zeros((6 * nb, 6 * nb))
    for body in range(nb):
        part = slice(6 * body, 6 * body + 6)
        M[part, part] = random_definite(rng, 6)
        system.set_body(body, M[part, part])
    both = [
        np.vstack([hinge_rows(x, bodies, at) for bodies, at in zip(bars, points, strict=True)])
        for x, points in knots
    ]
    for k in range(4):
        G1, G2 = (G[5 * k : 5 * k + 5] for G in both)
        system.set_rows(k, G1, G2, eps * np.eye(5))
    G1, G2 = both
    rank = 17 if angle else 16
    assert np.linalg.matrix_rank(G1, tol=1e-9) == np.linalg.matrix_rank(G2, tol=1e-9) == rank

    wanted, force = rng.normal(size=6 * nb), rng.normal(size=6 * nb)  # rows that can be met
    rhs = np.concatenate((force, np.zeros(24)))
    for k in range(4):
        rhs[6 * (nb + k) : 6 * (nb + k) + 5] = (G2 @ wanted)[5 * k : 5 * k + 5]
    null1, null2 = (np.linalg.svd(G)[2][rank:].T for G in both)
    inner = np.linalg.solve(null1.T @ M @ null2, null1.T @ (force - M @ wanted))
    expected = wanted + null2 @ inner
    motion = system.solve(rhs)[: 6 * nb]
    np.testing.assert_allclose(motion, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("n", [1, 10, 100])
def test_counts_of_a_chain(n):
    """n bodies and n joints: 2n nodes, 2n - 1 edges, whatever the joints are."""
    for kind in ("revolute", "spherical"):
        sim = Simulation(chain(n, kind), solver="ldu")
        graph = sim.parts.model.graph
        assert len(graph.pivots) == 2 * n
        assert len(graph.neighbours) == len(graph.updates) == 2 * n - 1
        assert len(sim.parts.memory.system.blocks) == 2 * n + 2 * (2 * n - 1)


@pytest.mark.parametrize("base", KINDS)
@pytest.mark.parametrize("contacts", [0, 1])
def test_newton_systems_against_a_dense_solve(base, contacts):
    """Real systems: indefinite, padded, of all joint kinds, with condensed contacts."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 12, base, contacts=contacts)
        sim = Simulation(robot, timestep=0.01, solver="ldu")
        sim.set_state(random_coordinates(rng, robot), rng.normal(size=robot.nv))
        start_newton(*parts_of(sim), sim.parts.options, KAPPA, sim.engine.single.values.infos[0])
        F = dense(sim)
        rhs = np.zeros(sim.parts.model.graph.n_nodes, dtype=ROW)
        rhs["w"] = rng.normal(size=(len(rhs), 6))
        expected = np.linalg.solve(F, rhs["w"].ravel())
        assert factor_and_solve(sim.parts.model.graph, sim.parts.memory.system.blocks, rhs) == 0
        np.testing.assert_allclose(
            rhs["w"].ravel(), expected, rtol=0, atol=1e-10 * np.abs(expected).max()
        )


def soft_robots() -> dict[str, Mechanism]:
    """Particles of all sorts: on a strand, in a net with a ball, in a solid."""
    points = np.outer(np.arange(6), (0.1, 0.0, 0.02)) + np.array((0.0, 0.0, 1.0))
    strand = Strand("s", points, 5.0, 0.6, 0.01, attached={0: None})
    rope = Mechanism("rope", (), (), soft=strand)
    on_ground = ContactPoint("on", "s_4", (0.0, 0.0, 0.0), 0.05, 0.5)
    damped = replace(rope.body("s_3"), drag=np.diag((1.0, 2.0, 3.0, 0.1, 0.1, 0.1)))
    bodies = tuple(damped if body.name == "s_3" else body for body in rope.bodies)
    box = box_of_tetrahedra((4, 2, 2), (0.4, 0.2, 0.2))
    solid = Soft("b", *box, 1e4, 0.3, 1000.0, attached={0: None, 1: None, 2: None})
    return {
        "rope": rope,
        "rope with contact and drag": replace(rope, bodies=bodies, contacts=(on_ground,)),
        "net": hanging_net(6),
        "solid": Mechanism("solid", (), (), soft=solid),
    }


@pytest.mark.parametrize("name", soft_robots())
def test_particles_against_a_dense_solve(name):
    """Newton systems, in which particles have three rows and their joints are taken out."""
    rng, robot = np.random.default_rng(0), soft_robots()[name]
    sim = Simulation(robot, timestep=0.01)
    sim.set_state(random_coordinates(rng, robot), rng.normal(size=robot.nv))
    start_newton(*parts_of(sim), sim.parts.options, KAPPA, sim.engine.single.values.infos[0])
    graph = sim.parts.model.graph
    assert len(graph.turns) == len(robot.bodies) - (name == "net")
    F, rhs = dense(sim), np.zeros(graph.n_nodes, dtype=ROW)
    rhs["w"] = rng.normal(size=(len(rhs), 6))
    expected = np.linalg.solve(F, rhs["w"].ravel())
    assert factor_and_solve(graph, sim.parts.memory.system.blocks, rhs) == 0
    np.testing.assert_allclose(
        rhs["w"].ravel(), expected, rtol=0, atol=1e-9 * np.abs(expected).max()
    )


def test_a_particle_that_others_meet_by_its_rotation_has_six_rows():
    """A spring beside its centre, a body that hangs on it, a limit, a contact with a body."""
    rope = soft_robots()["rope"]
    spring = PointSpring("beside", None, "s_2", child_position=(0.01, 0.0, 0.0), stiffness=1.0)
    limits = {"s_3": np.ones(3)}
    joints = tuple(
        replace(joint, lower=-limits[joint.name], upper=limits[joint.name])
        if joint.name in limits
        else joint
        for joint in rope.joints
    )
    hung = Joint("hung", "revolute", "s_5", "hung", axis=(0, 1, 0))
    body = Body("hung", 0.1, 1e-4 * np.eye(3))
    robot = replace(
        rope,
        bodies=(*rope.bodies, body),
        joints=(*joints, hung),
        springs=(*rope.springs, spring),
        home=np.zeros(rope.nq + 1),
        configurations={},
    )
    graph = Simulation(robot).parts.model.graph
    assert [robot.bodies[i].name for i in graph.turns["body"]] == ["s_1", "s_4"]


def test_a_singular_block_is_reported():
    """By its node, and not divided by."""
    graph, _ = eliminate(2, [(0, 1)], [0, 1])
    blocks, rhs = np.zeros(graph.n_blocks, dtype=BLOCK), np.zeros(2, dtype=ROW)
    blocks["F"][0, :, :6] = np.eye(6)
    status = factor_and_solve(graph, blocks, rhs)
    assert status == 1 + 1
