"""A robot's start and controls, the same for all simulators."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.control.controllers import PD, resolve
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, ModelError, OptionError, RobosimError
from robosim.kinematics.kinematics import Kinematics
from robosim.quaternions import rotation_matrix
from robosim.referee.audit.asking import Asker
from robosim.referee.audit.files import Described
from robosim.referee.audit.in_robosim import InRobosim, held_controls
from robosim.referee.audit.logs import Commands, commands
from robosim.referee.audit.playing import Ask, play
from robosim.referee.audit.runs import (
    ASKED,
    HELD,
    TORQUES,
    Failed,
    Job,
    Run,
    points_of,
)
from robosim.referee.audit.sizes import size_of
from robosim.simulation import Simulation
from robosim.validation import check_choice

if TYPE_CHECKING:
    from robosim.policies import Policy


SAMPLES = 1000
"""Most samples that are kept of a run."""
FILE = "the file's settings"


class Stage:
    """One robot with its start and controls, for all simulators."""

    def __init__(
        self,
        source: Any,
        path: Path,
        said: Described,
        robot: Mechanism | None,
        seconds: float,
        timestep: float,
        timeout: float,
        tell: Callable[[str], None],
    ) -> None:
        self.source, self.path, self.said, self.robot = str(source), path, said, robot
        self.seconds, self.timestep, self.timeout, self.tell = seconds, timestep, timeout, tell
        samples = max(2, round(seconds / timestep))
        every = -(-samples // SAMPLES)
        samples = -(-samples // every) * every
        self.size = 0.4 if robot is None else size_of(robot)
        self.job = Job("", FILE, timestep, 1, samples, every=every, arm=0.25 * self.size)
        self.told = "the file's own start and controls of zero"
        self.controller: Any = None
        self.logged: Run | None = None

    def start(self, q: Any, v: Any, pose: str | None) -> None:
        """Set the start, with loops closed."""
        robot = self.robot
        assert robot is not None
        if pose is not None:
            if q is not None:
                raise OptionError("an audit starts at q or in a pose, not both")
            check_choice("pose", pose, tuple(robot.poses))
            q = robot.poses[pose]
        q = np.array(robot.home if q is None else q, dtype=float)
        v = np.zeros(robot.nv) if v is None else np.array(v, dtype=float)
        try:
            sim = Simulation(robot, self.timestep, self.said.gravity)
            sim.set_state(q, v)
            q, v = np.array(sim.q), np.array(sim.v)
        except ModelError:
            pass  # which robosim's run reports
        self.job = replace(self.job, q=q, v=v)

    def control(self, controller: Any, controls: Any, pose: str | None) -> None:
        """Set what controls the robot."""
        robot, q = self.robot, self.job.q
        assert robot is not None
        assert q is not None
        n = len(robot.control_names)
        if controls is None and controller is None and n:
            controls = self.said.controls.get(pose or "")
            self.told = f"controls of the keyframe '{pose}'"
            if controls is None:
                controls = held_controls(robot, q)
                self.told = "the file's actuators, which hold the start"
        elif controls is not None:
            self.told = "the given controls"
        if controls is not None:
            table = np.atleast_2d(np.asarray(controls, dtype=float))
            if table.shape[1] != n or not np.isfinite(table).all():
                raise OptionError(f"controls must be {n} finite numbers, not {table.shape[1]}")
            self.job = replace(self.job, kind=HELD, table=table)
            return
        name = controller
        if controller is None:
            name = "stand" if robot.nu and robot.floating_base else "zero"
        self.torques(resolve(robot, name, self.timestep) if isinstance(name, str) else name)
        told = name if isinstance(name, str) else getattr(name, "__name__", "a function")
        self.told = "no torques" if name == "zero" else f"the controller '{told}'"

    def follow(self, policy: Policy, q: Any, v: Any, pose: str | None) -> None:
        """Let a policy control the robot, from where it begins."""
        from robosim.policies.sim_to_sim import begin

        assert self.robot is not None
        if policy.needs_forces:
            raise ControllerError(
                f"{policy.__name__} observes contact forces, which an audit has not: compare it "
                "with: robosim play MODEL POLICY --peer mujoco"
            )
        policy.steps(self.timestep)
        if q is None and pose is None:
            sim = Simulation(self.robot, self.timestep, self.said.gravity)
            begin(sim, policy)
            q = np.array(sim.q)
        self.start(q, v, pose)
        self.torques(policy)
        self.told = f"the policy '{policy.__name__}'"

    def replay(self, log: str | Path, q: Any, v: Any, pose: str | None) -> None:
        """Replay the commands of a log, and keep its motion to compare with."""
        robot = self.robot
        assert robot is not None
        found = commands(log, robot)
        if q is None and pose is None and found.q is not None:
            q, v = found.q[0], None if found.v is None else found.v[0]
        self.start(q, v, pose)
        every, period = self.job.every, self.timestep
        longest = int(np.ceil(found.t[-1] / period - 1e-9))
        samples = -(-min(self.job.samples, max(longest, 1)) // every) * every
        table = found.held(period, samples)
        self.job = replace(self.job, samples=samples, kind=found.kind, table=table)
        self.told = f"the commands of {Path(log).name}"
        if found.q is not None:
            self.logged = _logged(robot, found, replace(self.job, peer="the log"))

    def torques(self, controller: Any) -> None:
        """Let torques of a controller of robosim act on the joints."""
        robot = self.robot
        assert robot is not None
        zero = np.zeros((1, robot.nu))
        self.job = replace(self.job, kind=TORQUES, table=zero)
        if isinstance(controller, PD):
            gains = controller.gains.copy()
            implicit = gains["implicit"] == 1
            if implicit.any() and controller.moves:
                raise ControllerError(
                    "an implicit PD whose target moves cannot act in other simulators: use "
                    "implicit=False, or a shorter time step"
                )
            rest = gains.copy()
            for what in ("kp", "kd"):
                gains[what][~implicit], rest[what][implicit] = 0.0, 0.0
            if implicit.any():
                gains["implicit"] = 1
                rest["implicit"] = 0
                self.job = replace(self.job, gains=gains)
                controller = PD.with_gains(rest)
            if not (rest["kp"].any() or rest["kd"].any()) and not controller.moves:
                return
        self.controller = controller
        self.job = replace(self.job, kind=ASKED)

    def ask(self) -> Ask | None:
        """The controller, which begins anew."""
        if self.controller is None or self.robot is None:
            return None
        return Asker(self.controller, self.robot, self.timestep, self.said.gravity)

    def ours(self, label: str, **settings: Any) -> Run | Failed:
        """A run in robosim."""
        assert self.robot is not None
        q = settings.pop("q", self.job.q)
        job = replace(self.job, peer="robosim", label=label, settings=settings, q=q, substeps=1)
        try:
            with warnings.catch_warnings():
                # Of starts, which differ by less than one sees.
                warnings.simplefilter("ignore")
                return play(InRobosim(self.robot, self.said.gravity), job, self.ask())
        except RobosimError as error:
            return Failed("robosim", label, str(error), "failed")


def _logged(robot: Mechanism, found: Commands, job: Job) -> Run:
    """The motion of a log as a run: its poses at the samples of the others."""
    assert found.q is not None
    times = np.arange(0, job.samples + 1, job.every) * job.period
    times = times[times <= found.t[-1] + 1e-9]
    q = np.array([np.interp(times, found.t, column) for column in found.q.T]).T
    v = np.zeros((len(times), robot.nv))
    if found.v is not None:
        v = np.array([np.interp(times, found.t, column) for column in found.v.T]).T
    frames = list(robot.frames())
    x, R, kinematics = [], [], Kinematics(robot)
    for row in q:
        for begin, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
            if joint.has_quaternion:
                turn = slice(begin + joint.nq - 4, begin + joint.nq)
                row[turn] /= np.linalg.norm(row[turn])
        kinematics.move_to(row)
        at, of = kinematics.x, kinematics.R
        x.append([at[k] + of[k] @ np.asarray(frame.position) for k, frame in frames])
        R.append([of[k] @ rotation_matrix(frame.quaternion) for k, frame in frames])
    none = np.full(len(times), np.nan)
    places = points_of(np.array(x), np.array(R), job.arm)
    names = tuple(frame.name for _, frame in frames)
    effort = np.zeros(len(times))
    return Run(job, "", "", times, q, v, names, places, none, none, {}, {}, {}, effort)
