"""Friction against turning, and surfaces that move by themselves: motions and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_for_tests import companion_at
from random_mechanisms import turned
from test_touching_bodies import DT, KINDS, STEP, TwoBodies

from robosim.compiled.arrays import aligned
from robosim.compiled.kinds import ROLLING, TORSION
from robosim.compiled.records.contact import CONTACT, CONTACT_WORK
from robosim.quaternions import rotation_matrix

SCALE, MOST = 0.7, (0.05, 0.02)


class Turning(TwoBodies):
    """Two bodies that touch, and what resists that they turn."""

    def __init__(self, kind: int, seed: int, drifts: bool = True) -> None:
        super().__init__(kind, seed)
        contact = self.model.contacts.copy()
        contact["scale"], contact["torsion"], contact["rolling"] = SCALE, *MOST
        contact["companion"], contact["companions"], contact["first_resists"] = 1, 2, TORSION
        if drifts:
            contact["surface"], contact["surface_o"] = self.rng.normal(size=(2, 6))
            contact["drifts"] = 1
        self.model = self.model._replace(contacts=contact)
        slots = np.concatenate((contact, np.zeros(2, dtype=CONTACT)))
        self.work = self.work._replace(slots=slots)
        self.system = self.system._replace(contacts=aligned(3, CONTACT_WORK))

    def companion(self, n: int, body: int = 0, direction=None, length: float = 0.0):
        """(record, work) of the n-th companion after a step along (d v, psi) of a body."""
        self.evaluate(body, direction, length)
        j = companion_at(self.model, self.system, self.work, 0, n, self.dt)
        return self.work.slots[j], self.system.contacts[j].copy()


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_jacobians_by_both_bodies(kind, seed, n):
    case = Turning(KINDS[kind], seed)
    record, at = case.companion(n)
    assert record["resists"] == (TORSION, ROLLING)[n]
    assert record["mu"] == pytest.approx(MOST[n] / SCALE)
    assert (record["body"], record["other"], record["leader"]) == (0, 1, 0)
    for body, name in ((0, "R"), (1, "R_o")):
        columns = []
        for direction in np.eye(6):
            ends = [case.companion(n, body, direction, s * STEP)[1]["u"] for s in (1, -1)]
            columns.append((ends[0] - ends[1]) / (2 * STEP))
        # Of u of size 1e2 m/s: rounding 1e-14 over a step of 1e-6.
        expected = np.column_stack(columns)
        np.testing.assert_allclose(at[name][:, :6], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_they_resist_relative_turns_with_opposite_moments(seed, n):
    """u is scale times the turn of one against the other; impulses are moments alone."""
    case = Turning(KINDS["segments"], seed, drifts=False)
    _, w = case.companion(n)
    frame = case.system.contacts[0]["frame"]
    axes = frame[2:] if n == 0 else frame[:2]
    turn = 2 / DT * (case.P[0][1:] - case.P[1][1:])
    np.testing.assert_allclose(w["u"][: len(axes)], SCALE * axes @ turn, rtol=1e-12, atol=1e-12)
    assert w["u"][2] == case.system.contacts[0]["u"][2]
    expected = np.zeros((3, 6))
    expected[: len(axes), 3:] = SCALE * axes
    np.testing.assert_array_equal(w["L"][:, :6], expected)
    np.testing.assert_array_equal(w["L_o"][:, :6], -expected)


@pytest.mark.parametrize("kind", KINDS)
def test_what_surfaces_have_by_themselves_is_added_to_the_slip(kind):
    """A body whose surface moves touches as one that moves so, whose surface does not.

    Over an interval that is all but none: afterwards the one has gone on, and the other has not.
    """
    case = Turning(KINDS[kind], 1)
    case.dt = 1e-7
    contact = case.model.contacts[0]
    identity = np.array([1.0, 0, 0, 0])
    case.P = [turned(identity, case.dt * case.rng.normal(size=3)) for _ in "ab"]
    case.companion(0)
    # With a gap between them the two surfaces are apart along the normal.
    apart = case.system.contacts[0]["gap"] * case.system.contacts[0]["frame"][2]
    case.system.pose1[1]["x"] += apart
    _, torsion = case.companion(0)
    _, rolling = case.companion(1)
    slip = case.system.contacts[0].copy()
    still = Turning(KINDS[kind], 1, drifts=False)
    still.dt = case.dt
    still.system.pose1[1]["x"] += apart
    for b, name in enumerate(("surface", "surface_o")):
        R = case.system.pose1[b]["R"]
        spin = R @ contact[name][3:]
        still.v[b] = case.v[b] + R @ contact[name][:3]
        still.P[b] = case.P[b].copy()
        still.P[b][1:] += 0.5 * case.dt * spin
    _, expected = still.companion(0)
    np.testing.assert_allclose(torsion["u"][0], expected["u"][0], rtol=1e-6)
    _, expected = still.companion(1)
    np.testing.assert_allclose(rolling["u"][:2], expected["u"][:2], rtol=1e-6, atol=1e-6)
    moved = still.system.contacts[0]["u"][:2]
    np.testing.assert_allclose(slip["u"][:2], moved, rtol=0, atol=2e-5)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_jacobians_of_a_slip_over_surfaces_that_spin(kind, seed):
    """What is touched at the second knot moves with both bodies, and surfaces turn with them."""
    Turning(KINDS[kind], seed).hold_rows()


def test_a_surface_that_spins_covers_arcs():
    """A body that goes along with a surface, about the axis of its spin, does not slip."""
    case = Turning(KINDS["ball on plane"], 2)
    case.dt = 0.4
    contacts = case.model.contacts
    spin = np.array([0.3, -1.2, 0.8])
    contacts["surface"], contacts["surface_o"] = 0.0, [0, 0, 0, *spin]
    contacts["radius"], contacts["o"] = 0.0, 0.0
    case.work.slots[0] = contacts[0]
    one, other = case.system.pose1[:2]
    # The axis is the normal of the plane, and the point is on it.
    normal = spin / np.linalg.norm(spin)
    contacts["o_end"] = case.work.slots["o_end"][0] = normal
    R = other["R"]
    point = one["x"] + one["R"] @ contacts["p"][0]
    one["x"] -= R @ normal * (R @ normal @ (point - other["x"]))
    axis = R @ spin
    half = np.append(np.cos(0.5 * case.dt * np.linalg.norm(spin)), axis / np.linalg.norm(axis))
    half[1:] *= np.sin(0.5 * case.dt * np.linalg.norm(spin))
    turn = rotation_matrix(half)
    case.P = [half, np.array([1.0, 0, 0, 0])]
    away = one["x"] - other["x"]
    case.v = np.array([(turn @ away - away) / case.dt, np.zeros(3)])
    w = case.evaluate()
    assert np.abs(w["drift"]).max() > 0.1
    np.testing.assert_allclose(w["u"][:2], 0.0, rtol=0, atol=1e-9)
    assert abs(w["gap"]) < 1e-12
    # What the point covers that is touched at first is an arc of its circle as well.
    arm = w["arm_o"]
    np.testing.assert_allclose(
        w["drift1"], -w["frame"][:2] @ (turn @ arm - arm) / case.dt, rtol=1e-9
    )
