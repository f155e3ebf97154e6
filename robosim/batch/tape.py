"""Gradients through rollouts: steps are repeated and linearized in the backward pass.

With ``x = (q, v)`` in the tangent a step is ``dx' = A dx + B dtau + P dp``, see
`robosim.linearize`. A sum over the knots of a rollout, with the derivatives ``d[k]`` by knot k, has
the adjoints ``l[k] = d[k] + A' l[k + 1]``. They lead to its gradients: ``l[0]`` by the start,
``B' l[k + 1]`` by the torques of step k, and the sum of ``P' l[k + 1]`` by parameters. Steps with
closed forms are passed without these matrices: see `robosim.batch.backward`.

What is kept of a step is where it began and what acted over it, less than 1 kB of an A1. The steps
of a rollout that is taped begin anew at the q and v of their knots, so that these are all that a
step follows from. Without contacts, limits and dry friction the motion is the same as that of
other rollouts, up to the tolerance. With them it is so up to `contact_speed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.batch.backward import Steps, Worker, pass_back, share_out
from robosim.batch.gradients import Again, Gradients, Seen, Sensitivities
from robosim.batch.rollout import Rollout
from robosim.control.pd import motor_slopes
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, ConvergenceError, OptionError
from robosim.linearization.linearization import (
    MaximalLinearizer,
    check_derivatives,
    side_by_side,
    smoothed,
    threads_for,
)
from robosim.linearization.linearized import Given, Step
from robosim.linearization.linearizer import Tangent
from robosim.simulation import Simulation
from robosim.validation import Array

MOST = 64  # steps that a thread makes again at once
KEPT = 8  # robots with other numbers, whose memory is kept
STEP = 1e-6  # of changes of starts, in differences of what they are projected onto


class Inputs(NamedTuple):
    """Inputs of the steps of a rollout.

    Attributes
    ----------
    gains : (n, nu) GAINS
    targets, rates : (n, steps, nu), or (n, 0, nu) where the gains have them
    torques : (n, steps or 1, nu), beside the gains
    external : (n, nb + 1, 6) wrenches
    divided : (n, steps), whether a step was divided
    """

    gains: NDArray[np.void]
    targets: Array
    rates: Array
    torques: Array
    external: Array
    divided: NDArray[np.bool_]


class TapedRollout(Rollout):
    """A `Rollout` that has derivatives; see `BatchSimulation.rollout`."""

    tape: Tape

    def vjp(
        self,
        dq: ArrayLike | None = None,
        dv: ArrayLike | None = None,
        *,
        parameters: Sequence[str] = (),
        contact_speed: float | None = None,
        gains: bool = False,
    ) -> Gradients:
        """Gradients of a sum over the knots, by all inputs of the rollout.

        Parameters
        ----------
        dq : (n, steps + 1, nq) or (n, steps + 1, nv), or None for zero
            Derivatives of the sum by the coordinates at each knot, or in the tangent. Rows of
            knots that a state has not reached must be zero.
        dv : (n, steps + 1, nv), or None for zero
        parameters : names
            See `robosim.derivatives.PARAMETERS`.
        contact_speed : float or None [m/s]
            As for `linearize`: smooths contacts in the derivatives, not in the rollout.
        gains : bool
            Whether to compute derivatives by the gains of an implicit PD, which is expensive. Those
            by gains of an explicit PD are always computed.

        Returns
        -------
        Gradients

        Raises
        ------
        OptionError
            For wrong shapes, derivatives that are not finite, or an unknown parameter.
        ConvergenceError
            If a step cannot be solved with its derivatives.
        """
        return self.tape.vjp(dq, dv, tuple(parameters), contact_speed, gains)

    def sensitivities(
        self,
        parameters: Sequence[str] = (),
        *,
        starts: bool = True,
        gains: Sequence[tuple[str, int]] = (),
        torques: Array | None = None,
        contact_speed: float | None = None,
    ) -> Sensitivities:
        """Derivatives of all states of the rollout along m directions, in forward mode.

        Cheaper than `vjp` if there are more outputs than directions, as in least squares. The
        directions are in the order starts, parameters, gains, torques.

        Parameters
        ----------
        parameters, contact_speed : as for `vjp`
        starts : bool
            Whether the first 2 nv directions are those of the initial state.
        gains : pairs of "kp" or "kd" and the number of an actuated coordinate
        torques : (n, steps, nu, k) or None
            Changes of all torques, along k directions.
        """
        return self.tape.sensitivities(tuple(parameters), starts, gains, torques, contact_speed)


class Tape:
    """Initial states and inputs of all steps of a rollout.

    Parameters
    ----------
    origin : Simulation
        A simulation with the options of all states.
    robots : sequence of n Mechanism
    threads : int
    rollout : Rollout
    inputs : Inputs
    memory : dict
        Memory for linearized steps, by robot; kept by the batch.
    failures : dict of int to ConvergenceError
        Errors of the states that have stopped.
    """

    def __init__(
        self,
        origin: Simulation,
        robots: Sequence[Mechanism],
        threads: int,
        rollout: Rollout,
        inputs: Inputs,
        memory: dict[Any, Any],
        failures: dict[int, ConvergenceError],
    ) -> None:
        self._origin, self._robots, self._threads = origin, robots, threads
        self.rollout, self.inputs, self._memory = rollout, inputs, memory
        self.failures = failures
        robot = origin.robot
        self.n, self.steps = rollout.tau.shape[:2]
        self.nv, self.nu = robot.nv, robot.nu
        gains = inputs.gains
        implicit = gains["implicit"] != 0
        active = (gains["kp"] != 0.0) | (gains["kd"] != 0.0)
        self._servos = bool((implicit & active).any())
        self._held = ~implicit
        self._feeds = bool((self._held & active).any())  # whether torques follow the state
        beyond = (gains["v_index"] >= robot.nv) & self._held & active
        for _, k in np.argwhere(beyond)[:1]:
            raise ControllerError(
                f"a taped rollout cannot follow a PD of '{robot.actuated_names[k]}', which closes "
                "a loop and so is no coordinate of the start: make the PD implicit"
            )

    @property
    def nbytes(self) -> int:
        """Bytes that it keeps, those of the rollout included."""
        return sum(array.nbytes for array in (*self.rollout, *self.inputs))

    def vjp(
        self,
        dq: ArrayLike | None,
        dv: ArrayLike | None,
        parameters: tuple[str, ...],
        contact_speed: float | None,
        gains: bool,
    ) -> Gradients:
        """See `TapedRollout.vjp`."""
        n, steps, nv, nu, base = self.n, self.steps, self.nv, self.nu, 2 * self.nv
        ahead = self._adjoints_of(dq, dv)
        of_pd = (3 if gains else 1) if self._servos else 0
        adjoint = ahead[:, steps].copy()
        by_torques, by_targets = np.zeros((n, steps, nu)), np.zeros((n, steps, nu))
        by_gains = np.zeros((2, n, nu))
        by_parameters = np.zeros((n, len(parameters)))
        seen, on = Seen.none(n, steps), self._feedback()
        pushes = adjoint, by_torques, by_targets
        passed = of_pd < 3 and not parameters
        passed = passed and self._pass_back(ahead, contact_speed, of_pd, on, seen, pushes)
        for begin, end in () if passed else self._blocks(backwards=True):
            found = self._again(begin, end, parameters, contact_speed, of_pd, seen)
            for k in range(end - 1, begin - 1, -1):
                some = found.changes[:, k - begin]
                back = (some @ adjoint[:, :, None])[:, :, 0]
                by_parameters += (found.by[:, k - begin] @ adjoint[:, :, None])[:, :, 0]
                adjoint[:] = back[:, :base]
                push = by_torques[:, k] = back[:, base : base + nu]
                if self._feeds:
                    adjoint += on.at(k).pulled(push, base)
                if of_pd:
                    by_targets[:, k] = back[:, base + nu : base + 2 * nu]
                if of_pd == 3:
                    by_gains += back[:, base + 2 * nu :].reshape(n, 2, nu).swapaxes(0, 1)
                adjoint += ahead[:, k] if k else self._closed(ahead[:, :1])[:, 0]
        by_targets += on.kp * on.free * by_torques
        by_gains += np.sum(by_torques * on.free * np.stack((on.away, on.slower)), axis=2)
        if of_pd == 1:
            by_gains[:, ~self._held] = np.nan
        return Gradients(
            adjoint[:, :nv], adjoint[:, nv:], by_torques, by_targets, by_gains[0], by_gains[1],
            by_parameters, parameters, self.inputs.divided, seen.changes, seen.smoothed,
        )  # fmt: skip

    def _pass_back(
        self,
        ahead: Array,
        contact_speed: float | None,
        of_pd: int,
        on: Feedback,
        seen: Seen,
        out: tuple[Array, Array, Array],
    ) -> bool:
        """Go back through all steps without their matrices, where those have closed forms.

        Fills the adjoint of the first knots and derivatives by torques and targets; see `vjp`.
        Returns whether that could be done.
        """
        groups = []
        for states in self._by_robot().values():
            robot, many = self._robots[states[0]], self.steps * len(states)
            groups.append((self._workers(robot, (), contact_speed, of_pd, many), states))
        time = float(self.rollout.t[0, 0])
        found = [[worker.backward(time) for worker in workers] for workers, _ in groups]
        if any(one is None for some in found for one in some):
            return False
        adjoint, by_torques, by_targets = out
        base, nu, one_at_a_time = 2 * self.nv, self.nu, Lock()

        def take(worker: Worker, states: NDArray[np.int64]) -> None:
            taken = np.arange(self.steps) < self.rollout.done[states, None]
            rows, k = np.nonzero(taken)
            i = states[rows]
            places = list(zip(i.tolist(), k.tolist(), strict=True))

            def by_matrices(row: int, behind: Array) -> tuple[Array, Array, Array]:
                place = places[row]
                with one_at_a_time:  # as smoother contacts have memory for one
                    step, smooth = self._one_again(worker.linearizer, *place, of_pd)
                seen.smoothed[place] = smooth
                seen.note([place], [step.contacts])
                back = step.changes @ behind
                targets = back[base + nu : base + 2 * nu] if of_pd else np.zeros(nu)
                return back[:base], back[base : base + nu], targets

            def note(begin: int, model: Any, contacts: Any, count: Any) -> None:
                seen.note_rows(places[begin : begin + len(count)], model, contacts, count)

            passed = pass_back(worker, self._steps_of(i, k, ahead, on), by_matrices, note)
            first = k == 0
            adjoint[states] = ahead[states, 0]  # of those without a step
            adjoint[i[first]] = passed.before[first]
            by_torques[i, k], by_targets[i, k] = passed.by_torques, passed.by_targets

        for (workers, states), backs in zip(groups, found, strict=True):
            made = [Worker(*one) for one in zip(workers, backs, strict=True)]  # type: ignore[arg-type]
            share_out(made[: len(states)], np.array(states), take)
        return True

    def _steps_of(
        self, i: NDArray[np.int64], k: NDArray[np.int64], ahead: Array, on: Feedback
    ) -> Steps:
        """What steps k (m,) of states i (m,) followed from, ordered by states and steps."""
        inputs, robot, m = self.inputs, self._origin.robot, len(i)
        forces = np.zeros((m, len(self._origin.engine.parts.model.coordinates)))
        forces[:, robot.actuated] = self.rollout.tau[i, k]
        gains = np.zeros((m, 0), dtype=inputs.gains.dtype)
        if self._servos:
            torques = inputs.torques[i, k if inputs.torques.shape[1] > 1 else 0]
            held = self._held[i]
            forces[:, robot.actuated] = np.where(held, self.rollout.tau[i, k], torques)
            gains = inputs.gains[i]
            for name in ("target", "velocity"):
                aims = self._aims(name)
                gains[name] = aims[i, k if aims.shape[1] > 1 else 0]
            for name in ("kp", "kd"):
                gains[name][held] = 0.0  # in the torques already
        by_q, by_v = -on.kp * on.free, on.by_rate - on.kd * on.free
        ends = ahead[i, k + 1]
        return Steps(
            np.concatenate((self.rollout.q[i, k], self.rollout.v[i, k], forces), axis=1),
            inputs.external[i], gains, ahead[i, k], k + 1 == self.rollout.done[i], ends,
            by_q[i, k], by_v[i, k], on.v_index[0, 0],
        )  # fmt: skip

    def sensitivities(
        self,
        parameters: tuple[str, ...],
        starts: bool,
        gains: Sequence[tuple[str, int]],
        torques: Array | None,
        contact_speed: float | None,
    ) -> Sensitivities:
        """See `TapedRollout.sensitivities`."""
        n, steps, nu, base = self.n, self.steps, self.nu, 2 * self.nv
        first = base if starts else 0
        pushes = np.zeros((n, steps, nu, 0)) if torques is None else torques
        if pushes.shape[:3] != (n, steps, nu):
            raise OptionError(f"torques must have shape ({n}, {steps}, {nu}, k): {pushes.shape}")
        at_gains = first + len(parameters)
        at_torques = at_gains + len(gains)
        out = np.zeros((n, steps + 1, base, at_torques + pushes.shape[3]))
        # Of a matrix of rows, so transposed.
        rows = np.tile(np.eye(base)[:first], (n, 1, 1))
        out[:, 0, :, :first] = np.swapaxes(self._closed(rows), 1, 2) if starts else 0.0
        of_pd = 3 if self._servos else 0
        seen, feedback = Seen.none(n, steps), self._feedback()
        for begin, end in self._blocks(backwards=False):
            found = self._again(begin, end, parameters, contact_speed, of_pd, seen)
            for k in range(begin, end):
                some, before = found.changes[:, k - begin], out[:, k]
                on = feedback.at(k)
                more = on.felt(before)
                for column, (field, joint) in enumerate(gains):
                    lever = on.away if field == "kp" else on.slower
                    more[:, joint, at_gains + column] += (on.free * lever)[:, joint]
                more[:, :, at_torques:] += pushes[:, k]
                out[:, k + 1] = some[:, :base].swapaxes(1, 2) @ before
                out[:, k + 1] += some[:, base : base + nu].swapaxes(1, 2) @ more
                out[:, k + 1, :, first:at_gains] += found.by[:, k - begin].swapaxes(1, 2)
                for column, (field, joint) in enumerate(gains):
                    if of_pd:
                        row = base + (2 if field == "kp" else 3) * nu + joint
                        out[:, k + 1, :, at_gains + column] += some[:, row]
        return Sensitivities(out, self.inputs.divided, seen.changes, seen.smoothed)

    def by_coordinates(self, changes: Array) -> Array:
        """Derivatives (n, nq) by the coordinates of the starts, of those in the tangent (n, nv)."""
        robot, tangent = self._origin.robot, Tangent(self._origin.robot)
        if robot.nq == robot.nv:
            return changes
        rates = np.eye(robot.nq)
        rows = zip(self.rollout.q[:, 0], changes, strict=True)
        return np.array([tangent.velocities(q, rates) @ change for q, change in rows])

    def _closed(self, rows: Array) -> Array:
        """Derivatives (n, m, 2 nv) by the starts that were given, of those by the first knots.

        They differ where starts are projected onto loops, couplings and motions. How those answer
        is found by central differences of projections, as no step is taken there.
        """
        robot = self._origin.robot
        driven = any(joint.motion is not None for joint in robot.joints)
        if not (rows.any() and (robot.loop_joints or robot.couplings or driven)):
            return rows
        out = np.empty_like(rows)
        for i, of_robot in enumerate(self._robots):
            sim, t = self._origin.with_robot(of_robot), float(self.rollout.t[i, 0])
            out[i] = rows[i] @ projection(sim, self.rollout.q[i, 0], self.rollout.v[i, 0], t)
        return out

    def _blocks(self, backwards: bool) -> Iterator[tuple[int, int]]:
        """Steps that are made again at once."""
        size = max(1, MOST * self._threads // self.n)
        begins = list(range(0, self.steps, size))
        for begin in reversed(begins) if backwards else begins:
            yield begin, min(begin + size, self.steps)

    def _adjoints_of(self, dq: ArrayLike | None, dv: ArrayLike | None) -> Array:
        """(n, steps + 1, 2 nv) derivatives of the sum by all knots, in the tangent."""
        n, knots, nv, nq = self.n, self.steps + 1, self.nv, self._origin.robot.nq
        out = np.zeros((n, knots, 2 * nv))
        for name, value, widths in (("dq", dq, (nv, nq)), ("dv", dv, (nv,))):
            if value is None:
                continue
            array = np.asarray(value, dtype=float)
            if array.shape not in [(n, knots, width) for width in widths]:
                shapes = " or ".join(f"({n}, {knots}, {width})" for width in dict.fromkeys(widths))
                raise OptionError(f"{name} must have shape {shapes}, not {array.shape}")
            for i, k, j in np.argwhere(~np.isfinite(array))[:1]:
                raise OptionError(
                    f"{name} must be finite, but at knot {k} of state {i} it is {array[i, k, j]}"
                )
            late = np.arange(knots) > self.rollout.done[:, None]
            for i, k in np.argwhere(late & array.any(axis=2))[:1]:
                raise OptionError(
                    f"{name} is not zero at knot {k} of state {i}, whose step "
                    f"{self.rollout.done[i]} could not be solved: there is no such knot"
                )
            if name == "dv":
                out[:, :, nv:] = array
            elif array.shape[2] == nv:
                out[:, :, :nv] = array
            else:
                tangent = Tangent(self._origin.robot)
                for i, k in np.argwhere(array.any(axis=2)):
                    out[i, k, :nv] = tangent.rates(self.rollout.q[i, k]).T @ array[i, k]
        return out

    def _feedback(self) -> Feedback:
        """How the held torques of a PD answered in all steps."""
        gains, on = self.inputs.gains[:, None], np.where(self._held, 1.0, 0.0)[:, None]
        v_index = np.minimum(gains["v_index"], self.nv - 1)
        q_index = np.minimum(gains["q_index"], self.rollout.q.shape[2] - 1)
        # Of states that have stopped before nothing is asked.
        angles, rates = (
            np.nan_to_num(np.take_along_axis(knots[:, :-1], index, axis=2))
            for knots, index in ((self.rollout.q, q_index), (self.rollout.v, v_index))
        )
        away, slower = self._aims("target") - angles, self._aims("velocity") - rates
        asked = gains["kp"] * away + gains["kd"] * slower
        free, by_rate = motor_slopes(gains, asked, rates)
        found = on * free, on * by_rate, gains["kp"] * on, gains["kd"] * on, away, slower, v_index
        shape = self.n, self.steps, self.nu
        return Feedback(*(np.broadcast_to(one, shape) for one in found))

    def _aims(self, what: str) -> Array:
        """(n, steps or 1, nu) targets of a PD, or their velocities."""
        moving = self.inputs.targets if what == "target" else self.inputs.rates
        return moving if moving.shape[1] else self.inputs.gains[what][:, None]

    def _again(
        self,
        begin: int,
        end: int,
        parameters: tuple[str, ...],
        contact_speed: float | None,
        of_pd: int,
        seen: Seen,
    ) -> Again:
        """Steps from begin to end to first order; what is seen of them goes into `seen`."""
        n, count, base = self.n, end - begin, 2 * self.nv
        out = Again(
            np.zeros((n, count, base + (1 + of_pd) * self.nu, base)),
            np.zeros((n, count, len(parameters), base)),
        )
        for states in self._by_robot().values():
            robot = self._robots[states[0]]
            places = [(i, k) for k in range(begin, end) for i in states if k < self.rollout.done[i]]
            if not places:
                continue
            workers = self._workers(robot, parameters, contact_speed, of_pd, len(places))
            rows = [self._given(i, k) for i, k in places]
            steps: list[Step | ConvergenceError] = side_by_side(
                workers, rows, MaximalLinearizer.of_given
            )
            contacts = []
            for (i, k), row, step in zip(places, rows, steps, strict=True):
                if isinstance(step, ConvergenceError):
                    step = self._smoother(row, robot, parameters, of_pd, workers[0], step, i)
                    seen.smoothed[i, k] = True
                out.changes[i, k - begin], out.by[i, k - begin] = step.changes, step.by
                contacts.append(step.contacts)
            seen.note(places, contacts)
        return out

    def _by_robot(self) -> dict[int, list[int]]:
        """States of each robot."""
        out: dict[int, list[int]] = {}
        for i, robot in enumerate(self._robots):
            out.setdefault(id(robot), []).append(i)
        return out

    def _one_again(
        self, worker: MaximalLinearizer, i: int, k: int, of_pd: int
    ) -> tuple[Step, bool]:
        """Step k of state i to first order, and whether its contacts were smoothed."""
        row = self._given(i, k)
        step = worker.of_given([row])[0]
        if not isinstance(step, ConvergenceError):
            return step, False
        return self._smoother(row, self._robots[i], (), of_pd, worker, step, i), True

    def _smoother(
        self,
        row: Given,
        robot: Mechanism,
        parameters: tuple[str, ...],
        of_pd: int,
        worker: MaximalLinearizer,
        error: ConvergenceError,
        i: int,
    ) -> Step:
        """A step of state i whose derivatives were not found, with smoother contacts."""
        again = partial(self._alone, row, robot, parameters, of_pd)
        return smoothed(again, worker.contact_speed, error.of_state(i))

    def _alone(
        self, row: Given, robot: Mechanism, parameters: tuple[str, ...], of_pd: int, speed: float
    ) -> Step | ConvergenceError:
        """One step with another contact_speed."""
        (worker,) = self._workers(robot, parameters, speed, of_pd, 1)
        return worker.of_given([row])[0]

    def _workers(
        self,
        robot: Mechanism,
        parameters: tuple[str, ...],
        contact_speed: float | None,
        of_pd: int,
        n: int,
    ) -> list[MaximalLinearizer]:
        """What takes steps of a robot to first order, one for each thread."""
        check_derivatives(contact_speed)
        # The robot is kept, so that its identity stays its own.
        of_robot, known = self._memory.setdefault(id(robot), (robot, {}))
        while len(self._memory) > KEPT:
            del self._memory[next(iter(self._memory))]
        made = known.setdefault((parameters, contact_speed, of_pd), [])
        wanted = threads_for(n, self._threads)
        while len(made) < wanted:
            sim = self._origin.with_robot(of_robot)
            made.append(
                MaximalLinearizer(sim, contact_speed, parameters, self._servos, of_pd=of_pd)
            )
        return list(made[:wanted])

    def _given(self, i: int, k: int) -> Given:
        """What step k of state i followed from."""
        rollout, inputs, robot = self.rollout, self.inputs, self._origin.robot
        forces = np.zeros(robot.v_offsets[-1])
        forces[robot.actuated] = rollout.tau[i, k]
        gains = inputs.gains[i, : self.nu if self._servos else 0]
        if self._servos:
            held = inputs.torques[i, k if inputs.torques.shape[1] > 1 else 0]
            forces[robot.actuated] = np.where(self._held[i], rollout.tau[i, k], held)
            gains = gains.copy()
            for name in ("target", "velocity"):
                aims = self._aims(name)[i]
                gains[name] = aims[k if len(aims) > 1 else 0]
            for name in ("kp", "kd"):
                gains[name][self._held[i]] = 0.0  # in the torques already
        state = rollout.q[i, k], rollout.v[i, k]
        return Given(*state, forces, inputs.external[i], gains, float(rollout.t[i, k]), None)


class Feedback(NamedTuple):
    """How held torques of a PD (n, steps, nu) follow from the state; zero where there is none.

    `free` is 1 where a motor gives what it is asked for, `by_rate` what its limit falls by with
    the rate; `away` and `slower` are what kp and kd act on.
    """

    free: Array
    by_rate: Array
    kp: Array
    kd: Array
    away: Array
    slower: Array
    v_index: NDArray[np.int64]

    def at(self, k: int) -> Feedback:
        """The same of one step, (n, nu)."""
        return Feedback._make(one[:, k] for one in self)

    def pulled(self, push: Array, base: int) -> Array:
        """(n, 2 nv) by the state, from derivatives by the torques (n, nu)."""
        out, at = np.zeros((len(push), base)), np.arange(len(push))[:, None]
        by_q, by_v = -self.kp * self.free, self.by_rate - self.kd * self.free
        np.add.at(out, (at, self.v_index), by_q * push)
        np.add.at(out, (at, base // 2 + self.v_index), by_v * push)
        return out

    def felt(self, change: Array) -> Array:
        """Changes of torques (n, nu, m) with those of the state (n, 2 nv, m)."""
        at, half = np.arange(len(change))[:, None], change.shape[1] // 2
        by_q, by_v = -self.kp * self.free, self.by_rate - self.kd * self.free
        felt = by_q[:, :, None] * change[at, self.v_index]
        return np.asarray(felt + by_v[:, :, None] * change[at, half + self.v_index])


def projection(sim: Simulation, q: Array, v: Array, time: float) -> Array:
    """How a start (2 nv) answers to changes of the q and v (2 nv) that `set_state` is given."""
    nv, dynamics = len(v), sim.dynamics
    out = np.empty((2 * nv, 2 * nv))
    for k, step in enumerate(STEP * np.eye(2 * nv)):
        ends = []
        for way in (1.0, -1.0):
            moved = dynamics.integrate(q, way * step[:nv])
            sim.set_state(moved, v + way * step[nv:], time)
            ends.append(np.concatenate((dynamics.difference(q, sim.q), sim.v)))
        out[:, k] = (ends[0] - ends[1]) / (2.0 * STEP)
    return out
