"""What the equations of an interval take from its first knot."""

from robosim.compiled.memory import PLACED
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.contact.active_set import use_coordinates
from robosim.kernels.equations.algebra import clear_rows
from robosim.kernels.equations.coordinates import begin_charts, load_directions, load_poses


@kernel
def start_interval(scheme, model, state, system, loads, work, options, dt, end):
    """What the equations take from the first knot: poses, inertias, momenta, known impulses."""
    begin_charts(model.joints, state.q, work.q2)
    if system.valid[PLACED] == 0:
        load_poses(model, state, system.pose1)
        load_directions(model, scheme.first_multiplier(model), system, work)
        scheme.place_joints(model, state, system, work)
    for i in range(model.bodies.shape[0]):
        body = model.bodies[i]
        for k in range(6):
            work.known[i].w[k] = state.bodies[i].p[k] + 0.5 * dt * loads.external[i].w[k]
        for k in range(3):
            work.known[i].w[k] += 0.5 * dt * body.mass * options.gravity[k]
    scheme.start(model, state, system, loads, work, dt)
    # Rows that no equation has stay zero.
    clear_rows(work.residual)
    for j in range(model.joints.shape[0]):
        joint = model.joints[j]
        work.joints[j].rows = joint.n_T + joint.n_R
        if joint.law != 0 or has_servo(joint, loads.servos):
            choose_rows(scheme, model, system, loads, work, j, options.dt, end)


@kernel
def has_servo(joint, servos):
    """Whether a servo drives a coordinate of a joint."""
    for v in range(joint.v_begin, joint.v_begin + joint.m_T + joint.m_R):
        if servos[v].kp != 0.0 or servos[v].kd != 0.0:
            return True
    return False


@kernel
def choose_rows(scheme, model, system, loads, work, j, dt, end):
    """Take joint j's coordinates into the equations, and see where driven ones have to be."""
    joint, w = model.joints[j], work.joints[j]
    use_coordinates(scheme, model, system, work, j)
    for row in range(joint.m_T + joint.m_R):
        driven = model.coordinates[joint.v_begin + row].driven
        w.held[row] = 1 if driven >= 0 else 0
        if driven >= 0:
            w.goal[row], w.goal_rate[row] = along_motion(loads.motion[driven], dt, end)


@kernel
def along_motion(m, dt, s):
    """(value, rate) at the fraction s of a step, by the cubic through the values at its ends."""
    rise = m.q2 - m.q1
    a, b = dt * m.v1 - rise, -dt * m.v2 + rise
    r = 1.0 - s
    value = r * m.q1 + s * m.q2 + s * r * (r * a + s * b)
    return value, (rise + (r - s) * (r * a + s * b) + s * r * (b - a)) / dt
