"""Rollouts in PyTorch and JAX: their own checks of gradients, and the same numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import BatchSimulation, OptionError, Simulation, load
from robosim.gradients import Horizon
from robosim.models.builders import chain, double_four_bar, pendulum

pytestmark = [pytest.mark.slow, pytest.mark.peer]

STEPS = 6


def damped(links):
    return replace(links, joints=tuple(replace(j, damping=0.05) for j in links.joints))


def of_pendulum():
    robot = damped(pendulum())
    return robot, np.array([[0.3], [1.0]]), np.array([[1.0], [-2.0]])


def of_four_bar():
    robot = double_four_bar(2.5)
    sim = Simulation(robot, 2e-3, tolerance=1e-12)
    sim.run(0.05)
    return robot, sim.q[None], sim.v[None]


def of_a1():
    robot = load("a1")
    q = np.array(robot.home)
    q[2] += 1.0
    return robot, q[None], 0.3 * np.random.default_rng(0).normal(size=(1, robot.nv))


@pytest.mark.parametrize("case", [of_pendulum, of_four_bar, of_a1])
def test_gradcheck(case):
    torch = pytest.importorskip("torch")
    from robosim.gradients.torch import rollout

    robot, q, v = case()
    batch = BatchSimulation(robot, len(q), 2e-3, tolerance=1e-12, threads=1)
    horizon = Horizon(batch, STEPS)
    given = {"q": q, "v": v}
    if robot.nu:
        given["torques"] = np.random.default_rng(1).normal(size=(len(q), STEPS, robot.nu))
    tensors = [torch.tensor(array, requires_grad=True) for array in given.values()]

    def motion(*inputs):
        return rollout(horizon, **dict(zip(given, inputs, strict=True)))

    assert torch.autograd.gradcheck(
        motion, tensors, eps=1e-6, atol=1e-6, rtol=1e-5, fast_mode=robot.nv > 6
    )


def test_tensors_of_another_kind_are_refused():
    torch = pytest.importorskip("torch")
    from robosim.gradients.torch import rollout

    batch = BatchSimulation(damped(pendulum()), 1, 2e-3, threads=1)
    with pytest.raises(OptionError, match="float64"):
        rollout(Horizon(batch, 2), q=torch.zeros(1, dtype=torch.float32))


def test_jax_has_the_same_gradients():
    jax = pytest.importorskip("jax")
    from robosim.gradients.jax import rollout

    robot = damped(chain(2))
    batch = BatchSimulation(robot, 2, 2e-3, tolerance=1e-13, threads=1)
    horizon = Horizon(batch, STEPS, parameters=("mass:link1",))
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(OptionError, match="jax_enable_x64"):
        rollout(horizon)
    jax.config.update("jax_enable_x64", True)
    try:
        rng = np.random.default_rng(2)
        inputs = {
            "q": rng.normal(size=(2, 2)),
            "v": rng.normal(size=2),
            "torques": rng.normal(size=(STEPS, 2)),
            "parameters": np.array([1.2]),
        }
        take = rollout(horizon)

        def total(given):
            q, v = take(given)
            return (q**2).sum() + v[:, -1].sum()

        value, found = jax.jit(jax.value_and_grad(total))(inputs)
        run = horizon.run(inputs)
        dv = np.zeros(run.v.shape)
        dv[:, -1] = 1.0
        expected = horizon.back(run, inputs, 2.0 * run.q, dv)
        assert value == pytest.approx((run.q**2).sum() + run.v[:, -1].sum(), rel=1e-12)
        for name in inputs:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12)
    finally:
        jax.config.update("jax_enable_x64", before)
