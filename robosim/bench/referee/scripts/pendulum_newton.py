"""A double pendulum swings for 60 s, in Newton: drift of its energy, over its range."""

import json
import math
import time

import newton
import numpy as np
import warp as wp

wp.config.quiet = True
Kamino = newton.solvers.SolverKamino
RANGE, INERTIA = 2 * 9.81 * (0.5 + 1.5), 1 / 12  # [J], between both rods down and up; [kg m^2]
ANGLES = (1.5, 2.0)  # of the rods to the vertical, about y [rad]


def energy(state: newton.State) -> float:
    """Energy of rods of 1 kg and 1 m [J]."""
    motion = state.body_qd.numpy().astype(float)
    speeds, turns = (motion[:, :3] ** 2).sum(), (motion[:, 3:] ** 2).sum()
    return float(speeds / 2 + INERTIA * turns / 2 + 9.81 * state.body_q.numpy()[:, 2].sum())


for backend in ("padmm",):
    for h in (1e-2,):
        builder = newton.ModelBuilder(gravity=(0.0, 0.0, -9.81))
        Kamino.register_custom_attributes(builder)
        joints: list[int] = []
        before, begin_of = -1, np.zeros(3)
        for angle in ANGLES:
            down = np.array([-math.sin(angle), 0, -math.cos(angle)])
            turn = wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), angle)
            moments = wp.mat33(INERTIA, 0, 0, 0, INERTIA, 0, 0, 0, INERTIA)
            at = wp.transform(tuple(begin_of + down / 2), turn)
            rod = builder.add_link(xform=at, mass=1.0, inertia=moments)
            top = wp.transform((0, 0, 0.5), wp.quat_identity())
            tip = wp.transform((0, 0, 0 if before < 0 else -0.5), wp.quat_identity())
            joint = builder.add_joint_revolute(
                before, rod, parent_xform=tip, child_xform=top, axis=(0.0, 1.0, 0.0)
            )
            joints, before, begin_of = [*joints, joint], rod, begin_of + down
        builder.add_articulation(joints)
        builder.joint_q[:2] = ANGLES[0], ANGLES[1] - ANGLES[0]
        model = builder.finalize()
        solver = Kamino(model, Kamino.Config(dynamics_solver=backend))
        control, first, second = model.control(), model.state(), model.state()
        newton.eval_fk(model, model.joint_q, model.joint_qd, first)
        start = energy(first)
        solver.step(first, second, control, None, h)  # compiles
        begin = time.process_time()
        for _ in range(round(60 / h)):
            solver.step(first, second, control, None, h)
            first, second = second, first
        cpu = time.process_time() - begin
        error = abs(energy(first) - start) / RANGE
        print(json.dumps({"setting": backend, "timestep": h, "error": error, "cpu": cpu}))
