"""Many steps in one call, with what drives them, and what is read at a knot."""

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.joint_forces import half_log
from robosim.kernels.equations.vectors import crossed, turned_back
from robosim.kernels.minimal.forces import weight_of
from robosim.kernels.minimal.knot import find_momenta, move_at_knot, settle
from robosim.kernels.minimal.step import (
    add_rest,
    begin_knot,
    factor_all,
    find_points,
    keep_constraints,
    move_on,
    step,
)
from robosim.kernels.recursive.passive import potential_value
from robosim.kernels.status import CONVERGED, SINGULAR
from robosim.kernels.step.run import apply_controls, control, servo_torques


@kernel
def run_steps(on, run, done, end):
    """Take steps done[0] to `end` of a run; leaves done[0] at the step that failed, or at `end`.

    done[1] counts those in which rounding left more of the equations than the tolerance.
    """
    for k in range(done[0], end):
        apply_controls(on.state, on.loads, on.options, run, k)
        on.work.law.time[0] = run.start[0] + k * on.options.dt
        if step(on, run.infos[k]) != CONVERGED:
            return
        servo_torques(run, k, on.state, on.loads, on.options.dt)
        law_torques(run, k, on)
        if run.infos[k].residual > on.options.tolerance:
            done[1] += 1
        done[0] = k + 1


@kernel
def law_torques(run, k, on):
    """The means over step k, which has just been done, of the torques of a law, into its log."""
    law, every = on.work.law, run.every[0]
    if law.address[0] == 0 or k % every != 0:
        return
    for a in range(law.torques.shape[0]):
        for n in range(law.torques.shape[1]):
            run.tau[k // every, n] += weight_of(on.model.rule, a) * law.torques[a, n]


@kernel
def start(on):
    """Momenta from the velocities of a state that has been set, as constraints allow.

    0, or 1 + a link that moves nothing with inertia, or -1 where constraints have no answer.
    """
    failed = settle(on)
    if failed == 0:
        find_momenta(on)
        if keep_constraints(on.work.multipliers, on) != CONVERGED:
            return -1
    return failed


@kernel
def factored_step(on, gains, info):
    """A step from a start at the state's q and v, under the torques that are held and a PD.

    Its solution stays in work.x, with the factors there of the derivative of the equations, and
    those of the mass matrix where it ends. Returns a status.
    """
    if start(on) != 0:
        info.status = SINGULAR
        return info.status
    control(gains, on.state, on.loads)
    info.status = find_points(on, info)
    if info.status == CONVERGED and factor_all(on.work.multipliers, on) != 0:
        info.status = SINGULAR
    if info.status == CONVERGED:
        add_rest(on)
        move_on(on)
        info.status = begin_knot(on)
    return info.status


@kernel
def energy(on):
    """Kinetic and potential energy [J] at the knot."""
    move_at_knot(on)
    total, g, origin = 0.0, on.model.gravity, on.work.origin
    for k in range(on.state.v.shape[0]):
        total += 0.5 * on.state.p[k] * on.state.v[k]
    for i in range(on.model.segments.shape[0]):
        link, own = on.model.segments[i], on.work.nodes[0, i]
        for k in range(3):
            total -= link.gravitational_mass * g[k] * (own.p[k] + origin[k])
        if link.turn == 3:
            total += turned_spring(on.model.coordinates, link.v, on.state.q, link.q)
        elif link.v >= 0 and link.turn == 0:
            c, x = on.model.coordinates[link.v], on.state.q[link.q]
            total += 0.5 * c.stiffness * (x - c.rest) ** 2
            if c.piece_end > c.piece_begin:
                total += potential_value(on.model.pieces, c.piece_begin, c.piece_end, x)
    return total


@kernel
def turned_spring(coordinates, v, q, at):
    """Energy of the springs of a free rotation up to velocity v; its quaternion begins at `at`."""
    r = q[at : at + 4]
    half, total = half_log(r), 0.0
    for k in range(3):
        total += 2.0 * coordinates[v - 2 + k].stiffness * (half * r[1 + k]) ** 2
    return total


@kernel
def momentum(on, out):
    """out (6,) = linear and angular momentum about the world's origin."""
    move_at_knot(on)
    n = on.model.segments.shape[0]
    total, o = on.work.nodes[0, n].mu, on.work.origin
    a, b, c = crossed(o[0], o[1], o[2], total[0], total[1], total[2])
    for k in range(3):
        out[k] = total[k]
    out[3], out[4], out[5] = total[3] + a, total[4] + b, total[5] + c


@kernel
def read_bodies(on, x, R, v, omega):
    """Places (nb, 3), axes (nb, 3, 3), velocities (nb, 3) and angular ones of all bodies.

    World axes, but angular velocities in body axes.
    """
    move_at_knot(on)
    for i in range(on.model.segments.shape[0]):
        link, own = on.model.segments[i], on.work.nodes[0, i]
        if link.body < 0:
            continue
        b, V = link.body, own.V
        d, e, f = crossed(V[3], V[4], V[5], own.p[0], own.p[1], own.p[2])
        v[b, 0], v[b, 1], v[b, 2] = V[0] + d, V[1] + e, V[2] + f
        d, e, f = turned_back(own.R, V[3], V[4], V[5])
        omega[b, 0], omega[b, 1], omega[b, 2] = turned_back(link.after, d, e, f)
        for j in range(3):
            x[b, j] = own.p[j] + on.work.origin[j]
            for k in range(3):
                total = 0.0
                for m in range(3):
                    total += own.R[j, m] * link.after[m, k]
                R[b, j, k] = total
