"""A double pendulum swings for 60 s, in Genesis: drift of its energy, over its range."""

import json
import time

import genesis as gs
import numpy as np

gs.init(backend=gs.cpu, precision="64", logging_level="error")
RODS = """<mujoco><default><geom type="capsule" size="0.02" mass="1" contype="0" conaffinity="0"/>
<joint axis="0 1 0"/></default><worldbody><body><inertial pos="0 0 -0.5" mass="1"
diaginertia="{i} {i} {i}"/><joint/><geom fromto="0 0 0 0 0 -1"/><body pos="0 0 -1"><inertial
pos="0 0 -0.5" mass="1" diaginertia="{i} {i} {i}"/><joint/><geom fromto="0 0 0 0 0 -1"/></body>
</body></worldbody></mujoco>"""
RANGE, INERTIA = 2 * 9.81 * (0.5 + 1.5), 1 / 12  # [J], between both rods down and up; [kg m^2]


def energy(q: np.ndarray, v: np.ndarray) -> float:
    """Energy of rods of 1 kg and 1 m [J]."""
    a, b = np.cumsum(q)
    da, db = np.cumsum(v)
    turning = INERTIA * (da**2 + db**2) / 2
    moving = (da**2 / 4 + da**2 + db**2 / 4 + da * db * np.cos(a - b)) / 2
    return float(turning + moving - 9.81 * (1.5 * np.cos(a) + 0.5 * np.cos(b)))


for h in (1e-2, 5e-3, 2e-3, 1e-3):
    scene = gs.Scene(sim_options=gs.options.SimOptions(dt=h), show_viewer=False)
    # Joints would have an armature of 0.1 kg m^2 otherwise.
    file = gs.morphs.MJCF(file=RODS.format(i=INERTIA), default_armature=None)
    rods = scene.add_entity(file)
    scene.build()
    scene.step()  # compiles
    scene.reset()
    rods.set_qpos([1.5, 0.5])
    start = energy(np.array([1.5, 0.5]), np.zeros(2))
    begin = time.process_time()
    for _ in range(round(60 / h)):
        scene.step()
    cpu = time.process_time() - begin
    q, v = (np.array(x.tolist()) for x in (rods.get_qpos(), rods.get_dofs_velocity()))
    error = abs(energy(q, v) - start) / RANGE
    # All of its integrators give this, as nothing here is damped or driven.
    print(json.dumps({"setting": "default", "timestep": h, "error": error, "cpu": cpu}))
