"""Steps to an accuracy: the error of motions with impacts over CPU time, beside fixed steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from robosim.errors import PeerError
from robosim.experiments.drawing import COLOURS
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.error_curves import (
    ACCURACIES,
    FIXED,
    STEP,
    USUAL,
    Curves,
    Line,
    draw_errors,
    grid,
    motion_curves,
    targets_of,
)
from robosim.measuring.motions import Motion, Run, distance, motions, sliding
from robosim.measuring.motions_of_peers import mujoco_runs
from robosim.measuring.target import Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PEERS = {"mujoco_default": "Euler", "mujoco_best": "RK4"}


def run_accuracy(setup: Setup) -> Result:
    """Motions with impacts at five accuracies, at nine timesteps, and in MuJoCo."""
    chosen = (*motions(), sliding())[setup.choose(slice(None), slice(3, 5))]
    ours: dict[str, Any] = {}
    peers: dict[str, Any] = {key: {"settings": of} for key, of in PEERS.items()}
    lines: dict[str, list[Line]] = {}
    targets: list[Target] = []
    told = []
    for motion in chosen:
        found = motion_curves(motion, setup)
        ours[motion.name] = _entry(found)
        lines[motion.name] = [
            Line(f"robosim, {kind}", style, COLOURS["ours"],
                 [(found.error(one), one.least) for one in runs])
            for kind, style, runs in (
                ("accuracy", "o-", found.accurate), ("fixed steps", "s--", found.fixed)
            )
        ]  # fmt: skip
        targets += targets_of(found)
        usual = next(one for one in found.accurate if one.setting == USUAL)
        gain, reached = found.gain(usual)
        least = "" if reached else "at least "
        told.append(f"{motion.name} {found.error(usual):.1e} m, {least}{gain:.2g} times")
        for key, runs in _in_mujoco(setup, motion).items():
            peers[key][motion.name] = [{"timestep_s": one.setting, "error_m": error,
                                        "cpu_s": one.least} for one, error in runs]  # fmt: skip
            points = [(error, one.least) for one, error in runs if one.cpu]
            lines[motion.name].append(Line(f"MuJoCo, {PEERS[key]}", "^-.", COLOURS[key], points))
    sentence = (
        f"Errors at an accuracy of {USUAL:g}, and the CPU time of fixed steps for the same errors "
        f"over that with this accuracy: {'; '.join(told)}."
    )

    def draw(figure: Figure) -> None:
        for ax, motion in zip(grid(figure, len(chosen)), chosen, strict=True):
            draw_errors(ax, f"{motion.name}, {motion.seconds:g} s", lines[motion.name])

    return Result(
        {"timestep_s": STEP, "accuracies": ACCURACIES, "fixed_steps_s": FIXED,
         "seconds": {motion.name: motion.seconds for motion in chosen},
         "error": "largest distance of a body's points from the reference, at the end",
         "peers_error": "distance from the peer's own limit, as its contacts are compliant"},
        ours,
        peers if setup.mujoco else {},
        tuple(targets),
        sentence,
        draw,
    )  # fmt: skip


def _entry(found: Curves) -> dict[str, Any]:
    """The numbers of a motion in robosim."""

    def listed(key: str, runs: tuple[Run, ...]) -> list[dict[str, float]]:
        return [{key: one.setting, "error_m": found.error(one), "cpu_s": one.least, **one.figures}
                for one in runs]  # fmt: skip

    return {
        "reference_to_finest_fixed_steps_m": found.doubt,
        "reference_to_accuracy_in_other_steps_m": found.again,
        "accuracies": listed("accuracy", found.accurate),
        "fixed_steps": listed("timestep_s", found.fixed),
        "slope": found.slope(),
    }


def _in_mujoco(setup: Setup, motion: Motion) -> dict[str, list[tuple[Run, float]]]:
    """Runs of MuJoCo and their errors against its own limit; none where it has no such motion."""
    if not setup.mujoco:
        return {}
    try:
        limit, *runs = mujoco_runs(motion, setup.choose(3, 1), note=setup.note)
    except PeerError:
        return {}
    return {
        key: [(one, distance(one.points, limit.points)) for one in runs if one.told == of]
        for key, of in PEERS.items()
    }


ACCURACY = Experiment(
    ("accuracy",),
    "steps to an accuracy: errors of motions with impacts over CPU time",
    "errors within the accuracy, in a third of the time of fixed steps",
    run_accuracy,
)
