"""A cart on a rail that swings up a pole and balances it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.envs.compiled import CompiledTask, Functions
from robosim.envs.task import Draws, Torques
from robosim.kernels.compiler.content import row
from robosim.models.builders.parts import block, hinge, rod

RAIL = 1.8  # [m] to each side
FORCE = 10.0  # N


def cart_pole(length: float = 1.0, pole_mass: float = 0.1, cart_mass: float = 1.0) -> Mechanism:
    """A cart on a rail along x, driven by a force, with a thin pole on a hinge about y.

    The pole hangs down at zero. Masses and length are those of Barto, Sutton and Anderson (1983).
    Their rail reaches 2.4 m to each side, and their force is always 10 N in one of the two
    directions; here it is any force up to 10 N.
    """
    cart, pole = block("cart", (0.2, 0.12, 0.08), cart_mass), rod("pole", length, pole_mass)
    slider = Joint(
        "slider", "prismatic", None, "cart", axis=(1, 0, 0), lower=-RAIL, upper=RAIL,
        effort_limit=FORCE,
    )  # fmt: skip
    joints = (slider, hinge("hinge", cart, pole, at=(0.0, 0.0, 0.0)))
    return Mechanism("cart_pole", (cart, pole), joints)


@row
def begin(start, i, q, v):  # type: ignore[no-untyped-def]
    """Near the middle of the rail, with the pole hanging."""
    q[0], q[1] = start.drawn[i].place, start.drawn[i].angle
    v[1] = start.drawn[i].rate


@row
def look(now, i, out):  # type: ignore[no-untyped-def]
    """The cart's place, the pole's angle, and their rates."""
    angle = now.q[i, 1]
    out[0], out[1], out[2] = now.q[i, 0], np.cos(angle), np.sin(angle)
    out[3:] = now.v[i]


@row
def judge(now, i, out):  # type: ignore[no-untyped-def]
    """How high the pole is, where the cart is, and what is spent."""
    height, place = 0.5 - 0.5 * np.cos(now.q[i, 1]), now.q[i, 0] / RAIL
    up = height * height
    out[0] = up
    out[1] = -0.2 * up * (place * place)
    out[2] = -0.005 * up * now.v[i, 1] ** 2
    out[3] = -0.01 * now.action[i, 0] ** 2


FUNCTIONS = Functions(look, 5, judge, ("upright", "middle", "still", "effort"), None, begin)


class CartPole(CompiledTask):
    """Swing up the pole of a cart, and balance it in the middle of the rail.

    See docs/environments.md for spaces, units and rewards.
    """

    timestep = 5e-3
    steps = 4
    seconds = 10.0
    sizes = (2, 2, 1)

    def robot(self) -> Mechanism:
        return cart_pole()

    def control(self, robot: Mechanism) -> Torques:
        return Torques(joints=("slider",))

    def draws(self, robot: Mechanism) -> Draws:
        return {"place": (-0.2, 0.2), "angle": (-0.2, 0.2), "rate": (-0.2, 0.2)}

    def bounds(self, robot: Mechanism) -> tuple[ArrayLike, ArrayLike]:
        high = np.array([2.0, 1.0, 1.0, 20.0, 40.0])
        return -high, high

    def functions(self) -> Functions:
        return FUNCTIONS
