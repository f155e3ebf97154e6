"""The scalable variational integrator and the roots of both schemes, as `lee-timing` times them."""

from __future__ import annotations

import numpy as np
import pytest
from joint_lagrangian import GRAVITY, Written, slopes
from random_mechanisms import random_tree

from robosim import MinimalSimulation, OptionError
from robosim.experiments.roots import METHODS, SCHEMES, Stepper
from robosim.models.builders import chain

DT = 0.02


def stepper(scheme: str, method: str, seed: int, **options: float) -> Stepper:
    """On a branched tree of hinges and slides, in motion."""
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 7, "revolute", ("revolute", "prismatic"))
    sim = MinimalSimulation(robot, DT, GRAVITY, **options)
    sim.set_state(rng.uniform(-1, 1, size=robot.nq), rng.normal(size=robot.nv))
    return Stepper(sim, scheme, method)


def midpoint(written: Written, x: np.ndarray) -> float:
    """L_d of SVI, between displacements x (2, nv) from the knot."""
    q, v = written.q + 0.5 * (x[0] + x[1]), (x[1] - x[0]) / DT
    return DT * (written.kinetic(q, v) - written.potential(q))


@pytest.mark.parametrize("method", ["Newton", "Broyden", "exact O(n)"])
def test_svi_against_the_discrete_lagrangian(method: str) -> None:
    """Its residual, the momenta that leave a step, and the exact direction."""
    one = stepper("SVI", method, 1, max_iterations=1, tolerance=1e-300)
    sim, work = one.sim, one.parts.work
    order = np.argsort(one.parts.model.segments["v"])
    written, p, first = Written(sim.robot, sim.q, DT), sim.p, work.x[1, order].copy()
    assert not one.take(1)
    dx = work.step.dx[order, 0]

    def expected(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        both = slopes(lambda x: midpoint(written, x), np.stack((0.0 * x, x)), 3e-3)
        return p + both[: len(x)], both[len(x) :]

    found, ends = expected(first + dx)
    scale = np.abs(p).max()
    np.testing.assert_allclose(work.residual[order, 0], found, rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(work.ends[order], ends, rtol=0, atol=1e-9 * scale)
    jacobian = slopes(lambda x: expected(x)[0], first, 3e-3)
    newton = np.linalg.solve(jacobian, -expected(first)[0])
    assert np.abs(newton).max() > 1e-4
    np.testing.assert_allclose(dx, newton, rtol=0, atol=1e-6 * np.abs(newton).max())


def test_roots_of_a_scheme_are_the_same_and_those_of_drnea_are_ours() -> None:
    ends = {}
    for scheme in SCHEMES:
        for method in METHODS:
            one = stepper(scheme, method, 3, tolerance=1e-12)
            assert one.take(20)
            ends[scheme, method] = one.sim.q
            assert one.iterations[0] >= 20
    ours = stepper("DRNEA", "Newton", 3, tolerance=1e-12).sim
    ours.run(20 * DT)
    apart = np.abs(ends["SVI", "Newton"] - ours.q).max()
    assert 1e-6 < apart < 0.1  # another scheme of second order
    for (scheme, _), q in ends.items():
        expected = ours.q if scheme == "DRNEA" else ends["SVI", "Newton"]
        np.testing.assert_allclose(q, expected, rtol=0, atol=1e-10)


def test_what_svi_does_not_take_is_refused() -> None:
    sim = MinimalSimulation(chain(2, "spherical"), DT)
    with pytest.raises(OptionError, match="one coordinate"):
        Stepper(sim, "SVI", "Newton")
