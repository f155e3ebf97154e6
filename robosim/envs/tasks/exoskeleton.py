"""An exoskeleton that moves an arm, as gently as it can."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.envs.compiled import CompiledTask, Functions
from robosim.envs.task import Draws, Torques
from robosim.kernels.compiler.content import row
from robosim.models.builders.exoskeleton import MIDDLE, SPASTIC, exoskeleton

SWING = np.pi / 4  # rad
LIMIT = 5.0  # [N m] torque of the patient's elbow that should not be exceeded


@row
def begin(start, i, q, v):  # type: ignore[no-untyped-def]
    """Near home, where the cuffs' springs are at rest, at any phase of the task."""
    q[:2] += start.drawn[i].offset


@row
def look(now, i, out):  # type: ignore[no-untyped-def]
    """Shoulder, elbow and the patient's elbow, their rates, the goal, and the last action."""
    at = now.time[i] + now.drawn[i].phase
    out[0], out[1], out[2] = now.q[i, 0], now.q[i, 1], now.q[i, 6]
    out[3], out[4], out[5] = now.v[i, 0], now.v[i, 1], now.v[i, 5]
    for k in range(2):
        out[6 + k], out[8 + k] = MIDDLE[k] + SWING * np.sin(at), SWING * np.cos(at)
        out[10 + k] = now.action[i, k]


@row
def judge(now, i, out):  # type: ignore[no-untyped-def]
    """How near the goal is, how gentle the motion, and what is spent."""
    at = now.time[i] + now.drawn[i].phase
    off = effort = 0.0
    for k in range(2):
        miss = now.q[i, k] - (MIDDLE[k] + SWING * np.sin(at))
        off += miss * miss
        effort += now.action[i, k] ** 2
    load = now.numbers[0] * (MIDDLE[1] - now.q[i, 6]) - now.numbers[1] * now.v[i, 5]
    out[0] = np.exp(-10.0 * off)
    out[1] = -0.2 * max(abs(load) - LIMIT, 0.0)
    out[2] = -0.01 * effort


FUNCTIONS = Functions(look, 12, judge, ("tracking", "comfort", "effort"), None, begin)


class Exoskeleton(CompiledTask):
    """Swing shoulder and elbow by 45 degrees, and spare the elbow of a spastic patient.

    The motion is that of [Bruedigam2023, Algorithm 8]. Two loops through the cuffs are closed
    exactly. See docs/environments.md for spaces, units and rewards.

    Attributes
    ----------
    patient : "healthy" or "spastic"
        A spastic elbow is stiff, and resists the motion.
    """

    timestep = 2e-3
    steps = 10
    seconds = 10.0
    sizes = (7, 6, 2)
    patient: str = "spastic"

    def robot(self) -> Mechanism:
        return exoskeleton(self.patient)

    def control(self, robot: Mechanism) -> Torques:
        return Torques(scale=(60.0, 20.0))

    def draws(self, robot: Mechanism) -> Draws:
        return {"phase": (0.0, 2 * np.pi), "offset": (np.full(2, -0.05), np.full(2, 0.05))}

    def bounds(self, robot: Mechanism) -> tuple[ArrayLike, ArrayLike]:
        high = np.array([np.pi, np.pi, np.pi, 20.0, 20.0, 20.0, np.pi, np.pi, 1.0, 1.0, 1.0, 1.0])
        return -high, high

    def numbers(self, robot: Mechanism) -> ArrayLike:
        # Gains of the patient's elbow, which does nothing by itself if it is healthy.
        return SPASTIC if self.patient == "spastic" else (0.0, 0.0)

    def functions(self) -> Functions:
        return FUNCTIONS
