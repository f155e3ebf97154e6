"""Contacts: their motion, and the closed form that condenses their equations onto the body.

Facets of the linearized cone, (29c) to (29f), or none: the exact second-order cone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernels_for_tests import contact_answer, contact_at
from random_mechanisms import multiply, random_body, random_joint, random_quaternion, turned

from robosim import ContactPoint, Mechanism
from robosim.compiled.building.model import compile_model
from robosim.compiled.memory import make_system
from robosim.compiled.workspace import make_workspace
from robosim.quaternions import rotation_matrix

STEP = 1e-6
DT = 0.02


class OneContact:
    """A floating body with one contact, moving over one interval."""

    def __init__(
        self,
        seed: int,
        radius: float = 0.0,
        friction: float = 0.7,
        facets: int = 4,
        rim: bool = False,
        oval: bool = False,
    ):
        self.rng = rng = np.random.default_rng(seed)
        point = ContactPoint("c", "b", rng.normal(size=3), radius, friction)
        if rim:
            point = replace(point, axis=rng.normal(size=3))
        if oval:
            turn = rotation_matrix(random_quaternion(rng))
            point = replace(point, semi_axes=np.diag((0.5, 0.2, 0.3)) @ turn)
        joint = random_joint(rng, "j", "floating", None, "b")
        self.robot = Mechanism("one contact", (random_body(rng, "b"),), (joint,), (point,))
        self.model = compile_model(self.robot, facets)
        self.system = make_system(self.model)
        self.work = make_workspace(self.robot, self.model)
        self.P = turned(np.array([1.0, 0, 0, 0]), rng.normal(size=3))
        self.v = rng.normal(size=3)
        q = random_quaternion(rng)
        pose = self.system.pose1[0]
        pose["x"], pose["q"], pose["R"] = rng.normal(size=3), q, rotation_matrix(q)

    def evaluate(self, direction: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
        """u and R after a step along (d v, psi)."""
        first, second = self.system.pose1[0], self.work.pose2[0]
        P = turned(self.P, DT * length * direction[3:])
        motion = self.work.bodies[0]
        motion["v"], motion["P"] = self.v + length * direction[:3], P
        second["x"] = first["x"] + DT * motion["v"]
        second["q"] = multiply(P, first["q"])
        second["R"] = rotation_matrix(second["q"])
        contact_at(self.model, self.system, self.work, 0, DT)
        w = self.system.contacts[0]
        return w["u"].copy(), w["R"][:, :6].copy()

    def random_interior(self) -> None:
        """Variables anywhere inside the cones, and a motion that does not match them."""
        c, w = self.work.contacts[0], self.system.contacts[0]
        for name in ("gamma", "s", "psi", "c", "beta", "eta"):
            c[name] = self.rng.uniform(0.1, 2.0, size=np.shape(c[name]))
        for name in ("u", "second_s", "second_c", "second"):
            w[name] = self.rng.normal(size=np.shape(w[name]))
        w["weight"], w["normal_weight"] = self.rng.uniform(0.5, 2.0), 1.0
        if not len(self.model.facets):
            # Friction and slip anywhere inside the circles that mu gamma and psi allow.
            for name, size in (("beta", self.mu * c["gamma"]), ("eta", c["psi"])):
                angle = self.rng.uniform(0, 2 * np.pi)
                c[name][:2] = size * self.rng.uniform(0.1, 0.9) * direction_at(angle)

    @property
    def mu(self) -> float:
        return self.robot.contacts[0].friction


def direction_at(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["point", "ball", "rim", "ellipsoid"])
def test_contact_jacobian(seed, kind):
    """For a finite turn over the interval, at which a rolling sphere slips by radius * 2 p / dt."""
    radius = 0.3 if kind in ("ball", "rim") else 0.0
    case = OneContact(seed, radius, rim=kind == "rim", oval=kind == "ellipsoid")
    J = case.evaluate(np.zeros(6), 0.0)[1]
    columns = []
    for direction in np.eye(6):
        ends = [case.evaluate(direction, s * STEP)[0] for s in (1, -1)]
        columns.append((ends[0] - ends[1]) / (2 * STEP))
    # Of u of size 1e2 m/s: rounding 1e-14 over a step of 1e-6.
    np.testing.assert_allclose(J, np.column_stack(columns), rtol=0, atol=1e-7)


def test_a_rolling_sphere_does_not_slip():
    """The material point of a sphere that rolls without slip has none, for small turns."""
    case = OneContact(0, radius=0.3)
    case.model = compile_model(
        Mechanism(
            "ball",
            case.robot.bodies,
            case.robot.joints,
            (ContactPoint("c", "b", np.zeros(3), radius=0.3),),
        )
    )
    slips = []
    for angle in (1e-2, 1e-3):
        case.P = turned(np.array([1.0, 0, 0, 0]), np.array([0.0, angle, 0.0]))
        case.v = np.array([0.3 * angle / DT, 0.0, 0.0])
        u = case.evaluate(np.zeros(6), 0.0)[0]
        slips.append(abs(u[0]))
        assert u[1] == pytest.approx(0, abs=1e-12)
    # sin of half an angle for half an angle: third order.
    assert slips[1] == pytest.approx(slips[0] / 1000, rel=0.05)


def dense_directions(case: OneContact, kappa: float, du: np.ndarray) -> dict[str, np.ndarray]:
    """Solve the linearised equations of one contact for a given motion, all at once."""
    return (dense_cone if not len(case.model.facets) else dense_facets)(case, kappa, du)


def dense_facets(case: OneContact, kappa: float, du: np.ndarray) -> dict[str, np.ndarray]:
    """Equations (29c) to (29f)."""
    c, w = case.work.contacts[0], case.system.contacts[0]
    facets, mu = case.model.facets, case.mu
    n, aim = len(facets), w["weight"] * kappa
    # Unknowns: gamma, s, psi, c, beta (n), eta (n).
    A, rhs = np.zeros((4 + 2 * n, 4 + 2 * n)), np.zeros(4 + 2 * n)
    beta, eta = slice(4, 4 + n), slice(4 + n, 4 + 2 * n)
    u = w["u"] + du
    A[0, 1], rhs[0] = 1, u[2] - c["s"]
    A[1, 0], A[1, 1] = c["s"], c["gamma"]
    rhs[1] = kappa - w["second_s"] - c["s"] * c["gamma"]
    A[2, 0], A[2, 3], A[2, beta] = mu, -1, -1
    rhs[2] = -(mu * c["gamma"] - c["beta"][:n].sum() - c["c"])
    A[3, 2], A[3, 3] = c["c"], c["psi"]
    rhs[3] = aim - w["second_c"] - c["c"] * c["psi"]
    A[beta, 2], A[beta, eta] = 1, -np.eye(n)
    rhs[beta] = -(facets @ u[:2] + c["psi"] - c["eta"][:n])
    A[eta, beta], A[eta, eta] = np.diag(c["eta"][:n]), np.diag(c["beta"][:n])
    rhs[eta] = aim - w["second"][:n] - c["beta"][:n] * c["eta"][:n]
    x = np.linalg.solve(A, rhs)
    return {
        "d_gamma": x[0],
        "d_s": x[1],
        "d_psi": x[2],
        "d_c": x[3],
        "d_beta": x[beta],
        "d_eta": x[eta],
        "impulse": np.append(facets.T @ x[beta], x[0]),
    }


J = np.diag([1.0, -1.0, -1.0])


def square_root(x: np.ndarray) -> np.ndarray:
    """The root in the Jordan algebra of the second-order cone, from eigenvalues."""
    length = np.linalg.norm(x[1:])
    high, low = np.sqrt(x[0] + length), np.sqrt(x[0] - length)
    return np.append((high + low) / 2, (high - low) / 2 * x[1:] / length)


def quadratic(x: np.ndarray) -> np.ndarray:
    """The matrix of the quadratic representation, P(x)."""
    return 2 * np.outer(x, x) - (x @ J @ x) * J


def scaling_matrix(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The matrix of Nesterov and Todd that takes x to y: P(w)^-1 with P(w) y = x."""
    root = square_root(x)
    inner = square_root(quadratic(root) @ y)
    w = quadratic(root) @ (J @ inner / (inner @ J @ inner))
    return np.linalg.inv(quadratic(w))


def dense_cone(case: OneContact, kappa: float, du: np.ndarray) -> dict[str, np.ndarray]:
    """The normal and the scaled product of the second-order cone."""
    c, w, mu = case.work.contacts[0], case.system.contacts[0], case.mu
    x, y = np.append(mu * c["gamma"], c["beta"][:2]), np.append(c["psi"], c["eta"][:2])
    H = scaling_matrix(x, y)
    np.testing.assert_allclose(H @ x, y, rtol=1e-10)
    # Unknowns: gamma, s, psi, beta (2), eta (2).
    A, rhs = np.zeros((7, 7)), np.zeros(7)
    u = w["u"] + du
    A[0, 1], rhs[0] = 1, u[2] - c["s"]
    A[1, 0], A[1, 1] = c["s"], c["gamma"]
    rhs[1] = kappa - w["second_s"] - c["s"] * c["gamma"]
    A[2:5, 0], A[2:5, 3:5] = mu * H[:, 0], H[:, 1:]
    A[2, 2] = A[3, 5] = A[4, 6] = 1
    rhs[2:5] = w["weight"] * kappa * J @ x / (x @ J @ x) - y - w["second"][:3]
    A[5, 5] = A[6, 6] = 1
    rhs[5:] = u[:2] - c["eta"][:2]
    d = np.linalg.solve(A, rhs)
    return {
        "d_gamma": d[0],
        "d_s": d[1],
        "d_psi": d[2],
        "d_c": 0.0,
        "d_beta": d[3:5],
        "d_eta": d[5:],
        "impulse": np.append(d[3:5], d[0]),
    }


@pytest.mark.parametrize("facets", [0, 4, 6, 16])
@pytest.mark.parametrize("seed", range(5))
def test_condensed_contact_against_a_dense_solve(seed, facets):
    case = OneContact(seed, facets=facets)
    case.random_interior()
    du, kappa = case.rng.normal(size=3), 0.3
    contact_answer(case.model, case.system, case.work, 0, kappa, du)
    w = case.system.contacts[0]
    expected = dense_directions(case, kappa, du)
    for name in ("d_gamma", "d_s", "d_psi", "d_c", "d_beta", "d_eta"):
        value = w[name][: facets or 2] if name in ("d_beta", "d_eta") else w[name]
        np.testing.assert_allclose(value, expected[name], rtol=1e-10, atol=1e-10, err_msg=name)
    np.testing.assert_allclose(w["F"] + w["A"] @ du, expected["impulse"], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("facets", [0, 4])
def test_a_weight_of_the_normal_is_one_of_its_barrier(facets):
    """Half of the weight is half of the barrier, with twice the weight of friction."""
    answers = []
    for part, kappa in ((0.5, 0.3), (1.0, 0.15)):
        case = OneContact(3, facets=facets)
        case.random_interior()
        w = case.system.contacts[0]
        w["normal_weight"], w["weight"] = part, 2.0 * part * w["weight"]
        contact_answer(case.model, case.system, case.work, 0, kappa, np.ones(3))
        answers.append(np.concatenate([np.ravel(w[name]) for name in ("d_gamma", "d_s", "d_beta")]))
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-12)


@pytest.mark.parametrize("facets", [0, 4])
@pytest.mark.parametrize("seed", range(5))
def test_condensed_onto_a_body(seed, facets):
    """(D - J1^T A J2) xi = r + J1^T F solves the body and all contact equations together."""
    case = OneContact(seed, facets=facets)
    case.random_interior()
    rng, kappa = case.rng, 0.3
    J1, J2 = rng.normal(size=(3, 6)), rng.normal(size=(3, 6))
    half = rng.normal(size=(6, 6))
    D, r = half @ half.T + 6 * np.eye(6), rng.normal(size=6)
    contact_answer(case.model, case.system, case.work, 0, kappa, np.zeros(3))
    w = case.system.contacts[0]
    xi = np.linalg.solve(D - J1.T @ w["A"] @ J2, r + J1.T @ w["F"])
    impulse = dense_directions(case, kappa, J2 @ xi)["impulse"]
    np.testing.assert_allclose(D @ xi, r + J1.T @ impulse, rtol=1e-10, atol=1e-10)


def law(mu: float, aim: float, kappa: float, u: np.ndarray) -> np.ndarray:
    """Impulse on the central path of the second-order cone, in closed form, (3,)."""
    gamma = kappa / u[2]
    half = aim / (2 * mu * gamma)
    psi = half + np.sqrt(half**2 + u[:2] @ u[:2])
    return np.append(-mu * gamma / psi * u[:2], gamma)


@pytest.mark.parametrize("slip", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("seed", range(5))
def test_stiffness_on_the_central_path_is_the_derivative_of_the_law(seed, slip):
    """There A is dF / du of the smoothed Coulomb law, stuck or sliding, and F vanishes."""
    case = OneContact(seed, facets=0)
    kappa, weight = 0.3, 0.7
    u = np.append(slip * direction_at(case.rng.uniform(0, 2 * np.pi)), 0.5)
    c, w = case.work.contacts[0], case.system.contacts[0]
    F = law(case.mu, weight * kappa, kappa, u)
    c["s"], c["gamma"], c["beta"][:2], c["eta"][:2] = u[2], F[2], F[:2], u[:2]
    c["psi"] = -case.mu * F[2] * u[0] / F[0]
    w["u"], w["weight"], w["normal_weight"] = u, weight, 1.0
    contact_answer(case.model, case.system, case.work, 0, kappa, np.zeros(3))
    columns = []
    for axis in np.eye(3):
        step = STEP * max(1.0, slip) * axis if axis[2] == 0 else STEP * axis
        ends = [law(case.mu, weight * kappa, kappa, u + sign * step) for sign in (1, -1)]
        columns.append((ends[0] - ends[1]) / (2 * np.linalg.norm(step)))
    # Rounding 1e-16 over a step of 1e-6, of impulses of size 1.
    np.testing.assert_allclose(w["A"], np.column_stack(columns), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(w["F"], 0, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_the_exact_cone_resists_every_slip(seed):
    """Its part of A that answers the slip is symmetric and negative definite, anywhere inside."""
    case = OneContact(seed, facets=0)
    case.random_interior()
    contact_answer(case.model, case.system, case.work, 0, 0.3, np.zeros(3))
    A = case.system.contacts[0]["A"][:2, :2]
    assert A[0, 1] == A[1, 0]
    assert np.linalg.eigvalsh(A).max() < 0


@pytest.mark.parametrize("seed", range(20))
def test_a_lagging_slip_speed_makes_a_contact_convex(seed):
    """Then all of A is symmetric and negative definite, and psi narrows the gap by mu."""
    case = OneContact(seed, facets=0)
    case.random_interior()
    c, w, mu = case.work.contacts[0], case.system.contacts[0], case.mu
    w["lags"] = 1
    du, kappa = case.rng.normal(size=3), 0.3
    contact_answer(case.model, case.system, case.work, 0, kappa, du)
    A = w["A"]
    np.testing.assert_allclose(A, A.T, rtol=1e-12)
    assert np.linalg.eigvalsh(A).max() < 0
    np.testing.assert_allclose(w["d_s"], w["u"][2] + du[2] - mu * w["d_psi"] - c["s"])
    product = c["s"] * c["gamma"] + w["d_s"] * c["gamma"] + c["s"] * w["d_gamma"]
    np.testing.assert_allclose(product, kappa - w["second_s"])
    # Friction is that of a contact whose normal impulse changes as much.
    x, y = np.append(mu * c["gamma"], c["beta"][:2]), np.append(c["psi"], c["eta"][:2])
    d_x = np.append(mu * w["d_gamma"], w["d_beta"][:2])
    d_y = np.append(w["d_psi"], w["d_eta"][:2])
    right = w["weight"] * kappa * J @ x / (x @ J @ x) - y - w["second"][:3]
    np.testing.assert_allclose(scaling_matrix(x, y) @ d_x + d_y, right, rtol=1e-9, atol=1e-9)
    impulse = np.append(w["d_beta"][:2], w["d_gamma"])
    np.testing.assert_allclose(w["F"] + A @ du, impulse, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("facets", [0, 4])
def test_without_friction_there_is_only_a_normal_impulse(facets):
    case = OneContact(0, friction=0.0, facets=facets)
    case.random_interior()
    contact_answer(case.model, case.system, case.work, 0, 0.3, np.ones(3))
    c, w = case.work.contacts[0], case.system.contacts[0]
    expected = np.zeros((3, 3))
    expected[2, 2] = -c["gamma"] / c["s"]
    np.testing.assert_array_equal(w["A"], expected)
    assert not w["F"][:2].any()
    s_gamma = c["s"] * c["gamma"] + c["s"] * w["d_gamma"] + c["gamma"] * w["d_s"]
    assert s_gamma == pytest.approx(0.3 - w["second_s"], rel=1e-12)
