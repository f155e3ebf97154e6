"""A mechanism in motion in its joint coordinates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

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
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError
from robosim.minimal.engine import Engine
from robosim.minimal.refusals import check_integrator, check_robot
from robosim.runtime.notice import CompileNotice
from robosim.simulation.contactless import Contactless
from robosim.simulation.loads import Held
from robosim.simulation.options import check_mechanism
from robosim.validation import Array, check_choice, count, finite, positive, read_only, vector

if TYPE_CHECKING:
    from robosim.minimal.linearization import MinimalLinearizer

METHODS = {"riqn": RIQN, "newton": NEWTON, "galerkin": GALERKIN}
GUESSES = {
    "position": POSITION,
    "velocity": VELOCITY,
    "euler": EULER,
    "acceleration": ACCELERATION,
}
HIGHEST = 12  # largest supported order


class MinimalSimulation(Contactless):
    """Steps a tree with variational integrators in joint coordinates, O(n) in its joints.

    Contacts, limits, dry friction, motions and tendons are not supported and refused by name.
    Supported are gravity, constant wrenches and drag of bodies, springs, dampers, potentials and
    rotors of joints, explicit torques and implicit PD. Integrators of order 2, except "riqn",
    support loops and couplings by multipliers [Fan2018, Section 3.3], in O(m n + m^3) for m
    constraints.

    Parameters
    ----------
    robot : Mechanism
    timestep : float [s]
    gravity : (3,) [m/s^2], world
    integrator : str
        "newton" and "riqn" solve the same equations of second order on the group SE(3) [Lee2016].
        "newton" uses the exact derivative, "riqn" the inverse mass matrix in its place.
        "galerkin" has any even order [Fan2018].
    order : int
        2; for "galerkin" any even order up to 12.
    guess : str
        Initial guess of each step. "position" is the present configuration (IG1 of [Lee2016]).
        "velocity" extrapolates by the present velocity (IG2), and "euler" by the velocity of a
        semi-implicit step (IG3). "acceleration" adds half of the acceleration, and is the most
        accurate.
    tolerance : float [m/s]
        Largest residual: an impulse along a coordinate, expressed as a velocity of the inertia and
        mass beyond it. If rounding errors of the equations are larger, as in long chains, they are
        the tolerance.
    max_iterations : int
    ignore : names among "contacts", "limits", "friction"
        Elements of the robot that this simulation ignores.
    drag : mapping of names of bodies to (6, 6), or None
        Wrench = -drag twist, of (velocity, angular velocity) of the centre of mass in body axes,
        [N s/m], [N m s/rad] and so on.

    Attributes
    ----------
    robot : Mechanism
    integrator : str
    order : int
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
        integrator: str = "newton",
        order: int = 2,
        guess: str = "acceleration",
        tolerance: float = 1e-10,
        max_iterations: int = 50,
        ignore: Collection[str] = (),
        drag: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        timestep, tolerance = positive("timestep", timestep), positive("tolerance", tolerance)
        check_choice("integrator", integrator, METHODS)
        check_choice("guess", guess, GUESSES)
        order = count("order", order)
        if order % 2 or order > HIGHEST or (order != 2 and integrator != "galerkin"):
            raise OptionError(
                f"order must be 2, or with integrator='galerkin' even and at most {HIGHEST}, "
                f"not {order}"
            )
        weight = vector("gravity", gravity)
        check_mechanism(robot)
        check_robot(robot, ignore)
        check_integrator(robot, integrator, order)
        drags = drags_of(robot, drag or {})
        CompileNotice.install()
        self.robot, self.integrator, self.order = robot, integrator, order
        stages = order // 2 if integrator == "galerkin" else None
        options = Options(
            timestep,
            tolerance,
            count("max_iterations", max_iterations),
            METHODS[integrator],
            GUESSES[guess],
        )
        model_of = partial(compile_tree, gravity=weight, drags=drags, stages=stages)
        # Options that another simulation must share so that its state can be restored here.
        numbers = {name: value.tobytes() for name, value in drags.items()}
        self._asked_for = options, order, weight.tobytes(), numbers
        engine = Engine(robot, model_of, options)
        self._own(engine, Held(robot, engine.loads))  # type: ignore[arg-type]
        self.set_state()

    @property
    def p(self) -> Array:
        """Momenta (nv,) conjugate to v, ``M(q) v`` [N s, N m s], a read-only copy: the state."""
        return read_only(self.engine.parts.state.p.copy())

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
    def fourth_order_steps(self) -> int:
        """Steps of order four, as `robosim.Simulation` counts them."""
        return self.steps if self.order == 4 else 0

    @property
    def steps_above_tolerance(self) -> int:
        """Number of steps since the state was set whose residual stayed above `tolerance`.

        Rounding left so much of their equations, as it does in long chains. See `tolerance`.
        """
        return self.engine.counters.above_tolerance

    def constraint_violation(self) -> float:
        """Largest violation of a loop or coupling at the knot [m, or the sine of half an angle].

        Zero for a tree: joint coordinates satisfy the joints by construction.
        """
        return self.engine.violation()

    def linearizer(
        self, contact_speed: float | None, parameters: tuple[str, ...], pd: bool
    ) -> MinimalLinearizer:
        """Memory for derivatives by `robosim.linearize`, for all simulations of the same kind.

        Raises
        ------
        OptionError
            For a contact_speed, and for parameters of contacts and dry friction, which are not
            part of the equations.
        """
        from robosim.minimal.linearization import MinimalLinearizer, check_derivatives

        check_derivatives(contact_speed, parameters)
        return MinimalLinearizer(self.engine, self.held, parameters, pd)


def drags_of(robot: Mechanism, drag: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Checked drags by names of bodies; for other bodies the drags of the robot."""
    found = {body.name: np.asarray(body.drag) for body in robot.bodies if body.drag is not None}
    for name, value in drag.items():
        array = finite(value, (6, 6))
        if array is None:
            raise OptionError(f"drag of body '{name}' must be (6, 6) finite numbers, not {value!r}")
        found[robot.bodies[robot.body_index(name)].name] = array
    return found
