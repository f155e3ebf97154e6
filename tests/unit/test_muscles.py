"""Curves of muscles from their conditions, laws and their slopes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import Body, Joint, Mechanism, ModelError, Place
from robosim.actuators import Actuator, torques
from robosim.muscles import Activation, Curve, HillMuscle, Muscle

# As [Sueda] prints them: rows of pieces, columns of x^3, x^2, x and 1.
PASSIVE = [  # (1.42)
    (2.55305620081729, -7.02386028610914, 6.38855196976641, -1.91774788447456),
    (-2.76122280853939, 14.6587935048229, -23.0429533092186, 11.3749950550874),
]
ACTIVE = [  # (1.44)
    (-39.881247949014, 68.3443204612586, -35.5324573534802, 5.83029153632759),
    (-0.322674853252855, -1.71744046959073, 4.40290549894003, -1.36279017609645),
    (4.85118460831817, -20.9908796589089, 28.3080866793169, -11.2356843095252),
]
RATE = [  # (1.46)
    (0.915253473864379, 2.74576042159314, 2.74576042159314, 0.915253473864378),
    (-453.333333333333, -8.78048780487805, 5.0, 1.0),
    (0.266648649866, -0.799945949598001, 0.799945949598001, 1.133351350134),
]
HILL = HillMuscle(100.0, 0.1, 0.2, 10.0)
OF_MUJOCO = Muscle(100.0, (0.2, 0.5))


@pytest.mark.parametrize(
    ("curve", "printed"), [(HILL.passive, PASSIVE), (HILL.active, ACTIVE), (HILL.rate, RATE)]
)
def test_coefficients_follow_from_the_conditions(curve: Curve, printed: list[tuple]) -> None:
    np.testing.assert_allclose(curve.coefficients, printed, rtol=1e-12)


def test_a_curve_goes_on_straight() -> None:
    """Value and slope go on at each knot and beyond the ends, where the slope stays."""
    for curve in (HILL.active, HILL.rate, HILL.passive):
        for x in np.asarray(curve.knots):
            (below, before), (above, after) = curve.at(x - 1e-9), curve.at(x + 1e-9)
            assert below == pytest.approx(above, abs=1e-7)
            assert before == pytest.approx(after, abs=1e-5)
        last = float(np.asarray(curve.knots)[-1])
        value, slope = curve.at(last)
        assert curve.at(last + 2.0) == pytest.approx((value + 2.0 * slope, slope))
    assert HILL.passive.at(0.0) == (0.0, 0.0)
    assert HILL.passive(np.array([[2.7]]))[0, 0] == pytest.approx(1 + 2.85714285714286)


PULLING = Actuator("a", {"j": 1.0}, (2.0, 0.5, -0.3), (0.1, -3.0, -0.2))


@pytest.mark.parametrize("of", [HILL.law, OF_MUJOCO.law, PULLING.law])
def test_slopes_are_differences(of) -> None:  # type: ignore[no-untyped-def]
    """Away from the knots, at which only value and slope go on."""
    h = 1e-6
    for length, rate in ((0.26, -0.4), (0.31, -0.02), (0.345, 0.15), (0.42, 0.7), (0.6, -2.0)):
        for activation in (0.0, 0.7):
            _, stiffness, damping = of(activation, length, rate)
            up, down = (of(activation, length + s * h, rate)[0] for s in (1, -1))
            assert stiffness == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-6)
            up, down = (of(activation, length, rate + s * h)[0] for s in (1, -1))
            assert damping == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-6)


def test_an_actuator_that_gives_all_it_can_answers_nothing() -> None:
    limited = Actuator("a", {"j": 1.0}, force_range=(-50.0, 1.0), muscle=HILL)
    assert limited.law(1.0, 0.3, 0.0) == (-50.0, 0.0, 0.0)
    assert limited.law(0.1, 0.3, 0.0)[0] == pytest.approx(-10.0)
    assert limited.force(0.1, 0.3, 0.0) == limited.law(0.1, 0.3, 0.0)[0]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: HillMuscle(1.0, 0.0, 0.2, 10.0), "optimal_length must be positive, not 0"),
        (lambda: HillMuscle(1.0, -0.1, 0.2, 10.0), "optimal_length must be positive, not -0.1"),
        (lambda: HillMuscle(0.0, 0.1, 0.2, 10.0), "force must be positive"),
        (lambda: HillMuscle(1.0, 0.1, -0.2, 10.0), "tendon_length must be zero or more, not -0.2"),
        (lambda: HillMuscle(1.0, 0.1, 0.2, np.nan), "fastest must be finite"),
        (lambda: HillMuscle(1.0, 0.1, 0.2, 1.0, rate=np.sin), "rate must be a Curve"),  # type: ignore[arg-type]
        (lambda: Curve((0.0, 1.0, 1.0), np.zeros((2, 4))), r"increasing numbers, not \[0.0, 1.0"),
        (lambda: Curve((0.0, 1.0), np.zeros((2, 4))), "pieces must have shape"),
        (lambda: Curve.cubic((1.0, 0.0), {0.0: 1.0}), "increasing numbers"),
        (lambda: Curve.cubic((0.0, 1.0), {0.0: 1.0, 2.0: 0.0}), "from 0 to 1, not at 2"),
        (lambda: Curve.cubic((0.0, 1.0), {0.0: 1.0}), "must be 4, not 1"),
        (
            lambda: Curve.cubic((0.0, 1.0), {0.0: 0.0, 0.25: 0.0, 0.5: 0.0, 1.0: np.inf}),
            "conditions must be finite",
        ),
        (
            # Slopes alone leave the height open.
            lambda: Curve.cubic((0.0, 1.0), {}, {0.0: 0.0, 0.25: 1.0, 0.5: 0.0, 1.0: 0.0}),
            "do not determine the curve",
        ),
        (
            lambda: Actuator("a", {"j": 1.0, "k": 1.0}, implicit=True),
            r"actuator 'a'.*acts on \['j', 'k'\], but must act on one",
        ),
        (
            lambda: Actuator("a", {}, place=Place("b"), implicit=True),
            "actuator 'a'.*acts at a place, but must act on one",
        ),
    ],
)
def test_what_is_refused(make, told: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ModelError, match=told):
        make()


def hinge(**more) -> Mechanism:  # type: ignore[no-untyped-def]
    body = Body("b", 1.0, np.eye(3))
    return Mechanism("hinge", (body,), (Joint("j", "revolute", None, "b"),), **more)


def test_ranges_of_sums_and_implicit_forces_do_not_go_together() -> None:
    pulling = Actuator("a", {"j": 1.0}, implicit=True)
    with pytest.raises(ModelError, match=r"actuator 'a'.*effort_ranges.*of j"):
        hinge(actuators=(pulling,), effort_ranges={"j": (-1.0, 1.0)})


def test_torques_leave_out_what_is_part_of_the_step() -> None:
    """Unless they are asked for as well."""
    activation = Activation("muscle", (0.01, 0.04, 0.0), (0.0, 1.0))
    held = Actuator("held", {"j": 2.0})
    muscle = Actuator("muscle", {"j": 0.1}, activation=activation, muscle=HILL, implicit=True)
    robot = hinge(actuators=(held, muscle))
    state = (0.5, 0.9), np.array([3.0]), np.zeros(1)
    np.testing.assert_allclose(torques(robot, *state), [1.0])
    with_muscle = 1.0 + 0.1 * HILL.law(0.9, 0.3, 0.0)[0]
    np.testing.assert_allclose(torques(robot, *state, implicit=True), [with_muscle])
