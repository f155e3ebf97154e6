"""Trajectory optimisation: direct transcription with a Galerkin integrator, solved by IPOPT."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.description.body import ContactPoint
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError, OptionError
from robosim.minimal.refusals import check_ignored, check_robot, resisting
from robosim.minimal.simulation import HIGHEST
from robosim.optimize.apart import Apart, Pair, names_of, pairs_of
from robosim.optimize.layout import Layout, unknown
from robosim.optimize.moments import Moment
from robosim.optimize.program import Answer, Program
from robosim.optimize.standing import DEPENDENT, Held, independent
from robosim.optimize.symbolic import Expression, Symbolic, ca
from robosim.optimize.touching import Ground, Touch, moving_ways, touched
from robosim.optimize.trajectory import Trajectory
from robosim.optimize.transcription import Term, Transcription, Wanted
from robosim.progress import bar
from robosim.simulation.options import check_mechanism
from robosim.validation import Array, count, finite, positive, vector

RELAXATION = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # of products; forces are divided by the weight
ANYWHERE = ("all", "knots", "start", "end")
FIRST: dict[str, Any] = {  # options of IPOPT
    "print_level": 0, "sb": "yes", "bound_relax_factor": 1e-10, "honor_original_bounds": "yes",
}  # fmt: skip
AGAIN: dict[str, Any] = {  # options for stages that begin at the previous solution
    "warm_start_init_point": "yes", "mu_init": 1e-4, "warm_start_bound_push": 1e-6,
    "warm_start_mult_bound_push": 1e-6, "warm_start_slack_bound_push": 1e-6,
}  # fmt: skip


class Problem:
    """Trajectory optimisation: a motion of a robot with minimal cost.

    The equations of all steps are constraints of a nonlinear program [Fan2018, Section 6]. The
    equations are those of ``MinimalSimulation(integrator="galerkin", order=...)``. First and second
    derivatives are exact.

    Parameters
    ----------
    robot : Mechanism
        As for `MinimalSimulation`, with loops and couplings at any order. Joint limits, velocity
        limits and effort limits are enforced.
    seconds : float
    steps : int
    order : int
        Order of the integrator, even.
    gravity : (3,) [m/s^2], world
    ignore : names among "contacts", "limits", "friction"
        Elements of the robot that this problem ignores.

    Raises
    ------
    OptionError
        For an option that is not allowed.
    ModelError
        For unsupported elements of the robot.
    """

    def __init__(
        self,
        robot: Mechanism,
        seconds: float,
        steps: int,
        order: int = 4,
        *,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        ignore: Collection[str] = (),
    ) -> None:
        check_mechanism(robot)
        weight = vector("gravity", gravity)
        self.steps, self.order = count("steps", steps), count("order", order)
        if self.order % 2 or self.order > HIGHEST:
            raise OptionError(f"order must be even and at most {HIGHEST}, not {order}")
        check_ignored(ignore)
        check_robot(robot, {*ignore, "contacts", "limits"})
        refuse_rotations(robot, ignore)
        self.robot, self.seconds = robot, positive("seconds", seconds)
        self.dt = self.seconds / self.steps
        self._ignore = frozenset(ignore)
        self._model = Symbolic(robot, weight)
        self._costs: list[Term] = []
        self._wanted: list[Wanted] = []
        self._touches: list[Touch] = []
        self._pairs: list[Pair] = []
        self._kept: set[frozenset[str]] = set()  # names of bodies and obstacles that keep apart
        self._ends: dict[str, tuple[Array, Array]] = {}
        self._durations: tuple[float, float] | None = None
        self._free: list[int] | None = None  # velocities whose coordinates are not periodic
        for where in ("start", "end"):
            self._ends[where] = np.full(robot.nq, np.nan), np.full(robot.nv, np.nan)

    # Costs and constraints

    def start(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> Problem:
        """Fix the initial q (nq,) and v (nv,); NaN or None leaves values free."""
        return self._fix("start", q, v)

    def end(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> Problem:
        """Fix the final q (nq,) and v (nv,); NaN or None leaves values free."""
        return self._fix("end", q, v)

    def cost(
        self,
        function: Callable[[Moment], Expression],
        at: str | float = "all",
        name: str | None = None,
    ) -> Problem:
        """Add a cost: its integral over time, or its value at one time.

        Parameters
        ----------
        function : callable(Moment) -> expression
        at : "all", "start", "end", or float [s], the nearest knot
        name : str, for messages
        """
        where = self._place(function, at, ("all", "start", "end"))
        self._costs.append(Term(name or f"cost {len(self._costs) + 1}", function, where))
        return self

    def constrain(
        self,
        function: Callable[[Moment], Expression],
        lower: ArrayLike = 0.0,
        upper: ArrayLike = 0.0,
        at: str | float = "all",
        name: str | None = None,
        between: int = 0,
    ) -> Problem:
        """Add limits for one or several expressions; equal limits are equations.

        Parameters
        ----------
        function : callable(Moment) -> expression, or several expressions
        lower, upper : float or (n,); -inf and inf for none
        at : "all" control points, "knots", "start", "end", or float [s], the nearest knot
        name : str, the key in `Trajectory.violation`
        between : int
            With "all": also at so many evenly spaced times between each two control points, on the
            curve of `Trajectory.sample`. There the moment has no contact forces.
        """
        where = self._place(function, at, ANYWHERE)
        inner = count("between", between) if between else 0
        if inner and where != "all":
            raise OptionError(f'between needs constraints at "all" control points, not at {at!r}')
        low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        name = name or f"constraint {len(self._wanted) + 1}"
        if np.any(np.isnan(low)) or np.any(np.isnan(high)) or np.any(low > high):
            raise OptionError(
                f"limits of '{name}' must be numbers, lower ones first, not {low.tolist()} and "
                f"{high.tolist()}"
            )
        self._wanted.append(Wanted(name, function, where, low, high, inner))
        return self

    def duration(self, shortest: float, longest: float) -> Problem:
        """Let the duration be found, between two limits [s]; `seconds` is its guess.

        Times of costs and constraints `at` knots stretch with it. A minimum of time is
        ``cost(lambda at: at.t, at="end")``.

        Raises
        ------
        OptionError
            For limits that do not enclose `seconds`.
        """
        ends = positive("shortest", shortest), positive("longest", longest)
        if not ends[0] <= self.seconds <= ends[1]:
            raise OptionError(
                f"the duration must be between limits that enclose {self.seconds:g} s, not from "
                f"{ends[0]:g} to {ends[1]:g} s"
            )
        self._durations = ends
        return self

    def periodic(self, *free: str) -> Problem:
        """Let the last state be the first one, as of a gait.

        Parameters
        ----------
        free : names of coordinates (`robot.q_names`)
            Coordinates that may end elsewhere, such as those in which a robot travels. Velocities
            are the same at both ends.

        Raises
        ------
        OptionError
            For an unknown name, or one of a free rotation.
        """
        plain = {self.robot.q_names[at]: k for k, at in self._model.plain}
        for name in free:
            if name not in plain:
                raise OptionError(
                    f"no coordinate '{name}' may end elsewhere; known: {', '.join(plain)}"
                )
        self._free = [plain[name] for name in free]
        return self

    def motors(self, speed: ArrayLike) -> Problem:
        """Let the limits of torques fall with the speed, as those of motors do.

        A torque that drives its coordinate is at most the effort limit times ``1 - rate / speed``.
        A torque that brakes is limited by the effort limit alone.

        Parameters
        ----------
        speed : float or (nu,) [rad/s or m/s]
            No-load speeds, inf for none.

        Raises
        ------
        OptionError
            For speeds that are not positive, or a motor without an effort limit.
        """
        robot = self.robot
        speeds = np.array(np.broadcast_to(np.asarray(speed, dtype=float), robot.nu))
        limits, finite_ones = robot.effort_limits, np.flatnonzero(np.isfinite(speeds))
        if not np.all(speeds > 0):
            raise OptionError(f"speed must be positive, not {speeds.tolist()}")
        for k in finite_ones:
            if not np.isfinite(limits[k]):
                raise OptionError(f"'{robot.actuated_names[k]}' needs an effort limit")
        actuated = list(robot.actuated)

        def left(at: Moment) -> list[Expression]:
            slopes = {k: limits[k] / speeds[k] * at.v[actuated[k]] for k in finite_ones}
            return [way * (at.u[k] + slope) for k, slope in slopes.items() for way in (1.0, -1.0)]

        if len(finite_ones):
            self.constrain(left, -np.inf, np.repeat(limits[finite_ones], 2), name="motors")
        return self

    def contact(
        self,
        *names: str,
        friction: float | None = None,
        ground: Ground | None = None,
        holds: bool = False,
        during: ArrayLike | None = None,
    ) -> Problem:
        """Enable contacts of the robot with the ground, with or without a schedule.

        Without a schedule, forces and gaps are complementary, ``0 <= phi _|_ gamma >= 0``. Friction
        obeys maximum dissipation within a pyramid inside the cone. Impacts are plastic.

        Forces at the corners of a flat foot that `holds` span all wrenches that the foot can bear.

        Parameters
        ----------
        names : names of contacts of the robot; all if none is given
        friction : float or None
            None for that of each contact.
        ground : function of x and y to a height [m], of casadi expressions; None for z = 0
        holds : bool
            Whether the contacts stay at their initial positions; q of the start must be given.
        during : (n, 2) [s], or None
            A schedule: between these times, rounded to knots, the contacts stick to the ground, at
            any position. The solution also satisfies the conditions without a schedule, and can be
            the guess for such a problem.
        """
        known = {one.name: one for one in self.robot.contacts}
        chosen = names or tuple(known)
        if not chosen:
            raise OptionError(
                f"robot '{self.robot.name}' has no contacts: give it some by `contacts=`, or by "
                "`with_contacts`"
            )
        if friction not in (None, 0):
            positive("friction", friction)
        if ground is not None and not callable(ground):
            raise OptionError(f"ground must be a function of x and y, not {ground!r}")
        windows = None if during is None else refuse_no_schedule(during, holds)
        for name in chosen:
            if name not in known:
                raise OptionError(f"no contact '{name}'; known: {', '.join(known) or 'none'}")
            if any(touch.name == name for touch in self._touches):
                raise OptionError(f"contact '{name}' is there already")
            refuse_contact(known[name])
        chosen_points = [known[name] for name in chosen]
        bodies = [self.robot.body_index(one.body) for one in chosen_points]
        ways = moving_ways(
            self._model,
            [(b, np.asarray(one.position)) for b, one in zip(bodies, chosen_points, strict=True)],
        )
        for body, one in zip(bodies, chosen_points, strict=True):
            mu = one.friction if friction is None else float(friction)
            self._touches.append(
                Touch(one.name, body, np.asarray(one.position), one.radius, mu, ground,
                      ways if mu > 0 else (), holds, windows)
            )  # fmt: skip
        return self

    def apart(self, *pairs: tuple[str, str], margin: float = 0.01, between: int = 2) -> Problem:
        """Keep bodies apart from obstacles and from each other, by their collision geometries.

        The pairs are those that may touch in `Simulation`: `Mechanism.touching_shapes`. A plane
        between two shapes is unknown at each control point. Pairs that no motion of the joints
        brings near are left out.

        Parameters
        ----------
        pairs : pairs of names of bodies and obstacles; all pairs that may touch if none is given
        margin : float [m], the least distance
        between : int
            Number of evenly spaced times between each two control points, at which the margin holds
            as well.

        Raises
        ------
        OptionError
            For names that are no such pair, or a robot without any.
        ModelError
            For a height field or a `TriangleMesh`, which are not convex: give convex parts.
        """
        least = positive("margin", margin)
        inner = count("between", between) if between else 0
        limits = "limits" not in self._ignore
        found = pairs_of(self.robot, pairs, least, inner, limits)
        touching = self.robot.touching_shapes()
        names = {frozenset(names_of(self.robot, a, b)) for a, (b, _) in touching if b is not None}
        asked = {frozenset(pair) for pair in pairs} or names
        twice = asked & self._kept
        if twice:
            raise OptionError(f"the pair {sorted(min(twice, key=sorted))} is kept apart already")
        self._kept |= asked
        self._pairs += found
        return self

    def _place(self, function: Any, at: Any, known: tuple[str, ...]) -> str | int:
        """The place of a cost or constraint: a name, or the number of a knot."""
        if not callable(function):
            raise OptionError(f"a cost or constraint is a function of a moment, not {function!r}")
        if isinstance(at, str) and at in known:
            return at
        if isinstance(at, int | float | np.floating) and 0 <= at <= self.seconds:
            return round(float(at) / self.dt)
        raise OptionError(
            f"at must be one of {', '.join(known)}, or a time within {self.seconds:g} s, not {at!r}"
        )

    def _fix(self, where: str, q: ArrayLike | None, v: ArrayLike | None) -> Problem:
        found = []
        for name, value, n in (("q", q, self.robot.nq), ("v", v, self.robot.nv)):
            row = np.full(n, np.nan) if value is None else np.array(value, dtype=float)
            if row.shape != (n,) or np.any(np.isinf(row)):
                raise OptionError(
                    f"{name} of the {where} must be ({n},) numbers, NaN where it is left open, "
                    f"not {row.tolist() if row.size < 20 else row.shape}"
                )
            found.append(row)
        for _, at in self._model.turns:
            turn = found[0][at : at + 4]
            if np.isnan(turn).all():
                continue
            if not abs(np.linalg.norm(turn) - 1.0) < 1e-6:
                raise OptionError(
                    f"q of the {where} has a quaternion {turn.tolist()}, which must be of length "
                    "one, or NaN"
                )
            found[0][at : at + 4] = quaternions.normalized(turn)
        self._ends[where] = found[0], found[1]
        return self

    # Sizes

    @cached_property
    def _rows(self) -> NDArray[np.int64]:
        """Independent rows of loops and couplings."""
        if not self._model.rows:
            return np.zeros(0, dtype=np.int64)
        theta = ca.SX.sym("theta", self.robot.nv)
        bases = [ca.SX.sym("base", 4) for _ in self._model.turns]
        placed = self._model.place(theta, ca.SX.zeros(self.robot.nv), bases)
        value = self._model.closing(placed, theta)
        call = ca.Function("closing", [theta, *bases], [value, ca.jacobian(value, theta)])
        home: Array = np.array(self.robot.home, dtype=float)
        at = unknown(self._model, home)
        turns = [home[k : k + 4] for _, k in self._model.turns]
        for _ in range(20):  # closes loops, because open ones may seem independent
            found, J = (np.array(part.full()) for part in call(at, *turns))
            at = at - np.linalg.lstsq(J, found.ravel(), rcond=DEPENDENT)[0]
        J = np.array(call(at, *turns)[1].full())
        return independent(J)

    @property
    def _held(self) -> Held:
        """The places and independent rows of contacts that hold.

        Raises
        ------
        OptionError
            If q of the start is not given.
        """
        holding = [touch for touch in self._touches if touch.holds]
        (q, v), lands = self._ends["start"], bool(np.isnan(self._ends["end"][0]).any())
        if not holding:
            return Held(np.zeros(0), np.zeros(0, dtype=np.int64), False, lands)
        if not np.all(np.isfinite(q)):
            raise OptionError(
                f"contact '{holding[0].name}' holds where it begins: give q of the start"
            )
        theta = ca.SX.sym("theta", self.robot.nv)
        bases = [ca.SX(q[k : k + 4]) for _, k in self._model.turns]
        placed = self._model.place(theta, ca.SX.zeros(self.robot.nv), bases)
        value = ca.vertcat(*(touched(self._model, touch, placed).centre for touch in holding))
        call = ca.Function("holding", [theta], [value, ca.jacobian(value, theta)])
        places, J = (np.array(part.full()) for part in call(unknown(self._model, q)))
        return Held(places.ravel(), independent(J), bool(np.isnan(v).any()), lands)

    @property
    def _transcription(self) -> Transcription:
        s = self.order // 2
        return Transcription(
            self._model, self.steps, s, self.dt, self._touches, self._rows, self._held,
            Apart(self._model, self._pairs), self._durations is not None,
        )  # fmt: skip

    @property
    def unknowns(self) -> int:
        """Unknowns of the transcription, before the start and the end fix some of them."""
        return self._transcription.unknowns

    @property
    def equations(self) -> int:
        """Equations of steps, loops and couplings, without those of contacts and `constrain`."""
        m = len(self._rows)
        s = self.order // 2
        return (s + 1) * self.steps * self.robot.nv + (s * self.steps + 1) * m

    # Solving

    def solve(
        self,
        guess: Any = None,
        *,
        progress: bool = False,
        iterations: int = 1000,
        tolerance: float = 1e-8,
        feasibility: float = 1e-6,
        relaxation: Sequence[float] = RELAXATION,
        options: dict[str, Any] | None = None,
    ) -> Trajectory:
        """Solve for a motion of minimal cost near a guess.

        Parameters
        ----------
        guess : Log, Trajectory, Solution, (n, nq), or None
            Rows of q are distributed evenly over the time. None: a straight line from start to
            end.
        progress : bool
            Show a bar on stderr.
        iterations : int
            Largest number of iterations of each stage.
        tolerance : float
            Tolerance of IPOPT.
        feasibility : float
            Largest violation of constraints of a feasible trajectory, beyond the last relaxation.
        relaxation : sequence of float
            With contacts: bounds of products of forces, divided by the weight, with gaps [m] and
            slip [m/s]. Each stage is warm-started with the last one.
        options : mapping
            Further options of IPOPT, by name.

        Returns
        -------
        Trajectory
            Check its `status`, and `worst`, the most violated constraint.

        Raises
        ------
        OptionError
            For invalid parameters, a guess of another robot, or more equations than unknowns. For a
            start or end that violates limits, or a cost or gradient not finite at the guess.
        ModelError
            For contacts of the robot that are neither passed to `contact` nor ignored.
        """
        iterations = count("iterations", iterations)
        for name, value in (("tolerance", tolerance), ("feasibility", feasibility)):
            positive(name, value)
        complements = any(touch.complements for touch in self._touches)
        stages = np.asarray(relaxation if complements else (0.0,), dtype=float)
        if stages.ndim != 1 or not len(stages) or np.any(stages < 0) or np.any(np.isnan(stages)):
            raise OptionError(f"relaxation must be numbers of zero or more, not {relaxation!r}")
        self._refuse_untold_contacts()
        parts = self._transcription
        periodic = self._free is not None
        if self._durations is not None and any(one.during is not None for one in self._touches):
            raise OptionError("a schedule of contacts needs a duration that is given")
        layout = Layout(
            self._model, parts, self.seconds, self._ends, self._vias, periodic, self._durations
        )
        begins = layout.begin(guess)
        program = self._program(parts, layout.closes)
        lower, upper = layout.limits(begins)
        planes = parts.apart.unknowns * (self.steps * parts.stages + 1)
        refuse_overdetermined(program, lower, upper, planes)
        w = np.clip(layout.unknowns(begins, guess), lower, upper)
        times: list[Array] = [
            np.zeros(1),
            *(np.array(self.dt * steps) for steps in parts.groups().values()),
        ]
        times.append(np.array([self.seconds]))
        times += [np.array([self.dt * k]) for k in self._vias]
        times += [np.zeros(1)] * periodic
        program.refuse_nan(w, layout.given(begins, float(stages[0])), times)
        answer: Answer | None = None
        done = 0
        with bar("iterations", iterations * len(stages), progress) as advance:
            for stage in stages:
                given = layout.given(begins, float(stage))
                said = f"relaxation {stage:.0e}, " if complements else ""
                asked = {**FIRST, "max_iter": iterations, "tol": tolerance}
                if answer is not None:
                    asked |= AGAIN
                answer = program.solve(
                    w, given, lower, upper, asked | (options or {}), answer, advance, said
                )
                w, done = answer.w, done + answer.iterations
        assert answer is not None
        violation = program.violations(w, given, lower, upper)
        return layout.trajectory(w, begins, answer, violation, done, feasibility)

    def _program(self, parts: Transcription, closes: bool) -> Program:
        asked = self._costs, self._wanted
        first, stride = np.arange(parts.knot), parts.stride
        within = np.arange(stride + parts.knot)
        moves = bool(np.isnan(self._ends["end"][1]).any())
        blocks = [
            (parts.start(*asked, closes), first[:, None]),
            *(
                (parts.step(*asked, *kind), within[:, None] + stride * steps)
                for kind, steps in parts.groups().items()
            ),
            (parts.end(*asked, moves), (first + stride * self.steps)[:, None]),
        ]
        blocks += [(parts.via(k, *asked), (first + stride * k)[:, None]) for k in self._vias]
        if self._free is not None:
            both = np.concatenate((first, first + stride * self.steps))
            blocks.append((parts.period(self._free), both[:, None]))
        if parts.stretches:
            factor = parts.unknowns - 1
            blocks = [
                (local, np.vstack((columns, np.full((1, columns.shape[1]), factor))))
                for local, columns in blocks
            ]
        return Program(parts.unknowns, blocks)

    @property
    def _vias(self) -> list[int]:
        """Knots with costs or constraints."""
        places = [*(one.at for one in self._costs), *(one.at for one in self._wanted)]
        return sorted({at for at in places if isinstance(at, int)})

    def _refuse_untold_contacts(self) -> None:
        """Raise a ModelError for contacts that are neither enabled nor ignored."""
        told = {f"contact '{touch.name}'" for touch in self._touches}
        for a, (b, _) in self.robot.touching_shapes():
            if b is not None and frozenset(names_of(self.robot, a, b)) not in self._kept:
                break
        else:
            told |= {f"body '{body.name}'" for body in self.robot.bodies}
        for element, what, name in resisting(self.robot):
            if name == "contacts" and name not in self._ignore and element not in told:
                raise ModelError(
                    f"{what}: take it by problem.contact(), if it is a contact, or by "
                    "problem.apart(), or leave all that were not taken out by "
                    "ignore=('contacts',)",
                    element=element,
                )


def refuse_no_schedule(during: ArrayLike, holds: bool) -> Array:
    """Pairs of times (n, 2) of a schedule, or an OptionError."""
    shape = np.shape(during)
    windows = finite(during, shape) if len(shape) == 2 and shape[1] == 2 else None
    if windows is None or holds:
        raise OptionError(
            f"during must be pairs of times (n, 2) [s] of contacts that do not hold, not {during!r}"
        )
    return windows


def refuse_overdetermined(program: Program, lower: Array, upper: Array, planes: int) -> None:
    """Raise an OptionError for more equations than unknowns, without those of planes."""
    equal = program.lower == program.upper
    free = int(np.sum(lower < upper)) - planes
    if int(equal.sum()) > free:
        names, counts = np.unique(program.names[equal].astype(str), return_counts=True)
        told = ", ".join(f"{count} of '{name}'" for name, count in zip(names, counts, strict=True))
        raise OptionError(
            f"there are more equations than unknowns: {int(equal.sum())} ({told}) for {free}; fix "
            "less at the start and the end, or use fewer constraints"
        )


def refuse_rotations(robot: Mechanism, ignore: Collection[str]) -> None:
    """Refuse joints for which there are no expressions."""
    for joint in robot.tree_joints:
        element = f"joint '{joint.name}'"
        if joint.limit_restitution > 0 and "limits" not in ignore:
            raise ModelError(
                "has limits with restitution, which trajectory optimisation does not have: replace "
                "it, or leave limits out by ignore=('limits',)",
                element=element,
            )
        if joint.limit_stiffness is not None and "limits" not in ignore:
            raise ModelError(
                "has compliant limits, which trajectory optimisation does not have: replace them, "
                "or leave limits out by ignore=('limits',)",
                element=element,
            )
        if any(one is not None for one in joint.potentials):
            raise ModelError(
                "has a potential, which trajectory optimisation does not have: use optimize.ilqr",
                element=element,
            )
        if not joint.has_quaternion:
            continue
        if np.any(joint.per_coordinate("stiffness")[joint.numbers :]):
            raise ModelError(
                "has a spring about a free rotation, which trajectory optimisation does not have: "
                "use optimize.ilqr",
                element=element,
            )
        if np.isfinite((joint.cone, joint.largest_turn)).any() and "limits" not in ignore:
            raise ModelError(
                "has a limit of a free rotation: leave it out by ignore=('limits',), and ask for "
                "it by problem.constrain",
                element=element,
            )


def refuse_contact(contact: ContactPoint) -> None:
    """Refuse contacts other than points and balls with friction."""
    for name in (
        "axis", "semi_axes", "torsional_friction", "rolling_friction", "anisotropy", "stiffness",
    ):  # fmt: skip
        if getattr(contact, name) is not None:
            raise ModelError(
                f"has {name}, which trajectory optimisation does not have: replace it",
                element=f"contact '{contact.name}'",
            )
    if contact.restitution or np.any(contact.surface_velocity) or np.any(contact.surface_spin):
        raise ModelError(
            "has restitution or a moving surface, which trajectory optimisation does not support: "
            "replace it",
            element=f"contact '{contact.name}'",
        )
