"""The A1 trots by model predictive control at 50 Hz, and recovers from a push."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.description.mechanism import Mechanism
from robosim.experiments.drawing import COLOURS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.log.falls import Falls
from robosim.measuring.target import Target
from robosim.optimize import MPC, QuadraticCost
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
STEP, HORIZON, PLANT = 0.02, 25, 1e-3  # model: step [s], number of steps; robot: step [s]
SPEED, PERIOD, LIFT = 0.3, 0.4, 0.05  # of the trot: [m/s], [s], height of a foot's swing [m]
LINK = 0.2  # length of thigh and calf of the A1 [m]
SETTLES = 0.3  # time over which the gait begins [s]
SMOOTH = 3e-2  # contact_speed of the model [m/s]
PUSH, PUSHED = 40.0, (2.0, 2.2)  # lateral force on the trunk [N], and its interval [s]


class Trot:
    """The reference of a trot: poses of the base, and joints with which feet step below the hips.

    Parameters
    ----------
    robot : Mechanism
        The A1.
    stance : (nq,)
        The standing pose of the robot.
    """

    def __init__(self, robot: Mechanism, stance: Array) -> None:
        self.robot, self.stance = robot, stance
        legs = "FR", "FL", "RR", "RL"
        self._thighs, self._calves = (
            [robot.q_names.index(f"{leg}_{part}_joint") for leg in legs]
            for part in ("thigh", "calf")
        )
        thigh, calf = (stance[of].mean() for of in (self._thighs, self._calves))
        self._foot = (
            -LINK * (np.sin(thigh) + np.sin(thigh + calf)),
            LINK * (np.cos(thigh) + np.cos(thigh + calf)),
        )

    def poses(self, times: Array) -> Array:
        """(n, nq): FR and RL together, the other diagonal half a period later."""
        q = np.tile(self.stance, (len(times), 1))
        q[:, 0] += SPEED * times
        on = np.clip(times / SETTLES, 0.0, 1.0)
        for k, later in enumerate((0.0, 0.5, 0.5, 0.0)):
            phase = (times / PERIOD + later) % 1.0
            stands, half = phase < 0.5, 2.0 * (phase % 0.5)
            stride = 0.5 * SPEED * PERIOD
            x = stride * np.where(stands, 0.5 - half, half - 0.5)
            z = np.where(stands, 0.0, LIFT * np.sin(np.pi * half))
            thigh, calf = _leg(self._foot[0] + on * x, self._foot[1] - on * z)
            q[:, self._thighs[k]], q[:, self._calves[k]] = thigh, calf
        return q

    def rates(self, times: Array, h: float = 1e-3) -> Array:
        """(n, nv), by central differences."""
        ahead, behind = self.poses(times + h), self.poses(times - h)
        v = np.zeros((len(times), self.robot.nv))
        v[:, :3] = (ahead - behind)[:, :3] / (2 * h)
        v[:, 6:] = (ahead - behind)[:, 7:] / (2 * h)
        return v


def _leg(x: Array, z: Array) -> tuple[Array, Array]:
    """Angles of thigh and calf for a foot at given distances ahead of and below the hip [m]."""
    calf = -np.arccos(np.clip((x * x + z * z) / (2 * LINK**2) - 1.0, -1.0, 1.0))
    return np.arctan2(-x, z) - np.arctan2(np.sin(calf), 1.0 + np.cos(calf)), calf


def trotting(robot: Mechanism, stance: Array) -> MPC:
    """The controller of a trot; its model has contacts at the feet only, and steps of 20 ms."""
    feet = replace(robot, contacts=tuple(one for one in robot.contacts if "foot" in one.name))
    trot = Trot(feet, stance)
    model = Simulation(feet, STEP, contact_speed=SMOOTH)
    model.set_state(stance)
    # Weights of base, legs, and their rates. Low weights of the legs permit other footsteps.
    Q = np.array([5, 20, 200, *[20] * 3, *[0.2] * 12, 10, 10, 1, *[0.2] * 3, *[0.005] * 12])
    weights = QuadraticCost(feet, stance, Q=STEP * Q, R=2e-5 * STEP, final=0.05 * Q)

    def cost(time: float) -> QuadraticCost:
        times = time + STEP * np.arange(HORIZON + 1.0)
        return weights.about(trot.poses(times), trot.rates(times))

    return MPC(model, cost, HORIZON, guess="stand")


def run_mpc(setup: Setup) -> Result:
    """Trot forward, with a push from the side."""
    seconds = setup.choose(6.0, 0.2)
    robot = robosim.load("a1")
    sim = Simulation(robot, PLANT)
    sim.run(setup.choose(1.0, 0.1), "stand")
    stance = sim.q.copy()
    stance[:2] = 0.0
    sim.set_state(stance)
    mpc, trunk = trotting(robot, stance), robot.bodies[0].name
    rows = []
    for begin, end, force in ((0.0, PUSHED[0], 0.0), (*PUSHED, PUSH), (PUSHED[1], seconds, 0.0)):
        if begin >= seconds:
            break
        setup.note(f"trotting from {begin:g} s, {force:g} N from the side")
        sim.apply_wrench(trunk, force=(0.0, force, 0.0))
        rows.append(sim.run(min(end, seconds) - begin, mpc).q)
    q = np.concatenate([*rows, sim.q[None]])
    t = np.arange(len(q)) * PLANT
    late = t > min(1.0, 0.5 * seconds)
    speed = float(np.polyfit(t[late], q[late, 0], 1)[0])
    tilt = 2.0 * np.degrees(np.arcsin(np.clip(np.hypot(q[:, 4], q[:, 5]), 0.0, 1.0)))
    took = np.array(mpc.seconds[1:])
    ours = {
        "speed": speed,
        "tilt": float(tilt.max()),
        "sideways": float(np.abs(q[:, 1]).max()),
        "sideways_end": float(q[-1, 1]),
        "fell": bool(Falls(sim).fallen(q).any()),
        "plans": len(mpc.seconds),
        "failed_plans": mpc.failed,
        "plan_seconds_median": float(np.median(took)),
        "plan_seconds_95": float(np.quantile(took, 0.95)),
        "first_plan_seconds": mpc.seconds[0],
    }
    targets = (
        Target("error of the speed, with a push", abs(speed - SPEED), 0.03, "m/s"),
        Target("falls", float(ours["fell"]), 0),
        Target("plans that failed", float(mpc.failed), 0),
        Target("median time of a plan, of 20 ms", 1e3 * ours["plan_seconds_median"], 20.0, "ms"),
    )
    sentence = (
        f"The A1 trots at {speed:.3f} m/s (asked for: {SPEED:g}), is pushed aside by "
        f"{ours['sideways']:.2f} m and leans by {tilt.max():.1f} degrees at most. A plan of "
        f"{HORIZON} steps of {1e3 * STEP:g} ms takes {1e3 * ours['plan_seconds_median']:.0f} ms "
        f"(median; 95 %: {1e3 * ours['plan_seconds_95']:.0f} ms), and {1e3 * STEP:g} ms are "
        "real time."
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 3, width=4.0)[0]
        axes[0].plot(t, q[:, 0] - SPEED * t, label="forward, ahead of what is asked")
        axes[0].plot(t, q[:, 1], label="sideways")
        axes[1].plot(t, tilt, color=COLOURS["ours"])
        axes[2].hist(1e3 * took, bins=30, color=COLOURS["ours"])
        axes[2].axvline(1e3 * STEP, color="black", lw=1)
        for ax in axes[:2]:
            ax.axvspan(*PUSHED, color="0.9")
        finish(axes[0], "time [s]", "[m]")
        finish(axes[1], "time [s]", "lean [degrees]", legend=False)
        finish(axes[2], "time of a plan [ms]; line: real time", "plans", legend=False)

    parameters = {"speed": SPEED, "push": PUSH, "pushed": PUSHED, "seconds": seconds}
    return Result(parameters, ours, {}, targets, sentence, draw)


MPC_A1 = Experiment(
    ("mpc-a1",),
    "the A1 trots by model predictive control at 50 Hz, and is pushed",
    "It keeps its speed and its feet, and a plan takes less than the 20 ms that it is for.",
    run_mpc,
)
