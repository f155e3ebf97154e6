"""What formulations in joint coordinates have in common, in which contacts do not act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.description.charts import check_on_chart
from robosim.errors import StateError
from robosim.simulation.frames import Frames
from robosim.simulation.given import check_time, checked, checked_pose
from robosim.simulation.loads import Held, wrench_about
from robosim.simulation.motions import Motions
from robosim.simulation.readings import Contact, contact_positions
from robosim.simulation.running import Running
from robosim.simulation.runs import Runs
from robosim.simulation.views import BodyState
from robosim.validation import Array, read_only

if TYPE_CHECKING:
    from robosim.simulation.dynamics import Dynamics


class Bodies(NamedTuple):
    """What a `BodyState` is of."""

    bodies: NDArray[np.void]  # (nb,) BODY
    q: Array
    v: Array


class Contactless(Frames, Runs):
    """A formulation whose state is joint coordinates and velocities, without contacts.

    Attributes
    ----------
    engine : object
        What takes the steps. It has the state (`q`, `v`, `time`, `timestep`, `counters`), `loads`
        and `gravity`, `states()` for the bodies, `copied()` and `restore(other)`.
    """

    engine: Any
    held: Held
    _dynamics: Dynamics | None = None

    def _own(self, engine: Any, held: Held) -> None:
        """Make what belongs to this simulation alone."""
        self.engine, self.held = engine, held
        self._running = Running(engine, held, Motions(self.robot, engine.timestep))

    def _checked_start(
        self, q: ArrayLike | None, v: ArrayLike | None, time: float, hold: Sequence[str]
    ) -> tuple[Array, Array]:
        """Coordinates and velocities of a start as it is asked for; see `set_state`."""
        self._running.refuse_if_busy()
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
        """A simulation of the same robot in the same state that goes its own way.

        It takes the same steps as this one, to the last bit.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        engine = self.engine.copied()
        other._own(engine, self.held.beside(engine.loads))
        return other

    def restore(self, other: Self) -> None:
        """Go to the state of another simulation of the same robot; or back to a `copy`'s.

        Raises
        ------
        StateError
            If it is of another robot, or has other options.
        """
        self._running.refuse_if_busy()
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
        """Joint coordinates (nq,), a read-only copy; angles go on over turns."""
        return read_only(self.engine.q.copy())

    @property
    def v(self) -> Array:
        """Joint velocities (nv,) at the knot, a read-only copy."""
        return read_only(self.engine.v.copy())

    @property
    def torques(self) -> Array:
        """What drove the joints in the last step, (nv,) [N m or N]; 0 before the first."""
        if self.steps == 0:
            return read_only(np.zeros(self.robot.nv))
        return read_only(self.held.given(self.engine.q, self.timestep))

    @property
    def dynamics(self) -> Dynamics:
        """Dynamics in joint coordinates of this robot under this gravity, for controllers."""
        if self._dynamics is None:
            from robosim.simulation.dynamics import Dynamics

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
        """False: limbs are not taken side by side."""
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
        """Push a body from now on; see `robosim.Simulation.apply_wrench`."""
        index, frame = self.robot.body_or_frame(body)
        state = self.state
        x = state.x[index]
        if point is None:
            point = x + quaternions.rotation_matrix(state.q[index]) @ np.asarray(frame.position)
        self.engine.loads.external["w"][index] = wrench_about(x, force, torque, point)
