"""Many robots that move differently, in SIMD lanes and without: random targets, random torques.

All geometry may touch the ground. Each motor holds its target or torque for ten steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.batch import BatchSimulation, Rollout
from robosim.bench.case import Case, Setup
from robosim.bench.legged import DEFAULT, G1
from robosim.bench.measure import Contender, mujoco_run, race
from robosim.bench.policies import HELD
from robosim.bench.report import OURS, PENETRATION, Report, Row, paired
from robosim.control.controllers import PD
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import HeightField
from robosim.errors import LoadError
from robosim.measuring.target import Target
from robosim.peers.mujoco_run import quiet

Array = NDArray[np.float64]
TIMESTEPS = 2, 5  # [ms]
TARGETS = 0.0, 0.1, 0.3, 1.0  # [rad], targets are uniform within this of home
TORQUES = 0.1, 0.3, 1.0  # parts of the effort limits within which torques are uniform
OTHERS = ("targets", 0.3), ("torques", 0.3)  # what all robots but the A1 are given
A1, ON_FIELD = "A1", "A1 on a height field"
CELL, SIDE, HEIGHT = 0.1, 6.0, 0.05  # [m], of the height field, whose heights are uniform
LANES, APART, ONE = "in lanes", "each by itself", "a batch of one"
PEER = "rollout"  # what rows of MuJoCo end with
MOST = 5.0  # [us], goal for a step of one A1 in lanes
WORSE = 1.05  # part of the time without lanes that lanes may take
ON_TERRAIN = 1.3  # part of an A1's time on flat ground that it may take on a height field
DIVERGED = "warnings of divergence"


@dataclass(frozen=True)
class Subject:
    """A robot at home just above the ground, and the gains of servos that can move it.

    Attributes
    ----------
    name : str
    robot : Mechanism
    q : (nq,)
    stiffness, damping : float [N m/rad], [N m s/rad]
    """

    name: str
    robot: Mechanism
    q: Array
    stiffness: float
    damping: float

    def drive(self, kind: str, size: float, n: int, steps: int) -> tuple[PD, Array]:
        """A servo, which is off for torques, and targets or torques (n, steps, nu)."""
        robot = self.robot
        rng, shape = np.random.default_rng(0), (n, -(-steps // HELD), robot.nu)
        # The quaternion of the base has one number more than its rates.
        home = np.array(robot.home)[np.asarray(robot.actuated) + robot.nq - robot.nv]
        if kind == "targets":
            values = home + rng.uniform(-size, size, shape)
            servo = PD(robot, home, self.stiffness, self.damping, implicit=True)
        else:
            most = size * np.asarray(robot.effort_limits)
            values = rng.uniform(-most, most, shape)
            servo = PD(robot, home, 0.0, 0.0)
        return servo, np.repeat(values, HELD, axis=1)[:, :steps]


def subject(name: str, robot: Mechanism, stiffness: float, damping: float) -> Subject:
    """A robot at home, placed 1 mm above what it falls on."""
    sim = robosim.Simulation(robot)
    sim.set_state(robot.home)
    sim.place(gap=1e-3)
    return Subject(name, robot, np.array(sim.q), stiffness, damping)


def rough(robot: Mechanism) -> Mechanism:
    """The robot on a height field in place of the ground."""
    cells = round(SIDE / CELL)
    heights = np.random.default_rng(0).uniform(0.0, HEIGHT, (cells + 1, cells + 1))
    return robot.with_contacts(obstacles=HeightField(heights, (SIDE, SIDE)), ground=False)


def our_random(
    one: Subject, timestep: float, kind: str, size: float, n: int, steps: int, how: str
) -> Contender:
    """robosim from home, in one thread."""
    servo, values = one.drive(kind, size, n, steps)
    batch = BatchSimulation(one.robot, n, timestep, threads=1, lanes=how == LANES)

    def take() -> Rollout:
        if kind == "targets":
            return batch.rollout(steps, controller=servo, targets=values, every=steps)
        return batch.rollout(steps, values, every=steps)

    def run() -> bool:
        return not take().failed.any()

    batch.set_state(one.q)
    out = take()
    figures = {"iterations": float(out.iterations.mean()), "failed": float(out.failed.sum())}
    errors = {PENETRATION: max(0.0, -float(np.nanmin(out.gap)))}
    return Contender(
        OURS,
        told_of(one.name, kind, size, how),
        n * steps,
        run,
        lambda: batch.set_state(one.q),
        errors=errors,
        figures=figures,
        size=round(1e3 * timestep),
    )


def mujoco_random(
    one: Subject, timestep: float, kind: str, size: float, n: int, steps: int
) -> Contender:
    """The same in MuJoCo, by `mujoco.rollout` in one thread."""
    import mujoco
    from mujoco.rollout import Rollout

    servo, values = one.drive(kind, size, n, steps)
    peer = mujoco_run(one.robot, timestep, DEFAULT["Euler"], servo if kind == "targets" else None)
    full = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
    spec = int(mujoco.mjtState.mjSTATE_CTRL)
    if kind != "targets":
        spec = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
        forces = np.zeros((n, steps, peer.model.nv))
        forces[..., np.asarray(one.robot.actuated)] = values
        values = forces
    begin = np.zeros((1, mujoco.mj_stateSize(peer.model, full)))
    peer.set_state(one.q)
    mujoco.mj_getState(peer.model, peer.data, begin[0], full)
    begin = np.repeat(begin, n, axis=0)
    pool = Rollout(nthread=0)

    def run() -> bool:
        with quiet(mujoco):
            pool.rollout(peer.model, [peer.data], begin, values, control_spec=spec)
        return True

    run()
    kinds = mujoco.mjtWarning
    bad = kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC
    figures = {DIVERGED: float(sum(peer.data.warning[int(kind)].number for kind in bad))}
    told = told_of(one.name, kind, size, PEER)
    size_ms = round(1e3 * timestep)
    return Contender("MuJoCo", told, n * steps, run, figures=figures, size=size_ms)


def subjects(setup: Setup) -> tuple[list[Subject], list[Row]]:
    """The robots, the A1 first, and a row for each that is not installed."""
    a1 = robosim.load("a1")
    found = [subject(A1, a1, 40.0, 1.0), subject(ON_FIELD, rough(a1), 40.0, 1.0)]
    missing: list[Row] = []
    for name, model, stiffness, damping in setup.choose(
        (("Go1", "go1", 40.0, 1.0), ("G1", G1, 100.0, 2.0), ("Minitaur", "minitaur", 4.0, 0.1)), ()
    ):
        try:
            found.append(subject(name, robosim.load(model), stiffness, damping))
        except LoadError as error:
            missing.append(Row(OURS, name, None, note=str(error)))
    return found, missing


def told_of(name: str, kind: str, size: float, how: str) -> str:
    """What a row is of."""
    within = f"{kind} within {size:g} rad" if kind == "targets" else f"{kind} up to {size:g} of all"
    return f"{name}, {within}, {how}"


def run_batch_random(setup: Setup) -> Report:
    """64 robots on one thread, from home; and one of them.

    On the height field there are no lanes, nor are there of the Minitaur, whose legs are loops.
    """
    n, steps = setup.choose((64, 300), (16, 60))
    cases = [("targets", size) for size in TARGETS] + [("torques", size) for size in TORQUES]
    robots, missing = subjects(setup)
    field: list[Contender] = []
    for milliseconds in TIMESTEPS:
        for one in robots:
            chosen = cases if one.name == A1 and not setup.quick else OTHERS
            laned = one.name != ON_FIELD and not one.robot.loop_joints
            for kind, size in chosen:
                setup.note(f"{milliseconds} ms, {one.name}, {kind} {size:g}")
                drive = one, 1e-3 * milliseconds, kind, size
                field += [
                    our_random(*drive, n, steps, how) for how in (LANES, APART)[0 if laned else 1 :]
                ]
                field.append(our_random(*drive, 1, steps, ONE))
                if setup.has("mujoco"):
                    field.append(mujoco_random(*drive, n, steps))
    rows = (*missing, *setup.missing("mujoco"), *race(field, setup.choose(3, 2)))
    return Report(rows, tuple(targets_of(rows)), size="timestep [ms]")


def targets_of(rows: tuple[Row, ...]) -> list[Target]:
    """What lanes, single robots and terrain may take, beside what they are compared with."""
    times = {(row.size, row.told): row.timing.cpu for row in rows if row.timing}
    found: list[Target] = []

    def compare(name: str, those: str, others: str, most: float) -> None:
        """The largest ratio of times of rows that have `those` words, to rows with `others`."""
        ratios = [
            paired(cpu, times[size, told.replace(those, others)])
            for (size, told), cpu in times.items()
            if those in told and (size, told.replace(those, others)) in times
            if not told.endswith(PEER)
        ]
        if ratios:
            found.append(Target(name, max(ratios), most))

    compare("time in lanes / without, at most of all rows", LANES, APART, WORSE)
    compare("one robot's time / MuJoCo's, at most of all rows", ONE, PEER, 1.0)
    compare("time in lanes / MuJoCo's, at most of all rows", LANES, PEER, 1.0 / 3.0)
    compare("an A1's time on a height field / on flat ground", ON_FIELD, A1, ON_TERRAIN)
    for (milliseconds, told), cpu in times.items():
        a1 = told.startswith(f"{A1}, targets") and told.endswith(LANES)
        if a1 and "within 0 " not in told:
            name = f"{milliseconds} ms, {told}: a step of one state"
            found.append(Target(name, float(np.median(cpu)), MOST, "us"))
    return found


CASES = (
    Case(
        "batch_random",
        "many robots under random targets and torques: lanes, and each by itself",
        ("mujoco",),
        run_batch_random,
    ),
)
