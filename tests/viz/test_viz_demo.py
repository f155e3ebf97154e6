"""The page of ``robosim demo``: its scenes, its cards, and what a click on one does."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_viz_browser import photograph, until, wait_for
from typer.main import get_command
from typer.testing import CliRunner

import robosim
from robosim.cli import app
from robosim.cli.scenes import SCENES, SHOWN, STARTS, Scene
from robosim.errors import OptionError
from robosim.viz import Viewer
from robosim.viz.choices import Choice, Choices, picture
from robosim.viz.commands import parse

NAMES = [scene.name for scene in SCENES]


def test_there_are_eight_scenes_with_pictures_of_their_own() -> None:
    assert len(SCENES) == len(set(NAMES)) == 8
    pictures = [picture(name) for name in NAMES]
    assert len(set(pictures)) == 8
    for one in pictures:
        assert one.startswith("data:image/png;base64,")
        assert len(one) < 8000  # all of them go to each browser


@pytest.mark.parametrize("scene", SCENES, ids=NAMES)
def test_the_line_of_a_card_makes_its_scene(scene: Scene) -> None:
    """A line is one that the command line takes; a script is what has been executed."""
    robot, names = scene.robot()
    sim, control = scene.start(robot, names)
    assert sim.robot is robot
    if scene.model:
        words = shlex.split(scene.line)
        command: Any = get_command(app)
        context = command.commands["view"].make_context("view", words[2:])
        assert words[:2] == ["robosim", "view"]
        assert context.params["model"] == scene.model == words[2]
        assert context.params["controller"] == (scene.controller or None)
        assert context.params["timestep"] == sim.timestep
        assert context.params["open_browser"]
    else:
        compile(scene.line, scene.name, "exec")
        assert scene.line.count(STARTS) == scene.line.count(SHOWN) == 1
        assert scene.line.endswith(f"{SHOWN}\n")
        assert max(map(len, scene.line.splitlines())) <= 100
    before = np.array(sim.q)
    sim.run(0.2, control)
    assert np.isfinite(sim.q).all()
    assert np.abs(sim.q - before).max() > 1e-6  # something is to be seen
    assert sim.constraint_violation() < 1e-8
    assert sim.min_gap() > -1e-8


def test_the_cube_is_held_by_friction() -> None:
    (scene,) = (one for one in SCENES if one.name == "grasp")
    sim, control = scene.start(*scene.robot())
    sim.run(2.0, control)
    height = sim.q[sim.robot.q_names.index("cube/floating_base.z")]
    assert height - 0.025 == pytest.approx(sim.q[0], abs=1e-3)
    assert height > 0.1


def test_the_heap_comes_to_rest() -> None:
    (scene,) = (one for one in SCENES if one.name == "heap")
    sim, control = scene.start(*scene.robot())
    sim.run(4.0, control)
    assert np.abs(sim.v).max() < 1e-2
    assert sim.q[2::7].min() > 0.05


class Told:
    def __init__(self) -> None:
        self.documents: dict[str, Any] = {}
        self.waiting: list[dict[str, Any]] = []
        self.choices = Choices(self.documents.__setitem__, lambda: self.listen)

    def listen(self) -> None:
        while self.waiting:
            self.choices.obey(self.waiting.pop(0))


def test_a_click_is_taken_once() -> None:
    told = Told()
    told.choices.offer(Choice(name, name.title(), "", "line", "") for name in ("a", "b"))
    told.choices.tell("a")
    assert [card["name"] for card in told.documents["choices"]["cards"]] == ["a", "b"]
    assert told.documents["chosen"] == {"name": "a"}
    assert told.choices.asked is None
    told.waiting = [parse(b'{"do": "choose", "name": "a"}'), parse(b'{"do":"choose","name":"b"}')]
    assert told.choices.asked == "b"  # the last one
    assert told.choices.taken() == "b"
    assert told.choices.taken() is None
    with pytest.raises(ValueError, match="no card 'c'"):
        told.choices.obey({"do": "choose", "name": "c"})


def test_help_and_refusals() -> None:
    result = CliRunner().invoke(app, ["demo", "--help"])
    said = re.sub(r"[^\w,.]+", " ", result.output)
    assert "Show eight robots and mechanisms on one page" in said
    for name in (*NAMES, "port", "open", "ctrl C"):
        assert name in said
    with pytest.raises(OptionError, match=r"no scene 'none' \(known: trot, "):
        app(["--debug", "demo", "none"], standalone_mode=False)


def test_a_port_that_is_taken_is_an_error() -> None:
    with Viewer(robosim.load("cube"), quiet=True) as viewer:
        line = [sys.executable, "-m", "robosim", "demo", "--no-open", "--port", str(viewer.port)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert f"on port {viewer.port}" in done.stderr
    assert "Traceback" not in done.stderr


@contextmanager
def demo(*options: str) -> Iterator[str]:
    """The demo in a process of its own; its address."""
    line = [sys.executable, "-m", "robosim", "demo", "--no-open", *options]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        stream = process.stderr
        assert stream is not None
        rest: list[str] = []
        try:
            first = stream.readline()
            assert first.startswith("live view: http://127.0.0.1:")
            reader = threading.Thread(target=lambda: rest.append(stream.read()))
            reader.start()
            yield first.split()[-1]
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
            reader.join()
            assert "Traceback" not in rest[0]
        finally:
            if process.poll() is None:
                process.kill()


@pytest.mark.skipif(os.name == "nt", reason="SIGINT is sent to a process")
@pytest.mark.parametrize("size", [(1440, 900), (390, 844)], ids=["desk", "phone"])
def test_each_card_is_live_when_it_is_clicked(page: Any, size: tuple[int, int]) -> None:
    width, height = size
    shown = [scene for scene in SCENES if scene.name in ("grasp", "top", "segments")]
    for scene in shown:  # compiling may take longer than a page is waited for
        sim, control = scene.start(*scene.robot())
        sim.run(2 * sim.timestep, control)
    page.set_viewport_size({"width": width, "height": height})
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    with demo("grasp") as address:
        page.goto(address)
        wait_for(page, "window.robosim && robosim.frames > 2 && robosim.choices.cards.size === 8")
        cards = page.locator(".choice")
        assert cards.count() == 8
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        on = page.locator(".choice.on")
        until(lambda: on.count() == 1 and on.locator("b").inner_text() == "Grasp", "it is marked")
        if "ROBOSIM_PICTURES" in os.environ and width > 1000:
            wait_for(page, "robosim.recent.last > 4.6 && robosim.recent.last < 5.0")
            photograph(page, Path(os.environ["ROBOSIM_PICTURES"]) / "demo.png")
        # A script is shown when it is asked for, and copied as a whole.
        line = page.locator("#choices-line")
        assert not line.is_visible()
        page.click("#choices-script")
        assert line.inner_text().splitlines()[0] == "import numpy as np"
        page.click("#choices-copy")
        until(lambda: page.locator("#choices-copy").inner_text() == "copied", "it is copied")
        assert page.evaluate("navigator.clipboard.readText()") == shown[0].line
        for scene in shown[1:]:
            page.locator(".choice", has_text=scene.title).click()
            wait_for(page, f"document.title === '{scene.model} - robosim'")
            wait_for(page, "robosim.panel.status.started && robosim.recent.last > 0.1")
            assert line.inner_text() == scene.line
            canvas, strip = (
                page.locator(what).bounding_box() for what in ("#meshcat-pane", "#choices")
            )
            assert canvas["y"] + canvas["height"] <= strip["y"] + 1.0  # nothing is covered
            assert strip["y"] + strip["height"] == pytest.approx(height, abs=1.0)
