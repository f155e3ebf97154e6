"""Times of chains that a single joint closes to a loop ([Bruedigam2020, Fig. 5b])."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.experiments.chains import BENT, DT, KINDS
from robosim.experiments.drawing import COLOURS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.runs import exponent, largest, sample, shortest_us, stepper
from robosim.measuring.target import Target
from robosim.models.builders import chain
from robosim.peers.mujoco_run import LABELS, MuJoCoRun, Settings, said
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = {"revolute": "o-", "spherical": "s--"}
PEERS = {
    "mujoco_default": Settings(),
    "mujoco_best": Settings("discrete", solref=(0.01, 1.0)),
}


def ring(n: int, kind: str) -> Mechanism:
    """A chain of n rods of 1 m between pivots 1 m apart; at home, a regular polygon hangs down."""
    open_chain = chain(n, kind)
    end = -np.asarray(open_chain.joints[-1].child_position)
    closing = replace(
        open_chain.joints[-1], name="closing", parent=None, parent_position=(1.0, 0.0, 0.0),
        child_position=tuple(end),
    )  # fmt: skip
    turn = 2.0 * np.pi / (n + 1)
    angles = np.full(n, -turn)
    angles[0] += np.pi / 2
    home = angles
    if kind == "spherical":
        none = np.zeros(n)
        home = np.stack((np.cos(angles / 2), none, np.sin(angles / 2), none), axis=1).ravel()
    joints = (*open_chain.joints, closing)
    return replace(open_chain, name="ring", joints=joints, home=tuple(home))


def _again(sim: Simulation, steps: int) -> Callable[[], bool]:
    """Takes the same steps at each call, from home on."""
    take, home = stepper(sim, steps), np.asarray(sim.robot.home)

    def take_again() -> bool:
        sim.set_state(home)
        return take()

    return take_again


def run_rings(setup: Setup) -> Result:
    """[Bruedigam2020, Fig. 5b]: 1000 steps of n links in a loop."""
    counts = setup.choose((4, 5, 10, 20, 50, 100), (4, 20, 40))
    steps, rounds = setup.choose((1000, 3), (50, 2))
    long = np.array(counts) >= BENT
    ours: dict[str, Any] = {"n": counts}
    peers: dict[str, Any] = {key: {"settings": s.told(), "n": counts} for key, s in PEERS.items()}
    targets = []
    sentences = []
    for kind, name in KINDS.items():
        closures, failures, energies, iterations, sims = [], 0, [], [], []
        for n in counts:
            setup.note(f"{n} links on {name}")
            sim = Simulation(ring(n, kind), timestep=DT)
            run = sample(sim, steps * DT, steps, sim.energy)
            closures.append(run.violation)
            iterations.append(run.iterations)
            energies.append(run.values[0][-1] - run.values[0][0])
            failures += bool(run.failure)
            sims.append(sim)
        ours[f"us_{kind}"] = shortest_us([_again(sim, steps) for sim in sims], steps, rounds)
        ours[f"closure_m_{kind}"] = closures
        ours[f"iterations_mean_{kind}"] = iterations
        ours[f"energy_gained_J_{kind}"] = energies
        us = np.array(ours[f"us_{kind}"])[long]
        power = ours[f"exponent_{kind}"] = exponent(np.array(counts)[long], us)
        single = exponent(np.array(counts)[long], us / np.array(iterations)[long])
        ours[f"exponent_of_an_iteration_{kind}"] = single
        targets += [
            Target(f"{name}: loops with a failed step", failures, 0),
            Target(f"{name}: closure", largest(closures), 1e-9, "m"),
            Target(f"{name}: exponent of time over n, from n = {BENT} on", power, 1.15),
            Target(f"{name}: the same of an iteration's time", single, 1.15),
        ]
        sentences.append(
            f"loops on {name} stay closed to {largest(closures):.1e} m, and the time of a step "
            f"grows as n^{power:.2f} to {ours[f'us_{kind}'][-1]:.0f} us at n = {counts[-1]} "
            f"(of an iteration as n^{single:.2f}; {iterations[0]:.1f} iterations a step at "
            f"n = {counts[0]}, {iterations[-1]:.1f} at {counts[-1]})"
        )
        for key, chosen in PEERS.items() if setup.mujoco else ():
            setup.note(f"{name}, {LABELS[key]}")
            row = peers[key]
            row[f"us_{kind}"], row[f"closure_m_{kind}"] = [], []
            for sim in sims:
                peer = MuJoCoRun(sim.robot, DT, chosen)
                peer.set_state(np.asarray(sim.robot.home))
                _, (closure,) = peer.sample(steps, 1, peer.closure)
                lost = peer.failed_at is not None
                row[f"closure_m_{kind}"].append(None if lost else largest(closure))
                timed = MuJoCoRun(sim.robot, DT, chosen)
                timed.set_state(np.asarray(sim.robot.home))
                row[f"us_{kind}"] += shortest_us([partial(timed.step, steps)], steps, 1)
    sentence = "; ".join(sentences)
    for key, row in peers.items() if setup.mujoco else ():
        for kind, name in KINDS.items():
            kept = [error for error in row[f"closure_m_{kind}"] if error is not None]
            sentence += (
                f"; {said(key, row['settings'])} loses {len(counts) - len(kept)} of "
                f"{len(counts)} loops on {name}"
            )
            sentence += f", and opens the others by up to {max(kept):.1e} m" if kept else ""

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        for key, row in ({"ours": ours} | (peers if setup.mujoco else {})).items():
            label = "robosim" if key == "ours" else LABELS[key]
            for kind, name in KINDS.items():
                for ax, what in zip(axes, ("us", "closure_m"), strict=True):
                    y = np.array(row[f"{what}_{kind}"], dtype=float)
                    ax.loglog(counts, y, STYLES[kind], color=COLOURS[key], label=f"{label}, {name}")
        finish(axes[0], "links", "time of a step [us]")
        finish(axes[1], "links", "closure error [m]")

    return Result(
        {
            "timestep_s": DT,
            "steps": steps,
            "links": "rods of 1 m and 1 kg, pivots 1 m apart",
            "start": "at rest, a regular polygon below its fixed side",
            "time": f"shortest CPU time of {rounds} repetitions of the same {steps} steps",
        },
        ours,
        peers if setup.mujoco else {},
        tuple(targets),
        sentence[0].upper() + sentence[1:] + ".",
        draw,
    )


RINGS = Experiment(
    ("wafr5b",),
    "time of a step of chains that are closed to a loop",
    "closed to 1e-9 m, time linear in n, with hinges and with balls, n = 4 to 100",
    run_rings,
)
