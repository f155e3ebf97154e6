"""Golden motions: where twenty models are after a second, for each release.

    python -m benchmarks.goldens          compares this commit with the motions that are kept
    python -m benchmarks.goldens --write  keeps the motions of this commit

On a machine like the one that wrote them, with the same numba, motions have the same bits. On
others they agree to `CLOSE`: no model here is chaotic within a second. If a change alters a motion
on purpose, write the motions anew, and say so in CHANGELOG under "Results that change".
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite.binding import get_host_cpu_features

import robosim
from robosim.minimal import MinimalSimulation
from robosim.reduced import ReducedSimulation
from robosim.simulation import Simulation

FILE = Path(__file__).parent / "goldens" / "motions.json"
CLOSE = 1e-9  # by the size of the largest coordinate or velocity, at least 1
SECONDS, TIMESTEP = 1.0, 1e-3
PUSH = 0.3  # of every coordinate that has no limits, at the start [rad or m]


class Golden(NamedTuple):
    """A motion: a model, and how it is simulated."""

    model: str
    controller: str | None = None
    formulation: type = Simulation
    options: dict[str, Any] = {}  # noqa: RUF012
    lifted: float = 0.0  # [m], of what falls


MOTIONS = {
    "a1 stands": Golden("a1", "stand"),
    "a1 trots": Golden("a1", "trot"),
    "a1 at an accuracy": Golden("a1", "stand", options={"accuracy": 1e-3}),
    "cube falls": Golden("cube", lifted=0.2),
    "sphere falls": Golden("sphere", lifted=0.2),
    "pendulum": Golden("pendulum"),
    "double pendulum": Golden("double_pendulum"),
    "chain": Golden("chain"),
    "chain, joint coordinates": Golden("chain", formulation=MinimalSimulation),
    "chain, REDMAX": Golden("chain", formulation=ReducedSimulation),
    "universal chain": Golden("universal_chain"),
    "sphere chain": Golden("sphere_chain"),
    "three-link loop": Golden("three_link_loop"),
    "segments": Golden("segments"),
    "slider-crank": Golden("slider_crank"),
    "scissor lift": Golden("scissor_lift"),
    "screw": Golden("screw"),
    "knee spline": Golden("knee_spline"),
    "arm with muscles": Golden("arm_with_muscles"),
    "drawer": Golden("drawer"),
    "flywheel": Golden("flywheel"),
    "hanging net": Golden("hanging_net"),
    "spinning top": Golden("spinning_top"),
    "minitaur stands": Golden("minitaur", "stand"),
    "exoskeleton": Golden("exoskeleton"),
    "free body": Golden("free_body"),
}


def motion(golden: Golden, nudge: float = 0.0) -> list[float]:
    """The coordinates and velocities at the end; the start is off by a nudge [rad or m]."""
    robot = robosim.load(golden.model)
    sim = golden.formulation(robot, timestep=TIMESTEP, **golden.options)
    q = np.array(robot.home)
    if golden.lifted:
        q[2] += golden.lifted
    elif golden.controller is None and not robot.loop_joints:
        for joint, begin in zip(robot.tree_joints, robot.q_offsets, strict=False):
            free = np.isinf(np.array(joint.lower, dtype=float))
            if not joint.has_quaternion and free.all():
                q[begin : begin + joint.nq] += PUSH
    q[0] += nudge
    v = np.zeros(robot.nv)
    if golden.model in ("spinning_top", "free_body", "flywheel"):
        v[-3:] = (1.0, 2.0, 20.0)[-min(3, robot.nv) :]
    sim.set_state(q, v)
    sim.run(SECONDS, golden.controller)
    return [*map(float, sim.q), *map(float, sim.v)]


def machine() -> str:
    """What the bits of a motion depend on: the processor's features, numba, and its checks."""
    features = sorted(name for name, there in get_host_cpu_features().items() if there)
    checked = f"bounds {numba.config.BOUNDSCHECK}"
    text = " ".join((platform.machine(), numba.__version__, checked, *features))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def apart(found: list[float], kept: list[float]) -> float:
    """The largest difference, by the largest of the kept numbers, at least 1."""
    if len(found) != len(kept):
        return np.inf
    a, b = np.array(found), np.array(kept)
    return float(np.abs(a - b).max() / max(1.0, np.abs(b).max()))


def kept() -> dict[str, Any]:
    """What has been written: the machine, and of each motion its numbers."""
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    for numbers in content["motions"].values():
        numbers[:] = map(float.fromhex, numbers)
    return content


def write() -> None:
    """Keep the motions of this commit."""
    FILE.parent.mkdir(exist_ok=True)
    motions = {name: [x.hex() for x in motion(golden)] for name, golden in MOTIONS.items()}
    content = {"robosim": robosim.__version__, "machine": machine(), "motions": motions}
    FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="keep the motions of this commit")
    if parser.parse_args().write:
        write()
        return
    before = kept()
    same = before["machine"] == machine()
    for name, golden in MOTIONS.items():
        found, numbers = motion(golden), before["motions"].get(name)
        if numbers is None:
            print(f"{name}: new")
        elif found == numbers:
            print(f"{name}: the same bits")
        else:
            told = "" if same else " (bits are not compared: another machine or numba)"
            print(f"{name}: differs by {apart(found, numbers):.1e}{told}")


if __name__ == "__main__":
    main()
