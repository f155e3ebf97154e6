"""Final coordinates of MuJoCo from the home pose, beside those of robosim."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.loaders.writers import save
from robosim.measuring.runs import largest


def away_in_mujoco(
    robot: Mechanism, ours: ArrayLike, seconds: float, unit: str, controls: ArrayLike = ()
) -> dict[str, dict[str, Any]]:
    """Differences of MuJoCo's final coordinates from (nq,), with default and with best options.

    Parameters
    ----------
    robot : Mechanism
        Robot that is saved as MJCF, and started at home.
    ours : (nq,)
    seconds : float
    unit : str, of the coordinates
    controls : (number of actuators,), held
    """
    import mujoco

    peers = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "robot.xml"
        save(robot, path)
        model = mujoco.MjModel.from_xml_path(str(path))
    for name, integrator, dt in (
        ("mujoco_default", mujoco.mjtIntegrator.mjINT_EULER, 2e-3),
        ("mujoco_best", mujoco.mjtIntegrator.mjINT_RK4, 1e-4),
    ):
        model.opt.integrator, model.opt.timestep = integrator, dt
        data = mujoco.MjData(model)
        data.qpos[:], data.ctrl[:] = robot.home, controls
        for _ in range(round(seconds / dt)):
            mujoco.mj_step(model, data)
        settings = {"integrator": integrator.name, "timestep_s": dt}
        peers[name] = {
            "settings": settings,
            f"largest_difference_{unit}": largest(data.qpos - ours),
        }
    return peers
