"""A step from a start at joint coordinates, for numbers that have derivatives."""

from robosim.kernels.compiler.duals import DIRECTIONS, number_of, slope, with_slope
from robosim.kernels.compiler.jit import kernel, stage
from robosim.kernels.solve.status import CONVERGED
from robosim.kernels.step.closure import close_loops, start_projected
from robosim.kernels.step.knot import set_bodies
from robosim.kernels.step.run import control
from robosim.kernels.step.saved import copy_guesses
from robosim.kernels.step.step import step


@stage
def linearized_steps(scheme, on, solver, arc):
    """The step along all directions of on.along, as many at a time as duals have; a status.

    Leaves what it leads to in on.ends and, by direction, in on.slopes; see `DualParts`.
    """
    for begin in range(0, on.along.shape[0], DIRECTIONS):
        count = min(DIRECTIONS, on.along.shape[0] - begin)
        begin_at(on, begin, count)
        linearized_step(scheme, on, solver, arc)
        if on.info[0].status != CONVERGED:
            break
        end_at(on, begin, count)
    return on.info[0].status


@kernel
def begin_at(on, begin, count):
    """Coordinates, velocities and torques that a step begins with, and some directions of them."""
    q, v, tau, nq, nv = on.state.q, on.state.v, on.loads.tau, on.nq, on.nv
    for i in range(q.shape[0]):
        q[i] = on.begins[i] if i < nq else 0.0
    for i in range(v.shape[0]):
        v[i] = on.begins[nq + i] if i < nv else 0.0
    for i in range(tau.shape[0]):
        tau[i] = on.begins[nq + nv + i]
    for k in range(count):
        for i in range(nq):
            q[i] = with_slope(q[i], k, on.along[begin + k, i])
        for i in range(nv):
            v[i] = with_slope(v[i], k, on.along[begin + k, nq + i])
        for i in range(tau.shape[0]):
            tau[i] = with_slope(tau[i], k, on.along[begin + k, nq + nv + i])


@kernel
def end_at(on, begin, count):
    """Where the step leads, and along some directions."""
    q, v, nq, nv = on.state.q, on.state.v, on.nq, on.nv
    for i in range(nq):
        on.ends[i] = number_of(q[i])
    for i in range(nv):
        on.ends[nq + i] = number_of(v[i])
    for k in range(count):
        for i in range(nq):
            on.slopes[begin + k, i] = slope(q[i], k)
        for i in range(nv):
            on.slopes[begin + k, nq + i] = slope(v[i], k)


@stage
def linearized_step(scheme, on, solver, arc):
    """Start at on.state.q and v, and take a step under on.loads.tau and a PD.

    The start forgets what the next step is guessed from, so that is given anew.
    """
    state, memory, work, info = on.state, on.memory, on.work, on.info[0]
    for k in range(memory.system.valid.shape[0]):
        memory.system.valid[k] = 0
    set_bodies(on.model, state, memory, work, arc)
    if on.closes:
        close_loops(on.model, state, memory.system, work, on.held, on.goal, 2)
        for _ in range(2):
            info.status = start_projected(
                on.model, state, memory, on.loads, work, on.held, on.rate, arc
            )
            if info.status != CONVERGED:
                return
    copy_guesses(on.guesses, memory.guesses)
    control(on.gains, state, on.loads)
    step(scheme, on.model, state, memory, on.loads, work, on.options, solver, True, info)
