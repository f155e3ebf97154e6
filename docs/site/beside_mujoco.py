"""The three moving pictures of README: MuJoCo above robosim, from real runs of both.

    python docs/site/beside_mujoco.py

Runs examples/beside_mujoco, whose states of both simulators are drawn by robosim's drawer, and
writes animated WebP files for light and dark pages to docs/images/beside_mujoco.
"""

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import robosim
from robosim.viz import Camera
from robosim.viz.drawing import Drawer

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/images/beside_mujoco"
WIDTH, HEIGHT, BAND = 540, 280, 64  # pixels of a drawing, and of the words above it
NEAR = 116  # pixels of an inset
FPS = 15  # of the pictures
INKS = {"": ((31, 35, 40), (255, 255, 255)), "-dark": ((230, 237, 243), (13, 17, 23))}
BAD = (207, 34, 46)
COLOURS = {"": (BAD, (26, 127, 55)), "-dark": ((255, 123, 114), (86, 211, 100))}
LARGEST = 1_500_000  # bytes of a file


class Scene(NamedTuple):
    """What is drawn of an example.

    Attributes
    ----------
    words : str
        What the number is, for a millimetre.
    camera : Camera
    begin, end : float [s]
        The part of the run that is shown.
    speed : float
        Simulated time per time of the picture.
    of_mujoco, of_robosim : functions of MuJoCo's data, and of the simulation
        The error [m], whose largest value so far is shown.
    load : dict
        Options of `robosim.load`.
    near : Camera, optional
        What is shown once more, in a corner, with a cross where it looks.
    """

    words: str
    camera: Camera
    begin: float
    end: float
    speed: float
    of_mujoco: Callable[[Any], float]
    of_robosim: Callable[[Any], float]
    load: dict[str, Any]
    near: Camera | None = None


SCENES = {
    "grasp": Scene(
        "creeps", Camera.looking((0.07, -0.3, 0.05), (0.0, 0.0, -0.012)), 0.0, 5.0, 1.25,
        lambda data: -data.qpos[4], lambda sim: -sim.q[4],
        {"ground": False, "self_collision": True},
    ),
    "four_bar": Scene(
        "opens", Camera.looking((0.45, -1.5, 0.16), (0.45, 0.0, 0.14)), 0.0, 0.8, 0.2,
        lambda data: float(np.linalg.norm(np.subtract(*data.site_xpos))),
        lambda sim: sim.constraint_violation(), {"ground": False},
        Camera.looking((0.8, -0.4, 0.0), (0.8, 0.0, 0.0), fov=0.32),
    ),
    "cube": Scene(
        "sinks in", Camera.looking((0.05, -0.72, 0.08), (0.0, -0.2, 0.05)), 0.2, 0.5, 0.07,
        lambda data: 0.25 - data.qpos[2], lambda sim: 0.25 - sim.q[2], {},
    ),
}  # fmt: skip

# Time, x (nb, 3), q (nb, 4), and the largest error so far.
State = tuple[float, np.ndarray, np.ndarray, float]


def states(scene: Scene, run: Iterator[Any]) -> list[State]:
    """The states of a run, of either simulator, in robosim's order of bodies."""
    found: list[State] = []
    largest = 0.0
    for one in run:
        ours = isinstance(one, robosim.Simulation)
        largest = max(largest, (scene.of_robosim if ours else scene.of_mujoco)(one))
        if ours:
            found.append((one.time, np.array(one.state.x), np.array(one.state.q), largest))
        else:
            found.append((one.time, np.array(one.xipos[1:]), np.array(one.xquat[1:]), largest))
    return found


def millimetres(error: float) -> str:
    """An error [m] in words."""
    if error > 1e-5 or error == 0:
        return f"{1e3 * error:.1f} mm"
    return f"{1e3 * error:.0e} mm".replace("e-0", "e-")


def picture(scene: Scene, name: str, state: State, drawer: Drawer, theme: str) -> Image.Image:
    """One drawing with its words above."""
    _, x, q, error = state
    ink, paper = INKS[theme]
    made = Image.new("RGB", (WIDTH, HEIGHT + BAND), paper)
    made.paste(Image.fromarray(drawer.draw(x, q, scene.camera)), (0, BAND))
    pen = ImageDraw.Draw(made)
    if scene.near is not None:
        whole = Image.fromarray(drawer.draw(x, q, scene.near))
        left = (WIDTH - HEIGHT) // 2
        near = whole.crop((left, 0, left + HEIGHT, HEIGHT)).resize((NEAR, NEAR))
        cross, middle = ImageDraw.Draw(near), NEAR // 2
        cross.line((middle, 0, middle, NEAR), fill=BAD, width=2)
        cross.line((0, middle, NEAR, middle), fill=BAD, width=2)
        made.paste(near, (8, BAND + 8))
        pen.rectangle((7, BAND + 7, 8 + NEAR, BAND + 8 + NEAR), outline=ink, width=2)
    large = ImageFont.load_default(34)
    pen.text((8, 10), name, fill=ink, font=large)
    told = f"{scene.words} {millimetres(error)}"
    bad, good = COLOURS[theme]
    colour = ink if error == 0 else bad if error > 1e-5 else good
    pen.text((WIDTH - 8 - large.getlength(told), 10), told, fill=colour, font=large)
    return made


def moving(name: str) -> None:
    """Write the pictures of a scene, for both themes."""
    scene = SCENES[name]
    found = runpy.run_path(str(ROOT / f"examples/beside_mujoco/{name}.py"))
    robot = robosim.load(found["FILE"], **scene.load)
    runs = {
        "MuJoCo": states(scene, found["in_mujoco"]()),
        "robosim": states(scene, found["in_robosim"]()),
    }
    drawer = Drawer(robot, WIDTH, HEIGHT)
    count = round((scene.end - scene.begin) / scene.speed * FPS)
    moments = scene.begin + (scene.end - scene.begin) * np.arange(1, count + 1) / count
    for theme in INKS:
        frames = []
        for moment in moments:
            both = [
                picture(scene, who, run[int(np.searchsorted([s[0] for s in run], moment - 1e-9))],
                        drawer, theme)
                for who, run in runs.items()
            ]  # fmt: skip
            whole = Image.new("RGB", (WIDTH, 2 * (HEIGHT + BAND)))
            for k, half in enumerate(both):
                whole.paste(half, (0, k * (HEIGHT + BAND)))
            frames.append(whole)
        durations = [round(1000 / FPS)] * (count - 1) + [1500]
        path = FOLDER / f"{name}{theme}.webp"
        frames[0].save(
            path, save_all=True, append_images=frames[1:], duration=durations, loop=0,
            quality=72, method=4,
        )  # fmt: skip
        size = path.stat().st_size
        assert size < LARGEST, f"{path.name} has {size} bytes"
        print(f"{path.relative_to(ROOT)}: {count} pictures, {size / 1e3:.0f} kB")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in SCENES:
        moving(name)
