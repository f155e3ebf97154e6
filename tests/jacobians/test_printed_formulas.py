"""The formulas of [Bruedigam2023] as printed, against finite differences and dense algebra.

Each test holds what docs/derivation.md corrects: that the printed form is off in the way that is
said there, and that the corrected one is right. No kernels: plain numpy from the definitions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import robosim
from robosim import Bearing, quaternions
from robosim.description.bearing import pads_of
from robosim.joints import KINDS, selection
from robosim.muscles import HillMuscle
from robosim.quaternions import conjugate, from_axis_angle, multiply, normalized, rotation_matrix

DT = 0.05
J = np.array([[0.4, 0.05, -0.02], [0.05, 0.5, 0.03], [-0.02, 0.03, 0.7]])


def L(q: np.ndarray) -> np.ndarray:
    """Left multiplication [Bruedigam2023, Eq. A.4b]."""
    return np.column_stack([multiply(q, e) for e in np.eye(4)])


V = np.hstack((np.zeros((3, 1)), np.eye(3)))  # Eq. A.4d


def skew(a: np.ndarray) -> np.ndarray:
    return np.cross(np.eye(3), a)


def turned(q: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """q turned by a small rotation vector phi in body axes, on the unit sphere."""
    return normalized(multiply(q, np.concatenate(([1.0], 0.5 * phi))))


def gradient(f: Callable[[np.ndarray], float], n: int = 3, h: float = 1e-6) -> np.ndarray:
    """Central differences at zero: truncation and rounding both near 1e-10."""
    return np.array([(f(h * e) - f(-h * e)) / (2 * h) for e in np.eye(n)])


def three_orientations(seed: int) -> list[np.ndarray]:
    """Three knots that turn by some 0.3 rad per interval."""
    rng = np.random.default_rng(seed)
    q = [normalized(rng.normal(size=4))]
    for _ in range(2):
        q.append(multiply(q[-1], from_axis_angle(rng.normal(size=3), 0.3)))
    return q


def discrete_omega(q1: np.ndarray, q2: np.ndarray) -> np.ndarray:
    """Eq. (13), vector part, body axes."""
    return 2 / DT * (V @ L(q1).T @ q2)


def rotational_action(q0: np.ndarray, q1: np.ndarray, q2: np.ndarray) -> float:
    """Eq. (14) without torques."""
    rates = discrete_omega(q0, q1), discrete_omega(q1, q2)
    return DT * sum(0.5 * w @ J @ w for w in rates)


def printed_rotational_dynamics(q0: np.ndarray, q1: np.ndarray, q2: np.ndarray) -> np.ndarray:
    """Eq. (16) without potential and torque."""
    w0, w1 = discrete_omega(q0, q1), discrete_omega(q1, q2)
    after = J @ w1 * np.sqrt(4 / DT**2 - w1 @ w1) + np.cross(w1, J @ w1)
    before = J @ w0 * np.sqrt(4 / DT**2 - w0 @ w0) - np.cross(w0, J @ w0)
    return np.asarray(after - before)


@pytest.mark.parametrize("seed", range(5))
def test_eq_16_is_twice_the_torque_balance(seed: int) -> None:
    """Its left side is -2/dt times the action's derivative by the rotation vector of q1."""
    q0, q1, q2 = three_orientations(seed)
    balance = -gradient(lambda phi: rotational_action(q0, turned(q1, phi), q2)) / DT
    printed = printed_rotational_dynamics(q0, q1, q2)
    np.testing.assert_allclose(printed, 2 * balance, rtol=1e-7, atol=1e-7)
    assert np.linalg.norm(printed) > 1.0


@pytest.mark.parametrize("seed", range(5))
def test_angular_momentum_is_the_same_at_both_ends_of_an_interval(seed: int) -> None:
    """In world axes both are 2/dt E J p; printed are dt/2 R^T of it, at the middle knot."""
    q0, q1, q2 = three_orientations(seed)
    for first, second in ((q0, q1), (q1, q2)):
        P = multiply(second, conjugate(first))
        E = P[0] * np.eye(3) + skew(P[1:])
        np.testing.assert_allclose(rotation_matrix(P) @ E.T, E, atol=1e-15)
        R1, R2 = rotation_matrix(first), rotation_matrix(second)
        momentum = 2 / DT * E @ (R1 @ J @ R1.T) @ P[1:]
        leaving = gradient(lambda a, q=first, r=second: _interval(q, turned(r, a)))
        entering = -gradient(lambda a, q=first, r=second: _interval(turned(q, a), r))
        np.testing.assert_allclose(R2 @ leaving, momentum, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(R1 @ entering, momentum, rtol=1e-7, atol=1e-8)


def _interval(q1: np.ndarray, q2: np.ndarray) -> float:
    w = discrete_omega(q1, q2)
    return float(DT * 0.5 * w @ J @ w)


@pytest.mark.parametrize("seed", range(5))
def test_tangent_of_the_angular_momentum(seed: int) -> None:
    """d(2/dt E J p) by psi with dq2 = dt/2 psi q2 is E J E^T - (p . J p) I - [E J p]x."""
    _, q1, q2 = three_orientations(seed)
    R1 = rotation_matrix(q1)
    J1 = R1 @ J @ R1.T
    P0 = multiply(q2, conjugate(q1))

    def momentum(psi: np.ndarray) -> np.ndarray:
        P = normalized(multiply(np.concatenate(([1.0], 0.5 * DT * psi)), P0))
        return np.asarray(2 / DT * (P[0] * np.eye(3) + skew(P[1:])) @ J1 @ P[1:])

    difference = np.column_stack(
        [(momentum(1e-5 * e) - momentum(-1e-5 * e)) / 2e-5 for e in np.eye(3)]
    )
    E, p = P0[0] * np.eye(3) + skew(P0[1:]), P0[1:]
    tangent = E @ J1 @ E.T - (p @ J1 @ p) * np.eye(3) - skew(E @ J1 @ p)
    np.testing.assert_allclose(tangent, difference, atol=1e-9)


def test_rotational_gradient_is_twice_the_gradient_by_the_rotation_vector() -> None:
    """Eq. (A.7): so a Jacobian formed by Eq. (A.8) already carries the 2 of Eq. (16)."""
    rng = np.random.default_rng(1)
    q, c = normalized(rng.normal(size=4)), rng.normal(size=4)
    by_vector = gradient(lambda phi: float(c @ turned(q, phi)))
    # c . q / |q| is the same function on the sphere; V L^T q = 0 drops the radial part.
    np.testing.assert_allclose(V @ L(q).T @ c, 2 * by_vector, atol=1e-9)


def test_torque_of_the_middle_knot_enters() -> None:
    """Eq. (14) at q1: the work 2 tau_1 . V L^T q_1 varies to 2 tau_1, not the printed tau_2."""
    rng = np.random.default_rng(2)
    _, q1, _ = three_orientations(2)
    tau = rng.normal(size=(3, 3))
    # Only the term of knot 1 depends on q1; the force is frozen while its work is varied.
    work = 2 * V @ L(q1).T
    varied = V @ L(q1).T @ (tau[1] @ work)
    np.testing.assert_allclose(varied, 2 * tau[1], atol=1e-14)
    np.testing.assert_allclose(
        2 * gradient(lambda phi: float(tau[1] @ work @ turned(q1, phi))), varied, atol=1e-9
    )


@pytest.mark.parametrize(("shift", "order"), [(0, 2.0), (1, 1.0)])
def test_order_with_the_torque_at_the_middle_or_the_last_knot(shift: int, order: float) -> None:
    """A rotor under tau = cos t about a fixed axis, q = 1 - cos t from rest."""
    errors = []
    for n in (50, 100, 200):
        dt = 1.0 / n
        # J sin(half the turn) cos(half the turn) 4/dt: Eq. (16) about one axis, times dt/2.
        angle, turn = 0.0, 0.0
        for k in range(n):
            share = 0.5 if k == 0 else 1.0
            torque = np.cos((k + shift) * dt)
            turn = np.arcsin(np.sin(turn) + share * dt * dt * torque)
            angle += turn
        errors.append(abs(angle - (1 - np.cos(1.0))))
    measured = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    np.testing.assert_allclose(measured, order, atol=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_friction_torque_needs_the_inverse_rotation(seed: int) -> None:
    """Power of a force f at a point p of the body: p x Q^-1 f as in (C.2d), not Q f as in (4b)."""
    rng = np.random.default_rng(seed)
    q, p, f, v, w = normalized(rng.normal(size=4)), *rng.normal(size=(4, 3))
    h = 1e-6
    ahead, behind = turned(q, h * w), turned(q, -h * w)
    point = v + (rotation_matrix(ahead) @ p - rotation_matrix(behind) @ p) / (2 * h)
    Q = rotation_matrix(q)
    assert v @ f + w @ np.cross(p, Q.T @ f) == pytest.approx(f @ point, abs=1e-8)
    assert abs(v @ f + w @ np.cross(p, Q @ f) - f @ point) > 1e-2


@pytest.mark.parametrize("seed", range(5))
def test_friction_torque_needs_the_factor_two_of_eq_16(seed: int) -> None:
    """The same force through the contact's rotational Jacobian (A.8) and through B^T of (C.2f).

    A normal force enters (29a) by N^T with the derivative (A.8) and so is doubled in its torque;
    the friction wrench is not, and would turn the body half as much as the force that it is.
    """
    rng = np.random.default_rng(seed)
    q, p, f = normalized(rng.normal(size=4)), *rng.normal(size=(2, 3))
    by_rotational_jacobian = 2 * gradient(
        lambda phi: float(f @ rotation_matrix(turned(q, phi)) @ p)
    )
    printed = np.cross(p, rotation_matrix(q).T @ f)
    np.testing.assert_allclose(by_rotational_jacobian, 2 * printed, atol=1e-8)


def test_inverse_divides_by_the_squared_norm() -> None:
    """Eq. (A.2b)."""
    q = np.array([1.0, -2.0, 0.5, 3.0])
    n = np.linalg.norm(q)
    np.testing.assert_allclose(multiply(q, conjugate(q) / n**2), [1, 0, 0, 0], atol=1e-15)
    assert abs(multiply(q, conjugate(q) / n)[0] - 1) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_composition_needs_transposed_selection_matrices(kind: str) -> None:
    """Eq. (B.7): D and C of Table B.1 have three rows, so only D^T g and C^T g are defined."""
    chosen = selection(kind, (1.0, 2.0, 3.0))
    for D, C in ((chosen.D_T, chosen.C_T), (chosen.D_R, chosen.C_R)):
        both = np.hstack((D, C))
        assert both.shape == (3, 3)
        np.testing.assert_allclose(both.T @ both, np.eye(3), atol=1e-15)
        if D.shape[1] not in (0, 3):
            with pytest.raises(ValueError, match="matmul"):
                D @ np.ones(3)


@pytest.mark.parametrize("angle", [-3.0, -0.4, 1e-3, 2.0, 3.1])
def test_minimal_coordinate_is_twice_the_arc_tangent(angle: float) -> None:
    """Eq. (B.7b): C^T g_R is the sine of half the angle, neither the angle nor half of it."""
    axis = np.array([1.0, 2.0, 2.0]) / 3
    offset, q_a = quaternions.from_rpy((0.3, -0.2, 1.0)), quaternions.from_rpy((2.0, 0.1, 0.4))
    q_b = multiply(multiply(q_a, offset), from_axis_angle(axis, angle))
    relative = L(offset).T @ L(q_a).T @ q_b  # Eq. (B.3) with its scalar part
    C = selection("revolute", axis).C_R[:, 0]
    assert C @ relative[1:] == pytest.approx(np.sin(angle / 2), abs=1e-14)
    assert 2 * np.arctan2(C @ relative[1:], relative[0]) == pytest.approx(angle, abs=1e-14)


def _random_tree_system(rng: np.random.Generator) -> tuple[list[int], np.ndarray, int]:
    """(parent of each node, block matrix of that tree, block size); the last node is the root."""
    n, size = 9, 2
    parent = [int(rng.integers(k + 1, n)) for k in range(n - 1)] + [-1]
    F = np.zeros((n * size, n * size))
    for k in range(n):
        blocks = [(k, k)] + ([(k, parent[k]), (parent[k], k)] if parent[k] >= 0 else [])
        for i, j in blocks:
            F[i * size : (i + 1) * size, j * size : (j + 1) * size] = rng.normal(size=(size, size))
    return parent, F + 6 * np.eye(n * size), size


def _solve_by_algorithms_1_and_2(
    parent: list[int], F: np.ndarray, f: np.ndarray, size: int, *, as_printed: bool
) -> np.ndarray:
    n = len(parent)
    at = [slice(k * size, (k + 1) * size) for k in range(n)]
    children = [[c for c in range(n) if parent[c] == i] for i in range(n)]
    F = F.copy()
    for i in range(n):
        for c in children[i]:
            inverse = np.linalg.inv(F[at[c], at[c]])
            F[at[i], at[c]] = F[at[i], at[c]] @ inverse
            F[at[c], at[i]] = inverse @ F[at[c], at[i]]
            F[at[i], at[i]] -= F[at[i], at[c]] @ F[at[c], at[c]] @ F[at[c], at[i]]
    s = np.zeros(n * size)
    c = 0
    for i in range(n):
        s[at[i]] = -f[at[i]]
        for c in children[i]:
            s[at[i]] -= F[at[i], at[c]] @ s[at[c]]
    for i in reversed(range(n)):
        s[at[i]] = np.linalg.solve(F[at[i], at[i]], s[at[i]])
        if parent[i] >= 0:
            row = c if as_printed else i  # c is left over from the loop before
            s[at[i]] -= F[at[row], at[parent[i]]] @ s[at[parent[i]]]
    return s


@pytest.mark.parametrize("seed", range(5))
def test_backsubstitution_uses_the_block_of_the_node_and_its_parent(seed: int) -> None:
    """Algorithm 2, line 9: F_{i,parent(i)}; with -f as printed there, ds = -F^-1 f."""
    rng = np.random.default_rng(seed)
    parent, F, size = _random_tree_system(rng)
    f = rng.normal(size=len(F))
    exact = -np.linalg.solve(F, f)
    solved = _solve_by_algorithms_1_and_2(parent, F, f, size, as_printed=False)
    np.testing.assert_allclose(solved, exact, atol=1e-12)
    printed = _solve_by_algorithms_1_and_2(parent, F, f, size, as_printed=True)
    assert np.abs(printed - exact).max() > 1e-3


@pytest.mark.parametrize(("naive", "order"), [(False, 2.0), (True, 1.0)])
def test_order_of_the_start(naive: bool, order: float) -> None:
    """A pendulum started by half of the first impulse is second order, by all of it first."""
    pendulum = robosim.load("pendulum")
    q, v, g = 1.0, 0.5, 9.81
    acceleration = -1.5 * g * np.sin(q)  # a rod of 1 m about its end
    ends = []
    for n in (20, 40, 80, 1280):
        sim = robosim.Simulation(pendulum, timestep=0.4 / n)
        sim.set_state([q], [v + (0.5 * sim.timestep * acceleration if naive else 0.0)])
        for _ in range(n):
            sim.step()
        ends.append(sim.q[0])
    errors = np.abs(np.array(ends[:3]) - ends[3])
    np.testing.assert_allclose(np.log2(errors[:2] / errors[1:]), order, atol=0.15)


def test_a_step_makes_the_constrained_action_stationary() -> None:
    """Eqs. (19), (20a): three knots of a simulated double pendulum, its action varied at z1.

    What is left of the gradient must lie in the span of the constraint gradients taken at z1.
    """
    robot = robosim.load("double_pendulum")
    sim = robosim.Simulation(robot, timestep=DT, tolerance=1e-11)
    sim.set_state([0.7, -0.4], [1.0, 2.0])
    knots = []
    for _ in range(3):
        sim.step()
        knots.append((sim.state.x.copy(), sim.state.q.copy()))
    (x0, q0), (x1, q1), (x2, q2) = knots

    def varied(move: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a = move.reshape(2, 6)
        return x1 + a[:, :3], np.array([turned(q, w) for q, w in zip(q1, a[:, 3:], strict=True)])

    def action(move: np.ndarray) -> float:
        x, q = varied(move)
        total = 0.0
        for body, k in zip(robot.bodies, range(2), strict=True):
            inertia = np.asarray(body.inertia)
            for xa, qa, xb, qb in ((x0, q0, x, q), (x, q, x2, q2)):
                v, w = (xb[k] - xa[k]) / DT, discrete_omega(qa[k], qb[k])
                total += DT * (0.5 * body.mass * v @ v + 0.5 * w @ inertia @ w)
            total -= DT * body.mass * 9.81 * x[k, 2]
        return total

    def constraints(move: np.ndarray) -> np.ndarray:
        x, q = varied(move)
        rows = []
        for k, joint in enumerate(robot.joints):
            x_a, q_a = (np.zeros(3), np.eye(4)[0]) if k == 0 else (x[0], q[0])
            p_b = rotation_matrix(q[k]) @ joint.child_position
            p_a = rotation_matrix(q_a) @ joint.parent_position
            rows.append(x[k] + p_b - x_a - p_a)
            rows.append(joint.D_R.T @ multiply(conjugate(q_a), q[k])[1:])
        return np.concatenate(rows)

    slope = gradient(action, 12)
    G = np.array([gradient(lambda m, r=r: constraints(m)[r], 12) for r in range(10)])
    multipliers = np.linalg.lstsq(G.T, slope, rcond=None)[0]
    assert np.linalg.norm(slope) > 0.1
    np.testing.assert_allclose(G.T @ multipliers, slope, atol=2e-8)


def test_the_first_example_of_a_material_jacobian() -> None:
    """[Sueda, Sect. 1.4]: a body that moves along x moves its points along x, not along y."""
    J = robosim.se3.point_jacobian(np.eye(4), (1, 0, 0))
    np.testing.assert_allclose(J @ (1, 0, 0, 0, 0, 0), (1, 0, 0))
    np.testing.assert_allclose(J @ (0, 0, 0, 0, 0, 1), (0, 1, 0))  # the second one is right


def test_the_acceleration_of_an_attached_node_has_the_rate_of_its_jacobian() -> None:
    """[Sueda, Eq. 2.89]: a node on a wheel is drawn to the axle; as printed it would speed up."""
    spin, at = 2.0, np.array((0.3, 0.0, 0.1))
    twist = np.array((0, 0, 0, 0, 0, spin))

    def jacobian(time: float) -> np.ndarray:
        """J_am = R Gamma(x_a) of [Sueda, Eq. 2.87]."""
        turn = np.array((np.cos(spin * time / 2), 0, 0, np.sin(spin * time / 2)))
        E = robosim.se3.transformation(robosim.quaternions.rotation_matrix(turn), np.zeros(3))
        return robosim.se3.point_jacobian(E, at)

    rate = (jacobian(1e-6) - jacobian(-1e-6)) / 2e-6
    np.testing.assert_allclose(rate @ twist, -(spin**2) * at * (1, 1, 0), atol=1e-8)
    np.testing.assert_allclose(jacobian(0.0) @ twist, spin * 0.3 * np.array((0, 1, 0)))


def test_a_contact_pushes_out_of_the_ground() -> None:
    """[Sueda, Eqs. 1.83, 1.84]: with + N^T alpha on the left, contacts push into the ground."""
    rng = np.random.default_rng(4)
    root = rng.normal(size=(3, 3))
    W, N, free = root @ root.T, rng.normal(size=(1, 3)), rng.normal(size=3)
    free -= (1.0 + N[0] @ free) / (N[0] @ N[0]) * N[0]  # which enters at 1 m/s
    alpha = -(N @ free) / (N @ W @ N.T)[0, 0]  # the least of (1.83), and not negative
    assert alpha[0] > 0.0
    printed, corrected = free - W @ N.T @ alpha, free + W @ N.T @ alpha
    assert N @ printed == pytest.approx(-2.0)
    assert N @ corrected == pytest.approx(0.0, abs=1e-12)


def test_the_contact_problem_of_staggered_projections_has_the_opposite_sign() -> None:
    """[Sueda, Eq. 2.113]: with - alpha^T N v, what enters is let through and what leaves is held.

    The normals are those of (1.76), out of the ground, and f_alpha = -N^T alpha / h.
    """
    W, N = np.diag((1.0, 2.0)), np.array([[0.6, 0.8]])
    compliance = (N @ W @ N.T)[0, 0]
    for speed, held in ((-1.0, True), (1.0, False)):
        v = speed * N[0]
        printed = max((N @ v)[0] / compliance, 0.0)
        corrected = max(-(N @ v)[0] / compliance, 0.0)
        after = v - W @ N[0] * printed
        assert N @ after == pytest.approx(speed if held else 0.0, abs=1e-12)
        after = v + W @ N[0] * corrected
        assert N @ after == pytest.approx(0.0 if held else speed, abs=1e-12)


def test_the_last_line_of_algorithm_8_has_the_rate_of_the_jacobian_twice() -> None:
    """[Sueda, Alg. 8, line 26]: J^T f_alpha of (2.117) is -J^T M Jdot qdot, which f_r has already.

    With h Jdot qdot in the constrained velocity, J^T f_alpha is zero, as work of joints has to be.
    """
    a, b, rates, mass, h = 0.3, 1.1, np.array((2.0, -5.0)), 3.0, 0.01

    def place(q: np.ndarray) -> np.ndarray:
        return np.array((np.cos(q[0]) + np.cos(q[1]), np.sin(q[0]) + np.sin(q[1])))

    def jacobian(q: np.ndarray) -> np.ndarray:
        return np.column_stack([(place(q + e) - place(q - e)) / 2e-5 for e in 1e-5 * np.eye(2)])

    q = np.array((a, b))
    J = jacobian(q)
    bias = (jacobian(q + 1e-5 * rates) - jacobian(q - 1e-5 * rates)) @ rates / 2e-5
    M, force = mass * np.eye(2), np.array((0.7, -0.4))
    Mr = J.T @ M @ J
    free = J @ rates + h * np.linalg.solve(M, force)
    own = rates + h * np.linalg.solve(Mr, J.T @ (force - M @ bias))
    printed = M @ (J @ own - free) / h
    corrected = M @ (J @ own + h * bias - free) / h
    np.testing.assert_allclose(J.T @ printed, -J.T @ M @ bias, rtol=0, atol=1e-4)
    assert np.abs(J.T @ printed).max() > 10.0
    np.testing.assert_allclose(J.T @ corrected, 0.0, atol=1e-4)


def test_the_stiffness_between_points_has_the_opposite_sign() -> None:
    """[Sueda, Eq. 1.37] is minus the derivative of (1.35), with angular parts first."""
    rng = np.random.default_rng(5)
    E = [robosim.se3.exp(rng.normal(size=6)) for _ in range(2)]
    x1, x2 = rng.normal(size=(2, 3))

    def wrenches(E: list[np.ndarray]) -> np.ndarray:
        (R1, p1), (R2, p2) = ((F[:3, :3], F[:3, 3]) for F in E)
        dx = R2 @ x2 + p2 - R1 @ x1 - p1
        ends = ((x1, R1.T @ dx), (x2, -R2.T @ dx))
        return np.concatenate([np.concatenate((np.cross(x, f), f)) for x, f in ends])

    columns = []
    for body in range(2):
        for k in range(6):
            twist = 1e-6 * np.roll(np.eye(6)[k], 3)  # se3 has the linear part first
            sides = []
            for sign in (1, -1):
                moved = list(E)
                moved[body] = E[body] @ robosim.se3.exp(sign * twist)
                sides.append(wrenches(moved))
            columns.append((sides[0] - sides[1]) / 2e-6)
    (R1, p1), (R2, p2) = ((F[:3, :3], F[:3, 3]) for F in E)
    X1, X2, one = skew(x1), skew(x2), np.eye(3)
    across1, across2 = skew(R1.T @ (p1 - R2 @ x2 - p2)), skew(R2.T @ (p2 - R1 @ x1 - p1))
    lower1 = np.hstack((across1, one, R1.T @ R2 @ X2, -R1.T @ R2))
    lower2 = np.hstack((R2.T @ R1 @ X1, -R2.T @ R1, across2, one))
    printed = np.vstack((X1 @ lower1, lower1, X2 @ lower2, lower2))
    np.testing.assert_allclose(-printed, np.array(columns).T, rtol=0, atol=1e-8)


def test_the_third_condition_of_the_passive_curve_is_at_the_end_of_its_second_piece() -> None:
    """[Sueda, Eq. 1.41], third row: at 1.8 it gives other numbers than (1.42), at 1.7 these."""
    printed = (-2.76122280853939, 14.6587935048229, -23.0429533092186, 11.3749950550874)
    values, slopes = (0.126110265892917, 1.0), (1.07051016402631, 2.85714285714286)

    def second_piece(x: float) -> np.ndarray:
        """By value and slope at 1.3, value at x and slope at 1.7."""
        rows = [(t**3, t * t, t, 1.0) for t in (1.3, x)]
        rows += [(3 * t * t, 2 * t, 1.0, 0.0) for t in (1.3, 1.7)]
        return np.linalg.solve(rows, (*values, *slopes))

    np.testing.assert_allclose(second_piece(1.7), printed, rtol=1e-10)
    assert np.abs(second_piece(1.8) - printed).max() > 1


OF_MUSCLE = HillMuscle(50.0, 0.9, 0.3, 8.0)
ACTIVATION = 0.6


class MuscleBetweenPoints:
    """[Sueda, Eqs. 1.38 to 1.56], angular parts first, with what the printed terms are made of."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.E = [robosim.se3.exp(0.5 * rng.normal(size=6)) for _ in range(2)]
        self.E[1][:3, 3] += (1.3, 0, 0)
        self.phi = rng.normal(size=(2, 6))
        self.x = 0.2 * rng.normal(size=(2, 3))

    def motions(self, E: list[np.ndarray]) -> list[np.ndarray]:
        """R Gamma (3, 6) of both points."""
        ends = zip(E, self.x, strict=True)
        return [F[:3, :3] @ np.hstack((skew(x).T, np.eye(3))) for F, x in ends]

    def across(self, E: list[np.ndarray]) -> np.ndarray:
        first, second = (F[:3, :3] @ x + F[:3, 3] for F, x in zip(E, self.x, strict=True))
        return np.asarray(second - first)

    def law(self, E: list[np.ndarray], phi: np.ndarray) -> tuple[float, float, float]:
        """Tension, and its slopes by the length and by its rate."""
        dx, (M1, M2) = self.across(E), self.motions(E)
        length = float(np.linalg.norm(dx))
        rate = float(dx @ (M2 @ phi[1] - M1 @ phi[0])) / length
        pull, stiffness, damping = OF_MUSCLE.law(ACTIVATION, length, rate)
        return -pull, -stiffness, -damping

    def pulled(self, E: list[np.ndarray]) -> np.ndarray:
        """(Gamma_1^T R_1^T dx; -Gamma_2^T R_2^T dx)."""
        dx, (M1, M2) = self.across(E), self.motions(E)
        return np.concatenate((M1.T @ dx, -M2.T @ dx))

    def wrenches(self, E: list[np.ndarray], phi: np.ndarray) -> np.ndarray:
        """(1.39)"""
        return self.law(E, phi)[0] / np.linalg.norm(self.across(E)) * self.pulled(E)

    def row(self, d: np.ndarray) -> np.ndarray:
        """(d^T R_1 Gamma_1, -d^T R_2 Gamma_2)."""
        M1, M2 = self.motions(self.E)
        return np.concatenate((d @ M1, -d @ M2))

    def stiffness(self, phi: np.ndarray) -> np.ndarray:
        """df/dq by differences."""

        def moved(body: int, step: np.ndarray) -> np.ndarray:
            E = list(self.E)
            E[body] = E[body] @ robosim.se3.exp(np.roll(step, 3))
            return self.wrenches(E, phi)

        steps = [(body, 1e-6 * e) for body in range(2) for e in np.eye(6)]
        return np.array([(moved(b, s) - moved(b, -s)) / 2e-6 for b, s in steps]).T

    def printed_K2(self, phi: np.ndarray) -> np.ndarray:
        """(1.51): the matrix of (1.37) over the length, times the tension."""
        (R1, p1), (R2, p2) = ((F[:3, :3], F[:3, 3]) for F in self.E)
        x1, x2 = self.x
        across1, across2 = skew(R1.T @ (p1 - R2 @ x2 - p2)), skew(R2.T @ (p2 - R1 @ x1 - p1))
        lower1 = np.hstack((across1, np.eye(3), R1.T @ R2 @ skew(x2), -R1.T @ R2))
        lower2 = np.hstack((R2.T @ R1 @ skew(x1), -R2.T @ R1, across2, np.eye(3)))
        matrix = np.vstack((skew(x1) @ lower1, lower1, skew(x2) @ lower2, lower2))
        return self.law(self.E, phi)[0] / np.linalg.norm(self.across(self.E)) * matrix

    def printed_K1(self, phi: np.ndarray) -> np.ndarray:
        """(1.52), (1.53)"""
        dx, (f, slope, _) = self.across(self.E), self.law(self.E, phi)
        length = np.linalg.norm(dx)
        return np.outer(self.pulled(self.E), self.row((f / length - slope) / length**2 * dx))


@pytest.mark.parametrize("seed", range(3))
def test_the_stiffness_of_a_muscle_is_k1_less_k2(seed: int) -> None:
    """[Sueda, Eq. 1.50]; in motion it leaves out what poses change of the muscle's rate."""
    case = MuscleBetweenPoints(seed)
    still = np.zeros((2, 6))
    found, K1, K2 = case.stiffness(still), case.printed_K1(still), case.printed_K2(still)
    scale = np.abs(found).max()
    np.testing.assert_allclose(K1 - K2, found, rtol=0, atol=1e-7 * scale)
    assert np.abs(K1 + K2 - found).max() > 0.01 * scale
    moving = case.printed_K1(case.phi) - case.printed_K2(case.phi)
    assert np.abs(moving - case.stiffness(case.phi)).max() > 1e-3 * scale


@pytest.mark.parametrize("seed", range(3))
def test_the_damping_of_a_muscle_has_the_value_of_the_active_curve(seed: int) -> None:
    """[Sueda, Eq. 1.56]: with f_L, not f_L', and then it is df/dphi, which is -D."""
    case = MuscleBetweenPoints(seed)
    case.phi *= 0.2  # within the curve of the rate
    steps = [1e-6 * e.reshape(2, 6) for e in np.eye(12)]
    found = np.array(
        [
            (case.wrenches(case.E, case.phi + s) - case.wrenches(case.E, case.phi - s)) / 2e-6
            for s in steps
        ]
    ).T
    dx = case.across(case.E)
    x = (np.linalg.norm(dx) - OF_MUSCLE.tendon_length) / OF_MUSCLE.optimal_length
    (f_L, slope_L), length = OF_MUSCLE.active.at(float(x)), np.linalg.norm(dx)
    M1, M2 = case.motions(case.E)
    fastest = OF_MUSCLE.optimal_length * OF_MUSCLE.fastest
    rate = dx @ (M2 @ case.phi[1] - M1 @ case.phi[0]) / length
    _, slope_V = OF_MUSCLE.rate.at(float(rate / fastest))
    d = -OF_MUSCLE.force * ACTIVATION * slope_V / (fastest * length**2) * dx
    pulled = case.pulled(case.E)
    np.testing.assert_allclose(
        np.outer(pulled, case.row(f_L * d)), found, rtol=0, atol=1e-7 * np.abs(found).max()
    )
    printed = np.outer(pulled, case.row(slope_L * d))
    assert np.abs(printed - found).max() > 0.1 * np.abs(found).max()


def pads_under_a_load() -> tuple[np.ndarray, np.ndarray]:
    """N (m, 6) of the pads of a hinge, in axes of its child, and a wrench that they carry."""
    pads = pads_of(Bearing(0.1, 0.5, 1.0), "revolute", (0, 0, 1))
    arms = np.cross(pads.points[list(pads.pad_of)], pads.normals)
    N = np.hstack((pads.normals, arms))
    return N, N.T @ np.random.default_rng(2).normal(size=len(N))


def test_multipliers_of_pads_have_the_opposite_sign() -> None:
    """[Sueda, Eq. 2.118]: f = -N^T alpha / h, so that alpha needs a minus sign."""
    N, wrench = pads_under_a_load()
    h, W = 0.01, np.diag((0.1, 0.1, 0.1, 0.5, 0.5, 0.5))
    printed = h * np.linalg.solve(N @ W @ N.T + 1e-9 * np.eye(len(N)), N @ W @ wrench)
    np.testing.assert_allclose(-N.T @ -printed / h, wrench, rtol=0, atol=1e-6)
    assert np.abs(-N.T @ printed / h - wrench).max() > 1.0


def test_multipliers_of_pads_have_either_sign() -> None:
    """[Sueda, Eq. 2.114]: pads do not come apart, so that half of the boxes would be empty."""
    N, wrench = pads_under_a_load()
    alpha = np.linalg.pinv(N.T) @ wrench
    assert alpha.min() < -0.1 * alpha.max()
    # A load along the radius alone presses two opposite pads alike, with either sign.
    radial = np.linalg.pinv(N.T) @ (1, 0, 0, 0, 0, 0)
    assert np.sort(radial)[[0, -1]] == pytest.approx((-0.25, 0.25))


def test_a_constrained_velocity_has_the_rate_of_the_jacobian() -> None:
    """[Sueda, Eq. 2.117]: without h Jdot qdot the reaction does not lead a body along its path.

    The second of two links in a plane at constant rates of both hinges, and without weight.
    """
    mass, rates = 3.0, np.array((2.0, -5.0))

    def place(t: float) -> tuple[np.ndarray, np.ndarray]:
        a, b = rates[0] * t + 0.3, rates.sum() * t + 1.1
        R = np.array(((np.cos(b), -np.sin(b)), (np.sin(b), np.cos(b))))
        return R, np.array((np.cos(a), np.sin(a))) + R @ (0.5, 0)

    def twist(t: float) -> np.ndarray:
        """J qdot of the second body, (omega, v) in its axes."""
        e = 1e-5
        v = (place(t + e)[1] - place(t - e)[1]) / (2 * e)
        return np.concatenate((rates.sum(keepdims=True), place(t)[0].T @ v))

    h, e = 1e-4, 1e-4
    R, phi = place(0.0)[0], twist(0.0)
    free = phi[1:] - h * phi[0] * np.array((-phi[2], phi[1]))  # of a force -m omega x v
    jacobian_rate = (twist(e) - twist(-e)) / (2 * e)  # Jdot qdot, as rates are constant
    acceleration = (place(e)[1] - 2 * place(0.0)[1] + place(-e)[1]) / e**2
    exact = mass * R.T @ acceleration
    printed = mass * (phi[1:] - free) / h
    corrected = mass * (phi[1:] + h * jacobian_rate[1:] - free) / h
    np.testing.assert_allclose(corrected, exact, rtol=0, atol=1e-5 * np.abs(exact).max())
    assert np.abs(printed - exact).max() > 0.1 * np.abs(exact).max()
