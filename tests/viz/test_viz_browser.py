"""The page in a real browser: headless Chromium, drawing in software.

Skipped where there is none; an error instead with ROBOSIM_BROWSER=required, as in .ci/run. With
ROBOSIM_PICTURES=folder, the pictures of README.md and docs/viewer.md are written there.
"""

from __future__ import annotations

import http.server
import io
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import robosim
from robosim.controllers import BUILT_IN
from robosim.viz import Recorder, Viewer, live
from robosim.viz.drawing import Drawer

PATIENCE = 60.0  # [s]: compiling, or a machine that has other things to do


def until(condition: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.03)
    raise AssertionError(f"never came true: {what}")


def wait_for(page: Any, expression: str) -> Any:
    """Its value once it is true; asked from here, as the page's policy forbids evaluating text."""
    return until(lambda: page.evaluate(expression), expression)


def frames(page: Any, more: int = 2) -> None:
    """Wait until the page has drawn some more frames."""
    seen = page.evaluate("window.robosim ? robosim.frames : 0")
    wait_for(page, f"window.robosim && robosim.frames >= {seen + more}")


def first_frame(page: Any) -> None:
    wait_for(page, "window.robosim && robosim.frames > 0 && robosim.panel.status")


def pixels(page: Any) -> np.ndarray:
    picture = Image.open(io.BytesIO(page.locator("#meshcat-pane canvas").screenshot()))
    return np.asarray(picture.convert("RGB")).astype(int)


@contextmanager
def steered(name: str, controller: Any = None, **options: Any) -> Iterator[SimpleNamespace]:
    """A simulation that runs in a thread, to be steered from a page."""
    robot = robosim.load(name)
    sims = [robosim.Simulation(robot)]
    sims[0].run(0.005, controller)  # compiling may take longer than a page is waited for
    sims[0].set_state()
    ended = threading.Event()

    def rebuild(timestep: float) -> robosim.Simulation:
        sims.append(robosim.Simulation(robot, timestep))
        return sims[-1]

    with Viewer(robot, port=options.pop("port", None)) as viewer:
        run = threading.Thread(
            target=lambda: live(
                sims[0],
                controller,
                viewer=viewer,
                controllers=dict(BUILT_IN),
                rebuild=rebuild,
                stop=ended.is_set,
                **options,
            )
        )
        run.start()
        try:
            yield SimpleNamespace(viewer=viewer, sims=sims, robot=robot)
        finally:
            ended.set()
            run.join()


def moved_pixels(before: np.ndarray, after: np.ndarray) -> float:
    """Share of the pixels that differ visibly."""
    return float(np.mean(np.abs(before - after).max(axis=2) > 24))


def test_the_robot_is_there_in_its_colours(page: Any) -> None:
    with steered("a1", "stand") as run:
        page.goto(run.viewer.url)
        frames(page, 3)
        assert page.title() == "a1 - robosim"
        assert page.locator("#hud-name").inner_text() == "a1"
        page.click("#play")
        wait_for(page, "document.body.classList.contains('paused')")
        wait_for(page, "robosim.stage.settled")
        with_robot = pixels(page)
        page.click("#layer-visual")
        page.click("#layer-forces")
        page.click("#layer-contacts")
        without = until(lambda: _settled(page, with_robot), "a picture without the robot")[0]
        # It covers a good part of the picture, in the middle of it, and cuts no edge.
        there = np.abs(with_robot - without).max(axis=2) > 24
        assert 0.04 < there.mean() < 0.6
        rows, columns = np.nonzero(there)
        height, width = there.shape
        assert abs(rows.mean() / height - 0.5) < 0.15
        assert abs(columns.mean() / width - 0.5) < 0.15
        assert rows.min() > 2
        assert columns.min() > 2
        assert columns.max() < width - 3
        # The arrows of forces are orange.
        orange = (with_robot[..., 0] > 200) & (with_robot[..., 2] < 80)
        assert orange.sum() > 100


def _settled(page: Any, before: np.ndarray) -> list[np.ndarray]:
    first, second = pixels(page), pixels(page)
    same = moved_pixels(first, second) == 0
    return [second] if same and moved_pixels(before, second) > 0.01 else []


def test_sliders_pose_the_robot_while_paused(page: Any) -> None:
    with steered("double_pendulum", paused=True) as run:
        page.goto(run.viewer.url)
        first_frame(page)
        before = pixels(page)
        page.locator("#joint-1").fill("0.75")
        until(lambda: run.sims[0].q[1] == pytest.approx(0.75, abs=0.01), "the joint moves")
        assert run.sims[0].time == 0.0
        until(lambda: moved_pixels(before, pixels(page)) > 1e-3, "the picture moves")
        assert wait_for(page, "robosim.panel.status.q[1] > 0.7")
        page.select_option("#configuration", "home")
        until(lambda: run.sims[0].q[1] == run.robot.home[1], "the pose of that name")


def test_sliders_are_targets_while_it_runs(page: Any) -> None:
    with steered("a1", "stand") as run:
        page.goto(run.viewer.url)
        frames(page)
        assert page.locator("#joints-hint").inner_text() == "targets of the controller"
        assert not page.locator("#joint-2").is_disabled()
        page.locator("#joint-2").fill("-1.2")
        k = run.robot.q_names.index("FR_calf_joint")
        until(lambda: run.sims[0].q[k] > -1.45, "the calf follows its target")
        page.select_option("#controller", "zero")
        wait_for(page, "robosim.panel.status.controller === 'zero'")
        until(lambda: page.locator("#joint-2").is_disabled(), "nothing to aim")


def test_play_pause_step_speed_reset_and_timestep(page: Any) -> None:
    with steered("double_pendulum") as run:
        page.goto(run.viewer.url)
        frames(page)
        page.keyboard.press("Space")
        wait_for(page, "robosim.panel.status.paused")
        still = run.sims[0].steps
        time.sleep(0.3)
        assert run.sims[0].steps == still
        page.click("#step")
        until(lambda: run.sims[0].steps == still + 1, "one step")
        page.keyboard.press("Shift+.")
        until(lambda: run.sims[0].steps == still + 11, "ten steps")
        page.keyboard.press("r")
        until(lambda: run.sims[0].time == 0.0, "a new start")
        low = page.evaluate("document.getElementById('speed').min")
        assert 10 ** float(low) == pytest.approx(1 / 50)
        page.locator("#speed").fill(str(math.log10(0.1)))
        wait_for(page, "Math.abs(robosim.panel.status.speed - 0.1) < 0.01")
        page.keyboard.press("Space")
        until(lambda: run.sims[0].time > 0.02, "it goes on")
        begin, wall = run.sims[0].time, time.monotonic()
        time.sleep(1.0)
        pace = (run.sims[0].time - begin) / (time.monotonic() - wall)
        assert 0.02 < pace < 0.15  # a tenth, however busy the machine is
        page.locator("#timestep").fill("2")
        page.click("#restart")
        until(lambda: len(run.sims) == 2 and run.sims[1].steps > 0, "a new simulation")
        assert run.sims[1].timestep == 0.002


def test_dragging_pulls_the_body_and_lets_it_go(page: Any) -> None:
    with steered("cube") as run:
        page.goto(run.viewer.url)
        frames(page, 3)
        sim = run.sims[0]
        place = page.evaluate(ON_SCREEN, 0)
        start = sim.state.x[0].copy()
        page.mouse.move(place["x"], place["y"])
        page.mouse.down()
        eye = page.evaluate("robosim.stage.viewer.camera.position.toArray()")
        page.mouse.move(place["x"] + 20, place["y"] - 190, steps=4)
        wait_for(page, "robosim.layers.pull && robosim.layers.pull.size > 1")
        assert "pulling with" in until(
            lambda: page.locator("#hud-note").inner_text(), "the force is told"
        )
        until(lambda: sim.state.x[0, 2] > start[2] + 0.05, "the cube is lifted")
        frames(page)
        # The camera does not follow meanwhile, or else the mouse would point elsewhere.
        assert page.evaluate("robosim.stage.viewer.camera.position.toArray()") == eye
        page.mouse.up()
        wait_for(page, "robosim.layers.pull.size === 0")
        until(lambda: sim.state.x[0, 2] < start[2] + 0.02, "it falls again")
        # Beside the body, the same turns the camera.
        camera = page.evaluate("robosim.stage.viewer.camera.position.toArray()")
        page.mouse.move(400, 560)
        page.mouse.down()
        page.mouse.move(480, 540, steps=3)
        page.mouse.up()
        until(
            lambda: page.evaluate("robosim.stage.viewer.camera.position.toArray()") != camera,
            "the camera turns",
        )


ON_SCREEN = """(index) => {
  const { viewer, robot } = robosim.stage;
  const at = robot[index].getWorldPosition(new THREE.Vector3()).project(viewer.camera);
  const pane = viewer.renderer.domElement.getBoundingClientRect();
  return { x: pane.left + (at.x + 1) * pane.width / 2, y: pane.top + (1 - at.y) * pane.height / 2 };
}"""


def test_a_browser_that_comes_back_sees_everything(page: Any) -> None:
    with steered("double_pendulum") as run:
        run.viewer.text("note", (0, 0, 1), "hello")
        run.viewer.layers(com=True, names=True, violation=True)
        run.viewer.trails({run.robot.bodies[1].name: (0, 0, 0)})
        page.goto(run.viewer.url)
        frames(page)
        for _ in range(2):
            wait_for(page, "robosim.items.known.has('note')")
            wait_for(page, "robosim.layers.groups.names.visible && robosim.boxes !== null")
            wait_for(page, "robosim.charts.samples.count > 10")
            assert page.locator("#layer-com").is_checked()
            page.reload()
            frames(page)
        # More samples than it can have seen since it came back.
        assert page.evaluate("robosim.charts.samples.time(0)") < 1.0
        port = run.viewer.port
    wait_for(page, "document.getElementById('hud').classList.contains('ended')")
    with steered("cube", port=port):
        wait_for(page, "robosim.stage.scene.name === 'cube'")
        frames(page)
        assert not page.evaluate("robosim.items.known.size")
        # Nor anything else of the robot that was there before.
        assert page.evaluate("robosim.layers.trails.every((trail) => trail.body === 0)")
        assert page.evaluate("robosim.layers.colored.length") == 1


def test_the_page_stays_with_the_last_frame(page: Any) -> None:
    sim = robosim.Simulation(robosim.load("double_pendulum"))
    sim.set_state([1.0, 0.5])
    with Viewer(sim.robot) as viewer:
        viewer.show(sim)
        page.goto(viewer.url)
        wait_for(page, "window.robosim && robosim.frames > 0")
        live(sim, seconds=0.37, viewer=viewer)
    wait_for(page, "document.getElementById('hud').classList.contains('ended')")
    wait_for(page, "document.getElementById('hud-time').textContent === 't = 0.37 s'")
    wait_for(page, "document.getElementById('hud-note').textContent.startsWith('ended')")
    assert page.evaluate("robosim.stage.placed")


def test_two_browsers_see_the_same_and_both_steer(page: Any) -> None:
    with steered("double_pendulum") as run:
        other = page.context.new_page()
        for one in (page, other):
            one.goto(run.viewer.url)
            frames(one)
        page.click("#play")
        wait_for(other, "robosim.panel.status.paused")
        other.click("#play")
        wait_for(page, "!robosim.panel.status.paused")


def test_layers_charts_themes_and_help(page: Any) -> None:
    with steered("a1", "stand", paused=True) as run:
        page.goto(run.viewer.url)
        first_frame(page)
        for key, layer in (("k", "collision"), ("i", "inertia"), ("j", "axes"), ("n", "names")):
            before = pixels(page)
            page.keyboard.press(key)
            assert page.locator(f"#layer-{layer}").is_checked()
            until(lambda before=before: moved_pixels(before, pixels(page)) > 2e-3, layer)
            page.keyboard.press(key)
        page.keyboard.press("c")
        page.keyboard.press("Space")
        wait_for(page, "robosim.charts.samples.count > 5")
        energy = page.locator("details[data-chart=energy] canvas")
        until(lambda: "#0072b2" in _colors(energy.screenshot()), "its line is drawn")
        assert "energy [J]" in page.locator("#charts-list").inner_text()
        light = pixels(page).mean()
        page.keyboard.press("t")
        until(lambda: pixels(page).mean() < light - 60, "it gets dark")
        page.keyboard.press("?")
        assert page.locator("#help").is_visible()
        assert "pull it with a spring" in page.locator("#help").inner_text()
        page.keyboard.press("Escape")
        assert not page.locator("#help").is_visible()


def test_less_is_drawn_where_drawing_is_slow_unless_someone_has_chosen(page: Any) -> None:
    with steered("cube", paused=True) as run:
        page.goto(run.viewer.url)
        first_frame(page)
        slow = "for (let k = 0; k < 20; k += 1) robosim.panel.watch(200)"
        page.evaluate(slow)
        assert page.locator("#detail").is_checked()
        page.evaluate("localStorage.removeItem('robosim detail')")
        page.evaluate(slow.replace("200", "20"))
        assert page.locator("#detail").is_checked()
        sharp = page.evaluate("robosim.stage.viewer.renderer.domElement.width")
        page.evaluate(slow)
        assert not page.locator("#detail").is_checked()
        assert page.evaluate("robosim.stage.viewer.renderer.domElement.width") == sharp // 2
        assert not page.evaluate("robosim.stage.sun.castShadow")
        page.click("#detail")
        assert page.evaluate("robosim.stage.viewer.renderer.domElement.width") == sharp
        page.evaluate(slow)
        assert page.evaluate("robosim.stage.sun.castShadow")


def _colors(picture: bytes) -> set[str]:
    with Image.open(io.BytesIO(picture)) as opened:
        found = opened.convert("RGB").getcolors(1 << 20)
    return {f"#{r:02x}{g:02x}{b:02x}" for _, (r, g, b) in found}


class _Elsewhere(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>elsewhere</title>")

    def log_message(self, *args: Any) -> None:
        pass


def test_a_page_of_another_origin_can_neither_read_nor_steer(browser: Any) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = browser.new_context()
    try:
        with steered("double_pendulum") as run:
            foreign = context.new_page()
            foreign.goto(f"http://127.0.0.1:{server.server_port}/")
            answers = foreign.evaluate(
                """async (url) => {
                  const socket = new WebSocket(url.replace("http", "ws") + "frames");
                  const opened = await new Promise((tell) => {
                    socket.onopen = () => { socket.send('{"do": "pause"}'); tell("opened"); };
                    socket.onerror = () => tell("refused");
                  });
                  const read = await fetch(url).then(() => "read", () => "refused");
                  return [opened, read];
                }""",
                run.viewer.url,
            )
            assert answers == ["refused", "refused"]
            steps = run.sims[0].steps
            until(lambda: run.sims[0].steps > steps, "it runs on")
    finally:
        context.close()
        server.shutdown()
        server.server_close()


def test_a_recording_plays_from_disk_without_a_network(page: Any, tmp_path: Path) -> None:
    robot = robosim.load("double_pendulum")
    sim = robosim.Simulation(robot)
    sim.set_state([1.5, 0.3])
    recorder = Recorder(robot)
    live(sim, seconds=2.0, recorder=recorder, speed=math.inf)
    file = recorder.save(tmp_path / "run.html")
    page.context.set_offline(True)
    page.goto(file.as_uri())
    wait_for(page, "window.robosim && robosim.last > 1.9")
    assert page.locator("#bar").is_visible()
    assert not page.locator("#play").is_visible()
    wait_for(page, "Number(document.getElementById('bar-slider').value) > 0.2")
    page.keyboard.press("Space")
    page.evaluate("robosim.seek(0.0)")
    first = pixels(page)
    page.evaluate("robosim.seek(1.0)")
    assert moved_pixels(first, pixels(page)) > 5e-3
    page.evaluate("robosim.seek(0.0)")
    assert moved_pixels(first, pixels(page)) < 1e-3
    assert page.locator("#bar-time").inner_text() == "0.00 / 2.00 s"
    page.keyboard.press("ArrowRight")
    wait_for(page, "Number(document.getElementById('bar-slider').value) > 0.02")
    wait_for(page, "robosim.charts.samples.count === 61 || robosim.charts.samples.count === 60")


def test_pictures_of_a_recording_follow_the_robot_by_its_own_time(
    page: Any, tmp_path: Path
) -> None:
    robot = robosim.load("cube")
    recorder = Recorder(robot, fps=10)
    for k in range(31):
        recorder.add(0.1 * k, [[0.1 * k, 0.0, 0.25]], [[1.0, 0.0, 0.0, 0.0]])
    page.goto(recorder.save(tmp_path / "run.html").as_uri())
    wait_for(page, "window.robosim && robosim.stage.placed")
    page.keyboard.press("Space")
    behind = "robosim.stage.bodies[0].position.x - robosim.stage.followed.x"
    lags = []
    for pause in (0.0, 0.3):
        page.evaluate("robosim.seek(0.0)")
        for moment in (0.1, 0.2, 0.3):
            time.sleep(pause)
            page.evaluate(f"robosim.seek({moment})")
        lags.append(page.evaluate(behind))
    assert lags[0] == pytest.approx(lags[1], abs=1e-9)
    assert lags[0] > 0.01  # it follows gently
    page.evaluate("robosim.seek(3.0)")
    assert abs(page.evaluate(behind)) < 1e-6  # and is there at once after a jump


def test_pictures_of_the_processor_are_those_of_the_page(browser: Any) -> None:
    """But for outlines, which each samples in its own way, and for the caption."""
    robot = robosim.load("a1")
    sim = robosim.Simulation(robot)
    sim.place()
    with Viewer(robot, quiet=True) as viewer:
        page = browser.new_page(
            viewport={"width": 960, "height": 540}, color_scheme="light", device_scale_factor=1
        )
        page.goto(viewer.url)
        wait_for(page, "window.robosim && robosim.frames >= 0")
        viewer.show(sim)
        wait_for(page, "robosim.stage.placed")
        hidden = ("#panel", "#toolbar", "#charts-pane", "#bar")
        page.add_style_tag(content=f"{', '.join(hidden)} {{ display: none !important }}")
        page.evaluate("document.body.classList.remove('panel-open', 'charts-open')")
        page.evaluate("window.dispatchEvent(new Event('resize'))")
        time.sleep(1.0)
        shot = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)
        page.close()
    apart = np.abs(shot - Drawer(robot, 960, 540, forces=True).picture(sim))[70:].max(axis=2)
    assert np.median(apart) <= 1
    assert np.mean(apart > 8) < 0.03


def photograph(page: Any, file: Path) -> None:
    """Few colours for a small file; those of thin lines in charts are kept."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    colours = picture.quantize(200, dither=Image.Dither.NONE).getpalette()[:600]
    style = (Path(__file__).parents[2] / "viz/web/style.css").read_text(encoding="utf-8")
    lines = re.findall(r"--line-\d: #(\w{6})", style)
    palette = Image.new("P", (1, 1))
    palette.putpalette([*colours, *(part for line in lines for part in bytes.fromhex(line))])
    picture.quantize(palette=palette, dither=Image.Dither.NONE).save(file, optimize=True)


@pytest.mark.skipif("ROBOSIM_PICTURES" not in os.environ, reason="pictures were not asked for")
def test_pictures(browser: Any) -> None:
    folder = Path(os.environ["ROBOSIM_PICTURES"])
    for theme in ("light", "dark"):
        context = browser.new_context(viewport={"width": 1280, "height": 720}, color_scheme=theme)
        context.add_init_script("localStorage.setItem('robosim detail', 'true')")
        shown = context.new_page()
        with steered("a1", "stand") as run:
            shown.goto(run.viewer.url)
            frames(shown)
            wait_for(shown, "robosim.charts.samples.count > 150")
            if theme == "light":
                photograph(shown, folder / "viewer-light.png")
                place = shown.evaluate(ON_SCREEN, 0)
                shown.mouse.move(place["x"], place["y"])
                shown.mouse.down()
                shown.mouse.move(place["x"] + 130, place["y"] + 20, steps=4)
                wait_for(shown, "robosim.layers.pull.size > 5")
                frames(shown, 8)
                photograph(shown, folder / "viewer-pull.png")
            else:
                shown.keyboard.press("j")
                shown.keyboard.press("m")
                frames(shown, 3)
                photograph(shown, folder / "viewer-dark.png")
        context.close()


@pytest.mark.parametrize(
    ("without", "words"),
    [
        ("delete window.DecompressionStream", "This browser has no DecompressionStream: open"),
        ("HTMLCanvasElement.prototype.getContext = () => null", "This browser has no WebGL: open"),
        ("", ""),
    ],
)
def test_a_browser_that_is_too_old_is_told(
    browser: Any, tmp_path: Path, without: str, words: str
) -> None:
    robot = robosim.load("cube")
    sim = robosim.Simulation(robot)
    recorder = Recorder(robot)
    recorder.add(0.0, sim.state.x, sim.state.q)
    page = browser.new_page()
    page.add_init_script(without)
    page.goto(recorder.save(tmp_path / "run.html").as_uri())
    told = page.locator("#unsupported")
    if words:
        assert words in until(lambda: told.count() and told.inner_text(), words)
    else:
        wait_for(page, "window.robosim")
        assert told.count() == 0
    page.close()
