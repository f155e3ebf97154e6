"""A mechanism in motion: state in, steps, state out, in joint coordinates and in bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.compiled.building.loops import is_tree_with_loops
from robosim.compiled.model import Model
from robosim.compiled.state import State
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError, StateError
from robosim.runtime.notice import CompileNotice
from robosim.simulation import saved
from robosim.simulation.engine import FEWEST_IN_LANES, Engine
from robosim.simulation.frames import Frames
from robosim.simulation.knot import Knot
from robosim.simulation.loads import Held, wrench_about
from robosim.simulation.massless import simulated
from robosim.simulation.motions import Motions
from robosim.simulation.options import check_velocity_limits, checked
from robosim.simulation.placing import place
from robosim.simulation.running import Running
from robosim.simulation.runs import CHUNK_STEPS, Runs
from robosim.simulation.start import Start
from robosim.simulation.step_info import StepInfo
from robosim.simulation.views import BodyState
from robosim.validation import Array

__all__ = ["CHUNK_STEPS", "FEWEST_IN_LANES", "BodyState", "Simulation", "StepInfo"]


class Simulation(Knot, Frames, Runs):
    """Steps a mechanism with the variational integrator.

    Parameters
    ----------
    robot : Mechanism
    timestep : float [s]
    gravity : (3,) [m/s^2], world
    tolerance : float [m/s]
        Largest residual of the step equations: of the dynamics as a velocity in the mass metric,
        of joints and contacts as a violation over the timestep.
    contact_speed : float [m/s]
        Scale of the velocity with which a resting contact creeps, and of its gap over the
        timestep: the interior point stops there.
    friction_cone : str
        "second_order", the exact cone, or "linearized", a polygon [Bruedigam2023, Eqs. 29d-f].
    friction_facets : int or None
        Facets of the linearized cone, and only of that, even, 4 to 16; None for 4.
    restitution_threshold : float [m/s]
        What approaches more slowly does not bounce, whatever its `restitution`, but stays.
    max_iterations : int
        Newton iterations per attempt.
    max_substeps : int
        Into how many parts at most a step is divided when its equations cannot be solved.
    order : int
        2, or 4: seven steps of order two, combined. While a contact or a limit is active, or
        with servos, steps are of order two all the same, and say so.
    solver : str or None
        "articulated" eliminates a tree along its joints, with loops and couplings, of which those
        that share joints make six equations at most; "ldu" any mechanism with all multipliers,
        more slowly. By default the former works on what it can, and
        where it cannot solve a step, as may happen with many stiff contacts, the latter goes on for
        2 steps, the next time for 4, and so on.
    lanes : bool
        Take steps of runs with all four legs side by side in the lanes of vector registers, where
        the robot has four limbs alike: in about six tenths of the time, for half a minute more of
        compiling the first time. The motion is the same as far as the tolerance goes, but no longer
        to the last bit however a run is divided.
    massless : "refuse" or "lock"
        What becomes of links without mass whose motion nothing determines: an error, or they stay
        where they are at home.
    impossible_inertia : "refuse" or "ball"
        What becomes of inertias that are not positive definite: an error, or that of a ball of
        water of the same mass.
    velocity_limits : bool
        Whether joints keep their `velocity_limit`, by whatever force along their coordinates that
        takes: no entry of `v` of such a joint is then beyond it. Driven joints are led by their
        motions, whatever the limit.

    Attributes
    ----------
    solver : str
        The one in use.
    lanes : bool
        Whether limbs are taken side by side: asked for, and the robot has them, without torsional
        or rolling friction on the ground.
    steps, fourth_order_steps : int
        Done since the state was set: all, and those of order four.
    order : int
    state : BodyState
        The bodies at the knot.
    engine, held, start : Engine, Held, Start
        What takes the steps, what acts over them, and what sets the state: for other modules of
        robosim, not for users, and free to change, as `parts` are.

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
        )
        if not isinstance(robot, Mechanism):
            raise OptionError(f"robot must be a Mechanism, as robosim.load gives it, not {robot!r}")
        robot = simulated(robot, massless, impossible_inertia)
        velocity_limits = bool(velocity_limits)
        if velocity_limits:
            check_velocity_limits(robot)
        CompileNotice.install()
        suits = is_tree_with_loops(robot, velocity_limits)
        if solver not in (None, "ldu", "articulated") or (solver == "articulated" and not suits):
            raise OptionError(
                "solver must be 'ldu', or 'articulated' for trees without point springs, tendons, "
                "contacts between bodies, and loops and couplings that share joints and make more "
                f"than six equations, not {solver!r}"
            )
        self.robot = robot
        # What another one has to share for this one to go on from its state.
        rest = [value for value in options if value is not options.gravity]
        self._asked_for = solver, facets, velocity_limits, options.gravity.tobytes(), *rest
        used = solver or ("articulated" if suits else "ldu")
        may_switch = solver is None and used == "articulated"
        engine = Engine(robot, facets, used, may_switch, options, lanes, velocity_limits)
        self._own(engine, Held(robot, engine.parts.loads))
        self.set_state()

    def _own(self, engine: Engine, held: Held) -> None:
        """Make what belongs to this simulation alone."""
        self.engine, self.held = engine, held
        self._motions = Motions(self.robot, self.timestep)
        self._running = Running(engine, held, self._motions)
        self.start = Start(engine, held, self._motions)
        self.state = BodyState(engine.parts.state)

    def place(self, q: ArrayLike | None = None, gap: float = 0.01) -> None:
        """Set the robot down at rest: its lowest contact a gap [m] above what it may touch.

        Parameters
        ----------
        q : (nq,) or None
            The robot's home pose if None; only the height of the base differs then.
        gap : float [m]

        Raises
        ------
        ModelError
            For a robot without a floating base.
        StateError
            As `set_state`, or where there is nothing below to touch.
        """
        place(self, q, gap)

    def copy(self, state: State | None = None) -> Simulation:
        """A simulation of the same robot in the same state that goes its own way.

        It takes the same steps as this one, to the last bit.

        Parameters
        ----------
        state : State or None
            Memory for its state, of the same sizes; new if None.
        """
        other = object.__new__(Simulation)
        other.__dict__.update(self.__dict__)
        engine = self.engine.copied(self.torques, state)
        other._own(engine, self.held.beside(engine.parts.loads))
        return other

    def with_robot(self, robot: Mechanism) -> Simulation:
        """A simulation of a robot that differs in numbers alone, at home, with the same options."""
        other = object.__new__(Simulation)
        other.__dict__.update(self.__dict__)
        other.robot = robot
        engine = self.engine.with_robot(robot)
        other._own(engine, Held(robot, engine.parts.loads))
        other.set_state()
        return other

    def change(self, robot: Mechanism, model: Model) -> None:
        """Be a simulation of a robot that differs in numbers alone, from the present q and v on."""
        q, v, time = self.q, self.v, self.time
        self.engine.change(robot, model)
        self.robot, self._dynamics = robot, None
        self._own(self.engine, Held(robot, self.engine.parts.loads))
        self.set_state(q, v, time)

    def restore(self, other: Simulation) -> None:
        """Go to the state of another simulation of the same robot; or back to a `copy`'s.

        From there it takes the same steps as the other, to the last bit, which `set_state` cannot
        promise: there contacts and guesses start anew. Much faster than a new copy.

        Parameters
        ----------
        other : Simulation
            Of the same `Mechanism`, with the same timestep, gravity and options.

        Raises
        ------
        StateError
            If it is of another robot, or has other options.
        """
        self._running.refuse_if_busy()
        self.check_alike(other)
        if other is self:
            return
        self.engine.restore(other.engine, other.torques)
        self.held.control_by(None)
        self.held.release_servos()

    def save(self, path: str | Path) -> None:
        """Write what this simulation goes on from, for `load` in this or another process.

        The file does not hold the robot, and holds no controller.

        Parameters
        ----------
        path : str or Path
            Ends in .npz; a file that is there is replaced.

        Raises
        ------
        StateError
            For another suffix, or if the file cannot be written.
        """
        self._running.refuse_if_busy()
        saved.save(self.engine, self.options, self.torques, path)

    def load(self, path: str | Path) -> None:
        """Go to the state that `save` has written, as `restore` does to another simulation's.

        From there it takes the same steps as the one that was saved, to the last bit, on a
        processor that rounds alike.

        Parameters
        ----------
        path : str or Path
            Of a simulation of the same robot, with the same timestep, gravity and options, by the
            same version of robosim.

        Raises
        ------
        StateError
            If it is of another robot, option or version, damaged, or cannot be read; the
            simulation then stays as it is.
        """
        self._running.refuse_if_busy()
        saved.load(self.engine, self.options, self.copy().engine, path)
        self.held.control_by(None)
        self.held.release_servos()

    def check_alike(self, other: object) -> None:
        """Refuse a simulation that this one cannot go on from; see `restore`."""
        if not self.is_like(other):
            raise StateError(
                "a simulation can go to the state of a Simulation of the same robot (one Mechanism "
                f"for both), with the same timestep, gravity and options, not to {other!r}"
            )

    @property
    def solver(self) -> str:
        """The solver in use."""
        return self.engine.solver

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of `Simulation`, without the robot, that make one like this."""
        solver, facets, velocity_limits, *_ = self._asked_for
        given = self.engine.parts.options
        names = "tolerance", "contact_speed", "max_iterations", "max_substeps", "order"
        return {
            "timestep": given.dt,
            "gravity": given.gravity,
            **{name: getattr(given, name) for name in (*names, "restitution_threshold")},
            "friction_cone": "linearized" if facets else "second_order",
            "friction_facets": facets or None,
            "solver": solver,
            "lanes": self.lanes,
            "velocity_limits": velocity_limits,
        }

    @property
    def lanes(self) -> bool:
        """Whether limbs are taken side by side: asked for, and the robot has them."""
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

        Driven joints are put where their motions are. Closed loops and couplings are then
        satisfied by moving the bodies by as little as possible in the mass metric, and their
        velocities likewise: q and v need to be
        consistent only roughly, and what became of them is read from the simulation. Where that
        leads beyond a limit, a pose near q is searched for that keeps all limits.

        Loops can often be assembled in several ways. Which one it is to be, q says as a guess,
        and `hold` and `signs` say for certain.

        This is a start: nothing has pushed yet, and wrenches that were applied before are taken
        away. To go on from the state of another simulation, or back to an earlier one, as if
        nothing had come in between, there are `copy` and `restore`.

        Parameters
        ----------
        q : (nq,) or None
            The robot's home pose if None.
        v : (nv,) or None
            At rest if None.
        time : float [s]
        hold : names of joints
            Their coordinates are kept exactly as given while loops are closed, limits or not.
        signs : mapping of coordinate of the tree to 1 or -1, or None
            On which side of zero coordinates are to be, as an elbow that is to be bent outward.

        Raises
        ------
        StateError
            For a wrong shape, a value that is not finite, a quaternion that is not unit, or loops
            that cannot be closed from there, or not within the limits, which are named.
        """
        self._running.refuse_if_busy()
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
        self._running.refuse_if_busy()
        self.start.at_bodies(x, q, v, omega, time)

    def motions_ahead(self, n: int) -> Array:
        """Values and rates of the driven coordinates now and at n knots to come, (n + 1, nd, 2)."""
        counters = self.engine.counters
        return self._motions.at(counters.start_time, counters.steps, n + 1)

    def apply_wrench(
        self,
        body: str,
        force: ArrayLike = (0.0, 0.0, 0.0),
        torque: ArrayLike = (0.0, 0.0, 0.0),
        point: ArrayLike | None = None,
    ) -> None:
        """Push a body from now on, until another wrench is applied to it, or a start is set.

        Parameters
        ----------
        body : str
            Or another frame, such as a link that was merged into a body: pushes the body that
            has the frame, which holds one wrench, the last one.
        force : (3,) [N], world axes
        torque : (3,) [N m], world axes
        point : (3,) [m] or None
            Where the force acts now, world coordinates; if None, at the body's centre of mass, or
            at the frame's origin. The wrench is held as it is over the following steps, however
            the body moves.

        Raises
        ------
        ModelError
            If there is no such body or frame.
        StateError
            For a wrong shape or a value that is not finite.
        """
        (index, frame), parts = self.robot.body_or_frame(body), self.parts
        x, q = (parts.state.bodies[which][index] for which in "xq")
        if point is None:
            point = x + quaternions.rotation_matrix(q) @ np.asarray(frame.position)
        parts.loads.external["w"][index] = wrench_about(x, force, torque, point)
