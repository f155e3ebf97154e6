"""Gains of an exoskeleton are scaled until neither patient's elbow feels more than 5 N m.

python examples/18_exoskeleton.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import robosim
from robosim.learning import Run, tune
from robosim.models.builders import exoskeleton, rehabilitation
from robosim.viz.plots import plot_log

LIMIT = 5.0  # N m


def runs(scale: float) -> list[Run]:
    """The elbow's torque while both patients do the task."""
    found = []
    for patient in ("healthy", "spastic"):
        robot = exoskeleton(patient)
        sim = robosim.Simulation(robot)
        log = sim.run(5.0, rehabilitation(robot, scale, damp_rate=True), every=5)
        found.append(Run(patient, log.t, log.column("eFE.torque")))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where to save the plot")
    folder = parser.parse_args().folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)

    for run in runs(1.0):
        torque, time = run.peak
        print(f"scale 1, {run.name}: {torque:.2f} N m at {time:.2f} s")
    found = tune(runs, limit=LIMIT, over=(0.05, 1.0), tolerance=0.01)
    print(f"largest scale: {found.value:.3f} ({found.load:.2f} N m, {found.run})")
    assert found.load <= LIMIT

    robot = exoskeleton("spastic")
    log = robosim.Simulation(robot).run(5.0, rehabilitation(robot, found.value, damp_rate=True))
    plot_log(log, folder / "exoskeleton.png")
    print(f"loops open by {log.violation.max():.0e} m at most; saved in {folder}")


if __name__ == "__main__":
    main()
