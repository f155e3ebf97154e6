"""The main job's experiments in MuJoCo: at its defaults, and at the best settings that we found.

Without MuJoCo every function returns no rows.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import robosim
from robosim import models

try:
    import mujoco
except ImportError:
    mujoco = None

Row = dict[str, Any]
STAND = np.tile([0.0, 0.8, -1.6], 4)
GAINS = (np.tile([100.0, 80.0, 60.0], 4), np.tile([5.0, 4.0, 3.0], 4))


def mujoco_a1(repetitions: int) -> list[Row]:
    """The shipped A1 under the same PD, dropped 1 cm, dt 1 ms, friction 0.8."""
    if mujoco is None:
        return []
    stiff = {"solref": (0.002, 1.0), "solimp": (0.9999, 0.9999, 0.001, 0.5, 2), "cone": 1}
    return [
        _stand("MuJoCo, default", {}, repetitions),
        _stand("MuJoCo, stiff elliptic contacts, impratio 100", stiff, repetitions),
    ]


def _a1_model(settings: dict[str, Any]) -> Any:
    spec = mujoco.MjSpec.from_file(str(models.path("a1")))
    spec.option.timestep = 1e-3
    if settings.get("cone"):
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.impratio = 100
    root = spec.worldbody.first_body()
    root.add_freejoint()
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1], contype=2, conaffinity=1
    )
    for geom in spec.geoms:
        if geom.type != mujoco.mjtGeom.mjGEOM_PLANE and geom.contype:
            # Against the ground only: our own run has no self-collision either.
            geom.contype, geom.conaffinity = 1, 2
        geom.friction = [0.8, 0.005, 0.0001]
        geom.solref = settings.get("solref", geom.solref)
        geom.solimp = settings.get("solimp", geom.solimp)
    names = [joint.name for joint in robosim.load("a1").joints if joint.actuated]
    for name, kp, kd in zip(names, *GAINS, strict=True):
        actuator = spec.add_actuator(name=f"{name}_pd", target=name)
        actuator.trntype = mujoco.mjtTrn.mjTRN_JOINT
        actuator.gaintype = mujoco.mjtGain.mjGAIN_FIXED
        actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        actuator.gainprm[0] = kp
        actuator.biasprm[1], actuator.biasprm[2] = -kp, -kd
    return spec.compile()


def _stand(label: str, settings: dict[str, Any], repetitions: int) -> Row:
    model = _a1_model(settings)
    data = mujoco.MjData(model)
    robot = robosim.load("a1")
    data.qpos[:] = np.array(robot.home)
    data.qpos[2] += 0.01
    data.ctrl[:] = STAND
    feet = [
        geom
        for geom in range(model.ngeom)
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_SPHERE and model.geom_contype[geom] == 1
    ]
    deepest, before = 0.0, None
    for k in range(10_000):
        mujoco.mj_step(model, data)
        if data.ncon:
            deepest = min(deepest, float(data.contact.dist.min()))
        if k == 999:
            before = data.geom_xpos[feet].copy()
    drift = np.linalg.norm((data.geom_xpos[feet] - before)[:, :2], axis=1).max()
    resting = float(data.contact.dist.min())
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        mujoco.mj_step(model, data, nstep=1000)
        times.append(time.perf_counter() - start)
    return {
        "experiment": f"a1 standing, dropped 0.01 m, dt 1 ms: {label}",
        "us_per_step": float(np.median(times)) * 1e3,
        "worst_penetration_m": -deepest,
        "resting_gap_m": resting,
        "foot_drift_1_to_10_s_m": float(drift),
    }


def mujoco_cube() -> list[Row]:
    """The cube of 0.5 m and 1 kg dropped by 0.4 m, dt 10 ms."""
    if mujoco is None:
        return []
    rows = []
    for label, option, geom in (
        ("MuJoCo, default", "", ""),
        ("MuJoCo, RK4, solref .01, refsafe off", 'integrator="RK4"', 'solref=".01 1"'),
    ):
        flag = '<flag refsafe="disable"/>' if option else ""
        model = mujoco.MjModel.from_xml_string(f"""
            <mujoco><option timestep="0.01" {option}>{flag}</option><worldbody>
            <geom type="plane" size="5 5 .1" {geom}/>
            <body pos="0 0 .65"><freejoint/>
            <geom type="box" size=".25 .25 .25" mass="1" {geom}/></body>
            </worldbody></mujoco>""")
        data = mujoco.MjData(model)
        lowest = np.inf
        for _ in range(200):
            mujoco.mj_step(model, data)
            lowest = min(lowest, float(data.qpos[2]) - 0.25)
        rows.append(
            {
                "experiment": f"cube dropped 0.4 m, dt 10 ms: {label}",
                "worst_penetration_m": max(0.0, -lowest),
                "resting_gap_m": float(data.qpos[2]) - 0.25,
            }
        )
    return rows


def mujoco_double_pendulum(seconds: float) -> list[Row]:
    """Two uniform rods of 1 m and 1 kg from 90 and 45 degrees, dt 10 ms."""
    if mujoco is None:
        return []
    rows = []
    for integrator in ("Euler", "RK4"):
        rod = 'type="capsule" fromto="0 0 0 0 0 -1" size=".01" contype="0" conaffinity="0"'
        inertial = '<inertial pos="0 0 -.5" mass="1" diaginertia=".083333 .083333 .0001"/>'
        model = mujoco.MjModel.from_xml_string(f"""
            <mujoco><option timestep="0.01" integrator="{integrator}">
            <flag energy="enable"/></option><worldbody>
            <body><joint axis="0 1 0"/>{inertial}<geom {rod}/>
            <body pos="0 0 -1"><joint axis="0 1 0"/>{inertial}<geom {rod}/></body></body>
            </worldbody></mujoco>""")
        data = mujoco.MjData(model)
        data.qpos[:] = [np.pi / 2, np.pi / 4]
        energies = []
        for _ in range(round(seconds / 0.01)):
            mujoco.mj_step(model, data)
            energies.append(float(data.energy.sum()))
        E = np.array(energies)
        t = np.linspace(0.0, seconds, len(E))
        rows.append(
            {
                "experiment": f"double pendulum, {seconds:g} s, dt 10 ms: MuJoCo, {integrator}",
                "energy_deviation_max_J": float(np.abs(E - E[0]).max()),
                "energy_trend_J": float(np.polyfit(t, E, 1)[0] * seconds),
            }
        )
    return rows
