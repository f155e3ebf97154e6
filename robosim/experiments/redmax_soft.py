"""Strands, nets and elastic solids of particles, after [Sueda, Sect. 2.7]."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.description.soft import Soft
from robosim.description.strands import Strand
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.mujoco_ends import away_in_mujoco
from robosim.formulation import Formulation
from robosim.measuring.runs import exponent, largest
from robosim.measuring.target import Target
from robosim.models.builders import hanging_net
from robosim.reduced import ReducedSimulation
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from robosim.viz import Recorder

Array = NDArray[np.float64]
STEPS = (8e-3, 4e-3, 2e-3)
LONG = 1e3  # [s], a time step at which inertia is negligible
# A slender bar: its length and thickness [m], Young's modulus [Pa], and the load on its end [N].
LENGTH, THICK, YOUNG, LOAD = 1.0, 0.125, 1e5, 1e-3


def run_soft(setup: Setup) -> Result:
    """A strand's modes, a net beside REDMAX and MuJoCo, and a bar beside beam theory."""
    setup.note("modes of a strand")
    modes = strand_modes(6, 0.0125, 2.0)
    setup.note("a net")
    robot, seconds = hanging_net(), setup.choose(0.4, 0.08)
    finest = _end(Simulation(robot, STEPS[-1] / 8), seconds)
    errors = [largest(_end(Simulation(robot, dt), seconds) - finest) for dt in STEPS]
    reduced = [largest(_end(ReducedSimulation(robot, dt), seconds) - finest) for dt in STEPS]
    orders = {"ours": exponent(STEPS, errors), "redmax": exponent(STEPS, reduced)}
    setup.note("a bar")
    cells = setup.choose((1, 2, 3, 4, 5), (1, 2, 3))
    answers = [beam_answer(n) for n in cells]
    refined = exponent([1 / n for n in cells], [1 / answer - 1 for answer in answers])
    setup.note("long strands")
    counts = setup.choose((25, 50, 100, 200, 400), (25, 50))
    times = [_time_of_step(n) for n in counts]
    ours: dict[str, Any] = {
        "largest_error_of_modes": modes,
        "net_largest_error_m": errors,
        "net_largest_error_of_redmax_m": reduced,
        "net_measured_order": orders,
        "bar_deflection_over_beam_theory": answers,
        "bar_measured_order": refined,
        "strand_us_per_step_and_particle": [
            1e6 * t / n for t, n in zip(times, counts, strict=True)
        ],
    }
    targets = [
        Target("modes of a strand, off the midpoint rule's", modes, 1e-6),
        Target("net: |measured order - 2|", abs(orders["ours"] - 2.0), 0.2),
        Target("bar: |order of the stiffness in the size - 2|", abs(refined - 2.0), 0.2),
    ]
    peers: dict[str, dict[str, Any]] = {}
    beside = ""
    if setup.mujoco:
        setup.note("MuJoCo's net")
        end = _end(Simulation(robot, 1e-4), seconds)
        peers = away_in_mujoco(robot, end, seconds, "m")
        best = peers["mujoco_best"]["largest_difference_m"]
        targets.append(Target("net: from MuJoCo's RK4 at 0.1 ms", best, 1e-4, "m"))
        beside = f" The difference from MuJoCo's Runge-Kutta, on the same springs, is {best:.1g} m."

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        axes[0].loglog(STEPS, errors, "o-", color=COLOURS["ours"], label="robosim")
        axes[0].loglog(STEPS, reduced, "s-", color=OTHERS[1], label="REDMAX, euler")
        axes[1].loglog(cells, [1 / a - 1 for a in answers], "o-", color=COLOURS["ours"],
                       label="stiffness above beam theory")  # fmt: skip
        finish(axes[0], "timestep [s]", "error [m]", f"a net after {seconds:g} s")
        finish(axes[1], "elements over the thickness", "part of the stiffness", "a bent bar")

    def record() -> Recorder:
        from robosim.viz.playback import recording

        return recording(Simulation(robot, STEPS[-1]).run(setup.choose(4.0, 0.1)), robot)

    return Result(
        {"timesteps_s": STEPS, "seconds": seconds, "elements_over_thickness": cells,
         "particles": counts},
        ours,
        peers,
        tuple(targets),
        f"Modes of a strand are those of the midpoint rule within {modes:.1g}. Errors of a net "
        f"fall with order {orders['ours']:.2f}, those of REDMAX with {orders['redmax']:.2f}. A bar "
        f"of {cells[-1]} cells over its thickness has {answers[-1]:.0%} of the deflection of beam "
        f"theory; the difference falls with order {refined:.2f}.{beside}",
        draw,
        record,
    )  # fmt: skip


def strand_modes(n: int, dt: float, seconds: float) -> float:
    """Largest difference of n hanging particles from the closed form, relative to the amplitude.

    Mode j has w = 2 sqrt(k / m) sin((2 j - 1) pi / (2 (2 n + 1))). The midpoint rule changes this
    angular frequency to (2 / dt) atan(w dt / 2).
    """
    points = np.outer(np.arange(n + 1), (0.0, 0.0, -0.2))
    strand = Strand("strand", points, 5.0, 0.1 * (n + 1), attached={0: None})
    robot = Mechanism("strand", (), (), soft=strand)
    number = np.arange(1, n + 1)
    angles = (2 * number - 1) * np.pi / (2 * n + 1)
    shapes = np.sin(np.outer(number, angles))  # (particle, mode)
    omega = 2 * np.sqrt(5.0 / 0.2**2 / 0.1) * np.sin(angles / 2)
    q = np.zeros(robot.nq)
    q[2::3] = 1e-3 * shapes.sum(axis=1)
    sim = Simulation(robot, dt, gravity=(0, 0, 0))
    sim.set_state(q, np.zeros(robot.nv))
    log = sim.run(seconds)
    found = np.linalg.solve(shapes, log.q[:, 2::3].T) / 1e-3
    shifted = 2 / dt * np.arctan(omega * dt / 2)
    return largest(found - np.cos(np.outer(shifted, log.t)))


def box_of_tetrahedra(cells: Sequence[int], size: ArrayLike) -> tuple[Array, NDArray[np.int64]]:
    """Nodes (n, 3) and tetrahedra (m, 4) of a box from the origin, six in each cell.

    Parameters
    ----------
    cells : (3,) of int, size : (3,) [m]
    """
    counts = np.array(cells) + 1
    steps = (np.linspace(0, s, n) for s, n in zip(np.asarray(size, float), counts, strict=True))
    points = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, 3)
    found = []
    for corner in product(*map(range, cells)):
        for order in permutations(range(3)):
            # Paths from one corner along the three axes, in each order, to the opposite corner.
            way = [np.array(corner)]
            for axis in order:
                way.append(way[-1] + np.eye(3, dtype=np.int64)[axis])
            nodes = [int(np.ravel_multi_index(tuple(at), tuple(counts))) for at in way]
            if np.linalg.det(np.eye(3)[list(order)]) < 0:
                nodes[2:] = nodes[:1:-1]
            found.append(nodes)
    return points, np.array(found)


def middle_of_long_step(
    robot: Mechanism, loads: Mapping[str, ArrayLike], tolerance: float = 1e-8
) -> Array:
    """Static positions of the nodes of a soft solid (n, 3) [m] under forces on bodies.

    In a step from rest, forces are evaluated at the middle of the interval. If the step is so long
    that inertia is negligible, these forces are in equilibrium there. Steps with substeps have no
    such middle, and are refused. The tolerance [m/s] must be above rounding errors, which grow with
    the impulses.
    """
    (mesh,) = robot.soft_meshes
    sim = Simulation(robot, LONG, gravity=(0, 0, 0), tolerance=tolerance, max_substeps=1)
    for body, force in loads.items():
        sim.apply_wrench(body, force=force)
    sim.step()
    points = np.array(mesh.positions)
    for k, name in enumerate(mesh.bodies):
        if name is not None:
            points[k] = sim.state.x[robot.body_index(name)]
    return np.asarray(0.5 * (points + np.asarray(mesh.rest)))


def face_shares(robot: Mechanism, held: NDArray[np.bool_]) -> Array:
    """Share of each node of a uniform load on a flat part of the surface, (n,)."""
    (mesh,) = robot.soft_meshes
    rest, shares = np.asarray(mesh.rest), np.zeros(len(mesh.bodies))
    for face in mesh.surface:
        if held[face].all():
            edges = np.diff(rest[face], axis=0)
            shares[face] += np.linalg.norm(np.cross(edges[0], edges[1]))
    return np.asarray(shares / shares.sum())


def beam_answer(cells: int) -> float:
    """Deflection of a clamped bar, relative to beam theory, by cells over its thickness.

    The beam is Timoshenko's, with shear. Without lateral strains the clamp is exact.
    """
    points, elements = box_of_tetrahedra((8 * cells, cells, cells), (LENGTH, THICK, THICK))
    held: dict[int, str | None] = {int(k): None for k in np.flatnonzero(points[:, 0] == 0)}
    bar = Soft("bar", points, elements, YOUNG, 0.0, 1000.0, attached=held)
    robot = Mechanism("bar", (), (), soft=bar)
    end = face_shares(robot, points[:, 0] == LENGTH)
    loads = {f"bar_{k}": (0.0, 0.0, LOAD * share) for k, share in enumerate(end) if share}
    found = float(end @ (middle_of_long_step(robot, loads, 1e-6) - points)[:, 2])
    bent = LOAD * LENGTH**3 / (3 * YOUNG * THICK**4 / 12)
    sheared = LOAD * LENGTH / (5 / 6 * YOUNG / 2 * THICK**2)
    return found / (bent + sheared)


def _end(sim: Formulation, seconds: float) -> Array:
    """Coordinates after some time from home."""
    sim.run(seconds)
    return np.array(sim.q)


def _time_of_step(particles: int) -> float:
    """Time of a step of a swinging strand [s]."""
    points = np.outer(np.arange(particles + 1), (0.05, 0.0, 0.0))
    strand = Strand("strand", points, 5.0, 0.01 * particles, 0.01, attached={0: None})
    sim = Simulation(Mechanism("strand", (), (), soft=strand), 5e-3)
    sim.run(0.05)
    found = []
    for _ in range(3):
        begin = time.perf_counter()
        sim.run(0.1)
        found.append((time.perf_counter() - begin) / 20)
    return min(found)


SOFT = Experiment(
    ("redmax-soft",),
    "a strand, a net and an elastic bar of particles",
    "modes as in closed form, order two, and a bar that bends to beam theory as it is refined",
    run_soft,
)
