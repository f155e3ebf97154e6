"""Conversion between trajectories and the unknowns of a nonlinear program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg import qr

from robosim.errors import OptionError
from robosim.optimize.guesses import Guess, between, rates_between, sampled
from robosim.optimize.hinges import hinge_angles, turned_on
from robosim.optimize.program import Answer
from robosim.optimize.symbolic import Function, Symbolic, ca
from robosim.optimize.touching import force, touched
from robosim.optimize.trajectory import Trajectory
from robosim.optimize.transcription import Transcription
from robosim.validation import Array, read_only

OPEN = 1e-3  # [m, sine, or rad], violation of loops that is allowed at the start and the end
SUNK = 1e-6  # [m], penetration that is allowed there
CLOSED = 1e-9  # violation at which a guess is not corrected further
CLOSINGS = 20  # corrections of each point of a guess
FREE = 1e-6  # of the largest pivot; coordinates with smaller pivots are dependent


class Layout:
    """The positions of a trajectory's numbers among the unknowns.

    Parameters
    ----------
    model : Symbolic
    parts : Transcription
    seconds : float
    ends : mapping of "start" and "end" to q (nq,) and v (nv,), NaN for free values
    vias : knots with costs or constraints
    periodic : whether the first and the last knot have rows together
    durations : (2,) [s], the shortest and the longest, if the duration is unknown

    Attributes
    ----------
    closes : bool
        Whether loops and gaps of the first knot are rows: with loops, or if q of the start is not
        given.
    """

    def __init__(
        self,
        model: Symbolic,
        parts: Transcription,
        seconds: float,
        ends: Mapping[str, tuple[Array, Array]],
        vias: Sequence[int],
        periodic: bool = False,
        durations: tuple[float, float] | None = None,
    ) -> None:
        self.vias, self.periodic, self.durations = list(vias), periodic, durations
        self.model, self.parts, self.robot = model, parts, model.robot
        self.ends = ends
        dt = parts.dt
        inner = [k * dt + c * dt for k in range(parts.steps) for c in parts.rule.c[:-1]]
        self.times = np.array([*inner, seconds])
        self.knots = np.arange(parts.steps + 1) * parts.stages
        self.closes = bool(len(parts.rows)) or not np.all(np.isfinite(ends["start"][0]))
        self._instant = self._functions()

    def _functions(self) -> Function:
        """A function of theta, bases and forces: loops, their Jacobian, gaps, contact forces."""
        model, parts = self.model, self.parts
        theta, forces = ca.SX.sym("theta", self.robot.nv), ca.SX.sym("forces", parts.forces)
        bases = [ca.SX.sym("base", 4) for _ in model.turns]
        placed = model.place(theta, ca.SX.zeros(self.robot.nv), bases)
        value = model.closing(placed, theta)
        marks = [touched(model, touch, placed) for touch in parts.touches]
        pushes = [
            force(mark, x, parts.weight)
            for mark, x in zip(marks, parts.parts_of(forces), strict=True)
        ]
        gaps = ca.vertcat(ca.SX.zeros(0, 1), *(mark.gap for mark in marks))
        pushed = ca.vertcat(ca.SX.zeros(0, 1), *pushes)
        found = [value, ca.jacobian(value, theta), gaps, pushed]
        return ca.Function("instant", [theta, *bases, forces], found)

    def _at(self, q: Array, forces: Array | None = None) -> list[Array]:
        turns = [q[at : at + 4] for _, at in self.model.turns]
        own = np.zeros(self.parts.forces) if forces is None else forces
        found = self._instant(unknown(self.model, q), *turns, own)
        return [np.array(part.full()) for part in found]

    def begin(self, guess: Any) -> Guess:
        """States and torques at all control points, with the given values at both ends."""
        first, last = (
            np.where(np.isnan(self.ends[name][0]), np.array(self.robot.home), self.ends[name][0])
            for name in ("start", "end")
        )
        if guess is None:
            if np.isnan(self.ends["end"][0]).all():
                last = first
            seconds = self.times[-1]
            q = np.array([between(self.robot, first, last, t / seconds) for t in self.times])
            v = np.tile(rates_between(self.robot, first, last, seconds), (len(q), 1))
            found = Guess(self._closed(q), v, np.zeros((len(q), self.robot.nu)))
        else:
            found = sampled(self.robot, guess, self.times)
        for k, name in ((0, "start"), (-1, "end")):
            for own, given in zip(found, self.ends[name], strict=False):
                own[k] = np.where(np.isnan(given), own[k], given)
        for _, at in self.model.turns:
            found.q[:, at : at + 4] /= np.linalg.norm(found.q[:, at : at + 4], axis=1)[:, None]
        return found

    def _closed(self, q: Array) -> Array:
        """Rows (n, nq) with closed loops, each from the previous one, to stay on the same branch.

        Coordinates that the end fixes are kept at first, and the others corrected.
        """
        if not self.model.rows:
            return q
        given = np.isfinite(self.ends["end"][0])
        leads = np.array([given[j] and not np.all(given) for _, j in self.model.plain])
        places = np.array(self.model.plain)
        for k in range(1, len(q)):
            follows = places[~leads]
            q[k, follows[:, 1]] = q[k - 1, follows[:, 1]]
            for passed in range(CLOSINGS):
                value, J, _, _ = self._at(q[k])
                if np.abs(value).max() < CLOSED:
                    break
                moved = follows if passed < CLOSINGS // 2 else places
                way = np.linalg.lstsq(J[:, moved[:, 0]], value.ravel(), rcond=FREE)[0]
                q[k, moved[:, 1]] -= way
        return q

    def given(self, begins: Guess, relaxed: float) -> Array:
        """Parameters of all blocks: times, the relaxation, and quaternions of knots."""
        rows = []
        for k in self.knots:
            turns = [begins.q[k, at : at + 4] for _, at in self.model.turns]
            rows.append(np.concatenate(([self.times[k], relaxed], *turns)))
        knots = np.array(rows)
        order = np.concatenate(list(self.parts.groups().values()))
        steps = np.hstack((knots[:-1], knots[1:]))[order].ravel()
        both = knots[[0, -1]].ravel() if self.periodic else np.zeros(0)
        return np.concatenate((knots[0], steps, knots[-1], knots[self.vias].ravel(), both))

    def unknowns(self, begins: Guess, guess: Any) -> Array:
        """The unknowns w of a guess."""
        parts, s = self.parts, self.parts.stages
        forces = self._forces_of(guess)
        self._set_planes(forces, begins.q, guess)
        found = []
        for j, q in enumerate(begins.q):
            own = unknown(self.model, q)
            if j % s == 0:
                found += [own, begins.v[j], begins.u[j], forces[j]]
            else:
                base = begins.q[j - j % s]
                for at, k in self.model.turns:
                    own[at : at + 3] = hinge_angles(base[k : k + 4], q[k : k + 4])
                found += [own, forces[j]]
        w = np.concatenate(found + [np.ones(1)] * parts.stretches)
        assert len(w) == parts.unknowns
        return w

    def _set_planes(self, forces: Array, q: Array, guess: Any) -> None:
        """Guess the planes of all control points, where the guess has none."""
        parts = self.parts
        if not parts.apart.unknowns or self._has_unknowns(guess):
            return
        last = None
        for j, row in enumerate(q):
            turns = [row[at : at + 4] for _, at in self.model.turns]
            last = parts.apart.planes(unknown(self.model, row), turns, last)
            forces[j, parts.pushing :] = last

    def _has_unknowns(self, guess: Any) -> bool:
        """Whether a guess is a trajectory of such a problem."""
        return isinstance(guess, Trajectory) and guess.unknowns.shape[1] == self.parts.forces

    def _forces_of(self, guess: Any) -> Array:
        """Unknown forces (n, nf): an even share of the weight, or those of a trajectory."""
        parts = self.parts
        found = np.zeros((len(self.times), parts.forces))
        if self._has_unknowns(guess):
            old = guess.unknowns
            at = np.interp(self.times, guess.times, np.arange(len(old)))
            low = np.minimum(at.astype(int), len(old) - 2)
            part = (at - low)[:, None]
            return np.asarray(old[low] + part * (old[low + 1] - old[low]))
        at_contact = len(parts.rows)
        named = guess.forces if isinstance(guess, Trajectory) else {}
        for touch in parts.touches:
            own = found[:, at_contact : at_contact + touch.forces]
            at_contact += touch.forces
            own[:, 0] = 1.0 / len(parts.touches)
            if touch.name in named:
                rows = [np.interp(self.times, guess.times, row) for row in named[touch.name].T]
                over = np.array(rows) / parts.weight
                own[:, 0] = over[2]
                for k, way in enumerate(touch.along):
                    own[:, 1 + 2 * k], own[:, 2 + 2 * k] = over[way], -over[way]
        return np.maximum(found, 0.0)

    def limits(self, begins: Guess) -> tuple[Array, Array]:
        """Lower and upper limits of the unknowns.

        Raises
        ------
        OptionError
            For a start or an end that violates limits, loops or gaps.
        """
        parts, robot = self.parts, self.robot
        m = len(parts.rows)
        low, high = (
            np.concatenate([np.asarray(getattr(joint, name)) for joint in robot.tree_joints])
            for name in ("lower", "upper")
        )
        fast = np.concatenate([j.per_coordinate("velocity_limit") for j in robot.tree_joints])
        strong = robot.effort_limits
        contacts = np.zeros(parts.forces - m)
        contacts[parts.pushing - m :] = -np.inf  # planes have any sign
        few, many = np.full(m, -np.inf), np.full(m, np.inf)
        least = np.concatenate((low, -fast, -strong, few, contacts))
        most = np.concatenate((high, fast, strong, many, np.full(len(contacts), np.inf)))
        inner = (
            np.concatenate((low, few, contacts)),
            np.concatenate((high, many, np.full(len(contacts), np.inf))),
        )
        repeats = parts.stages - 1
        lower = np.tile(np.concatenate((least, np.tile(inner[0], repeats))), parts.steps + 1)
        upper = np.tile(np.concatenate((most, np.tile(inner[1], repeats))), parts.steps + 1)
        n = parts.unknowns - parts.stretches
        lower, upper = lower[:n], upper[:n]
        if self.durations is not None:
            shortest, longest = np.array(self.durations) / self.times[-1]
            lower, upper = np.append(lower, shortest), np.append(upper, longest)
        for at, _ in self.model.turns:  # below a quarter of a turn about the second hinge
            for k in range(len(self.knots)):
                lower[k * parts.stride + at + 1] = -1.4
                upper[k * parts.stride + at + 1] = 1.4
        self._lift(upper)
        for name, k in (("start", 0), ("end", len(self.knots) - 1)):
            self._fix(name, k, lower, upper, begins.q[self.knots[k]])
        return lower, upper

    def _lift(self, upper: Array) -> None:
        """Bound forces by zero while scheduled contacts are in the air.

        A knot belongs to the step that it begins, and the last knot to the last step.
        """
        parts, at = self.parts, len(self.parts.rows)
        for touch in parts.touches:
            own = np.arange(at, at + touch.forces)
            at += touch.forces
            for k in range(parts.steps + 1):
                if touch.touches((min(k, parts.steps - 1) + 0.5) * parts.dt):
                    continue
                upper[k * parts.stride + parts.slices()["forces"].start + own] = 0.0
                for a in range(parts.stages - 1 if k < parts.steps else 0):
                    first = k * parts.stride + parts.knot + a * parts.inner
                    upper[first + self.robot.nv + own] = 0.0

    def _fix(self, name: str, k: int, lower: Array, upper: Array, near: Array) -> None:
        """Fix the given values of a start or an end, except for those that follow by loops."""
        q, v = self.ends[name]
        nv, at = self.robot.nv, k * self.parts.stride
        theta = np.full(nv, np.nan)
        for n, j in self.model.plain:
            theta[n] = q[j]
        for n, j in self.model.turns:
            if np.isfinite(q[j]):
                theta[n : n + 3] = 0.0
        rows = np.isfinite(theta), np.isfinite(v)
        self._refuse(name, q, near)
        for known, values, first in zip(rows, (theta, v), (at, at + nv), strict=True):
            wanted = np.flatnonzero(known)
            if len(self.parts.rows) and len(wanted):
                J = self._at(near)[1][self.parts.rows]
                null = np.linalg.svd(J)[2][len(J) :]  # (n - m, n)
                _, upper_part, order = qr(null[:, wanted], mode="economic", pivoting=True)
                pivots = np.abs(np.diag(upper_part))
                wanted = wanted[order[: int(np.sum(pivots > FREE * pivots.max(initial=0.0)))]]
            for i in wanted:
                here = first + int(i)
                if not lower[here] - 1e-9 <= values[i] <= upper[here] + 1e-9:
                    what = "" if first == at else "velocity of "
                    raise OptionError(
                        f"the {name} has {what}'{self.robot.v_names[i]}' at {values[i]:.6g}, "
                        f"beyond its limits of {lower[here]:.6g} and {upper[here]:.6g}"
                    )
                lower[here] = upper[here] = values[i]

    def _refuse(self, name: str, q: Array, near: Array) -> None:
        """Raise an OptionError for a complete q that violates loops or gaps."""
        if not np.all(np.isfinite(q)):
            return
        turns = [q[at : at + 4] for _, at in self.model.turns]
        nearer = self.parts.apart.nearer(unknown(self.model, q), turns, SUNK)
        if nearer is not None:
            raise OptionError(
                f"q of the {name} has {nearer[0]} by {nearer[1]:.3g} m, which is below the margin"
            )
        value, _, gaps, _ = self._at(near)
        open_by = float(np.abs(value).max(initial=0.0))
        if open_by > OPEN:
            raise OptionError(
                f"q of the {name} leaves loops or couplings open by {open_by:.3g} [m, sine of half "
                "an angle, or rad]: close it, as Simulation.set_state does, or leave some of it NaN"
            )
        if gaps.size and gaps.min() < -SUNK:
            touch = self.parts.touches[int(np.argmin(gaps))]
            raise OptionError(
                f"q of the {name} has contact '{touch.name}' {-gaps.min():.3g} m in the ground"
            )

    def trajectory(
        self,
        w: Array,
        begins: Guess,
        answer: Answer,
        violation: Mapping[str, float],
        iterations: int,
        tolerance: float,
    ) -> Trajectory:
        """The trajectory of the unknowns w."""
        parts, robot, s = self.parts, self.robot, self.parts.stages
        at = parts.slices()
        m = len(parts.rows)
        q: list[Array] = []
        v, u, forces = [], [], []
        base = np.zeros(0)
        for j in range(len(self.times)):
            k, a = divmod(j, s)
            first = k * parts.stride + (0 if a == 0 else parts.knot + (a - 1) * parts.inner)
            x = w[first : first + robot.nv]
            base = begins.q[self.knots[k]] if a == 0 else q[k * s]
            own = np.zeros(robot.nq)
            for i, n in self.model.plain:
                own[n] = x[i]
            for i, n in self.model.turns:
                own[n : n + 4] = turned_on(base[n : n + 4], x[i : i + 3])
            q.append(own)
            if a == 0:
                knot = w[first : first + parts.knot]
                v.append(knot[at["v"]])
                u.append(knot[at["u"]])
                forces.append(knot[at["forces"]])
            else:
                forces.append(w[first + robot.nv : first + parts.inner])
        times = self.times * (w[-1] if parts.stretches else 1.0)
        points, own = np.array(q), np.array(forces)
        pushes = np.array([self._at(q[j], own[j])[3].ravel() for j in range(len(own))])
        named = {
            touch.name: read_only(pushes[:, 3 * k : 3 * k + 3])
            for k, touch in enumerate(parts.touches)
        }
        return Trajectory(
            robot, answer.status, read_only(times[self.knots]), read_only(points[self.knots]),
            read_only(np.array(v)), read_only(np.array(u)), read_only(times),
            read_only(points), named, read_only(parts.weight * own[:, :m]), dict(violation),
            answer.cost, iterations, tolerance, read_only(own),
            parts.smooth,
        )  # fmt: skip


def unknown(model: Symbolic, q: Array) -> Array:
    """Unknown coordinates (nv,) of a knot, whose given quaternions need no rotation."""
    found = np.zeros(model.robot.nv)
    for k, at in model.plain:
        found[k] = q[at]
    return found
