"""Read-only views of the data of a simulation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.memory import FACTORED
from robosim.compiled.state import State
from robosim.runtime.handles import Parts
from robosim.validation import Array


class BodyState:
    """Bodies at the knot, read-only views in the order of ``robot.bodies``.

    Attributes
    ----------
    x : (nb, 3) [m], centres of mass, world
    q : (nb, 4), orientations, body to world
    v : (nb, 3) [m/s], velocities of the centres of mass, world axes
    omega : (nb, 3) [rad/s], angular velocities, body axes
    joint_q, joint_v
        The same in joint coordinates: the nq and nv of the tree, then those of joints that close
        loops, then the lengths of springs between points, and of tendons.
    """

    def __init__(self, state: State) -> None:
        self.x = view_of(state.bodies["x"])
        self.q = view_of(state.bodies["q"])
        self.v = view_of(state.bodies["v"])
        self.omega = view_of(state.bodies["omega"])
        self.joint_q = view_of(state.q)
        self.joint_v = view_of(state.v)

    def __repr__(self) -> str:
        return f"<BodyState of {len(self.x)} bodies>"


class GatheredState(BodyState):
    """Bodies of a world in islands: views that are brought up to date when they are read here."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        super().__init__(engine.parts.state)

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_"):
            object.__getattribute__(self, "_engine").refresh()
        return object.__getattribute__(self, name)


class LastStep(NamedTuple):
    """Results of the last step: read-only views, valid until the next step.

    Records are those of `robosim.compiled.records`, in the order of the model. After a step with
    substeps, or of order four, they are those of the last interval.

    Attributes
    ----------
    interval : float [s]
        Length of the last interval.
    velocities : (nb, 6), of centres of mass [m/s] and angular ones, over the interval
    impulses : (nj,) JOINT_STATE, whose ``impulse`` is that of the joint's constraints at the knot
    active : (nc,) 1 for contacts in the equations, 0 for the others
    contacts : (nc,) CONTACT_GUESS, forces and slacks of these contacts
    directions : (nj,) DIRECTIONS, Jacobians of the joints at the knot
    tree : (nb + 1,) TREE_WORK or None
        Factors of the articulated solver; None of the other one.
    blocks : (n,) BLOCK, factors of the solver with multipliers, in the order of its graph
    factored : bool
        Whether the factors are those at the velocities of the knot, or of an iterate before.
    """

    interval: float
    velocities: Array
    impulses: NDArray[np.void]
    active: NDArray[np.int64]
    contacts: NDArray[np.void]
    directions: NDArray[np.void]
    tree: NDArray[np.void] | None
    blocks: NDArray[np.void]
    factored: bool


def last_step(parts: Parts) -> LastStep:
    """Views of the results of the last step, in the parts that it used."""
    state, guesses, system = parts.state, parts.memory.guesses, parts.memory.system
    return LastStep(
        float(state.last_dt[0]),
        view_of(state.bodies["v_mid"]),
        view_of(state.joints),
        view_of(guesses.active),
        view_of(guesses.contacts),
        view_of(system.directions),
        view_of(system.tree) if len(system.tree) else None,
        view_of(system.blocks),
        bool(system.valid[FACTORED]),
    )


def view_of(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view of an array."""
    view = array.view()
    view.setflags(write=False)
    return view
