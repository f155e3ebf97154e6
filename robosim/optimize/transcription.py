"""Steps of a Galerkin integrator as rows of a nonlinear program: direct transcription.

The equations are [Fan2018, Eq. 6] with control points at Lobatto's quadrature points. Unknowns of a
knot are coordinates, velocities (momenta are ``M(q) v``), torques and forces. Unknowns of a control
point within a step are coordinates and forces. Torques are linear over a step. Forces act at each
control point with its quadrature weight, which both steps share at a knot. So there are (4 N + 3) n
+ (2 N + 1) m unknowns and 3 N n + (2 N + 1) m equations of order four, as in [Fan2018, Table 1].

Unknowns of a free rotation are the angles of three hinges: at a knot from a given quaternion, at a
control point from the previous knot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.building.segments import lobatto
from robosim.errors import OptionError
from robosim.optimize.apart import Apart
from robosim.optimize.curves import powers_of
from robosim.optimize.energies import Energies
from robosim.optimize.local import Local, Nested, Rows
from robosim.optimize.moments import Moment
from robosim.optimize.standing import Held, sticking
from robosim.optimize.symbolic import (
    Expression,
    Function,
    Placed,
    Symbolic,
    angles,
    ca,
    column,
    hinges,
    product,
    rotation_matrix,
)
from robosim.optimize.touching import (
    Touch,
    Touched,
    complements,
    force,
    left_of_cone,
    slipped,
    touched,
)

DYNAMICS, LOOPS, HOLDS = "dynamics", "loops and couplings", "contacts that hold"
PERIOD = "period"
Asked = Callable[[Moment], Expression]


class Term(NamedTuple):
    """A cost of the user; `at` is "all", "start", "end" or the number of a knot."""

    name: str
    function: Asked
    at: str | int


class Wanted(NamedTuple):
    """A constraint of the user; `at` is as in `Term`, or "knots".

    `between` is the number of times between each two control points at which it holds as well.
    """

    name: str
    function: Asked
    at: str | int
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    between: int = 0


class Point(NamedTuple):
    """A control point as expressions."""

    theta: Expression
    placed: Placed
    v: Expression
    u: Expression
    forces: Expression
    touched: list[Touched]


class Chart(NamedTuple):
    """Where the angles of free rotations begin: at given quaternions, turned by unknown hinges."""

    given: Expression  # (4 nr,)
    turned: Expression  # (3 nr,)
    bases: list[Expression]  # quaternions (4,) of both


class Transcription:
    """Constraints and costs of one step, of the first knot and of the last one.

    Parameters
    ----------
    model : Symbolic
    steps, stages : int
        Numbers of steps, and of stages; the order is ``2 stages``.
    dt : float [s]
    touches : sequence of Touch
    rows : (m,) of int
        Independent rows of loops and couplings.
    held : Held
        The places of contacts that hold.
    apart : Apart
        Pairs of outlines that keep apart.
    stretches : bool
        Whether the duration is unknown: the last unknown is the factor by which it is longer.

    Attributes
    ----------
    h : float or expression [s]
        Duration of a step, `dt` times the factor.
    knot, inner : int
        Numbers of unknowns of a knot, and of a control point between knots.
    forces, pushing : int
        Numbers of unknowns of a control point beyond its state, and of those among them that push;
        the last ones are planes of `apart`.
    weight : float [N]
        Unit of the unknown forces.
    smooth : bool
        Whether velocities are continuous, as there are no impacts.
    """

    def __init__(
        self,
        model: Symbolic,
        steps: int,
        stages: int,
        dt: float,
        touches: Sequence[Touch],
        rows: NDArray[np.int64],
        held: Held,
        apart: Apart,
        stretches: bool = False,
    ) -> None:
        self.model, self.steps, self.stages, self.dt = model, steps, stages, dt
        self.stretches = stretches
        self._factor: Expression = ca.SX.sym("factor") if stretches else 1.0
        self.h: Expression = dt * self._factor
        self.held, self.apart = held, apart
        self.touches, self.rows, self.rule = tuple(touches), rows, lobatto(stages)
        robot = model.robot
        self.weight = max(1.0, robot.total_mass * float(np.linalg.norm(model.tree.gravity)))
        self.pushing = len(rows) + sum(touch.forces for touch in touches)
        self.forces = self.pushing + apart.unknowns
        self.knot = 2 * robot.nv + robot.nu + self.forces
        self.inner = robot.nv + self.forces
        self.smooth = all(touch.holds for touch in self.touches)
        self.stride = self.knot + (stages - 1) * self.inner
        self.unknowns = steps * self.stride + self.knot + stretches
        self.given = 2 + 4 * len(model.turns)  # time, relaxation, and quaternions of a knot
        self._energies = Energies(model)
        self._own_forces = self._forces_at_a_point()

    def slices(self) -> dict[str, slice]:
        """Slices of the unknowns of a knot."""
        nv, nu = self.model.robot.nv, self.model.robot.nu
        bounds = np.cumsum((0, nv, nv, nu, self.forces))
        names = ("q", "v", "u", "forces")
        return {name: slice(*bounds[k : k + 2]) for k, name in enumerate(names)}

    def _forces_at_a_point(self) -> Function:
        """All but the energies of links: forces, momenta, and forces by rotations of the bases.

        Arguments are theta, rates, bases, u and forces. The values are dL/dtheta with all forces,
        dL/d(rates), and the first by rotations of the bases, of motors, dampers, rotors, springs,
        loops and contacts.
        """
        model, nv = self.model, self.model.robot.nv
        theta, rates = ca.SX.sym("theta", nv), ca.SX.sym("rates", nv)
        bases = [ca.SX.sym("base", 4) for _ in model.turns]
        u, forces = ca.SX.sym("u", model.robot.nu), ca.SX.sym("forces", self.forces)
        more, turning = (ca.SX.sym(name, 3 * len(bases)) for name in ("more", "turning"))
        placed = model.place(theta, rates, bases, more, turning)
        v = model.velocities(theta, rates, turning)
        own = model.velocities(theta, rates)
        energy = model.joint_energy(theta, own)
        where, how = ca.vertcat(theta, more), ca.vertcat(rates, turning)
        push = ca.jtimes(v, how, model.pushes(own, u), True)
        m = len(self.rows)
        if m:
            value = model.closing(placed, theta)[self.rows.tolist()]
            push += ca.jtimes(value, where, self.weight * forces[:m], True)
        for touch, parts in zip(self.touches, self.parts_of(forces), strict=True):
            at = touched(model, touch, placed)
            push += ca.jtimes(at.velocity, how, force(at, parts, self.weight), True)
        slope = ca.gradient(energy, where) + push
        found = [slope[:nv], ca.gradient(energy, rates), slope[nv:]]
        nothing = ca.SX.zeros(*more.shape)
        found = [
            ca.substitute(ca.substitute(one, more, nothing), turning, nothing) for one in found
        ]
        return ca.Function("forces", [theta, rates, *bases, u, forces], found, {"cse": True})

    def groups(self) -> dict[tuple[tuple[bool, ...], bool], NDArray[np.int64]]:
        """Indices of steps, by their scheduled contacts and by whether their final q is given."""
        found: dict[tuple[tuple[bool, ...], bool], list[int]] = {}
        scheduled = any(touch.during is not None for touch in self.touches)
        for k in range(self.steps):
            stands = tuple(one.touches((k + 0.5) * self.dt) for one in self.touches)
            given_end = scheduled and not self.held.lands and k == self.steps - 1
            found.setdefault((stands, given_end), []).append(k)
        return {kind: np.array(steps) for kind, steps in found.items()}

    def parts_of(self, forces: Expression) -> list[Expression]:
        """The unknown forces of each contact."""
        found, at = [], len(self.rows)
        for touch in self.touches:
            found.append(forces[at : at + touch.forces])
            at += touch.forces
        return found

    def _forces(
        self,
        nested: Nested,
        theta: Expression,
        rates: Expression,
        chart: Chart,
        u: Expression,
        forces: Expression,
    ) -> list[Expression]:
        """dL/dtheta with all forces, dL/d(rates), and the first by rotations of the bases."""
        nv = self.model.robot.nv
        own = self._own_forces(theta, rates, *chart.bases, u, forces)
        arguments = ca.vertcat(theta, rates, chart.turned)
        links = nested.call(self._energies.forces, arguments, chart.given)
        parts = ca.vertsplit(links, [0, nv, 2 * nv, links.shape[0]])
        return [ca.vec(one) + two for one, two in zip(own, parts, strict=True)]

    def _momentum(
        self, nested: Nested, theta: Expression, rates: Expression, chart: Chart
    ) -> Expression:
        nothing = ca.SX.zeros(self.model.robot.nu), ca.SX.zeros(self.forces)
        own = self._own_forces(theta, rates, *chart.bases, *nothing)[1]
        arguments = ca.vertcat(theta, rates, chart.turned)
        return own + nested.call(self._energies.momenta, arguments, chart.given)

    def _along(self, theta: Expression, momentum: Expression) -> Expression:
        """Momenta along theta, from those along v."""
        rates = ca.SX.sym("rates", self.model.robot.nv)
        v = self.model.velocities(theta, rates)
        return ca.jtimes(v, rates, momentum, True)

    def _point(
        self,
        theta: Expression,
        rates: Expression,
        v: Expression,
        bases: list[Expression],
        u: Expression,
        forces: Expression,
    ) -> Point:
        placed = self.model.place(theta, rates, bases)
        marks = [touched(self.model, touch, placed) for touch in self.touches]
        return Point(theta, placed, v, u, forces, marks)

    def _moment(self, point: Point, bases: list[Expression], t: Expression) -> Moment:
        contacts = {
            touch.name: force(at, parts, self.weight)
            for touch, at, parts in zip(
                self.touches, point.touched, self.parts_of(point.forces), strict=True
            )
        }
        q = self.model.coordinates(point.theta, bases)
        return Moment(self.model, point.placed, t, q, point.v, point.u, contacts)

    def _knot(self, name: str) -> tuple[Expression, dict[str, Expression]]:
        z = ca.SX.sym(name, self.knot)
        return z, {key: z[at] for key, at in self.slices().items()}

    def _chart(self, given: Expression, q: Expression) -> Chart:
        """The chart of free rotations at a knot, from the given quaternions and the unknowns."""
        turned = [q[at : at + 3] for at, _ in self.model.turns]
        bases = [
            product(given[4 * r : 4 * r + 4], hinges(angles)) for r, angles in enumerate(turned)
        ]
        return Chart(given, ca.vertcat(ca.SX.zeros(0, 1), *turned), bases)

    def _centred(self, q: Expression) -> Expression:
        """Theta of a knot in charts that begin at this knot."""
        theta = ca.SX(q)
        for at, _ in self.model.turns:
            theta[at : at + 3] = 0
        return theta

    def step(
        self,
        costs: Sequence[Term],
        wanted: Sequence[Wanted],
        stands: Sequence[bool],
        given_end: bool,
    ) -> Local:
        """One step with its scheduled contacts `stands`; `given_end`: its final q is given."""
        model, rule, dt, s = self.model, self.rule, self.h, self.stages
        begin, a = self._knot("begin")
        end, b = self._knot("end")
        middle = [ca.SX.sym(f"inner{k}", self.inner) for k in range(1, s)]
        given = ca.SX.sym("given", 2 * self.given)
        t, relaxed = given[0] * self._factor, given[1]
        chart = self._chart(given[2 : self.given], a["q"])
        there_chart = self._chart(given[self.given + 2 :], b["q"])
        bases, nested = chart.bases, Nested()
        nv = model.robot.nv
        last = ca.SX(b["q"])
        for (at, _), base, there in zip(model.turns, bases, there_chart.bases, strict=True):
            R = ca.mtimes(rotation_matrix(base).T, rotation_matrix(there))
            last[at : at + 3] = angles(R)
        thetas = [self._centred(a["q"]), *(part[:nv] for part in middle), last]
        forces = [a["forces"], *(part[nv:] for part in middle), b["forces"]]
        rates = [sum(rule.b[k, j] * thetas[j] for j in range(s + 1)) / dt for k in range(s + 1)]
        torques = [a["u"] + rule.c[k] * (b["u"] - a["u"]) for k in range(s + 1)]
        own = [a["v"], *(model.velocities(thetas[k], rates[k]) for k in range(1, s)), b["v"]]

        rows = Rows()
        parts = [
            self._forces(nested, thetas[k], rates[k], chart, torques[k], forces[k])
            for k in range(s + 1)
        ]
        ends_at = model.rates(last, b["v"])
        leaves = self._momentum(nested, self._centred(a["q"]), a["v"], chart)
        arrives = self._momentum(nested, self._centred(b["q"]), b["v"], there_chart)
        for k in range(s + 1):
            left = rule.w[k] * parts[k][0]
            for j in range(s + 1):
                left += rule.w[j] * rule.b[j, k] / dt * parts[j][1]
            if k == 0:
                left += leaves / dt
                # A rotation at the first point turns the chart: the sum over all points, less that
                # of the last.
                for r, (at, _) in enumerate(model.turns):
                    whole = sum(rule.w[j] * parts[j][2][3 * r : 3 * r + 3] for j in range(s + 1))
                    turn = rotation_matrix(hinges(last[at : at + 3]))
                    gone = ca.mtimes(turn, arrives[at : at + 3])
                    left[at : at + 3] = whole + (leaves[at : at + 3] - gone) / dt
            if k == s:
                left -= self._along(last, arrives) / dt
            rows.equal(DYNAMICS, left)
        seen_by = [a["v"], *rates[1:s], ends_at]
        points = [
            self._point(thetas[k], seen_by[k], own[k], bases, torques[k], forces[k])
            for k in range(s + 1)
        ]
        stuck = sticking(self.model, self.touches, stands)
        for k in range(s):
            there = points[k + 1]
            if len(self.rows):
                value = model.closing(there.placed, there.theta)[self.rows.tolist()]
                rows.equal(LOOPS, value)
            self._hold(rows, there.touched)
            way = (rule.c[k + 1] - rule.c[k]) * dt
            for touch, stand, sticks, x, here, then in zip(
                self.touches,
                stands,
                stuck,
                self.parts_of(forces[k]),
                points[k].touched,
                there.touched,
                strict=True,
            ):
                slip = slipped(touch, here, then) / way
                if touch.complements:
                    add_contact(rows, touch, x, then.gap, slip, here.ways, relaxed)
                else:
                    still = [then.gap, *(ca.dot(one, slip) for one in here.ways[1:])]
                    given_gap = given_end and k == s - 1
                    chosen = [still[i] for i in sticks if i or not given_gap]
                    add_planned(rows, touch, x, stand, then.gap, chosen)
        moments = [self._moment(points[k], bases, t + rule.c[k] * dt) for k in range(s + 1)]
        for one in wanted:
            if one.at in ("all", "knots"):
                for moment in moments[: s if one.at == "all" else 1]:
                    rows.within(one.name, value_of(one, moment), one.lower, one.upper)
        slopes = (dt * rates_at for rates_at in (a["v"], ends_at))
        values = [*thetas, *(slopes if self.smooth else ())]
        inside = sorted({*counts(wanted), *self.apart.between})
        inner = {n: self._inside(n, values, bases, a["u"], b["u"], t) for n in inside}
        for one in wanted:
            for moment in inner.get(one.between, ()):
                rows.within(one.name, value_of(one, moment), one.lower, one.upper)
        planes = [part[self.pushing :] for part in forces]
        for k in range(s):
            self.apart.keep(rows, points[k].placed, planes[k])
        for n in self.apart.between:
            for m, moment in enumerate(inner[n]):
                k, way = m // n, (m % n + 1.0) / (n + 1.0)
                mean = planes[k] + way * (planes[k + 1] - planes[k])
                self.apart.keep(rows, moment.placed, mean, n)
        local = self._local(ca.vertcat(begin, *middle, end), given, rows, nested)
        for term in costs:
            if term.at == "all":
                values = [scalar(term, moment) for moment in moments]
                total = sum(dt * w * value for w, value in zip(rule.w, values, strict=True))
                local.add_cost(term.name, total)
        return local

    def _local(
        self, z: Expression, given: Expression, rows: Rows, nested: Nested | None = None
    ) -> Local:
        z = ca.vertcat(z, self._factor) if self.stretches else z
        return Local(z, given, rows, nested)

    def _inside(
        self,
        n: int,
        values: Sequence[Expression],
        bases: list[Expression],
        first: Expression,
        last: Expression,
        t: Expression,
    ) -> list[Moment]:
        """Moments at n evenly spaced times between each two control points of a step.

        `values` are theta at the control points, with slopes over the step at both ends where the
        motion is smooth. Torques change from `first` to `last`.
        """
        factors = powers_of(self.rule.c, self.smooth)
        found = []
        for part in inner_parts(self.rule.c, n):
            powers = part ** np.arange(len(values))
            climbs = np.arange(1, len(values)) * powers[:-1]
            theta, slope = (
                sum(float(w) * value for w, value in zip(weights, values, strict=True))
                for weights in (powers @ factors, climbs @ factors[1:])
            )
            rates = slope / self.h
            v = self.model.velocities(theta, rates)
            placed = self.model.place(theta, rates, bases)
            q, u = self.model.coordinates(theta, bases), first + part * (last - first)
            found.append(Moment(self.model, placed, t + part * self.h, q, v, u, {}))
        return found

    def start(self, costs: Sequence[Term], wanted: Sequence[Wanted], closes: bool) -> Local:
        """The first knot; `closes`: with rows for loops and gaps, see `Layout.closes`."""
        z, at, given, bases, point = self._alone()
        rows = Rows()
        if self.held.moves:
            self._rest(rows, point.touched)
        if closes:
            if len(self.rows):
                value = self.model.closing(point.placed, point.theta)[self.rows.tolist()]
                rows.equal(LOOPS, value)
                rows.equal(LOOPS, ca.jtimes(value, point.theta, at["v"]))
            for touch, mark in zip(self.touches, point.touched, strict=True):
                rows.within(f"gap of {touch.name}", mark.gap, 0.0, np.inf)
        return self._finished("start", z, given, rows, (costs, wanted), point, bases)

    def _hold(self, rows: Rows, marks: list[Touched]) -> None:
        """Contacts that hold keep their initial positions."""
        if len(self.held.rows):
            centres = [mark.centre for mark in self._holding(marks)]
            away = ca.vertcat(*centres) - column(self.held.places)
            rows.equal(HOLDS, away[self.held.rows.tolist()])

    def _rest(self, rows: Rows, marks: list[Touched]) -> None:
        """Contacts that hold have no velocity."""
        if len(self.held.rows):
            velocities = [mark.velocity for mark in self._holding(marks)]
            rows.equal(HOLDS, ca.vertcat(*velocities)[self.held.rows.tolist()])

    def _holding(self, marks: list[Touched]) -> list[Touched]:
        return [mark for touch, mark in zip(self.touches, marks, strict=True) if touch.holds]

    def end(self, costs: Sequence[Term], wanted: Sequence[Wanted], moves: bool) -> Local:
        """The last knot, whose forces act on its velocities; `moves`: these are not all given."""
        z, at, given, bases, point = self._alone()
        rows = Rows()
        if len(self.rows):
            value = self.model.closing(point.placed, point.theta)[self.rows.tolist()]
            rows.equal(LOOPS, ca.jtimes(value, point.theta, at["v"]))
        ahead = self.rule.c[1] * self.h
        if moves:
            self._rest(rows, point.touched)
        stands = [touch.touches((self.steps - 0.5) * self.dt) for touch in self.touches]
        for touch, stand, sticks, x, mark in zip(
            self.touches,
            stands,
            sticking(self.model, self.touches, stands),
            self.parts_of(at["forces"]),
            point.touched,
            strict=True,
        ):
            gap = mark.gap + ahead * ca.dot(mark.ways[0], mark.velocity)
            if touch.complements:
                add_contact(rows, touch, x, gap, mark.velocity, mark.ways, given[1])
                continue
            still = [ca.dot(way, mark.velocity) for way in mark.ways] if moves else []
            add_planned(rows, touch, x, stand, gap, [still[i] for i in sticks if still])
        self.apart.keep(rows, point.placed, at["forces"][self.pushing :])
        return self._finished("end", z, given, rows, (costs, wanted), point, bases)

    def period(self, free: Sequence[int]) -> Local:
        """The last knot has the state of the first, but for the coordinates of `free` velocities.

        Unknowns and parameters are those of both knots.
        """
        first, before = self._knot("first")
        last, after = self._knot("last")
        given = ca.SX.sym("given", 2 * self.given)
        own = given[: self.given][2:], given[self.given :][2:]
        begins, ends = (
            self._chart(part, at["q"]).bases for part, at in zip(own, (before, after), strict=True)
        )
        rows = Rows()
        for k, _ in self.model.plain:
            if k not in free:
                rows.equal(PERIOD, after["q"][k] - before["q"][k])
        for begin, end in zip(begins, ends, strict=True):
            back = ca.vertcat(begin[0], -begin[1:4])
            rows.equal(PERIOD, 2.0 * product(back, end)[1:4])
        rows.equal(PERIOD, after["v"] - before["v"])
        return self._local(ca.vertcat(first, last), given, rows)

    def via(self, knot: int, costs: Sequence[Term], wanted: Sequence[Wanted]) -> Local:
        """Costs and constraints at one knot."""
        z, _, given, bases, point = self._alone()
        return self._finished(knot, z, given, Rows(), (costs, wanted), point, bases)

    def _alone(self):  # type: ignore[no-untyped-def]
        z, at = self._knot("z")
        given = ca.SX.sym("given", self.given)
        bases = self._chart(given[2:], at["q"]).bases
        theta = self._centred(at["q"])
        point = self._point(theta, at["v"], at["v"], bases, at["u"], at["forces"])
        return z, at, given, bases, point

    def _finished(self, where, z, given, rows, asked, point, bases):  # type: ignore[no-untyped-def]
        costs, wanted = asked
        moment = self._moment(point, bases, given[0] * self._factor)
        for one in wanted:
            if one.at == where or (where == "end" and one.at in ("all", "knots")):
                rows.within(one.name, value_of(one, moment), one.lower, one.upper)
        local = self._local(z, given, rows)
        for term in costs:
            if term.at == where:
                local.add_cost(term.name, scalar(term, moment))
        return local


def counts(wanted: Sequence[Wanted]) -> list[int]:
    """The different numbers of times between control points that constraints ask for."""
    return sorted({one.between for one in wanted} - {0})


def inner_parts(c: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Parts of a step (m,): n evenly spaced ones between each two of c."""
    within = np.arange(1, n + 1) / (n + 1)
    return (c[:-1, None] + np.diff(c)[:, None] * within).ravel()


def add_contact(
    rows: Rows,
    touch: Touch,
    parts: Expression,
    gap: Expression,
    slip: Expression,
    ways: list[Expression],
    relaxed: Expression,
) -> None:
    """Rows of one contact between two control points: signs, and products below `relaxed`."""
    positive, unknowns = complements(touch, parts, gap, slip, ways)
    names = ["gap", *("friction" for _ in range(touch.forces - 1))]
    for k, name in enumerate(names):
        rows.within(f"{name} of {touch.name}", positive[k], 0.0, np.inf)
    products = positive * unknowns - relaxed
    rows.within(f"complementarity of {touch.name}", products, -np.inf, 0.0)


def add_planned(
    rows: Rows,
    touch: Touch,
    parts: Expression,
    stands: bool,
    gap: Expression,
    still: Sequence[Expression],
) -> None:
    """Rows of a contact with a schedule, or of one that holds.

    `still` are the expressions that are zero while the contact sticks.
    """
    if not stands:  # its forces have zero as upper bound
        rows.within(f"gap of {touch.name}", gap, 0.0, np.inf)
        return
    rows.within(f"friction of {touch.name}", left_of_cone(touch, parts), 0.0, np.inf)
    for value in still:
        rows.equal(f"{touch.name} on the ground", value)


def value_of(wanted: Wanted, moment: Moment) -> Expression:
    """Value (n,) of a constraint at one time."""
    try:
        return ca.vec(ca.SX(expressed(wanted.function(moment))))
    except NotImplementedError:
        raise OptionError(
            f"constraint '{wanted.name}' must give an expression or several, of what the moment has"
        ) from None


def scalar(term: Term, moment: Moment) -> Expression:
    """Value of a cost at one time, or an OptionError."""
    try:
        value = ca.SX(expressed(term.function(moment)))
    except NotImplementedError:
        value = None
    if value is None or value.shape != (1, 1):
        raise OptionError(f"cost '{term.name}' must give one expression, not {value}")
    return value


def expressed(value: object) -> Expression:
    """A list or tuple as a column."""
    if isinstance(value, list | tuple):
        return ca.vertcat(*value)
    return value
