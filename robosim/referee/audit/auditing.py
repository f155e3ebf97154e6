"""The audit: runs of one robot in robosim and in other simulators, and the findings about them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.control.controllers import PD, resolve
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, ModelError, OptionError, RobosimError
from robosim.kinematics.kinematics import Kinematics
from robosim.loaders import load
from robosim.loaders.writers import save
from robosim.quaternions import rotation_matrix
from robosim.referee.audit import dropped, mends, verdicts
from robosim.referee.audit.adapters import PEERS, Source, why_not
from robosim.referee.audit.asking import Asker
from robosim.referee.audit.files import Described, described
from robosim.referee.audit.in_robosim import InRobosim, held_controls
from robosim.referee.audit.logs import Commands, commands
from robosim.referee.audit.measures import CHECKS, Key, Measured, Scales, measured, own_values
from robosim.referee.audit.parting import (
    CHAOTIC,
    OTHER_START,
    Chaos,
    Parting,
    chaos,
    largest,
    parting,
)
from robosim.referee.audit.playing import Ask, play
from robosim.referee.audit.processes import Runner
from robosim.referee.audit.runs import (
    ASKED,
    HELD,
    TORQUES,
    Array,
    Failed,
    Job,
    Opened,
    Run,
    points_of,
)
from robosim.referee.audit.verdicts import Tried
from robosim.referee.finding import Finding, by_severity
from robosim.simulation import Simulation
from robosim.validation import check_choice, positive

if TYPE_CHECKING:
    from robosim.policies import Policy

ACCURACY = 1e-5
"""Error of robosim's motion per second [m]."""
TIMEOUT = 60.0
"""Longest time for a run in another simulator [s]."""
SAMPLES = 1000
"""Most samples that are kept of a run."""
TURN = 2e-3
"""Largest turn in a time step of robosim at the start [rad]."""
MOST_SUBSTEPS = 64
FINER = ((2, "half the time step"), (4, "a quarter of the time step"))
WRITTEN = {"mujoco": "text"}
"""What robosim writes for a simulator that cannot load the file; a URDF for others."""
FILE, BEST = "the file's settings", "the best settings known"


@dataclass(frozen=True, eq=False)
class Judged:
    """One simulator in an audit.

    Attributes
    ----------
    name : str
        Of `PEERS`.
    title : str
        With its version.
    how : str
        What it has loaded.
    opened : Opened or Failed
    runs : tuple of Run or Failed
        At the file's settings, at shorter time steps, at the best settings known, and at others.
    values : tuple of mapping
        The measured values of each run.
    parting : Parting or None
    """

    name: str
    title: str
    how: str
    opened: Opened | Failed
    runs: tuple[Run | Failed, ...] = ()
    values: tuple[Mapping[Key, Measured], ...] = ()
    parting: Parting | None = None

    @property
    def run(self) -> Run | None:
        """The run at the file's settings; None if it failed."""
        first = self.runs[0] if self.runs else None
        return first if isinstance(first, Run) else None


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit has found.

    Attributes
    ----------
    source : str
        The robot's file or name.
    robot : Mechanism or None
        In robosim; None if that cannot load the file.
    seconds, timestep : float [s]
    control : str
        What controls the robot, in words.
    reference : Run or None
        The run in robosim.
    values : mapping of Key to Measured
        Of the reference.
    chaos : Chaos or None
    peers : tuple of Judged
    logged : Run or None
        The motion of the log whose commands are replayed.
    scales : Scales
    findings : tuple of Finding
        The most severe first.
    """

    source: str
    robot: Mechanism | None
    seconds: float
    timestep: float
    control: str
    reference: Run | None
    values: Mapping[Key, Measured]
    chaos: Chaos | None
    peers: tuple[Judged, ...]
    logged: Run | None
    scales: Scales
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """All values but the samples, ready for JSON."""
        from robosim.referee.audit.telling import to_dict

        return to_dict(self)

    def page(self) -> str:
        """A page with findings, tables, plots and a replay, as HTML that fetches nothing."""
        from robosim.referee.audit.report import page

        return page(self)


def audit(
    source: Any,
    *,
    seconds: float = 2.0,
    controller: Any = None,
    controls: Any = None,
    policy: Policy | None = None,
    log: str | Path | None = None,
    peers: Sequence[str] | None = None,
    timestep: float | None = None,
    q: Any = None,
    v: Any = None,
    pose: str | None = None,
    apart: float | None = None,
    timeout: float = TIMEOUT,
    robot: Mechanism | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Audit:
    """Run a robot in robosim and in other simulators; find what differs, and why.

    Parameters
    ----------
    source : str or path
        A model file, or a name as `robosim.load` takes it.
    seconds : float [s]
    controller : str, callable or None
        As `Simulation.run` takes it; its torques act on joints in all simulators, and are held
        over a time step of the file. None: the file's actuators hold the initial pose. A robot
        with a floating base and without such actuators stands.
    controls : (n, number of actuators) or (number of actuators,) or None
        Controls of the file's actuators at each time step of the file; the last row holds on.
    policy : robosim.policies.Policy or None
        A policy as the controller; the start is its own, and the time step its task's.
    log : path or None
        A log whose commands are replayed, from its first state if it has one: of robosim, or a
        table with the same names of columns (`robosim.referee.audit.logs`).
    peers : sequence of str or None
        Names of `PEERS`; None: those that are installed.
    timestep : float [s] or None
        None: the file's, or 2 ms.
    q, v : (nq,), (nv,) or None
        The start; None: the home pose, at rest.
    pose : str or None
        A named pose for the start, with the controls of its keyframe.
    apart : float [m] or None
        Distance of a body from which on motions have parted; None: 1 cm, less for small robots.
    timeout : float [s]
        Longest time of a run in another simulator.
    robot : Mechanism or None
        The robot in robosim; None: as `robosim.load` loads the source.
    tell : callable(text)
        Is told what is being done.

    Returns
    -------
    Audit

    Raises
    ------
    OptionError
        For an unknown peer, or options that contradict each other.
    ModelError
        For a file that neither robosim nor any of the peers can load.
    ControllerError
        For a controller that cannot be resolved, or a policy that observes contact forces. One
        that raises ends its run only.
    LogError
        For a log of another robot, or without commands.
    """
    positive("seconds", seconds)
    positive("timeout", timeout)
    for name in peers or ():
        check_choice("peer", name, tuple(PEERS))
    drives = {"controller": controller, "controls": controls, "policy": policy, "log": log}
    drives = {name: one for name, one in drives.items() if one is not None}
    if len(drives) > 1:
        raise OptionError(f"an audit takes one of {', '.join(drives)}, not several")
    chosen = [name for name in PEERS if why_not(name) is None] if peers is None else list(peers)
    findings: list[Finding] = []
    refusal: RobosimError | None = None
    if robot is None:
        tell("loading the robot")
        try:
            robot = load(source)
        except ModelError as error:
            if not Path(str(source)).is_file():
                raise
            refusal = error
            findings.append(_cannot("robosim", str(error)))
    path = path_of(source, robot)
    said = described(path) if path.is_file() else Described("text")
    step = said.timestep if timestep is None else positive("timestep", timestep)
    if policy is not None and timestep is None:
        step = policy.task.timestep
    stage = _Stage(source, path, said, robot, seconds, step, timeout, tell)
    if robot is not None:
        if log is not None:
            stage.replay(log, q, v, pose)
        elif policy is not None:
            stage.follow(policy, q, v, pose)
        else:
            stage.start(q, v, pose)
            stage.control(controller, controls, pose)
    elif drives or q is not None or v is not None or pose is not None:
        raise OptionError("robosim cannot load the file, so there is no start or controller for it")
    return stage.judged(chosen, findings, apart, refusal)


def path_of(source: Any, robot: Mechanism | None) -> Path:
    """The model file of a source that has been loaded."""
    return Path(str(robot.source if robot is not None and robot.source else source))


def _cannot(title: str, why: str) -> Finding:
    return Finding(
        "loading",
        "error",
        f"the file in {title}",
        f"{title} cannot load the file: {why}",
        effects={title: why},
    )


class _Stage:
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
        n = len(robot.actuators)
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
        # A start is one of discrete mechanics, whose momentum is off by (omega dt)^2 / 6.
        turn = 0.0 if self.job.v is None else np.abs(self.job.v).max(initial=0.0) * self.timestep
        substeps = int(np.clip(np.ceil(turn / TURN), 1, MOST_SUBSTEPS))
        job = replace(
            self.job, peer="robosim", label=label, settings=settings, q=q, substeps=substeps
        )
        try:
            with warnings.catch_warnings():
                # Of starts, which differ by less than one sees.
                warnings.simplefilter("ignore")
                return play(InRobosim(self.robot, self.said.gravity), job, self.ask())
        except RobosimError as error:
            return Failed("robosim", label, str(error), "failed")

    def judged(
        self,
        peers: Sequence[str],
        findings: list[Finding],
        apart: float | None,
        refusal: RobosimError | None,
    ) -> Audit:
        """All runs, and the findings."""
        robot, reference, unpredictable = self.robot, None, None
        if robot is not None:
            self.tell("simulating in robosim")
            found = self.ours("robosim", accuracy=ACCURACY)
            if isinstance(found, Failed):
                findings.append(_failed("robosim", found))
            else:
                reference = found
            findings += dropped.of_robosim(robot)
        scales = _scales(robot, reference, apart)
        if reference is not None:
            if reference.stopped:
                findings.append(_stopped("robosim", reference))
            elif reference.ended is not None:
                findings.append(_failed("robosim", Failed("", "", reference.ended, "failed")))
            beside = self.ours("another start", accuracy=ACCURACY, q=_beside(robot, self.job.q))
            if isinstance(beside, Run) and len(beside) > 2:
                unpredictable = chaos(reference, beside, scales.apart)
                note = verdicts.of_chaos(unpredictable)
                findings += [] if note is None else [note]
        results = []
        with TemporaryDirectory() as folder:
            for name in peers:
                one, told, scales = self._peer(name, Path(folder), reference, unpredictable, scales)
                results.append(one)
                findings += told
        if self.logged is not None:
            runs = [("robosim", reference), *((one.title, one.run) for one in results)]
            findings += verdicts.of_log(
                self.logged,
                [(title, run) for title, run in runs if run is not None],
                scales.apart,
                scales.weight,
            )
        if refusal is not None and not any(isinstance(one.opened, Opened) for one in results):
            raise refusal
        values = {} if reference is None else own_values(reference, scales)
        return Audit(
            self.source,
            robot,
            self.job.samples * self.timestep,
            self.timestep,
            self.told,
            reference,
            values,
            unpredictable,
            tuple(results),
            self.logged,
            scales,
            by_severity(findings),
        )

    def _peer(
        self,
        name: str,
        folder: Path,
        reference: Run | None,
        unpredictable: Chaos | None,
        scales: Scales,
    ) -> tuple[Judged, list[Finding], Scales]:
        """The runs of one simulator."""
        known, findings = PEERS[name], []
        self.tell(f"simulating in {known.title}")
        source = Source(str(self.path), self.said.kind, self.robot, self.said.gravity)
        how = "the file itself"
        if why_not(name) is not None:
            why = str(why_not(name))
            findings.append(Finding("loading", "note", known.title, why))
            failed = Failed(name, "", why, "missing")
            return Judged(name, known.title, "nothing", failed), findings, scales
        runner = Runner(name, source, self.timeout)
        try:
            if isinstance(runner.opened, Failed) and self.robot is not None:
                why = runner.opened.why
                findings.append(_cannot(known.title, why))
                how = "what robosim has written of it"
                written = self._written(name, folder)
                if written is not None:
                    runner.close()
                    runner = Runner(name, written, self.timeout)
            opened = runner.opened
            if isinstance(opened, Failed):
                if not findings:
                    findings.append(_cannot(known.title, opened.why))
                return Judged(name, known.title, "nothing", opened), findings, scales
            title = f"{known.title} {opened.version}"
            lost = []
            if self.robot is not None:
                lost = list(dropped.of_peer(self.robot, opened, known.title, _rewritten(how)))
                findings += lost
            scales = replace(scales, angles=scales.angles | frozenset(opened.angles))
            job = replace(self.job, peer=name)
            if _rewritten(how):
                job = _without_controls(job, opened)
            one = _Peer(self, runner, job, title, reference, scales)
            lost += dropped.of_robosim(self.robot) if self.robot is not None else ()
            judged, told = one.judged(how, unpredictable, [found.said for found in lost])
            return judged, findings + told, one.scales
        finally:
            runner.close()

    def _written(self, name: str, folder: Path) -> Source | None:
        """The robot as robosim writes it for a simulator; None if it cannot."""
        assert self.robot is not None
        kind = WRITTEN.get(name, "urdf")
        file = folder / f"robot.{'xml' if kind == 'text' else kind}"
        try:
            save(self.robot, file)
        except RobosimError:
            return None
        text = file.read_text(encoding="utf-8") if kind == "text" else str(file)
        return Source(text, kind, self.robot, self.said.gravity)


def _rewritten(how: str) -> bool:
    """Whether a simulator has loaded what robosim has written."""
    return how != "the file itself"


def _without_controls(job: Job, opened: Opened) -> Job:
    """A job for a written file, whose actuators may be others."""
    if job.kind == HELD and job.table.shape[1] != opened.actuators:
        return replace(job, table=np.zeros((1, opened.actuators)))
    return job


class _Peer:
    """The runs of one simulator, and the findings about them."""

    def __init__(
        self,
        stage: _Stage,
        runner: Runner,
        job: Job,
        title: str,
        reference: Run | None,
        scales: Scales,
    ) -> None:
        self.stage, self.runner, self.job = stage, runner, job
        self.title, self.reference, self.scales = title, reference, scales

    def run(self, label: str, substeps: int = 1, settings: Mapping[str, Any] | None = None) -> Any:
        """A run at some settings."""
        job = replace(self.job, label=label, substeps=substeps, settings=settings or {})
        return self.runner.run(job, self.stage.ask())

    def values(self, run: Run | Failed) -> Mapping[Key, Measured]:
        """The measured values of a run."""
        return measured(run, self.reference, self.scales) if isinstance(run, Run) else {}

    def tried(self, told: str, run: Run) -> Tried:
        """A run at other settings, for verdicts."""
        distance = None if self.reference is None else largest(self.reference, run)
        return Tried(told, self.values(run), run.ended, distance, run.told)

    def judged(
        self, how: str, unpredictable: Chaos | None, lost: Sequence[str]
    ) -> tuple[Judged, list[Finding]]:
        """All runs and findings; those that did not come to an end are said so."""
        stage, findings = self.stage, []
        first = self.run(FILE)
        opened = self.runner.opened
        if isinstance(first, Failed):
            findings.append(_failed(self.title, first))
            return Judged(self.job.peer, self.title, how, opened, (first,), ({},)), findings
        if self.reference is None:
            self.scales = _scales(None, first, self.scales.apart if stage.robot else None)
            assert isinstance(opened, Opened)
            self.scales = replace(self.scales, angles=frozenset(opened.angles))
        runs = [first]
        finer = []
        for divided, label in FINER:
            run = self.run(label, divided)
            runs.append(run)
            if isinstance(run, Run):
                finer.append((label, run))
            else:
                findings.append(_failed(self.title, run))
        best = mends.best(self.job.peer, stage.timestep)
        if best:
            runs.append(self.run(BEST, 1, best))
        file = self.values(first)
        part = None
        if self.reference is not None:
            part = parting(self.reference, first, self.scales.apart, self.scales.weight)
        tried = self._mends(file, first, part, finer, runs)
        own = self.reference
        reference = {} if own is None else own_values(own, self.scales)
        if first.stopped:
            findings.append(_stopped(self.title, first))
        elif first.ended is not None:
            ends = [(label, run.ended) for label, run in finer]
            findings.append(
                verdicts.of_divergence(self.title, first.ended, ends, tried.get("diverged", []))
            )
        if first.ended is None or first.stopped:
            whole = [one for one in finer if one[1].ended is None or one[1].stopped]
            others = [(label, self.values(run)) for label, run in whole]
            # What rests on a point of instability need not do so for long.
            unstable = unpredictable is not None and unpredictable.growth >= CHAOTIC
            checks = tuple(check for check in CHECKS if not (unstable and check == "rest"))
            findings += verdicts.of_values(self.title, file, others, reference, tried, checks, lost)
        if part is not None and self.reference is not None and first.ended is None:
            at = int(np.searchsorted(first.t, part.time))
            away = [(label, largest(self.reference, run)) for label, run in finer]
            every = [one for group in tried.values() for one in group]
            findings.append(
                verdicts.of_parting(self.title, part, away, every, unpredictable, at, lost)
            )
        values = tuple(self.values(run) for run in runs)
        judged = Judged(self.job.peer, self.title, how, opened, tuple(runs), values, part)
        return judged, findings

    def _mends(
        self,
        file: Mapping[Key, Measured],
        first: Run,
        part: Parting | None,
        finer: Sequence[tuple[str, Run]],
        runs: Sequence[Run | Failed],
    ) -> dict[str, list[Tried]]:
        """Runs at the settings that are known to mend what was found, by check."""
        checks = [c for c in CHECKS if any(one.matters for k, one in file.items() if k.check == c)]
        if first.ended is not None and not first.stopped:
            checks = ["diverged"]
        elif part is not None:
            checks.append("parting")
        found: dict[str, list[Tried]] = {}
        made: dict[str, Tried] = {}
        for check, settings in mends.mends(self.job.peer, checks, self.stage.timestep):
            key = repr(sorted(settings.items()))
            if key not in made:
                run = self.run("", 1, settings)
                if not isinstance(run, Run):
                    continue
                made[key] = self.tried(run.told, run)
            found.setdefault(check, []).append(made[key])
        steps = [self.tried(f'timestep="{run.job.timestep:g}"', run) for _, run in finer]
        last = [
            self.tried(BEST, run) for run in runs if isinstance(run, Run) and run.job.label == BEST
        ]
        return {check: [*found.get(check, []), *last, *steps] for check in checks}


def _stopped(title: str, run: Run) -> Finding:
    when = f"{run.t[-1]:.3g} s" if len(run) else "the start"
    said = f"the controller ended the run in {title} after {when}: {run.ended}"
    return Finding("running", "error", f"the run in {title}", said[0].upper() + said[1:])


def _failed(title: str, failed: Failed) -> Finding:
    when = f" at {failed.label}" if failed.label and failed.label != title else ""
    words = {"crashed": "crashed", "hung": "hung"}.get(failed.how, "could not simulate the robot")
    return Finding(
        "running",
        "error",
        f"the run in {title}",
        f"{title} {words}{when}: {failed.why}",
        effects={title: failed.why},
    )


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
    return Run(
        job,
        "",
        "",
        times,
        q,
        v,
        tuple(bodies),
        places,
        none,
        none,
        {},
        {},
        {},
        np.zeros(len(times)),
    )


def _beside(robot: Mechanism | None, q: Array | None) -> Array | None:
    """A start (nq,) whose coordinates differ by `OTHER_START`, but for quaternions."""
    if robot is None or q is None:
        return q
    q = q.copy()
    for begin, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
        free = joint.nq - 4 if joint.has_quaternion else joint.nq
        q[begin : begin + free] += OTHER_START
    return q


def _scales(robot: Mechanism | None, run: Run | None, apart: float | None) -> Scales:
    """What lengths and forces are compared with."""
    size, weight = 1.0, 1.0
    held: set[str] = set()
    names: tuple[str, ...] = ()
    angles: set[str] = set()
    if robot is not None:
        size = size_of(robot)
        weight = 9.81 * float(robot.total_mass)
        names = tuple(robot.q_names)
        for begin, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
            if not joint.has_quaternion and len(joint.units) == joint.nq:
                for k in range(joint.nq):
                    if joint.per_coordinate("friction")[k] > 0:
                        held.add(names[begin + k])
                    if joint.units[k] == "rad":
                        angles.add(names[begin + k])
    elif run is not None and len(run.bodies):
        size = float(np.ptp(run.points[0], axis=(0, 1)).max())
    near = float(np.clip(2e-3 * size, 1e-5, 1e-3))
    return Scales(
        near,
        10.0 * near if apart is None else positive("apart", apart),
        weight,
        frozenset(angles),
        frozenset(held),
        names,
    )


def size_of(robot: Mechanism) -> float:
    """How large a robot is at home: the distance of its outermost bodies, with their shapes [m]."""
    x = Kinematics(robot, robot.home).x
    reach = max((shape_reach(body) for body in robot.bodies), default=0.0)
    return max(float(np.ptp(x, axis=0).max(initial=0.0)) + 2.0 * reach, 1e-3)


def shape_reach(body: Any) -> float:
    """Distance of the farthest collision shape's centre from a body's centre of mass [m]."""
    places = [float(np.linalg.norm(shape.position)) for shape in body.collisions]
    sizes = [
        float(np.max(np.abs(shape.size), initial=0.0))
        for shape in body.collisions
        if shape.size is not None
    ]
    return max(places, default=0.0) + max(sizes, default=0.0)
