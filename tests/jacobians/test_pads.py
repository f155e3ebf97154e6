"""Pads of sockets: their slip, its derivative, and which of them slip alike."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_for_tests import pad_at
from random_mechanisms import random_quaternion

from robosim import Bearing, Body, Joint, Mechanism
from robosim.compiled.arrays import aligned
from robosim.compiled.building.bearings import slipping_alike
from robosim.compiled.building.model import compile_model
from robosim.compiled.records.contact import CONTACT_WORK
from robosim.compiled.workspace import make_workspace
from robosim.description.bearing import pads_of
from robosim.quaternions import multiply, rotation_matrix

DT, RADIUS = 1e-2, 0.05


def turned(q, psi):
    """A quaternion, turned in the child's axes by a rotation vector."""
    angle = np.linalg.norm(psi)
    half = np.sinc(angle / (2 * np.pi)) / 2 * np.asarray(psi)
    return multiply(q, np.concatenate(([np.cos(angle / 2)], half)))


@pytest.mark.parametrize("pads", [3, 4, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_slip_of_pads_and_its_derivative(seed, pads):
    rng = np.random.default_rng(seed)
    joint = Joint("socket", "spherical", None, "ball", bearing=Bearing(0.3, RADIUS, pads=pads))
    robot = Mechanism("m", (Body("ball", 2.0, 0.01 * np.eye(3)),), (joint,))
    model = compile_model(robot)
    work, w = make_workspace(robot, model), aligned(1, CONTACT_WORK)
    q1 = random_quaternion(rng)
    q2 = turned(q1, DT * rng.normal(size=3) * 20)
    places = pads_of(joint.bearing, "spherical", joint.axis)
    alike = sorted(set(slipping_alike(places)))
    assert len(alike) == len(model.contacts) == (3 if pads == 4 else pads + 1)

    def slip(k, q):
        pad_at(model, work, k, q1, q, DT, w[0])
        return w[0]["u"].copy()

    scale = model.contacts[0]["scale"]
    for k, pad in enumerate(alike):
        here = slip(k, q2)
        found = w[0].copy()
        # The displacement of the pad's point along its tangents, in the middle of the turn.
        middle = q1 + q2
        middle /= np.linalg.norm(middle)
        half = (
            rotation_matrix(middle).T
            @ (rotation_matrix(q2) - rotation_matrix(q1))
            @ places.points[pad]
        )
        expected = places.tangents[pad] @ half / DT * scale / RADIUS
        np.testing.assert_allclose(here[:2], expected, rtol=1e-12, atol=1e-12)
        assert here[2] == 0
        columns = []
        for psi in 1e-6 * np.eye(3):
            change = slip(k, turned(q2, psi)) - slip(k, turned(q2, -psi))
            columns.append(change / 2e-6 * DT)
        np.testing.assert_allclose(found["R"][:, :3], np.column_stack(columns), atol=1e-8)
    # Impulses along L are what the pads' friction gives about the ball's centre.
    for i in range(2):
        moment = np.cross(places.points[pad], places.tangents[pad][i])
        np.testing.assert_allclose(found["L"][i, :3], moment * scale / RADIUS, atol=1e-12)
