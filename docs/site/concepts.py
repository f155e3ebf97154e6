"""The pictures of docs/concepts.md, from real runs, for light and dark pages.

    python docs/site/concepts.py

Runs of MuJoCo, at its defaults, are those of examples/beside_mujoco and of one more scene below.
"""

import io
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import mujoco
import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from PIL import Image

import robosim
from robosim.models.builders import double_pendulum, pendulum
from robosim.quaternions import rotation_matrix

matplotlib.use("Agg")
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/images/concepts"
COLOURS = 64  # of a file
LARGEST = 60_000  # bytes of a file
SIZE, DPI = (7.6, 2.9), 130  # [inches]
THEMES = {
    "": {"ink": "#1f2328", "paper": "#ffffff", "ours": "#1a7f37", "theirs": "#cf222e",
         "other": "#0969da", "faint": "#8c959f"},
    "-dark": {"ink": "#e6edf3", "paper": "#0d1117", "ours": "#56d364", "theirs": "#ff7b72",
              "other": "#58a6ff", "faint": "#6e7681"},
}  # fmt: skip
GRAVITY = 9.81
FRICTION = 0.5
PUSHED = f"""<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="9 9 1" friction="{FRICTION}"/>
    <body name="cube" pos="0 0 0.1"><freejoint/>
      <geom type="box" size="0.1 0.1 0.1" mass="1" friction="{FRICTION}"/></body>
  </worldbody>
</mujoco>"""
MOST, SECONDS = 8.0, 2.0  # [N], a push along x that grows over so long [s]

Colours = dict[str, str]


# Maximal coordinates


def swinging() -> tuple[robosim.Simulation, np.ndarray]:
    """A double pendulum some time after its start, and the path of its lower end (n, 2)."""
    robot = double_pendulum()
    sim = robosim.Simulation(robot, timestep=0.005)
    sim.set_state([1.9, 0.4])
    path = []
    while sim.time < 0.55:
        sim.step()
        path.append(ends(sim)[2])
    return sim, np.array(path)


def ends(sim: robosim.Simulation) -> np.ndarray:
    """The pivot, the pin between the rods, and the end of the lower one, (3, 2) in x and z."""
    found = [np.zeros(3)]
    for x, q in zip(sim.state.x, sim.state.q, strict=True):
        found.append(x + (x - found[-1]))
        assert abs(np.linalg.norm(rotation_matrix(q)[:, 2]) - 1) < 1e-12
    return np.array(found)[:, [0, 2]]


def coordinates(axes: list[Axes], c: Colours) -> None:
    sim, path = swinging()
    places = ends(sim)
    for ax in axes[:2]:
        ax.plot(*path.T, color=c["faint"], lw=1)
        ax.set(aspect="equal", xlim=(-2.0, 0.7), ylim=(-1.9, 0.6))
        ax.axis("off")
    axes[0].plot(*places.T, color=c["ink"], lw=3, marker="o", ms=7, mfc=c["paper"])
    before = 0.0
    for (x, z), angle, name in zip(places, np.cumsum(sim.q), ("$q_1$", "$q_2$"), strict=False):
        turns = np.linspace(before, angle, 30)
        along = np.array([-np.sin(turns), -np.cos(turns)])
        axes[0].plot([x, x + 0.6 * along[0, 0]], [z, z + 0.6 * along[1, 0]],
                     color=c["faint"], lw=1, ls="--")  # fmt: skip
        axes[0].plot(x + 0.4 * along[0], z + 0.4 * along[1], color=c["other"])
        axes[0].text(x + 0.6 * along[0, 15], z + 0.6 * along[1, 15], name,
                     color=c["other"], ha="center", va="center", fontsize=11)  # fmt: skip
        before = angle
    axes[0].set_title("joint coordinates: 2 angles", fontsize=9)
    axes[1].set_title("maximal: 2 poses, 2 joints", fontsize=9)
    for k, (x, q) in enumerate(zip(sim.state.x, sim.state.q, strict=True)):
        middle, along = x[[0, 2]], (places[k + 1] - places[k]) / 2
        rod = np.array([middle - 0.86 * along, middle + 0.86 * along])
        axes[1].plot(*rod.T, color=c["ink"], lw=3, solid_capstyle="round")
        R = rotation_matrix(q)
        for axis, colour in ((0, c["theirs"]), (2, c["other"])):
            tip = 0.42 * R[[0, 2], axis]
            arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.5, "shrinkA": 0, "shrinkB": 0}
            axes[1].annotate("", middle + tip, middle, arrowprops=arrow)
    axes[1].plot(*places[:2].T, ls="", marker="o", ms=9, mfc="none", mec=c["ours"], mew=2)
    loops(axes[2], c)


def loops(ax: Axes, c: Colours) -> None:
    found = runpy.run_path(str(ROOT / "examples/beside_mujoco/four_bar.py"))
    theirs = [(d.time, np.linalg.norm(np.subtract(*d.site_xpos))) for d in found["in_mujoco"]()]
    ours = [(s.time, s.constraint_violation()) for s in found["in_robosim"]()]
    ax.semilogy(*np.array(theirs).T, color=c["theirs"], lw=1)
    ax.semilogy(*np.array(ours).T, color=c["ours"], lw=1)
    ax.set(ylim=(1e-18, 1), xlabel="time [s]", title="a pin of a four-bar opens by [m]")
    ax.text(1.5, 1e-5, "MuJoCo, default", color=c["theirs"], ha="center", fontsize=8)
    ax.text(1.5, 1e-9, "robosim", color=c["ours"], ha="center", fontsize=8)


# A variational step

STEP = 0.07  # [s]


def euler(explicit: bool, seconds: float, q: float) -> np.ndarray:
    """Angles, rates and energies (n, 3) of a rod of 1 m and 1 kg, by Euler's methods."""
    v, rows = 0.0, []
    for _ in range(round(seconds / STEP)):
        rows.append((q, v, v**2 / 6 - GRAVITY / 2 * np.cos(q)))
        force = -1.5 * GRAVITY * np.sin(q)
        if explicit:
            q, v = q + STEP * v, v + STEP * force
        else:  # the rate first, as in most simulators of robots
            v = v + STEP * force
            q = q + STEP * v
    return np.array(rows)


def variational(seconds: float, q: float) -> np.ndarray:
    sim = robosim.Simulation(pendulum(), timestep=STEP)
    sim.set_state([q])
    rows = []
    for _ in range(round(seconds / STEP)):
        rows.append((sim.q[0], sim.v[0], sim.energy()))
        sim.step()
    return np.array(rows)


def steps(axes: list[Axes], c: Colours) -> None:
    thrown(axes[0], c)
    start = 2.0
    runs = (
        ("explicit Euler", c["theirs"], euler(True, 1.5, start)),
        ("semi-implicit Euler", c["other"], euler(False, 60, start)),
        ("variational", c["ours"], variational(60, start)),
    )
    for ax, column in ((axes[1], 1), (axes[2], 2)):
        for _, colour, rows in runs:
            time = STEP * np.arange(len(rows))
            if column == 1:
                ax.plot(rows[:200, 0], rows[:200, 1], color=colour, ls="", marker=".", ms=3)
            else:
                ax.plot(time, rows[:, 2] - rows[0, 2], color=colour, lw=1)
    axes[1].set(xlabel="angle [rad]", title="a pendulum: rate [rad/s]", ylim=(-9, 9))
    axes[2].set(xlabel="time [s]", title="its energy, less that at first [J]", ylim=(-2, 3.4))
    for k, (name, colour, _) in enumerate(runs):
        axes[2].text(0.97, 0.96 - 0.1 * k, name, color=colour, fontsize=8, ha="right", va="top",
                     transform=axes[2].transAxes)  # fmt: skip


def thrown(ax: Axes, c: Colours) -> None:
    """A ball thrown with five steps of 0.16 s: knots of the step, and Euler's method beside."""
    dt, n, v = 0.16, 5, np.array([2.0, 3.6])
    sim = robosim.Simulation(robosim.load("sphere", ground=False), timestep=dt)
    q, rate = np.array(robosim.load("sphere", ground=False).home), np.zeros(6)
    q[:3], rate[[0, 2]] = 0.0, v
    sim.set_state(q, rate)
    knots = [sim.q[[0, 2]]]
    for _ in range(n):
        sim.step()
        knots.append(sim.q[[0, 2]])
    t = np.linspace(0, n * dt, 100)[:, None]
    true = v * t - np.array([0, GRAVITY / 2]) * t**2
    off = (
        v * dt * np.arange(n + 1)[:, None]
        - np.array([0, GRAVITY * dt**2 / 2]) * (np.arange(n + 1) * np.arange(-1, n))[:, None]
    )
    ax.plot(*true.T, color=c["faint"], lw=1)
    ax.plot(*np.array(off).T, color=c["theirs"], marker="o", ms=4, lw=1)
    ax.plot(*np.array(knots).T, color=c["ours"], marker="o", ms=4, lw=1)
    ax.set(title="a thrown ball: height [m]", xlabel="way [m]")


# Hard contact


def pushed() -> tuple[np.ndarray, np.ndarray]:
    """Speeds [m/s] and tangential forces [N] of a cube under a growing push, of both, (n, 2)."""
    model = mujoco.MjModel.from_xml_string(PUSHED)
    data, theirs = mujoco.MjData(model), []
    while data.time < 0.5:
        mujoco.mj_step(model, data)
    data.time = 0.0
    while data.time < SECONDS:
        push = MOST * data.time / SECONDS
        data.xfrc_applied[1, 0] = push
        before = data.qvel[0]
        mujoco.mj_step(model, data)
        theirs.append((data.qvel[0], push - (data.qvel[0] - before) / model.opt.timestep))
    sim, ours = robosim.Simulation(robosim.load(PUSHED), timestep=0.002), []
    while sim.time < SECONDS - 1e-9:
        sim.apply_wrench("cube", (MOST * sim.time / SECONDS, 0.0, 0.0))
        sim.step()
        ours.append((sim.v[0], -sum(contact.force[0] for contact in sim.contacts())))
    return np.array(theirs), np.array(ours)


def landing() -> tuple[np.ndarray, np.ndarray]:
    """Gaps [m] and normal forces [N] of a cube that lands, of both, (n, 2)."""
    found = runpy.run_path(str(ROOT / "examples/beside_mujoco/cube.py"))

    def theirs() -> Iterator[tuple[float, float]]:
        before, mass, dt = 0.0, 1.0, 0.002
        for data in found["in_mujoco"]():
            yield data.qpos[2] - 0.25, mass * ((data.qvel[2] - before) / dt + GRAVITY)
            before = data.qvel[2]

    def ours() -> Iterator[tuple[float, float]]:
        for sim in found["in_robosim"]():
            yield sim.q[2] - 0.25, sum(contact.force[2] for contact in sim.contacts())

    return np.array(list(theirs())), np.array(list(ours()))


def contacts(axes: list[Axes], c: Colours) -> None:
    theirs, ours = landing()
    ax = axes[0]
    ax.axvspan(-25, 0, color=c["faint"], alpha=0.15, lw=0)
    for rows, colour in ((theirs, c["theirs"]), (ours, c["ours"])):
        ax.plot(1e3 * rows[:, 0], rows[:, 1], color=colour, ls="", marker=".", ms=4)
    ax.set(xlim=(-25, 60), yscale="symlog", ylim=(-3, 3e3), xlabel="gap [mm]",
           title="a cube lands: normal force [N]")  # fmt: skip
    ax.text(-23.5, 1500, "inside\nthe ground", color=c["ink"], fontsize=7, va="top")
    theirs, ours = pushed()
    ax = axes[1]
    bound = FRICTION * GRAVITY
    ax.axhline(bound, color=c["faint"], lw=1, ls="--")
    ax.text(1.2, bound + 0.1, r"$\mu N$", color=c["ink"], ha="right", va="bottom", fontsize=9)
    for rows, colour in ((theirs, c["theirs"]), (ours, c["ours"])):
        ax.plot(1e3 * rows[:, 0], rows[:, 1], color=colour, ls="", marker=".", ms=4)
    ax.set(xlim=(-0.5, 10), ylim=(0, 6), xlabel="speed [mm/s]",
           title="a cube is pushed: friction [N]")  # fmt: skip
    for k, (name, colour) in enumerate((("MuJoCo, default", "theirs"), ("robosim", "ours"))):
        ax.text(0.97, 0.06 + 0.09 * k, name, color=c[colour], fontsize=8, ha="right",
                transform=ax.transAxes)  # fmt: skip


PICTURES: dict[str, tuple[int, Callable[[list[Axes], Colours], None]]] = {
    "coordinates": (3, coordinates),
    "steps": (3, steps),
    "contacts": (2, contacts),
}


def styled(c: Colours) -> dict[str, Any]:
    ink = dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), c["ink"]
    )
    paper = dict.fromkeys(("figure.facecolor", "axes.facecolor"), c["paper"])
    return ink | paper | {
        "font.size": 8, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False,
    }  # fmt: skip


def write(name: str) -> None:
    """Draw one picture, for both themes."""
    panels, draw = PICTURES[name]
    for theme, colours in THEMES.items():
        with pyplot.rc_context(styled(colours)):
            figure, axes = pyplot.subplots(1, panels, figsize=SIZE, layout="constrained")
            draw(list(axes), colours)
            made = io.BytesIO()
            figure.savefig(made, dpi=DPI)
            pyplot.close(figure)
        path = FOLDER / f"{name}{theme}.png"
        Image.open(made).convert("RGB").quantize(COLOURS).save(path, optimize=True)
        size = path.stat().st_size
        assert size < LARGEST, f"{path.name} has {size} bytes"
        print(f"{path.relative_to(ROOT)}: {size / 1e3:.0f} kB")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        write(name)
