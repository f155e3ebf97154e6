"""Many steps in one call, with their controllers, and nothing of Python in between."""

from math import inf

from robosim.kernels.compiler.addresses import call_controller, copy_record
from robosim.kernels.compiler.jit import entry, kernel, stage
from robosim.kernels.contact.limits import relative_vector
from robosim.kernels.equations.algebra import assign
from robosim.kernels.equations.joint_forces import motor_torque, servo_torque
from robosim.kernels.status import CONVERGED
from robosim.kernels.step.accuracy import step_to_accuracy
from robosim.kernels.step.finish import find_knot_velocities
from robosim.kernels.step.means import begin_means
from robosim.kernels.step.step import step
from robosim.kernels.step.swept import widen_swept
from robosim.kernels.step.wants import MEANS, VELOCITIES

TOGETHER = 64  # time steps at most that an accuracy takes together


@kernel
def control(gains, state, loads):
    """PD control: torques held over the step, or servos that are part of its equations.

    Held ones are added to what loads.tau holds.
    """
    for n in range(gains.shape[0]):
        g = gains[n]
        servo = loads.servos[g.v_index]
        servo.kp, servo.kd, servo.target_rate = 0.0, 0.0, 0.0
        if g.implicit != 0:
            servo.kp, servo.kd, servo.limit, servo.droop = g.kp, g.kd, g.limit, droop(g)
            servo.target, servo.target_rate = g.target, g.velocity
            if g.turn >= 0:
                assign(state.q[g.turn : g.turn + 4], servo.start)
            else:
                servo.start[0] = state.q[g.q_index]
        else:
            position, rate = state.q[g.q_index], state.v[g.v_index]
            asked = g.kp * (g.target - position) + g.kd * (g.velocity - rate)
            loads.tau[g.v_index] += motor_torque(asked, g.limit, droop(g), rate)


@kernel
def droop(gains):
    """By how much the limit of a motor falls with its rate: to zero at its speed."""
    return gains.limit / gains.speed if 0.0 < gains.speed < inf else 0.0


@kernel
def asks(run, k):
    """Whether the velocities at knot k are asked for, by its log or by what drives a run."""
    return k % run.every[0] == 0 or drives_each(run)


@kernel
def drives_each(run):
    """Whether what drives a run asks for the velocities at each of its knots."""
    if run.controller[0] != 0:
        return True
    for n in range(run.gains.shape[0]):
        g = run.gains[n]
        if g.implicit == 0 and (g.kd != 0.0 or droop(g) != 0.0):
            return True
    return False


@kernel
def servo_torques(run, k, state, loads, dt):
    """What the servos gave over step k, which has just been done, into its log."""
    if k % run.every[0] != 0:
        return
    tau = run.tau[k // run.every[0]]
    for n in range(run.gains.shape[0]):
        g = run.gains[n]
        if g.implicit != 0:
            servo = loads.servos[g.v_index]
            rate = servo_rate(g, servo, state.q, dt)
            torque, _, _ = servo_torque(servo, state.q[g.q_index], rate)
            tau[g.v_index] += torque


@kernel
def servo_rate(g, servo, q, dt):
    """Mean rate over the last step of the coordinate that a servo drives."""
    if g.turn >= 0:
        turn = q[g.turn : g.turn + 4]
        return 2.0 / dt * relative_vector(servo.start, turn, 0, g.q_index - g.turn)
    return (q[g.q_index] - servo.start[0]) / dt


@entry
def add_servo_torques(gains, servos, q, dt, tau):
    """Add what the servos gave over the last step of dt, which led to q."""
    for n in range(gains.shape[0]):
        g = gains[n]
        if g.implicit != 0:
            rate = servo_rate(g, servos[g.v_index], q, dt)
            asked = g.kp * (g.target - q[g.q_index]) + g.kd * (g.velocity - rate)
            tau[g.v_index] += motor_torque(asked, g.limit, droop(g), rate)


@kernel
def apply_controls(state, loads, options, run, k):
    """What acts over step k of a run, into the work; note it, and the knot that it starts from."""
    assign(run.torques[k if run.torques.shape[0] > 1 else 0], loads.tau)
    if run.targets.shape[0] > 0:
        for n in range(run.gains.shape[0]):
            run.gains[n].target = run.targets[k, n]
    if run.rates.shape[0] > 0:
        for n in range(run.gains.shape[0]):
            run.gains[n].velocity = run.rates[k, n]
    if run.controller[0] != 0:
        call_controller(
            run.controller[0], run.start[0] + k * options.dt, state.q, state.v, loads.tau
        )
    control(run.gains, state, loads)
    for n in range(loads.motion.shape[0]):
        m, here, there = loads.motion[n], run.motions[k, n], run.motions[k + 1, n]
        m.q1, m.v1, m.q2, m.v2 = here[0], here[1], there[0], there[1]
    every = run.every[0]
    if k % every == 0:
        assign(state.q, run.q[k // every])
        assign(state.v, run.v[k // every])
        assign(loads.tau, run.tau[k // every])


@kernel
def steps_together(run, loads, k, end):
    """Number of steps from k on that an accuracy may take together, as one.

    Those over which the same acts, to one step before the next knot that is logged or at which the
    run ends. The step before such a knot is taken by itself: means over a step are read there, and
    bits do not depend on where a run is divided between rows of its log.
    """
    every = run.every[0]
    last = min(end, k - k % every + every) - 1
    if last - k < 2 or drives_each(run) or loads.motion.shape[0] > 0 or run.swept.shape[0] > 0:
        return 1
    count, most = 1, min(last - k, TOGETHER)
    while count < most and acts_alike(run, k, k + count):
        count += 1
    return count


@kernel
def acts_alike(run, k, other):
    """Whether torques and targets of two steps are the same."""
    return (
        same_row(run.torques, k, other)
        and same_row(run.targets, k, other)
        and same_row(run.rates, k, other)
    )


@kernel
def same_row(values, k, other):
    """Whether two rows are the same, or there is one row at most for all."""
    if values.shape[0] > 1:
        for c in range(values.shape[1]):
            if values[k, c] != values[other, c]:
                return False
    return True


@kernel
def tell_of_all(infos, k, count):
    """Let infos of steps that were taken together tell of all in the last one, of each its gap."""
    last = infos[k + count - 1]
    copy_record(infos[k], last)
    for n in range(k, k + count - 1):
        info = infos[n]
        if n > k:
            copy_record(last, info)
        info.iterations, info.substeps, info.events, info.error = 0, 0, 0, 0.0


@stage
def run_steps(scheme, model, state, memory, loads, work, options, solver, run, begin, end):
    """Take steps `begin` to `end` of a run, whose log has the knot before each `run.every`-th one.

    Returns the step that failed, whose row of run.infos tells why, or `end`. The velocities are
    those at the knot that it stops at.
    """
    k = begin
    while k < end:
        apply_controls(state, loads, options, run, k)
        # Means over the last step are read from the velocities at both of its ends.
        wants = MEANS if k + 1 == end else 0
        if k + 2 >= end or asks(run, k + 1):
            wants |= VELOCITIES
        count = 1
        if options.accuracy > 0.0:
            count = steps_together(run, loads, k, end)
            status = step_to_accuracy(
                scheme, model, state, memory, loads, work, options, solver, count, wants,
                run.infos[k],
            )  # fmt: skip
        else:
            status = step(
                scheme, model, state, memory, loads, work, options, solver, wants, run.infos[k]
            )
        if status != CONVERGED:
            find_knot_velocities(scheme, model, state, memory.system, loads, work, options)
            if state.kept[0] == 0.0:
                begin_means(state)
            return k
        servo_torques(run, k, state, loads, count * options.dt)
        if run.swept.shape[0] > 0:
            widen_swept(state.bodies, run.swept)
        if count > 1:
            tell_of_all(run.infos, k, count)
        k += count
    return end
