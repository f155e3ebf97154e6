"""Trajectory optimization by Galerkin steps, compared with Hermite-Simpson collocation.

[Fan2018, Table 1], and two problems solved by both: the swing-up of a cart-pole, and three links
with motors that are raised. The implicit form of collocation has accelerations as unknowns
[Fan2018, Section 5.3].
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.description.body import Body
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.runs import cpu_time
from robosim.measuring.target import Target
from robosim.minimal import MinimalSimulation
from robosim.models import builders
from robosim.progress import bar
from robosim.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS = (10, 20, 40, 80)
FINE = 2e-3  # [s], time step of the simulation that checks torques


def cart_pole() -> Mechanism:
    """A cart of 1 kg on a rail, with a hanging rod of 0.3 kg."""
    bodies = Body("cart", 1.0, 0.1 * np.eye(3)), Body("pole", 0.3, np.diag([0.025, 0.025, 1e-4]))
    rail = Joint("rail", "prismatic", None, "cart", axis=(1, 0, 0), effort_limit=10.0)
    hinge = Joint("hinge", "revolute", "cart", "pole", axis=(0, 1, 0),
                  child_position=(0, 0, 0.5), actuated=False)  # fmt: skip
    return Mechanism("cart_pole", bodies, (rail, hinge))


def sizes(n: int, m: int, steps: int) -> dict[str, tuple[int, int]]:
    """Unknowns and equations of three transcriptions of order four [Fan2018, Table 1]."""
    points = 2 * steps + 1
    return {
        "Galerkin": ((4 * steps + 3) * n + points * m, 3 * steps * n + points * m),
        "Hermite-Simpson, explicit": (
            (6 * steps + 3) * n + points * m,
            4 * steps * n + 3 * points * m,
        ),
        "Hermite-Simpson, implicit": (
            (8 * steps + 4) * n + points * m,
            (6 * steps + 1) * n + 3 * points * m,
        ),
    }


class Collocation:
    """The same problem by Hermite-Simpson collocation: q, v, accelerations and torques at points.

    Cost is the integral of squared torques. For trees of joints with one coordinate each.
    """

    def __init__(self, robot: Mechanism, seconds: float, steps: int, goal: Array) -> None:
        from robosim.optimize.local import Local, Rows
        from robosim.optimize.program import Program
        from robosim.optimize.symbolic import Symbolic, ca

        self.robot, self.seconds, self.steps, self.goal = robot, seconds, steps, goal
        n, nu, dt = robot.nv, robot.nu, seconds / steps
        self.point = 3 * n + nu
        model = Symbolic(robot, np.array([0.0, 0.0, -9.81]))
        q, v, a, u = (ca.SX.sym(name, k) for name, k in (("q", n), ("v", n), ("a", n), ("u", nu)))
        energy = model.link_energy(model.place(q, v, [])) + model.joint_energy(q, v)
        momentum = ca.gradient(energy, v)
        change = ca.jtimes(momentum, q, v) + ca.jtimes(momentum, v, a)
        law = change - ca.gradient(energy, q) - model.pushes(v, u)
        dynamics = ca.Function("law", [q, v, a, u], [law], {"cse": True})
        z = ca.SX.sym("z", 3 * self.point)
        x = [self._split(z[k * self.point : (k + 1) * self.point]) for k in range(3)]
        rows = Rows()
        for k in range(2):
            rows.equal("dynamics", dynamics(*x[k]))
        for y, rate in ((0, 1), (1, 2)):
            ends = x[0][rate] + 4 * x[1][rate] + x[2][rate]
            rows.equal("collocation", (x[2][y] - x[0][y]) / dt - ends / 6)
            bend = (x[0][rate] - x[2][rate]) / 8
            rows.equal("collocation", (x[1][y] - 0.5 * (x[0][y] + x[2][y])) / dt - bend)
        step = Local(z, ca.SX.sym("given", 1), rows)
        effort = [ca.sumsqr(each[3]) for each in x]
        step.add_cost("effort", dt / 6 * (effort[0] + 4 * effort[1] + effort[2]))
        alone, last = ca.SX.sym("end", self.point), Rows()
        last.equal("dynamics", dynamics(*self._split(alone)))
        end = Local(alone, ca.SX.sym("given", 1), last)
        self.unknowns = (2 * steps + 1) * self.point
        within = np.arange(3 * self.point)[:, None] + 2 * self.point * np.arange(steps)
        self.program = Program(
            self.unknowns,
            [(step, within), (end, 2 * steps * self.point + np.arange(self.point)[:, None])],
        )

    def _split(self, z: Any) -> list[Any]:
        n = self.robot.nv
        return [z[:n], z[n : 2 * n], z[2 * n : 3 * n], z[3 * n :]]

    def solve(self) -> tuple[Any, Array, Array]:
        """IPOPT's report, coordinates (2 N + 1, n) and torques (2 N + 1, nu)."""
        n, points = self.robot.nv, 2 * self.steps + 1
        w = np.zeros((points, self.point))
        w[:, :n] = np.linspace(np.zeros(n), self.goal, points)
        w[:, n : 2 * n] = self.goal / self.seconds
        free = np.full((points, 3 * n), np.inf)
        upper = np.hstack((free, np.tile(self.robot.effort_limits, (points, 1))))
        lower = -upper
        for k, q in ((0, np.zeros(n)), (-1, self.goal)):
            lower[k, : 2 * n] = upper[k, : 2 * n] = np.concatenate((q, np.zeros(n)))
        options = {"print_level": 0, "sb": "yes", "max_iter": 1000, "tol": 1e-8}
        given = np.zeros(self.steps + 1)
        with bar("", 1, False) as advance:
            found = self.program.solve(
                w.ravel(), given, lower.ravel(), upper.ravel(), options, None, advance, ""
            )
        rows = found.w.reshape(points, -1)
        return found, rows[:, :n], rows[:, 3 * n :]


def replayed(robot: Mechanism, seconds: float, torques: Any, goal: Array) -> float:
    """Distance from the goal [rad or m] with the torques in a fine simulation of order four."""
    sim = MinimalSimulation(robot, FINE, integrator="galerkin", order=4)
    for k in range(round(seconds / FINE)):
        sim.step(torques((k + 0.5) * FINE))
    return float(np.abs(sim.q - goal).max())


def run_transcriptions(setup: Setup) -> Result:
    """Sizes, iterations and times, and errors of the torques in a simulation."""
    from robosim.optimize import Problem

    tasks = {
        "cart-pole": (cart_pole(), 2.0, np.array([0.0, np.pi])),
        "three links": (builders.chain(3), 0.8, np.array([0.8, 0.4, 0.2])),
    }
    ours: dict[str, Any] = {}
    worst = 0
    for name, (robot, seconds, goal) in tasks.items():
        rows: dict[str, dict[str, list[float]]] = {
            kind: {key: [] for key in ("unknowns", "equations", "iterations", "s", "cost", "miss")}
            for kind in ("Galerkin", "Hermite-Simpson")
        }
        for steps in setup.choose(STEPS, STEPS[:2]):
            setup.note(f"{name}, {steps} steps")
            rest = np.zeros(robot.nv)
            problem = Problem(robot, seconds, steps).start(rest, rest).end(goal, rest)
            problem.cost(lambda at: sum(at.u[k] ** 2 for k in range(at.u.shape[0])))
            spent, found = cpu_time(problem.solve)
            t, u = found.t, found.u
            miss = replayed(
                robot, seconds, lambda at, t=t, u=u: [np.interp(at, t, each) for each in u.T], goal
            )
            _note(rows["Galerkin"], problem.unknowns, problem.equations, found.iterations, spent,
                  found.cost, miss)  # fmt: skip
            spent, (made, answer, u) = cpu_time(partial(_collocate, robot, seconds, steps, goal))
            points = np.linspace(0, seconds, 2 * steps + 1)
            miss = replayed(robot, seconds, lambda at, t=points, u=u: _quadratic(t, u, at), goal)
            _note(rows["Hermite-Simpson"], made.unknowns, len(made.program.names),
                  answer.iterations, spent, answer.cost, miss)  # fmt: skip
            # Motors, which are fewer than in the table, are counted separately.
            n, short = robot.nv, robot.nv - robot.nu
            table = sizes(n, 0, steps)
            for kind, have, fewer in (
                ("Galerkin", (problem.unknowns, problem.equations), steps + 1),
                ("Hermite-Simpson, implicit", (made.unknowns, len(made.program.names)),
                 2 * steps + 1),
            ):  # fmt: skip
                wanted = table[kind]
                worst = max(worst, abs(have[0] + short * fewer - wanted[0]),
                            abs(have[1] - wanted[1]))  # fmt: skip
        ours[name] = rows
    pairs = [(ours[name]["Galerkin"], ours[name]["Hermite-Simpson"]) for name in ours]
    ratio = max(max(np.divide(g["s"], h["s"])) for g, h in pairs)
    apart = max(abs(g["cost"][-1] / h["cost"][-1] - 1.0) for g, h in pairs)
    targets = (
        Target("unknowns and equations away from those of [Fan2018, Table 1]", worst, 0),
        Target("costs from those of Hermite-Simpson, with the most steps, relative", apart, 1e-3,
               full_only=True),
        *(
            Target(f"{name}: goal missed by simulated torques, with the most steps",
                   rows["Galerkin"]["miss"][-1], 1e-3, "rad", full_only=True)
            for name, rows in ours.items()
        ),
    )  # fmt: skip
    told = "; ".join(
        f"{name}: costs {g['cost'][-1]:.4g} and {h['cost'][-1]:.4g}; simulated torques miss the "
        f"goal by {g['miss'][-1]:.2g} and {h['miss'][-1]:.2g} rad, after {g['iterations'][-1]:.0f} "
        f"and {h['iterations'][-1]:.0f} iterations in {g['s'][-1]:.2g} and {h['s'][-1]:.2g} s"
        for name, (g, h) in zip(ours, pairs, strict=True)
    )
    sentence = (
        "Unknowns and equations are those of Table 1. With the most steps, Galerkin and "
        f"Hermite-Simpson: {told}. Galerkin takes {ratio:.2g} times the time at most."
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 2, 2)
        for row, name in zip(axes, ours, strict=True):
            for axis, key, label in zip(
                row, ("miss", "s"), ("goal missed by [rad]", "time [s]"), strict=True
            ):
                for (kind, values), colour in zip(
                    ours[name].items(), (COLOURS["ours"], *OTHERS), strict=False
                ):
                    axis.loglog(values["unknowns"], values[key], "o-", color=colour, label=kind)
                finish(axis, f"unknowns, {name}", label)

    parameters = {"steps": setup.choose(STEPS, STEPS[:2]), "tolerance": 1e-8, "replay_s": FINE}
    return Result(parameters, ours, {}, targets, sentence, draw)


def _collocate(
    robot: Mechanism, seconds: float, steps: int, goal: Array
) -> tuple[Collocation, Any, Array]:
    """The problem, IPOPT's report, and torques."""
    made = Collocation(robot, seconds, steps, goal)
    answer, _, u = made.solve()
    return made, answer, u


def _note(row: dict[str, list[float]], *values: float) -> None:
    for key, value in zip(row, values, strict=True):
        row[key].append(float(value))


def _quadratic(t: Array, u: Array, at: float) -> Array:
    """The parabola through the three points of a step."""
    k = min(2 * int(at / (t[2] - t[0])), len(t) - 3)
    x = (at - t[k]) / (t[k + 2] - t[k])
    parts = (2 * (x - 0.5) * (x - 1), 4 * x * (1 - x), 2 * x * (x - 0.5))
    return np.asarray(np.array(parts) @ u[k : k + 3])


TRANSCRIPTIONS = Experiment(
    ("fan-table-1",),
    "Trajectory optimisation by Galerkin steps and by Hermite-Simpson collocation",
    "unknowns and equations of Table 1, and the same problems solved by both",
    run_transcriptions,
)
