"""A mechanism in motion by the formulation of [Sueda], REDMAX."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError
from robosim.formulation import Contact
from robosim.minimal.simulation import drags_of
from robosim.reduced.constraints import Drive
from robosim.reduced.engine import Engine, Options
from robosim.reduced.model import Model
from robosim.reduced.point_force import PointForce
from robosim.reduced.readings import contacts_at, meetings_at
from robosim.reduced.refusals import check_robot
from robosim.reduced.resisting import CONTACTS, NEAR
from robosim.simulation.contactless import Contactless
from robosim.simulation.loads import Held
from robosim.simulation.options import check_mechanism
from robosim.validation import Array, check_choice, positive, read_only, vector

METHODS = ("euler", "adaptive")
COORDINATES = ("reduced", "maximal")
FINEST = 1e-13  # tolerance below which rounding errors dominate
TOLERANCES = {"euler": 1e-6, "adaptive": 1e-9}


class ReducedSimulation(Contactless):
    """REDMAX: reduced coordinates with the Jacobian of maximal coordinates [Sueda].

    A slow reference in plain numpy, to test other formulations. Supported loads are gravity, point
    forces, drag, constant wrenches, torques and implicit PD. Springs, dampers and potentials act
    in joints and between points. Supported constraints are loops, gears, driven joints and bodies,
    limits, and contacts. Bearings of joints are supported with "euler" in reduced coordinates
    [Sueda, Alg. 8].

    Parameters
    ----------
    robot : Mechanism
    timestep : float [s]
    gravity : (3,) [m/s^2], world
    method : str
        "euler" is linearly implicit Euler, of first order, with all stiffness and damping in its
        matrix [Sueda, Eq. 2.79]. "adaptive" integrates accelerations (2.21) by DOP853 of
        `scipy.integrate.solve_ivp`, from each knot to the next.
    coordinates : str
        "reduced", or "maximal" with joints as constraints [Sueda, Eqs. 1.28 to 1.30, 1.73], which
        drift; with "euler" only.
    contacts : str or None
        Solver for contacts, with "euler": of contact points with the ground, and of shapes with
        obstacles and with each other. "single" solves normal and friction forces in one problem
        [Sueda, Eq. 1.88], which lifts and slows down sliding bodies. "staggered" alternates
        between normal forces and friction [Sueda, Alg. 7]. None: no contacts. A contact is active
        if it is closed at the beginning of a step. Impacts are without restitution. Friction
        depends on the direction of the slip. One tangent is the x axis of the world, projected onto
        the plane of contact. If the normal is nearly along x, the y axis takes its place. Along
        this tangent and across it, friction is mu times the normal force. On the diagonals friction
        is sqrt(2) times as much with "staggered", and 1 / sqrt(2) times as much with "single". In
        `robosim.Simulation` friction is the same in all directions.
    baumgarte : float or None [1/s]
        alpha = beta = gamma of [Sueda, Eq. 1.82], the rate at which errors of loops, driven joints
        and limits are corrected. None: no correction; driven joints then follow their motions
        exactly.
    tolerance : float or None
        For "adaptive", relative and absolute error; 1e-9 if None. For "euler", relative change of
        the reactions at which staggered projections have converged; 1e-6 if None.
    ignore : names among "contacts", "limits", "friction"
        Elements of the robot that this simulation ignores. "friction" includes bearings.
    drag : mapping of names of bodies to (6, 6), or None
        Wrench = -drag twist, as of `robosim.MinimalSimulation` [Sueda, Sect. 1.9.1].
    forces : sequence of PointForce
    explicit : names of springs between points and of forces
        Elements that are treated explicitly, without stiffness and damping in the matrix of
        "euler".

    Attributes
    ----------
    robot : Mechanism
    method, coordinates : str
    engine : Engine
        Internal: takes the steps. For other modules of robosim, and may change.

    Raises
    ------
    OptionError
        For an option that is not allowed.
    ModelError
        For elements of the robot that are not supported; see `ignore`.
    """

    def __init__(
        self,
        robot: Mechanism,
        timestep: float = 1e-3,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        *,
        method: str = "euler",
        coordinates: str = "reduced",
        contacts: str | None = None,
        baumgarte: float | None = None,
        tolerance: float | None = None,
        ignore: Collection[str] = (),
        drag: Mapping[str, ArrayLike] | None = None,
        forces: Sequence[PointForce] = (),
        explicit: Collection[str] = (),
    ) -> None:
        check_choice("method", method, METHODS)
        check_choice("coordinates", coordinates, COORDINATES)
        if contacts is not None and contacts not in CONTACTS:
            raise OptionError(f"contacts must be {', '.join(CONTACTS)} or None, not {contacts!r}")
        if contacts is not None and method != "euler":
            raise OptionError(f"contacts={contacts!r} is for method='euler', not {method!r}")
        if contacts is not None and "contacts" in ignore:
            raise OptionError(f"contacts={contacts!r} and ignore=('contacts',) exclude each other")
        if tolerance is None:
            tolerance = TOLERANCES[method]
        timestep, tolerance = positive("timestep", timestep), positive("tolerance", tolerance)
        if baumgarte is not None:
            positive("baumgarte", baumgarte)
        if tolerance < FINEST:
            raise OptionError(f"tolerance must be at least {FINEST:g}, not {tolerance!r}")
        if coordinates == "maximal" and method != "euler":
            raise OptionError("coordinates='maximal' is for method='euler'")
        weight = vector("gravity", gravity)
        check_mechanism(robot)
        check_robot(robot, ignore, method, coordinates, contacts)
        drags = np.zeros((len(robot.bodies), 6, 6))
        for name, matrix in drags_of(robot, drag or {}).items():
            drags[robot.body_index(name)] = matrix
        forces = _checked_forces(robot, forces, explicit)
        self.robot, self.method, self.coordinates = robot, method, coordinates
        self.baumgarte = baumgarte
        limited, rubbing = "limits" not in ignore, "friction" not in ignore
        model = Model(
            robot, read_only(weight), drags, forces, tuple(explicit), baumgarte, limited, contacts,
            tolerance, rubbing,
        )  # fmt: skip
        options = Options(timestep, method, coordinates, tolerance)
        choices = weight.tobytes(), drags.tobytes(), baumgarte, limited, forces, contacts, rubbing
        self._asked_for = options, tuple(sorted(explicit)), *choices
        engine = Engine(model, options)
        self._own(engine, Held(robot, engine.loads))  # type: ignore[arg-type]
        self.set_state()

    def drive_body(
        self, body: str, twist: Callable[[float], ArrayLike], components: Sequence[int]
    ) -> None:
        """Prescribe the motion of a body from now on, by a wrench of any size [Sueda, Sect. 2.9].

        Parameters
        ----------
        body : str
        twist : callable
            From the time [s] to (6,): velocity of the centre of mass in world axes [m/s], angular
            velocity in body axes [rad/s].
        components : indices 0 to 5
            Prescribed components of the twist in body axes: velocity, then angular velocity.

        Raises
        ------
        OptionError
            For method="adaptive", or invalid components.
        """
        if self.method != "euler":
            raise OptionError("drive_body is for method='euler', which works with velocities")
        chosen = tuple(components)
        if not chosen or not set(chosen) <= set(range(6)) or len(set(chosen)) < len(chosen):
            raise OptionError(f"components must be different indices 0 to 5, not {components!r}")
        index = self.robot.body_index(body)
        self.engine.model.drives.append(Drive(index, twist, chosen))  # type: ignore[arg-type]

    def energy(self) -> float:
        """Kinetic and potential energy at the knot [J], of bodies, rotors, springs and forces.

        The potential of gravity is zero at the world's origin, and that of forces as well.
        """
        engine = self.engine
        bodies = engine.placed()
        return engine.model.energy(bodies.E, bodies.twists, engine.q, engine.v)

    def momentum(self) -> tuple[Array, Array]:
        """Linear [kg m/s] and angular [kg m^2/s] momentum at the knot, about the world's origin."""
        bodies = self.engine.placed()
        return self.engine.model.momentum(bodies.E, bodies.twists)

    def constraint_violation(self) -> float:
        """Largest violation of a loop or coupling at the knot [m, or the sine of half an angle].

        In maximal coordinates, violations of all joints are included.
        """
        return self.engine.violation()

    def contact_forces(self) -> Array:
        """Forces of the ground on all contact points in the last step, (nc, 3) [N], world."""
        return read_only(self.engine.forces.copy())

    def contacts(self, ground: bool = True) -> list[Contact]:
        """Contact points that touch, or that the ground pushed in the last step, and shapes.

        Contact points are left out if `ground` is False. Shapes are those that touched in the last
        step.
        """
        engine, state, resisting = self.engine, self.state, self.engine.model.resisting
        E = engine.placed().E
        near = resisting.detector.near(E, NEAR) if engine.met else []
        met = meetings_at(self.robot, engine.met, state, E, near)
        if not ground:
            return met
        where = self.contact_positions()
        return contacts_at(self.robot, resisting.points, state, where, engine.forces) + met

    @property
    def order(self) -> int:
        """Order of a step: 1 for "euler"; 8 for "adaptive", whose tolerance limits the error."""
        return 1 if self.method == "euler" else 8

    @property
    def fourth_order_steps(self) -> int:
        """Zero; see `robosim.Simulation`."""
        return 0


def _checked_forces(
    robot: Mechanism, forces: Sequence[PointForce], explicit: Collection[str]
) -> tuple[PointForce, ...]:
    """Point forces and the names of explicit elements, checked."""
    for force in forces:
        if not isinstance(force, PointForce):
            raise OptionError(f"forces must be PointForce, not {force!r}")
        robot.body_or_frame(force.body)
    known = [*(force.name for force in forces), *(spring.name for spring in robot.springs)]
    if isinstance(explicit, str) or not set(explicit) <= set(known):
        raise OptionError(
            f"explicit takes names of springs and forces ({', '.join(known)}), not {explicit!r}"
        )
    return tuple(forces)
