"""All experiments by name, and a run of one experiment with its files."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import robosim
from robosim.errors import OptionError, RobosimError
from robosim.experiments import (
    accuracy,
    agreement,
    atlas,
    chains,
    contact_control,
    convergence,
    damping,
    derivatives,
    drop,
    environments,
    exoskeleton,
    fan,
    fan_simpson,
    flamingo,
    four_bar,
    friction,
    graphs,
    growth,
    identification,
    integrators,
    lee,
    lee_timing,
    littledog,
    loops,
    pendulums,
    policies,
    policy_gradient,
    predictive,
    redmax,
    redmax_contacts,
    redmax_formulation,
    redmax_friction,
    redmax_muscle,
    redmax_soft,
    rings,
    rough,
    scaling,
    shac,
    spheres,
    transcriptions,
    trotting,
    walking,
    whip,
)
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.target import Target, plain
from robosim.peers.mujoco_run import available, version

LETTERS = 11  # of a picture's title, per inch of its width
EXPERIMENTS: tuple[Experiment, ...] = (
    loops.LOOPS,
    pendulums.DOUBLE_PENDULUM,
    damping.DAMPED,
    drop.CUBE,
    chains.TIMES,
    rings.RINGS,
    spheres.SPHERES,
    loops.SEGMENTS,
    graphs.GRAPHS,
    chains.TOLERANCES,
    pendulums.SCALES,
    four_bar.FOUR_BAR,
    convergence.NEWTON,
    friction.FRICTION,
    whip.WHIP,
    accuracy.ACCURACY,
    redmax.SPLINES,
    redmax.HYBRID,
    redmax_formulation.SCENES,
    redmax_formulation.AGREEMENT,
    redmax_muscle.MUSCLES,
    redmax_soft.SOFT,
    redmax_friction.JOINT_FRICTION,
    redmax_contacts.CONTACT_FRICTION,
    lee.ENERGY,
    lee.CONVERGENCE,
    lee_timing.TIMING,
    fan.NEWTON,
    growth.GROWTH,
    fan_simpson.SIMPSON,
    transcriptions.TRANSCRIPTIONS,
    flamingo.FLAMINGO,
    atlas.ATLAS,
    littledog.LITTLEDOG,
    integrators.INTEGRATORS,
    agreement.AGREEMENT,
    derivatives.LINEARIZE,
    identification.IDENTIFY,
    walking.LEARNING,
    exoskeleton.EXOSKELETON,
    walking.ROBUSTNESS,
    predictive.MPC_A1,
    contact_control.MPC_CONTACTS,
    trotting.WALK,
    shac.WALK_BY_GRADIENTS,
    rough.WALK_ROUGH,
    policies.PPO_A1,
    policy_gradient.POLICY_GRADIENT,
    environments.GYM_SPEED,
    policies.BASELINES,
    scaling.SCALING,
)


def find(name: str) -> Experiment:
    """The experiment of a name.

    Raises
    ------
    OptionError
        For an unknown name; the message lists all names.
    """
    for experiment in EXPERIMENTS:
        if name in experiment.names:
            return experiment
    known = ", ".join(name for experiment in EXPERIMENTS for name in experiment.names)
    raise OptionError(f"unknown experiment '{name}' (known: all, {known})")


def reproduce(
    name: str,
    out: str | Path,
    quick: bool = False,
    note: Callable[[str], None] = lambda text: None,
) -> Result:
    """Run an experiment, and write NAME.json, NAME.png, and, with a recording, NAME.html.

    Parameters
    ----------
    name : str
    out : str or Path
        The folder to write to; created if it does not exist.
    quick : bool
        Whether to make shorter runs with fewer points.
    note : callable(str)
        Called with a short text about the present part of the run.

    Returns
    -------
    Result
        A failed run has a target that is not reached.

    Raises
    ------
    OptionError
        For an unknown name, or a folder that cannot be written to.
    """
    experiment = find(name)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"'{folder}' cannot be written to: {error}") from error
    setup = Setup(quick, available(), note)
    try:
        result = experiment.judged(setup)
    except RobosimError as error:
        result = Result({}, {}, {}, (Target("runs that failed", 1, 0),), f"The run failed: {error}")
    if not setup.mujoco:
        sentence = f"{result.sentence} MuJoCo is not installed, so only robosim was run."
        result = replace(result, sentence=sentence)
    write(name, experiment, result, setup, folder)
    return result


def to_dict(name: str, experiment: Experiment, result: Result, quick: bool) -> dict[str, Any]:
    """The contents of NAME.json."""
    return {
        "name": name,
        "title": experiment.title,
        "claim": experiment.claim,
        "quick": quick,
        "versions": {
            "robosim": robosim.__version__,
            "numpy": np.__version__,
            "mujoco": version(),
        },
        "parameters": plain(result.parameters),
        "ours": plain(result.ours),
        "peers": plain(result.peers),
        "targets": plain([target.to_dict() for target in result.targets]),
        "reached": result.reached,
        "sentence": result.sentence,
    }


def write(name: str, experiment: Experiment, result: Result, setup: Setup, folder: Path) -> None:
    """Write NAME.json, and NAME.png and NAME.html if there is a picture or a recording."""
    told = to_dict(name, experiment, result, setup.quick)
    text = json.dumps(told, indent=2, allow_nan=False) + "\n"
    (folder / f"{name}.json").write_text(text, encoding="utf-8")
    if result.record is not None:
        result.record().save(folder / f"{name}.html")
    if result.draw is None:
        return
    # Without pyplot, which would require a display.
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    result.draw(figure)
    quick = " (quick run)" if setup.quick else ""
    title = f"{name}: {experiment.title}{quick}"
    figure.suptitle(textwrap.fill(title, int(LETTERS * figure.get_figwidth())), fontsize=12)
    figure.savefig(folder / f"{name}.png", dpi=130)
