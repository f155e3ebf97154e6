"""A quadruped trots over hills and maps them by its lidar: map.png, scans.npz."""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import robosim
from robosim.collision import HeightField
from robosim.sensors import Lidar

SIDE, CELL = 8.0, 0.1  # of the field, and of a cell of the map [m]
N = round(SIDE / CELL)


def build() -> robosim.Mechanism:
    """An A1 on hills, with a lidar on its back: 10 turns a second, noise of a centimetre."""
    x = np.linspace(-SIDE / 2, SIDE / 2, 161)
    waves = np.cos(1.1 * x)[:, None] * np.cos(0.9 * x)[None, :]
    hills = HeightField(0.05 * (waves - 1.0), size=(SIDE, SIDE), name="hills")
    robot = robosim.load("a1").with_contacts([hills], ground=False)
    lidar = Lidar(
        "lidar", "trunk", rings=24, columns=180, vertical=(-0.7, 0.0), range=5.0,
        position=(0, 0, 0.15), exclude=[body.name for body in robot.bodies],
        rate=10.0, noise=0.01, dropout=0.05,
    )  # fmt: skip
    return robot.with_sensors(lidar)


def mapped(points: np.ndarray) -> np.ndarray:
    """The mean height of points in each cell, nan without any."""
    cells = np.floor((points[:, :2] + SIDE / 2) / CELL).astype(int)
    inside = np.all((cells >= 0) & (cells < N), axis=1)
    index = np.ravel_multi_index(tuple(cells[inside].T), (N, N))
    heights = np.bincount(index, weights=points[inside, 2], minlength=N * N)
    with np.errstate(invalid="ignore"):
        return (heights / np.bincount(index, minlength=N * N)).reshape(N, N)


def main(folder: Path) -> None:
    sim = robosim.Simulation(build(), timestep=2e-3)
    sim.place()
    clouds = []
    for _ in range(20):
        clouds.append(sim.sample("lidar").cloud)
        sim.run(0.1, "trot")
    points = np.concatenate(clouds)
    found, middle = mapped(points), (np.arange(N) + 0.5) * CELL - SIDE / 2
    x, y = (one.ravel() for one in np.meshgrid(middle, middle, indexing="ij"))
    above, names = np.column_stack((x, y, 0 * x + 1)), [body.name for body in sim.robot.bodies]
    true = sim.cast(above, (0, 0, -1), exclude=names).point[:, 2].reshape(N, N)
    known, off = np.isfinite(found), np.nanmedian(np.abs(found - true))
    print(f"{len(points)} points of 20 turns, {np.linalg.norm(sim.q[:2]):.2f} m of trot")
    print(f"{known.mean():.0%} of the cells are known, half of them to {off:.3f} m")

    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="cells along x", ylabel="cells along y")
    figure.colorbar(axes.imshow(found.T, origin="lower"), label="height [m]")
    figure.savefig(folder / "map.png", dpi=120)
    log = sim.run(0.5, "trot", also="sensor:lidar", every=10)
    log.save(folder / "scans.npz")
    print(f"logged: {len(log.scan('lidar')[0])} scans of shape {log.scan('lidar')[1].shape[1:]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
