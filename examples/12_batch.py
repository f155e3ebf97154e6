"""Eight A1 land and stand at once, each with its own trunk and friction.

python examples/12_batch.py [FOLDER]
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import robosim


def variant(robot: robosim.Mechanism, load: float, friction: float) -> robosim.Mechanism:
    """The robot with a load on its trunk [kg] and other feet."""
    trunk = robot.bodies[0]
    scale = 1.0 + load / trunk.mass
    heavier = replace(trunk, mass=scale * trunk.mass, inertia=scale * np.asarray(trunk.inertia))
    contacts = tuple(replace(contact, friction=friction) for contact in robot.contacts)
    return replace(robot, bodies=(heavier, *robot.bodies[1:]), contacts=contacts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where to save the run")
    folder = parser.parse_args().folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)

    robot = robosim.load("a1")
    rng = np.random.default_rng(0)
    loads, frictions = rng.uniform(0.0, 4.0, 8), rng.uniform(0.3, 1.0, 8)
    robots = [variant(robot, *pair) for pair in zip(loads, frictions, strict=True)]
    start = np.array(robot.home)
    start[2] += 0.02

    runs = []
    for threads in (1, None):  # one, and one for each core
        batch = robosim.BatchSimulation(robots, threads=threads)
        batch.set_state(start)
        runs.append(batch.rollout(1000, controller="stand"))
    run = runs[0]
    standing = ~run.failed & (run.q[:, -1, 2] > 0.25)
    print(f"{standing.sum()} of {len(batch)} robots stand after {run.t[0, -1]:g} s")
    for load, friction, height in zip(loads, frictions, run.q[:, -1, 2], strict=True):
        print(f"  load {load:.2f} kg, friction {friction:.2f}: base at {height:.4f} m")
    same = all(np.array_equal(a, b) for a, b in zip(*runs, strict=True))
    print(f"{batch.threads} threads: {'the same to the last bit' if same else 'other results'}")
    np.savez(folder / "batch.npz", t=run.t, q=run.q, v=run.v, gap=run.gap)
    print(f"saved {folder / 'batch.npz'}")


if __name__ == "__main__":
    main()
