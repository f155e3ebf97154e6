"""Forces and momenta of links for trajectory optimisation, beside the differentiated energy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("casadi")

from robots import chain, top

from robosim import Mechanism
from robosim.models import builders
from robosim.optimize.energies import Energies, Part
from robosim.optimize.symbolic import Symbolic, ca, hinges, product
from robosim.validation import Array

pytestmark = pytest.mark.peer

G = np.array((0.3, -0.2, -9.81))


def floating() -> Mechanism:
    """A quadruped whose trunk floats; gravity does not act on all of it."""
    robot = builders.littledog()
    bodies = tuple(
        replace(body, gravity_compensation=0.7) if k == 2 else body
        for k, body in enumerate(robot.bodies)
    )
    return replace(robot, bodies=bodies)


ROBOTS = {
    "planar": builders.flamingo, "floating": floating, "spherical": lambda: chain(3),
    "top": top, "loop": builders.slider_crank,
}  # fmt: skip


@pytest.fixture(scope="module", params=list(ROBOTS))
def model(request: pytest.FixtureRequest) -> Symbolic:
    return Symbolic(ROBOTS[request.param](), G)


@pytest.fixture(scope="module")
def energies(model: Symbolic) -> Energies:
    return Energies(model)


def state(model: Symbolic) -> tuple[Array, Array]:
    """Unknowns (theta, rates and hinges of bases), and quaternions that are given."""
    rng, turns = np.random.default_rng(5), len(model.turns)
    given = rng.normal(size=(turns, 4))
    given /= np.linalg.norm(given, axis=1)[:, None]
    return rng.normal(size=2 * model.robot.nv + 3 * turns), given.ravel()


def called(function: ca.Function, model: Symbolic, x: Array, *more: Array) -> list[Array]:
    nv = model.robot.nv
    return [np.array(part.full()) for part in function.call([x[:nv], x[nv : 2 * nv], x[2 * nv :],
                                                             *more])]  # fmt: skip


def differentiated(model: Symbolic) -> ca.Function:
    """Forces, momenta and forces by small turns of bases, as derivatives of the energy."""
    nv, turns = model.robot.nv, len(model.turns)
    theta, rates = ca.SX.sym("theta", nv), ca.SX.sym("rates", nv)
    angles, given = ca.SX.sym("angles", 3 * turns), ca.SX.sym("given", 4 * turns)
    small = ca.SX.sym("small", 3 * turns)
    bases = [
        product(given[4 * r : 4 * r + 4], hinges(angles[3 * r : 3 * r + 3])) for r in range(turns)
    ]
    energy = model.link_energy(model.place(theta, rates, bases, small))
    slopes = ca.gradient(energy, ca.vertcat(theta, rates, small))
    slopes = ca.substitute(slopes, small, ca.SX.zeros(3 * turns, 1))
    return ca.Function("slopes", [theta, rates, angles, given], [slopes])


def agree(a: Array, b: Array, part: float) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=part * (1.0 + np.abs(b).max(initial=0.0)))


def test_values_and_derivatives_are_those_of_the_energy(
    model: Symbolic, energies: Energies
) -> None:
    x, given = state(model)
    nv = model.robot.nv
    exact = differentiated(model)
    y = ca.SX.sym("y", len(x))
    whole = exact(y[:nv], y[nv : 2 * nv], y[2 * nv :], ca.DM(given.tolist()))
    for part, values in ((energies.forces, whole), (energies.momenta, whole[nv : 2 * nv])):
        lam = np.random.default_rng(6).normal(size=values.shape[0])
        weighted = ca.dot(ca.DM(lam.tolist()), values)
        known = ca.Function("known", [y], [values, ca.jacobian(values, y),
                                           ca.hessian(weighted, y)[0]])  # fmt: skip
        value, first, second = (np.array(one.full()) for one in known(x))
        agree(called(part.value, model, x, given)[0], value, 1e-12)
        agree(called(part.first, model, x, given)[0], first, 1e-12)
        again, found = called(part.second, model, x, given, lam)
        agree(again, first, 1e-12)
        agree(found, second, 1e-12)


def test_derivatives_are_those_of_differences(model: Symbolic, energies: Energies) -> None:
    x, given = state(model)
    h = 1e-6

    def differences(part: Part, lam: Array, k: int) -> tuple[Array, Array]:
        away = np.zeros(len(x))
        away[k] = h
        ends = [
            [called(f, model, x + way, given)[0] for f in (part.value, part.first)]
            for way in (away, -away)
        ]
        first, second = ((a - b) / (2 * h) for a, b in zip(*ends, strict=True))
        return first.ravel(), second.T @ lam

    for part in (energies.forces, energies.momenta):
        lam = np.random.default_rng(7).normal(size=part.value.size1_out(0))
        first, second = called(part.second, model, x, given, lam)
        for k in range(len(x)):
            by_k, twice = differences(part, lam, k)
            np.testing.assert_allclose(first[:, k], by_k, rtol=0, atol=1e-7 * np.abs(first).max())
            size = 1.0 + np.abs(second).max()
            np.testing.assert_allclose(second[:, k], twice, rtol=0, atol=1e-7 * size)


def test_expressions_are_shorter_than_those_of_the_energy() -> None:
    """By a factor that grows with the length of the robot."""
    model = Symbolic(builders.littledog(), G)
    part = Energies(model).forces
    exact = differentiated(model)
    y, given = ca.SX.sym("y", 2 * model.robot.nv + 3), ca.SX.sym("given", 4)
    nv = model.robot.nv
    values = ca.cse(exact(y[:nv], y[nv : 2 * nv], y[2 * nv :], given))
    lam = ca.SX.sym("lam", values.shape[0])
    twice = ca.hessian(ca.dot(lam, values), y)[0]
    whole = ca.Function("second", [y, given, lam], [ca.jacobian(values, y), twice])
    assert part.second.n_instructions() < 0.5 * whole.n_instructions()
