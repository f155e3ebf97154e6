"""The Newton matrix of a whole mechanism against differences of the residual that it solves."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_for_tests import contact_answer, residual_along, start_newton
from random_mechanisms import random_coordinates, random_tree

from robosim import Simulation
from robosim.graph import depth_first_order, eliminate

STEP = 1e-6
KAPPA = 0.05
KINDS = ("revolute", "spherical", "prismatic", "planar", "fixed", "cylindrical_free_orientation")


def graph_blocks(sim: Simulation) -> dict[tuple[int, int], int]:
    """(row node, column node) -> block, rebuilt from the joints' own records."""
    blocks = {(n, n): n for n in range(len(sim._model.graph.pivots))}
    for joint in sim._model.joints:
        if joint["node"] < 0:
            continue
        node, child, parent = int(joint["node"]), int(joint["child"]), int(joint["parent"])
        blocks[child, node], blocks[node, child] = joint["child_joint"], joint["joint_child"]
        if parent < len(sim._model.bodies):
            blocks[parent, node], blocks[node, parent] = (
                joint["parent_joint"],
                joint["joint_parent"],
            )
    return blocks


def dense(sim: Simulation) -> np.ndarray:
    """The Newton matrix, 6 rows and columns a node."""
    n = len(sim._model.graph.pivots)
    F = np.zeros((6 * n, 6 * n))
    for (i, j), block in graph_blocks(sim).items():
        F[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = sim._work.blocks["F"][block]
    return F


def started(seed: int, base: str, contacts: int) -> Simulation:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 7, base, KINDS, contacts)
    sim = Simulation(robot, timestep=0.05)
    q = random_coordinates(rng, robot)
    sim.set_state(q, rng.normal(size=robot.nv))
    sim._work.tau[:] = rng.normal(size=robot.nv)
    sim._state.joints["impulse"] = rng.normal(size=(7, 6))
    start_newton(sim._model, sim._state, sim._work, sim._options, KAPPA, sim._sample[-1][0])
    return sim


def residual(sim: Simulation, length: float) -> np.ndarray:
    residual_along(sim._model, sim._state, sim._work, sim.timestep, length, sim._sample[-1][0])
    return sim._work.residual["w"].ravel().copy()


def used_rows(sim: Simulation) -> np.ndarray:
    """Which rows and columns are equations: those of bodies, and of joints without the padding."""
    used = np.ones((len(sim._model.graph.pivots), 6), dtype=bool)
    for joint in sim._model.joints:
        if joint["node"] >= 0:
            used[joint["node"], joint["n_T"] + joint["n_R"] :] = False
    return used.ravel()


def directions(sim: Simulation, direction: np.ndarray) -> None:
    """Set `direction` in the work, and how every contact's variables answer it linearly."""
    sim._work.rhs["w"] = direction.reshape(-1, 6)
    fields = ("d_gamma", "d_s", "d_psi", "d_c", "d_beta", "d_eta")
    for k, contact in enumerate(sim._model.contacts):
        w = sim._work.contacts[k]
        du = w["J2"] @ direction.reshape(-1, 6)[contact["body"]]
        answers = []
        for motion in (du, np.zeros(3)):
            contact_answer(sim._model, sim._state, sim._work, k, KAPPA, motion)
            answers.append([w[name].copy() for name in fields])
        for name, with_motion, without in zip(fields, *answers, strict=True):
            w[name] = with_motion - without


@pytest.mark.parametrize("base", ["floating", "revolute", "spherical", "planar_free_orientation"])
@pytest.mark.parametrize("contacts", [0, 2])
def test_newton_matrix(base, contacts):
    sim = started(seed=3, base=base, contacts=contacts)
    assert sim._work.active[0] == 7 * contacts
    F, used = dense(sim), used_rows(sim)
    rng = np.random.default_rng(0)
    for _ in range(20):
        direction = np.where(used, rng.normal(size=used.size), 0.0)
        residual(sim, 0.0)
        directions(sim, direction)
        numeric = (residual(sim, STEP) - residual(sim, -STEP)) / (2 * STEP)
        # The residual is what is left of the equations: minus its derivative is the matrix.
        scale = np.abs(F @ direction).max()
        np.testing.assert_allclose(-numeric[used], (F @ direction)[used], rtol=0, atol=2e-8 * scale)


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
    joints = [joint for joint in sim._model.joints if joint["node"] >= 0]
    nb = len(sim._model.bodies)
    edges = [
        (int(joint["node"]), int(joint[role]))
        for joint in joints
        for role in ("child", "parent")
        if joint[role] < nb
    ]
    _, blocks = eliminate(nb + len(joints), edges, depth_first_order(nb + len(joints), edges))
    assert set(blocks) == set(graph_blocks(sim))
    assert len(sim._work.blocks) == len(blocks)
