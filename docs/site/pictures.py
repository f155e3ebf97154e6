"""The pictures of the gallery and of the examples' pages, made anew.

    python docs/site/pictures.py [NAME ...]

Scenes are drawn by `robosim.viz`, plots are those that the examples write. All are made small
enough to lie in the repository, below docs/images/gallery/.
"""

import io
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

import robosim
from robosim import viz
from robosim.viz.rendering import render
from robosim.viz.snapshot import snapshot

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/images/gallery"
SIZE = 720, 450  # pixels
COLOURS = 96


class Run(NamedTuple):
    """A simulation at its start, its controller, and the time of its picture [s]."""

    sim: Any
    seconds: float
    controller: Any = None


def model(
    name: str, seconds: float, controller: Any = None, q: dict[str, float] | None = None, **o: Any
) -> Run:
    """A model that ships, which starts with some of its coordinates given."""
    robot = robosim.load(name, contacts="feet") if name == "a1" else robosim.load(name)
    sim = robosim.Simulation(robot, **o)
    if q:
        start = np.array(robot.home)
        for coordinate, value in q.items():
            start[robot.q_names.index(coordinate)] = value
        sim.set_state(start)
    return Run(sim, seconds, controller)


def example(name: str, make: Callable[[dict[str, Any]], Any]) -> Any:
    """What `make` gets out of an example's own functions."""
    (file,) = ROOT.glob(f"examples/{name}*.py")
    given = sys.argv
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = [str(file), folder]
        try:
            return make(runpy.run_path(str(file)))
        finally:
            sys.argv = given


def crane() -> Run:
    """The crane of example 08, from its text."""
    text = example("08", lambda found: found["URDF"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crane.urdf"
        path.write_text(text)
        return Run(robosim.Simulation(robosim.load(path)), 0.5)


def terrain(found: dict[str, Any]) -> Run:
    return Run(robosim.Simulation(found["build"](), timestep=0.005), 1.2)


def hopper(found: dict[str, Any]) -> Run:
    sim = robosim.Simulation(found["build"]())
    q = np.array(sim.robot.home)
    q[sim.robot.q_names.index("rail.t0")] = 0.6
    sim.set_state(q)
    return Run(sim, 0.6, found["suspension"])


def lift(found: dict[str, Any]) -> Run:
    sim = robosim.Simulation(found["world"](), timestep=2e-3)
    sim.set_state([*found["angles"](0.0), *sim.q[3:]])
    return Run(sim, 2.5, found["control"])


def hop(found: dict[str, Any]) -> Run:
    return Run(robosim.Simulation(robosim.load("minitaur")), 0.5, found["Hop"]())


def panda(found: dict[str, Any]) -> Run:
    robot = found["arm"]()
    return Run(robosim.Simulation(robot), 0.4, found["ComputedTorque"](robot))


def acrobot(found: dict[str, Any]) -> Run:
    sim = robosim.Simulation(found["acrobot"](), 2e-3)
    sim.set_state([2.4, -1.0])
    return Run(sim, 0.0)


SCENES: dict[str, Callable[[], Run]] = {
    "a1": lambda: model("a1", 0.5, "stand"),
    "a1-trot": lambda: model("a1", 1.27, "trot"),
    "minitaur": lambda: example("10", hop),
    "scissor-lift": lambda: model("scissor_lift", 0.4),
    "sphere-chain": lambda: model("sphere_chain", 1.4, timestep=2e-3),
    "segments": lambda: model("segments", 0.7, timestep=5e-3),
    "slider-crank": lambda: model("slider_crank", 0.35),
    "knee-spline": lambda: model("knee_spline", 0.3),
    "exoskeleton": lambda: model("exoskeleton", 0.2),
    "spinning-top": lambda: model("spinning_top", 0.5),
    "chain": lambda: model("chain", 0.8, q={"joint1": 1.4}, timestep=5e-3),
    "crane": crane,
    "terrain": lambda: example("11", terrain),
    "hopper": lambda: example("05", hopper),
    "lift": lambda: example("14", lift),
    "panda": lambda: example("13", panda),
    "acrobot": lambda: example("23", acrobot),
}
PLOTS = {
    "stand": ("01", "stand.png"),
    "sway": ("02", "sway.png"),
    "energy": ("03", "energy.png"),
    "drop": ("04", "drop.png"),
    "loops": ("09", "loops.png"),
    "tuned": ("18", "exoskeleton.png"),
}


def scene(run: Run) -> Image.Image:
    """A picture of a run at its time."""
    run.sim.run(run.seconds, run.controller)
    recorder = viz.Recorder(run.sim.robot)
    recorder.add(**snapshot(run.sim))
    with tempfile.TemporaryDirectory() as folder:
        path = render(recorder, Path(folder) / "scene.png", size=SIZE)
        return Image.open(io.BytesIO(path.read_bytes()))


def plot(number: str, file: str) -> Image.Image:
    """What an example has drawn."""
    (script,) = ROOT.glob(f"examples/{number}*.py")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(script), folder], check=True, cwd=ROOT)
        image = Image.open(io.BytesIO((Path(folder) / file).read_bytes()))
    width = 2 * SIZE[0] - 240
    height = round(image.height * width / image.width)
    return image.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)


def main(names: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or [*SCENES, *PLOTS]:
        image = scene(SCENES[name]()) if name in SCENES else plot(*PLOTS[name])
        path = FOLDER / f"{name}.png"
        image.convert("RGB").quantize(COLOURS, kmeans=2).save(path, optimize=True)
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
