"""What an arm carries and what its joints lose, from a log with noise.

python examples/26_identify.py [FOLDER] [--quick]
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import robosim
from robosim.identification import identify
from robosim.models.builders import chain

TIMESTEP = 2e-3  # s
NOISE_Q, NOISE_V = 1e-3, 1e-2  # rad, rad/s
LOAD, DAMPING = 0.4, 0.08  # kg, N m s


def arm(load: float, damping: float) -> robosim.Mechanism:
    """Two links of 1 kg and 1 m, the second one with a load."""
    links = chain(2)
    first, second = links.bodies
    joints = tuple(replace(joint, damping=damping) for joint in links.joints)
    return replace(links, bodies=(first, replace(second, mass=second.mass + load)), joints=joints)


def torques(t: float) -> np.ndarray:
    """Of three frequencies at each joint [N m]."""
    return np.array([np.sin(3 * t) + np.sin(7.1 * t), np.sin(4.3 * t) + 0.5 * np.sin(11 * t)])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where to save the log")
    parser.add_argument("--quick", action="store_true", help="a shorter log")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)

    true, guess = arm(LOAD, DAMPING), arm(0.0, 0.3)
    sim = robosim.Simulation(true, TIMESTEP)
    sim.set_state([0.4, -0.3], [0.0, 0.0])
    log = sim.run(1.0 if options.quick else 5.0, lambda of: torques(of.time))
    rng, samples = np.random.default_rng(0), log.samples
    measured = samples._replace(
        q=samples.q + NOISE_Q * rng.normal(size=samples.q.shape),
        v=samples.v + NOISE_V * rng.normal(size=samples.v.shape),
    )
    log = replace(log, samples=measured)
    log.save(folder / "arm.parquet")

    names = ["mass:link2", *(f"damping:{joint.name}" for joint in true.joints)]
    found = identify(guess, log, names, progress=True)
    print(found)
    for name, value in zip(names, (1.0 + LOAD, DAMPING, DAMPING), strict=True):
        away = (found.values[name] - value) / found.deviations[name]
        print(f"{name}: {away:+.1f} standard deviations from what it is")
    print(f"the log is in {folder}")


if __name__ == "__main__":
    main()
