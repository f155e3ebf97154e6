"""A mechanism in motion in its joint coordinates."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.compiled.building.segments import compile_tree
from robosim.compiled.minimal import (
    ACCELERATION,
    EULER,
    GALERKIN,
    NEWTON,
    POSITION,
    RIQN,
    VELOCITY,
    Options,
)
from robosim.description.charts import check_on_chart
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError, StateError
from robosim.minimal.closing import Closer
from robosim.minimal.engine import BODY, Engine
from robosim.minimal.refusals import check_integrator, check_robot
from robosim.runtime.notice import CompileNotice
from robosim.simulation.frames import Frames
from robosim.simulation.given import check_time, checked, checked_pose
from robosim.simulation.loads import Held, wrench_about
from robosim.simulation.motions import Motions
from robosim.simulation.readings import Contact, contact_positions
from robosim.simulation.running import Running
from robosim.simulation.runs import Runs
from robosim.simulation.views import BodyState
from robosim.validation import Array, count, finite, read_only

if TYPE_CHECKING:
    from robosim.minimal.linearization import MinimalLinearizer
    from robosim.simulation.dynamics import Dynamics

METHODS = {"riqn": RIQN, "newton": NEWTON, "galerkin": GALERKIN}
GUESSES = {
    "position": POSITION,
    "velocity": VELOCITY,
    "euler": EULER,
    "acceleration": ACCELERATION,
}
HIGHEST = 12  # order that is offered


class Bodies(NamedTuple):
    """What a `BodyState` is of."""

    bodies: NDArray[np.void]  # (nb,) BODY
    q: Array
    v: Array


class MinimalSimulation(Frames, Runs):
    """Steps a tree with variational integrators in joint coordinates, O(n) in its joints.

    It has no contacts, limits, dry friction, motions or tendons: it refuses them by name. What it
    has are gravity, held wrenches and drag of bodies, springs, dampers, potentials, rotors, held
    torques and servos of joints. Integrators of order 2 but "riqn" have loops and couplings, by
    multipliers [Fan2018, Section 3.3], O(m n + m^3) for m of them.

    Parameters
    ----------
    robot : Mechanism
    timestep : float [s]
    gravity : (3,) [m/s^2], world
    integrator : str
        "newton" and "riqn" find the root of the same equations, of second order on the group SE(3)
        [Lee2016]: by Newton's method with the exact derivative, or by the inverse of the mass
        matrix in its place. "galerkin" is of any even order [Fan2018].
    order : int
        2, and of "galerkin" any even one, at most 12.
    guess : str
        Where iterations begin: "position", where the robot is (IG1 of [Lee2016]); "velocity", from
        there by its velocity (IG2); "euler", by the velocity of a semi-implicit step (IG3);
        "acceleration", by half of the acceleration, which is the nearest.
    tolerance : float [m/s]
        Largest residual: an impulse along a coordinate as a velocity, of the inertia that hangs on
        this and of the mass beyond it. Where that is less than rounding leaves of the equations'
        terms, as in long chains, what rounding leaves.
    max_iterations : int
    ignore : names among "contacts", "limits", "friction"
        What the robot has and this simulation leaves out.
    drag : mapping of names of bodies to (6, 6), or None
        Wrench = -drag twist, of (velocity, angular velocity) of the centre of mass in body axes,
        [N s/m], [N m s/rad] and so on.

    Attributes
    ----------
    robot : Mechanism
    integrator : str
    order : int
    engine : Engine
        What takes the steps: for other modules of robosim, and free to change.

    Raises
    ------
    OptionError
        For an option that is not allowed.
    ModelError
        For what the robot has and this simulation does not take; see `ignore`.
    """

    def __init__(
        self,
        robot: Mechanism,
        timestep: float = 1e-3,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        *,
        integrator: str = "newton",
        order: int = 2,
        guess: str = "acceleration",
        tolerance: float = 1e-10,
        max_iterations: int = 50,
        ignore: Collection[str] = (),
        drag: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        for name, value in (("timestep", timestep), ("tolerance", tolerance)):
            if not (isinstance(value, Real) and np.isfinite(value) and value > 0):
                raise OptionError(f"{name} must be a positive number, not {value!r}")
        for name, choice, known in (
            ("integrator", integrator, METHODS),
            ("guess", guess, GUESSES),
        ):
            if choice not in known:
                raise OptionError(f"{name} must be one of {', '.join(known)}, not {choice!r}")
        order = count("order", order)
        if order % 2 or order > HIGHEST or (order != 2 and integrator != "galerkin"):
            raise OptionError(
                f"order must be 2, or with integrator='galerkin' even and at most {HIGHEST}, "
                f"not {order}"
            )
        weight = finite(gravity, (3,))
        if weight is None:
            raise OptionError(f"gravity must be three finite numbers, not {gravity!r}")
        if not isinstance(robot, Mechanism):
            raise OptionError(f"robot must be a Mechanism, as robosim.load gives it, not {robot!r}")
        check_robot(robot, ignore)
        check_integrator(robot, integrator, order)
        drags = drags_of(robot, drag or {})
        CompileNotice.install()
        self.robot, self.integrator, self.order = robot, integrator, order
        stages = order // 2 if integrator == "galerkin" else None
        options = Options(
            float(timestep),
            float(tolerance),
            count("max_iterations", max_iterations),
            METHODS[integrator],
            GUESSES[guess],
        )
        model_of = partial(compile_tree, gravity=weight, drags=drags, stages=stages)
        # What another one has to share for this one to go on from its state.
        numbers = {name: value.tobytes() for name, value in drags.items()}
        self._asked_for = options, order, weight.tobytes(), numbers
        self._dynamics: Dynamics | None = None
        engine = Engine(robot, model_of, options)
        self._own(engine, Held(robot, engine.parts.loads))  # type: ignore[arg-type]
        self.set_state()

    def _own(self, engine: Engine, held: Held) -> None:
        """Make what belongs to this simulation alone."""
        self.engine, self.held = engine, held
        self._closer = Closer(self.robot, engine.timestep, self.gravity)
        self._running = Running(engine, held, Motions(self.robot, engine.timestep))

    def set_state(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        time: float = 0.0,
        hold: Sequence[str] = (),
    ) -> None:
        """Put the robot at joint coordinates q (nq,), moving at v (nv,): a start.

        Loops and couplings are closed by the smallest motion in the mass metric, as by
        `robosim.Simulation.set_state`, and velocities are projected onto them.

        Parameters
        ----------
        q : (nq,) or None
            The robot's home pose if None.
        v : (nv,) or None
            At rest if None.
        time : float [s]
        hold : names of joints
            Kept exactly as given; without loops and couplings all are.

        Raises
        ------
        StateError
            For a wrong shape, a value that is not finite, a quaternion that is not unit, or loops
            and couplings that cannot be closed.
        ModelError
            Where a coordinate moves nothing that has inertia.
        """
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
        q, v = self._closer.close(q, v, hold)
        self.engine.start(q, v, float(time))

    def copy(self) -> MinimalSimulation:
        """A simulation of the same robot in the same state that goes its own way.

        It takes the same steps as this one, to the last bit.
        """
        other = object.__new__(MinimalSimulation)
        other.__dict__.update(self.__dict__)
        engine = self.engine.copied()
        other._own(engine, self.held.beside(engine.parts.loads))  # type: ignore[arg-type]
        return other

    def restore(self, other: MinimalSimulation) -> None:
        """Go to the state of another simulation of the same robot; or back to a `copy`'s.

        Raises
        ------
        StateError
            If it is of another robot, or has other options.
        """
        self._running.refuse_if_busy()
        if not self.is_like(other):
            raise StateError(
                "a simulation can go to the state of a MinimalSimulation of the same robot (one "
                "Mechanism for both), with the same timestep, gravity and options, not to "
                f"{other!r}"
            )
        if other is not self:
            self.engine.restore(other.engine)
            self.held.control_by(None)
            self.held.release_servos()

    @property
    def timestep(self) -> float:
        """Length of a step [s]; another one needs another simulation."""
        return self.engine.timestep

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall (3,) [m/s^2], world, read-only."""
        return self.engine.parts.model.gravity

    @property
    def time(self) -> float:
        """Time of the present knot [s]."""
        return self.engine.time

    @property
    def steps(self) -> int:
        """Steps done since the state was set."""
        return self.engine.counters.steps

    @property
    def q(self) -> Array:
        """Joint coordinates (nq,), a read-only copy; angles go on over turns."""
        return read_only(self.engine.parts.state.q.copy())

    @property
    def v(self) -> Array:
        """Joint velocities (nv,) at the knot, a read-only copy."""
        return read_only(self.engine.parts.state.v.copy())

    @property
    def p(self) -> Array:
        """Momenta (nv,) conjugate to v, ``M(q) v`` [N s, N m s], a read-only copy: the state."""
        return read_only(self.engine.parts.state.p.copy())

    @property
    def torques(self) -> Array:
        """What drove the joints in the last step, (nv,) [N m or N]; 0 before the first."""
        if self.steps == 0:
            return read_only(np.zeros(self.robot.nv))
        return read_only(self.held.given(self.engine.parts.state.q, self.timestep))

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
        return BodyState(Bodies(self._bodies(), self.q, self.v))  # type: ignore[arg-type]

    def _bodies(self) -> NDArray[np.void]:
        n, engine = len(self.robot.bodies), self.engine
        axes = np.empty((n, 3, 3))
        bodies = np.zeros(n, dtype=BODY)
        x, v, omega = np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3))
        engine.calls.bodies(engine.address, x, axes, v, omega)
        bodies["x"], bodies["v"], bodies["omega"] = x, v, omega
        bodies["q"] = [quaternions.from_matrix(R) for R in axes]
        return bodies

    def energy(self) -> float:
        """Kinetic and potential energy at the knot [J], of bodies, rotors and springs.

        The potential of gravity is zero at the world's origin.
        """
        return float(self.engine.calls.energy(self.engine.address))

    def momentum(self) -> tuple[Array, Array]:
        """Linear [kg m/s] and angular [kg m^2/s] momentum at the knot, about the world's origin."""
        out = np.empty(6)
        self.engine.calls.momentum(self.engine.address, out)
        return out[:3].copy(), out[3:].copy()

    @property
    def lanes(self) -> bool:
        """False: limbs are not taken side by side."""
        return False

    @property
    def fourth_order_steps(self) -> int:
        """Steps of order four, as `robosim.Simulation` counts them."""
        return self.steps if self.order == 4 else 0

    def contact_positions(self) -> Array:
        """Where contacts that are ignored would touch, (nc, 3) [m], world."""
        return contact_positions(self.robot, Bodies(self._bodies(), self.q, self.v))  # type: ignore[arg-type]

    def contact_forces(self) -> Array:
        """Zero, (nc, 3) [N]: no contact acts."""
        return np.zeros((len(self.robot.contacts), 3))

    def contacts(self, ground: bool = True) -> list[Contact]:
        """None, as no contact acts."""
        return []

    def constraint_violation(self) -> float:
        """Largest violation of a loop or coupling at the knot [m, or the sine of half an angle].

        Zero for a tree: joints are held by the choice of coordinates.
        """
        return self.engine.violation()

    def linearizer(
        self, contact_speed: float | None, parameters: tuple[str, ...], pd: bool
    ) -> MinimalLinearizer:
        """What `robosim.linearize` takes derivatives by, for all simulations that are like it.

        Raises
        ------
        OptionError
            For a contact_speed, and for parameters of contacts and dry friction, which are not
            part of the equations.
        ModelError
            For a robot with loops or couplings.
        """
        from robosim.minimal.linearization import MinimalLinearizer, check_derivatives

        check_derivatives(self.robot, contact_speed, parameters)
        return MinimalLinearizer(self.engine, self.held, parameters, pd)

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
        self.engine.parts.loads.external["w"][index] = wrench_about(x, force, torque, point)


def drags_of(robot: Mechanism, drag: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Drags by names of bodies, checked."""
    found = {}
    for name, value in drag.items():
        array = finite(value, (6, 6))
        if array is None:
            raise OptionError(f"drag of body '{name}' must be (6, 6) finite numbers, not {value!r}")
        found[robot.bodies[robot.body_index(name)].name] = array
    return found
