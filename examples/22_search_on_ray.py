"""A search for a gait on workers: actors of Ray if Ray is installed, threads if it is not.

python examples/22_search_on_ray.py [FOLDER] [--workers N] [--quick]
"""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

import robosim
from robosim.cluster import Workers
from robosim.controllers import Gait
from robosim.learning import RandomSearch

START = (0.1, 0.0, 1.0, 0.0, -1.5)  # b, a1, d1, a2, d2: standing


def distance(batch, gaits, random, *, steps):
    """How far gaits (n, 5) get, each in a state of a batch; nan where a step fails."""
    gait = Gait.of(batch.robot, gaits)
    batch.place(gait.pose(), gap=0.01)
    run = batch.rollout(steps, controller=gait, every=steps)
    return np.where(run.failed, np.nan, run.q[:, -1, 0] - run.q[:, 0, 0])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where to save the gaits")
    parser.add_argument("--workers", type=int, default=2, help="how many (2)")
    parser.add_argument("--quick", action="store_true", help="a few short tries")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)

    robot = robosim.load("a1")
    learners, tries, steps = (16, 2, 200) if options.quick else (32, 30, 2000)
    found = []
    for n in (1, options.workers):
        search = RandomSearch(START, learners, seed=0, least=0.0)
        # Eight learners at a time on each worker: they share a vector register.
        with Workers(robot, n, per_worker=8) as workers:
            workers.map(partial(distance, steps=1), search.ask())  # compiles, or loads
            begin = time.perf_counter()
            search.run(partial(distance, steps=steps), tries, workers)
            seconds = time.perf_counter() - begin
            print(f"{n} on {workers.kind}: best {search.values.max():.3f} m, {seconds:.1f} s")
        found.append(search.best)
    print("the same to the last bit" if np.array_equal(*found) else "they differ")
    np.savetxt(folder / "gaits.csv", found[0], delimiter=",", header="b,a1,d1,a2,d2")
    print(f"saved in {folder}")


if __name__ == "__main__":
    main()
