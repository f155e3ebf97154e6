"""The methods of all simulations that take steps: `step`, `run` and `stream`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from robosim.control.controllers import Controller, resolve
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError, StateError
from robosim.formulation import StepInfo
from robosim.log import Chunk, Log
from robosim.log.channels import Also, channels_of
from robosim.simulation.driver import Driver, progress_bar
from robosim.simulation.loads import Held
from robosim.validation import Array, count, read_only

if TYPE_CHECKING:
    from robosim.dynamics.dynamics import Dynamics
    from robosim.rays.sensing import Samples

CHUNK_STEPS = 1000


class SimulationBase:
    """Methods that all formulations share; a `Driver` takes the steps."""

    robot: Mechanism
    engine: Any
    held: Held
    _driver: Driver
    _asked_for: tuple[Any, ...]  # options that must be equal for a state to be restored
    _dynamics: Dynamics | None = None

    @property
    def torques(self) -> Array:
        """Torques or forces of the last step, (nv,) [N m or N]; 0 before the first step."""
        raise NotImplementedError

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall (3,) [m/s^2], world, read-only."""
        raise NotImplementedError

    @property
    def timestep(self) -> float:
        """Length of a step [s]; another one needs another simulation."""
        return float(self.engine.timestep)

    @property
    def time(self) -> float:
        """Time of the present knot [s]."""
        return float(self.engine.time)

    @property
    def steps(self) -> int:
        """Steps done since the state was set."""
        return int(self.engine.counters.steps)

    @property
    def dynamics(self) -> Dynamics:
        """Dynamics in joint coordinates of this robot under this gravity, for controllers.

        Created at the first access, and cached.
        """
        if self._dynamics is None:
            # Imported here, as its kernels take a tenth of a second to import, and are rarely
            # needed.
            from robosim.dynamics.dynamics import Dynamics

            self._dynamics = Dynamics(self.robot, self.gravity)
        return self._dynamics

    def copy(self) -> Self:
        """An independent simulation of the same robot in the same state."""
        raise NotImplementedError

    def _alike(self) -> Self:
        """A simulation with the same attributes, the engine and loads of which are still shared."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {self.robot.name!r} at t = {self.time:.6g} s, "
            f"{self.steps} steps of {self.timestep:g} s>"
        )

    def __enter__(self) -> Self:
        """The simulation itself; nothing has to be closed."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Let errors propagate."""

    def set_controls(self, controls: ArrayLike) -> None:
        """Set controls of implicit actuators, until the next call or the next start.

        Parameters
        ----------
        controls : (number of actuators,)
            In the order of ``robot.actuators``: activations for actuators with activation
            dynamics, controls for the others, clipped to their ranges. Values of explicit
            actuators are ignored; `robosim.actuators.Drive` serves both.

        Raises
        ------
        StateError
            For a wrong shape or a value that is not finite.
        """
        self.held.act(controls)

    @property
    def controls(self) -> Array:
        """Controls or activations of implicit actuators (number of actuators,), else zero."""
        return read_only(self.held.controls)

    def is_like(self, other: object) -> bool:
        """Whether another simulation has the same Mechanism, one object, and equal options."""
        return (
            isinstance(other, type(self))
            and other.robot is self.robot
            and other._asked_for == self._asked_for
        )

    def check_alike(self, other: object) -> None:
        """Refuse a simulation whose state cannot be restored here; see `restore`."""
        if not self.is_like(other):
            raise StateError(
                f"a simulation can go to the state of a {type(self).__name__} of the same robot "
                "(one Mechanism for both), with the same timestep, gravity and options, not to "
                f"{other!r}"
            )

    def restore(self, other: Self) -> None:
        """Copy the state of another simulation of the same robot, for example of a `copy`.

        All further steps are bit-identical to those of the other simulation. In contrast,
        `set_state` resets contacts and guesses. Much faster than a new copy.

        Parameters
        ----------
        other : Simulation
            Of the same `Mechanism`, with the same timestep, gravity and options.

        Raises
        ------
        StateError
            If `other` has another robot or other options.
        """
        self._driver.refuse_if_busy()
        self.check_alike(other)
        if other is not self:
            self.engine.restore(other.engine, other.torques)
            self.held.control_by(None)
            self.held.release_servos()
            self._take_samples(other)

    def _take_samples(self, other: Self) -> None:
        """Continue with the samples of another simulation's sensors."""
        theirs = other._driver.samples
        if theirs is not None and theirs.keeps:
            self._samples().take(theirs)
        elif self._driver.samples is not None:
            self._driver.samples.forget()

    def _samples(self) -> Samples:
        raise NotImplementedError

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled, as compiled code refers to its memory: "
            "create another one in the other process, and pass q, v and time, or a file of "
            "Simulation.save"
        )

    def step(self, tau: ArrayLike | None = None) -> StepInfo:
        """Advance by one time step, with torques that are constant over the step.

        Parameters
        ----------
        tau : (nu,) joint torques, or (nv,) generalized forces, or None for none [N m, N]

        Raises
        ------
        ConvergenceError
            If the equations could not be solved; the state is not changed.
        ControllerError
            For a wrong shape or a value that is not finite.
        """
        # StepInfo(...) would take twice as long.
        return tuple.__new__(StepInfo, self._driver.step(tau))

    def run(
        self,
        seconds: float,
        controller: str | Controller | None = None,
        progress: bool = False,
        every: int = 1,
        also: str | Sequence[str] = (),
    ) -> Log:
        """Simulate for some time and return the log.

        Parameters
        ----------
        seconds : float [s]
        controller : callable(sim) -> torques (nu,) or a PD, or the name of a built-in one, or None
        progress : bool
            Whether to show a progress bar on stderr and, with an accuracy, the shortest interval.
        every : int
            Number of steps between samples of the log. The motion does not depend on it, but for
            steps to an accuracy: those that are not logged are taken together where the same acts
            over them. In maximal coordinates, without contacts and torques, steps that are not
            logged take two thirds of the time, as the velocities at their ends are not computed.
        also : str or sequence of str
            Further quantities to log, evaluated at the time of each sample: "sensors", "contacts",
            "frames", "joint_wrenches", or a single one, such as "frame:FR_foot". And "steps": the
            shortest interval, the estimated error and the events of the step that led to a sample,
            as in `StepInfo`. And "motors": currents, voltages and temperatures of a `DCMotor` in
            `Motors`. The motion does not depend on it. `Log.extra` contains the columns.

        Raises
        ------
        ConvergenceError, ControllerError
            If a step fails; the simulation keeps the state before that step.
        """
        chunks = []
        total = self._driver.steps_of(seconds)
        if total is None:
            raise OptionError("a run needs a finite time; `stream` has no such limit")
        before = self.steps
        with progress_bar(total, progress) as advance:
            for chunk in self.stream(seconds, controller, every=every, also=also):
                chunks.append(chunk)
                advance(self.steps - before)
                before = self.steps
        if progress:
            self._tell_sizes()
        return Log.from_chunks(self.robot, self.timestep * every, chunks, also)

    def _tell_sizes(self) -> None:
        """Print on stderr what steps to an accuracy have come to; nothing for other steps."""

    def stream(
        self,
        seconds: float,
        controller: str | Controller | None = None,
        chunk_steps: int | None = None,
        every: int = 1,
        also: str | Sequence[str] | Also = (),
    ) -> Iterator[Chunk]:
        """Simulate for some time, in chunks, with bounded memory for runs of any length.

        Parameters
        ----------
        seconds, controller : as for `run`; seconds may be infinite
        chunk_steps : int or None
            Steps per chunk, rounded up to a multiple of `every`.
        every, also : as for `run`
            An `Also` may be read less often.

        Yields
        ------
        Chunk
            Samples since the last chunk. If a step fails, the samples before it are yielded first.
        """
        left = self._driver.steps_of(seconds)
        control = None if controller is None else resolve(self.robot, controller, self.timestep)
        size = CHUNK_STEPS if chunk_steps is None else count("chunk_steps", chunk_steps)
        every = count("every", every)
        # Rows of chunks continue each other as if there were one chunk.
        size = -(-size // every) * every
        # All formulations inherit from this class.
        also = also if isinstance(also, Also) else Also(channels_of(self.robot, also))
        return self._driver.stream(self, control, size, left, every, also)  # type: ignore[arg-type]
