"""Joints along splines, and hybrid dynamics, after [Sueda]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions, se3
from robosim.description.body import Body
from robosim.description.charts import Chart, SplineCurve, SplineSurface
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.dynamics.dynamics import Dynamics
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.runs import Samples, exponent, largest, sample
from robosim.measuring.target import Target
from robosim.models.builders import chain, knee_spline, universal_chain
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
G, MASS, INERTIA = 9.81, 1.3, np.diag((0.01, 0.02, 0.015))
HOLD = (0.1, -0.2, 0.5)  # m: position of the joint, from the centre of mass
SEGMENTS = 12  # of the curves with closed-form solutions
# Twists for a segment: [m], [rad].
EVEN = {"hinge": (0, 0, 0, 0, 0.9, 0), "screw": (0, 0.18, 0, 0, 0.9, 0)}


def on_chart(**joint: Any) -> Mechanism:
    """A robot of one body on a joint to the world."""
    body = Body("body", MASS, INERTIA)
    return Mechanism("one", (body,), (Joint("joint", parent=None, child="body", **joint),))


def frames(twists: Sequence[Array]) -> Array:
    """Frames (n, 7) exp(twist)."""
    poses = [se3.exp(twist) for twist in twists]
    return np.array([[*E[:3, 3], *quaternions.from_matrix(E[:3, :3])] for E in poses])


def valley() -> SplineCurve:
    """A curve that goes down and up again, with rotating frames."""
    way = np.linspace(-1.0, 1.0, 11)
    rows = [(x, 0.3 * np.sin(3 * x), 0.8 * x**2, *_turned((0.5 * x, 0.8 * x, x))) for x in way]
    return SplineCurve(rows)


def bowl() -> SplineSurface:
    """A bowl whose frames tilt with its slope."""
    x, y = np.meshgrid(np.linspace(-1, 1, 8), np.linspace(-1, 1, 8), indexing="ij")
    tilts = 0.5 * y, -0.5 * x, 0.3 * x * y
    return SplineSurface(np.stack((x, y, 0.5 * x**2 + 0.8 * y**2, *tilts), axis=-1))


def _turned(vector: Sequence[float]) -> Array:
    return quaternions.from_matrix(se3.exp(np.array((0, 0, 0, *vector)))[:3, :3])


def lowest(chart: Chart) -> float:
    """The lowest potential energy [J] over a grid of a chart's coordinates."""
    lower, upper = chart.limits()
    axes = [np.linspace(a, b, 41) for a, b in zip(lower, upper, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, chart.nv)
    return MASS * G * min(float(chart.pose(q)[2, 3]) for q in grid)


def run_splines(setup: Setup) -> Result:
    """[Sueda, Sects. 2.4.12, 2.4.13]: energy on splines, and splines that are other joints."""
    seconds = setup.choose(10.0, 1.0)
    steps = (0.01, 0.005)
    cases: dict[str, tuple[Chart, tuple[float, ...]]] = {
        "curve": (valley(), (1.5,)),
        "surface": (bowl(), (1.2, 3.4)),
    }
    ours: dict[str, Any] = {}
    lines: dict[str, Any] = {}
    for name, (chart, q) in cases.items():
        errors, violations = [], []
        for dt in steps:
            setup.note(f"{name}, dt {dt:g} s")
            A, run = _along(chart, q, dt, seconds)
            error = (run.values[0] - run.values[0][0]) / A
            errors.append(largest(error))
            violations.append(run.violation)
            lines.setdefault(name, (run.t, error, run.values[1]))
        ours[name] = {
            "A_J": A,
            "largest_energy_error": errors,
            "measured_order": exponent(steps, errors),
            "joint_violation_m": max(violations),
        }
    for name, twist in EVEN.items():
        setup.note(f"a curve that is a {name}")
        ours[name] = {"largest_distance_m": _apart(name, np.array(twist), min(seconds, 2.0))}
    energy = max(ours[name]["largest_energy_error"][0] for name in cases)
    order = max(abs(ours[name]["measured_order"] - 2.0) for name in cases)
    violation = max(ours[name]["joint_violation_m"] for name in cases)
    apart = {name: ours[name]["largest_distance_m"] for name in EVEN}
    targets = (
        Target("largest |E - E0| / A at 0.01 s", energy, 2e-3),
        Target("|measured order - 2|", order, 0.2),
        Target("joint violation", violation, 1e-11, "m"),
        *(Target(f"from the {name}", value, 1e-8, "m") for name, value in apart.items()),
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        for (name, (t, error, x)), colour in zip(
            lines.items(), (COLOURS["ours"], OTHERS[0]), strict=True
        ):
            axes[0].plot(x[:, 0], x[:, 2], lw=0.8, color=colour, label=name)
            axes[1].plot(t, error, lw=0.8, color=colour, label=name)
        finish(axes[0], "x [m]", "z [m]", "centre of mass")
        finish(axes[1], "time [s]", "(E - E0) / A", "timestep 0.01 s")

    return Result(
        {
            "timesteps_s": steps,
            "seconds": seconds,
            "starts": {name: q for name, (_, q) in cases.items()},
            "A": "E0 - Emin, Emin the lowest of a grid of coordinates",
            "twists_of_a_segment": EVEN,
        },
        ours,
        {},
        targets,
        f"On a spline curve and a spline surface, energy is within {energy:.2g} of A at 0.01 s, "
        f"and joints within {violation:.1g} m. Curves whose control frames are exp(i xi) move as "
        f"the hinge within {apart['hinge']:.1g} m and as the screw within {apart['screw']:.1g} m.",
        draw,
    )


def _along(chart: Chart, q: Sequence[float], dt: float, seconds: float) -> tuple[float, Samples]:
    """A [J], and energies and positions of a body that starts at rest on a chart."""
    sim = Simulation(on_chart(kind="spline", chart=chart), timestep=dt)
    sim.set_state(q)
    run = sample(sim, seconds, 1, sim.energy, lambda: np.array(sim.state.x[0]))
    return float(run.values[0][0]) - lowest(chart), run


def _apart(kind: str, twist: Array, seconds: float) -> float:
    """Distance [m] of a body on a curve of frames exp(i twist) from one on the plain joint."""
    angle, rate, middle = float(twist[4]), 0.3, SEGMENTS // 2
    chart = SplineCurve(frames([(i - middle) * twist for i in range(SEGMENTS + 1)]))
    plain: dict[str, Any] = {"kind": "revolute"}
    if kind == "screw":
        plain = {"kind": "screw", "pitch": float(twist[1]) / angle}
    # The curve is at frame i where its coordinate is i - 1.
    sims = []
    for joint, q, v in (
        ({"kind": "spline", "chart": chart}, middle + 1.0, rate),
        ({**plain, "axis": (0, 1, 0)}, 2 * angle, rate * angle),
    ):
        sim = Simulation(on_chart(child_position=HOLD, **joint), tolerance=1e-12)
        sim.set_state((q,), (v,))
        sims.append(sim)
    worst = 0.0
    for _ in range(20):
        for sim in sims:
            sim.run(seconds / 20)
        worst = max(worst, largest(sims[0].state.x - sims[1].state.x))
    return worst


def run_hybrid(setup: Setup) -> Result:
    """[Sueda, Eq. 2.106, Alg. 9]: some accelerations and all other forces are given.

    The recursion is compared with the dense system, whose torques are ``-G^T lambda``. Then the
    torques are applied in the forward dynamics, and in a simulation.
    """
    robots = {
        "chain of hinges": chain(setup.choose(20, 6)),
        "chain of universal joints": universal_chain(),
        "knee on a spline": knee_spline(),
    }
    ours: dict[str, Any] = {}
    for name, robot in robots.items():
        setup.note(name)
        ours[name] = _against_dense(robot, setup.choose(50, 5))
    steps = (4e-3, 2e-3, 1e-3)
    runs = {dt: _followed(dt, setup.choose(2.0, 0.5)) for dt in steps}
    errors = [largest(error) for _, error in runs.values()]
    ours["followed motion"] = {
        "largest_error_rad": errors,
        "measured_order": exponent(steps, errors),
    }
    dense = max(ours[name]["from_dense"] for name in robots)
    back = max(ours[name]["fed_back"] for name in robots)
    order = ours["followed motion"]["measured_order"]
    targets = (
        Target("from the dense system, relative", dense, 1e-9),
        Target("accelerations after feeding torques back, relative", back, 1e-9),
        Target("order at which a motion is followed", order, 0.9, at_least=True),
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        for (dt, (t, error)), colour in zip(runs.items(), OTHERS, strict=False):
            axes[0].plot(t, error, color=colour, lw=0.8, label=f"dt {dt:g} s")
        axes[1].loglog(steps, errors, "o-", color=COLOURS["ours"], label="largest")
        finish(axes[0], "time [s]", "q - motion [rad]", "first joint of three")
        finish(axes[1], "timestep [s]", "largest error [rad]")

    return Result(
        {"timesteps_s": steps, "prescribed": "every second joint; of the motion, the first"},
        ours,
        {},
        targets,
        f"The recursion agrees with the dense system to {dense:.1g}; its torques, fed back, give "
        f"the prescribed accelerations to {back:.1g}. A prescribed motion is followed within "
        f"{errors[-1]:.1g} rad at {steps[-1]:g} s, with order {order:.2f}.",
        draw,
    )


def _against_dense(robot: Mechanism, states: int) -> dict[str, float]:
    """Largest errors relative to the largest number, at random states."""
    dynamics, rng = Dynamics(robot), np.random.default_rng(4)
    led = range(0, len(robot.tree_joints), 2)
    places = {
        robot.joints[j].name: np.arange(robot.v_offsets[j], robot.v_offsets[j + 1]) for j in led
    }
    rows = np.concatenate(list(places.values()))
    G_r, n, worst, fed = np.eye(robot.nv)[rows], robot.nv, 0.0, 0.0
    for seed in range(states):
        q, (v, tau, wanted) = dynamics.random(seed), rng.normal(size=(3, n))
        given = {name: wanted[place] for name, place in places.items()}
        a, torques, _ = dynamics.hybrid_dynamics(q, v, tau, given)
        tau[rows] = 0.0
        force = tau - dynamics.inverse_dynamics(q, v, np.zeros(n))
        system = np.zeros((n + len(rows), n + len(rows)))
        system[:n, :n], system[:n, n:], system[n:, :n] = dynamics.mass_matrix(q), G_r.T, G_r
        solved = np.linalg.solve(system, np.concatenate((force, wanted[rows])))
        exact = np.concatenate((solved[:n], tau - G_r.T @ solved[n:]))
        worst = max(worst, largest(np.concatenate((a, torques)) - exact) / largest(exact))
        again = dynamics.forward_acceleration(q, v, torques)
        fed = max(fed, largest(again[rows] - wanted[rows]) / largest(a))
    return {"from_dense": worst, "fed_back": fed}


def _followed(dt: float, seconds: float) -> tuple[Array, Array]:
    """Times and errors of the first of three joints, with a sinusoidal acceleration."""
    sim = Simulation(chain(3), timestep=dt)
    sim.set_state(np.zeros(3), (1.5, 0.0, 0.0))

    def torques(sim: Simulation) -> Array:
        # The torques are constant over the step, so they are computed for its middle.
        middle = sim.time + dt / 2
        wanted = {"joint1": -0.5 * 9.0 * np.sin(3.0 * middle)}
        return sim.dynamics.hybrid_dynamics(sim.q, sim.v, np.zeros(3), wanted)[1]

    log = sim.run(seconds, torques)
    return log.t, log.q[:, 0] - 0.5 * np.sin(3.0 * log.t)


SPLINES = Experiment(
    ("redmax-splines",),
    "bodies on a spline curve and on a spline surface",
    "energy within 0.2 % of A with order two; even control frames move as a hinge and a screw",
    run_splines,
)
HYBRID = Experiment(
    ("redmax-hybrid",),
    "hybrid dynamics: accelerations of some joints, torques of the others",
    "as the dense system to 1e-9, and torques fed back give the accelerations to 1e-9",
    run_hybrid,
)
