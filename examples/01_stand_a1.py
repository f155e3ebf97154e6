"""The main job: a quadruped stands on hard contacts for ten seconds, its joints are logged.

python examples/01_stand_a1.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import robosim
from robosim.viz.plots import plot_log


def main(out: Path) -> None:
    robot = robosim.load("a1")
    sim = robosim.Simulation(robot, timestep=1e-3)
    log = sim.run(10.0, controller="stand")
    log.save(out / "stand.parquet")
    plot_log(log, out / "stand.png")

    print(f"{robot.name}: {len(log)} steps, {log.iterations.mean():.2f} iterations each")
    print(f"smallest gap of any foot     {1e9 * log.gap.min():.3f} nm  (never below the ground)")
    print(f"largest joint violation      {log.violation.max():.1e} m")
    print(f"force of the ground at last  {sim.contact_forces()[:, 2].sum():.3f} N")
    print(f"weight                       {9.81 * robot.total_mass:.3f} N")
    print(f"log and plot: {out}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
