"""Pictures beside MuJoCo's renderer: the A1, and a robot with meshes; and a video."""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import robosim
from robosim.bench.case import Case, Setup
from robosim.bench.measure import Contender, race
from robosim.bench.report import OURS, Report, Row
from robosim.description.camera import Camera
from robosim.loaders.packages import example_robot_data
from robosim.measuring.target import Target
from robosim.peers.mujoco_geoms import as_geoms, moved
from robosim.simulation import Simulation
from robosim.viz import Recorder
from robosim.viz.drawing import Drawer
from robosim.viz.realtime import live
from robosim.viz.rendering import render

MUJOCO = "MuJoCo"
ROBOTS = {"A1": "a1", "A1 with meshes": "a1_description", "Go2 with meshes": "go2_description"}
LIMITS = {"rgb": 15.0, "depth": 1.0}  # [ms]
SIZES = {"rgb": (640, 480), "depth": (84, 84)}
SECONDS, LONGEST = 10.0, 15.0  # of a video, and to make it [s]
EYE, FOV = (1.2, -1.1, 0.6), math.radians(45.0)


def of_mujoco(told: str, sim: Simulation, what: str, n: int) -> tuple[Contender | None, str]:
    """MuJoCo's renderer of the same shapes at the same pose, or why there is none."""
    os.environ.setdefault("MUJOCO_GL", "egl")
    import mujoco

    width, height = SIZES[what]
    robot, model = as_geoms(mujoco, sim.robot, "visuals", lit=True)
    data = moved(mujoco, model, robot, sim.q)
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    camera.lookat, camera.distance = sim.state.x[0], float(np.linalg.norm(EYE))
    camera.azimuth, camera.elevation = 137.5, -20.0
    try:
        renderer = mujoco.Renderer(model, height, width)
    except Exception as error:  # whatever the display's library raises
        return None, f"MuJoCo's renderer does not start here ({type(error).__name__})"
    if what == "depth":
        renderer.enable_depth_rendering()

    def run() -> bool:
        for _ in range(n):
            renderer.update_scene(data, camera)
            renderer.render()
        return True

    return Contender(MUJOCO, told, n, run), ""


def pictures(setup: Setup, told: str, name: str, what: str) -> tuple[list[Row], Target]:
    """Pictures of a robot that stands, from the same place."""
    robot = robosim.load(name)
    sim = Simulation(robot)
    sim.place()
    n, (width, height) = setup.choose(20, 3), SIZES[what]
    drawer = Drawer(robot, width, height)
    base = sim.state.x[0]
    camera = Camera.looking(base + EYE, base, fov=FOV)
    size = f"{told}, {width} x {height}, {what}"

    def run() -> bool:
        for _ in range(n):
            drawer.picture(sim, camera, what)
        return True

    contenders, note = [Contender(OURS, size, n, run)], ""
    if setup.has("mujoco"):
        theirs, note = of_mujoco(size, sim, what, n)
        contenders += [] if theirs is None else [theirs]
    rows = list(race(contenders, setup.repetitions))
    if note:
        rows.append(Row(MUJOCO, size, None, note=note))
    assert rows[0].timing is not None
    milliseconds = 1e-3 * float(np.median(rows[0].timing.wall))
    return rows, Target(f"{size}: a picture", milliseconds, LIMITS[what], "ms")


def video(setup: Setup) -> tuple[Row, Target]:
    """A video of an A1 that stands up, 960 x 540 at 30 pictures a second."""
    robot, seconds = robosim.load("a1"), setup.choose(SECONDS, 0.2)
    sim, recorder = Simulation(robot), Recorder(robot)
    sim.place()
    live(sim, "stand", seconds=seconds, recorder=recorder, speed=math.inf)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.mp4"

        def run() -> bool:
            render(recorder, file)
            return True

        told = f"a video of {seconds:g} s, 960 x 540"
        (row,) = race([Contender(OURS, told, 1, run)], 1)
    assert row.timing is not None
    share = SECONDS / seconds
    taken = 1e-6 * share * float(np.median(row.timing.wall))
    return row, Target(f"a video of {SECONDS:g} s", taken, LONGEST, "s")


def run_pictures(setup: Setup) -> Report:
    """Pictures of standing robots, and a video."""
    rows: list[Row] = list(setup.missing("mujoco"))
    targets: list[Target] = []
    for told, name in ROBOTS.items():
        if name != "a1" and example_robot_data() is None:
            continue
        for what in SIZES:
            setup.note(f"{told}, {what}")
            found, target = pictures(setup, told, name, what)
            rows += found
            targets.append(target)
    setup.note("a video")
    row, target = video(setup)
    return Report((*rows, row), (*targets, target))


CASES: tuple[Any, ...] = (
    Case(
        "pictures",
        "pictures of A1 and Go2 beside MuJoCo's renderer, and a video of 10 s",
        ("mujoco",),
        run_pictures,
    ),
)
