"""A capsule pinched between two pads by forces many times its weight: the speed of its slip.

All simulators read the same MJCF file. Two pads on slides press with 20 N each on an upright
capsule of 0.1 kg with friction 0.7. Friction could hold 28 N, and the capsule weighs 1 N.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import robosim
from robosim.bench.case import Case, Setup
from robosim.bench.measure import Contender, race
from robosim.bench.report import OURS, Report
from robosim.measuring.target import Target
from robosim.simulation import Simulation

TIMESTEP, SECONDS, SETTLED = 2e-3, 5.0, 1.0  # [s]
FORCE, FRICTION = 20.0, 0.7  # [N], of each pad
LARGEST = 1e-9  # robosim's slip [m/s]
SLIP = "slip [m/s]"
MODEL = f"""<mujoco model="pinch">
  <option timestep="{TIMESTEP}"/>
  <default><geom friction="{FRICTION} 0.005 0.0001"/></default>
  <worldbody>
    <body name="left" pos="-0.03 0 0.3">
      <joint name="left" type="slide" axis="1 0 0"/>
      <geom name="left" type="box" size="0.01 0.02 0.03" mass="0.2"/>
    </body>
    <body name="right" pos="0.03 0 0.3">
      <joint name="right" type="slide" axis="-1 0 0"/>
      <geom name="right" type="box" size="0.01 0.02 0.03" mass="0.2"/>
    </body>
    <body name="capsule" pos="0 0 0.3">
      <freejoint name="capsule"/>
      <geom name="capsule" type="capsule" size="0.02 0.02" mass="0.1"/>
    </body>
  </worldbody>
  <actuator>
    <motor name="left" joint="left"/>
    <motor name="right" joint="right"/>
  </actuator>
</mujoco>
"""
# Settings of MuJoCo by name; the first are its defaults.
THEIRS: dict[str, dict[str, Any]] = {
    "default": {},
    "elliptic cone": {"cone": 1},
    "elliptic cone, impratio 10": {"cone": 1, "impratio": 10.0},
    "elliptic cone, impratio 10, noslip_iterations 10": {
        "cone": 1,
        "impratio": 10.0,
        "noslip_iterations": 10,
    },
}


def run_pinch(setup: Setup) -> Report:
    """The slip of the capsule in four seconds, after the grip has settled."""
    rows = list(setup.missing("mujoco"))
    steps = setup.choose(round(SECONDS / TIMESTEP), round(1.5 / TIMESTEP))
    setup.note("robosim")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pinch.xml"
        file.write_text(MODEL, encoding="utf-8")
        mine, slip = _ours(file, steps)
        contenders = [mine]
        for told, settings in THEIRS.items() if setup.has("mujoco") else ():
            setup.note(f"MuJoCo, {told}")
            contenders.append(_theirs(file, steps, told, settings))
    rows += race(contenders, setup.repetitions)
    return Report(tuple(rows), (Target("robosim's slip", slip, LARGEST, "m/s"),))


def slip_of(height: Callable[[], float], run: Callable[[int], Any], steps: int) -> float:
    """The mean speed [m/s] at which the gripped capsule sinks."""
    first = round(SETTLED / TIMESTEP)
    run(first)
    begin = height()
    run(steps - first)
    return abs(begin - height()) / ((steps - first) * TIMESTEP)


def _ours(file: Path, steps: int) -> tuple[Contender, float]:
    robot = robosim.load(file, self_collision=True)
    sim, tau = Simulation(robot, TIMESTEP), np.full(robot.nu, FORCE)

    def pushed(sim: Simulation) -> Any:
        return tau

    def run(count: int) -> bool:
        for _ in sim.stream(count * TIMESTEP, pushed, count, count):
            pass
        return True

    slip = slip_of(lambda: float(sim.frame("capsule")[0][2]), run, steps)
    return Contender(OURS, "", 100, lambda: run(100), errors={SLIP: slip}), slip


def _theirs(file: Path, steps: int, told: str, settings: dict[str, Any]) -> Contender:
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(file))
    for name, value in settings.items():
        setattr(model.opt, name, value)
    data = mujoco.MjData(model)
    data.ctrl[:] = FORCE

    def run(count: int) -> bool:
        mujoco.mj_step(model, data, count)
        return bool(np.isfinite(data.qpos).all())

    slip = slip_of(lambda: float(data.body("capsule").xpos[2]), run, steps)
    version = f"MuJoCo {mujoco.__version__}"
    return Contender("MuJoCo", told, 100, lambda: run(100), errors={SLIP: slip}, note=version)


CASES = (
    Case("pinch", "a capsule pinched between two pads: how fast it slips", ("mujoco",), run_pinch),
)
