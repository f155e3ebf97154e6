"""Contacts between two bodies that both move: balls, planes, segments, and edges that cross.

The Jacobians by either body are held to differences; impulses act in one point, so that a motion of
both together as one rigid body has no part in them.
"""

from __future__ import annotations

import numpy as np
import pytest
from kernels_for_tests import contact_at
from random_mechanisms import multiply, random_body, random_joint, random_quaternion, turned
from scipy.optimize import minimize

from robosim import ContactPoint, Mechanism
from robosim.compiled.building.model import compile_model
from robosim.compiled.kinds import (
    EDGE,
    OVAL,
    OVAL_EDGE,
    OVAL_PAIR,
    PLANE,
    RIM,
    RIM_EDGE,
    ROUND,
)
from robosim.compiled.memory import make_system
from robosim.compiled.workspace import make_workspace
from robosim.quaternions import rotation_matrix

DT = 0.02
STEP = 1e-6
KINDS = {"ball on plane": PLANE, "rim on plane": RIM, "segments": ROUND, "edges": EDGE,
         "rim on edge": RIM_EDGE, "ellipsoid on plane": OVAL, "ellipsoid on edge": OVAL_EDGE,
         "ellipsoid on ellipsoid": OVAL_PAIR}  # fmt: skip


class TwoBodies:
    """Bodies 0 and 1, floating, over one interval; 0 touches 1 in some way."""

    def __init__(self, kind: int, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        bodies = tuple(random_body(rng, name) for name in "ab")
        joints = tuple(random_joint(rng, f"j{name}", "floating", None, name) for name in "ab")
        point = ContactPoint("c", "a", rng.normal(size=3), 0.3)
        robot = Mechanism("two", bodies, joints, (point,))
        model, self.dt = compile_model(robot), DT
        self.work = make_workspace(robot, model)
        self.system = make_system(model)
        contacts = model.contacts.copy()
        self.model, contact = model._replace(contacts=contacts), contacts[0]
        contact["kind"], contact["body"], contact["other"] = kind, 0, 1
        for name in ("p", "p_end", "o", "o_end"):
            contact[name] = rng.normal(size=3)
        if kind != ROUND:  # where these are directions
            contact["p_end"] /= np.linalg.norm(contact["p_end"])
            contact["o_end"] /= np.linalg.norm(contact["o_end"])
        contact["radius"], contact["radius_o"] = (0.3, 0.2) if kind == ROUND else (0.3, 0.0)
        contact["sign"] = 1.0 if seed % 2 else -1.0
        if kind == EDGE:
            contact["radius"] = 0.0
        if kind == RIM:
            across = np.linalg.svd(contact["p_end"][None])[2].T
            contact["semi_axes"] = across * (0.0, 0.3, 0.3)
        if kind >= OVAL:
            contact["semi_axes"] = rotation_matrix(random_quaternion(rng)) * (0.5, 0.2, 0.3)
        if kind == OVAL_PAIR:
            # Of three semi-axes, two as of a rim, or none as of a point.
            lengths = ((0.4, 0.1, 0.6), (0.3, 0.3, 0.0), (0.0, 0.0, 0.0))[seed % 3]
            contact["semi_axes_o"] = rotation_matrix(random_quaternion(rng)) * lengths
            contact["o_end"] = 0.0
        self.P = [turned(np.array([1.0, 0, 0, 0]), rng.normal(scale=0.4, size=3)) for _ in "ab"]
        self.v = rng.normal(size=(2, 3))
        for pose, place in zip(self.system.pose1, ((0, 0, 0), (3, 2, 1)), strict=False):
            q = random_quaternion(rng)
            pose["x"], pose["q"], pose["R"] = place, q, rotation_matrix(q)
        if kind == RIM_EDGE:
            contact["radius_o"] = 0.1
            self.begin_at_normal(contact)
        if kind > OVAL:
            contact["radius_o"] = 0.1 if kind == OVAL_EDGE or seed % 3 == 2 else 0.0
            self.begin_across(contact)
        contacts.setflags(write=False)

    def evaluate(self, body: int = 0, direction: np.ndarray | None = None, length: float = 0.0):
        """The contact's record after a step along (d v, psi) of a body."""
        for b in (0, 1):
            first, second, motion = self.system.pose1[b], self.work.pose2[b], self.work.bodies[b]
            step = np.zeros(6) if b != body or direction is None else length * direction
            motion["v"] = self.v[b] + step[:3]
            motion["P"] = turned(self.P[b], self.dt * step[3:])
            second["x"] = first["x"] + self.dt * motion["v"]
            second["q"] = multiply(motion["P"], first["q"])
            second["R"] = rotation_matrix(second["q"])
        contact_at(self.model, self.system, self.work, 0, self.dt)
        return self.system.contacts[0].copy()

    def begin_at_normal(self, contact) -> None:
        """Begin the search for the normal of a rim and an edge where it is, as features do."""
        self.evaluate()
        n = self.system.pose1[1]["R"].T @ self.system.contacts[0]["frame"][2]
        d = contact["o_end"]
        first = np.eye(3)[0 if abs(d[0]) < 0.9 else 1]
        first = first - (first @ d) * d
        contact["sign"] = np.arctan2(n @ np.cross(d, first), n @ first)

    def begin_across(self, contact) -> None:
        """Begin the search for the normal of an ellipsoid between the centres."""
        a, b = self.system.pose1[1], self.system.pose1[0]
        w = b["x"] + b["R"] @ contact["p"] - a["x"] - a["R"] @ contact["o"]
        contact["p_end"] = b["R"].T @ w / np.linalg.norm(w)

    def hold_rows(self) -> None:
        """Hold R and R_o of the contact to differences of u by both bodies."""
        at = self.evaluate()
        for body, name in ((0, "R"), (1, "R_o")):
            columns = []
            for direction in np.eye(6):
                ends = [self.evaluate(body, direction, s * STEP)["u"] for s in (1, -1)]
                columns.append((ends[0] - ends[1]) / (2 * STEP))
            # Of u of size 1e2 m/s: rounding 1e-14 over a step of 1e-6.
            expected = np.column_stack(columns)
            np.testing.assert_allclose(at[name][:, :6], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_jacobians_by_both_bodies(kind, seed):
    TwoBodies(KINDS[kind], seed).hold_rows()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_impulses_act_in_one_point(kind, seed):
    """L and L_o cancel for a twist of the whole; the frame is orthonormal."""
    case = TwoBodies(KINDS[kind], seed)
    w = case.evaluate()
    np.testing.assert_allclose(w["frame"] @ w["frame"].T, np.eye(3), rtol=0, atol=1e-12)
    assert np.linalg.det(w["frame"]) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(w["L"][:, :3], w["frame"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(w["L_o"][:, :3], -w["frame"], rtol=0, atol=1e-12)
    x = case.system.pose1["x"]
    for twist in np.eye(6):
        moved = [np.append(twist[:3] + np.cross(twist[3:], x[b]), twist[3:]) for b in (0, 1)]
        both = w["L"][:, :6] @ moved[0] + w["L_o"][:, :6] @ moved[1]
        np.testing.assert_allclose(both, 0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_slips_are_those_of_the_points_that_touch(kind, seed):
    """Over an interval that is all but none R is L: the velocity at the knot, along the frame.

    The gap is none there: with what is between the two, slips would be those of either surface.
    """
    case = TwoBodies(KINDS[kind], seed)
    case.dt, case.P, case.v = 1e-9, [np.array([1.0, 0, 0, 0])] * 2, np.zeros((2, 3))
    gap = case.evaluate()["gap"]
    normal = case.system.contacts[0]["frame"][2]
    case.system.pose1[1]["x"] += gap * normal
    w = case.evaluate()
    assert abs(w["gap"]) < 1e-9
    np.testing.assert_allclose(w["R"][:, :6], w["L"][:, :6], rtol=0, atol=1e-7)
    np.testing.assert_allclose(w["R_o"][:, :6], w["L_o"][:, :6], rtol=0, atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_a_slip_is_taken_at_either_surface(kind, seed):
    """With a gap between them the two surfaces are apart along the normal."""
    case = TwoBodies(KINDS[kind], seed)
    case.P, case.v = [np.array([1.0, 0, 0, 0])] * 2, np.zeros((2, 3))
    w = case.evaluate()
    first, second = case.system.pose1["x"][:2]
    normal = w["frame"][2]
    for e, row, row_o in zip(w["frame"][:2], w["R"], w["R_o"], strict=False):
        at = w["arm1"]
        np.testing.assert_allclose(row[3:6], np.cross(at, e), rtol=0, atol=1e-12)
        at = first + w["arm1"] - w["gap"] * normal - second
        np.testing.assert_allclose(row_o[3:6], -np.cross(at, e), rtol=0, atol=1e-12)


@pytest.mark.parametrize("depth", [-0.1, 0.0, 1e-3, 4e-3, 6e-3, 0.5])
def test_depth_is_left_slowly(depth):
    """By a tenth of it in 10 ms, and no faster than at 5 cm/s; what is outside stays there."""
    case = TwoBodies(PLANE, 0)
    case.dt, case.P, case.v = 0.01, [np.array([1.0, 0, 0, 0])] * 2, np.zeros((2, 3))
    gap = case.evaluate()["gap"]
    case.system.pose1[1]["x"] += (gap + depth) * case.system.contacts[0]["frame"][2]
    w = case.evaluate()
    assert w["step_back"] == pytest.approx(-max(0.0, depth - min(0.1 * depth, 5e-4)), abs=1e-12)


def in_world(case: TwoBodies, body: int, point: np.ndarray) -> np.ndarray:
    pose = case.work.pose2[body]
    return pose["x"] + pose["R"] @ point


def best_of_normals(case: TwoBodies) -> float:
    """What the best normal parts an ellipsoid from the other by."""
    contact, poses = case.model.contacts[0], case.work.pose2
    w = in_world(case, 0, contact["p"]) - in_world(case, 1, contact["o"])
    B, B_o = poses[0]["R"] @ contact["semi_axes"], poses[1]["R"] @ contact["semi_axes_o"]
    d = poses[1]["R"] @ contact["o_end"]
    across = np.linalg.svd(d[None])[2][1:] if d.any() else np.eye(3)

    def overlap(x):
        n = x @ across / np.linalg.norm(x)
        reach = np.linalg.norm(B.T @ n) + np.linalg.norm(B_o.T @ n)
        return reach + contact["radius_o"] - n @ w

    options = {"xatol": 1e-12, "fatol": 1e-14, "maxiter": 4000, "maxfev": 4000}
    return -minimize(overlap, across @ w, method="Nelder-Mead", options=options).fun


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_gaps_are_distances(kind, seed):
    """Between surfaces; of edges along the side that they are given."""
    case = TwoBodies(KINDS[kind], seed)
    gap, contact = case.evaluate()["gap"], case.model.contacts[0]
    p, o = in_world(case, 0, contact["p"]), in_world(case, 1, contact["o"])
    if KINDS[kind] == ROUND:
        ends = in_world(case, 0, contact["p_end"]), in_world(case, 1, contact["o_end"])
        # Finer and finer around what is nearest: the distance is convex.
        low, high = np.zeros(2), np.ones(2)
        for _ in range(60):
            s, k = (np.linspace(a, b, 9) for a, b in zip(low, high, strict=True))
            on = p + s[:, None, None] * (ends[0] - p), o + k[None, :, None] * (ends[1] - o)
            away = np.linalg.norm(on[0] - on[1], axis=2)
            best = np.array(np.unravel_index(away.argmin(), away.shape))
            at, width = np.array([s[best[0]], k[best[1]]]), (high - low) / 3
            low, high = np.maximum(at - width, 0), np.minimum(at + width, 1)
        expected = away.min() - contact["radius"] - contact["radius_o"]
    elif KINDS[kind] == RIM_EDGE:
        # Of the points around the rim the one that is nearest to the edge.
        pose, d = case.work.pose2[0], case.work.pose2[1]["R"] @ contact["o_end"]
        across = np.linalg.svd(contact["p_end"][None])[2][1:] @ pose["R"].T
        low, high = 0.0, 2 * np.pi
        for _ in range(40):
            angles = np.linspace(low, high, 33)
            at = p + contact["radius"] * np.column_stack((np.cos(angles), np.sin(angles))) @ across
            away = np.linalg.norm(np.cross(at - o, d), axis=1)
            width = (high - low) / 8
            low, high = angles[away.argmin()] - width, angles[away.argmin()] + width
        expected = away.min() - contact["radius_o"]
    else:
        normal, radius = case.work.pose2[1]["R"] @ contact["o_end"], contact["radius"]
        if KINDS[kind] == RIM:
            slope = normal @ case.work.pose2[0]["R"] @ contact["p_end"]
            radius *= np.sqrt(1 - slope**2)
        if KINDS[kind] == OVAL:
            radius = np.linalg.norm(contact["semi_axes"].T @ case.work.pose2[0]["R"].T @ normal)
        if KINDS[kind] > OVAL:
            expected = best_of_normals(case)
            assert gap == pytest.approx(expected, abs=1e-9)
            return
        if KINDS[kind] == EDGE:
            normal = np.cross(normal, case.work.pose2[0]["R"] @ contact["p_end"])
            normal *= contact["sign"] / np.linalg.norm(normal)
        expected = normal @ (p - o) - radius
    assert gap == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_either_of_two_balls_may_come_first(seed):
    """However far they turn within the interval: the slip is that of the other, turned around."""
    case, turned_around = TwoBodies(ROUND, seed), TwoBodies(ROUND, seed)
    contacts = case.model.contacts.copy(), case.model.contacts.copy()
    one, other = contacts[0][0], contacts[1][0]
    one["p_end"], one["o_end"] = one["p"], one["o"]
    other["body"], other["other"] = 1, 0
    other["p"], other["p_end"], other["o"], other["o_end"] = one["o"], one["o"], one["p"], one["p"]
    other["radius"], other["radius_o"] = one["radius_o"], one["radius"]
    slips = []
    for each, array in zip((case, turned_around), contacts, strict=True):
        array.setflags(write=False)
        each.model = each.model._replace(contacts=array)
        w = each.evaluate()
        slips.append(w["u"][:2] @ w["frame"][:2])
    assert case.system.contacts[0]["gap"] == pytest.approx(w["gap"], abs=1e-14)
    # Where they are apart, each slips at its own surface; so it does after the change.
    np.testing.assert_allclose(slips[0], -slips[1], rtol=0, atol=1e-10)
