"""A cube falls 0.4 m onto its side, in Newton: deepest penetration [m]."""

import json
import time

import newton
import warp as wp

wp.config.quiet = True
Kamino = newton.solvers.SolverKamino
for backend in ("padmm", "dvi", "lox"):
    for h in (1e-2, 5e-3, 2e-3):
        builder = newton.ModelBuilder(gravity=(0.0, 0.0, -9.81))
        Kamino.register_custom_attributes(builder)
        shape = builder.default_shape_cfg
        shape.mu, shape.density, shape.margin, shape.gap = 0.5, 8.0, 0.0, 0.0
        cube = builder.add_body(xform=wp.transform((0, 0, 0.65), wp.quat_identity()))
        builder.add_shape_box(cube, hx=0.25, hy=0.25, hz=0.25)
        builder.add_ground_plane()
        model = builder.finalize()
        config = Kamino.Config(dynamics_solver=backend, use_collision_detector=True)
        solver, control = Kamino(model, config), model.control()
        first, second = model.state(), model.state()
        newton.eval_fk(model, model.joint_q, model.joint_qd, first)
        solver.step(first, second, control, None, h)  # compiles
        lowest = 1.0
        begin = time.process_time()
        for _ in range(round(1 / h)):
            solver.step(first, second, control, None, h)
            first, second = second, first
            lowest = min(lowest, float(first.body_q.numpy()[0, 2]))
        cpu = time.process_time() - begin
        error = max(0.0, 0.25 - lowest)
        print(json.dumps({"setting": backend, "timestep": h, "error": error, "cpu": cpu}))
