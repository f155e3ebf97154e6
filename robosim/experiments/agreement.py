"""All formulations on the same robots: errors of motions and derivatives over the timestep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.description.mechanism import Mechanism
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.formulation import Formulation
from robosim.linearization.linearization import linearize
from robosim.measuring.runs import exponent, free_accelerations, integrated
from robosim.measuring.target import Target
from robosim.minimal import MinimalSimulation
from robosim.models.builders import chain
from robosim.peers import pinocchio_run
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
ORDERS = {
    "Simulation": 2,
    "riqn": 2,
    "newton": 2,
    "galerkin, order 2": 2,
    "galerkin, order 4": 4,
}
SECONDS, STEPS = 0.1, (10, 20, 40)
WITHIN = 0.1  # tolerance of the orders
ROUNDING = 1e-11  # errors below are not used for the orders
MEETING = 2  # order with which the derivatives of the formulations agree
LINEAR = ("newton", "galerkin, order 2", "galerkin, order 4")  # compared with `Simulation`


def make(name: str, robot: Mechanism, timestep: float) -> Formulation:
    """A simulation by the formulation of that name in ORDERS."""
    if name == "Simulation":
        return Simulation(robot, timestep, tolerance=1e-12)
    integrator, _, order = name.partition(", order ")
    return MinimalSimulation(
        robot,
        timestep,
        integrator=integrator,
        order=int(order or 2),
        tolerance=1e-12,
        ignore=("limits",),
    )


def robots() -> dict[str, Mechanism]:
    """The robots that are compared, by name."""
    return {
        "double pendulum": chain(2),
        "three ball joints": chain(3, "spherical", radius=0.2),
        "A1 in the air": robosim.load("a1", ground=False),
    }


def start(robot: Mechanism) -> tuple[Array, Array]:
    """The home pose, and velocities that are all different."""
    rng = np.random.default_rng(6)
    return np.array(robot.home, dtype=float), rng.normal(size=robot.nv)


def limit(robot: Mechanism) -> Array:
    """Reference q and v at the end: by Pinocchio's accelerations, or without it by `Dynamics`."""
    known = pinocchio_run.available()
    found = pinocchio_run.accelerations(robot) if known else free_accelerations(robot)
    return integrated(robot, found, *start(robot), [SECONDS])[-1]


def transition(sim: Formulation, steps: int) -> Array:
    """(2 nv, 2 nv + nu): derivatives of q and v after some steps by state and constant torques."""
    nv, nu = sim.robot.nv, sim.robot.nu
    A, B, torques = np.eye(2 * nv), np.zeros((2 * nv, nu)), np.linspace(-0.1, 0.1, nu)
    for _ in range(steps):
        found = linearize(sim, torques)  # type: ignore[arg-type]
        A, B = found.A @ A, found.A @ B + found.B
        sim.step(torques)
    return np.hstack((A, B))


def run_agreement(setup: Setup) -> Result:
    """Errors at the end of a motion, and differences of derivatives from those of `Simulation`."""
    steps = setup.choose(STEPS, STEPS[:2])
    # Kernels of `Simulation` with derivatives take minutes to compile.
    derived = setup.choose(tuple(robots()), ())
    timesteps = [SECONDS / n for n in steps]
    errors: dict[str, dict[str, list[float]]] = {}
    derivatives: dict[str, dict[str, list[float]]] = {}
    for told, robot in robots().items():
        setup.note(told)
        exact, (q, v) = limit(robot), start(robot)

        def begun(name: str, n: int, robot: Mechanism = robot, q: Array = q, v: Array = v) -> Any:
            sim = make(name, robot, SECONDS / n)
            sim.set_state(q, v)
            return sim

        errors[told] = {name: [] for name in ORDERS}
        for name in ORDERS:
            for n in steps:
                sim = begun(name, n)
                sim.run(SECONDS)
                found = np.concatenate((sim.q, sim.v))
                errors[told][name].append(float(np.abs(found - exact).max()))
        if told in derived:
            setup.note(f"{told}, derivatives")
            theirs = [transition(begun("Simulation", n), n) for n in steps]
            derivatives[told] = {
                name: [
                    float(np.abs(transition(begun(name, n), n) - there).max())
                    for n, there in zip(steps, theirs, strict=True)
                ]
                for name in LINEAR
            }
    orders = _orders(timesteps, errors)
    meeting = _orders(timesteps, derivatives)
    targets = tuple(
        Target(f"|measured order - {order}| of {name}, {told}",
               abs(orders[told][name] - order), WITHIN)
        for told in errors for name, order in ORDERS.items()
    ) + tuple(
        Target(f"order at which A and B of {name} converge to those of Simulation, {told}",
               order, MEETING - WITHIN, at_least=True)
        for told, row in meeting.items() for name, order in row.items()
    )  # fmt: skip
    reference = "Pinocchio's aba" if pinocchio_run.available() else "Dynamics"
    sentence = f"Against {reference} under DOP853 the measured orders are " + "; ".join(
        f"{told}: " + ", ".join(f"{name} {order:.2f}" for name, order in row.items())
        for told, row in orders.items()
    )
    for told, row in meeting.items():
        sentence += (
            f". A and B of the others converge to those of Simulation with orders "
            f"{min(row.values()):.2f} to {max(row.values()):.2f}, {told}"
        )

    def draw(figure: Figure) -> None:
        shown = [(told, "error", rows) for told, rows in errors.items()]
        shown += [(told, "A and B from Simulation's", rows) for told, rows in derivatives.items()]
        axes = panels(figure, len(shown) // len(errors), len(errors), width=4.4).reshape(-1)
        colours = dict(zip(ORDERS, (COLOURS["ours"], *OTHERS), strict=False))
        for axis, (told, label, rows) in zip(axes, shown, strict=True):
            for name, row in rows.items():
                # RIQN and Newton's method find the same root.
                line = "x:" if name == "newton" else "o-"
                axis.loglog(timesteps, row, line, color=colours[name], label=name)
            axis.set_xticks(timesteps, [f"{1e3 * h:g}" for h in timesteps])
            axis.minorticks_off()
            finish(axis, "timestep [ms]", label, told)

    return Result(
        {
            "seconds": SECONDS,
            "timesteps_s": timesteps,
            "reference": f"{reference}, DOP853 at 1e-13",
        },
        {
            "error": errors,
            "measured_order": orders,
            "derivatives_apart": derivatives,
            "order_of_derivatives": meeting,
        },
        {},
        targets,
        sentence + ".",
        draw,
    )


def _orders(
    timesteps: list[float], errors: dict[str, dict[str, list[float]]]
) -> dict[str, dict[str, float]]:
    """Orders from the errors above rounding, at least from the first two."""

    def order(row: list[float]) -> float:
        n = max(2, sum(error > ROUNDING for error in row))
        return exponent(timesteps[:n], row[:n])

    return {told: {name: order(row) for name, row in rows.items()} for told, rows in errors.items()}


AGREEMENT = Experiment(
    ("agreement",),
    "maximal and joint coordinates beside Pinocchio: errors and derivatives over the timestep",
    "all converge to the same motion and the same derivatives, each at its order",
    run_agreement,
)
