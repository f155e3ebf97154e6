"""A quadruped trots over hills and maps them by its lidar: map.png, scans.mcap or scans.npz.

python examples/28_lidar_map.py [FOLDER]
"""

import argparse
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import robosim
from robosim.collision import HeightField
from robosim.sensors import Lidar

SIDE, CELL = 8.0, 0.1  # of the field, and of a cell of the map [m]


def hills() -> HeightField:
    x = np.linspace(-SIDE / 2, SIDE / 2, 161)
    waves = np.cos(1.1 * x)[:, None] * np.cos(0.9 * x)[None, :]
    return HeightField(0.05 * (waves - 1.0), size=(SIDE, SIDE), name="hills")


def build() -> robosim.Mechanism:
    """An A1 on hills, with a lidar on its back: 10 turns a second, noise of a centimetre."""
    robot = robosim.load("a1").with_contacts([hills()], ground=False)
    lidar = Lidar(
        "lidar", "trunk", rings=24, columns=180, vertical=(-0.7, 0.0), range=5.0,
        position=(0, 0, 0.15), exclude=[body.name for body in robot.bodies],
        rate=10.0, noise=0.01, dropout=0.05,
    )  # fmt: skip
    return robot.with_sensors([lidar])


def mapped(points: np.ndarray) -> np.ndarray:
    """The mean height of points in each cell, nan without any."""
    n = round(SIDE / CELL)
    cells = np.floor((points[:, :2] + SIDE / 2) / CELL).astype(int)
    inside = np.all((cells >= 0) & (cells < n), axis=1)
    index = np.ravel_multi_index(tuple(cells[inside].T), (n, n))
    counts = np.bincount(index, minlength=n * n)
    heights = np.bincount(index, weights=points[inside, 2], minlength=n * n)
    with np.errstate(invalid="ignore"):
        return (heights / counts).reshape(n, n)


def main(folder: Path) -> None:
    sim = robosim.Simulation(build(), timestep=2e-3)
    sim.place()
    sim.switch_on("lidar")
    clouds = []
    for _ in range(20):
        clouds.append(sim.sample("lidar").cloud)
        sim.run(0.1, "trot")
    every = np.concatenate(clouds)
    found = mapped(every)
    middle = (np.arange(len(found)) + 0.5) * CELL - SIDE / 2
    origins = np.stack((*np.meshgrid(middle, middle, indexing="ij"), np.ones(found.shape)), axis=-1)
    names = [body.name for body in sim.robot.bodies]
    true = sim.cast(origins.reshape(-1, 3), (0, 0, -1), exclude=names).point[:, 2]
    off = np.abs(found - true.reshape(found.shape))
    known = np.isfinite(found)
    print(f"{len(every)} points of {len(clouds)} turns, {np.linalg.norm(sim.q[:2]):.2f} m of trot")
    print(
        f"{known.mean():.0%} of the cells are known, half of them to {np.median(off[known]):.3f} m"
    )

    figure = Figure(figsize=(9, 4), layout="constrained")
    extent = (-SIDE / 2, SIDE / 2, -SIDE / 2, SIDE / 2)
    for axes, (title, shown) in zip(
        figure.subplots(1, 2),
        {"map": found, "hills": true.reshape(found.shape)}.items(),
        strict=True,
    ):
        image = axes.imshow(shown.T, origin="lower", extent=extent, vmin=-0.1, vmax=0.0)
        axes.set(title=title, xlabel="x [m]", ylabel="y [m]")
    figure.colorbar(image, ax=figure.axes, label="height [m]")
    figure.savefig(folder / "map.png", dpi=120)

    # The same sensor in a log: PointCloud2 messages in an .mcap file.
    log = sim.run(0.5, "trot", also="sensor:lidar", every=10)
    path = folder / ("scans.mcap" if find_spec("mcap_ros2") else "scans.npz")
    log.save(path)
    times, scans = log.scan("lidar")
    print(f"logged: {len(times)} scans of shape {scans.shape[1:]} in {path.name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
