"""Many steps in one call, with joint PD control, and nothing of Python in between."""

from robosim.kernels.algebra import assign
from robosim.kernels.interior_point import CONVERGED
from robosim.kernels.jit import entry, kernel
from robosim.kernels.step import step


@kernel
def pd_torques(gains, state, tau):
    """tau (nv,) = kp (target - q) - kd v for the controlled joints; the others are kept."""
    for k in range(gains.shape[0]):
        g = gains[k]
        tau[g.v_index] = g.kp * (g.target - state.q[g.q_index]) - g.kd * state.v[g.v_index]


@entry
def run_steps(model, state, work, options, gains, log_q, log_v, log_tau, infos):
    """Step len(infos) times; row k of the logs is the knot that step k starts from.

    Joints without gains get what work.tau holds for them.

    Returns the number of steps done: fewer than asked for if one failed, whose info is the next.
    """
    for k in range(infos.shape[0]):
        pd_torques(gains, state, work.tau)
        assign(state.q, log_q[k])
        assign(state.v, log_v[k])
        assign(work.tau, log_tau[k])
        if step(model, state, work, options, infos[k]) != CONVERGED:
            return k
    return infos.shape[0]
