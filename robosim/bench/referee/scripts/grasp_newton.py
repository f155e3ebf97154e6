"""Two fingers press a cube of 1 kg with 20 N each for 5 s, in Newton: how far it sinks [m]."""

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
        shape.mu, shape.margin, shape.gap = 0.8, 0.0, 0.0
        cube = builder.add_body(xform=wp.transform((0, 0, 0), wp.quat_identity()))
        shape.density = 1000.0
        builder.add_shape_box(cube, hx=0.05, hy=0.05, hz=0.05)
        shape.density = 500.0
        for x in (-0.07, 0.07):
            place = wp.transform((x, 0, 0), wp.quat_identity())
            finger = builder.add_link(xform=place)
            builder.add_shape_box(finger, hx=0.02, hy=0.05, hz=0.05)
            slide = builder.add_joint_prismatic(
                -1, finger, parent_xform=place, axis=(1.0, 0.0, 0.0), damping=10.0
            )
            builder.add_articulation([slide])
        model = builder.finalize()
        config = Kamino.Config(dynamics_solver=backend, use_collision_detector=True)
        solver, control = Kamino(model, config), model.control()
        forces = control.joint_f.numpy()
        forces[-2:] = 20.0, -20.0
        control.joint_f.assign(forces)
        first, second = model.state(), model.state()
        newton.eval_fk(model, model.joint_q, model.joint_qd, first)
        solver.step(first, second, control, None, h)  # compiles
        begin = time.process_time()
        for _ in range(round(5 / h)):
            solver.step(first, second, control, None, h)
            first, second = second, first
        cpu = time.process_time() - begin
        error = abs(float(first.body_q.numpy()[0, 2]))
        print(json.dumps({"setting": backend, "timestep": h, "error": error, "cpu": cpu}))
