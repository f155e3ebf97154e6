"""The live view over minutes: memory and frame times at the start and at the end, and its price.

    python benchmarks/viewer_soak.py --minutes 10

The A1 stands, with its meshes, and a headless browser watches that draws in software. Memory is the
resident set of the simulation's process and of the server's, and the heap of the page's scripts.
What the page itself costs is measured with those calls of WebGL left out that fill pixels: all
scripts run, all poses are set, and nothing is drawn.
"""

from __future__ import annotations

import argparse
import json
import math
import threading
import time
from typing import Any

import numpy as np
import psutil

import robosim
from robosim.viz import Viewer, live
from robosim.viz.browser import headless
from robosim.viz.session import Session

SIZE = {"width": 1280, "height": 720}
NOTHING_DRAWN = """() => {
  const gl = robosim.stage.viewer.renderer.getContext();
  const calls = ["drawArrays", "drawElements", "drawArraysInstanced", "drawElementsInstanced"];
  for (const name of ["clear", ...calls]) gl[name] = () => {};
}"""
FRAME_TIMES = """() => new Promise((tell) => {
  const times = [];
  let last = performance.now();
  const loop = (now) => {
    times.push(now - last);
    last = now;
    if (times.length < 60) requestAnimationFrame(loop);
    else tell(times.slice(1));
  };
  requestAnimationFrame(loop);
})"""


def price(robot: robosim.Mechanism, seconds: float = 5.0) -> dict[str, float]:
    """Time of a run without a viewer, and what showing a frame adds, as a share of real time."""
    sim = robosim.Simulation(robot)
    sim.run(1.0, "stand")
    with Viewer(robot) as viewer:
        session = Session(sim, "stand", viewer)
        times = []
        for _ in range(int(60 * seconds)):
            begin = time.process_time()
            session._show()
            times.append(time.process_time() - begin)
    shown = float(np.median(times))
    return {"showing_a_frame_us": 1e6 * shown, "share_of_real_time": 60 * shown}


def page_alone(browser: Any, viewer: Viewer, seconds: float = 20.0) -> dict[str, float]:
    """What the page costs apart from filling pixels: [ms] for a frame of the robot, and frames."""
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    page.goto(viewer.url)
    time.sleep(5.0)
    page.evaluate(NOTHING_DRAWN)
    session = context.new_cdp_session(page)
    session.send("Performance.enable")

    def state() -> tuple[float, float, float]:
        metrics = {
            one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]
        }
        return time.monotonic(), page.evaluate("robosim.frames"), metrics["ScriptDuration"]

    time.sleep(2.0)
    begin = state()
    time.sleep(seconds)
    wall, drawn, scripts = np.subtract(state(), begin)
    context.close()
    return {"frames_a_second": drawn / wall, "scripts_ms": 1e3 * scripts / drawn}


def sample(page: Any, viewer: Viewer) -> dict[str, float]:
    """Memory [MB] and frame times [ms] now."""
    frames = np.array(page.evaluate(FRAME_TIMES))
    return {
        "simulation_mb": psutil.Process().memory_info().rss / 1e6,
        "server_mb": psutil.Process(viewer.pid).memory_info().rss / 1e6,
        "page_mb": page.evaluate("performance.memory.usedJSHeapSize") / 1e6,
        "frame_ms_median": float(np.median(frames)),
        "frame_ms_95": float(np.percentile(frames, 95)),
    }


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--model", default="a1_description")
    options = parser.parse_args()
    robot = robosim.load(options.model)
    found: dict[str, Any] = {"price": price(robot)}
    sim, ended = robosim.Simulation(robot), threading.Event()
    with Viewer(robot) as viewer, headless(args=["--enable-precise-memory-info"]) as browser:
        run = threading.Thread(
            target=lambda: live(sim, "stand", math.inf, viewer, stop=ended.is_set)
        )
        run.start()
        try:
            found["page_alone"] = page_alone(browser, viewer)
            page = browser.new_page(viewport=SIZE)
            page.goto(viewer.url)
            time.sleep(30.0)  # until what is made once has been
            found["start"] = sample(page, viewer)
            begin, wall, drawn = sim.time, time.monotonic(), page.evaluate("robosim.frames")
            time.sleep(60.0 * options.minutes)
            found["end"] = sample(page, viewer)
            wall = time.monotonic() - wall
            found["full_detail"] = page.evaluate("robosim.stage.detailed")
            found["real_time_factor"] = (sim.time - begin) / wall
            found["robot_frames_a_second"] = (page.evaluate("robosim.frames") - drawn) / wall
        finally:
            ended.set()
            run.join()
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
