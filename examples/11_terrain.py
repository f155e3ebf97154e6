"""Boxes stack on a table, a ball rolls down a hill, and what touches what is read.

python examples/11_terrain.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import robosim
from robosim import Body, Geometry, Joint, Mechanism
from robosim.viz import Recorder


def solid(name: str, shape: Geometry, inertia: float) -> Body:
    return Body(name, 1.0, inertia * np.eye(3), visuals=(shape,), collisions=(shape,))


def build() -> Mechanism:
    box = Geometry("box", (0.2, 0.2, 0.2), rgba=(0.8, 0.5, 0.2, 1.0))
    ball = Geometry("sphere", (0.1,), rgba=(0.2, 0.5, 0.8, 1.0))
    bodies = [solid(f"box {k}", box, 0.2**2 / 6) for k in range(3)]
    bodies.append(solid("ball", ball, 0.4 * 0.1**2))
    places = [(0.02 * k, 0, 0.65 + 0.25 * k) for k in range(3)] + [(1.2, 0.3, 0.5)]
    mechanism = Mechanism(
        "terrain",
        tuple(bodies),
        tuple(Joint(f"{body.name} base", "floating", None, body.name) for body in bodies),
        home=np.concatenate([[*place, 1, 0, 0, 0] for place in places]),
    )
    x = np.linspace(-3, 3, 61)
    hills = 0.15 * np.cos(2 * x)[:, None] * np.cos(1.5 * x)[None, :] - 0.2
    return mechanism.with_contacts(
        obstacles=[
            robosim.HeightField(hills, size=(6.0, 6.0), name="hills"),
            Geometry("box", (0.8, 0.8, 0.05), position=(0, 0, 0.5), name="table"),
        ],
        self_collision=True,
    )


def main(out: Path) -> None:
    robot = build()
    sim = robosim.Simulation(robot, timestep=0.005)
    recorder = Recorder(robot)
    smallest = np.inf
    for chunk in sim.stream(3.0, chunk_steps=1):
        smallest = min(smallest, float(chunk.gap[0]))
        recorder.add(sim.time, sim.state.x, sim.state.q)
    print(f"smallest gap on the way  {smallest:+.1e} m")
    pressed: dict[tuple[str, str], float] = {}
    for contact in sim.contacts():
        pair = (contact.other, contact.body)[:: 1 if contact.force[2] > 0 else -1]
        pressed[pair] = pressed.get(pair, 0.0) + abs(contact.force[2])
    for (lower, upper), force in pressed.items():
        print(f"{lower} carries {upper} with {force:6.3f} N")
    print(f"recording: {recorder.save(out / 'terrain.html')}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
