"""Compiling kernels before they are needed."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from robosim.batch.batch import BatchSimulation
from robosim.description.body import Body, ContactPoint
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.errors import RobosimError
from robosim.kernels.compiler.lanes import WIDTH
from robosim.simulation import Simulation


def warmup(robot: Mechanism | None = None, *, batch: bool = False, **options: Any) -> None:
    """Compile kernels in advance instead of in the first step.

    Compiling takes about a minute, once; kernels are kept on disk.

    Parameters
    ----------
    robot : Mechanism or None
        The robot to be simulated. Kernels of the fallback solver are then compiled as well. None:
        only the kernels that most robots need.
    batch : bool
        Whether to compile kernels of `BatchSimulation` as well.
    **options
        Options of `Simulation` that change the kernels, such as `friction_cone`.

    Raises
    ------
    ModelError, OptionError
        As `Simulation` does.
    """
    both = robot is not None and options.get("solver", "auto") == "auto"
    robot = _tiny() if robot is None else robot
    sims = [Simulation(robot, **options)]
    if both and sims[0].engine.solver == "articulated":
        sims.append(Simulation(robot, **{**options, "solver": "ldu"}))
    with _without_complaints():
        for sim in sims:
            sim.run(2 * sim.timestep, "zero")
            sim.step(np.zeros(robot.nu))
        if batch:
            first_steps(BatchSimulation(robot, WIDTH, **options))


def first_steps(batch: BatchSimulation, controller: str = "zero") -> None:
    """Take steps of a batch in every way that has kernels of its own."""
    batch.rollout(2, controller=controller)
    bound = batch.bind(1, controller=controller, bodies=True, contacts=True)
    bound.step()
    bound.step()
    batch.reset(batch.prepare(), 0)
    bound.step()


def compile_here(job: bytes) -> None:
    """Take some steps of a batch, in the other process of `robosim.batch.beside`.

    Parameters
    ----------
    job : bytes
        Pickled robots and options of a `BatchSimulation`.
    """
    if hasattr(os, "nice"):
        os.nice(5)  # the process that steps states meanwhile has priority
    robots, options = pickle.loads(job)
    batch = BatchSimulation(robots, **options)
    with _without_complaints():
        first_steps(batch)


@contextmanager
def _without_complaints() -> Iterator[None]:
    """Context in which steps may fail: failures and warnings matter only to later runs."""
    with warnings.catch_warnings(), suppress(RobosimError):
        warnings.simplefilter("ignore")
        yield


def _tiny() -> Mechanism:
    """A robot with the features of most robots: a floating base, a hinge, a contact."""
    bodies = (Body("a", 1.0, np.eye(3)), Body("b", 1.0, np.eye(3)))
    joints = (Joint("base", "floating", None, "a"), Joint("hinge", "revolute", "a", "b"))
    return Mechanism("warmup", bodies, joints, (ContactPoint("point", "a", (0.0, 0.0, 0.0)),))
