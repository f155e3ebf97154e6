"""Simulation of a mechanism: set a state, take steps, and get states, of joints and bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from numpy.typing import ArrayLike

from robosim.compiled.building.loops import is_tree_with_loops
from robosim.compiled.model import Model
from robosim.compiled.state import State
from robosim.control.controllers import Remembering
from robosim.description.mechanism import Mechanism
from robosim.description.units import units_of
from robosim.errors import ControllerError, OptionError, StateError
from robosim.formulation import StepInfo
from robosim.kinematics.motions import Motions
from robosim.runtime.notice import CompileNotice
from robosim.simulation import saved
from robosim.simulation.base import CHUNK_STEPS
from robosim.simulation.driver import Driver
from robosim.simulation.engine import FEWEST_IN_LANES, Engine
from robosim.simulation.knot import Knot
from robosim.simulation.loads import Held
from robosim.simulation.massless import simulated
from robosim.simulation.options import check_mechanism, check_velocity_limits, checked, usual_solver
from robosim.simulation.placing import place
from robosim.simulation.start import Start
from robosim.simulation.views import BodyState, GatheredState
from robosim.simulation.world_start import WorldStart
from robosim.simulation.worlds import Worlds
from robosim.validation import Array, count, positive

__all__ = ["CHUNK_STEPS", "FEWEST_IN_LANES", "BodyState", "Simulation", "StepInfo"]


class Simulation(Knot):
    """Steps a mechanism with the variational integrator.

    Parameters
    ----------
    robot : Mechanism
    timestep : float [s]
    gravity : (3,) [m/s^2], world
    accuracy : float [m] or None
        Largest error of any point of a body that is made per second of motion. Each step is then
        taken in as many intervals as this needs, and an interval ends wherever a contact or limit
        closes. Steps between logged knots may be taken together. See the guide "How accurate is my
        simulation?". By default a step is one interval. Not with lanes or derivatives.
    tolerance : float [m/s]
        Largest residual of the step equations. The residual of the dynamics is a velocity in the
        mass metric; that of joints and contacts is a violation divided by the timestep.
    contact_speed : float [m/s]
        Relaxation of closed contacts at which the interior point stops: the scale of their creep
        velocity, and of their gap divided by the timestep. A step that cannot be solved so, however
        it is divided, is solved with the `tolerance` in its place, if it can.
    friction_cone : str
        "second_order", the exact cone, or "linearized", a pyramid [Bruedigam2023, Eqs. 29d-f].
    friction_facets : int or None
        Facets of the linearized cone: even, 4 to 16; None for 4. Only for the linearized cone.
    restitution_threshold : float [m/s]
        Contacts with a lower approach speed do not rebound, for any `restitution`.
    max_iterations : int
        Newton iterations per attempt.
    max_substeps : int
        Largest number of equal substeps into which a step is divided if its equations cannot be
        solved. Above 1, each of these is then divided by itself, into as many.
    order : int
        2, or 4: a composition of seven steps of order two. Steps with active contacts or limits,
        or with implicit PD, have order two in any case, as `StepInfo.order` reports. With an
        accuracy that holds for each part of a step, and the report for all of them.
    solver : str or None
        "articulated" eliminates along the joints of a tree. Loops and couplings are supported if
        those that share joints have at most six equations. Without them, up to 16 contacts between
        bodies are supported. "ldu" solves any mechanism with all multipliers, and is slower. By
        default the former is used if it supports the robot, and the robot is no heap of loose
        bodies. If it cannot solve a step, as may happen with many stiff contacts, the latter takes
        2 steps, the next time 4, and so on.
    lanes : bool
        Compute the steps of `run` and `stream` with the four legs in SIMD lanes, if the robot has
        four similar limbs. A step takes about six tenths of the time, and the kernels are compiled
        once more, for half a minute. The motion is the same within the tolerance, but not
        bit-identical for runs that are divided differently.
    massless : "refuse" or "lock"
        Treatment of massless links whose motion is undetermined: an error, or locked in their home
        pose.
    impossible_inertia : "refuse" or "ball"
        Treatment of inertias that are not positive definite: an error, or replaced by that of a
        ball of water of the same mass.
    velocity_limits : bool
        Whether the `velocity_limit` of joints is enforced, by a force of any size along the
        coordinate. Then no entry of `v` of such a joint exceeds the limit. Driven joints follow
        their motions, regardless of the limit.

    islands : bool
        Whether units of a world that are apart are solved by themselves: robots, free bodies, and
        all that joints, springs and the like hold together. Each then moves as it would alone, to
        the last bit, and at the same cost. Units that come near each other are solved together.
    threads : int
        Number of threads that islands are shared among. The motion does not depend on it.
    sleep : float [s] or None
        Islands that have been at rest for so long take no steps any more. Another island that
        comes near wakes them, and so does a change of a torque, a wrench or a control. What a PD
        drives or a motion leads does not sleep. Rest is a speed below 1e-4 m/s of all points of
        all bodies, looked at after every 64 steps. By default nothing sleeps.

    Attributes
    ----------
    solver : str
        The solver in use; "ldu" if islands have different ones.
    lanes : bool
        Whether limbs are computed in SIMD lanes: if requested, and if the robot has similar limbs
        without torsional or rolling friction on the ground.
    steps, fourth_order_steps : int
        Number of steps since the state was set: all steps, and those of order four.
    order : int
    state : BodyState
        The bodies at the knot.
    engine, held, start : Engine, Held, Start
        Internal objects that take the steps, hold the loads and set the state. Like `parts`, they
        are for other modules of robosim, not for users, and may change.

    Raises
    ------
    OptionError
        For an option that is not allowed.
    ModelError
        For a robot that cannot be simulated as it is; see `massless` and `impossible_inertia`.
    """

    def __init__(
        self,
        robot: Mechanism,
        timestep: float = 1e-3,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        *,
        accuracy: float | None = None,
        tolerance: float = 1e-8,
        contact_speed: float = 1e-10,
        friction_cone: str = "second_order",
        friction_facets: int | None = None,
        max_iterations: int = 50,
        max_substeps: int = 64,
        order: int = 2,
        solver: str | None = None,
        lanes: bool = False,
        massless: str = "refuse",
        impossible_inertia: str = "refuse",
        velocity_limits: bool = False,
        restitution_threshold: float = 0.01,
        islands: bool = True,
        threads: int = 1,
        sleep: float | None = None,
    ) -> None:
        options, facets = checked(
            timestep,
            gravity,
            tolerance=tolerance,
            contact_speed=contact_speed,
            friction_cone=friction_cone,
            friction_facets=friction_facets,
            max_iterations=max_iterations,
            max_substeps=max_substeps,
            order=order,
            restitution_threshold=restitution_threshold,
            accuracy=accuracy,
        )
        check_mechanism(robot)
        robot = simulated(robot, massless, impossible_inertia)
        velocity_limits = bool(velocity_limits)
        if velocity_limits:
            check_velocity_limits(robot)
        if lanes and accuracy is not None:
            raise OptionError(
                "lanes=True is for steps that all limbs take at once: leave it out with an accuracy"
            )
        if sleep is not None:
            positive("sleep", sleep)
            if not islands or lanes:
                raise OptionError(
                    "sleep is of islands, outside of lanes: leave islands and lanes as they are by "
                    "default, or sleep out"
                )
        CompileNotice.install()
        apart = islands and (len(units_of(robot)) > 1 or sleep is not None)
        fits = solver != "articulated" or is_tree_with_loops(robot, velocity_limits)
        if solver not in (None, "ldu", "articulated") or not fits:
            raise OptionError(
                "solver must be 'ldu', or 'articulated' for trees without springs, tendons and "
                "soft solids, with either contacts between bodies or loops and couplings, where "
                f"those that share joints make no more than six equations, not {solver!r}"
            )
        self.robot = robot
        # Options that another simulation must share so that its state can be restored here.
        rest = [value for value in options if value is not options.gravity]
        self._asked_for = solver, facets, velocity_limits, options.gravity.tobytes(), *rest, sleep
        self._islands, self._sleep = bool(islands), None if sleep is None else float(sleep)
        engine: Engine | Worlds
        if apart:
            engine = Worlds(
                robot, facets, solver, options, velocity_limits, count("threads", threads),
                self._sleep,
            )  # fmt: skip
        else:
            used = solver or usual_solver(robot, velocity_limits)
            may_switch = solver is None and used == "articulated"
            engine = Engine(robot, facets, used, may_switch, options, lanes, velocity_limits)
        self._own(engine, Held(robot, engine.parts.loads))
        self.set_state()

    def _own(self, engine: Engine | Worlds, held: Held) -> None:
        """Make the objects that belong to this simulation alone."""
        self.engine, self.held = cast(Engine, engine), held
        self._motions = Motions(self.robot, self.timestep)
        self._driver = Driver(engine, held, self._motions)
        self.start: Start | WorldStart
        if isinstance(engine, Worlds):
            self.start = WorldStart(engine, held)
            self.state = GatheredState(engine)
        else:
            self.start = Start(engine, held, self._motions)
            self.state = BodyState(engine.parts.state)

    def place(self, q: ArrayLike | None = None, gap: float = 0.01) -> None:
        """Place the robot at rest, with its lowest contact a gap above the ground or an obstacle.

        Parameters
        ----------
        q : (nq,) or None
            Pose whose base height is changed; the robot's home pose if None.
        gap : float [m]

        Raises
        ------
        ModelError
            For a robot without a floating base.
        StateError
            As `set_state`, or if there is nothing below that the robot could touch.
        """
        place(self, q, gap)

    def copy(self, state: State | None = None) -> Simulation:
        """An independent simulation of the same robot in the same state.

        Steps of the copy are bit-identical to those of this simulation.

        Parameters
        ----------
        state : State or None
            Memory for its state, of the same sizes; new if None.
        """
        other = self._alike()
        engine = self.engine.copied(self.torques, state)
        other._own(engine, self.held.beside(engine.parts.loads))
        other._take_samples(self)
        return other

    def one_system(self) -> Simulation:
        """A copy that solves all units of a world together, whether they are apart or not."""
        worlds: Any = self.engine
        if not isinstance(worlds, Worlds):
            return self.copy()
        other = self._alike()
        other._islands, other._sleep = False, None
        engine = worlds.one_system()
        other._own(engine, Held(self.robot, engine.parts.loads))
        engine.restore(self.engine, self.torques)
        return other

    def with_robot(self, robot: Mechanism) -> Simulation:
        """A simulation of a robot that differs in numbers only, at home, with the same options."""
        other = self._alike()
        other.robot = robot
        engine = self.engine.with_robot(robot)
        other._own(engine, Held(robot, engine.parts.loads))
        other.set_state()
        return other

    def change(self, robot: Mechanism, model: Model) -> None:
        """Change to a robot that differs in numbers only, at the present q and v.

        Raises
        ------
        StateError
            If the other robot cannot be there, such as with a loop that does not close. The
            simulation then has its robot again, at the same q and v.
        """
        q, v, time = self.q, self.v, self.time
        before = self.robot, self.engine.model_at_home
        self._become(robot, model)
        try:
            self.set_state(q, v, time)
        except StateError:
            self._become(*before)
            self.set_state(q, v, time)
            raise

    def _become(self, robot: Mechanism, model: Model) -> None:
        """Have another robot, before a start."""
        engine = self.engine.changed(robot, model)
        self.robot, self._dynamics = robot, None
        self._own(engine, Held(robot, engine.parts.loads))

    def save(self, path: str | Path, controller: Remembering | None = None) -> None:
        """Write a checkpoint, for `load` in this or another process.

        The file contains neither the robot nor a controller, but for the memory of one.

        Parameters
        ----------
        path : str or Path
            File to write, which ends in .npz; an existing file is replaced.
        controller : Motors, Drive or None
            A controller whose memory is written as well: currents, temperatures, integrals,
            activations, delayed commands.

        Raises
        ------
        StateError
            For another suffix, or if the file cannot be written.
        ControllerError
            For a controller whose memory cannot be kept.
        """
        self._driver.refuse_if_busy()
        memory = None if controller is None else _with_memory(controller).memory()
        saved.save(self.engine, self.options, self.torques, path, memory)

    def load(self, path: str | Path, controller: Remembering | None = None) -> None:
        """Restore a checkpoint that `save` has written.

        All further steps are bit-identical to those of the saved simulation, on processors with
        the same rounding.

        Parameters
        ----------
        path : str or Path
            Checkpoint of a simulation of the same robot, with the same timestep, gravity and
            options, written by the same version of robosim.
        controller : Motors, Drive or None
            A controller of the same parts as the one that was saved, which continues from that
            memory.

        Raises
        ------
        StateError
            If the checkpoint has another robot, option or version, is damaged, or cannot be read,
            or has no memory for a controller. The simulation is then unchanged.
        ControllerError
            If the checkpoint has the memory of another controller. `Motors` then begin anew.
        """
        self._driver.refuse_if_busy()
        if controller is not None:
            _with_memory(controller)
        memory = saved.load(
            self.engine, self.options, self.copy().engine, path, controller is not None
        )
        if controller is not None:
            controller.recall(self, memory)
        self.held.control_by(None)
        self.held.release_servos()
        if self._driver.samples is not None:
            self._driver.samples.forget()

    @property
    def solver(self) -> str:
        """The solver in use."""
        return self.engine.solver

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of `Simulation`, without the robot, for an equal simulation."""
        solver, facets, velocity_limits, *_ = self._asked_for
        given = self.engine.parts.options
        names = "tolerance", "contact_speed", "max_iterations", "max_substeps", "order"
        return {
            "timestep": given.dt,
            "gravity": given.gravity,
            "accuracy": given.accuracy or None,
            **{name: getattr(given, name) for name in (*names, "restitution_threshold")},
            "friction_cone": "linearized" if facets else "second_order",
            "friction_facets": facets or None,
            "solver": solver,
            "lanes": self.lanes,
            "velocity_limits": velocity_limits,
            "islands": self._islands,
            "sleep": self._sleep,
        }

    @property
    def lanes(self) -> bool:
        """Whether limbs are computed in SIMD lanes; see the attributes of `Simulation`."""
        return self.engine.lanes is not None

    def set_state(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        time: float = 0.0,
        hold: Sequence[str] = (),
        signs: Mapping[str, float] | None = None,
    ) -> None:
        """Put the robot at joint coordinates q (nq,), moving at v (nv,).

        Driven joints are placed on their motions. Then configuration and velocities are projected
        onto closed loops and couplings, by the smallest change in the mass metric. So q and v need
        to be consistent only approximately; read the projected values from the simulation. If the
        projection violates a limit, a configuration near q is searched for that satisfies all
        limits.

        Loops can often be closed in several configurations. By default the one near q is used;
        `hold` and `signs` select one explicitly.

        The new state is a start: contact impulses are zero, and wrenches that were applied before
        are removed. To continue from the state of another simulation, or from an earlier state, use
        `copy` and `restore`.

        Parameters
        ----------
        q : (nq,) or None
            The robot's home pose if None.
        v : (nv,) or None
            At rest if None.
        time : float [s]
        hold : names of joints
            Joints whose coordinates are kept exactly as given while loops are closed, even beyond
            limits.
        signs : mapping of coordinate of the tree to 1 or -1, or None
            Required signs of coordinates, for example of an elbow that has to be bent outward.

        Raises
        ------
        StateError
            For a wrong shape, a value that is not finite, or a quaternion that is not unit. For
            loops that cannot be closed from there, or not within the limits, which are named.
        """
        self._driver.refuse_if_busy()
        self.start.at_coordinates(q, v, time, hold, signs)

    def set_body_state(
        self,
        x: ArrayLike,
        q: ArrayLike,
        v: ArrayLike | None = None,
        omega: ArrayLike | None = None,
        time: float = 0.0,
    ) -> None:
        """Put the bodies near the given poses and velocities, where all joints are satisfied.

        The bodies are moved by as little as possible in the mass metric.

        Parameters
        ----------
        x : (nb, 3) [m], centres of mass, world
        q : (nb, 4), orientations, body to world
        v : (nb, 3) [m/s] or None, velocities of the centres of mass, world axes
        omega : (nb, 3) [rad/s] or None, body axes
        time : float [s]

        Raises
        ------
        StateError
            For a wrong shape, a value that is not finite, or joints that cannot be satisfied.
        """
        self._driver.refuse_if_busy()
        self.start.at_bodies(x, q, v, omega, time)

    def motions_ahead(self, n: int) -> Array:
        """Values and rates of driven coordinates, now and at the next n knots, (n + 1, nd, 2)."""
        counters = self.engine.counters
        return self._motions.at(counters.start_time, counters.steps, n + 1)


def _with_memory(controller: Remembering) -> Remembering:
    """A controller with a memory, or else a ControllerError."""
    if not (hasattr(controller, "memory") and hasattr(controller, "recall")):
        raise ControllerError(
            f"Motors and a Drive have a memory for checkpoints, and {controller!r} has none"
        )
    return controller
