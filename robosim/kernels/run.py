"""Many steps in one call, with joint PD control, and nothing of Python in between."""

from robosim.kernels.algebra import assign
from robosim.kernels.interior_point import CONVERGED
from robosim.kernels.jit import entry, kernel
from robosim.kernels.step import step


@kernel
def control(gains, state, work):
    """PD control: torques held over the step, or servos that are part of its equations.

    Joints without gains get what work.tau holds for them.
    """
    for n in range(gains.shape[0]):
        g = gains[n]
        if g.implicit != 0:
            drive = work.drives[g.v_index]
            drive.kp, drive.kd = g.kp, g.kd
            drive.target, drive.target_rate = g.target, g.velocity
            drive.start = state.q[g.q_index]
        else:
            position, rate = state.q[g.q_index], state.v[g.v_index]
            work.tau[g.v_index] = g.kp * (g.target - position) + g.kd * (g.velocity - rate)


@kernel
def servo_torques(gains, state, work, dt, tau):
    """What the servos gave over the step that has just been done, into tau."""
    for n in range(gains.shape[0]):
        g = gains[n]
        if g.implicit != 0:
            end = state.q[g.q_index]
            rate = (end - work.drives[g.v_index].start) / dt
            tau[g.v_index] = g.kp * (g.target - end) + g.kd * (g.velocity - rate)


@entry
def run_steps(model, state, work, options, gains, targets, motions, log_q, log_v, log_tau, infos):
    """Step len(infos) times; row k of the logs is the knot that step k starts from.

    `targets` (len(infos), len(gains)) are those of the gains for each step; without rows they stay.
    `motions` (len(infos) + 1, n, 2) are values and rates of the driven coordinates at the knots.
    Returns the number of steps done: fewer than asked for if one failed, whose info is the next.
    """
    for k in range(infos.shape[0]):
        if targets.shape[0] > 0:
            for n in range(gains.shape[0]):
                gains[n].target = targets[k, n]
        control(gains, state, work)
        for n in range(work.motion.shape[0]):
            m = work.motion[n]
            m.q1, m.v1, m.q2, m.v2 = (
                motions[k, n, 0],
                motions[k, n, 1],
                motions[k + 1, n, 0],
                motions[k + 1, n, 1],
            )
        assign(state.q, log_q[k])
        assign(state.v, log_v[k])
        assign(work.tau, log_tau[k])
        if step(model, state, work, options, infos[k]) != CONVERGED:
            return k
        servo_torques(gains, state, work, options.dt, log_tau[k])
    return infos.shape[0]
