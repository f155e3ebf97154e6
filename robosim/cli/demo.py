"""``robosim demo``: eight robots and mechanisms on one page, each live when it is clicked."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from robosim.cli.application import app
from robosim.cli.running import interruptible
from robosim.cli.scenes import SCENES, Scene
from robosim.cli.watching import WATCHING, Host, Port, compiled, open_viewer
from robosim.errors import OptionError, RobosimError

if TYPE_CHECKING:
    from robosim.description.mechanism import Mechanism
    from robosim.formulation import Formulation
    from robosim.viz import Viewer
    from robosim.viz.choices import Choice


@app.command()
def demo(
    scene: Annotated[
        str | None,
        typer.Argument(
            help="The scene to begin with: "
            f"{', '.join(scene.name for scene in SCENES)}; by default the first.",
            metavar="[SCENE]",
            show_default=False,
        ),
    ] = None,
    open_browser: Annotated[
        bool,
        typer.Option("--open/--no-open", help="Open the browser.", rich_help_panel=WATCHING),
    ] = True,
    port: Port = None,
    host: Host = None,
) -> None:
    """Show eight robots and mechanisms on one page, live, with the line that makes each.

    [bold]Example:[/bold] robosim demo

    Click on a picture to start it; drag a body to pull at it; copy the line to go on from there.
    ctrl-C ends the demo. Kernels of each kind of mechanism compile at its first start, once.
    """
    at = _index(scene)
    robot, names = SCENES[at].robot()
    with (
        suppress(KeyboardInterrupt),
        open_viewer(robot, port, host, open_browser) as viewer,
    ):
        viewer.choices.offer(map(_card, SCENES))
        while True:
            viewer.choices.tell(SCENES[at].name)
            start = partial(_started, SCENES[at], robot, names)
            sim, control = compiled(start, viewer)
            chosen = _shown(viewer, sim, control)
            if chosen is None:
                return
            at = _index(chosen)
            robot, names = SCENES[at].robot()
            viewer.replace(robot)


def _index(name: str | None) -> int:
    """The place of a scene."""
    known = [scene.name for scene in SCENES]
    if name is not None and name not in known:
        raise OptionError(f"there is no scene '{name}' (known: {', '.join(known)})")
    return 0 if name is None else known.index(name)


def _card(scene: Scene) -> Choice:
    """What the page shows of a scene."""
    from robosim.viz.choices import Choice, picture

    return Choice(scene.name, scene.title, scene.text, scene.line, picture(scene.name))


def _started(scene: Scene, robot: Mechanism, names: dict[str, Any]) -> tuple[Formulation, Any]:
    """The simulation and the controller, with compiled kernels."""
    sim, control = scene.start(robot, names)
    # An error of the step is reported when the run reaches it.
    with suppress(RobosimError):
        sim.copy().run(sim.timestep, control)
    return sim, control


def _shown(viewer: Viewer, sim: Formulation, control: Any) -> str | None:
    """Show a scene until another one is chosen, whose name is returned, or until ctrl-C."""
    from robosim.viz import live

    viewer.commands()  # those for the scene before
    with interruptible() as stop:
        live(sim, control, None, viewer, stop=lambda: stop() or viewer.choices.asked is not None)
    return viewer.choices.taken()
