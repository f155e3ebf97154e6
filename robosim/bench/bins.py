"""Bins into which boxes fall: steps while these settle, and at rest."""

from __future__ import annotations

import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from robosim.bench.case import Case, Setup
from robosim.bench.measure import Contender, race
from robosim.bench.piles import bin_of
from robosim.bench.report import OURS, PENETRATION, Report, Row, paired
from robosim.description.mechanism import Mechanism
from robosim.errors import ConvergenceError
from robosim.loaders.writers import save
from robosim.measuring.target import Target
from robosim.peers.mujoco_run import quiet
from robosim.simulation import Simulation

DT = 2e-3
SETTLING, RESTING = "while they settle", "at rest"
SETTLE, REST = 2.0, 6.0  # [s] for which they settle, and after which they are at rest
ASLEEP, SLEEP = "asleep", 0.5  # [s] of rest, after which they sleep


def ours(
    pile: Mechanism, size: int, begin: float, seconds: float, told: str, sleep: float | None = None
) -> Contender:
    """robosim from some time on, in one call from Python."""
    sim = Simulation(pile, DT, sleep=sleep)
    sim.run(begin)
    start, steps = sim.copy(), round(seconds / DT)

    def run() -> bool:
        try:
            sim.run(steps * DT, every=steps)
        except ConvergenceError:
            return False
        return True

    log = sim.run(steps * DT)
    errors = {PENETRATION: max(0.0, -float(log.gap.min()))}
    iterations = {
        "iterations": float(log.iterations.mean()),
        "at most": float(log.iterations.max()),
        "contacts": float(len(sim.contacts())),
    }
    back = partial(sim.restore, start)
    return Contender(OURS, told, steps, run, back, errors=errors, size=size, figures=iterations)


def mujoco(
    pile: Mechanism, size: int, begin: float, seconds: float, told: str, elliptic: bool
) -> Contender:
    """MuJoCo from some time on, as written to a file, at its defaults or with the exact cone."""
    import mujoco as mj

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bin.xml"
        save(pile, file)
        model = mj.MjModel.from_xml_path(str(file))
    model.opt.timestep = DT
    if elliptic:
        model.opt.cone = mj.mjtCone.mjCONE_ELLIPTIC
    data: Any = mj.MjData(model)
    data.qpos[:] = pile.home
    steps = round(seconds / DT)
    with quiet(mj):
        mj.mj_step(model, data, nstep=round(begin / DT) or 1)
    size_of = mj.mjtState.mjSTATE_INTEGRATION
    start = np.zeros(mj.mj_stateSize(model, size_of))
    mj.mj_getState(model, data, start, size_of)

    def back() -> None:
        mj.mj_setState(model, data, start, size_of)

    def run() -> bool:
        with quiet(mj):
            mj.mj_step(model, data, nstep=steps)
        return bool(np.isfinite(data.qpos).all())

    run()
    errors = {PENETRATION: max(0.0, -float(data.contact.dist.min(initial=0.0)))}
    who = f"{told}, elliptic cone" if elliptic else told
    return Contender("MuJoCo", who, steps, run, back, errors=errors, size=size)


def run_bins(setup: Setup) -> Report:
    """Boxes of 0.1 m and 1 kg that fall into a bin, 2 s, and at rest after 6 s, dt 2 ms."""
    sizes = setup.choose((10, 20, 40, 80), (5,))
    settle, rest, seconds = setup.choose((SETTLE, REST, 0.4), (0.4, 2.0, 0.1))
    rows: list[Row] = list(setup.missing("mujoco"))
    targets = []
    for n in sizes:
        setup.note(f"a bin of {n} boxes")
        pile = bin_of(n, 0)
        for told, begin, length in ((SETTLING, 0.0, settle), (RESTING, rest, seconds)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of boxes that start in an overlap
                field = [ours(pile, n, begin, length, told)]
                if told == RESTING:
                    field.append(ours(pile, n, begin, length, ASLEEP, SLEEP))
            if setup.has("mujoco"):
                field += [mujoco(pile, n, begin, length, told, cone) for cone in (False, True)]
            found = race(field, setup.choose(3, 2))
            rows += found
            times = {row.told: row.timing.cpu for row in found[1:] if row.timing}
            exact = f"{told}, elliptic cone"
            if found[0].timing and exact in times:
                ratio = paired(found[0].timing.cpu, times[exact])
                targets.append(Target(f"{n} boxes {told}: robosim's time / MuJoCo's", ratio, 1.0))
    return Report(tuple(rows), tuple(targets), "boxes")


CASES = (Case("bins", "10 to 80 boxes that fall into a bin, dt 2 ms", ("mujoco",), run_bins),)
