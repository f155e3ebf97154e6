"""What the equations of an interval take from its first knot."""

from robosim.compiled.kinds import BALL
from robosim.compiled.memory import PLACED
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.contact.active_set import use_coordinates
from robosim.kernels.equations.algebra import (
    clear_rows,
    cross,
    dot,
    fill,
    normalize_quaternion,
    quaternion_back,
    quaternion_product,
)
from robosim.kernels.equations.coordinates import begin_charts, load_directions, load_poses
from robosim.kernels.equations.drag import find_drags
from robosim.kernels.status import CONVERGED, NEEDS_ROWS


@kernel
def start_interval(scheme, model, state, system, loads, work, options, dt, end):
    """What the equations take from the first knot: poses, inertias, momenta, known impulses.

    Returns a status.
    """
    status = CONVERGED
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
            work.known[i].w[k] += 0.5 * dt * body.gravitational_mass * options.gravity[k]
    scheme.start(model, state, system, loads, work, dt)
    if model.drags.shape[0] > 0:
        find_drags(model.drags, system.pose1, dt, work.drags)
    # Rows that no equation has stay zero.
    clear_rows(work.residual)
    for j in range(model.joints.shape[0]):
        joint = model.joints[j]
        work.joints[j].rows = joint.n_T + joint.n_R
        if joint.law != 0 or has_servo(joint, loads.servos):
            choose_rows(scheme, model, system, loads, work, j, options.dt, end)
            if joint.kind == BALL and scheme.first_multiplier(model) > 0:
                status = NEEDS_ROWS
    return status


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
    driven = model.coordinates[joint.v_begin].driven
    if driven >= 0:
        numbers = joint.m_T + (joint.m_R if joint.m_R == 1 else 0)
        fill(1, w.held[: joint.m_T + joint.m_R])
        for row in range(numbers):
            m = loads.motion[driven + row]
            w.goal[row], w.goal_rate[row] = along_cubic(m.q1, m.q2, m.v1, m.v2, dt, end)
        if joint.m_R == 3:
            turn_along(loads.motion[driven + numbers :], dt, end, w, numbers, work.scratch[0])


@kernel
def along_cubic(q1, q2, v1, v2, dt, s):
    """(value, rate) at the fraction s of a step, by the cubic through the values at its ends."""
    rise = q2 - q1
    a, b = dt * v1 - rise, -dt * v2 + rise
    r = 1.0 - s
    value = r * q1 + s * q2 + s * r * (r * a + s * b)
    return value, (rise + (r - s) * (r * a + s * b) + s * r * (b - a)) / dt


@kernel
def turn_along(motion, dt, s, w, first, t):
    """w.turn and, from row `first`, w.goal_rate at the fraction s of a step, of a free rotation.

    The cubic is that of the turn's vector g, of which (1, g) is the quaternion but for its length.
    """
    for k in range(4):
        t.r[k], w.turn[k] = motion[k].q1, motion[k].q2
    quaternion_back(t.r, w.turn, t.s)
    for k in range(3):
        t.arm[k], t.w[k] = t.s[1 + k] / t.s[0], motion[k].v2
    # Its rate is (omega + g x omega + g (g . omega)) / 2 for the rate of turn in child axes.
    along = dot(t.arm, t.w)
    cross(t.arm, t.w, t.z)
    t.s[0] = 1.0
    for k in range(3):
        rate = 0.5 * (t.w[k] + t.z[k] + along * t.arm[k])
        t.s[1 + k], t.y[k] = along_cubic(0.0, t.arm[k], 0.5 * motion[k].v1, rate, dt, s)
    cross(t.s[1:], t.y, t.z)
    size = 1.0 + dot(t.s[1:], t.s[1:])
    for k in range(3):
        w.goal_rate[first + k] = 2.0 / size * (t.y[k] - t.z[k])
    quaternion_product(t.r, t.s, w.turn)
    normalize_quaternion(w.turn)
