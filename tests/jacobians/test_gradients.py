"""Gradients through rollouts beside central differences of the same rollouts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import (
    BatchSimulation,
    ControllerError,
    ConvergenceError,
    Mechanism,
    OptionError,
    Simulation,
    load,
)
from robosim.controllers import PD
from robosim.gradients import Horizon
from robosim.linearization.linearization import MaximalLinearizer
from robosim.linearization.parameters import parameter
from robosim.models.builders import chain, double_four_bar
from robosim.runtime.adjoint import Backward

pytestmark = pytest.mark.slow

T = 12  # steps


def damped(damping: float = 0.05) -> Mechanism:
    links = chain(2)
    return replace(links, joints=tuple(replace(j, damping=damping) for j in links.joints))


def check(horizon, inputs, step, within, seed=0, directions=2):
    """All gradients of a random sum, along random directions."""
    rng = np.random.default_rng(seed)
    run = horizon.run(inputs)
    dq, dv = rng.normal(size=run.q.shape), rng.normal(size=run.v.shape)
    found = horizon.back(run, inputs, dq, dv)

    def total(given):
        at = horizon.run(given)
        return (at.q * dq).sum() + (at.v * dv).sum()

    for name, value in inputs.items():
        for _ in range(directions):
            along = rng.normal(size=np.shape(value))
            ends = [total({**inputs, name: value + way * step * along}) for way in (1, -1)]
            expected = (ends[0] - ends[1]) / (2 * step)
            size = np.linalg.norm(found[name]) * np.linalg.norm(along)
            rounding = 1e-14 * max(map(abs, ends)) / step
            assert abs((found[name] * along).sum() - expected) < within * size + rounding, name
    return run, dq, dv


@pytest.mark.parametrize("mode", ["torques", "held", "implicit"])
def test_two_links_with_a_pd(mode):
    """By all that a rollout follows from; one motor is at its limit, and falls with its speed."""
    robot, rng, n = damped(), np.random.default_rng(1), 2
    pd = PD(robot, [0.5, -0.5], [4, 3], [0.1, 0.2], limit=[1, 50], speed=[20, 90],
            implicit=mode == "implicit")  # fmt: skip
    batch = BatchSimulation(robot, n, 2e-3, tolerance=1e-13, threads=1)
    names = ("mass:link1", "damping:joint2", "centre:link2:z", "inertia:link2:xx")
    values = [parameter(robot, name)[0] for name in names]
    inputs = {
        "q": rng.normal(size=(n, 2)),
        "v": rng.normal(size=(n, 2)),
        "torques": rng.normal(size=(T, 2)),
        "parameters": np.array(values) + 0.01 * rng.uniform(size=(n, 4)),
    }
    if mode != "torques":
        inputs["targets"] = rng.normal(size=(n, T, 2))
        inputs["kp"], inputs["kd"] = np.array([4.0, 3.0]), rng.uniform(0.1, 0.2, size=(n, 2))
    horizon = Horizon(batch, T, None if mode == "torques" else pd, names)
    run, dq, dv = check(horizon, inputs, 1e-5, 1e-7)
    back = run.vjp(dq, dv, parameters=names, gains=True)
    assert back.notes == ()
    gains = [] if mode == "torques" else [("kp", 0), ("kd", 1)]
    forwards = run.sensitivities(names, gains=gains).knots
    sums = np.einsum("nkx,nkxm->nm", np.concatenate((dq, dv), axis=2), forwards)
    columns = [back.q, back.v, back.parameters]
    columns += [getattr(back, name)[:, [joint]] for name, joint in gains]
    np.testing.assert_allclose(sums, np.hstack(columns), rtol=1e-9, atol=1e-12)


def test_without_contacts_a_tape_changes_nothing():
    robot = damped()
    batch = BatchSimulation(robot, 1, 2e-3, tolerance=1e-13, threads=1)
    runs = []
    for tape in (False, True, "carried"):
        batch.set_state([0.3, 0.4], [1.0, -2.0])
        runs.append(batch.rollout(40, [0.1, 0.2], tape=tape))
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(runs[0].v, runs[1].v, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(runs[0].q, runs[2].q)
    dv = np.ones(runs[0].v.shape)
    found = [run.vjp(None, dv) for run in runs[1:]]
    np.testing.assert_allclose(found[0].torques, found[1].torques, rtol=1e-7)


def test_a_linkage_whose_starts_are_projected():
    """Starts beside the loops are closed, and gradients know how these answer."""
    robot = double_four_bar(2.5)
    batch = BatchSimulation(robot, 1, 2e-3, tolerance=1e-12, threads=1)
    sim = Simulation(robot, 2e-3, tolerance=1e-12)
    sim.run(0.05)
    check(Horizon(batch, T), {"q": sim.q[None], "v": sim.v[None]}, 1e-5, 1e-6)


def test_the_a1_in_the_air():
    robot, rng = load("a1"), np.random.default_rng(3)
    batch = BatchSimulation(robot, 1, 1e-3, tolerance=1e-12, threads=1)
    q = np.array(robot.home)
    q[2] += 1.0
    inputs = {
        "q": q[None],
        "v": 0.3 * rng.normal(size=(1, robot.nv)),
        "torques": rng.normal(size=(T, robot.nu)),
        "parameters": np.array([6.0]),
    }
    run, dq, dv = check(Horizon(batch, T, parameters=("mass:trunk",)), inputs, 1e-5, 1e-7)
    assert run.tape.nbytes < 1000 * T
    assert run.vjp(dq, dv).notes == ()


def standing(contact_speed):
    robot = load("a1")
    sim = Simulation(robot, 1e-3, contact_speed=contact_speed)
    sim.run(0.2, "stand")
    return robot, sim.q.copy(), sim.v.copy(), sim.torques[robot.actuated]


def test_the_a1_on_its_feet():
    """With differences as short as feet at rest allow, whose gaps are 1e-6 m."""
    robot, q, v, tau = standing(1e-3)
    batch = BatchSimulation(robot, 1, 1e-3, tolerance=1e-12, threads=1, contact_speed=1e-3)
    rng = np.random.default_rng(4)
    inputs = {"q": q[None], "v": v[None], "torques": tau + 0.1 * rng.normal(size=(T, robot.nu))}
    check(Horizon(batch, T), inputs, 1e-7, 1e-5)
    inputs["parameters"] = np.array([6.0, 0.8])
    del inputs["q"], inputs["v"]
    start = {"q": q[None], "v": v[None]}
    horizon = Horizon(batch, T, parameters=("mass:trunk", "friction:FR_foot"))
    run = horizon.run({**start, **inputs})
    dv = rng.normal(size=run.v.shape)
    found = horizon.back(run, {**start, **inputs}, None, dv)["parameters"]
    for k, step in enumerate((1e-3, 1e-3)):
        ends = []
        for way in (1, -1):
            values = inputs["parameters"] + way * step * np.eye(2)[k]
            ends.append((horizon.run({**start, **inputs, "parameters": values}).v * dv).sum())
        assert found[k] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-3, abs=1e-6)


def test_contacts_that_change_are_told():
    """The A1 is let fall by 2 mm: its feet touch during the horizon."""
    robot, q, v, tau = standing(1e-4)
    batch = BatchSimulation(robot, 1, 1e-3, threads=1, contact_speed=1e-4)
    q[2] += 2e-3
    batch.set_state(q, v)
    run = batch.rollout(40, tau, tape=True)
    dv = np.zeros(run.v.shape)
    dv[:, -1, 2] = 1.0
    found = run.vjp(None, dv)
    assert found.changes.any()
    assert "contact_speed=" in found.notes[0]
    assert f"{np.flatnonzero(found.changes[0])[0]}" in found.notes[0]
    smooth = run.vjp(None, dv, contact_speed=0.1)
    assert np.isfinite(smooth.v).all()
    assert not np.allclose(smooth.v, found.v, rtol=1e-3)


def test_steps_without_derivatives_have_those_of_smoother_contacts(monkeypatch):
    """They are told, and only they are smoothed."""
    robot = load("a1")
    batch = BatchSimulation(robot, 1, 2e-3, threads=1)
    batch.set_state(robot.home)
    run = batch.rollout(3, np.zeros((1, 12)), tape=True)
    dq = np.zeros((1, 4, robot.nv))
    dq[:, 3] = 1.0
    hard, smooth = run.vjp(dq), run.vjp(dq, contact_speed=1e-9)
    of_given, take = MaximalLinearizer.of_given, Backward.take

    def leaves_the_last(self, rows, arc):
        n = rows.values.many[0]
        return n if n == 3 else take(self, rows, arc)

    def fails(self, given):
        found = of_given(self, given)
        if self.contact_speed < 1e-9:
            found[-1] = ConvergenceError(0.0, 1e-12, 9, 1, "trunk", "")
        return found

    monkeypatch.setattr(Backward, "take", leaves_the_last)
    monkeypatch.setattr(MaximalLinearizer, "of_given", fails)
    found = run.vjp(dq)
    assert hard.smoothed.sum() == 0
    np.testing.assert_array_equal(found.smoothed, [[False, False, True]])
    assert any("smoothed for the derivatives of steps 2" in note for note in found.notes)
    np.testing.assert_allclose(found.torques[:, 2], smooth.torques[:, 2], rtol=1e-9)
    np.testing.assert_allclose(found.torques, hard.torques, rtol=1e-3, atol=1e-6)


def test_wrong_input():
    robot = damped()
    batch = BatchSimulation(robot, 2, 2e-3, threads=1)
    with pytest.raises(OptionError, match="every"):
        batch.rollout(4, every=2, tape=True)
    with pytest.raises(OptionError, match="not 'yes'"):
        batch.rollout(4, tape="yes")
    run = batch.rollout(4, tape=True)
    bad = np.zeros((2, 5, 2))
    bad[1, 3, 0] = np.nan
    with pytest.raises(OptionError, match="knot 3 of state 1"):
        run.vjp(bad)
    with pytest.raises(OptionError, match=r"\(2, 5, 2\), not \(2, 4, 2\)"):
        run.vjp(bad[:, :4])
    with pytest.raises(OptionError, match="no parameter 'mass:none'"):
        run.vjp(0 * np.nan_to_num(bad) + 1, parameters=("mass:none",))
    with pytest.raises(OptionError, match="no input 'torque'"):
        Horizon(batch, 4).run({"torque": np.zeros(2)})
    with pytest.raises(OptionError, match="'mass:none'"):
        Horizon(batch, 4, parameters=("mass:none",))
    with pytest.raises(OptionError, match="takes a BatchSimulation"):
        Horizon(robot, 4)
    numba = pytest.importorskip("numba")

    @numba.njit
    def pushes(t, q, v, tau):
        tau[0] = 1.0

    with pytest.raises(ControllerError, match="jitted"):
        batch.rollout(4, controller=pushes, tape=True)
