"""A loop of three rods swings for 10 s, in Newton: largest distance of its closing pin [m]."""

import json
import time

import newton
import numpy as np
import warp as wp

wp.config.quiet = True
Kamino = newton.solvers.SolverKamino
# Middles and ends of the rods, from where each begins, and their moments of inertia about y.
RODS = (((0, 0, -0.25), 0.25 / 12), ((0.4, 0, 0), 0.64 / 12), ((0, 0, 0.25), 0.25 / 12))
MIDDLES = ((0, 0, -0.25), (0.4, 0, -0.5), (0.8, 0, -0.25))  # in the world, at the start
TURNS = (2.0, 0.0, 2.0)  # about y [rad/s], at the start
END, NONE = np.array([0.8, 0, 0]), wp.quat_identity()


def place(*at: float) -> wp.transform:
    """A place without a turn."""
    return wp.transform(at, NONE)


for backend in ("padmm", "dvi", "lox"):
    for h in (1e-2,):
        builder = newton.ModelBuilder(gravity=(0.0, 0.0, -9.81))
        Kamino.register_custom_attributes(builder)
        joints: list[int] = []
        before, at = -1, (0.0, 0.0, 0.0)
        for (middle, inertia), center in zip(RODS, MIDDLES, strict=True):
            moments = wp.mat33(inertia, 0, 0, 0, inertia, 0, 0, 0, inertia)
            rod = builder.add_link(xform=place(*center), mass=1.0, inertia=moments)
            pins = {"parent_xform": place(*at), "child_xform": place(*(-x for x in middle))}
            joints.append(builder.add_joint_revolute(before, rod, axis=(0.0, 1.0, 0.0), **pins))
            before, at = rod, middle
        builder.add_articulation(joints)
        pins = {"parent_xform": place(*END), "child_xform": place(0, 0, 0.25)}
        builder.add_joint_revolute(-1, before, axis=(0.0, 1.0, 0.0), **pins)  # closes the loop
        model = builder.finalize(skip_validation_joints=True)
        solver = Kamino(model, Kamino.Config(dynamics_solver=backend))
        control, first, second = model.control(), model.state(), model.state()
        solver.step(first, second, control, None, h)  # compiles
        first = model.state()
        motion, error = np.zeros((3, 6), dtype=np.float32), 0.0
        motion[:, 4] = TURNS
        motion[:, :3] = np.cross(np.array([[0, w, 0] for w in TURNS]), [m for m, _ in RODS])
        motion[1, :3] = np.cross([0, 2, 0], [0, 0, -0.5])
        motion[2, :3] = np.cross([0, 2, 0], [0, 0, -0.25])
        first.body_qd.assign(motion)
        begin = time.process_time()
        for _ in range(round(10 / h)):
            solver.step(first, second, control, None, h)
            first, second = second, first
            x, (i, j, k, w) = np.split(first.body_q.numpy()[2], [3])
            up = np.array([2 * (i * k + w * j), 2 * (j * k - w * i), w * w - i * i - j * j + k * k])
            error = max(error, float(np.linalg.norm(x + 0.25 * up - END)))
        cpu = time.process_time() - begin
        print(json.dumps({"setting": backend, "timestep": h, "error": error, "cpu": cpu}))
