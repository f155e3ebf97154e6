"""An arm with muscles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robosim.description.actuator import Actuator
from robosim.description.hill_muscle import HillMuscle
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.muscle import Activation
from robosim.description.poses import body_poses
from robosim.description.tendon import Point, Tendon, Wrap
from robosim.models.builders.parts import ORANGE, Array, check_positive, hinge, place, rod
from robosim.quaternions import from_axis_angle

# Time constants of rising and of falling activation [Millard2013].
TWITCH = Activation("muscle", (0.01, 0.04, 0.0), (0.0, 1.0))
ACROSS = from_axis_angle((1.0, 0.0, 0.0), np.pi / 2)  # of the axis of a cylinder, along y
BESIDE = 0.07  # of the lengths of both links: how far the points of muscles are off their axes
ALONG = 0.12  # and from the elbow
SHARE = 0.5  # optimal length of a muscle over the length of its path at home
BEGIN = 0.9  # of a muscle's own length there, in optimal ones


def arm_with_muscles(
    upper: float = 0.3,
    fore: float = 0.28,
    force: float = 1500.0,
    fastest: float = 10.0,
    around: bool = True,
    implicit: bool = True,
) -> Mechanism:
    """An upper arm and a forearm that hang in a plane, with a pair of muscles about each joint.

    The numbers are invented, of the size of an adult's arm: the links have 2 and 1.5 kg. Muscles
    are of the Hill type [Sueda, Sect. 1.9.4], on paths from point to point. At home the arm hangs
    down with the elbow at 40 degrees, and each muscle has nine tenths of its optimal length.

    Parameters
    ----------
    upper, fore : float [m], lengths
    force : float [N]
        Force of the elbow's muscles; those of the shoulder have twice this force.
    fastest : float [1/s]
        Largest shortening velocity, in optimal lengths per second.
    around : bool
        Whether paths wrap around the joints, with constant lever arms. `ReducedSimulation` needs
        straight paths; with these the arm buckles if both muscles of a pair pull strongly.
    implicit : bool
        Whether forces of muscles are part of a step's equations, or held over the step by
        `robosim.actuators.Drive`.

    Raises
    ------
    ModelError
    """
    numbers = {"upper": upper, "fore": fore, "force": force, "fastest": fastest}
    check_positive("mechanism 'arm_with_muscles'", **numbers)
    top, low = rod("upper", upper, 2.0), rod("fore", fore, 1.5, rgba=ORANGE)
    joints = hinge("shoulder", None, top), hinge("elbow", top, low)
    angles = np.array((0.0, -np.radians(40.0)))
    off, near = BESIDE * (upper + fore), ALONG * (upper + fore)
    _, _, shoulder = place(top, "upper")
    _, _, elbow = place(top, "upper_end")
    _, _, fore_top = place(low, "fore")
    paths: dict[str, tuple[Point | Wrap, ...]] = {}
    for side, way in (("flexor", 1.0), ("extensor", -1.0)):
        x = 0.7 * way * off
        top_end, fore_end = (
            Point(body, (x, 0, at - near)) for body, at in (("upper", shoulder), ("fore", fore_top))
        )
        for joint, body, at, first, last in (
            ("shoulder", None, 0.0, Point(None, (x, 0, near)), top_end),
            ("elbow", "upper", elbow, Point("upper", (x, 0, shoulder)), fore_end),
        ):
            round_it = Wrap("cylinder", body, off, (0, 0, at), ACROSS, Point(body, (4 * x, 0, at)))
            paths[f"{joint}_{side}"] = (first, *((round_it,) if around else ()), last)
    muscles = []
    for name, path in paths.items():
        length = _length(path, joints, angles)
        optimal = SHARE * length
        strength = force if name.startswith("elbow") else 2.0 * force
        muscle = HillMuscle(strength, optimal, length - BEGIN * optimal, fastest)
        one = Actuator(
            f"{name}_muscle", {name: 1.0}, activation=TWITCH, muscle=muscle, implicit=implicit
        )
        muscles.append(one)
    return Mechanism(
        "arm_with_muscles",
        (top, low),
        joints,
        tendons=tuple(Tendon(name, path) for name, path in paths.items()),
        actuators=tuple(muscles),
        home=angles,
    )


def _length(path: Sequence[Point | Wrap], joints: Sequence[Joint], q: Array) -> float:
    """Of a path from one point to another in the plane y = 0, straight or around a cylinder [m]."""
    poses = body_poses(joints, q)
    places = [poses[p.body][1] + poses[p.body][0] @ np.asarray(p.position) for p in path]
    wraps = [part for part in path if isinstance(part, Wrap)]
    if wraps:
        # As seen from the axis, with the side that it passes on at the angle 0.
        way = np.sign(path[0].position[0])  # type: ignore[index]
        a, b = places[0] - places[1], places[2] - places[1]
        r, sizes = wraps[0].radius, [float(np.linalg.norm(end)) for end in (a, b)]
        turn = np.arctan2(a[2], way * a[0]) - np.arctan2(b[2], way * b[0])
        arc = turn - sum(np.arccos(r / size) for size in sizes)
        if arc > 0:
            return float(sum(np.sqrt(size**2 - r**2) for size in sizes) + r * arc)
    return float(np.linalg.norm(places[-1] - places[0]))
