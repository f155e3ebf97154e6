"""A step: guess, iterations, and the knot that it leads to."""

from robosim.compiled.minimal import ACCELERATION, EULER, POSITION, RIQN
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.vectors import crossed, turned, turned_back
from robosim.kernels.minimal import galerkin, group
from robosim.kernels.minimal.constraints import (
    add_impulses,
    close_guess,
    correct_direction,
    correct_impulses,
    factor_constraints,
    factor_impulses,
    project_momenta,
)
from robosim.kernels.minimal.elimination import solve_tree
from robosim.kernels.minimal.forces import find_torques, part_of
from robosim.kernels.minimal.knot import find_accelerations, find_velocities, settle
from robosim.kernels.minimal.place import hinges_torque, turn_on
from robosim.kernels.status import (
    CONVERGED,
    NOT_FINITE,
    OUT_OF_ITERATIONS,
    SINGULAR,
    TURNS_FAR,
)

HALVINGS = 8  # of a direction that makes the residual larger
ROUNDING = 1e-14  # of the terms of a residual, that may be left of it
FARTHEST = 2.5  # [rad] that a body may turn in a step on the group
STEEPEST = 1.3  # [rad] of the second hinge of a free rotation


@kernel
def find_residual(rule, on):
    """The residual of either scheme, of which that on the group has no rule of control points."""
    if rule is None:
        group.find_residual(on)
    else:
        galerkin.find_residual(on)


@kernel
def find_direction(rule, on):
    """The direction of either scheme, by the method that is asked for; 0, or a fault.

    RIQN is for two control points, without free rotations.
    """
    if on.options.method == RIQN:
        return group.find_impulsive_direction(on)
    if rule is None:
        return group.find_direction(on)
    return galerkin.find_direction(on)


@kernel
def factor_step(rule, on):
    """Factors of the derivative of the residual that is there, exact for all methods; or a fault.

    In work.step, for `correct`.
    """
    if rule is None:
        return group.factor_step(on)
    return galerkin.factor_step(on)


@kernel
def factor_all(held, on):
    """`factor_step`, and how impulses of constraints answer; or a fault."""
    failed = factor_step(on.model.rule, on)
    if held is not None and failed == 0:
        return factor_impulses(on)
    return failed


@kernel
def correct(rule, held, on):
    """work.x += Newton's direction, by the factors that are in work.step and of constraints."""
    work, segments = on.work, on.model.segments
    for i in range(segments.shape[0]):
        for a in range(work.residual.shape[1]):
            # Those on the group are of the derivative of what is subtracted there.
            work.step.r[i, a] = -work.residual[i, a] if rule is None else work.residual[i, a]
    if rule is None:
        solve_tree(segments, work.step, None)
    else:
        solve_tree(segments, work.step, work.rotations.links)
    if held is not None:
        correct_impulses(on)
    for i in range(segments.shape[0]):
        if segments[i].v >= 0:
            for a in range(work.residual.shape[1]):
                work.x[a + 1, i] += work.step.dx[i, a]


@kernel
def find_equations(held, on):
    """`find_residual` with the impulses of constraints, if there are any, and with their values."""
    find_residual(on.model.rule, on)
    if held is not None:
        add_impulses(on)


@kernel
def evaluate(held, on):
    """`find_equations`; with a law, once to place links, and again with its torques there."""
    passes = 1 + (on.work.law.address[0] != 0)
    for k in range(passes):
        if k > 0:
            find_torques(on)
        find_equations(held, on)


@kernel
def find_change(held, on):
    """`find_direction` of coordinates and of the impulses of constraints; 0, or a fault."""
    failed = find_direction(on.model.rule, on)
    if held is not None and failed == 0:
        return correct_direction(on)
    return failed


@kernel
def guess_points(on):
    """work.x: where the coordinates may be at the control points after the first."""
    work, guess, dt = on.work, on.options.guess, on.options.dt
    if guess >= EULER:
        find_accelerations(on)
    last = work.x.shape[0] - 1
    for a in range(1, last + 1):
        time = dt * part_of(on.model.rule, a)
        for i in range(work.x.shape[1]):
            link = on.model.segments[i]
            x = 0.0
            if link.v >= 0 and guess != POSITION:
                x = time * on.state.v[link.v]
                if guess == EULER:
                    x += time * time * work.acceleration[i]
                elif guess == ACCELERATION:
                    x += 0.5 * time * time * work.acceleration[i]
            work.x[a, i] = x


@kernel
def largest(on):
    """The largest residual as a velocity [m/s], its link, and whether all are small enough.

    That is within the tolerance, or within what rounding leaves of the numbers that it is the sum
    of. 1e300 where one is not a number.
    """
    work = on.work
    worst, where, solved = 0.0, 0, True
    for i in range(work.residual.shape[0]):
        for a in range(work.residual.shape[1]):
            rest = abs(work.residual[i, a])
            if not rest * work.scale[i] < 1e300:
                return 1e300, i, False
            if rest * work.scale[i] > worst:
                worst, where = rest * work.scale[i], i
            if rest * work.scale[i] > on.options.tolerance and rest > ROUNDING * work.size[i]:
                solved = False
    return worst, where, solved


@kernel
def largest_of_all(held, on):
    """`largest`, of the values of constraints as well, over the timestep."""
    worst, where, solved = largest(on)
    if held is not None:
        values, sizes = on.work.multipliers.value, on.work.multipliers.size
        for k in range(values.shape[0]):
            rest = abs(values[k])
            speed = rest / on.options.dt
            if not speed < 1e300:
                return 1e300, on.model.constraints[k].b, False
            if speed > worst:
                worst, where = speed, on.model.constraints[k].b
            if speed > on.options.tolerance and rest > ROUNDING * sizes[k]:
                solved = False
    return worst, where, solved


@kernel
def keep_tried(held, on):
    """Keep the unknowns that directions are added to."""
    work = on.work
    for a in range(work.x.shape[0]):
        for i in range(work.x.shape[1]):
            work.tried[a, i] = work.x[a, i]
    if held is not None:
        own = work.multipliers
        for k in range(own.impulse.shape[0]):
            own.tried[k] = own.impulse[k]


@kernel
def go_on(held, on, part):
    """The unknowns are those that were kept, and part of the direction."""
    work = on.work
    for a in range(1, work.x.shape[0]):
        for i in range(work.x.shape[1]):
            step = work.step.dx[i, a - 1] if on.model.segments[i].v >= 0 else 0.0
            work.x[a, i] = work.tried[a, i] + part * step
    if held is not None:
        own = work.multipliers
        for k in range(own.impulse.shape[0]):
            own.impulse[k] = own.tried[k] + part * own.change[k]


@kernel
def solve_step(held, on, info):
    """Find work.x from where it is; returns a status."""
    evaluate(held, on)
    residual, where, solved = largest_of_all(held, on)
    iterations = 0
    status = OUT_OF_ITERATIONS
    while True:
        info.iterations, info.residual = iterations, residual
        info.worst_body = on.model.segments[where].owner
        if solved:
            return CONVERGED
        if not residual < 1e300:
            return NOT_FINITE
        if iterations >= on.options.max_iterations:
            return status
        if find_change(held, on) != 0:
            return SINGULAR
        keep_tried(held, on)
        before, part = residual, 1.0
        for _ in range(HALVINGS):
            go_on(held, on, part)
            evaluate(held, on)
            residual, where, solved = largest_of_all(held, on)
            if residual < 2.0 * before:
                break
            part *= 0.5
        iterations += 1


@kernel
def add_rest(on):
    """Add the impulses that are left of the equations to the momenta at the end.

    So they do not get lost, and momentum is conserved to rounding whatever the tolerance. What is
    left of a free rotation, and of slides before it, acts on the child as wrenches that stay in
    world axes.
    """
    work, segments = on.work, on.model.segments
    last = work.x.shape[0] - 1
    for i in range(segments.shape[0]):
        link, rest = segments[i], work.residual[i]
        if link.turn == 0:
            for a in range(last):
                work.ends[i] += rest[a]
        elif link.turn == 3:
            # In child axes at the knot; at the other points along the hinges as they are there.
            x, y, z = turned(link.after, work.residual[i - 2, 0], work.residual[i - 1, 0], rest[0])
            x, y, z = turned(work.nodes[0, i].R, x, y, z)
            for a in range(1, last):
                r = work.residual
                d, e, f = hinges_torque(work.nodes, a, i, r[i - 2, a], r[i - 1, a], r[i, a])
                x, y, z = x + d, y + e, z + f
            d, e, f = slides_moment(on, i)
            for j in range(i - 2, i + 1):
                S = work.nodes[last, j].S
                work.ends[j] += S[3] * (x - d) + S[4] * (y - e) + S[5] * (z - f)


@kernel
def slides_moment(on, i):
    """Moment, about where they are, of what is left at the end of slides before a free rotation.

    Impulses of control points act where the slides had led by then.
    """
    work, segments = on.work, on.model.segments
    last = work.x.shape[0] - 1
    u, v, w = 0.0, 0.0, 0.0
    for a in range(last):
        d, e, f, x, y, z = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(max(0, i - 5), i - 2):
            if segments[j].owner == segments[i].owner:
                S, rest, way = work.nodes[0, j].S, work.residual[j, a], work.x[last, j]
                way -= work.x[a, j]
                d, e, f = d + rest * S[0], e + rest * S[1], f + rest * S[2]
                x, y, z = x + way * S[0], y + way * S[1], z + way * S[2]
        x, y, z = crossed(x, y, z, d, e, f)
        u, v, w = u + x, v + y, w + z
    return u, v, w


@kernel
def move_on(on):
    """The state at the end of the step that work.x and work.ends are of."""
    work, state, segments = on.work, on.state, on.model.segments
    last = work.x.shape[0] - 1
    for i in range(segments.shape[0]):
        link = segments[i]
        if link.v < 0:
            continue
        if link.turn == 0:
            state.q[link.q] += work.x[last, i]
            state.p[link.v] = work.ends[i]
        elif link.turn == 3:
            x, y, z = work.x[last, i - 2], work.x[last, i - 1], work.x[last, i]
            turn_on(x, y, z, work.quaternion[0:3], state.q[link.q : link.q + 4])
            turn_momentum(on, i)


@kernel
def turn_momentum(on, i):
    """Momentum of a free rotation in child axes, from that along its three hinges up to i."""
    work, link = on.work, on.model.segments[i]
    last = work.x.shape[0] - 1
    x, y, z = hinges_torque(work.nodes, last, i, work.ends[i - 2], work.ends[i - 1], work.ends[i])
    x, y, z = turned_back(work.nodes[last, i].R, x, y, z)
    p, v = on.state.p, link.v - 2
    p[v], p[v + 1], p[v + 2] = turned_back(link.after, x, y, z)


@kernel
def begin_knot(on):
    """Place the knot, and find its velocities from its momenta; 0, or a status."""
    if settle(on) != 0:
        return SINGULAR
    find_velocities(on)
    return keep_constraints(on.work.multipliers, on)


@kernel
def keep_constraints(held, on):
    """Momenta and velocities of a knot that is placed as its constraints allow; 0, or a status."""
    if held is not None:
        if factor_constraints(on) != 0:
            return SINGULAR
        project_momenta(on)
    return CONVERGED


@kernel
def guess_step(held, on):
    """Where iterations begin."""
    guess_points(on)
    if held is not None:
        close_guess(on)


@kernel
def follows(rule, on):
    """Whether a solution is a motion that the equations tell from others.

    On the group a body must not turn so far that the logarithm takes the other way round. The
    chart of a free rotation must not be near its singularity, a quarter of a turn of the second
    hinge.
    """
    work, segments = on.work, on.model.segments
    last, n = work.x.shape[0] - 1, segments.shape[0]
    for k in range(6):
        work.nodes[last, n].acc[k] = 0.0
    for i in range(n):
        link, own = segments[i], work.nodes[last, i]
        turn = own.acc
        for k in range(3, 6):
            turn[k] = work.nodes[last, link.parent].acc[k] + work.x[last, i] * own.S[k]
        if link.turn == 2 and abs(work.x[last, i]) > STEEPEST:
            return False
        if rule is None and turn[3] ** 2 + turn[4] ** 2 + turn[5] ** 2 > FARTHEST**2:
            return False
    return True


@kernel
def find_points(on, info):
    """Find the coordinates at the control points of a step from a knot that is placed; a status."""
    info.substeps, info.order = 1, 2 * (on.work.x.shape[0] - 1)
    info.gap, info.turn, info.turner, info.violation = 1e400, 1.0, -1.0, 0.0
    held = on.work.multipliers
    guess_step(held, on)
    status = solve_step(held, on, info)
    if status == CONVERGED and not follows(on.model.rule, on):
        status = TURNS_FAR
    return status


@kernel
def step(on, info):
    """Take one step from a knot that is placed; a status. The state stays where it fails."""
    info.status = find_points(on, info)
    if info.status == CONVERGED:
        add_rest(on)
        move_on(on)
        info.status = begin_knot(on)
        info.violation = violation(on.work.multipliers)
    return info.status


@kernel
def violation(held):
    """The largest value of constraints at the knot [m, sine, or rad]."""
    worst = 0.0
    if held is not None:
        for k in range(held.open_by.shape[0]):
            worst = max(worst, abs(held.open_by[k]))
    return worst
