"""Legged robots: the A1 standing, trotting, dropped, and a humanoid standing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.bench.case import Case, Setup
from robosim.bench.flailing import flailing
from robosim.bench.measure import Contender, mujoco_contender, mujoco_run, ours, race, rollout
from robosim.bench.report import CLOSURE, OURS, PENETRATION, Report, Row, Timing, ratio_target
from robosim.control.controllers import PD, stand, trot
from robosim.description.mechanism import Mechanism
from robosim.errors import LoadError
from robosim.measuring.target import Target
from robosim.peers.mujoco_run import MuJoCoRun, Settings
from robosim.simulation import Simulation

Array = NDArray[np.float64]
DT = 1e-3
DEFAULT = {"Euler": Settings()}
STIFF = {
    "stiff elliptic contacts, impratio 100": Settings(
        "Euler", (0.002, 1.0), (0.9999, 0.9999, 0.001), "elliptic", 100.0
    )
}
LANES = "legs in lanes"
G1 = "g1_description/g1_29dof_rev_1_0"
# The G1's stance: angles of slightly bent legs, and servos that carry its weight.
BENT = {"hip_pitch": -0.1, "knee": 0.3, "ankle_pitch": -0.2}
CARRYING = ("hip", "knee", "ankle", "waist")


def touching_with(robot: Mechanism, part: str, friction: float | None = None) -> Mechanism:
    """The robot with only the collision shapes and contacts of links named like `part`."""
    bodies = tuple(
        replace(body, collisions=tuple(s for s in body.collisions if part in (s.name or body.name)))
        for body in robot.bodies
    )
    contacts = tuple(
        contact if friction is None else replace(contact, friction=friction)
        for contact in robot.contacts
        if part in contact.name
    )
    return replace(robot, bodies=bodies, contacts=contacts)


def above(robot: Mechanism, q: Array, height: float) -> Array:
    """q with the base moved so that the lowest contact is at a height [m]."""
    sim = Simulation(robot)
    sim.set_state(q)
    out = q.copy()
    out[2] += height - sim.min_gap()
    return out


def a1(part: str = "foot", friction: float | None = None) -> Mechanism:
    """The A1 with the contacts of its feet alone, or of other links."""
    return touching_with(robosim.load("a1"), part, friction)


def our_standing(
    robot: Mechanism, q: Array, pd: PD, seconds: float, feet: Sequence[int], lanes: bool = False
) -> tuple[Simulation, dict[str, float], dict[str, float]]:
    """Land and stand: the simulation at rest, its errors, and its iterations."""
    sim = Simulation(robot, timestep=DT, lanes=lanes)
    sim.set_state(q)
    logs = [sim.run(1.0, pd)]
    before = sim.contact_positions()[list(feet)]
    logs.append(sim.run(seconds - 1.0, pd))
    drift = np.linalg.norm(sim.contact_positions()[list(feet)] - before, axis=1).max()
    gap = min(float(log.gap.min()) for log in logs)
    iterations = np.concatenate([log.iterations for log in logs])
    errors = {
        PENETRATION: max(0.0, -gap),
        "gap at rest [m]": sim.min_gap(),
        "drift of the feet [m]": float(drift),
        CLOSURE: max(float(log.violation.max()) for log in logs),
    }
    figures = {
        "iterations": float(iterations.mean()),
        "at most": float(iterations.max()),
        "substeps": float(max(int(log.substeps.max()) for log in logs)),
    }
    return sim, errors, figures


def mujoco_standing(
    robot: Mechanism, q: Array, pd: PD, seconds: float, settings: Settings, feet: str
) -> tuple[MuJoCoRun, dict[str, float]]:
    """The same in MuJoCo."""
    peer = mujoco_run(robot, DT, settings, pd)
    peer.set_state(q)
    geoms = [
        k
        for k in range(peer.model.ngeom)
        if peer.model.geom_contype[k] == 1
        and feet in peer.model.body(peer.model.geom_bodyid[k]).name
    ]
    gaps = [peer.gap()]
    before: Any = None
    for k in range(round(seconds / DT)):
        peer.step()
        gaps.append(peer.gap())
        if k == round(1.0 / DT):
            before = peer.data.geom_xpos[geoms].copy()
    drift = np.linalg.norm((peer.data.geom_xpos[geoms] - before)[:, :2], axis=1).max(initial=0.0)
    errors = {
        PENETRATION: max(0.0, -min(gaps)),
        "gap at rest [m]": gaps[-1],
        "drift of the feet [m]": float(drift),
    }
    return peer, errors


def stand_field(
    setup: Setup, robot: Mechanism, q: Array, pd: PD, told: str, settings: dict[str, Settings]
) -> list[Contender]:
    """robosim and MuJoCo as contenders, each settled in its stance."""
    seconds, steps = setup.choose((10.0, 1000), (2.0, 200))
    setup.note("robosim")
    feet = [k for k, c in enumerate(robot.contacts) if "foot" in c.name or "ankle" in c.name]
    found = []
    for lanes, how in ((False, told), (True, ", ".join(filter(None, (told, LANES))))):
        sim, errors, figures = our_standing(robot, q, pd, seconds, feet, lanes)
        if sim.lanes == lanes:
            found.append(ours(sim, pd, steps, told=how, errors=errors, figures=figures))
    for name, chosen in settings.items() if setup.has("mujoco") else ():
        setup.note(f"MuJoCo, {name}")
        foot = "ankle" if robot.name.startswith("g1") else "calf"
        peer, errors = mujoco_standing(robot, q, pd, seconds, chosen, foot)
        found.append(mujoco_contender(peer, steps, None, name, errors=errors))
    return found


def run_stand(setup: Setup) -> Report:
    """The A1 on its four feet, dropped from 1 cm, under PD, dt 1 ms."""
    robot = a1()
    pd = stand(robot)
    q = above(robot, np.array(robot.home), 0.01)
    field = stand_field(setup, robot, q, pd, "", DEFAULT | STIFF)
    rows = setup.missing("mujoco") + race(field, setup.repetitions)
    errors = next(row for row in rows if row.who == OURS).errors
    target = Target("robosim's penetration", errors[PENETRATION], 0.0, "m")
    return Report(rows, (*leg_targets(rows, 0.25), target))


def leg_targets(rows: tuple[Row, ...], limit: float) -> tuple[Target, ...]:
    """robosim's time over MuJoCo's, with bodies in turn and with the legs in lanes."""
    return (*ratio_target(rows, limit, told=""), *ratio_target(rows, limit, told=LANES))


def run_all_contacts(setup: Setup) -> Report:
    """The same with all collision geometry: contact points in robosim, shapes in MuJoCo."""
    robot = robosim.load("a1")
    pd = stand(robot)
    q = above(robot, np.array(robot.home), 0.01)
    field = stand_field(setup, robot, q, pd, f"{len(robot.contacts)} points", DEFAULT | STIFF)
    return Report(setup.missing("mujoco") + race(field, setup.repetitions))


def trotting(friction: float) -> tuple[Mechanism, PD, Array]:
    """The A1 on its feet, its gait, and its start: the gait's first pose, just above the ground."""
    robot = a1(friction=friction)
    pd = trot(robot, blend=0.0)
    q = np.array(robot.home)
    q[7:] = pd.targets(np.zeros(1))[0]
    return robot, pd, above(robot, q, 1e-4)


def run_trot(setup: Setup) -> Report:
    """The A1 trotting by Algorithm 6 with friction 0.2, as in the authors' script, dt 1 ms."""
    robot, pd, q = trotting(0.2)
    seconds = setup.choose(10.0, 1.0)
    steps = round(seconds / DT)
    setup.note("robosim")
    field = [_our_trot(robot, pd, q, seconds, lanes) for lanes in (False, True)]
    targets = pd.targets(DT * np.arange(steps))
    for name, chosen in (DEFAULT | STIFF).items() if setup.has("mujoco") else ():
        setup.note(f"MuJoCo, {name}")
        field.append(_mujoco_trot(robot, pd, q, targets, chosen, name))
    rows = setup.missing("mujoco") + race(field, setup.choose(5, 2))
    return Report(rows, leg_targets(rows, 0.25))


def _our_trot(robot: Mechanism, pd: PD, q: Array, seconds: float, lanes: bool) -> Contender:
    sim = Simulation(robot, timestep=DT, lanes=lanes)
    sim.set_state(q)
    log = sim.run(seconds, pd)
    errors = {PENETRATION: max(0.0, -float(log.gap.min())), CLOSURE: float(log.violation.max())}
    figures = {
        "iterations": float(log.iterations.mean()),
        "at most": float(log.iterations.max()),
        "walked [m]": float(sim.q[0]),
    }
    steps, told = round(seconds / DT), LANES if lanes else ""
    begin = partial(sim.set_state, q)
    return ours(sim, pd, steps, begin, told=told, errors=errors, figures=figures)


def _mujoco_trot(
    robot: Mechanism, pd: PD, q: Array, targets: Array, settings: Settings, told: str
) -> Contender:
    peer = mujoco_run(robot, DT, settings, pd)
    peer.set_state(q)
    gaps = [peer.gap()]
    for target in targets:
        peer.data.ctrl[:] = target
        peer.step()
        gaps.append(peer.gap())
    walked = float(peer.data.qpos[0])
    peer.set_state(q)
    return Contender(
        "MuJoCo",
        f"{told}, rollout",
        len(targets),
        rollout(peer.model, peer.data, targets),
        errors={PENETRATION: max(0.0, -min(gaps))},
        figures={"walked [m]": walked},
    )


def run_drop(setup: Setup) -> Report:
    """The A1 dropped from 0.3 m, tilted by 0.3 rad, dt 1 ms, with every time step timed alone."""
    rows = list(setup.missing("mujoco"))
    worst = float("nan")
    tilted = np.array(robosim.load("a1").home)
    tilted[3:7] = [np.cos(0.15), np.sin(0.15), 0.0, 0.0]
    seconds, rounds = setup.choose((1.5, 15), (0.6, 5))
    for told, robot in (("feet only", a1()), ("all geometry", robosim.load("a1"))):
        setup.note(f"robosim, {told}")
        pd = stand(robot)
        q = above(robot, tilted, 0.3)
        sim = Simulation(robot, timestep=DT)
        sim.set_state(q)
        log = sim.run(seconds, pd)
        errors = {
            PENETRATION: max(0.0, -float(log.gap.min())),
            CLOSURE: float(log.violation.max()),
        }
        figures = {
            "iterations": float(log.iterations.mean()),
            "at most": float(log.iterations.max()),
            "substeps": float(log.substeps.max()),
        }
        times = np.array([_single_steps(sim, q, log.tau) for _ in range(rounds)])
        row = _worst_row(OURS, told, times, errors, figures)
        rows.append(row)
        if told == "feet only" and row.timing:
            worst = row.timing.median
        for name, chosen in DEFAULT.items() if setup.has("mujoco") else ():
            setup.note(f"MuJoCo, {told}")
            peer = mujoco_run(robot, DT, chosen, pd)
            peer.set_state(q)
            lowest = 0.0
            for _ in range(round(seconds / DT)):
                peer.step()
                lowest = min(lowest, peer.gap())
            found = [_mujoco_single_steps(peer, q, seconds) for _ in range(rounds)]
            errors = {PENETRATION: -lowest}
            rows.append(_worst_row("MuJoCo", f"{name}, {told}", np.array(found), errors, {}))
    return Report(tuple(rows), (Target("robosim's worst step, feet only", worst, 60.0, "us"),))


def _worst_row(
    who: str, told: str, times: Array, errors: dict[str, float], figures: dict[str, float]
) -> Row:
    """The row of the slowest step: the step whose least time over the rounds is the largest.

    Interruptions by other processes lengthen single steps, but rarely the same step in all rounds.
    The first call is reported separately, because robosim then checks the start for penetration and
    for coordinates beyond limits.
    """
    first, times = float(np.median(times[:, 0])), times[:, 1:]
    slowest = int(times.min(axis=0).argmax())
    worst = tuple(times[:, slowest].tolist())
    median = float(np.median(times))
    told = f"{told}; the slowest step, called by itself"
    figures = {**figures, "median step us": median, "first call us": first}
    return Row(who, told, Timing(worst, worst), errors, 0, figures)


def _single_steps(sim: Simulation, q: Array, torques: Array) -> list[float]:
    """CPU time [us] of each step from q under the torques (n, nu), one call from Python a step."""
    sim.set_state(q)
    times = []
    for tau in torques:
        before = time.thread_time()
        sim.step(tau)
        times.append((time.thread_time() - before) * 1e6)
    return times


def _mujoco_single_steps(peer: MuJoCoRun, q: Array, seconds: float) -> list[float]:
    from mujoco import mj_step

    peer.set_state(q)
    times = []
    for _ in range(round(seconds / DT)):
        before = time.thread_time()
        mj_step(peer.model, peer.data)
        times.append((time.thread_time() - before) * 1e6)
    return times


def humanoid() -> tuple[Mechanism, PD, Array]:
    """The G1 with 29 joints, four spheres on each foot, its servos, and its start.

    Raises
    ------
    LoadError
        If example-robot-data is not installed.
    """
    robot = touching_with(robosim.load(G1), "ankle_roll")
    target, kp = np.zeros(robot.nu), np.full(robot.nu, 100.0)
    for k, name in enumerate(robot.actuated_names):
        target[k] = sum(angle for part, angle in BENT.items() if part in name)
        if any(part in name for part in CARRYING):
            kp[k] = 500.0
    pd = PD(robot, target, kp, kp / 20, implicit=True)
    q = np.array(robot.home)
    q[7:] = target
    return robot, pd, above(robot, q, 1e-3)


def run_humanoid(setup: Setup) -> Report:
    """Unitree's G1, 35 degrees of freedom, standing under stiff servos, dt 1 ms.

    With links that may touch each other, it falls under random torques instead.
    """
    try:
        if setup.self_collision:
            return flailing(setup, robosim.load(G1, self_collision=True))
        robot, pd, q = humanoid()
    except LoadError as error:
        return Report((Row(OURS, "", None, note=str(error)),))
    # A PD held over a step is unstable with these gains. MuJoCo treats their damping implicitly,
    # too.
    settings = {"implicitfast": Settings("implicitfast")}
    field = stand_field(setup, robot, q, pd, "implicit PD", settings)
    rows = setup.missing("mujoco") + race(field, setup.repetitions)
    return Report(rows, ratio_target(rows, 0.5))


CASES = (
    Case(
        "a1_stand",
        "the A1 standing on its feet under PD, dt 1 ms",
        ("mujoco",),
        run_stand,
    ),
    Case("a1_trot", "the A1 trotting, friction 0.2, dt 1 ms", ("mujoco",), run_trot),
    Case("a1_drop", "the A1 dropped, tilted: its slowest step, dt 1 ms", ("mujoco",), run_drop),
    Case(
        "a1_all_contacts",
        "the A1 standing, all its geometry as contacts, dt 1 ms",
        ("mujoco",),
        run_all_contacts,
    ),
    Case(
        "humanoid",
        "the G1 standing, 35 degrees of freedom, dt 1 ms",
        ("mujoco",),
        run_humanoid,
    ),
)
