"""Options of stepping: start, controller, and simulation."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from robosim.cli import arguments
from robosim.cli.options import option
from robosim.cli.start_state import Drop, Pose, Q, V, start_state
from robosim.errors import OptionError, RobosimError
from robosim.validation import positive

if TYPE_CHECKING:
    from collections.abc import Callable

    from robosim.control.gaits import Gait
    from robosim.description.mechanism import Mechanism
    from robosim.formulation import Formulation
    from robosim.minimal import MinimalSimulation
    from robosim.reduced import ReducedSimulation
    from robosim.simulation import Simulation

STEPPING = "Stepping"
_shown = partial(typer.Option, rich_help_panel=STEPPING)
_option = partial(option, rich_help_panel=STEPPING)
FORMULATIONS = ("maximal", "newton", "riqn", "galerkin", "reduced")
_CONTROLLER = "stand, trot, zero, or module:function"

Timestep = Annotated[float, typer.Option(help="Time step in seconds.", metavar="H")]
Controller = Annotated[
    str | None,
    option(
        help=f"{_CONTROLLER}; default: stand with a floating base and actuators, or else zero.",
        metavar="NAME",
    ),
]
GaitFile = Annotated[
    Path | None,
    option(
        "--gait",
        help="Walk with a gait from robosim learn, starting in its initial state.",
        metavar="WALK.json",
    ),
]
MotorsFile = Annotated[
    Path | None,
    option(
        "--motors",
        help="Motors between the controller and the joints: a file that lists stages such as "
        "Delay, Rate, DCMotor and LearnedActuator, and may have a PID as its law (docs/motors.md).",
        metavar="MOTORS.toml",
    ),
]
Order = Annotated[
    int,
    _shown(
        help="2; or 4 while no contact, limit or implicit PD acts, in some seven times the time; "
        "any even order with --formulation galerkin.",
        metavar="N",
    ),
]
Accuracy = Annotated[
    float | None,
    _option(
        help="Largest error per second of motion in metres, such as 1e-4: each step is then taken "
        "in as many intervals as it needs; by default in one.",
        metavar="METRES",
    ),
]
Sleep = Annotated[
    float | None,
    _option(
        help="Let what has been at rest for so many seconds sleep, until it is met or driven.",
        metavar="SECONDS",
    ),
]
FormulationName = Annotated[
    str,
    _shown(
        help="maximal; or newton, riqn, galerkin: integrators in joint coordinates, without "
        "contacts, limits and loops; or reduced: REDMAX, a slow reference.",
        metavar="NAME",
    ),
]
Ignore = Annotated[
    list[str] | None,
    _option(
        help="With these formulations, ignore unsupported elements: contacts, limits or "
        "friction; may be given several times.",
        metavar="WHAT",
    ),
]
Contacts = Annotated[
    str | None,
    _option(
        help="With --formulation reduced, the contact solver: single (normal forces and friction "
        "in one problem) or staggered; by default contacts have to be ignored.",
        metavar="KIND",
    ),
]
FrictionCone = Annotated[
    str,
    _shown(
        help="second_order (the exact cone) or linearized (a pyramid, as in the paper).",
        metavar="KIND",
    ),
]
Facets = Annotated[
    int | None,
    _option(help="Facets of the linearized cone: even, 4 to 16; by default 4.", metavar="N"),
]
Implicit = Annotated[
    bool | None,
    _option(
        "--implicit/--explicit",
        help="Whether 'stand' is an implicit PD, stable at any time step, or an explicit PD; by "
        "default implicit where explicit would be unstable.",
    ),
]
EffortLimits = Annotated[
    bool,
    _shown(
        "--effort-limits",
        help="Keep the torques of 'stand', 'trot' or another PD within the joints' effort limits.",
    ),
]
VelocityLimits = Annotated[
    bool,
    _shown(
        "--velocity-limits", help="Enforce the joints' velocity limits, with forces of any size."
    ),
]
Massless = Annotated[
    str,
    _shown(
        help="Links whose motion no mass determines: refuse, or lock at home.", metavar="CHOICE"
    ),
]
ImpossibleInertia = Annotated[
    str,
    _shown(
        help="Inertias that are not positive definite: refuse, or replace by that of a ball of "
        "water (ball).",
        metavar="CHOICE",
    ),
]


@dataclass(frozen=True)
class Stepping:
    """Controller, start and options of a simulation."""

    controller: Controller = None
    timestep: Timestep = 1e-3
    accuracy: Accuracy = None
    sleep: Sleep = None
    pose: Pose = None
    q: Q = None
    v: V = None
    drop: Drop = 0.0
    gait: GaitFile = None
    motors: MotorsFile = None
    formulation: FormulationName = "maximal"
    ignore: Ignore = None
    contacts: Contacts = None
    order: Order = 2
    friction_cone: FrictionCone = "second_order"
    facets: Facets = None
    implicit: Implicit = None
    effort_limits: EffortLimits = False
    velocity_limits: VelocityLimits = False
    massless: Massless = "refuse"
    impossible_inertia: ImpossibleInertia = "refuse"

    def controls(self, name: str | None, robot: Mechanism, timestep: float) -> Any:
        """The controller with that name, with these options."""
        if self.gait is not None:
            return self._walking(name, robot, timestep)
        q = None
        if self.pose is not None or self.q:
            state = start_state(robot, self.pose, self.q or (), (), 0.0)
            q = None if state is None else state["q"]
        options = self.implicit, self.effort_limits, q, self.motors
        return arguments.controller(name, robot, timestep, *options)

    def check(self, robot: Mechanism) -> dict[str, Any] | None:
        """The start of the robot, as by `start_state`; refuses what cannot be simulated."""
        positive("--timestep", self.timestep)
        if self.facets is not None and self.friction_cone != "linearized":
            raise OptionError("--facets is for --friction-cone linearized")
        if self.formulation not in FORMULATIONS:
            raise OptionError(
                f"--formulation must be one of {', '.join(FORMULATIONS)}, not {self.formulation!r}"
            )
        if self.contacts is not None and self.formulation != "reduced":
            raise OptionError("--contacts is for --formulation reduced")
        if self.formulation == "maximal":
            from robosim.simulation.massless import simulated

            simulated(robot, self.massless, self.impossible_inertia)
        return start_state(robot, self.pose, self.q or (), self.v or (), self.drop)

    def start(self, robot: Mechanism, timestep: float, lanes: bool = False) -> Formulation:
        """The simulation at its start, with compiled kernels."""
        state = self.check(robot)  # before kernels are compiled
        makers: dict[str, Callable[[Mechanism, float, bool], Formulation]] = {
            "maximal": self._maximal,
            "reduced": self._reduced,
        }
        sim = makers.get(self.formulation, self._minimal)(robot, timestep, lanes)
        from robosim.simulation import FEWEST_IN_LANES, Simulation

        if self.gait is not None and state is None:
            pose = self._walking(None, robot, timestep).pose()
            assert isinstance(sim, Simulation)  # others are refused with a gait
            sim.place(pose)
        elif state is not None:
            sim.set_state(**state)
        # Compiles the kernels of this robot; an error of the step is reported when the run reaches
        # it.
        with suppress(RobosimError):
            sim.copy().run((FEWEST_IN_LANES + 1) * timestep if sim.lanes else timestep)
        return sim

    def _walking(self, name: str | None, robot: Mechanism, timestep: float) -> Gait:
        """The gait in a file."""
        from robosim.control.controllers import Gait
        from robosim.learning import Learned

        if self.motors is not None:
            raise OptionError("--gait is a PD within the step: --motors is for other controllers")
        if name is not None:
            raise OptionError(f"--gait is a controller by itself: leave out --controller {name}")
        if self.formulation != "maximal":
            raise OptionError("--gait is for --formulation maximal, which has contacts")
        assert self.gait is not None
        found = Learned.load(self.gait)
        if found.robot != robot.name:
            raise OptionError(f"{self.gait} is a gait of '{found.robot}', not of '{robot.name}'")
        limits = self.effort_limits or bool(found.options["effort_limits"])
        legs = found.options["legs"]
        return Gait.of(robot, found.parameters, legs=legs, timestep=timestep, effort_limits=limits)

    def _maximal(self, robot: Mechanism, timestep: float, lanes: bool) -> Simulation:
        """A simulation in maximal coordinates."""
        if self.ignore:
            raise OptionError("--ignore is for --formulation newton, riqn, galerkin or reduced")
        if self.velocity_limits and not any(j.is_limited_in_velocity for j in robot.joints):
            arguments.remark("note: no joint has a velocity limit for --velocity-limits to keep")

        from robosim.simulation import Simulation

        return Simulation(
            robot,
            timestep,
            accuracy=self.accuracy,
            sleep=self.sleep,
            order=self.order,
            friction_cone=self.friction_cone,
            friction_facets=self.facets,
            lanes=lanes,
            massless=self.massless,
            impossible_inertia=self.impossible_inertia,
            velocity_limits=self.velocity_limits,
        )

    def _minimal(self, robot: Mechanism, timestep: float, lanes: bool) -> MinimalSimulation:
        """A simulation in joint coordinates."""
        self._refuse_maximal(lanes)

        from robosim.minimal import MinimalSimulation

        return MinimalSimulation(
            robot,
            timestep,
            integrator=self.formulation,
            order=self.order,
            ignore=self.ignore or (),
        )

    def _reduced(self, robot: Mechanism, timestep: float, lanes: bool) -> ReducedSimulation:
        """A simulation by the formulation of [Sueda]."""
        self._refuse_maximal(lanes)
        if self.order != 2:
            raise OptionError("--order is for --formulation maximal or galerkin")

        from robosim.reduced import ReducedSimulation

        return ReducedSimulation(robot, timestep, contacts=self.contacts, ignore=self.ignore or ())

    def _refuse_maximal(self, lanes: bool) -> None:
        """Refuse options of maximal coordinates."""
        for name, given in (
            ("--lanes", lanes),
            ("--accuracy", self.accuracy is not None),
            ("--sleep", self.sleep is not None),
            ("--friction-cone", self.friction_cone != "second_order"),
            ("--velocity-limits", self.velocity_limits),
        ):
            if given:
                raise OptionError(f"{name} is for --formulation maximal")
