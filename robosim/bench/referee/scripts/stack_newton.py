"""Five cubes stand on each other for 2 s, in Newton: how far the top sinks or wanders [m]."""

import json
import math
import time

import newton
import warp as wp

wp.config.quiet = True
Kamino = newton.solvers.SolverKamino
heights = [0.05 + 0.1 * k for k in range(5)]
for backend in ("padmm", "dvi", "lox"):
    for h in (1e-2, 5e-3, 2e-3):
        builder = newton.ModelBuilder(gravity=(0.0, 0.0, -9.81))
        Kamino.register_custom_attributes(builder)
        shape = builder.default_shape_cfg
        shape.mu, shape.density, shape.margin, shape.gap = 1.0, 1000.0, 0.0, 0.0
        for z in heights:
            cube = builder.add_body(xform=wp.transform((0, 0, z), wp.quat_identity()))
            builder.add_shape_box(cube, hx=0.05, hy=0.05, hz=0.05)
        builder.add_ground_plane()
        model = builder.finalize()
        config = Kamino.Config(dynamics_solver=backend, use_collision_detector=True)
        solver, control = Kamino(model, config), model.control()
        first, second = model.state(), model.state()
        newton.eval_fk(model, model.joint_q, model.joint_qd, first)
        solver.step(first, second, control, None, h)  # compiles
        begin = time.process_time()
        for _ in range(round(2 / h)):
            solver.step(first, second, control, None, h)
            first, second = second, first
        cpu = time.process_time() - begin
        error = math.dist(first.body_q.numpy()[-1, :3].tolist(), (0, 0, heights[-1]))
        print(json.dumps({"setting": backend, "timestep": h, "error": error, "cpu": cpu}))
