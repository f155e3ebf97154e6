"""The page in a browser: clicks, torques, a script's controls, the time line, phones, the dark."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_viz_browser import ON_SCREEN, first_frame, frames, pixels, steered, until, wait_for

import robosim
from robosim import Body, Geometry, Joint, Mechanism
from robosim.cli import arguments
from robosim.runtime.compiling import Compiling, Known
from robosim.runtime.notice import CompileNotice
from robosim.viz import Recorder, Viewer, live
from robosim.viz.waiting import show_home, waiting
from robosim.viz.watch import Watch

PHONE = {"width": 390, "height": 844}


def click_on(page: Any, body: int) -> None:
    place = page.evaluate(ON_SCREEN, body)
    page.mouse.click(place["x"], place["y"])


def test_a_click_tells_of_a_body_and_does_not_pull_it(page: Any) -> None:
    with steered("cube") as run:
        page.goto(run.viewer.url)
        frames(page, 3)
        page.evaluate(
            """() => {
              window.sent = [];
              const own = WebSocket.prototype.send;
              WebSocket.prototype.send = function (text) { sent.push(text); own.call(this, text); };
            }"""
        )
        click_on(page, 0)
        told = until(
            lambda: "on ground" in page.locator("#card").inner_text() and page, "it is told"
        ).locator("#card")
        mass = run.robot.bodies[0].mass
        text = told.inner_text()
        assert text.splitlines()[0].startswith(run.robot.bodies[0].name)
        assert f"{mass:g} kg" in text
        for said in ("position", "roll, pitch, yaw", "velocity", "angular velocity", "contacts"):
            assert said in text
        # At rest the forces of the ground are the weight.
        total = next(line for line in text.splitlines() if "contacts" in line)
        assert float(total.split()[-2]) == pytest.approx(mass * 9.81, rel=0.02)
        assert page.evaluate("robosim.card.outline.children.length") > 0
        assert not any("drag" in text for text in page.evaluate("sent"))
        other = page.context.new_page()
        other.goto(run.viewer.url)
        wait_for(other, "window.robosim && robosim.card.body === 0")
        page.keyboard.press("Escape")
        assert not page.locator("#card").is_visible()
        wait_for(other, "robosim.card.body === null")


def test_a_click_in_a_recording_tells_what_the_frames_say(page: Any, tmp_path: Path) -> None:
    robot = robosim.load("cube")
    recorder = Recorder(robot, fps=10)
    for k in range(11):
        recorder.add(0.1 * k, [[0.05 * k, 0.0, 0.25]], [[1.0, 0.0, 0.0, 0.0]])
    page.goto(recorder.save(tmp_path / "run.html").as_uri())
    wait_for(page, "window.robosim && robosim.stage.placed")
    page.keyboard.press("Space")
    page.evaluate("robosim.timeline.seek(0.32)")
    wait_for(page, "Math.abs(robosim.stage.bodies[0].position.x - 0.16) < 1e-6")
    click_on(page, 0)
    card = page.locator("#card")
    until(lambda: "velocity" in card.inner_text(), "it is told")
    said = " ".join(card.inner_text().split())
    assert f"{robot.bodies[0].mass:g} kg" in said
    assert "0.160 0.000 0.250 m" in said
    assert "velocity 0.500 0.000 0.000 m/s" in said
    assert "contact" not in said


def test_the_page_says_what_it_waits_for(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the robot at home, before there is a simulation; then it goes on as ever."""
    monkeypatch.setattr(CompileNotice, "spell", None)
    robot = robosim.load("cube")
    with Viewer(robot) as viewer:
        note = page.locator("#hud-note")
        show_home(viewer)
        with waiting(viewer):
            page.goto(viewer.url)
            wait_for(page, "window.robosim && robosim.stage.placed")
            until(lambda: note.inner_text() == "starting", "it starts")
            bar = page.locator("#hud-bar")
            assert not bar.is_visible()
            spell = Compiling()
            unit = spell.begin("knot.set_bodies")
            unit.known = Known(80, 4.0, 10.0)  # whatever is known on this machine
            unit.count(41)
            monkeypatch.setattr(CompileNotice, "spell", spell)
            until(lambda: note.inner_text().startswith("compiling, once"), "it compiles")
            assert note.inner_text().splitlines()[1] == "41 of about 80 kernels"
            assert bar.is_visible()
            until(lambda: bar.evaluate("bar => bar.value") > 0.02, "the bar moves")
            unit.end()
        live(robosim.Simulation(robot), None, 0.1, viewer)
        until(lambda: "compiling" not in note.inner_text(), "it runs")
        assert not bar.is_visible()


def test_torques_by_hand_move_the_robot(page: Any) -> None:
    with steered("double_pendulum", "zero") as run:
        page.goto(run.viewer.url)
        frames(page)
        assert not page.locator("#torques-section").is_visible()
        page.select_option("#controller", "torques")
        slider = page.locator("#torque-0")
        until(slider.is_visible, "sliders of torques")
        reach = float(slider.get_attribute("max"))
        slider.fill(str(0.5 * reach))
        wait_for(page, f"Math.abs(robosim.panel.status.torques[0] - {0.5 * reach}) < 1e-3")
        column = 'robosim.charts.find("joint torque", robosim.panel.offered.torques[0].name)'
        wait_for(page, f"Math.abs(robosim.charts.newest({column}) - {0.5 * reach}) < 1e-3")
        page.click("#relax")
        wait_for(page, "robosim.panel.status.torques[0] === 0")


def test_sliders_buttons_and_charts_of_a_script(page: Any) -> None:
    with Viewer(robosim.load("double_pendulum")) as viewer:
        viewer.pose()
        height = viewer.slider("height", -0.2, 0.4, 0.3, unit="m")
        kick = viewer.button("kick")
        page.goto(viewer.url)
        page.set_viewport_size({"width": 1300, "height": 700})
        wait_for(page, "window.robosim && robosim.frames > 0")
        page.reload()
        wait_for(page, "window.robosim && robosim.frames > 0")
        slider = page.locator("#controls input")
        until(slider.is_visible, "the slider")
        assert float(slider.input_value()) == pytest.approx(0.3)
        slider.fill("0.1")
        until(lambda: height.value == pytest.approx(0.1), "the slider was moved")
        page.get_by_role("button", name="kick").click()
        until(kick.pressed, "the button was pressed")
        assert not kick.pressed()
        height.value = -0.1
        wait_for(
            page, "Math.abs(Number(document.querySelector('#controls input').value) + 0.1) < 1e-6"
        )
        for k in range(40):
            viewer.plot("error", {"left": np.sin(0.1 * k), "right": 0.5}, unit="m", time=0.1 * k)
        chart = page.locator("details[data-chart=error]")
        until(chart.is_visible, "a chart of its own")
        assert "error [m]" in chart.inner_text()
        assert chart.locator(".legend span").all_inner_texts() == ["left", "right"]
        wait_for(page, "robosim.charts.signals[0].samples.count === 40")
        viewer.remove("error")
        until(lambda: not chart.count(), "the chart is taken away")
        viewer.remove("height")
        viewer.remove("kick")
        until(lambda: not page.locator("#controls-section").is_visible(), "nor controls")


def test_the_time_line_goes_back_and_comes_again(page: Any) -> None:
    with steered("double_pendulum") as run:
        run.sims[0].set_state([1.0, 0.3])
        page.goto(run.viewer.url)
        wait_for(page, "window.robosim && robosim.recent.last - robosim.recent.first > 1.5")
        bar = page.locator("#bar-slider")
        until(bar.is_visible, "the bar")
        assert not page.locator("#bar-live").is_visible()
        early = page.evaluate("robosim.recent.frames[12]")
        bar.fill(str(early["time"]))
        wait_for(page, "robosim.recent.past")
        place = wait_for(page, "robosim.stage.bodies[1].position.toArray()")
        want = np.array(early["poses"])[7:10]
        until(
            lambda: np.allclose(
                page.evaluate("robosim.stage.bodies[1].position.toArray()"), want, atol=1e-6
            ),
            f"what was then, not {place}",
        )
        assert "s ago" in page.locator("#hud-note").inner_text()
        steps = run.sims[0].steps
        until(lambda: run.sims[0].steps > steps + 100, "the run goes on meanwhile")
        assert page.evaluate("robosim.recent.time") == pytest.approx(early["time"], abs=1e-6)
        page.click("#bar-play")
        then = early["time"] + 0.2
        wait_for(page, f"robosim.recent.time > {then} && robosim.recent.past")
        page.click("#bar-live")
        wait_for(page, "!robosim.recent.past")
        frames(page)
        assert "real time" in page.locator("#hud-note").inner_text()
        # A run that starts again has no past.
        page.keyboard.press("r")
        wait_for(page, "robosim.recent.last < 1")


def test_the_time_line_keeps_a_minute(page: Any) -> None:
    with Viewer(robosim.load("cube")) as viewer:
        viewer.pose()
        page.goto(viewer.url)
        wait_for(page, "window.robosim && robosim.frames > 0")
        kept = page.evaluate(
            """() => {
              const recent = new Recent();
              for (let k = 0; k < 5000; k += 1) recent.add({ time: 0.02 * k, poses: [] });
              return [recent.first, recent.last];
            }"""
        )
        assert kept[1] == pytest.approx(0.02 * 4999)
        assert 60 <= kept[1] - kept[0] <= 62


URDF = """<robot name="{name}"><link name="rod"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size="0.1 0.1 0.4"/></geometry></visual></link></robot>"""


def test_a_robot_whose_file_changes_is_loaded_again(page: Any, tmp_path: Path) -> None:
    file = tmp_path / "robot" / "rod.urdf"
    file.parent.mkdir()
    file.write_text(URDF.format(name="first"))
    robot = robosim.load(file)
    ended = threading.Event()
    watch = Watch([file], lambda: robosim.Simulation(robosim.load(file)))
    with Viewer(robot) as viewer:
        sim = robosim.Simulation(robot)
        run = threading.Thread(
            target=lambda: live(sim, viewer=viewer, renew=watch, stop=ended.is_set, paused=True)
        )
        run.start()
        try:
            page.goto(viewer.url)
            first_frame(page)
            assert page.locator("#hud-name").inner_text() == "first"
            file.write_text(URDF.format(name="second").replace("0.4", "0.9"))
            wait_for(page, "robosim.stage.scene.name === 'second' && robosim.stage.placed")
            assert page.evaluate("robosim.stage.box.max.z - robosim.stage.box.min.z") > 0.8
            file.write_text("<robot name='third'><link")
            until(lambda: "rod.urdf" in page.locator("#toast").inner_text(), "the error is told")
            assert "last robot that could be loaded" in page.locator("#toast").inner_text()
            assert page.locator("#hud-name").inner_text() == "second"
            file.write_text(URDF.format(name="fourth"))
            wait_for(page, "robosim.stage.scene.name === 'fourth'")
            until(lambda: not page.locator("#toast").is_visible(), "the error is gone")
        finally:
            ended.set()
            run.join()


EXTENT = """() => {
  const { viewer, robot } = robosim.stage;
  const pane = viewer.renderer.domElement.getBoundingClientRect();
  const heights = [];
  for (const body of robot) {
    for (const mesh of body.children) {
      const places = mesh.geometry.attributes.position;
      for (let k = 0; k < places.count; k += 1) {
        const at = new THREE.Vector3().fromBufferAttribute(places, k);
        at.applyMatrix4(mesh.matrixWorld);
        heights.push(pane.top + ((1 - at.project(viewer.camera).y) * pane.height) / 2);
      }
    }
  }
  return [heights.reduce((a, b) => Math.min(a, b)), heights.reduce((a, b) => Math.max(a, b))];
}"""
PARTS = ("#hud", "#toolbar", "#bar", "#panel", "#charts-pane", "#card", "#toast")


def overlapping(page: Any, size: dict[str, int]) -> list[tuple[str, str]]:
    """Pairs of visible parts of the page of which one covers the other; parts beyond its edge."""
    boxes = {name: page.locator(name).bounding_box() for name in PARTS}
    boxes = {name: box for name, box in boxes.items() if box and page.locator(name).is_visible()}
    found = [
        (name, "the edge")
        for name, box in boxes.items()
        if box["x"] < 0
        or box["y"] < 0
        or box["x"] + box["width"] > size["width"] + 0.5
        or box["y"] + box["height"] > size["height"] + 0.5
    ]
    for (one, a), (other, b) in itertools.combinations(boxes.items(), 2):
        across = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
        down = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
        if across > 0.5 and down > 0.5:
            found.append((one, other))
    return found


@pytest.mark.parametrize("size", [PHONE, {"width": 900, "height": 700}], ids=["phone", "tablet"])
def test_nothing_covers_anything(page: Any, size: dict[str, int]) -> None:
    with steered("a1", "stand") as run:
        page.set_viewport_size(size)
        page.goto(run.viewer.url)
        frames(page)
        until(page.locator("#bar").is_visible, "the bar")
        assert overlapping(page, size) == []
        page.evaluate("robosim.panel.complain('a long line that says what went wrong. '.repeat(4))")
        assert overlapping(page, size) == []
        page.evaluate("robosim.panel.complain('')")
        click_on(page, 0)
        until(lambda: "kg" in page.locator("#card").inner_text(), "the card")
        assert overlapping(page, size) == []
        for button in ("#toggle-panel", "#toggle-charts"):
            page.click(button)
            frames(page)
            assert overlapping(page, size) == []
            # The picture is as large as its place, and has the robot in it.
            canvas = page.locator("#meshcat-pane canvas").bounding_box()
            pane = page.locator("#meshcat-pane").bounding_box()
            assert canvas["height"] == pytest.approx(pane["height"], abs=1.5)
            assert canvas["width"] == pytest.approx(pane["width"], abs=1.5)
            place = page.evaluate(ON_SCREEN, 0)
            assert pane["y"] < place["y"] < pane["y"] + pane["height"]
            if size is PHONE:  # all of the robot, between what lies over the picture
                hud, bar = (page.locator(name).bounding_box() for name in ("#hud", "#bar"))
                top, bottom = page.evaluate(EXTENT)
                assert hud["y"] + hud["height"] < top < bottom < bar["y"]
        if size is PHONE:  # where there is room for one of them
            assert not page.locator("#panel").is_visible()
            assert not page.locator("#card").is_visible()


def test_long_legends_fold(page: Any) -> None:
    with steered("a1", "stand", paused=True) as run:
        page.goto(run.viewer.url)
        first_frame(page)
        page.keyboard.press("c")
        legend = page.locator("details[data-chart='joint position'] .legend")
        seen = legend.locator("span:visible")
        assert seen.count() == 5
        legend.get_by_role("button", name="all 12 names").click()
        assert seen.count() == 12
        # One that was chosen stays when the others fold away.
        seen.nth(10).click()
        legend.get_by_role("button", name="fewer names").click()
        assert seen.count() == 6
        assert legend.locator("span:visible:not(.off)").count() == 1


def test_a_run_that_is_logged_offers_no_poses_and_names_its_controller(page: Any) -> None:
    robot = robosim.load("double_pendulum")
    control = arguments.controller("stand", robot, 1e-3)
    with steered("double_pendulum", control, on_frame=lambda chunk: None) as run:
        page.goto(run.viewer.url)
        first_frame(page)
        assert page.locator("#controller").input_value() == "stand"
        for shown, text in ((True, "controller"), (False, "pose")):
            row = page.locator("#panel .row > span", has_text=text)
            assert row.is_visible() == shown


def test_sliders_keep_their_length_beside_long_names(page: Any) -> None:
    with steered("double_pendulum", paused=True) as run:
        page.goto(run.viewer.url)
        first_frame(page)
        sizes = []
        for name in ("joint", "left_shoulder_pitch"):
            page.evaluate(
                """(name) => {
                  const { panel } = robosim;
                  const joints = panel.offered.joints.map((joint) => ({ ...joint, name }));
                  panel.describe({ ...panel.offered, joints }, panel.charts);
                }""",
                name,
            )
            sizes.append(page.locator("#joints input").first.bounding_box()["width"])
        assert sizes[1] == pytest.approx(sizes[0], abs=1.0)
        assert page.evaluate("[-0.001, -0.01, 0, 1.234, -123.4].map(shortAngle)") == [
            "0.00", "-0.01", "0.00", "1.23", "-123",
        ]  # fmt: skip


def test_a_black_robot_is_seen_in_the_dark(page: Any) -> None:
    ball = Geometry("sphere", size=(0.2,), rgba=(0.0, 0.0, 0.0, 1.0))
    robot = Mechanism(
        "black ball",
        (Body("ball", 1.0, np.eye(3) * 0.01, visuals=(ball,)),),
        (Joint("base", "floating", None, "ball"),),
    )
    with Viewer(robot) as viewer:
        viewer.update([[0, 0, 0.2]], [[1, 0, 0, 0]])
        page.goto(viewer.url + "?theme=dark")
        wait_for(page, "window.robosim && robosim.frames > 0")
        page.click("#layer-shadows") if page.locator("#layer-shadows").is_visible() else None

        def bright(rim: str) -> float:
            """Pixels of the ball's outline that stand out from the tiles."""
            page.evaluate(f"RIM.value = {rim}; robosim.stage.viewer.set_dirty()")
            time.sleep(0.3)
            picture = pixels(page).mean(axis=2)
            at = page.evaluate(ON_SCREEN, 0)
            pane = page.locator("#meshcat-pane").bounding_box()
            x, y = int(at["x"] - pane["x"]), int(at["y"] - pane["y"])
            return float((picture[y - 10 : y + 10, max(x - 300, 0) : x + 300] > 90).sum())

        with_rim, without = bright("THEMES.dark.rim"), bright("0")
        assert with_rim > without + 100
        page.keyboard.press("t")
        assert page.evaluate("RIM.value") == 0  # black is black in the light
