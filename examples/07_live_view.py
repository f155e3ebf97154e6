"""The A1 live in the browser, in real time, and the same run as a page that replays.

python examples/07_live_view.py [FOLDER] [--seconds 10] [--open]
"""

import argparse
import tempfile
from pathlib import Path

import robosim
from robosim import viz


def main(out: Path, seconds: float, open_browser: bool) -> None:
    robot = robosim.load("a1")
    sim = robosim.Simulation(robot)
    q = sim.q.copy()
    q[2] += 0.1  # let it drop
    sim.set_state(q)
    recorder = viz.Recorder(robot, fps=30)
    with viz.Viewer(robot, open_browser=open_browser, quiet=True) as viewer:
        print(f"live at {viewer.url} for {seconds:g} s", flush=True)
        report = viz.live(sim, "stand", seconds=seconds, viewer=viewer, recorder=recorder)
    recorder.save(out / "replay.html")
    print(f"{report.frames} frames, {report.real_time_factor:.3f} times real time")
    print(f"replay: {out / 'replay.html'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--open", action="store_true", help="open the default browser")
    arguments = parser.parse_args()
    main(arguments.folder or Path(tempfile.mkdtemp()), arguments.seconds, arguments.open)
