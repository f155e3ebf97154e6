"""What acts along a joint's coordinates: springs, dampers, rotors, potentials, servos.

A law gives an impulse at the first knot for each free coordinate, as a function of where the
coordinate is at both ends of the interval (derivation.md, Sect. 7):

- Springs, potentials and dampers are taken at the middle of the interval and act half at either
  knot, ``half = -dt/2 (k (q_mid - rest) + V'(q_mid) + d u)`` with ``u = (q2 - q1) / dt``: the
  discrete Euler-Lagrange equations of the Lagrangian ``-dt V(q_mid)``.
- A rotor of inertia I carries the momentum ``I u`` on from knot to knot.
- A servo is taken at the end of the interval, ``dt (kp (target - q2) + kd (rate - u))``, which
  is stable however stiff it is. In steps to an accuracy it is taken in the middle, and acts half
  at either knot, which is of second order. Where that is more than its limit, it gives that and no
  more. A limit may fall with the rate, as that of a motor does, for torques along the motion. One
  of a free rotation has no kp.
- An implicit actuator, such as a muscle, acts as a spring does, by its `actuator_law`.

A free rotation has no coordinate to take a middle of: ``u`` is the discrete angular velocity from
``r1^-1 r2``, and its spring acts at either knot from the angle there.
"""

from math import atan2, sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import pick, somewhere
from robosim.kernels.equations.actuator_law import add_actuators, piece_at
from robosim.kernels.equations.algebra import cross, dot, quaternion_back


@kernel
def potential_slope(pieces, begin, end, x):
    """(V', V'') of a potential at x; its outermost pieces go on beyond the ends."""
    low = piece_at(pieces, begin, end, x)
    d, c = x - pieces[low].begin, pieces[low].c
    return c[1] + d * (2.0 * c[2] + 3.0 * d * c[3]), 2.0 * c[2] + 6.0 * d * c[3]


@kernel
def push_somewhere(forces):
    """Whether any of the generalized forces is not zero."""
    for v in range(forces.shape[0]):
        if somewhere(forces[v] != 0.0):
            return True
    return False


@kernel
def available(limit, droop, u):
    """The most torque of a motor along a rate u, and by how much it falls with that."""
    left = limit - droop * max(u, 0.0)
    falls = pick(u > 0.0, pick(left > 0.0, droop, 0.0), 0.0)
    return max(left, 0.0), falls


@kernel
def motor_torque(asked, limit, droop, u):
    """What a motor gives of a torque that is asked for at the rate u."""
    most, _ = available(limit, droop, u)
    least, _ = available(limit, droop, -u)
    return min(max(asked, -least), most)


@kernel
def servo_torque(servo, q, u):
    """What a servo gives where its coordinate is q and its rate u; how that answers.

    Also 1 if it could give more, else 0, and by how much its limit falls with the rate, if that is
    what it gives.
    """
    asked = servo.kp * (servo.target - q) + servo.kd * (servo.target_rate - u)
    most, falls = available(servo.limit, servo.droop, u)
    least, rises = available(servo.limit, servo.droop, -u)
    free = pick(asked <= most, pick(asked >= -least, 1.0, 0.0), 0.0)
    droop = pick(asked > most, falls, 0.0) + pick(asked < -least, rises, 0.0)
    return min(max(asked, -least), most), free, droop


@kernel
def joint_law(model, state, loads, work, j, dt):
    """Law, half and A of joint j's work, from its coordinates at the second knot in work.q2."""
    joint, knot, w = model.joints[j], state.joints[j], work.joints[j]
    single = joint.m_T + (joint.m_R if joint.m_R == 1 else 0)
    rows = joint.m_T + joint.m_R
    for row in range(rows):
        for k in range(rows):
            w.A[row, k] = 0.0
    for row in range(single):
        c, servo = model.coordinates[joint.v_begin + row], loads.servos[joint.v_begin + row]
        q1, q2 = state.q[joint.q_begin + row], work.q2[joint.q_begin + row]
        middle, u = 0.5 * (q1 + q2), (q2 - q1) / dt
        away, stiffness = middle - c.rest, c.stiffness
        if c.slack > 0.0 and away > 0.0:
            stiffness = c.stiffness if away > c.slack else 0.0
            away -= c.slack
        force = stiffness * away + c.damping * u
        slope = 0.5 * dt * stiffness + c.damping
        if c.piece_end > c.piece_begin:
            first, second = potential_slope(model.pieces, c.piece_begin, c.piece_end, middle)
            force += first
            slope += 0.5 * dt * second
        near = 1.0 - servo.share
        torque, free, droop = servo_torque(servo, q2 - servo.share * (q2 - q1), u)
        w.half[row] = -0.5 * dt * force + servo.share * dt * torque
        w.rotor[row], w.rate[row] = c.armature * u, u
        w.law[row] = w.half[row] + knot.rotor[row] - w.rotor[row]
        w.law[row] += (near - servo.share) * dt * torque
        slope = 0.5 * dt * slope + c.armature
        slope += near * free * dt * (near * dt * servo.kp + servo.kd)
        w.A[row, row] = -slope - near * dt * droop
    if joint.m_R == 3:
        rotation_law(model, state, loads, work, j, dt)
    add_actuators(model.actuators, loads.controls, joint, state.q, work.q2, w, dt)


@kernel
def rotation_law(model, state, loads, work, j, dt):
    """The three rows of a free rotation, in child axes."""
    joint, knot, w, t = model.joints[j], state.joints[j], work.joints[j], work.scratch[0]
    at, first = joint.q_begin + joint.m_T, joint.m_T
    c = model.coordinates[joint.v_begin + first : joint.v_begin + first + 3]
    r1, r2 = state.q[at : at + 4], work.q2[at : at + 4]
    turn_moment(c, r1, t, t.y)
    turn_moment(c, r2, t, t.z)
    quaternion_back(r1, r2, t.s)
    e, p, T, S = t.s[0], t.s[1:], t.S_a, t.S_b
    for i in range(3):
        # T = e I + [p]x: d p = dt/2 T rate, d e = -dt/2 p . rate; S = T I - [I p]x + dt/2 d.
        k, m = (i + 1) % 3, (i + 2) % 3
        difference = c[m].armature - c[k].armature
        T[i, i], T[i, k], T[i, m] = e, -p[m], p[k]
        servo, u = loads.servos[joint.v_begin + first + i], 2.0 / dt * p[i]
        torque, free, droop = servo_torque(servo, 0.0, u)
        w.rate[first + i] = u
        near = 1.0 - servo.share
        answer = 0.5 * c[i].damping + near * (free * servo.kd + droop)
        S[i, i] = e * c[i].armature + dt * answer
        S[i, k], S[i, m] = p[m] * difference, p[k] * difference
        # In child axes a rotor's momentum turns with the child between the two knots.
        along, across = e * c[i].armature * p[i], difference * p[k] * p[m]
        w.rotor[first + i] = 2.0 / dt * (along - across)
        leaves = 2.0 / dt * (along + across)
        damping = -c[i].damping * p[i]
        w.half[first + i] = damping - 0.5 * dt * t.z[i] + servo.share * dt * torque
        law = damping - 0.5 * dt * t.y[i] + knot.rotor[first + i] - leaves
        w.law[first + i] = law + near * dt * torque
    for i in range(3):
        for k in range(3):
            slope = S[i, 0] * T[0, k] + S[i, 1] * T[1, k] + S[i, 2] * T[2, k]
            w.A[first + i, first + k] = c[i].armature * p[i] * p[k] - slope


@kernel
def turn_moment(c, r, t, out):
    """out (3,) = derivative of the springs' energy by a turn of the child, in its axes.

    Of 1/2 log . k log, for the log of the rotation r; if all k are alike it is k log.
    """
    half = half_log(r)
    for i in range(3):
        t.w[i] = 2.0 * half * r[1 + i]
        out[i] = c[i].stiffness * t.w[i]
    square = dot(t.w, t.w)
    # (1 - x cot(x)) / (4 x^2) for half of the angle x, whose cotangent is |r0| / |r_v|.
    factor = pick(square > 1e-6, (1.0 - abs(r[0]) * abs(half)) / square, 1.0 / 12.0)
    cross(t.w, out, t.arm)
    cross(t.w, t.arm, t.r[1:])
    for i in range(3):
        out[i] += factor * t.r[1 + i] - 0.5 * t.arm[i]


@kernel
def half_log(r):
    """angle / (2 sin(angle / 2)) of a unit quaternion: twice its vector times this is the log."""
    sine = sqrt(dot(r[1:], r[1:]))
    half = atan2(sine, abs(r[0])) / sine * pick(r[0] >= 0.0, 1.0, -1.0)
    return pick(sine < 1e-9, 1.0, half)


@kernel
def rotor_law(model, work, j):
    """Law and A at a knot: rotors keep their momenta."""
    joint, w = model.joints[j], work.joints[j]
    rows = joint.m_T + joint.m_R
    for row in range(rows):
        for k in range(rows):
            w.A[row, k] = 0.0
        w.A[row, row] = -model.coordinates[joint.v_begin + row].armature
        w.law[row] = w.rotor[row]


@kernel
def knot_law(model, loads, work, j, dt):
    """Law and A at a knot: rotors keep their momenta, and servos give half of their impulse.

    That half is what the servo will give from here on, if the rate changes as much again as it has
    from the interval to the knot; of one that gives all it can, half of that.
    """
    joint, w = model.joints[j], work.joints[j]
    rotor_law(model, work, j)
    for row in range(joint.m_T + joint.m_R):
        v, q = joint.v_begin + row, joint.q_begin + row
        servo = loads.servos[v]
        if servo.share == 0.0 and (servo.kp != 0.0 or servo.kd != 0.0):
            # At the rate of the interval, and how that changes with twice the rate that is added.
            torque, free, droop = servo_torque(servo, work.q2[q] + dt * w.rate[row], w.rate[row])
            slope = free * dt * (dt * servo.kp + servo.kd)
            slope += dt * droop
            w.A[row, row] -= slope
            w.law[row] += 0.5 * dt * torque + slope * w.rate[row]
