"""Many A1 that move differently, in SIMD lanes and without: random targets, random torques.

All geometry may touch the ground. Each motor holds its target or torque for ten steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.batch import BatchSimulation, Rollout
from robosim.bench.case import Case, Setup
from robosim.bench.legged import DEFAULT, above
from robosim.bench.measure import Contender, mujoco_run, race
from robosim.bench.policies import HELD
from robosim.bench.report import OURS, PENETRATION, Report, Row, paired
from robosim.control.controllers import PD
from robosim.description.mechanism import Mechanism
from robosim.measuring.target import Target
from robosim.peers.mujoco_run import quiet

Array = NDArray[np.float64]
TIMESTEPS = 2, 5  # [ms]
TARGETS = 0.0, 0.1, 0.3, 1.0  # [rad], targets are uniform within this of home
TORQUES = 0.1, 0.3, 1.0  # parts of the effort limits within which torques are uniform
STIFFNESS, DAMPING = 40.0, 1.0  # [N m/rad], [N m s/rad]
LANES, APART, ONE = "in lanes", "each by itself", "a batch of one"
MOST = 5.0  # [us], goal for a step of one state in lanes
WORSE = 1.05  # part of the time without lanes that lanes may take


def drive_of(robot: Mechanism, kind: str, size: float, n: int, steps: int) -> tuple[PD, Array]:
    """A servo, which is off for torques, and targets or torques (n, steps, nu)."""
    rng, shape = np.random.default_rng(0), (n, -(-steps // HELD), robot.nu)
    home = np.array(robot.home)[7:]
    if kind == "targets":
        values = home + rng.uniform(-size, size, shape)
        servo = PD(robot, home, STIFFNESS, DAMPING, implicit=True)
    else:
        most = size * np.asarray(robot.effort_limits)
        values = rng.uniform(-most, most, shape)
        servo = PD(robot, home, 0.0, 0.0)
    return servo, np.repeat(values, HELD, axis=1)[:, :steps]


def our_random(
    robot: Mechanism,
    q: Array,
    timestep: float,
    kind: str,
    size: float,
    n: int,
    steps: int,
    how: str,
) -> Contender:
    """robosim from the stance q, in one thread."""
    servo, values = drive_of(robot, kind, size, n, steps)
    batch = BatchSimulation(robot, n, timestep, threads=1, lanes=how == LANES)

    def take() -> Rollout:
        if kind == "targets":
            return batch.rollout(steps, controller=servo, targets=values, every=steps)
        return batch.rollout(steps, values, every=steps)

    def run() -> bool:
        return not take().failed.any()

    batch.set_state(q)
    out = take()
    figures = {"iterations": float(out.iterations.mean()), "failed": float(out.failed.sum())}
    errors = {PENETRATION: max(0.0, -float(np.nanmin(out.gap)))}
    return Contender(
        OURS,
        told_of(kind, size, how),
        n * steps,
        run,
        lambda: batch.set_state(q),
        errors=errors,
        figures=figures,
        size=round(1e3 * timestep),
    )


def mujoco_random(
    robot: Mechanism, q: Array, timestep: float, kind: str, size: float, n: int, steps: int
) -> Contender:
    """The same in MuJoCo, by `mujoco.rollout` in one thread."""
    import mujoco
    from mujoco.rollout import Rollout

    servo, values = drive_of(robot, kind, size, n, steps)
    peer = mujoco_run(robot, timestep, DEFAULT["Euler"], servo if kind == "targets" else None)
    full = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
    spec = int(mujoco.mjtState.mjSTATE_CTRL)
    if kind != "targets":
        spec = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
        free = peer.model.nv - robot.nu
        values = np.concatenate((np.zeros((n, steps, free)), values), axis=2)
    begin = np.zeros((1, mujoco.mj_stateSize(peer.model, full)))
    peer.set_state(q)
    mujoco.mj_getState(peer.model, peer.data, begin[0], full)
    begin = np.repeat(begin, n, axis=0)
    pool = Rollout(nthread=0)

    def run() -> bool:
        with quiet(mujoco):
            pool.rollout(peer.model, [peer.data], begin, values, control_spec=spec)
        return True

    told = told_of(kind, size, "rollout")
    return Contender("MuJoCo", told, n * steps, run, size=round(1e3 * timestep))


def told_of(kind: str, size: float, how: str) -> str:
    """What a row is of."""
    within = f"{kind} within {size:g} rad" if kind == "targets" else f"{kind} up to {size:g} of all"
    return f"{within}, {how}"


def run_batch_random(setup: Setup) -> Report:
    """64 A1 on one thread, from a stance on their feet; and one of them."""
    robot = robosim.load("a1")
    q = above(robot, np.array(robot.home), 1e-3)
    n, steps = setup.choose((64, 500), (16, 60))
    cases = [("targets", size) for size in TARGETS] + [("torques", size) for size in TORQUES]
    field: list[Contender] = []
    for milliseconds in TIMESTEPS:
        for kind, size in cases if not setup.quick else cases[2::3]:
            setup.note(f"{milliseconds} ms, {kind} {size:g}")
            drive = robot, q, 1e-3 * milliseconds, kind, size
            field += [our_random(*drive, n, steps, how) for how in (LANES, APART)]
            field.append(our_random(*drive, 1, steps, ONE))
            if setup.has("mujoco"):
                field.append(mujoco_random(*drive, n, steps))
    rows = setup.missing("mujoco") + race(field, setup.choose(5, 2))
    return Report(rows, tuple(targets_of(rows)), size="timestep [ms]")


def targets_of(rows: tuple[Row, ...]) -> list[Target]:
    """That lanes take no longer than steps without them, and how long they may take."""
    times = {(row.size, row.told): row.timing.cpu for row in rows if row.timing and row.who == OURS}
    found: list[Target] = []
    ratios = [
        paired(cpu, times[size, told.replace(LANES, APART)])
        for (size, told), cpu in times.items()
        if told.endswith(LANES) and (size, told.replace(LANES, APART)) in times
    ]
    if ratios:
        found.append(Target("time in lanes / without, at most of all rows", max(ratios), WORSE))
    for (milliseconds, told), cpu in times.items():
        if told.startswith("targets") and told.endswith(LANES) and "within 0 " not in told:
            name = f"{milliseconds} ms, {told}: a step of one state"
            found.append(Target(name, float(np.median(cpu)), MOST, "us"))
    return found


CASES = (
    Case(
        "batch_random",
        "many A1 under random targets and torques: lanes, and each state by itself",
        ("mujoco",),
        run_batch_random,
    ),
)
