"""The gallery: pictures that docs/site/pictures.py has drawn, and what each shows.

A picture of a mechanism leads to its recording, which plays in the browser, and turns when it is
touched. `docs/site/recordings.py` has made it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

RECORDINGS = Path(__file__).parents[1] / "recordings"
ROBOTS = Path(__file__).parents[2] / "build/robots"


class Picture(NamedTuple):
    """A picture, what it shows, and the page that says how it came about."""

    file: str  # below docs/images
    title: str
    text: str
    page: str  # from the gallery's page
    examples: tuple[str, ...] = ()  # numbers of those whose pages show it
    model: str = ""  # of which a plot is

    def recording(self) -> str | None:
        """The name of the recording of what is shown, if there is one."""
        name = f"model-{self.model}" if self.model else Path(self.file).stem
        name = OF_OTHERS.get(name, name)
        there = any((folder / f"{name}.zip").is_file() for folder in (RECORDINGS, ROBOTS))
        return name if there else None


# Scenes with meshes of others, which are not kept; what `recordings.py --robots` makes instead.
OF_OTHERS = {"panda": "robot-panda-panda"}
PICTURES = (
    Picture("gallery/a1.png", "Unitree A1", "standing on hard contacts", "mechanisms.md"),
    Picture("gallery/a1-trot.png", "Trot", "the compiled gait", "learning.md", ("17", "22")),
    Picture("gallery/minitaur.png", "Minitaur", "a hop on closed legs", "examples/10_minitaur.md",
            ("10",)),
    Picture("gallery/lift.png", "Grasp", "a cube held by friction", "examples/14_lift_a_cube.md",
            ("14",)),
    Picture("gallery/panda.png", "Panda", "computed torque at 1 kHz",
            "examples/13_computed_torque.md", ("13",)),
    Picture("gallery/terrain.png", "Terrain", "boxes on a table, a ball on hills",
            "examples/11_terrain.md", ("11",)),
    Picture("gallery/scissor-lift.png", "Scissor lift", "four closed loops", "mechanisms.md"),
    Picture("gallery/segments.png", "Rhombi", "three loops in a chain", "mechanisms.md"),
    Picture("gallery/slider-crank.png", "Slider-crank", "a loop with a slide", "mechanisms.md"),
    Picture("gallery/exoskeleton.png", "Exoskeleton", "an arm in cuffs on springs",
            "examples/18_exoskeleton.md"),
    Picture("gallery/knee-spline.png", "Spline knee", "a joint that rolls and slides",
            "building.md"),
    Picture("gallery/sphere-chain.png", "Chain of balls", "ball joints over the ground",
            "mechanisms.md"),
    Picture("gallery/chain.png", "Chain", "ten rods on hinges", "mechanisms.md"),
    Picture("gallery/spinning-top.png", "Top", "with its tip on a ball joint", "mechanisms.md"),
    Picture("gallery/crane.png", "Crane", "a URDF of twenty lines",
            "examples/08_your_own_urdf.md", ("08",)),
    Picture("gallery/hopper.png", "Hopper", "built in Python",
            "examples/05_build_a_mechanism.md", ("05",)),
    Picture("gallery/acrobot.png", "Acrobot", "swung up by iLQR", "examples/23_swing_up.md",
            ("23",)),
    Picture("gallery/stand.png", "A log of the A1", "joints, torques, base and feet",
            "logging.md", ("01",), "a1"),
    Picture("gallery/energy.png", "Energy", "ten minutes of a double pendulum",
            "examples/03_double_pendulum_energy.md", ("03",), "double_pendulum"),
    Picture("gallery/drop.png", "Drop", "a cube lands without penetration",
            "examples/04_drop_cube.md", ("04",), "cube"),
    Picture("gallery/loops.png", "Loops", "closed through singular poses",
            "examples/09_closed_loops.md", ("09",), "double_four_bar"),
    Picture("gallery/tuned.png", "Tuned gains", "an exoskeleton within its limit",
            "examples/18_exoskeleton.md", ("18",), "exoskeleton"),
    Picture("gallery/sway.png", "A controller", "reads joint coordinates, returns torques",
            "examples/02_controller.md", ("02",), "a1"),
    Picture("viewer-light.png", "Live view", "panel, charts, forces", "viewing.md", ("07",), "a1"),
    Picture("viewer-dark.png", "Live view", "the same in the dark", "viewing.md", (), "a1"),
    Picture("precision.png", "Precision", "error against time, with MuJoCo", "reproducing.md"),
    Picture("ppo-a1.png", "PPO", "the A1 learns to walk", "environments.md", ("20", "21")),
)  # fmt: skip


def of_example(number: str) -> str | None:
    """The picture on the page of an example, by its number."""
    return next((one.file for one in PICTURES if number in one.examples), None)


def _card(one: Picture) -> str:
    recording = one.recording()
    target = one.page if recording is None else f"recordings/{recording}.html"
    return (
        f"-   [![{one.title}](images/{one.file}){{ loading=lazy }}]({target})\n\n"
        f"    **[{one.title}]({one.page})**: {one.text}\n"
    )


def _small(name: str, picture: str, recording: str) -> str:
    """A small picture and a name, both of which lead to a recording."""
    link = f"recordings/{recording}.html"
    return f"-   [![]({picture}){{ loading=lazy }}<br>`{name}`]({link})\n"


def models() -> str:
    """All models that ship, and the robots of others if there are recordings of them."""
    names = [path.stem.removeprefix("model-") for path in sorted(RECORDINGS.glob("model-*.zip"))]
    cards = [_small(name, f"images/models/{name}.png", f"model-{name}") for name in names]
    parts = ["## Models that ship", "`robosim view NAME` shows each of them live.", _grid(cards)]
    robots = [path.stem.removeprefix("robot-") for path in sorted(ROBOTS.glob("robot-*.zip"))]
    if robots:
        cards = [_small(name, f"robots/{name}.png", f"robot-{name}") for name in robots]
        said = "Robots of example-robot-data, drawn by their collision shapes."
        parts += ["## Robots of others", said, _grid(cards)]
    return "\n\n".join(parts)


def _grid(cards: list[str]) -> str:
    return f'<div class="grid cards small" markdown>\n\n{"".join(cards)}\n</div>'


def page() -> str:
    """All pictures, each with a link."""
    cards = "\n".join(map(_card, PICTURES))
    return (
        "# Gallery\n\nEach picture was made with robosim. That of a mechanism leads to its "
        "recording: drag to turn it, and click on a body to read what it does. The name below "
        "leads to the page about it.\n\n"
        f'<div class="grid cards gallery" markdown>\n\n{cards}\n</div>\n\n{models()}\n'
    )


def doors() -> str:
    """What the first page offers after the examples."""
    return """<div class="grid cards" markdown>

-   **[Your own robot](first-robot.md)**: from a wheel to a data frame, in five steps
-   **[Guides](contents.md)**: a table of the guides by task
-   **[Examples](examples/index.md)**: short scripts with pictures
-   **[Gallery](gallery.md)**: robots, linkages, plots
-   **[Reference](reference/index.md)**: every public name

</div>"""
