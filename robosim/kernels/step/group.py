"""Lanes that take their steps together: a group of states, one in each, or the limbs of one state.

While they do, the lanes are where the states are; what drives a state and what it logs is its
own. A step that is not solved undivided, or in which lanes part, is left undone: the states are
put back where they belong, and each can take it by itself.
"""

from robosim.kernels.compiler.addresses import load, read_word, write_word
from robosim.kernels.compiler.jit import bridge, kernel, stage
from robosim.kernels.compiler.lanes import lane, together
from robosim.kernels.equations.algebra import fill
from robosim.kernels.solve.tree import scheme as tree
from robosim.kernels.status import CONVERGED
from robosim.kernels.step.interval import advance
from robosim.kernels.step.run import apply_controls, asks, servo_torques
from robosim.kernels.step.wants import BEGINS, HITS, MEANS, VELOCITIES


@kernel
def pack(fields, k):
    """Put fields of a state into lane k; whether anything there was different.

    Whole numbers that are not the same in all lanes become 0.
    """
    changed = False
    for n in range(fields.shape[0]):
        f = fields[n]
        for i in range(f.count):
            value, to = read_word(f.state + 8 * i), f.lanes + f.stride * i
            if read_word(to) != value:
                changed = True
                write_word(to, 0 if f.shared != 0 and k > 0 else value)
    return changed


@kernel
def unpack(fields):
    """Put a state's fields back from a lane."""
    for n in range(fields.shape[0]):
        f = fields[n]
        for i in range(f.count):
            write_word(f.state + 8 * i, read_word(f.lanes + f.stride * i))


@bridge
def take_step(model, state, memory, loads, work, options, solver, wants, info):
    """One undivided step of all lanes."""
    info.iterations, info.substeps, info.order = 0, 1, 2
    # Where something is hit that bounces, the states go on alone.
    if model.restitution.shape[0] > 0:
        wants |= HITS
    info.status = advance(
        tree, model, state, memory, loads, work, options, solver, options.dt, 1.0, wants, info
    )


@kernel
def has_servos(gains):
    """Whether any gains are those of a servo that is part of the equations."""
    for n in range(gains.shape[0]):
        if gains[n].implicit != 0:
            return True
    return False


@kernel
def tell(k, info, out):
    """How the step of a state went, from lane k."""
    out.status, out.iterations, out.substeps = info.status, info.iterations, info.substeps
    out.order, out.attempt, out.worst_body = info.order, info.attempt, info.worst_body
    out.residual, out.gap = lane(info.residual, k), lane(info.gap, k)
    out.violation = lane(info.violation, k)
    out.turn, out.turner = lane(info.turn, k), lane(info.turner, k)


@stage
def run_group(group, solver, parts, parts_kind, runs, run_kind, done, end):
    """Take steps done[0] to `end` of the states' runs; `done` is then where they part, or `end`.

    `parts` and `runs` are addresses as for single states, one for each lane or one for all of them,
    `solver` is as for `step`.
    """
    model, state, memory, loads, work, options, info, carried, forces, servos, shown = group
    changed, count = False, runs.shape[0]
    for k in range(carried.shape[0]):
        if pack(carried[k], k):
            changed = True
    if changed:
        fill(0, memory.system.valid)
    implicit = False
    for i in range(count):
        implicit = implicit or has_servos(load(runs[i], run_kind).gains)
    begin = reached = done[0]
    while reached < end:
        for i in range(count):
            own = load(parts[i], parts_kind)
            apply_controls(own[1], own[3], own[5], load(runs[i], run_kind), reached)
        for k in range(carried.shape[0]):
            pack(forces[k], k)
            if implicit or reached == begin:
                pack(servos[k], k)
        wants = MEANS | BEGINS if reached + 1 == end else 0
        if reached + 2 >= end or asks(load(runs[0], run_kind), reached + 1):
            wants |= VELOCITIES
        arguments = (model, state, memory, loads, work, options, solver, wants, info[0])
        if not together(take_step, arguments) or info[0].status != CONVERGED:
            fill(0, memory.system.valid)
            break
        for k in range(carried.shape[0]):
            unpack(shown[k])
        for i in range(count):
            own, run = load(parts[i], parts_kind), load(runs[i], run_kind)
            tell(i, info[0], run.infos[reached])
            servo_torques(run, reached, own[1], own[3], own[5].dt)
        reached += 1
    # Where no step was taken, the states are as they were, with whole numbers of their own.
    if reached > begin:
        for k in range(carried.shape[0]):
            unpack(carried[k])
    for i in range(count):
        fill(0, load(parts[i], parts_kind)[2].system.valid)
    done[:] = reached
