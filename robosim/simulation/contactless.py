"""Common parts of formulations in joint coordinates, which have no contacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.formulation import Contact
from robosim.kinematics.given import checked_start
from robosim.kinematics.motions import Motions
from robosim.simulation.base import SimulationBase
from robosim.simulation.driver import Driver
from robosim.simulation.frames import Frames
from robosim.simulation.loads import Held
from robosim.simulation.readings import contact_positions
from robosim.simulation.views import BodyState
from robosim.validation import Array, read_only


class Bodies(NamedTuple):
    """The arrays of a `BodyState`."""

    bodies: NDArray[np.void]  # (nb,) BODY
    q: Array
    v: Array


class Contactless(Frames, SimulationBase):
    """A formulation whose state is joint coordinates and velocities, without contacts.

    Attributes
    ----------
    engine : object
        The engine that takes the steps. The engine has the state (`q`, `v`, `time`, `timestep`,
        `counters`), `loads` and `gravity`, `states()` for the bodies, `start(q, v, time, hold)`,
        `copied()` and `restore(other, torques)`.
    """

    def _own(self, engine: Any, held: Held) -> None:
        """Make the objects that belong to this simulation alone."""
        self.engine, self.held = engine, held
        self._driver = Driver(engine, held, Motions(self.robot, engine.timestep))

    def set_state(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        time: float = 0.0,
        hold: Sequence[str] = (),
    ) -> None:
        """Put the robot at joint coordinates q (nq,), moving at v (nv,): a start.

        Loops and couplings are closed by small motions in the mass metric, and velocities are
        projected onto them. Driven joints are put onto their motions.

        Parameters
        ----------
        q : (nq,) or None
            The robot's home pose if None.
        v : (nv,) or None
            At rest if None.
        time : float [s]
        hold : names of joints
            Joints whose coordinates are kept exactly as given, also driven ones of a
            `ReducedSimulation`, which then approach their motions as its `baumgarte` determines.

        Raises
        ------
        StateError
            For a wrong shape, a value that is not finite, a quaternion that is not unit, or loops
            and couplings that cannot be closed.
        ModelError
            If a coordinate moves no inertia.
        """
        self._driver.refuse_if_busy()
        q, v = checked_start(self.robot, q, v, time, hold)
        self.engine.start(q, v, float(time), tuple(hold))

    def copy(self) -> Self:
        """An independent simulation of the same robot in the same state.

        Steps of the copy are bit-identical to those of this simulation.
        """
        other = self._alike()
        engine = self.engine.copied()
        other._own(engine, self.held.beside(engine.loads))
        return other

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall (3,) [m/s^2], world, read-only."""
        gravity: Array = self.engine.gravity
        return gravity

    @property
    def q(self) -> Array:
        """Joint coordinates (nq,), a read-only copy; angles count full turns."""
        return read_only(self.engine.q.copy())

    @property
    def v(self) -> Array:
        """Joint velocities (nv,) at the knot, a read-only copy."""
        return read_only(self.engine.v.copy())

    @property
    def torques(self) -> Array:
        """Torques or forces of the last step, (nv,) [N m or N]; 0 before the first step."""
        if self.steps == 0:
            return read_only(np.zeros(self.robot.nv))
        return read_only(self.held.given(self.engine.q, self.timestep))

    @property
    def state(self) -> BodyState:
        """The bodies at the knot, and joint coordinates; read-only copies."""
        return BodyState(self._bodies())  # type: ignore[arg-type]

    def _bodies(self) -> Bodies:
        return Bodies(self.engine.states(), self.q, self.v)

    @property
    def lanes(self) -> bool:
        """False: limbs are not computed in SIMD lanes."""
        return False

    def contact_positions(self) -> Array:
        """Where contacts that are ignored would touch, (nc, 3) [m], world."""
        return contact_positions(self.robot, self._bodies())  # type: ignore[arg-type]

    def contact_forces(self) -> Array:
        """Zero, (nc, 3) [N]: no contact acts."""
        return np.zeros((len(self.robot.contacts), 3))

    def contacts(self, ground: bool = True) -> list[Contact]:
        """None, as no contact acts."""
        return []
