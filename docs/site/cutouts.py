"""Pictures of mechanisms without ground and sky, for light pages and for dark ones.

python docs/site/cutouts.py        # those of robosim demo, into viz/web/pictures
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from robosim.cli.scenes import SCENES
from robosim.viz.drawing import Drawer

FOLDER = Path(__file__).parents[2] / "viz/web/pictures"
SIZE = 240, 150  # pixels
MARGIN = 6
FINER = 6
COLOURS = 48
SECONDS = {"grasp": 1.7, "heap": 1.3, "net": 0.6, "segments": 0.7, "trot": 0.4}


def cutout(sim: Any, size: tuple[int, int] = SIZE) -> Image.Image:
    """The present state of a simulation, without what is around it, as large as it fits."""
    drawer = Drawer(sim.robot, *(FINER * n for n in size), ground=False, shadows=False)
    shown = np.isfinite(drawer.picture(sim, what="depth"))
    whole = np.dstack((drawer.picture(sim), np.where(shown, 255, 0).astype(np.uint8)))
    image = Image.fromarray(whole).crop(Image.fromarray(shown).getbbox())
    scale = min((n - 2 * MARGIN) / m for n, m in zip(size, image.size, strict=True))
    width, height = (max(round(scale * m), 1) for m in image.size)
    # With colours that are weighted, so that nothing of the sky is mixed in at edges.
    small = image.convert("RGBa").resize((width, height), Image.Resampling.BOX).convert("RGBA")
    made = Image.new("RGBA", size)
    made.paste(small, ((size[0] - width) // 2, (size[1] - height) // 2))
    return made


def save(image: Image.Image, path: Path) -> None:
    """Write a picture, small."""
    path.parent.mkdir(parents=True, exist_ok=True)
    method = Image.Quantize.FASTOCTREE  # the one that takes transparency
    image.quantize(COLOURS, method=method).save(path, optimize=True)


def main() -> None:
    for scene in SCENES:
        robot, names = scene.robot()
        sim, control = scene.start(robot, names)
        if scene.name in SECONDS:
            sim.run(SECONDS[scene.name], control)
        path = FOLDER / f"{scene.name}.png"
        save(cutout(sim), path)
        print(f"{path.name}: {path.stat().st_size} bytes", flush=True)


if __name__ == "__main__":
    main()
