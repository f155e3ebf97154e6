"""Pinocchio's forward dynamics alone beside a whole time step of robosim."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import robosim
from robosim.bench import others
from robosim.bench.case import Case, Setup
from robosim.bench.chains import DT, our_errors
from robosim.bench.measure import ours, race
from robosim.bench.report import CLOSURE, OURS, PENETRATION, Report, Row
from robosim.control.controllers import stand
from robosim.measuring.starts import bent_start
from robosim.models.builders import chain
from robosim.simulation import Simulation


def run_aba(setup: Setup) -> Report:
    """The A1 standing and in free fall, and a chain of 100 hinges, each beside Pinocchio's aba."""
    rows: list[Row] = list(setup.missing("pinocchio"))
    steps = setup.choose(1000, 200)
    a1, links = robosim.load("a1"), chain(100)
    free = robosim.load("a1", ground=False)
    jobs = (
        ("A1 standing", a1, 1e-3, stand(a1), None),
        ("A1 in free fall", free, 1e-3, "zero", np.array(free.home)),
        ("100 hinges", links, DT, "zero", bent_start(links)),
    )
    for told, robot, timestep, controller, q in jobs:
        setup.note(told)
        sim = Simulation(robot, timestep=timestep)
        if q is None:
            log = sim.run(1.0, controller)
            errors = {PENETRATION: max(0.0, -log.gap.min()), CLOSURE: log.violation.max()}
            field = [ours(sim, controller, steps, told=f"{told}: a step", errors=errors)]
        else:
            sim.set_state(q)
            errors, figures, _ = our_errors(sim, steps, None)
            more: dict[str, Any] = {"errors": errors, "figures": figures}
            start = partial(sim.set_state, q)
            field = [ours(sim, controller, steps, start, told=f"{told}: a step", **more)]
        if setup.has("pinocchio"):
            text = others.urdf(robot)
            if robot.source is not None:
                text = Path(robot.source).read_text(encoding="utf-8")
            field.append(others.aba(robot, text, steps, told=f"{told}: "))
        raced = race(field, setup.repetitions)
        us = {row.who: row.timing.median for row in raced if row.timing}
        if "Pinocchio" in us:
            ratio = us[OURS] / us["Pinocchio"]
            first = replace(raced[0], figures={**raced[0].figures, "times aba": ratio})
            raced = (first, *raced[1:])
        rows += raced
    return Report(tuple(rows))


CASES = (
    Case(
        "aba",
        "Pinocchio's aba for the A1 and 100 hinges beside robosim's step",
        ("pinocchio",),
        run_aba,
    ),
)
