"""One body that touches something flat, in every way that there is, for tests of contacts."""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim import Body, ContactPoint, Geometry, HalfSpace, Joint, Mechanism, Simulation

EDGE = 0.2
SMOOTH = 1e-3  # contact_speed [m/s]: gaps of closed contacts are wider than the differences

# What the body touches, and the solver.
WAYS = [
    ("point", "articulated"),
    ("half-space", "articulated"),
    ("box", "ldu"),
    ("body", "ldu"),
]


def on_something(
    shape: Geometry, mass: float, inertia: np.ndarray, height: float, way: str, **belt: Any
) -> Mechanism:
    """A floating body "it" with its centre at a height over what it touches, at z = 0.

    `belt` are fields of that. Contact points of the ground have none: the body's corners then move
    the other way by themselves.
    """
    body = Body("it", mass, inertia, collisions=() if way == "point" else (shape,))
    joint = Joint("root", "floating", None, "it")
    home = (0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0)
    wide = Geometry("box", (40.0, 40.0, 1.0), (0.0, 0.0, -0.5), **belt)
    bodies, joints, contacts, obstacles = [body], [joint], [], []
    match way:
        case "point":
            turning = {
                name: getattr(shape, name) for name in ("torsional_friction", "rolling_friction")
            }
            velocity = -np.asarray(belt.pop("surface_velocity", np.zeros(3)))
            half = 0 if shape.kind == "sphere" else np.array(shape.size) / 2
            signs = [(x, y, -1) for x in (-1, 1) for y in (-1, 1)]
            places = [np.zeros(3)] if shape.kind == "sphere" else [half * s for s in signs]
            contacts = [
                ContactPoint(f"c{k}", "it", place, shape.size[0] if shape.kind == "sphere" else 0,
                             min(shape.friction, belt.get("friction", 10.0)),
                             surface_velocity=velocity, **turning)
                for k, place in enumerate(places)
            ]  # fmt: skip
        case "half-space":
            obstacles = [HalfSpace(**belt)]
        case "box":
            obstacles = [wide]
        case "body":
            bodies.append(Body("belt", 30.0, np.eye(3), collisions=(wide,)))
            joints.append(Joint("rail", "prismatic", None, "belt", axis=(0, 1, 0)))
            home = (*home, 0.0)
    return Mechanism(
        way,
        tuple(bodies),
        tuple(joints),
        tuple(contacts),
        obstacles=tuple(obstacles),
        home=home,
        self_collision=True,
    )


def sliding_box(way: str, seconds: float, **surface: Any) -> Simulation:
    """A box of 2 kg that slides and turns on something, after some time; smooth contacts."""
    shape = Geometry("box", (EDGE,) * 3, friction=0.5, **surface)
    robot = on_something(shape, 2.0, 2.0 * EDGE**2 / 6 * np.eye(3), EDGE / 2, way)
    sim = Simulation(robot, 1e-3, tolerance=1e-13, contact_speed=SMOOTH)
    v = np.zeros(robot.nv)
    v[:6] = 0.6, 0.8, 0, 0, 0, 3.0
    sim.set_state(sim.q, v)
    sim.run(seconds)
    return sim
