"""The engine that takes the steps of one simulation in joint coordinates."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.compiled.arrays import assign_all, copied
from robosim.compiled.minimal import RIQN, Loads, Minimal, Options, Tree, make_law, make_minimal
from robosim.compiled.records.minimal import TURN
from robosim.description.massless import without_inertia
from robosim.description.mechanism import Mechanism
from robosim.errors import StateError
from robosim.kernels.status import TURNS_FAR
from robosim.minimal.calls import Calls, calls_of
from robosim.minimal.closing import Closer
from robosim.runtime.handles import Handle
from robosim.simulation.alone import BUSY, Alone
from robosim.simulation.checkpoint import Counters
from robosim.simulation.diagnosis import not_finite, unsolved
from robosim.simulation.notices import Silence
from robosim.validation import Array

BODY = np.dtype([("x", "f8", (3,)), ("q", "f8", (4,)), ("v", "f8", (3,)), ("omega", "f8", (3,))])


SLOPES = (
    "integrator='riqn' does not know the slopes of forces: stiff servos and dampers and large "
    "timesteps want integrator='newton'."
)


class Engine(Alone):
    """Takes the steps of one simulation; see `robosim.simulation.driver.Stepped`.

    Parameters
    ----------
    robot : Mechanism
    model_of : function
        The Tree of a mechanism: of the robot, or one that differs from it in numbers only.
    options : Options

    Attributes
    ----------
    parts : Minimal
        The data that kernels work on.
    single : Handle
        Buffers of a run of one step.
    counters : Counters
    """

    single: Handle
    has_nodes = True

    def __init__(
        self, robot: Mechanism, model_of: Callable[[Mechanism], Tree], options: Options
    ) -> None:
        self.robot, self.model_of = robot, model_of
        self.counters = Counters()
        parts = make_minimal(model_of(robot), robot.nq, len(robot.bodies), options)
        # Runs also pass forces on the coordinates of joints that close loops; these are zero.
        rates = robot.v_offsets[-1]
        loads = parts.loads._replace(tau=np.zeros(rates))
        law = make_law(len(parts.work.x) - 1, robot.nq, robot.nv, rates)
        self._begin(parts._replace(loads=loads, work=parts.work._replace(law=law)))

    def _begin(self, parts: Minimal) -> None:
        self.parts = parts
        self.notices = Silence()
        self._closer = Closer(self.robot, self.timestep, self.gravity)
        self._handle = Handle(parts)
        self._unlock()

    def find_roots_by(self, method: int) -> None:
        """Use another method of `robosim.compiled.minimal`; RIQN for order two, without balls."""
        self.refuse_if_busy()
        self._begin(self.parts._replace(options=self.parts.options._replace(method=method)))

    def copied(self) -> Engine:
        """An engine in the same state, bit for bit."""
        self.refuse_if_busy()
        other = copy(self)
        other.counters = self.counters.copied(np.zeros(0))
        mine = self.parts
        state, loads, work = copied((mine.state, mine.loads, mine.work))
        other._begin(Minimal(mine.model, state, loads, work, mine.options))
        return other

    def restore(self, other: Engine, torques: Array) -> None:
        """Copy the state of another engine; `torques` (nv,) are those of its last step."""
        theirs, mine = other.parts, self.parts
        assign_all((theirs.state, theirs.loads, theirs.work), (mine.state, mine.loads, mine.work))
        self.counters.assign(other.counters.copied(torques))

    @property
    def calls(self) -> Calls:
        """Compiled entries for the address of `parts`."""
        return calls_of(self._handle.kind, self.single.kind)

    @property
    def address(self) -> int:
        """Address of `parts`, for compiled entries."""
        return self._handle.address

    @property
    def timestep(self) -> float:
        """Length of a step [s]."""
        return self.parts.options.dt

    @property
    def q(self) -> Array:
        """Joint coordinates (nq,) at the knot."""
        return self.parts.state.q

    @property
    def v(self) -> Array:
        """Joint velocities (nv,) at the knot."""
        return self.parts.state.v

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall (3,) [m/s^2], world."""
        return self.parts.model.gravity

    @property
    def loads(self) -> Loads:
        """Loads over the next steps."""
        return self.parts.loads

    def states(self) -> NDArray[np.void]:
        """The bodies at the knot, (nb,) BODY."""
        n = len(self.robot.bodies)
        axes = np.empty((n, 3, 3))
        bodies = np.zeros(n, dtype=BODY)
        x, v, omega = np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3))
        self.calls.bodies(self.address, x, axes, v, omega)
        bodies["x"], bodies["v"], bodies["omega"] = x, v, omega
        bodies["q"] = [quaternions.from_matrix(R) for R in axes]
        return bodies

    def start(self, q: Array, v: Array, time: float, hold: tuple[str, ...]) -> None:
        """Start near coordinates (nq,) and velocities (nv,), on loops and couplings.

        Raises
        ------
        ModelError
            If a coordinate moves no inertia; the state is then unchanged.
        StateError
            If loops cannot be closed, or velocities not be projected onto the constraints.
        """
        q, v = self._closer.close(q, v, hold)
        state = self.parts.state
        before = copied(state)
        state.q[:], state.v[:] = q, v
        if failed := self.calls.start(self.address):
            assign_all(before, state)
            if failed < 0:
                raise StateError("velocities cannot be projected: the mechanism is singular here")
            link = self.parts.model.segments[failed - 1]
            raise without_inertia(self.robot.v_names[int(link["v"])])
        self.parts.loads.external["w"] = 0.0
        self.counters.assign(Counters(time))

    def advance(self, run: Handle, begin: int, end: int) -> None:
        """Take steps `begin` to `end` of a run in compiled code."""
        if not self._stepping.acquire(False):
            raise StateError(BUSY)
        counters, infos, done = self.counters, run.values.infos, np.array([begin, 0])
        try:
            self.calls.run(self.address, run.address, done, end)
        finally:
            # An interrupt is raised when compiled code returns, with the steps that were done.
            reached = int(done[0])
            counters.steps += reached - begin
            counters.above_tolerance += int(done[1])
            if reached > begin:
                counters.last = infos, reached - 1
            self._stepping.release()
        if reached < end:
            raise self.failure(infos[reached])

    def act_by(self, law: int) -> None:
        """Let the compiled function at an address give torques at control points; 0 for none."""
        own = self.parts.work.law
        own.address[0] = law
        if not law:
            for values in (own.torques, own.stiffness, own.damping):
                values[:] = 0.0

    def violation(self) -> float:
        """The largest violation of a joint or coupling at the knot [m, sine of half an angle]."""
        rows, held = self.parts.model.constraints, self.parts.work.multipliers
        if rows is None or held is None:
            return 0.0
        # Rows of rotations are sines of the whole angle.
        return float(np.max(np.abs(held.open_by) * np.where(rows["kind"] == TURN, 0.5, 1.0)))

    def _hint(self, status: int) -> str:
        if status == TURNS_FAR:
            return "A body turns farther than a step follows: it needs a smaller timestep."
        return SLOPES if self.parts.options.method == RIQN else ""

    def failure(self, info: np.void) -> Exception:
        """The error to raise for a step that was not solved."""
        wrong = not_finite(self.robot, self.parts.loads.tau, self.time)
        return wrong or unsolved(self.robot, self.time, info, self._hint(int(info["status"])))
