"""Islands of a world, which take their steps by themselves: what the world hands to them, and back.

`to` has the places of an island's bodies, joints, couplings and coordinates among the world's.
"""

from math import inf

from robosim.kernels.compiler.addresses import copy_record
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign, fill
from robosim.kernels.step.saved import copy_guesses, copy_state


@kernel
def hand_down(state, run, to, whole, torques, first, steps):
    """What drives some steps of the world, from its step `first` on, into the run of an island."""
    for k in range(steps):
        row = first + k if torques.shape[0] > 1 else 0
        for c in range(to.v.shape[0]):
            run.torques[k, c] = torques[row, to.v[c]]
    for d in range(to.motions.shape[0]):
        for k in range(steps + 1):
            for side in range(2):
                run.motions[k, d, side] = whole.motions[first + k, to.motions[d], side]
    for n in range(run.gains.shape[0]):
        g, given = run.gains[n], whole.gains[to.gains[n, 0]]
        copy_record(given, g)
        g.q_index, g.v_index, g.turn = to.gains[n, 1], to.gains[n, 2], to.gains[n, 3]
        for k in range(steps):
            run.targets[k, n], run.rates[k, n] = given.target, given.velocity
            if whole.targets.shape[0] > 0:
                run.targets[k, n] = whole.targets[first + k, to.gains[n, 0]]
            if whole.rates.shape[0] > 0:
                run.rates[k, n] = whole.rates[first + k, to.gains[n, 0]]
    for i in range(run.swept.shape[0]):
        box = run.swept[i]
        assign(state.bodies[i].x, box.x)
        fill(inf, box.lower)
        fill(-inf, box.upper)


@kernel
def hand_loads_down(world, loads, to):
    """Servos, wrenches and controls of the world into those of an island."""
    for c in range(to.v.shape[0]):
        copy_record(world.servos[to.v[c]], loads.servos[c])
    for i in range(to.bodies.shape[0]):
        copy_record(world.external[to.bodies[i]], loads.external[i])
    for n in range(to.controls.shape[0]):
        loads.controls[n] = world.controls[to.controls[n]]


@kernel
def hand_up(state, loads, run, to, whole, world, first, steps, begins):
    """The log of some steps of an island into that of the world, and where the island is now.

    The first island `begins` what the world knows of the steps.
    """
    every, own = whole.every[0], run.every[0]
    for k in range(steps):
        row = (first + k) // every
        if (first + k) % every == 0:
            for c in range(run.q.shape[1]):
                whole.q[row, to.q[c]] = run.q[k // own, c]
            for c in range(run.v.shape[1]):
                whole.v[row, to.v[c]] = run.v[k // own, c]
            for c in range(run.tau.shape[1]):
                whole.tau[row, to.v[c]] = run.tau[k // own, c]
        join_infos(run.infos[k], whole.infos[first + k], to, begins)
    for n in range(run.gains.shape[0]):
        g = whole.gains[to.gains[n, 0]]
        g.target, g.velocity = run.gains[n].target, run.gains[n].velocity
    for c in range(to.q.shape[0]):
        world.state.q[to.q[c]] = state.q[c]
    for c in range(to.v.shape[0]):
        world.state.v[to.v[c]] = state.v[c]
        world.loads.tau[to.v[c]] = loads.tau[c]
        copy_record(loads.servos[c], world.loads.servos[to.v[c]])
    for i in range(run.swept.shape[0]):
        copy_record(run.swept[i], world.boxes[to.bodies[i]])


@kernel
def hand_up_at_rest(state, loads, to, whole, first, steps):
    """The log of some steps that an island has slept through into that of the world."""
    every = whole.every[0]
    for row in range((first + every - 1) // every, (first + steps - 1) // every + 1):
        for c in range(to.q.shape[0]):
            if to.q[c] < whole.q.shape[1]:
                whole.q[row, to.q[c]] = state.q[c]
        for c in range(to.v.shape[0]):
            if to.v[c] < whole.v.shape[1]:
                whole.v[row, to.v[c]] = state.v[c]
            if to.v[c] < whole.tau.shape[1]:
                whole.tau[row, to.v[c]] = loads.tau[c]


@kernel
def join_rest(info, whole, first, steps, alone):
    """What steps come to that islands have slept through, beside others or `alone`."""
    for k in range(first, first + steps):
        if alone:
            copy_record(info, whole.infos[k])
        else:
            one = whole.infos[k]
            one.gap = min(one.gap, info.gap)
            one.violation = max(one.violation, info.violation)


@kernel
def join_infos(info, whole, to, begins):
    """What a step of an island came to into that of the world: the worst of all islands."""
    if begins or info.residual > whole.residual:
        whole.residual, whole.worst_body = info.residual, to.bodies[info.worst_body]
    if begins or info.turn < whole.turn:
        whole.turn = info.turn
        whole.turner = float(to.bodies[int(info.turner)]) if info.turner >= 0.0 else info.turner
    if begins:
        whole.status, whole.iterations, whole.substeps = info.status, 0, 1
        whole.order, whole.attempt = info.order, info.attempt
        whole.gap, whole.violation = info.gap, info.violation
        whole.shortest, whole.error, whole.events = info.shortest, 0.0, 0
    whole.order = min(whole.order, info.order)
    whole.iterations = max(whole.iterations, info.iterations)
    whole.substeps = max(whole.substeps, info.substeps)
    whole.attempt = max(whole.attempt, info.attempt)
    whole.violation = max(whole.violation, info.violation)
    whole.gap = min(whole.gap, info.gap)
    whole.shortest = min(whole.shortest, info.shortest)
    whole.error = max(whole.error, info.error)
    whole.events += info.events


@kernel
def gather_state(state, to, world):
    """All that is shown of an island's state, into that of the world."""
    for i in range(to.bodies.shape[0]):
        copy_record(state.bodies[i], world.bodies[to.bodies[i]])
    for j in range(to.joints.shape[0]):
        copy_record(state.joints[j], world.joints[to.joints[j]])
    for n in range(to.couplings.shape[0]):
        copy_record(state.couplings[n], world.couplings[to.couplings[n]])
    for c in range(to.q.shape[0]):
        world.q[to.q[c]] = state.q[c]
    for c in range(to.v.shape[0]):
        world.v[to.v[c]] = state.v[c]
    assign(state.last_dt, world.last_dt)
    world.stale[0], world.kept[0] = 0.0, 1.0


@kernel
def keep(state, memory, kept, deep):
    """Keep what an island goes back to; if `deep`, so that the same steps come to the same bits."""
    copy_state(state, kept.state)
    copy_guesses(memory.guesses, kept.guesses)
    if deep:
        copy_system(memory.system, kept.system, memory.guesses.active)


@kernel
def go_back(state, memory, kept, deep):
    """Go back to what has been kept."""
    copy_state(kept.state, state)
    copy_guesses(kept.guesses, memory.guesses)
    if deep:
        copy_system(kept.system, memory.system, kept.guesses.active)
    else:
        fill(0, memory.system.valid)


@kernel
def copy_system(source, target, active):
    """All of a linear system into another one; of contacts those that are active."""
    assign(source.valid, target.valid)
    for i in range(source.pose1.shape[0]):
        copy_record(source.pose1[i], target.pose1[i])
    for i in range(source.inertias.shape[0]):
        copy_record(source.inertias[i], target.inertias[i])
    for j in range(source.directions.shape[0]):
        copy_record(source.directions[j], target.directions[j])
    for k in range(source.contacts.shape[0]):
        if active[k] != 0:
            copy_record(source.contacts[k], target.contacts[k])
    for n in range(source.blocks.shape[0]):
        copy_record(source.blocks[n], target.blocks[n])
    for i in range(source.tree.shape[0]):
        copy_record(source.tree[i], target.tree[i])
    for n in range(source.border.shape[0]):
        copy_record(source.border[n], target.border[n])
    for i in range(source.arms.shape[0]):
        copy_record(source.arms[i], target.arms[i])
    for p in range(source.looks.shape[0]):
        copy_record(source.looks[p], target.looks[p])
    assign(source.travel, target.travel)
    copy_coupled(source.coupled, target.coupled)


@kernel
def copy_coupled(source, target):
    """All of the contacts between bodies of a tree."""
    assign(source.number, target.number)
    for k in range(source.columns.shape[0]):
        copy_record(source.columns[k], target.columns[k])
    for k in range(source.entries.shape[0]):
        copy_record(source.entries[k], target.entries[k])
    assign(source.last, target.last)
    for k in range(source.matrix.shape[0]):
        assign(source.matrix[k], target.matrix[k])
    assign(source.rows, target.rows)
    assign(source.motion, target.motion)
    assign(source.known, target.known)


@kernel
def stand(bodies, boxes, far):
    """Boxes around bodies at the knot, wider by a part of their radius; and by a motion's length.

    `far` has that part, and a time [s].
    """
    for i in range(boxes.shape[0]):
        box, x, v = boxes[i], bodies[i].x, bodies[i].v
        fill(inf, box.lower)
        fill(-inf, box.upper)
        if box.radius < 0.0:
            continue
        for k in range(3):
            size = box.radius * (1.0 + far[0]) + abs(v[k]) * far[1]
            box.lower[k], box.upper[k] = x[k] - size, x[k] + size


@kernel
def find_meetings(boxes, world, units, same, met):
    """Pairs of units whose bodies' boxes overlap, of the `same` island or not; their number.

    Units are sorted by where they begin along the first axis. Only bodies that may touch count.
    `met` (n, 2) gets as many pairs as it has room for.
    """
    n, count, order = world.order.shape[0], 0, world.order
    for u in range(n):
        unit = units[u]
        fill(inf, unit.lower)
        fill(-inf, unit.upper)
        for m in range(world.unit_begin[u], world.unit_begin[u + 1]):
            box = boxes[world.unit_bodies[m]]
            for k in range(3):
                unit.lower[k] = min(unit.lower[k], box.lower[k])
                unit.upper[k] = max(unit.upper[k], box.upper[k])
    for i in range(1, n):
        u, j = order[i], i
        while j > 0 and units[order[j - 1]].lower[0] > units[u].lower[0]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = u
    for i in range(n):
        a = order[i]
        for j in range(i + 1, n):
            b = order[j]
            if units[b].lower[0] > units[a].upper[0]:
                break
            alike = world.island_of[a] == world.island_of[b]
            if alike == same and overlap(units[a], units[b]) and bodies_meet(boxes, world, a, b):
                if count < met.shape[0]:
                    met[count, 0], met[count, 1] = a, b
                count += 1
    return min(count, met.shape[0])


@kernel
def overlap(a, b):
    """Whether two boxes overlap."""
    for k in range(3):
        if a.lower[k] > b.upper[k] or b.lower[k] > a.upper[k]:
            return False
    return True


@kernel
def bodies_meet(boxes, world, a, b):
    """Whether boxes of bodies of two units overlap that may touch each other."""
    for m in range(world.unit_begin[a], world.unit_begin[a + 1]):
        i = world.unit_bodies[m]
        for n in range(world.partner_begin[i], world.partner_begin[i + 1]):
            other = world.partners[n]
            if world.unit_of[other] == b and overlap(boxes[i], boxes[other]):
                return True
    return False
