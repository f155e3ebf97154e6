"""Identification of a legged robot from the same log, by MuJoCo's toolbox (`mujoco.sysid`)."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.identification.windows import windows_of
from robosim.log import Log
from robosim.peers.mujoco_run import MuJoCoRun, Settings, quiet
from robosim.validation import Array

RANGE = 10.0  # largest factor of the parameters, up or down
NOISE = 1e-4, 1e-2  # standard deviations for q and v, which weight the errors


def toolbox() -> Any:
    """`mujoco.sysid`, or None if it, or one of its dependencies, is not installed."""
    try:
        import mujoco.sysid
    except ImportError:
        return None
    return mujoco.sysid if hasattr(mujoco.sysid, "optimize") else None


def by_sysid(
    robot: Mechanism,
    log: Log,
    window: float,
    trunk: str,
    feet: tuple[str, ...],
    settings: Settings,
) -> dict[str, float]:
    """The trunk's mass, a factor of all damping, and the friction of the feet.

    Windows begin at measured states, as the toolbox does not estimate initial states. MuJoCo runs
    with `settings`.

    Raises
    ------
    OptionError
        As `windows_of` does.
    """
    import mujoco

    sysid = toolbox()
    run = MuJoCoRun(robot, log.timestep, settings)
    model, data = run.model, run.data
    windows = windows_of(robot, [log], window)
    forces, _ = windows.torques(0.0)
    actuated = np.asarray(robot.actuated)
    bodies = {
        name: model.body(robot.bodies[robot.body_or_frame(name)[0]].name).id
        for name in (trunk, *feet)
    }
    body = bodies[trunk]
    mass, damping = float(model.body_mass[body]), model.dof_damping.copy()
    own = {foot: np.flatnonzero(model.geom_bodyid == bodies[foot]) for foot in feet}
    params = sysid.ParameterDict()
    start = {f"mass:{trunk}": mass, "damping": 1.0}
    start |= {f"friction:{foot}": robot.contacts[0].friction for foot in feet}
    for name, value in start.items():
        params.add(sysid.Parameter(name, value, value / RANGE, value * RANGE))

    def residual(x: Array, _: Any) -> Any:
        values = dict(zip(start, np.ravel(x), strict=True))
        model.body_mass[body] = values[f"mass:{trunk}"]
        model.dof_damping[:] = values["damping"] * damping
        for foot in feet:
            model.geom_friction[own[foot], 0] = values[f"friction:{foot}"]
        errors = []
        for q, v, tau in zip(windows.q, windows.v, forces, strict=True):
            run.set_state(q[0], v[0])
            for k, push in enumerate(tau):
                data.qfrc_applied[actuated] = push
                mujoco.mj_step(model, data)
                away = np.zeros(model.nv)
                mujoco.mj_differentiatePos(model, away, 1.0, q[k + 1], data.qpos)
                errors += [away / NOISE[0], (data.qvel - v[k + 1]) / NOISE[1]]
        return [np.concatenate(errors)], None, None

    # The toolbox's optimizer always prints.
    with quiet(mujoco), redirect_stdout(StringIO()):
        found, _ = sysid.optimize(params, residual, optimizer="scipy", verbose=False)
    return dict(zip(start, np.ravel(found.as_vector()).tolist(), strict=True))
