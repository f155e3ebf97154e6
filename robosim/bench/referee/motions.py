"""The motions of the referee, and where their scripts are."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

SCRIPTS = Path(__file__).resolve().parent / "scripts"
ENGINES = {
    "robosim": "robosim",
    "mujoco": "MuJoCo",
    "drake": "Drake",
    "pybullet": "PyBullet",
    "newton": "Newton (Kamino)",
    "genesis": "Genesis",
}
"""Names of simulators, by the end of the names of their scripts."""


class Motion(NamedTuple):
    """A motion whose right answer is known.

    Attributes
    ----------
    name : str
        The beginning of the names of its scripts.
    title : str
    error : str
        What the error is, with its unit.
    answer : str
        The right answer, and why it is known.
    """

    name: str
    title: str
    error: str
    answer: str


MOTIONS = (
    Motion(
        "slide",
        "a cube slides to rest",
        "error of the way [m]",
        "From 1 m/s with friction 0.5 it slides v^2 / (2 mu g) = 0.1019 m.",
    ),
    Motion(
        "incline",
        "a cube rests on an incline",
        "creep within 5 s [m]",
        "The incline is 1 degree below the angle of friction, so the cube stays where it is.",
    ),
    Motion(
        "drop",
        "a cube of 0.5 m falls 0.4 m",
        "deepest penetration [m]",
        "Rigid bodies do not penetrate.",
    ),
    Motion(
        "stack",
        "five cubes stand on each other",
        "displacement of the top after 2 s [m]",
        "The stack begins at rest and stays.",
    ),
    Motion(
        "grasp",
        "two fingers hold a cube",
        "way that it sinks within 5 s [m]",
        "Friction can carry 32 N, and the cube weighs 9.8 N.",
    ),
    Motion(
        "fourbar",
        "a loop of three rods swings",
        "largest distance of the ends of its loop within 10 s [m]",
        "Both ends are one pin.",
    ),
    Motion(
        "pendulum",
        "a double pendulum swings for 60 s",
        "change of energy over its range",
        "Nothing takes energy or gives any.",
    ),
)


def script(motion: str, engine: str) -> Path | None:
    """The script of a motion in a simulator, if there is one."""
    file = SCRIPTS / f"{motion}_{engine}.py"
    return file if file.exists() else None
