"""Steps from starts at joint coordinates, for numbers that have derivatives."""

from math import sqrt

from robosim.compiled.memory import PLACED
from robosim.kernels.compiler.addresses import copy_record, read_word, write_word
from robosim.kernels.compiler.duals import DIRECTIONS, number_of, slope, with_slope
from robosim.kernels.compiler.jit import kernel, stage
from robosim.kernels.contact.compliance import friction_coefficient
from robosim.kernels.equations.algebra import fill
from robosim.kernels.status import CONVERGED
from robosim.kernels.step.closure import move_onto_loops, start_near
from robosim.kernels.step.following import follow_torques, keep_momenta, note_momenta
from robosim.kernels.step.knot import put_bodies
from robosim.kernels.step.matrices import linearize_interval
from robosim.kernels.step.run import control
from robosim.kernels.step.saved import copy_guesses
from robosim.kernels.step.step import step
from robosim.kernels.step.wants import VELOCITIES

UNSOLVED = -1  # status of a start whose step is left to the caller


@stage
def linearized_starts(scheme, plain, on, starts, columns, plain_solver, solver, arc):
    """The steps from some starts along all directions of `on.along`, one start after the other.

    Each is solved in plain numbers first, by `plain` (`Parts`), unless its caller has done so; what
    has been divided there is divided alike. `starts.status` tells of each what has become of it.
    """
    model, state, memory, loads, work, options = plain
    for i in range(starts.status.shape[0]):
        for n in range(on.begins.shape[0]):
            on.begins[n] = starts.begins[i, n]
        for n in range(on.gains.shape[0]):
            copy_record(starts.gains[i, n], on.gains[n])
        if starts.solved[i] == 0 and columns.last[0] >= 0 and holds_torques(on.gains):
            start_plainly(model, state, memory, loads, work, on, starts.external[i], arc)
            if linearize_interval(scheme, plain, on, columns, plain_solver, arc, starts.changes[i]):
                starts.count[i] = store_contacts(
                    model, memory.guesses, memory.system, work, starts.contacts[i]
                )
                for n in range(on.nq):
                    starts.ends[i, n] = state.q[n]
                for n in range(on.nv):
                    starts.ends[i, on.nq + n] = state.v[n]
                starts.divided[i], starts.status[i] = 1, CONVERGED
                continue
        if starts.solved[i] == 0:
            start_plainly(model, state, memory, loads, work, on, starts.external[i], arc)
            info = on.plain_info[0]
            status = step(
                scheme, model, state, memory, loads, work, options, plain_solver, VELOCITIES, info
            )
            if status != CONVERGED or info.substeps > options.max_substeps:
                starts.status[i] = UNSOLVED
                continue
            starts.divided[i] = on.plain_info[0].substeps
        else:
            for n in range(on.nv):
                on.chords[n] = on.begins[on.nq + n]
        starts.count[i] = store_contacts(
            model, memory.guesses, memory.system, work, starts.contacts[i]
        )
        guess(on, state, memory.guesses, options.dt)
        if on.by_state:
            for n in range(on.turns.shape[0]):
                start_turn(on, on.turns[n, 0], on.turns[n, 1])
        on.info[0].divided = starts.divided[i]
        starts.status[i] = linearized_steps(scheme, on, solver, arc)
        if starts.status[i] != CONVERGED:
            continue
        for n in range(on.ends.shape[0]):
            starts.ends[i, n] = on.ends[n]
        end_in_tangent(on, starts.changes[i])


@kernel
def start_plainly(model, state, memory, loads, work, on, external, arc):
    """The start at `on.begins` in plain numbers, with all that acts over the step from there."""
    nq, nv = on.nq, on.nv
    for i in range(nq):
        state.q[i] = on.begins[i]
    for i in range(nv):
        state.v[i] = on.begins[nq + i]
    for i in range(loads.tau.shape[0]):
        loads.tau[i] = on.begins[nq + nv + i]
    release_servos(loads)
    for b in range(external.shape[0]):
        for k in range(6):
            loads.external[b].w[k] = external[b, k]
    put_bodies(model, state, memory, work, arc, None)
    for j in range(on.mid.shape[0]):
        for row in range(6):
            on.mid[j, row] = state.joints[j].mid[row]
    for b in range(model.bodies.shape[0]):
        joint = model.joints[b]
        for row in range(joint.m_T + joint.m_R):
            on.chords[joint.v_begin + row] = work.joints[b].law[row]
    control(on.gains, state, loads)


@kernel
def release_servos(loads):
    """As at each start: what is projected there would answer to the servos of another step."""
    for i in range(loads.servos.shape[0]):
        servo = loads.servos[i]
        servo.kp, servo.kd, servo.target_rate = 0.0, 0.0, 0.0


@stage
def guess(on, state, guesses, dt):
    """Put into `on.guesses` what the solution tells, so that none of it is left to be found."""
    for j in range(on.mid.shape[0]):
        for row in range(6):
            change = state.joints[j].mid[row] - on.mid[j, row]
            guesses.joints[j].slope[row] = change / (0.5 * dt)
            fill(0.0, guesses.joints[j].missed[row])
    copy_words(on.carried, 0, 0)
    first = guesses.contacts.shape[0] - guesses.features.shape[0]
    for k in range(guesses.contacts.shape[0]):
        if guesses.active[k] != 0:
            copy_words(on.touching, k * on.sizes[0], k * on.sizes[1])
            if k >= first:
                copy_words(on.featured, (k - first) * on.sizes[2], (k - first) * on.sizes[3])


@kernel
def copy_words(fields, ahead, lanes_ahead):
    """Copy words (FIELD), some bytes further on, into the numbers of duals or into integers."""
    for n in range(fields.shape[0]):
        f = fields[n]
        for i in range(f.count):
            word = read_word(f.state + ahead + 8 * i)
            write_word(f.lanes + lanes_ahead + f.stride * i, word)


@kernel
def store_contacts(model, guesses, system, work, contacts):
    """What the modes of the last step's contacts follow from, into `contacts`; returns how many."""
    count = 0
    for k in range(guesses.active.shape[0]):
        if guesses.active[k] == 0:
            continue
        contact, c, out = work.slots[k], guesses.contacts[k], contacts[count]
        out.slot, out.kind, out.resists = k, contact.kind, contact.resists
        out.body, out.other, out.joint = contact.body, contact.other, contact.joint
        out.mass, out.mu = contact.mass, friction_coefficient(contact, system.contacts[k])
        out.gamma, out.s, out.psi = c.gamma, c.s, c.psi
        out.friction, out.step_back = size(model.facets, c.beta), system.contacts[k].step_back
        count += 1
    return count


@kernel
def size(facets, beta):
    """How large an impulse of friction is."""
    if facets.shape[0] == 0:
        return sqrt(beta[0] * beta[0] + beta[1] * beta[1])
    x, y = 0.0, 0.0
    for n in range(facets.shape[0]):
        x += beta[n] * facets[n, 0]
        y += beta[n] * facets[n, 1]
    return sqrt(x * x + y * y)


@kernel
def turn_row(q, at, c, row):
    """Rates of a quaternion by component c of its angular velocity (child axes), doubled."""
    w, x, y, z = q[at], q[at + 1], q[at + 2], q[at + 3]
    if c == 0:
        row[0], row[1], row[2], row[3] = -x, w, z, -y
    elif c == 1:
        row[0], row[1], row[2], row[3] = -y, -z, w, x
    else:
        row[0], row[1], row[2], row[3] = -z, y, -x, w


@kernel
def start_turn(on, v, at):
    """Directions of a free rotation, as unit angular velocities."""
    for c in range(3):
        turn_row(on.begins, at, c, on.row)
        for k in range(4):
            on.along[on.at[v + c], at + k] = 0.5 * on.row[k]


@kernel
def end_in_tangent(on, changes):
    """Changes of q, in the tangent, and of v; a column for each direction."""
    nv = on.nv
    for d in range(changes.shape[1]):
        slopes = on.slopes[on.at[d]]
        for i in range(nv):
            if on.places[i] >= 0:
                changes[i, d] = slopes[on.places[i]]
            changes[nv + i, d] = slopes[on.nq + i]
        for n in range(on.turns.shape[0]):
            v, at = on.turns[n, 0], on.turns[n, 1]
            for c in range(3):
                turn_row(on.ends, at, c, on.row)
                total = 0.0
                for k in range(4):
                    total += on.row[k] * slopes[at + k]
                changes[v + c, d] = 2.0 * total


@stage
def linearized_steps(scheme, on, solver, arc):
    """The step along all directions of on.along, as many at a time as duals have; a status.

    Leaves what it leads to in on.ends and, by direction, in on.slopes; see `DualParts`.
    """
    follows = on.follows and on.info[0].divided <= 1 and holds_torques(on.gains)
    begin, end = 0, on.others if follows else on.unknown
    while begin < end:
        count = min(DIRECTIONS, end - begin)
        begin_at(on, begin, count)
        linearized_step(scheme, on, solver, arc, begin == 0)
        if on.info[0].status != CONVERGED:
            break
        end_at(on, begin, count)
        if follows:
            note_momenta(on.motors, on, begin, count)
        begin += count
        if follows and begin == end:
            follows = False
            if not follow_torques(scheme, on.motors, on):
                end = on.unknown
    return on.info[0].status


@kernel
def holds_torques(gains):
    """Whether no torque follows from where the step begins, as that of a PD does."""
    for n in range(gains.shape[0]):
        if gains[n].implicit == 0 and (gains[n].kp != 0.0 or gains[n].kd != 0.0):
            return False
    return True


@kernel
def begin_at(on, begin, count):
    """What a step begins with, and some directions of it: q, v, torques, a PD."""
    q, v, tau, nq, nv = on.state.q, on.state.v, on.loads.tau, on.nq, on.nv
    gains = on.gains.shape[0]
    for n in range(gains):
        copy_gains(on.gains[n], on.pd[n])
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
        for n in range(gains):
            pd, at = on.pd[n], nq + nv + tau.shape[0] + n
            pd.target = with_slope(pd.target, k, on.along[begin + k, at])
            pd.kp = with_slope(pd.kp, k, on.along[begin + k, at + gains])
            pd.kd = with_slope(pd.kd, k, on.along[begin + k, at + 2 * gains])


@kernel
def copy_gains(source, target):
    """Gains of a PD (GAINS) into wider ones."""
    target.q_index, target.v_index, target.turn = source.q_index, source.v_index, source.turn
    target.target, target.velocity = source.target, source.velocity
    target.kp, target.kd = source.kp, source.kd
    target.limit, target.speed, target.implicit = source.limit, source.speed, source.implicit


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
def linearized_step(scheme, on, solver, arc, first):
    """Start at on.state.q and v, and take a step under on.loads.tau and a PD.

    What the step is guessed from is given to the `first` of some, and where one has changed it.
    """
    state, memory, work, info = on.state, on.memory, on.work, on.info[0]
    changed = memory.system.valid[PLACED] != 0
    fill(0, memory.system.valid)
    put_bodies(on.model, state, memory, work, arc, on.chords)
    if on.closes:
        release_servos(on.loads)
        move_onto_loops(on.model, state, memory.system, work, on.held, on.goal, 4)
        for _ in range(2):
            info.status = start_near(on.model, state, memory, on.loads, work, on.held, on.rate, arc)
            if info.status != CONVERGED:
                return
    # Impacts forget it, and leave no sign of that.
    if first or changed or on.model.restitution.shape[0] > 0:
        copy_guesses(on.guesses, memory.guesses)
    if on.follows:
        keep_momenta(state, work.saved)
    control(on.pd, state, on.loads)
    step(scheme, on.model, state, memory, on.loads, work, on.options, solver, VELOCITIES, info)
