"""The runs in all simulators, and the findings about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.errors import RobosimError
from robosim.loaders.writers import save
from robosim.referee.audit import dropped, mends, verdicts
from robosim.referee.audit.adapters import MADE, PEERS, Source, why_not
from robosim.referee.audit.files import NONE
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
from robosim.referee.audit.processes import Runner
from robosim.referee.audit.results import Judged, Results
from robosim.referee.audit.runs import (
    HELD,
    Array,
    Failed,
    Job,
    Opened,
    Run,
)
from robosim.referee.audit.sizes import scales_of
from robosim.referee.audit.stage import FILE, Stage
from robosim.referee.audit.verdicts import Tried
from robosim.referee.finding import Finding, by_severity

ACCURACY = 1e-5
"""Error of robosim's motion per second [m]."""
FINEST = 1e-6
"""The same of a run that tells how accurate the first one is."""
FINER = ((2, "half the time step"), (4, "a quarter of the time step"))
ITSELF = "the file itself"
BEST = "the best settings known"


class Judge:
    """Runs the simulators on a stage, and collects the findings.

    Parameters
    ----------
    stage : Stage
    findings : list of Finding
        Those until now.
    apart : float [m] or None
    """

    def __init__(self, stage: Stage, findings: list[Finding], apart: float | None) -> None:
        self.stage, self.findings = stage, findings
        self.reference: Run | None = None
        self.chaos: Chaos | None = None
        self.uncertain: float | None = None
        self._simulate()
        self.scales = scales_of(stage.robot, self.reference, apart)
        self._disturb()
        self._doubt()

    def _simulate(self) -> None:
        """The run in robosim."""
        stage = self.stage
        if stage.robot is None:
            return
        stage.tell("simulating in robosim")
        found = stage.ours("robosim", accuracy=ACCURACY)
        self.findings += dropped.of_robosim(stage.robot)
        if isinstance(found, Failed):
            self.findings.append(_failed("robosim", found))
            return
        self.reference = found
        if found.stopped:
            self.findings.append(_stopped("robosim", found))
        elif found.ended is not None:
            self.findings.append(_failed("robosim", Failed("", "", found.ended, "failed")))

    def _disturb(self) -> None:
        """The same from another start, for chaos."""
        stage, reference = self.stage, self.reference
        if reference is None or len(reference) < 3:
            return
        q = _beside(stage.robot, stage.job.q)
        beside = stage.ours("another start", accuracy=ACCURACY, q=q)
        if isinstance(beside, Run) and len(beside) > 2:
            self.chaos = chaos(reference, beside, self.scales.apart)
            note = verdicts.of_chaos(self.chaos)
            self.findings += [] if note is None else [note]

    def _doubt(self) -> None:
        """The same, more accurately, as robosim may be wrong as well."""
        reference = self.reference
        if reference is None or len(reference) < 3:
            return
        finer = self.stage.ours("more accurately", accuracy=FINEST)
        if isinstance(finer, Run):
            self.uncertain = float(largest(reference, finer).max(initial=0.0))
            if self.uncertain > 0.1 * self.scales.apart:
                self.findings.append(verdicts.of_doubt(self.uncertain, self.chaos))

    def results(self, peers: Sequence[str]) -> Results:
        """All runs and findings."""
        stage, reference = self.stage, self.reference
        with TemporaryDirectory() as folder:
            results = [self._peer(name, Path(folder)) for name in peers]
        if stage.logged is not None:
            runs = [("robosim", reference), *((one.title, one.run) for one in results)]
            there = [(title, run) for title, run in runs if run is not None]
            self.findings += verdicts.of_log(
                stage.logged, there, self.scales.apart, self.scales.weight
            )
        return Results(
            stage.source,
            stage.robot,
            stage.job.samples * stage.timestep,
            stage.timestep,
            stage.told,
            reference,
            {} if reference is None else own_values(reference, self.scales),
            self.chaos,
            tuple(results),
            stage.logged,
            self.scales,
            by_severity(self.findings),
            uncertain=self.uncertain,
        )

    def _peer(self, name: str, folder: Path) -> Judged:
        """The runs of one simulator."""
        stage, known, why = self.stage, PEERS[name], why_not(name)
        if why is not None:
            self.findings.append(Finding("loading", "note", known.title, why))
            return Judged(name, known.title, "nothing", Failed(name, "", why, "missing"))
        stage.tell(f"simulating in {known.title}")
        runner, how = self._runner(name, folder)
        if runner is None:
            failed = Failed(name, "", "there is no file that it could load", "cannot load")
            return Judged(name, known.title, "nothing", failed)
        try:
            opened = runner.opened
            if isinstance(opened, Failed):
                return Judged(name, known.title, "nothing", opened)
            title, lost, job = f"{known.title} {opened.version}", [], replace(stage.job, peer=name)
            if stage.robot is not None:
                lost = list(dropped.of_peer(stage.robot, opened, known.title, how != ITSELF))
                self.findings += lost
                lost += dropped.of_robosim(stage.robot)
            angles = self.scales.angles | frozenset(opened.angles)
            self.scales = replace(self.scales, angles=angles)
            if opened.actuators == 0 and _actuated(stage.robot, job):
                why = f"{title} has none of the file's actuators, and is not run without them"
                mend = "let torques act in all simulators, with a --controller"
                self.findings.append(Finding("loading", "error", "the actuators", why, mend))
                return Judged(name, known.title, "nothing", Failed(name, "", why, "cannot load"))
            if job.kind == HELD and job.table.shape[1] != opened.actuators:
                # A written file, or one without a robot here, may have other actuators.
                job = replace(job, table=np.zeros((1, opened.actuators)))
            one = Beside(stage, runner, job, title, self.reference, self.scales)
            said = [found.said for found in lost if dropped.moves(found.said)]
            judged, told = one.judged(how, self.chaos, said)
            self.findings += told
            self.scales = one.scales
            return judged
        finally:
            runner.close()

    def _runner(self, name: str, folder: Path) -> tuple[Runner | None, str]:
        """A simulator with the file, or with what robosim has written of it."""
        stage, title = self.stage, PEERS[name].title
        runner = None
        if stage.said.kind != NONE:
            source = Source(str(stage.path), stage.said.kind, stage.robot, stage.said.gravity)
            runner = Runner(name, source, stage.timeout)
            if isinstance(runner.opened, Opened):
                return runner, ITSELF
            self.findings.append(cannot_load(title, runner.opened.why))
        written = None if stage.robot is None else self._written(stage.robot, name, folder)
        if written is None:
            if runner is None:
                why = f"robosim cannot write the robot for {title}, and it has no file"
                self.findings.append(Finding("loading", "error", f"the file in {title}", why))
            return runner, ITSELF
        if runner is not None:
            runner.close()
        again = Runner(name, written, stage.timeout)
        if isinstance(again.opened, Failed):
            said = f"{title} cannot load what robosim has written of the file either"
            self.findings.append(
                Finding("loading", "error", f"the file in {title}", f"{said}: {again.opened.why}")
            )
        return again, "what robosim has written of it"

    def _written(self, robot: Mechanism, name: str, folder: Path) -> Source | None:
        """The robot as robosim writes it for a simulator; None if it cannot."""
        kind = MADE if name == "mujoco" else "urdf"
        file = folder / f"robot.{'xml' if kind == MADE else kind}"
        try:
            save(robot, file)
        except RobosimError:
            return None
        return Source(str(file), kind, robot, self.stage.said.gravity)


def _actuated(robot: Mechanism | None, job: Job) -> bool:
    """Whether the file's actuators may act in a run: servos do so without controls as well."""
    if robot is None or job.kind != HELD or not robot.actuators:
        return False
    return bool(job.table.any()) or any(
        any(one.bias) or one.motor is not None for one in robot.actuators
    )


def cannot_load(title: str, why: str) -> Finding:
    return Finding(
        "loading",
        "error",
        f"the file in {title}",
        f"{title} cannot load the file: {why}",
        effects={title: why},
    )


class Beside:
    """The runs of one simulator, and the findings about them."""

    def __init__(
        self,
        stage: Stage,
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
            self.scales = scales_of(None, first, None)
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


def _beside(robot: Mechanism | None, q: Array | None) -> Array | None:
    """A start (nq,) whose coordinates differ by `OTHER_START`, but for quaternions."""
    if robot is None or q is None:
        return q
    q = q.copy()
    for begin, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
        free = joint.nq - 4 if joint.has_quaternion else joint.nq
        q[begin : begin + free] += OTHER_START
    return q
