"""Recordings of the gallery, and a picture of each model: made from real runs.

    python docs/site/recordings.py [NAME ...]    # those of the repository: docs/recordings
    python docs/site/recordings.py --robots      # robots of example-robot-data, for this site alone

The repository keeps what the pages show, some tens of kB of poses each, and pictures of the models
that ship. The site's hooks make pages of them, whose common script lies beside them. Robots of
others have meshes that are not ours: they are drawn by their collision shapes, into build/robots,
where the hooks find them if they are there.
"""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from robosim.errors import ConvergenceError, RobosimError

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "docs/recordings"
THUMBNAILS = ROOT / "docs/images/models"
ROBOTS = ROOT / "build/robots"
SECONDS = 3.0
FPS = 25.0
LATER = 0.5  # [s] from the start to the picture of a model, which hangs down at home
EXACT = 0xFFFFFC00  # bits of a float32 that are kept: 13 of its mantissa, 1e-4 of a number
SMALL = 160, 100  # pixels of a model's picture
LARGEST = 300_000  # bytes of a recording in the repository
LARGEST_OF_OTHERS = 1_500_000


def compressed(recorder: Any, path: Path) -> None:
    """Write what a page shows of a recording, the same bytes for the same run."""
    from robosim.viz.scene import encode_scene

    frames = np.frombuffer(b"".join(recorder.frames()), "<u4") & np.uint32(EXACT)
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in {
            "name": recorder.robot.name.encode(),
            "scene": encode_scene(recorder.robot, ground=recorder.ground),
            "frames": frames.tobytes(),
        }.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, content, compresslevel=9)


def pages(folder: Path) -> dict[str, str | bytes]:
    """The pages of recordings that lie in a folder, by their names, and the script of all."""
    from robosim.viz.page import bundle, replay_page

    script, made = bundle(), dict[str, str | bytes]()
    for path in sorted(folder.glob("*.zip")):
        with zipfile.ZipFile(path) as file:
            data = {name: file.read(name) for name in ("scene", "frames")}
            title = f"{file.read('name').decode()} - robosim"
        page = replay_page(title, data)
        # All pages share this script: a browser reads its 0.7 MB once.
        assert page.count(script) == 1
        page = page.replace(f"<script>\n{script}\n</script>", '<script src="viewer.js"></script>')
        page = page.replace("script-src 'unsafe-inline'", "script-src 'self' 'unsafe-inline'", 1)
        made[f"{path.stem}.html"] = page
    return {**made, "viewer.js": script} if made else {}


def recorded(sim: Any, controller: Any = None, seconds: float = SECONDS) -> Any:
    """The recording of a run, which ends where a step fails."""
    from robosim.viz import Recorder, live

    recorder = Recorder(sim.robot, FPS)
    with suppress(ConvergenceError):
        live(sim, controller, seconds, None, recorder, fps=FPS, speed=float("inf"))
    return recorder


def moving(robot: Any, timestep: float = 1e-3) -> tuple[Any, Any]:
    """A simulation of any robot in which something moves, and its controller.

    Robots with legs and motors stand, after a small drop; all others begin with some velocity.
    """
    import robosim

    options = {"massless": "lock", "impossible_inertia": "ball"}
    sim = robosim.Simulation(robot, timestep, **options)
    q = np.array(robot.home, dtype=float)
    if robot.floating_base and robot.nu and robot.contacts:
        sim.place(q, gap=0.05)
        return sim, "stand"
    rates = np.random.default_rng(0).uniform(-1.5, 1.5, robot.nv)
    if robot.floating_base:
        q[2] += 0.5
        rates = np.concatenate(([0.3, 0.0, 0.0, 2.0, 1.0, 0.5], 0.0 * rates[6:]))
    if robot.name not in STARTED:
        sim.set_state(q, rates)
    return sim, "zero"


STARTED = ("spinning_top", "hanging_net", "sphere_chain")  # whose home moves by itself


def save(
    start: tuple[Any, Any], page: Path, thumbnail: Path | None, largest: int = LARGEST
) -> None:
    """Write the recording of a run, and the picture of its robot."""
    from cutouts import cutout
    from cutouts import save as save_picture

    sim, controller = start
    if thumbnail is not None:
        later = sim.copy()
        with suppress(RobosimError):  # it is then drawn where it has come to
            later.run(LATER, controller)
        save_picture(cutout(later, SMALL), thumbnail)
    compressed(recorded(sim, controller), page)
    size = page.stat().st_size
    print(f"{page.relative_to(ROOT)}: {size / 1000:.0f} kB", flush=True)
    if size > largest:
        page.unlink()
        print(f"{page.name} is too large, and left out")


def models(names: Sequence[str]) -> None:
    """The scenes of the gallery, and the models that ship."""
    from gallery import OF_OTHERS
    from pictures import SCENES

    import robosim
    from robosim.models import shipped

    for name, make in SCENES.items():
        if (not names or name in names) and name not in OF_OTHERS:
            run = make()
            save((run.sim, run.controller), KEPT / f"{name}.zip", None)
    for one in shipped():
        if not names or one.name in names:
            robot = robosim.load(one.name, **({"contacts": "feet"} if one.name == "a1" else {}))
            page = KEPT / f"model-{one.name}.zip"
            save(moving(robot), page, THUMBNAILS / f"{one.name}.png")


def robots() -> None:
    """Robots of example-robot-data, drawn by their collision shapes."""
    import robosim
    from robosim.loaders import available

    for one in available():
        if not one.origin.startswith("example-robot-data"):
            continue
        name = one.name.replace("_description", "").replace("/", "-")
        try:
            robot = robosim.load(one.name, contacts="feet")
            if robot.floating_base and not robot.contacts:
                robot = robosim.load(one.name, contacts="all")
            bodies = [replace(body, visuals=body.collisions) for body in robot.bodies]
            robot = replace(robot, bodies=tuple(bodies))
            page, thumbnail = ROBOTS / f"robot-{name}.zip", ROBOTS / f"{name}.png"
            save(moving(robot, 2e-3), page, thumbnail, LARGEST_OF_OTHERS)
        except RobosimError as error:
            print(f"{one.name}: left out ({str(error)[:100]})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="of scenes or models; all")
    parser.add_argument("--robots", action="store_true", help="robots of example-robot-data")
    options = parser.parse_args()
    robots() if options.robots else models(options.names)


if __name__ == "__main__":
    main()
