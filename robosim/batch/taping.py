"""Rollouts with a tape, from which gradients are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robosim.batch.buffers import BatchBuffers
from robosim.batch.controls import Controls
from robosim.batch.rollout import Rollout
from robosim.batch.tape import Inputs, Tape, TapedRollout
from robosim.errors import ControllerError, ConvergenceError, OptionError
from robosim.simulation import Simulation


def check_taped(
    tape: bool | str, every: int, control: Controls, origin: Simulation, apart: bool
) -> None:
    """Raise an error for a rollout that cannot have gradients."""
    if tape not in (True, "carried"):
        raise OptionError(f"tape must be a bool or 'carried', not {tape!r}")
    if apart:
        raise OptionError(
            f"a taped rollout solves all units of '{origin.robot.name}' together: leave islands "
            "and sleep out, or use linearize step by step"
        )
    if every != 1:
        raise OptionError(f"a taped rollout needs all knots: leave every out, or 1, not {every}")
    if any(actuator.implicit for actuator in origin.robot.actuators):
        raise OptionError(
            f"'{origin.robot.name}' has implicit actuators, whose controls are not recorded in a "
            "tape: use linearize step by step"
        )
    if control.compiled is not None:
        raise ControllerError(
            "a taped rollout cannot follow a jitted function, whose derivatives are unknown: give "
            "torques, or a PD"
        )


def taped(
    origin: Simulation,
    sims: Sequence[Simulation],
    threads: int,
    rollout: Rollout,
    memory: BatchBuffers,
    linearizers: dict[Any, Any],
) -> TapedRollout:
    """A rollout with its tape."""
    robot, infos = origin.robot, memory.infos
    divided = (infos["substeps"] > 1) | (infos["order"] != origin.engine.parts.options.order)
    divided &= np.arange(infos.shape[1]) < rollout.done[:, None]
    inputs = Inputs(
        memory.gains.copy(),
        memory.targets.copy(),
        memory.rates.copy(),
        memory.torques[:, :, robot.actuated],
        np.array([sim.parts.loads.external["w"] for sim in sims]),
        divided,
    )
    out = TapedRollout(*rollout)
    failures = {}
    for i in np.flatnonzero(rollout.failed).tolist():
        k = int(rollout.done[i])
        info, time = infos[i, k], float(rollout.t[i, k])
        failures[i] = ConvergenceError(
            time, float(info["residual"]), int(info["iterations"]), int(info["substeps"]),
            robot.bodies[int(info["worst_body"])].name,
        )  # fmt: skip
    robots = [sim.robot for sim in sims]
    out.tape = Tape(origin, robots, threads, rollout, inputs, linearizers, failures)
    return out
