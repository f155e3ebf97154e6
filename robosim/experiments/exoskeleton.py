"""An exoskeleton whose gains are tuned to a comfortable torque (Fig. 14)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.learning.tuning import Run, tune
from robosim.measuring.target import Target
from robosim.models.builders import exoskeleton, rehabilitation
from robosim.models.builders.exoskeleton import PATIENTS
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIMIT = 5.0  # N m, comfortable torque at an elbow
BY_HAND = 1 / 4.75  # the scale that the authors found
TIMESTEP, SECONDS = 1e-3, 10.0


def elbow(patient: str, scale: float, damp_rate: bool, seconds: float) -> tuple[Run, float]:
    """The elbow's torque during the task, and the largest violation of the loops [m]."""
    robot = exoskeleton(patient)
    task = rehabilitation(robot, scale, damp_rate=damp_rate)
    log = Simulation(robot, TIMESTEP).run(seconds, task)
    name = f"{patient}, scale {scale:.4g}"
    return Run(name, log.t, log.tau[:, robot.actuated_names.index("eFE")]), float(
        log.violation.max()
    )


def run_exoskeleton(setup: Setup) -> Result:
    """[Bruedigam2023, Fig. 14]: both patients, two given scales and a computed one."""
    seconds = setup.choose(SECONDS, 4.0)
    scales = {"scale 1": 1.0, "scale 1/4.75": BY_HAND}
    runs: dict[tuple[str, str], Run] = {}
    peaks: dict[str, dict[str, dict[str, float]]] = {}
    violation = 0.0
    for label, scale in scales.items():
        for patient in PATIENTS:
            for damp_rate, as_what in ((True, "as it was run"), (False, "as it is printed")):
                setup.note(f"{patient}, {label}, {as_what}")
                run, apart = elbow(patient, scale, damp_rate, seconds)
                runs.setdefault((patient, label), run)
                violation = max(violation, apart)
                peaks.setdefault(as_what, {}).setdefault(label, {})[patient] = run.peak[0]

    @cache
    def both(scale: float) -> tuple[Run, ...]:
        setup.note(f"tuning: scale {scale:.4f}")
        return tuple(elbow(patient, scale, True, seconds)[0] for patient in PATIENTS)

    tolerance = setup.choose(1e-3, 2e-2)
    tuned = tune(both, limit=LIMIT, over=(0.05, 1.0), tolerance=tolerance)
    run_as = peaks["as it was run"]
    targets = (
        Target("healthy, scale 1: torque", run_as["scale 1"]["healthy"], LIMIT, "N m"),
        Target("spastic, scale 1: torque", run_as["scale 1"]["spastic"], LIMIT, "N m", True),
        Target("healthy, scale 1/4.75: torque", run_as["scale 1/4.75"]["healthy"], LIMIT, "N m"),
        Target("spastic, scale 1/4.75: torque", run_as["scale 1/4.75"]["spastic"], LIMIT, "N m"),
        Target("scale found by bisection", tuned.value, 0.19, at_least=True, full_only=True),
        Target("scale found by bisection", tuned.value, 0.24, full_only=True),
        Target("violation of the loops", violation, 1e-9, "m"),
    )
    ours: dict[str, Any] = {
        "largest_torque": peaks,
        "tuned": {"scale": tuned.value, "torque": tuned.load, "run": tuned.run,
                  "time": tuned.time, "runs": len(tuned.tried)},
        "violation": violation,
    }  # fmt: skip
    sentence = (
        f"At scale 1 the largest torque at the elbow is {run_as['scale 1']['healthy']:.2f} N m for "
        f"the healthy patient and {run_as['scale 1']['spastic']:.2f} N m for the spastic one; the "
        f"limit is {LIMIT:g} N m. At scale 1/4.75 the torques are "
        f"{run_as['scale 1/4.75']['healthy']:.2f} and {run_as['scale 1/4.75']['spastic']:.2f} N m. "
        f"The largest scale within the limit, found by bisection, is {tuned.value:.3f} (authors: "
        f"{BY_HAND:.3f}, by hand). The largest torque is in the run '{tuned.run}' at "
        f"{tuned.time:.2f} s. Loops open by {violation:.1g} m at most."
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        looks = {"healthy": COLOURS["ours"], "spastic": COLOURS["mujoco_default"]}
        for ax, label in zip(axes, scales, strict=True):
            for patient in PATIENTS:
                run = runs[patient, label]
                ax.plot(run.t, run.loads, color=looks[patient], label=patient)
            for sign in (-1, 1):
                ax.axhline(sign * LIMIT, color=OTHERS[3], linestyle="--", linewidth=0.8)
            ax.set_ylim(-8, 8)
            finish(ax, "time [s]", "torque of the elbow [N m]", label)

    parameters = {"timestep": TIMESTEP, "seconds": seconds, "limit": LIMIT}
    return Result(parameters, ours, {}, targets, sentence, draw)


EXOSKELETON = Experiment(
    ("fig14",),
    "gains of an exoskeleton, tuned for two patients",
    "Only the spastic patient at scale 1 feels more than 5 N m; the scale found is 0.19 to 0.24.",
    run_exoskeleton,
)
