"""One contact in the interior point: where it is put, how far it may go, what it is measured by.

With the exact cone, x = (mu gamma, beta) and y = (psi, eta), and with facets, as
`cone_second_order` and `cone_linearized` state their equations. What is expected is written down
from these.
"""

from __future__ import annotations

import numpy as np
import pytest
from kernels_for_tests import (
    contact_centered,
    contact_foretold,
    contact_landed,
    contact_measured,
    contact_noted,
)
from test_contact_jacobians import OneContact, quadratic, square_root

FACETS = [0, 4, 6, 16]
SEEDS = range(5)
KAPPA = 0.3


def weighted(seed: int, facets: int) -> OneContact:
    """A contact anywhere inside its cones, friction's products of some weight."""
    case = OneContact(seed, facets=facets)
    case.random_interior()
    return case


def directed(case: OneContact) -> None:
    """Any direction of all variables."""
    w = case.system.contacts[0]
    for name in ("d_s", "d_gamma", "d_c", "d_psi", "d_beta", "d_eta"):
        w[name] = case.rng.normal(size=np.shape(w[name]))
    w["slides"] = w["jumps"] = 0.0


def variables(case: OneContact, length: float = 0.0) -> dict[str, np.ndarray]:
    """All variables after a step of some length."""
    c, w = case.work.contacts[0], case.system.contacts[0]
    n = len(case.model.facets) or 2
    names = ("s", "gamma", "c", "psi", "beta", "eta")
    found = {name: c[name] + length * w[f"d_{name}"] for name in names}
    return {name: value[:n] if np.ndim(value) else value for name, value in found.items()}


def pairs(case: OneContact, length: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """x and y of the exact cone; with facets the factors of all products of friction."""
    v = variables(case, length)
    if not len(case.model.facets):
        return np.append(case.mu * v["gamma"], v["beta"]), np.append(v["psi"], v["eta"])
    return np.append(v["c"], v["beta"]), np.append(v["psi"], v["eta"])


def product(case: OneContact, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x o y of the exact cone, or one by one."""
    if not len(case.model.facets):
        return np.append(x @ y, x[0] * y[1:] + y[0] * x[1:])
    return x * y


def aimed(case: OneContact, aim: float) -> np.ndarray:
    """What the product is on the central path."""
    if not len(case.model.facets):
        return np.array([aim, 0.0, 0.0])
    return np.full(1 + len(case.model.facets), aim)


@pytest.mark.parametrize("facets", FACETS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("u_z", [-0.4, 0.7])
def test_a_contact_is_centred_on_its_path(seed, facets, u_z):
    """At the slack that its motion gives, or the least that is asked for; and at its slip."""
    case = weighted(seed, facets)
    c, w = case.work.contacts[0], case.system.contacts[0]
    w["u"][2] = u_z
    contact_centered(case.model, case.system, case.work, 0, KAPPA, 0.01)
    assert c["s"] == max(u_z, 0.01)
    assert c["s"] * c["gamma"] == pytest.approx(KAPPA, rel=1e-14)
    x, y = pairs(case)
    aim = aimed(case, w["weight"] * KAPPA)
    np.testing.assert_allclose(product(case, x, y), aim, rtol=0, atol=1e-12 * max(1, x[0] * y[0]))
    if facets:
        assert c["c"] == pytest.approx(case.mu * c["gamma"] - x[1:].sum(), rel=1e-12)
    else:
        np.testing.assert_array_equal(y[1:], w["u"][:2])
        assert y[0] > 0


@pytest.mark.parametrize("facets", FACETS)
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("aim", [1e-12, 1e-3, 1.0])
def test_a_contact_lands_on_its_path(seed, facets, aim):
    """With the differences that it came with, from wherever a step has left it."""
    case = weighted(seed, facets)
    c, w, rng = case.work.contacts[0], case.system.contacts[0], case.rng
    for name in ("gamma", "s", "c", "psi", "beta", "eta"):
        c[name] = rng.normal(size=np.shape(c[name]))
    c["gamma"] += 2.0 * (seed % 2)  # closed, so that there is friction
    w["jumps"], w["aim"] = rng.uniform(0.2, 5.0), aim
    r = w["jumps"]
    before = variables(case)
    contact_landed(case.model, case.system, case.work, 0)
    after = variables(case)
    tolerance = {"rtol": 1e-11, "atol": 1e-12}
    came, went = r * before["gamma"] - before["s"], r * after["gamma"] - after["s"]
    np.testing.assert_allclose(went, came, **tolerance)
    assert after["s"] * after["gamma"] == pytest.approx(aim, rel=1e-9)
    assert min(after["s"], after["gamma"], after["psi"]) > 0
    came, went = r * before["beta"] - before["eta"], r * after["beta"] - after["eta"]
    np.testing.assert_allclose(went, came, **tolerance)
    x, y = pairs(case)
    # Relative to the terms that cancel.
    np.testing.assert_allclose(
        product(case, x, y), aimed(case, aim), rtol=1e-9, atol=1e-11 * max(1.0, x[0] * y[0])
    )
    if facets:
        np.testing.assert_allclose(
            r * after["c"] - after["psi"], r * before["c"] - before["psi"], **tolerance
        )
    else:
        assert np.hypot(*after["beta"]) < case.mu * after["gamma"] * (1 + 1e-12)


def is_inside(case: OneContact, length: float) -> bool:
    v = variables(case, length)
    x, y = pairs(case, length)
    if len(case.model.facets):
        return bool(min(v["s"], v["gamma"], *x, *y) > 0)
    slacks = x[0] - np.hypot(*x[1:]), y[0] - np.hypot(*y[1:])
    return bool(min(v["s"], v["gamma"], *slacks) > 0)


@pytest.mark.parametrize("facets", FACETS)
@pytest.mark.parametrize("seed", range(20))
def test_the_longest_step_ends_on_the_surface(seed, facets):
    case = weighted(seed, facets)
    directed(case)
    out = np.zeros(9)
    contact_measured(case.model, case.system, case.work, 0, 0.1, out)
    if out[0] == 1e9:
        assert all(is_inside(case, length) for length in np.geomspace(1e-3, 1e6))
        return
    assert all(is_inside(case, part * out[0]) for part in (*np.linspace(0, 0.99), 1 - 1e-9))
    assert not is_inside(case, (1 + 1e-9) * out[0])


@pytest.mark.parametrize("facets", FACETS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_step_that_never_leaves_its_cones(seed, facets):
    """Along what is inside of them itself."""
    case = weighted(seed, facets)
    directed(case)
    c, w = case.work.contacts[0], case.system.contacts[0]
    for name in ("s", "gamma", "c", "psi", "beta", "eta"):
        w[f"d_{name}"] = 0.3 * c[name]
    out = np.zeros(9)
    contact_measured(case.model, case.system, case.work, 0, 0.1, out)
    assert out[0] == 1e9


@pytest.mark.parametrize("facets", FACETS)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_contact_is_measured_by(seed, facets):
    """Products after a step, friction's of the exact cone as eigenvalues; what is left; impulse."""
    case = weighted(seed, facets)
    directed(case)
    w = case.system.contacts[0]
    for name in ("d_s", "d_gamma", "d_c", "d_psi", "d_beta", "d_eta"):
        w[name] *= 0.01
    out = np.zeros(9)
    length = 0.7
    contact_measured(case.model, case.system, case.work, 0, length, out)
    v, (x, y) = variables(case, length), pairs(case, length)
    products = x * y
    if facets == 0:
        scaled = quadratic(square_root(x)) @ y
        products = scaled[0] + np.linalg.norm(scaled[1:]) * np.array([1.0, -1.0])
    products = np.append(products / w["weight"], v["s"] * v["gamma"])
    expected = products.sum(), products.max(), products.min(), len(products)
    np.testing.assert_allclose(out[1:5], expected, rtol=1e-11)
    v, u = variables(case), w["u"]
    left = [u[2] - v["s"]]
    if facets == 0:
        left += list(u[:2] - v["eta"])
        friction = v["beta"]
    else:
        left += list(case.model.facets @ u[:2] + v["psi"] - v["eta"])
        left.append((case.mu * v["gamma"] - v["beta"].sum() - v["c"]) / case.robot.bodies[0].mass)
        friction = case.model.facets.T @ v["beta"]
    assert out[5] == pytest.approx(np.abs(left).max(), rel=1e-13)
    np.testing.assert_allclose(out[6:], np.append(friction, v["gamma"]), rtol=1e-13, atol=1e-13)
    assert w["second_s"] == w["d_s"] * w["d_gamma"]
    if facets:
        assert w["second_c"] == w["d_c"] * w["d_psi"]
        second = w["d_beta"] * w["d_eta"]
        np.testing.assert_array_equal(w["second"][:facets], second[:facets])
        return
    # The point whose quadratic representation takes x to y, and its root, which takes both to l.
    x, y = pairs(case)
    root = square_root(x)
    inverse = np.linalg.inv(quadratic(root))
    T = quadratic(square_root(inverse @ square_root(quadratic(root) @ y)))
    d_x = np.append(case.mu * w["d_gamma"], w["d_beta"][:2])
    d_y = np.append(w["d_psi"], w["d_eta"][:2])
    l0, *l_t = T @ x
    arrow = l0 * np.eye(3)
    arrow[0, 1:] = arrow[1:, 0] = l_t
    z = np.linalg.solve(arrow, product(case, T @ d_x, np.linalg.solve(T, d_y)))
    np.testing.assert_allclose(w["second"][:3], T @ z, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("degree", range(5))
def test_a_guess_goes_on_as_far_as_differences_say(degree):
    """What a contact tells of itself goes on as a polynomial; of the degree that is asked for."""
    case = OneContact(3, facets=0)
    c, rng = case.work.contacts[0], case.rng
    mass = case.robot.bodies[0].mass
    # Impulse over mass less motion at the knots, of friction in two directions and of the normal.
    told = np.vander(np.arange(8.0), degree + 1) @ rng.normal(size=(degree + 1, 3))
    misses, trend = np.zeros(5), np.array([n < degree for n in range(4)], dtype=float)
    for k, values in enumerate(told[:7]):
        c["s"], c["eta"][:2] = rng.normal(), rng.normal(size=2)
        c["gamma"], c["beta"][:2] = mass * (values[2] + c["s"]), mass * (values[:2] + c["eta"][:2])
        misses[:] = 0.0
        contact_noted(case.model, case.work, 0, k == 0, 1.0, misses)
    scale = np.abs(told).max()
    squares = [np.square(np.diff(told[:7], n + 1, axis=0)[-1]).sum() for n in range(5)]
    np.testing.assert_allclose(misses, squares, rtol=1e-9, atol=1e-11 * scale**2)
    noted = c.copy()
    for regular, expected in ((1.0, told[7]), (0.0, told[6])):
        case.work.contacts[0] = noted
        contact_foretold(case.model, case.system, case.work, 0, trend, regular, 1e-6)
        motion, impulse = np.append(c["eta"][:2], c["s"]), np.append(c["beta"][:2], c["gamma"])
        np.testing.assert_allclose(
            impulse / mass - motion, expected, rtol=1e-9, atol=1e-10 * max(1.0, scale)
        )
        assert c["s"] * c["gamma"] == pytest.approx(1e-6, rel=1e-6)


def test_a_contact_begins_anew_after_another_interval():
    """What it had followed before counts no more."""
    case = OneContact(3, facets=0)
    c, misses = case.work.contacts[0], np.zeros(5)
    for k in range(5):
        c["gamma"] = case.rng.uniform(1, 2)
        contact_noted(case.model, case.work, 0, k == 0, 0.0 if k == 3 else 1.0, misses)
        if k in (0, 3):
            assert not c["changed"].any()
    assert (c["changed"][2] != 0).tolist() == [True, False, False, False]
