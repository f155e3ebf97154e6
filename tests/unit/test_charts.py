"""Charts: poses, columns and their slopes; joints made of them; what is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from robosim import Body, Dynamics, Joint, Mechanism, Potential, Simulation, quaternions, se3
from robosim.errors import ModelError, StateError
from robosim.joints import (
    Chart,
    Composite,
    Euler,
    ExponentialBall,
    Hinge,
    Offset,
    Screw,
    Slide,
    SplineCurve,
    SplineSurface,
)
from robosim.kernels.compiler.jit import entry
from robosim.kernels.equations.chart_rows import change_rates
from robosim.kinematics.kinematics import Kinematics
from robosim.validation import Array

STEP = 1e-6
RNG = np.random.default_rng(5)


def frame(E: Array) -> Array:
    """(7,) of a transformation (4, 4)."""
    return np.concatenate((E[:3, 3], quaternions.from_matrix(E[:3, :3])))


def frames(twists: list[Array]) -> Array:
    return np.array([frame(se3.exp(twist)) for twist in twists])


SCATTERED = frames([0.5 * RNG.normal(size=6) for _ in range(7)])
BENT = 0.3 * RNG.normal(size=(5, 6, 6))
CHARTS = {
    "hinges": Composite(Hinge((1, 0, 0)), Hinge((0, 1, 0)), Slide((0, 0, 1))),
    "screw": Screw((1, 2, 3), 0.3),
    "xyz": Euler("xyz"),
    "xzx": Euler("xzx"),
    "ball": ExponentialBall(),
    "curve": SplineCurve(SCATTERED),
    "ring": SplineCurve(SCATTERED, periodic=True),
    "surface": SplineSurface(BENT),
    "many": Composite(
        Screw((1, 2, 0), 0.2),
        Offset((0.1, 0.2, 0.3), (0.6, 0.8, 0, 0)),
        SplineCurve(SCATTERED),
        Hinge((1, 1, 1)),
    ),
    "arm": Composite(Screw((1, 0, 2), 0.1), ExponentialBall(), Slide((0, 1, 0))),
}  # fmt: skip


def random_coordinates(chart: Chart, rng: np.random.Generator) -> Array:
    lower, upper = chart.limits()
    begin = np.where(np.isfinite(lower), lower, -1.5)
    end = np.where(np.isfinite(upper), upper, 1.5)
    return begin + (end - begin) * rng.random(chart.nv)


def twist_of(rate: Array) -> Array:
    """(6,) of a matrix (4, 4) that a bracket has made."""
    return np.array([*rate[:3, 3], rate[2, 1], rate[0, 2], rate[1, 0]])


@pytest.mark.parametrize("name", CHARTS)
def test_columns_and_their_slopes_are_derivatives(name: str) -> None:
    chart, rng = CHARTS[name], np.random.default_rng(7)
    for _ in range(4):
        q = random_coordinates(chart, rng)
        S, slopes, Q = chart.columns(q), chart.slopes(q), chart.pose(q)
        for k, unit in enumerate(STEP * np.eye(chart.nv)):
            change = (chart.pose(q + unit) - chart.pose(q - unit)) / (2 * STEP)
            np.testing.assert_allclose(S[:, k], twist_of(se3.inverse(Q) @ change), atol=1e-8)
            change = (chart.columns(q + unit) - chart.columns(q - unit)) / (2 * STEP)
            np.testing.assert_allclose(slopes[:, :, k], change, atol=1e-8)


def test_small_rotation_vectors_are_as_others() -> None:
    # The series begin at 0.1 rad^2: on both sides of it slopes go on as derivatives.
    ball = ExponentialBall()
    for length in (0.0, 1e-9, 1e-5, 0.1, np.sqrt(0.1) - 1e-9, np.sqrt(0.1) + 1e-9):
        q = length * np.array([0.48, 0.6, 0.64])
        for k, unit in enumerate(STEP * np.eye(3)):
            change = (ball.columns(q + unit) - ball.columns(q - unit)) / (2 * STEP)
            np.testing.assert_allclose(ball.slopes(q)[:, :, k], change, atol=1e-9)


def test_printed_columns() -> None:
    """[Sueda, Eqs. 2.31, 2.34, 2.37, 2.39], and rates of (2.35) and (2.40)."""
    q, v = RNG.normal(size=3), RNG.normal(size=3)
    (_, c2, c3), (_, s2, s3) = np.cos(q), np.sin(q)
    euler, universal = Euler("xzx"), Joint("u", "universal", None, "b").own_chart
    assert universal is not None
    np.testing.assert_allclose(euler.pose(q)[0, :3], [c2, -s2 * c3, s2 * s3], atol=1e-15)
    S = [[c2, 0, 1], [-c3 * s2, s3, 0], [s2 * s3, c3, 0]]
    np.testing.assert_allclose(euler.columns(q)[3:], S, atol=1e-15)
    rate = [
        [-s2 * v[1], 0, 0],
        [s3 * s2 * v[2] - c3 * c2 * v[1], c3 * v[2], 0],
        [c2 * s3 * v[1] + s2 * c3 * v[2], -s3 * v[2], 0],
    ]
    np.testing.assert_allclose((euler.slopes(q) @ v)[3:], rate, atol=1e-15)
    np.testing.assert_allclose(universal.columns(q[:2])[3:], [[c2, 0], [0, 1], [s2, 0]], atol=1e-15)
    rate = [[-s2 * v[1], 0], [0, 0], [c2 * v[1], 0]]
    np.testing.assert_allclose((universal.slopes(q[:2]) @ v[:2])[3:], rate, atol=1e-15)


def test_splines_of_even_controls() -> None:
    xi = 0.4 * RNG.normal(size=6)
    even = SplineCurve(frames([i * xi for i in range(6)]))
    for q in (0.0, 0.7, 1.0, 2.3, 3.0):
        np.testing.assert_allclose(even.pose([q]), se3.exp((q + 1) * xi), atol=1e-14)
        np.testing.assert_allclose(even.columns([q])[:, 0], xi, atol=1e-14)
    controls = np.zeros((5, 4, 6))
    controls[..., 0], controls[..., 1] = np.meshgrid(range(5), range(4), indexing="ij")
    np.testing.assert_allclose(
        SplineSurface(controls).pose([1.3, 0.4])[:3, 3], [2.3, 1.4, 0], atol=1e-14
    )


def test_a_periodic_curve_comes_back() -> None:
    ring = SplineCurve(SCATTERED, periodic=True)
    n = len(SCATTERED)
    for q in (0.3, n - 0.6):
        np.testing.assert_allclose(ring.pose([q + n]), ring.pose([q]), atol=1e-12)
        np.testing.assert_allclose(ring.pose([q - 3 * n]), ring.pose([q]), atol=1e-12)


def tree() -> Mechanism:
    """Bodies on joints of all charts, a hinge and a floating base."""
    rng = np.random.default_rng(3)

    def body(name: str) -> Body:
        A = rng.normal(size=(3, 3))
        return Body(name, rng.uniform(0.5, 2), 0.01 * A @ A.T + 0.02 * np.eye(3))

    def place() -> dict[str, Array]:
        turn = quaternions.from_matrix(se3.exp(rng.normal(size=6))[:3, :3])
        points = 0.3 * rng.normal(size=(2, 3))
        return {"parent_position": points[0], "child_position": points[1], "offset": turn}

    bodies = [body("base"), body("b0")]
    joints = [
        Joint("free", "floating", None, "base"),
        Joint("hinge", "revolute", "base", "b0", axis=rng.normal(size=3), **place()),
    ]
    for k, (name, chart) in enumerate(CHARTS.items()):
        bodies.append(body(f"b{k + 1}"))
        laws = {} if any(chart.changes) else {"armature": 0.01, "stiffness": 0.3, "damping": 0.1}
        parent = "b1" if name == "ball" else f"b{k}"
        joints.append(Joint(name, "composite", parent, f"b{k + 1}", chart=chart, **place(), **laws))
    bodies.append(body("end"))
    joints.append(Joint("last", "revolute", f"b{len(CHARTS)}", "end", **place()))
    return Mechanism("charts", bodies, joints)


@pytest.fixture(scope="module")
def moving() -> tuple[Dynamics, Array, Array, Array]:
    dynamics = Dynamics(tree())
    rng = np.random.default_rng(11)
    q = dynamics.random(2)
    for joint, begin in zip(dynamics.robot.tree_joints, dynamics.robot.q_offsets, strict=False):
        if joint.own_chart is not None:
            q[begin : begin + joint.nq] = random_coordinates(joint.own_chart, rng)
    return dynamics, q, rng.normal(size=dynamics.robot.nv), rng.normal(size=dynamics.robot.nv)


def test_dynamics_of_charts_are_those_of_their_bodies(
    moving: tuple[Dynamics, Array, Array, Array],
) -> None:
    dynamics, q, v, a = moving
    dense = Kinematics(dynamics.robot, q)
    J = dynamics.jacobian(q)
    np.testing.assert_allclose(J, dense.jacobian(), atol=1e-13)
    ahead = dynamics.jacobian(dynamics.integrate(q, STEP * v))
    behind = dynamics.jacobian(dynamics.integrate(q, -STEP * v))
    rate = dynamics.jacobian_rate(q, v)
    np.testing.assert_allclose(rate, (ahead - behind) / (2 * STEP), atol=2e-8)
    M = dense.mass_matrix()
    np.testing.assert_allclose(dynamics.mass_matrix(q), M, atol=1e-12)
    bias = dense.bias_forces(v)
    tau = dynamics.inverse_dynamics(q, v, a, passive=False)
    np.testing.assert_allclose(tau, M @ a + bias, atol=1e-11)
    np.testing.assert_allclose(
        dynamics.forward_acceleration(q, v, tau, passive=False), a, atol=1e-9
    )
    motion = dynamics.frame_acceleration(q, v, a, "end")
    np.testing.assert_allclose(motion, rate[-1] @ v + J[-1] @ a, atol=1e-11)
    momentum, matrix = dynamics.centroidal(q, v)
    np.testing.assert_allclose(matrix @ v, momentum, atol=1e-12)


def test_springs_of_charts_give_what_they_have_taken(
    moving: tuple[Dynamics, Array, Array, Array],
) -> None:
    dynamics, q, v, _ = moving
    still = np.zeros_like(v)
    taken = dynamics.energy(dynamics.integrate(q, STEP * v), still)
    taken -= dynamics.energy(dynamics.integrate(q, -STEP * v), still)
    force = dynamics.inverse_dynamics(q, still, still)
    assert taken / (2 * STEP) == pytest.approx(force @ v, abs=1e-6)


def slopes(f: Callable[[Array], Array], n: int) -> Array:
    """Derivatives of f by n numbers at 0: differences of fourth order."""
    h, units = 1e-4, np.eye(n)
    ends = [[f(k * h * unit) for k in (2, 1, -1, -2)] for unit in units]
    return np.stack([(8 * (b - c) - (a - d)) / (12 * h) for a, b, c, d in ends], axis=-1)


def of_largest(measured: Array, expected: Array, part: float) -> None:
    """Equal, in parts of the largest entry."""
    np.testing.assert_allclose(measured, expected, rtol=0, atol=part * np.abs(expected).max())


@pytest.mark.parametrize("size", [1.0, 0.1, 1e-9])
def test_derivatives_of_dynamics(moving: tuple[Dynamics, Array, Array, Array], size: float) -> None:
    """With rotation vectors of all sizes, whose series are others when they are small."""
    dynamics, q, v, a = moving
    q = q.copy()
    q[[name.startswith("ball") for name in dynamics.robot.q_names]] *= size

    def forces(q: Array, v: Array) -> Array:
        return dynamics.inverse_dynamics(q, v, a)

    n = dynamics.robot.nv
    by_q, by_v, M = dynamics.inverse_dynamics_derivatives(q, v, a)
    of_largest(by_q, slopes(lambda d: forces(dynamics.integrate(q, d), v), n), 1e-9)
    of_largest(by_v, slopes(lambda d: forces(q, v + d), n), 1e-9)
    of_largest(M, dynamics.mass_matrix(q), 1e-13)
    found = dynamics.forward_derivatives(q, v, forces(q, v))
    inverse = np.linalg.inv(M)
    for measured, expected in zip(found, (-inverse @ by_q, -inverse @ by_v, inverse), strict=True):
        of_largest(measured, expected, 1e-9)


def test_a_single_state_of_charts_is_its_row(moving: tuple[Dynamics, Array, Array, Array]) -> None:
    dynamics, q, v, a = moving
    for call in (dynamics.inverse_dynamics, dynamics.forward_acceleration):
        np.testing.assert_array_equal(call(q, v, a), call(q[None], v, a)[0])


BALL = {"chart": ExponentialBall()}
WRONG = {
    "no chart": ({"kind": "composite"}, "needs a chart"),
    "a chart of another": ({"kind": "revolute", "chart": Hinge()}, "takes no chart"),
    "pitch of a hinge": ({"kind": "revolute", "pitch": 1.0}, "takes no pitch"),
    "pitch nan": ({"kind": "screw", "pitch": np.nan}, "pitch must be a finite"),
    "beyond": ({"kind": "spline", "chart": CHARTS["curve"], "upper": 9.0}, "must lie on the spl"),
    "dependent": ({"kind": "composite", "chart": Composite(Hinge(), Hinge())}, "depend on each"),
    "nothing": ({"kind": "composite", "chart": Offset()}, "1 to 6 coordinates, not 0"),
    "spring": ({"kind": "composite", "stiffness": 1.0, **BALL}, "has stiffness along"),
    "limits": ({"kind": "composite", "lower": (-1, -1, -1), **BALL}, "has limits along"),
    "potentials": ({"kind": "universal", "potential": Potential((0, 1), (0, 1))}, "each of its 2"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_joints_are_refused_by_name(case: str) -> None:
    arguments, message = WRONG[case]
    with pytest.raises(ModelError, match=message):
        Joint(name="j", parent=None, child="b", **arguments)  # type: ignore[arg-type]


def test_wrong_charts_are_refused() -> None:
    bad = SCATTERED.copy()
    bad[2, 3:] *= 1.1
    for make, message in (
        (lambda: SplineCurve(SCATTERED[:3]), "n at least 4; not \\(3, 7\\)"),
        (lambda: SplineCurve(bad), "frame 2 is not rigid"),
        (lambda: SplineSurface(BENT[:3]), "n1 and n2 at least 4, not \\(3, 6, 6\\)"),
        (lambda: Euler("xxy"), "no two neighbours alike"),
        (lambda: Composite(Euler(), Euler(), Hinge()), "1 to 6 coordinates, not 7"),
        (lambda: Composite(Hinge(), "slide"), "made of charts"),
        (lambda: Hinge((0, 0, 0)), "other than zero"),
        (lambda: Slide("x"), "other than zero, not 'x'"),
        (lambda: Offset("x"), "must be numbers"),
    ):
        with pytest.raises(ModelError, match=message):
            make()


def test_joints_of_charts_can_be_replaced() -> None:
    screw = Joint("s", "screw", None, "b", pitch=0.1)
    other = dataclasses.replace(screw, axis=(1, 0, 0), pitch=0.2)
    assert other.own_chart is not None
    np.testing.assert_allclose(other.own_chart.columns([0.0])[:, 0], [0.2, 0, 0, 1, 0, 0])


def test_what_coordinates_are_called_and_measured_in() -> None:
    joints = [
        Joint("hip", "composite", None, "a", chart=CHARTS["hinges"]),
        Joint("knee", "spline", "a", "b", chart=CHARTS["curve"]),
    ]
    robot = Mechanism("m", [Body(n, 1.0, np.eye(3)) for n in "ab"], joints)
    assert robot.q_names == ("hip.q0", "hip.q1", "hip.q2", "knee")
    assert [joint.units for joint in joints] == [("rad", "rad", "m"), ("1",)]
    np.testing.assert_array_equal(joints[1].lower, [0.0])
    np.testing.assert_array_equal(joints[1].upper, [4.0])


@pytest.mark.parametrize(
    ("chart", "q", "message"),
    [
        (Euler("xyz"), [0.3, np.pi / 2, 0.1], "joint 'j'.*move it alike"),
        (ExponentialBall(), [0.0, 2 * np.pi, 0.0], "joint 'j'.*move it alike"),
        (SplineCurve(SCATTERED), [4.2], "joint 'j' is beyond the end.*from 0 to 4"),
    ],
)
def test_no_start_where_coordinates_do_not_tell(chart: Chart, q: list[float], message: str) -> None:
    robot = Mechanism(
        "m", [Body("b", 1.0, np.eye(3))], [Joint("j", "composite", None, "b", chart=chart)]
    )
    with pytest.raises(StateError, match=message):
        Simulation(robot).set_state(q)


@entry
def changed_rates(q, other, v):
    change_rates(q, other, v)


@pytest.mark.parametrize("length", [3.3, 4.0, 6.0])
def test_another_rotation_vector_turns_at_the_same_rate(length: float) -> None:
    """Differences of the rotation that both vectors stand for."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        q, rate = rng.normal(size=(2, 3))
        q *= length / np.linalg.norm(q)
        other = 1.0 - 2.0 * np.pi / length
        theirs = rate.copy()
        changed_rates(q, other, theirs)

        def turning(at: Array, by: Array) -> Array:
            ends = [quaternions.from_rotation_vector(at + h * by) for h in (STEP, -STEP)]
            return np.subtract(*map(quaternions.rotation_matrix, ends)) / (2.0 * STEP)

        np.testing.assert_allclose(turning(other * q, theirs), turning(q, rate), rtol=0, atol=1e-8)
