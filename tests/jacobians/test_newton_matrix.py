"""The Newton matrix of a whole mechanism against differences of the residual that it solves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernels_for_tests import contact_answer, parts_of, residual_along, start_newton
from random_mechanisms import random_coordinates, random_tree

from robosim import Anisotropy, Body, Geometry, Joint, Mechanism, Simulation, Soft, Tendon
from robosim.compiled.elimination import depth_first_order, eliminate
from robosim.description.contact_points import contact_points
from robosim.kernels.compiler.jit import entry
from robosim.kernels.equations.soft import least_curvature
from robosim.kernels.equations.tendon import is_tendon, place_tendon_blocks
from robosim.tendons import Point, Pulley, Wrap

STEP = 1e-6
KAPPA = 0.05
ENDS = ("child", "parent")
KINDS = ("revolute", "spherical", "prismatic", "planar", "fixed", "cylindrical_free_orientation")


def graph_blocks(sim: Simulation) -> dict[tuple[int, int], int]:
    """(row node, column node) -> block, rebuilt from the records of joints and couplings."""
    model, nb = sim.parts.model, len(sim.parts.model.bodies)
    blocks = {(n, n): n for n in range(model.graph.n_nodes)}
    for joint in model.joints:
        if joint["node"] < 0:
            continue
        node, child, parent = int(joint["node"]), int(joint["child"]), int(joint["parent"])
        for span in model.spans[joint["span_begin"] : joint["span_end"]]:
            body = int(span["body"])
            blocks[body, node], blocks[node, body] = span["body_node"], span["node_body"]
        if child == nb:
            continue
        blocks[child, node], blocks[node, child] = joint["child_joint"], joint["joint_child"]
        if parent < nb:
            blocks[parent, node], blocks[node, parent] = (
                joint["parent_joint"],
                joint["joint_parent"],
            )
    for element in model.elements:
        for (a, b), block in np.ndenumerate(element["block"]):
            if block >= 0:
                blocks[int(element["body"][a]), int(element["body"][b])] = int(block)
    for coupling in model.couplings:
        node = int(coupling["node"])
        ends = [int(model.joints[j][role]) for j in coupling["joint"] for role in ENDS]
        for k, body in enumerate(ends):
            if body < nb:
                blocks[body, node] = coupling["body_node"][k]
                blocks[node, body] = coupling["node_body"][k]
    return blocks


def dense(sim: Simulation) -> np.ndarray:
    """The Newton matrix, 6 rows and columns a node."""
    n = sim.parts.model.graph.n_nodes
    F = np.zeros((6 * n, 6 * n))
    for (i, j), block in graph_blocks(sim).items():
        F[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = sim.parts.memory.system.blocks["F"][block, :, :6]
    return F


def started(seed: int, base: str, contacts: int) -> Simulation:
    rng = np.random.default_rng(seed)
    return set_up(random_tree(rng, 7, base, KINDS, contacts), rng)


def set_up(robot: Mechanism, rng: np.random.Generator) -> Simulation:
    sim = Simulation(robot, timestep=0.05, solver="ldu")
    q = random_coordinates(rng, robot)
    sim.set_state(q, rng.normal(size=robot.nv))
    sim.parts.loads.tau[:] = rng.normal(size=len(sim.parts.loads.tau))
    sim.parts.state.joints["impulse"] = rng.normal(size=(len(sim.parts.model.joints), 6))
    start_newton(*parts_of(sim), sim.parts.options, KAPPA, sim.engine.single.values.infos[0])
    return sim


def residual(sim: Simulation, length: float) -> np.ndarray:
    residual_along(*parts_of(sim), sim.timestep, length, sim.engine.single.values.infos[0])
    return sim.parts.work.residual["w"].ravel().copy()


def used_rows(sim: Simulation) -> np.ndarray:
    """Which rows and columns are equations: those of bodies, and of joints without the padding."""
    used = np.ones((sim.parts.model.graph.n_nodes, 6), dtype=bool)
    for j, joint in enumerate(sim.parts.model.joints):
        if joint["node"] >= 0:
            used[joint["node"], sim.parts.work.joints[j]["rows"] :] = False
    used[sim.parts.model.couplings["node"], 1:] = False
    return used.ravel()


def motion_at(sim: Simulation, k: int, direction: np.ndarray) -> np.ndarray:
    """Derivative (3,) of the motion of contact k along a direction of all nodes (n, 6)."""
    contact, w, nb = (
        sim.parts.work.slots[k],
        sim.parts.memory.system.contacts[k],
        len(sim.parts.model.bodies),
    )
    rates = [(w["R"][:, :6], contact["body"]), (w["R_o"][:, :6], contact["other"])]
    if contact["joint"] < 0:
        return sum((R @ direction[i] for R, i in rates if i < nb), np.zeros(3))
    joint, knot = (
        sim.parts.model.joints[contact["joint"]],
        sim.parts.work.joints[contact["joint"]],
    )
    rows = slice(joint["n_T"] + joint["n_R"], knot["rows"])
    if joint["span_end"] > joint["span_begin"]:
        spans = slice(joint["span_begin"], joint["span_end"])
        moving = direction[sim.parts.model.spans["body"][spans]]
        velocity = np.array([np.sum(sim.parts.work.span2["w"][spans] * moving)])
        return w["R"][:, :1] @ velocity
    velocity = knot["G_b"][rows] @ direction[joint["child"]]
    if joint["parent"] < nb:
        velocity += knot["G_a"][rows] @ direction[joint["parent"]]
    return w["R"][:, : len(velocity)] @ velocity


def directions(sim: Simulation, direction: np.ndarray) -> None:
    """Set `direction` in the work, and how every contact's variables answer it linearly."""
    sim.parts.work.rhs["w"] = direction.reshape(-1, 6)
    fields = ("d_gamma", "d_s", "d_psi", "d_c", "d_beta", "d_eta")
    for k in sim.parts.work.active[1 : sim.parts.work.active[0] + 1]:
        w = sim.parts.memory.system.contacts[k]
        du = motion_at(sim, k, direction.reshape(-1, 6))
        du[2] += spring_motion(sim, k, direction.reshape(-1, 6))
        answers = []
        for motion in (du, np.zeros(3)):
            contact_answer(
                sim.parts.model,
                sim.parts.memory.system,
                sim.parts.work,
                k,
                KAPPA,
                motion,
            )
            answers.append([w[name].copy() for name in fields])
        for name, with_motion, without in zip(fields, *answers, strict=True):
            w[name] = with_motion - without


def spring_motion(sim: Simulation, k: int, direction: np.ndarray) -> float:
    """How much a spring that contact k shares gives along a direction of all nodes (n, 6)."""
    contact, works = sim.parts.work.slots[k], sim.parts.memory.system.contacts
    spring = range(contact["spring_begin"], contact["spring_end"])
    on_it = [j for j in spring if sim.parts.work.entered[j]]
    pushed = sum(works[j]["A"][2, :3] @ motion_at(sim, j, direction) for j in on_it)
    return float(works[k]["together"] * pushed) if on_it else 0.0


def assert_newton_matrix(sim: Simulation) -> None:
    """The matrix times random directions, against central differences of the residual."""
    F, used = dense(sim), used_rows(sim)
    rng = np.random.default_rng(0)
    for _ in range(20):
        direction = np.where(used, rng.normal(size=used.size), 0.0)
        residual(sim, 0.0)
        directions(sim, direction)
        numeric = (residual(sim, STEP) - residual(sim, -STEP)) / (2 * STEP)
        # The residual is what is left of the equations: minus its derivative is the matrix.
        expected = F @ direction
        scale = np.abs(expected).max()
        np.testing.assert_allclose(-numeric[used], expected[used], rtol=0, atol=2e-8 * scale)


@pytest.mark.parametrize("base", ["floating", "revolute", "spherical", "planar_free_orientation"])
@pytest.mark.parametrize("contacts", [0, 2])
def test_newton_matrix(base, contacts):
    sim = started(seed=3, base=base, contacts=contacts)
    assert sim.parts.work.active[0] == 7 * contacts
    assert_newton_matrix(sim)


@pytest.mark.parametrize("by_direction", [False, True])
def test_newton_matrix_with_friction_against_turning(by_direction):
    """Torsional and rolling friction follow the normal impulse; surfaces move by themselves."""
    rng, directions = np.random.default_rng(8), np.random.default_rng(9).normal(size=(14, 3))
    axes = None, "world", "b1"
    ones = [Anisotropy(d, 0.3, axes=axes[k % 3]) for k, d in enumerate(directions)]
    robot = random_tree(rng, 7, "floating", KINDS, 2)
    contacts = [
        replace(contact, torsional_friction=0.03, rolling_friction=0.02 if k % 2 else None,
                surface_velocity=rng.normal(size=3), surface_spin=rng.normal(size=3),
                anisotropy=ones[k] if by_direction else None)
        for k, contact in enumerate(robot.contacts)
    ]  # fmt: skip
    sim = set_up(replace(robot, contacts=contacts), rng)
    assert sim.parts.work.active[0] == 14 + 14 + 7
    assert_newton_matrix(sim)


def test_newton_matrix_of_points_that_share_a_spring():
    """Also what is left of the normal equations of each, and of its product."""
    rng = np.random.default_rng(2)
    own = {"stiffness": 3e3, "friction": 0.4}
    drum = Body("drum", 2.0, np.diag([0.01, 0.012, 0.015]),
                collisions=(Geometry("cylinder", (0.1, 0.15), **own),))  # fmt: skip
    points = tuple(contact_points(drum, default_friction=0.4))
    base = Joint("base", "floating", None, "drum")
    sim = set_up(Mechanism("drum", (drum,), (base,), points), rng)
    works, contacts = sim.parts.memory.system.contacts, sim.parts.work.contacts
    count = sim.parts.work.active[0]
    assert count == len(points) == works[0]["sharing"] > 6
    assert_newton_matrix(sim)
    ends = []
    for length in (-STEP, STEP):
        residual(sim, length)
        left = [w["u"][2] - c["s"] + w["give"] * w["pressed"]
                for w, c in zip(works[:count], contacts[:count], strict=True)]  # fmt: skip
        ends.append((left, contacts["s"][:count] * contacts["gamma"][:count]))
    slopes = np.abs(np.array(ends[1]) - ends[0]).max(axis=1) / (2 * STEP)
    assert slopes[0] < 1e-7 * np.abs(works["d_s"][:count]).max()
    assert slopes[1] < 1e-7 * np.abs(contacts["s"][:count] * works["d_gamma"][:count]).max()


@entry
def place_tendons(model, system, work):
    for j in range(model.joints.shape[0]):
        joint = model.joints[j]
        if is_tendon(joint):
            place_tendon_blocks(model, joint, work.span1, work.span2, work.joints[j], system.blocks)


def test_newton_matrix_of_tendons():
    rng = np.random.default_rng(6)
    robot = random_tree(rng, 7, "floating", KINDS, 0)

    def point(body: str | None) -> Point:
        return Point(body, rng.uniform(-0.3, 0.3, size=3))

    ball = Wrap("sphere", "b3", 0.1, rng.uniform(-0.2, 0.2, size=3), side=point("b5"))
    path = (point(None), point("b2"), ball, point("b4"), Pulley(2), point("b6"), point("b0"))
    tendon = Tendon("t", path, 50.0, 0.3, damping=2.0, friction=1.0, armature=0.4, lower=0.1)
    sim = set_up(replace(robot, tendons=(tendon,)), rng)
    assert sim.parts.work.active[0] == 2  # its limit and its friction
    assert len(sim.parts.model.spans) == 5
    assert_newton_matrix(sim)
    # Lines of the cache have two numbers more, which belong to no block.
    blocks = sim.parts.memory.system.blocks["F"]
    blocks[:] = np.nan
    place_tendons(sim.parts.model, sim.parts.memory.system, sim.parts.work)
    assert np.isfinite(blocks).any()
    assert np.isnan(blocks[:, :, 6:]).all()


def soft_between_bodies(rng: np.random.Generator, young: float) -> Mechanism:
    """Three elements between a world, two bodies that turn and two particles."""
    nodes = np.array(((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1), (2, 1, 1.0)))
    elements = ((0, 1, 2, 3), (1, 2, 3, 4), (1, 4, 3, 5))
    attached = {0: None, 1: "b1", 2: "b1", 5: "b2"}
    soft = Soft("jelly", nodes, elements, young, 0.3, density=20.0, attached=attached)
    return replace(random_tree(rng, 3, "floating", KINDS, 0), soft=soft)


def test_newton_matrix_of_soft_solids():
    """Light masses make up for what the Hessian lacks, so that nothing is added to it."""
    rng = np.random.default_rng(7)
    sim = set_up(soft_between_bodies(rng, 30.0), rng)
    work = sim.parts.work.elements
    assert work["J"].min() < 0 < work["J"].max()  # an element is inside out
    assert_newton_matrix(sim)
    # Impulses are minus dt/2 times the slope of the energy at the means of the nodes' places.
    (mesh,) = sim.robot.soft_meshes
    ends = np.asarray(mesh.tetrahedra)
    places = np.zeros((6, 3))
    for k, name in enumerate(mesh.bodies):
        for knot in (sim.parts.memory.system.pose1, sim.parts.work.pose2):
            body = knot[len(sim.robot.bodies) if name is None else sim.robot.body_index(name)]
            places[k] += 0.5 * (body["x"] + body["R"] @ mesh.positions[k])
    found = np.zeros((6, 3))
    np.add.at(found, ends, work["f"])
    for at in np.ndindex(6, 3):
        moved = np.zeros((6, 3))
        moved[at] = 1e-6
        slope = (mesh.energy(places + moved) - mesh.energy(places - moved)) / 2e-6
        np.testing.assert_allclose(found[at], -0.025 * slope, rtol=1e-6, atol=1e-9)


def test_the_hessian_of_soft_solids_is_made_positive():
    """So much that masses make up for the rest, by no more than half of them."""
    rng = np.random.default_rng(7)
    for young in (1e2, 1e4, 1e8):
        sim = set_up(soft_between_bodies(rng, young), rng)
        mass = 20.0 * sim.parts.model.elements["volume"] / 4
        for n, w in enumerate(sim.parts.work.elements):
            least, *_, largest = np.linalg.eigvalsh(w["K"])
            np.testing.assert_allclose(w["K"], w["K"].T, rtol=0, atol=1e-12 * largest)
            assert least > -0.5 * mass[n] * (1 + 1e-9) - 1e-9 * largest


@entry
def curvature_of(elements, own):
    return least_curvature(elements[0], own[0])


def test_the_least_curvature_of_soft_solids_is_that_of_stretches_or_of_turns():
    """Of the Hessian of the energy, by differences of the stress; of turns by a bound."""
    rng, found, step = np.random.default_rng(11), [], 1e-6
    sim = set_up(soft_between_bodies(rng, 30.0), rng)
    elements, own = sim.parts.model.elements, sim.parts.work.elements
    mu, lam, alpha = (float(elements[0][name]) for name in ("mu", "lam", "alpha"))

    def stress(F):
        J = np.linalg.det(F)
        return mu * (1 - 1 / (np.sum(F * F) + 1)) * F + lam * (J - alpha) * J * np.linalg.inv(F).T

    for _ in range(20):
        F, w = np.diag(rng.uniform(0.3, 1.6, 3)), own[0]
        w["F"], w["J"], w["once"] = F, np.linalg.det(F), 1 / (np.sum(F * F) + 1)
        w["shear"], w["press"] = mu * (1 - w["once"]), lam * (w["J"] - alpha)
        turns = w["shear"] - abs(w["press"]) * F.max()
        units = step * np.eye(9).reshape(9, 3, 3)
        H = np.array([(stress(F + unit) - stress(F - unit)).ravel() for unit in units]) / (2 * step)
        stretches, least = np.linalg.eigvalsh(H[::4, ::4])[0], np.linalg.eigvalsh(H)[0]
        found.append(curvature_of(elements, own))
        assert found[-1] == pytest.approx(min(turns, stretches), abs=1e-6 * mu)
        assert found[-1] < least + 1e-6 * mu
        found[-1] = stretches < turns
    assert 0 < sum(found) < len(found)  # either has its turn


def test_unused_rows_are_an_identity():
    """Joints with fewer than six rows are padded so that the padding solves to zero."""
    sim = started(seed=4, base="revolute", contacts=0)
    F, unused = dense(sim), ~used_rows(sim)
    np.testing.assert_array_equal(F[unused], np.eye(len(F))[unused])
    np.testing.assert_array_equal(F[:, unused], np.eye(len(F))[:, unused])
    assert unused.any()


def test_the_matrix_has_no_other_blocks():
    """What `graph_blocks` reads off the joints is all that `eliminate` made room for."""
    sim = started(seed=5, base="floating", contacts=1)
    joints = [joint for joint in sim.parts.model.joints if joint["node"] >= 0]
    nb = len(sim.parts.model.bodies)
    edges = [
        (int(joint["node"]), int(joint[role]))
        for joint in joints
        for role in ("child", "parent")
        if joint[role] < nb
    ]
    _, blocks = eliminate(nb + len(joints), edges, depth_first_order(nb + len(joints), edges))
    assert set(blocks) == set(graph_blocks(sim))
    assert len(sim.parts.memory.system.blocks) == len(blocks)
