"""Common parts of formulations in joint coordinates, which have no contacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.description.charts import check_on_chart
from robosim.errors import StateError
from robosim.formulation import Contact
from robosim.kinematics.given import check_time, checked, checked_pose
from robosim.kinematics.motions import Motions
from robosim.simulation.base import SimulationBase
from robosim.simulation.driver import Driver
from robosim.simulation.frames import Frames
from robosim.simulation.loads import Held, wrench_about
from robosim.simulation.readings import contact_positions
from robosim.simulation.views import BodyState
from robosim.validation import Array, read_only

if TYPE_CHECKING:
    from robosim.dynamics.dynamics import Dynamics


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
        `counters`), `loads`
        and `gravity`, `states()` for the bodies, `copied()` and `restore(other)`.
    """

    engine: Any
    held: Held
    _dynamics: Dynamics | None = None

    def _own(self, engine: Any, held: Held) -> None:
        """Make the objects that belong to this simulation alone."""
        self.engine, self.held = engine, held
        self._driver = Driver(engine, held, Motions(self.robot, engine.timestep))

    def _checked_start(
        self, q: ArrayLike | None, v: ArrayLike | None, time: float, hold: Sequence[str]
    ) -> tuple[Array, Array]:
        """Checked coordinates and velocities of a start; see `set_state`."""
        self._driver.refuse_if_busy()
        robot = self.robot
        at_home = q is None
        q = checked_pose(robot, "q", np.asarray(robot.home) if q is None else q)
        for start, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
            if joint.own_chart is not None and not at_home:
                check_on_chart(joint.own_chart, q[start : start + joint.nq], joint.name)
        v = checked("v", np.zeros(robot.nv) if v is None else v, robot.v_names)
        check_time(time)
        for name in hold:
            robot.joint_index(name)
        return q, v

    def copy(self) -> Self:
        """An independent simulation of the same robot in the same state.

        Steps of the copy are bit-identical to those of this simulation.
        """
        other = self._alike()
        engine = self.engine.copied()
        other._own(engine, self.held.beside(engine.loads))
        return other

    def restore(self, other: Self) -> None:
        """Copy the state of another simulation of the same robot, for example of a `copy`.

        Raises
        ------
        StateError
            If `other` has another robot or other options.
        """
        self._driver.refuse_if_busy()
        if not self.is_like(other):
            raise StateError(
                f"a simulation can go to the state of a {type(self).__name__} of the same robot "
                "(one Mechanism for both), with the same timestep, gravity and options, not to "
                f"{other!r}"
            )
        if other is not self:
            self.engine.restore(other.engine)
            self.held.control_by(None)
            self.held.release_servos()

    @property
    def timestep(self) -> float:
        """Length of a step [s]; another one needs another simulation."""
        return float(self.engine.timestep)

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall (3,) [m/s^2], world, read-only."""
        gravity: Array = self.engine.gravity
        return gravity

    @property
    def time(self) -> float:
        """Time of the present knot [s]."""
        return float(self.engine.time)

    @property
    def steps(self) -> int:
        """Steps done since the state was set."""
        return int(self.engine.counters.steps)

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
    def dynamics(self) -> Dynamics:
        """Dynamics in joint coordinates of this robot under this gravity, for controllers."""
        if self._dynamics is None:
            from robosim.dynamics.dynamics import Dynamics

            self._dynamics = Dynamics(self.robot, self.gravity)
        return self._dynamics

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

    def apply_wrench(
        self,
        body: str,
        force: ArrayLike = (0.0, 0.0, 0.0),
        torque: ArrayLike = (0.0, 0.0, 0.0),
        point: ArrayLike | None = None,
    ) -> None:
        """Apply a wrench to a body; see `robosim.Simulation.apply_wrench`."""
        index, frame = self.robot.body_or_frame(body)
        state = self.state
        x = state.x[index]
        if point is None:
            point = x + quaternions.rotation_matrix(state.q[index]) @ np.asarray(frame.position)
        self.engine.loads.external["w"][index] = wrench_about(x, force, torque, point)
