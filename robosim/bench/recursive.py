"""Dynamics in joint coordinates beside Pinocchio's, with derivatives and the cost of a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.bench import others
from robosim.bench.case import Case, Setup
from robosim.bench.legged import G1
from robosim.bench.measure import Contender, race
from robosim.bench.report import OURS, Report, Row, paired
from robosim.description.mechanism import Mechanism
from robosim.dynamics.dynamics import Dynamics
from robosim.loaders.packages import example_robot_data
from robosim.measuring.runs import exponent
from robosim.measuring.target import Target
from robosim.models.builders import chain
from robosim.peers import conversions
from robosim.peers.comparison import random_state

Array = NDArray[np.float64]
# Most of robosim's time over Pinocchio's; the most that a call from Python may cost is `CALL` [us].
LIMITS = {"rnea": 2.0, "aba": 1.5, "crba": 2.0, "rnea derivatives": 2.0, "aba derivatives": 2.0}
# The name of each algorithm in Pinocchio, and that of its loop over states, if there is one.
THEIRS = {
    "rnea": ("rnea", "rneaInParallel"),
    "aba": ("aba", "abaInParallel"),
    "crba": ("crba", None),
    "rnea derivatives": ("computeRNEADerivatives", None),
    "aba derivatives": ("computeABADerivatives", None),
}
DERIVATIVES = ("rnea derivatives", "aba derivatives")
CALL, SLOPE = 3.0, 1.1
PINOCCHIO = "Pinocchio"
LARGEST = 200  # velocities; the tensors in Pinocchio's data grow as their cube, 8 GB each at 1000


class States(NamedTuple):
    """Random states of a robot: (n, nq), (n, nv), (n, nv)."""

    q: Array
    v: Array
    a: Array


def states_of(robot: Mechanism, n: int) -> States:
    """n random states, with accelerations of the same size for all joints."""
    rng = np.random.default_rng(0)
    q, v = (
        np.array(part) for part in zip(*(random_state(robot, rng) for _ in range(n)), strict=True)
    )
    return States(q, v, rng.normal(size=(n, robot.nv)))


class Ours:
    """robosim's algorithms by name, over all rows in one call, or with a call for each row."""

    def __init__(self, robot: Mechanism) -> None:
        made = Dynamics(robot, tree=True)
        self.calls: dict[str, Callable[[Any, Any, Any], Array]] = {
            "rnea": lambda q, v, a: made.inverse_dynamics(q, v, a, passive=False),
            "aba": lambda q, v, a: made.forward_acceleration(q, v, a, passive=False),
            "crba": lambda q, v, a: made.mass_matrix(q),
            # All three derivatives are computed; that by q is compared.
            "rnea derivatives": lambda q, v, a: made.inverse_dynamics_derivatives(
                q, v, a, passive=False
            )[0],
            "aba derivatives": lambda q, v, a: made.forward_derivatives(q, v, a, passive=False)[0],
        }

    def batch(self, name: str, states: States) -> Callable[[], bool]:
        call = self.calls[name]
        return lambda: bool(np.isfinite(call(*states)[-1]).all())

    def single(self, name: str, states: States) -> Callable[[], bool]:
        call, rows = self.calls[name], list(zip(*states, strict=True))

        def run() -> bool:
            for q, v, a in rows:
                call(q, v, a)
            return True

        return run


class Theirs:
    """Pinocchio's algorithms: in its loop over rows on one thread, or with a call for each row."""

    def __init__(self, robot: Mechanism, text: str) -> None:
        import pinocchio as pin

        root = (pin.JointModelFreeFlyer(),) if robot.floating_base else ()
        self.pin, self.robot = pin, robot
        self.model = pin.buildModelFromXML(text, *root)
        self.data, self.pool = self.model.createData(), pin.ModelPool(self.model, 1)

    def converted(self, states: States) -> States:
        more = {"model": self.model}
        pairs = [
            conversions.to_pinocchio(self.robot, q, v, **more)
            for q, v in zip(states.q, states.v, strict=True)
        ]
        q, v = (np.array(part) for part in zip(*pairs, strict=True))
        return States(q, v, states.a)

    def single(self, name: str, states: States) -> Callable[[], bool]:
        model, data, rows = self.model, self.data, list(zip(*states, strict=True))
        algorithm = getattr(self.pin, THEIRS[name][0])

        def run() -> bool:
            if name == "crba":
                for q, _, _ in rows:
                    algorithm(model, data, q)
            else:
                for q, v, a in rows:
                    algorithm(model, data, q, v, a)
            return True

        return run

    def batch(self, name: str, states: States) -> Callable[[], bool] | None:
        """None where Pinocchio has no such loop."""
        loop = THEIRS[name][1]
        if loop is None:
            return None
        columns = [np.asfortranarray(part.T) for part in states]
        out = np.asfortranarray(np.zeros((self.model.nv, len(states.q))))
        algorithm = getattr(self.pin, loop)

        def run() -> bool:
            algorithm(1, self.pool, *columns, out)
            return True

        return run

    def error(self, ours: Ours) -> dict[str, float]:
        """Largest difference of each algorithm's result, relative to its largest entry.

        Derivatives by q are compared for all columns but those of a floating base, because
        Pinocchio's velocities differ from robosim's along its tangent.
        """
        pin, robot, model = self.pin, self.robot, self.model
        q, v, a = (part[0] for part in states_of(robot, 1))
        more = {"model": model}
        q_pin, v_pin = conversions.to_pinocchio(robot, q, v, **more)
        T = conversions.velocity_map_from_pinocchio(robot, q, **more)
        drift = conversions.velocity_drift_from_pinocchio(robot, q, v, **more)
        M = np.array(pin.crba(model, self.data, q_pin))
        M = T @ (np.triu(M) + np.triu(M, 1).T) @ T.T
        tau = T @ pin.rnea(model, self.data, q_pin, v_pin, T.T @ (a - drift))
        force = np.sqrt(np.diag(M)) * a
        moved = pin.aba(model, self.data, q_pin, v_pin, T.T @ force)
        right = {"rnea": tau, "aba": T @ moved + drift, "crba": M}
        state, first = (model, self.data, q_pin, v_pin), 6 if robot.floating_base else 0
        slopes = pin.computeRNEADerivatives(*state, T.T @ (a - drift))[0].copy()
        right["rnea derivatives"] = (T @ slopes @ T.T)[:, first:]
        slopes = pin.computeABADerivatives(*state, T.T @ force)[0].copy()
        right["aba derivatives"] = (T @ slopes @ T.T)[:, first:]
        errors = {}
        for name, answer in right.items():
            told = ours.calls[name](q, v, force if name.startswith("aba") else a)
            told = told[:, first:] if name in DERIVATIVES else told
            errors[name] = float(np.abs(told - answer).max() / np.abs(answer).max())
        return errors


def one_hinge(setup: Setup, n: int) -> list[Contender]:
    """The cost of a call to each of Pinocchio's algorithms for one hinge, mostly overhead."""
    if not setup.has("pinocchio"):
        return []
    robot = chain(1)
    theirs = Theirs(robot, others.urdf(robot))
    states = theirs.converted(states_of(robot, n))
    return [
        Contender(PINOCCHIO, f"{name}, a call for one hinge", n, theirs.single(name, states))
        for name in LIMITS
    ]


def field_of(
    setup: Setup, told: str, robot: Mechanism, text: str, n: int
) -> dict[str, list[Contender]]:
    """The contenders for each algorithm."""
    ours, states = Ours(robot), states_of(robot, n)
    peer = setup.has("pinocchio") and robot.nv <= LARGEST
    theirs = Theirs(robot, text) if peer else None
    errors = theirs.error(ours) if theirs else {}
    converted = theirs.converted(states) if theirs else states
    found = {}
    for name in LIMITS:
        if name in DERIVATIVES and robot.nv > LARGEST:
            continue  # three matrices for each state
        error = {"difference, relative": errors[name]} if errors else {}
        field = [
            Contender(OURS, f"{told}: {name}", n, ours.batch(name, states), errors=error),
            Contender(OURS, f"{told}: {name}, a call for each", n, ours.single(name, states)),
        ]
        if theirs:
            loop = theirs.batch(name, converted)
            if loop:
                field.append(Contender(PINOCCHIO, f"{told}: {name}, its own loop", n, loop))
            each = theirs.single(name, converted)
            field.append(Contender(PINOCCHIO, f"{told}: {name}, a call for each", n, each))
        found[name] = field
    return found


def run_recursive(setup: Setup) -> Report:
    """The A1, the G1, and chains of 100 and of 1000 hinges, at random states."""
    a1 = robosim.load("a1", ground=False)
    jobs: list[tuple[str, Mechanism, int]] = [("A1", a1, 4000)]
    if example_robot_data() is not None:
        jobs.append(("G1", robosim.load(G1, ground=False), 2000))
    jobs += [(f"{n} hinges", chain(n), 40_000 // n) for n in (100, 1000)]
    raced = race(one_hinge(setup, setup.choose(4000, 400)), setup.repetitions)
    empty = {row.told.partition(",")[0]: row.timing.cpu for row in raced if row.timing}
    rows: list[Row] = [*setup.missing("pinocchio"), *raced]
    targets: list[Target] = []
    kernel: dict[tuple[str, str], float] = {}
    for told, robot, n in jobs:
        setup.note(told)
        text = others.urdf(robot) if robot.source is None else Path(robot.source).read_text("utf-8")
        for name, field in field_of(setup, told, robot, text, setup.choose(n, n // 10)).items():
            first, each, *peers = race(field, setup.repetitions)
            assert first.timing is not None
            assert each.timing is not None
            kernel[told, name] = first.timing.median
            over = each.timing.median - first.timing.median
            if told == "A1" and name not in DERIVATIVES:
                targets.append(Target(f"{name}: a call over the kernel", over, CALL, "us"))
            figures = {}
            times = [np.array(row.timing.cpu) for row in peers if row.timing]
            if times:
                # The least time of Pinocchio: its calls less the cost of a call, or its loop.
                times[-1] = times[-1] - np.array(empty[name])
                best = min(times, key=lambda one: float(np.median(one)))
                ratio = paired(first.timing.cpu, tuple(best.tolist()))
                figures["times Pinocchio's"] = ratio
                targets.append(Target(f"{told}: {name} / Pinocchio's", ratio, LIMITS[name]))
            rows += [
                replace(first, figures=figures),
                replace(each, figures={"over the kernel [us]": over}),
                *peers,
            ]
    for name in ("rnea", "aba"):
        sizes = 100.0, 1000.0
        slope = exponent(sizes, [kernel[f"{n:.0f} hinges", name] for n in sizes])
        targets.append(Target(f"{name}: p of time ~ n^p, 100 to 1000 hinges", slope, SLOPE))
    return Report(tuple(rows), tuple(targets))


CASES = (
    Case(
        "recursive",
        "rnea, aba, crba and derivatives beside Pinocchio's: A1, G1, 100 and 1000 hinges",
        ("pinocchio",),
        run_recursive,
    ),
)
