"""Derivatives of a step beside the step, MuJoCo's differences and Pinocchio's derivatives.

MuJoCo's robot has no actuators here, and so fewer columns to compute than robosim's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import robosim
from robosim.batch import BatchSimulation
from robosim.bench import others
from robosim.bench.case import Case, Setup
from robosim.bench.measure import Contender, ours, race
from robosim.bench.recursive import States, Theirs
from robosim.bench.report import OURS, Report, Row
from robosim.linearization.linearization import MaximalLinearizer, linearize
from robosim.measuring.runs import exponent
from robosim.measuring.target import Target
from robosim.models.builders import chain
from robosim.peers.mujoco_run import MuJoCoRun, Settings
from robosim.simulation import Simulation

STEPS, CENTRED, FORWARD = 12.0, 10.0, 5.0  # most of robosim's step; least of MuJoCo's
EPSILON = 1e-6  # of MuJoCo's differences
OVER_PINOCCHIO = 4.0  # most of computeABADerivatives' time, without contacts
SLOPE = 2.0  # p of n^p for chains of n links, +- 0.2


def run_linearize(setup: Setup) -> Report:
    """The A1 on its feet, and a chain of hinges without contacts."""
    rows: list[Row] = list(setup.missing("mujoco", "pinocchio"))
    targets: list[Target] = []
    calls = setup.choose(200, 40)
    standing = Simulation(robosim.load("a1"))
    standing.run(0.2, "stand")
    free = chain(10)
    swinging = Simulation(free)
    swinging.set_state(np.linspace(0.1, 1.0, free.nq), np.ones(free.nv))
    for told, sim in (("A1 standing", standing), ("10 hinges", swinging)):
        setup.note(told)
        rows += _race(told, sim, calls, setup, targets)
    rows += _batches(standing, setup)
    rows += _growth(setup, targets)
    return Report(tuple(rows), tuple(targets))


def _batches(sim: Simulation, setup: Setup) -> tuple[Row, ...]:
    """One call for many states, by the number of threads; times are per state."""
    n = setup.choose(256, 16)
    field = []
    for threads in (1, 2):
        batch = BatchSimulation(sim.robot, n, sim.timestep, threads=threads)
        for k in range(n):
            batch[k].set_state(sim.q, sim.v)
        linearize(batch, sim.torques)
        told = f"A1 standing: linearize {n} states, {threads} thread{'s' * (threads > 1)}"
        call = partial(linearize, batch, sim.torques)
        field.append(Contender(OURS, told, n, _repeated(1, call)))
    return race(field, setup.repetitions)


def _growth(setup: Setup, targets: list[Target]) -> tuple[Row, ...]:
    """Chains of hinges, with Pinocchio's derivatives of accelerations beside these."""
    counts = setup.choose((10, 25, 50, 100, 200), (5, 10))
    field, sizes, beside = [], [], {}
    for n in counts:
        setup.note(f"{n} hinges")
        robot = chain(n)
        q, v = np.linspace(0.1, 1.0, n), np.ones(n)
        sim = Simulation(robot)
        sim.set_state(q, v)
        inner = MaximalLinearizer(sim, None, (), False)
        inner.at(sim, None, None)
        calls = max(2, 2000 // n**2)
        field.append(
            Contender(
                OURS, "linearize, compiled part", calls, _repeated(calls, inner.repeat), size=n
            )
        )
        sizes.append(len(field) - 1)
        if setup.has("pinocchio"):
            theirs = Theirs(robot, others.urdf(robot))
            states = theirs.converted(States(*(x[None] for x in (q, v, np.ones(n)))))
            call = theirs.single("aba derivatives", states)
            more = 20 * calls
            beside[len(field) - 1] = len(field)
            field.append(
                Contender("Pinocchio", "computeABADerivatives", more, _repeated(more, call), size=n)
            )
    raced = race(field, setup.repetitions)
    us = [row.timing.median if row.timing else np.nan for row in raced]
    long = [k for k in sizes if raced[k].size >= setup.choose(25, 5)]
    slope = exponent([raced[k].size for k in long], [us[k] for k in long])
    for name, size, at_least in (("least", SLOPE - 0.2, True), ("most", SLOPE + 0.2, False)):
        what = (
            f"linearize, chains of {raced[long[0]].size} to {counts[-1]} links: p of n^p, at {name}"
        )
        targets.append(Target(what, slope, size, at_least=at_least))
    for own, theirs_at in beside.items():
        what = f"linearize, {raced[own].size} hinges, compiled part, over computeABADerivatives"
        targets.append(Target(what, us[own] / us[theirs_at], OVER_PINOCCHIO))
    return raced


def _race(
    told: str, sim: Simulation, calls: int, setup: Setup, targets: list[Target]
) -> tuple[Row, ...]:
    linearize(sim)
    inner = MaximalLinearizer(sim, None, (), False)
    inner.at(sim, None, None)
    field = [
        ours(sim, "stand" if sim.robot.contacts else None, 500, told=f"{told}: a step"),
        Contender(OURS, f"{told}: linearize", calls, _repeated(calls, partial(linearize, sim))),
        Contender(OURS, f"{told}: its compiled part", calls, _repeated(calls, inner.repeat)),
    ]
    if setup.has("mujoco"):
        field += [_differences(sim, told, calls, centred) for centred in (True, False)]
        field.append(_mujoco_step(sim, told))
    raced = race(field, setup.repetitions)
    us = [row.timing.median if row.timing else np.nan for row in raced]
    figures = [{}, {"times a step": us[1] / us[0]}, {"times a step": us[2] / us[0]}]
    if setup.has("mujoco"):
        figures += [{"times robosim's": us[3] / us[1]}, {"times robosim's": us[4] / us[1]}, {}]
    if sim.robot.contacts:
        targets.append(Target(f"{told}: linearize over a step", us[1] / us[0], STEPS))
        if setup.has("mujoco"):
            for k, least, how in ((3, CENTRED, "centred"), (4, FORWARD, "forward")):
                name = f"{told}: mjd_transitionFD, {how}, over linearize"
                targets.append(Target(name, us[k] / us[1], least, at_least=True))
    return tuple(
        replace(row, figures={**row.figures, **more})
        for row, more in zip(raced, figures, strict=True)
    )


def _repeated(calls: int, what: Callable[[], Any]) -> Callable[[], bool]:
    def run() -> bool:
        for _ in range(calls):
            what()
        return True

    return run


def _differences(sim: Simulation, told: str, calls: int, centred: bool) -> Contender:
    """MuJoCo's mjd_transitionFD for the same robot in the same state."""
    import mujoco

    peer = _peer(sim)
    model, data = peer.model, peer.data
    nv, nu = model.nv, model.nu
    A, B = np.zeros((2 * nv, 2 * nv)), np.zeros((2 * nv, nu))

    def call() -> None:
        mujoco.mjd_transitionFD(model, data, EPSILON, centred, A, B if nu else None, None, None)

    how = "centred" if centred else "forward"
    return Contender("MuJoCo", f"{told}: mjd_transitionFD, {how}", calls, _repeated(calls, call))


def _mujoco_step(sim: Simulation, told: str) -> Contender:
    import mujoco

    peer = _peer(sim)
    start = partial(peer.set_state, sim.q, sim.v)
    step = partial(mujoco.mj_step, peer.model, peer.data)
    return Contender("MuJoCo", f"{told}: a step", 200, _repeated(200, step), start)


def _peer(sim: Simulation) -> MuJoCoRun:
    peer = MuJoCoRun(sim.robot, sim.timestep, Settings())
    peer.set_state(sim.q, sim.v)
    return peer


CASES = (
    Case(
        "linearize",
        "a step to first order, beside MuJoCo's differences and Pinocchio's derivatives",
        ("mujoco", "pinocchio"),
        run_linearize,
    ),
)
