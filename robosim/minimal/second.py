"""Second derivatives of steps in joint coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from robosim.errors import ModelError, OptionError
from robosim.linearization.linearization import linearizer_of
from robosim.linearization.linearizer import Linearization
from robosim.minimal.simulation import MinimalSimulation
from robosim.validation import Array, reals


@dataclass(frozen=True)
class SecondDerivatives:
    """A step to second order, where multipliers weigh what it leads to.

    Let ``x' = f(x, u)`` for ``x = (q, v)`` and torques u, and let d be changes of (x, u). Then
    ``multipliers . f`` changes by ``multipliers . (A, B) d + d . H d / 2``, and by terms of third
    order. Changes of q, before and after the step, are those of `Dynamics.integrate` and
    `Dynamics.difference`.

    Attributes
    ----------
    first : Linearization
        The same step to first order.
    H : (2 nv + nu, 2 nv + nu), or (m, 2 nv + nu, 2 nv + nu) for m rows of multipliers
        Symmetric; by q, v and torques.
    """

    first: Linearization
    H: Array

    @property
    def xx(self) -> Array:
        """Second derivatives (2 nv, 2 nv) by the state; with m multipliers (m, 2 nv, 2 nv)."""
        return self.H[..., : self._states, : self._states]

    @property
    def ux(self) -> Array:
        """Second derivatives (nu, 2 nv) by torques and state; with a first axis as `xx`."""
        return self.H[..., self._states :, : self._states]

    @property
    def uu(self) -> Array:
        """Second derivatives (nu, nu) by torques; with a first axis as `xx`."""
        return self.H[..., self._states :, self._states :]

    @property
    def _states(self) -> int:
        return self.first.A.shape[-1]


def second_derivatives(
    sim: MinimalSimulation, multipliers: ArrayLike, torques: ArrayLike | None = None
) -> SecondDerivatives:
    """Derivatives up to the second of the next step, from a start at the simulation's q and v.

    Galerkin integrators of trees of hinges and slides have a closed form, without drag and
    potentials of joints. All other second derivatives are differences of `linearize`. Each column
    takes six of these, and has errors of about 1e-8 of the largest entries.

    Parameters
    ----------
    sim : MinimalSimulation
        Not changed.
    multipliers : (2 nv,) or (m, 2 nv)
        Weights of the changes of q and v after the step. The rows of ``np.eye(2 * nv)`` give all
        second derivatives of each number.
    torques : (nu,) or (nv,) or None
        Constant over the step; None for those of the last step (`sim.torques`).

    Raises
    ------
    OptionError
        For a simulation of another class, or multipliers of another shape.
    ModelError
        For a robot with loops or couplings.
    ConvergenceError
        If the step cannot be solved.
    ControllerError
        For torques of a wrong shape.
    """
    if not isinstance(sim, MinimalSimulation):
        raise OptionError(
            "second_derivatives takes a MinimalSimulation, whose steps are smooth, "
            f"not {type(sim).__name__}"
        )
    size = 2 * sim.robot.nv
    try:
        rows = reals(multipliers)
    except (TypeError, ValueError):
        rows = np.zeros(())
    if rows.ndim not in (1, 2) or rows.shape[-1] != size or not np.all(np.isfinite(rows)):
        raise OptionError(
            f"multipliers must be ({size},) or (m, {size}) finite numbers, for changes of q and v "
            f"after the step, not {multipliers!r}"
        )
    tied = [joint.name for joint in sim.robot.loop_joints]
    tied += [coupling.joint for coupling in sim.robot.couplings]
    if tied:
        raise ModelError(
            "ties coordinates to each other, and second derivatives are for trees alone: take "
            "differences of linearize along what the constraints leave free",
            element=f"joint '{tied[0]}'",
        )
    linearizer = cast(Any, linearizer_of(sim, None, (), False))
    first, found = linearizer.second(sim, np.atleast_2d(rows), torques)
    return SecondDerivatives(first, found[0] if rows.ndim == 1 else found)
