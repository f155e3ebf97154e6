"""The knot that a simulation starts from."""

from robosim.kernels.compiler.duals import are_duals, number_of
from robosim.kernels.compiler.jit import entry, kernel
from robosim.kernels.compiler.lanes import everywhere
from robosim.kernels.equations.algebra import assign, fill, rotate, rotate_back
from robosim.kernels.equations.arcs import farthest_turn, find_changes
from robosim.kernels.equations.coordinates import move_bodies, place_bodies, read_joints
from robosim.kernels.equations.joint import joint_motion_map, own_rate, rate_along
from robosim.kernels.equations.tendon import is_tendon, span_rate
from robosim.kernels.step.means import begin_means, forget_ahead

MOST_REPETITIONS = 12
ALIKE = 1e-14  # part of derivatives of rates by which they may be off
CLOSE = 1e-16  # change of rates, as part of the largest, below which they are found


@entry
def set_bodies(model, state, memory, work, dt):
    """`put_bodies`, called from Python."""
    put_bodies(model, state, memory, work, dt, None)


@kernel
def put_bodies(model, state, memory, work, dt, chords):
    """Put the bodies where state.q and state.v say, as the tree's joints lead to them.

    `chords` are for `find_chords`.
    """
    place_bodies(model, state.q, work, memory.system.pose1)
    move_bodies(model, memory.system.pose1, state.q, state.v, work, work.twists)
    for i in range(state.bodies.shape[0]):
        body, pose = state.bodies[i], memory.system.pose1[i]
        for k in range(3):
            body.x[k] = pose.x[k]
            body.v[k] = work.twists[i].w[k]
        for k in range(4):
            body.q[k] = pose.q[k]
        rotate_back(pose.R, work.twists[i].w[3:], body.omega)
    read_joints(model, state, work, memory.system.pose1, work.twists, model.bodies.shape[0])
    find_chords(model, memory.system.pose1, state.q, state.v, dt, work, chords)
    start_knot(model, state, memory, work)
    if not are_duals(state.last_dt[0]):
        begin_means(state)
    forget_unless_given(state, memory)


@kernel
def find_chords(model, poses, q, v, dt, work, chords):
    """work.twists = chords of an interval dt from which the tree's velocities v are read.

    What is read of chords are their rates and those of what leads them to arcs. So chords have the
    rates v without the latter, repeated: each time they are closer by the square of an angle.
    Leaves their rates in the `law` of the joints. Where these `chords` are known, or nearly so,
    what is left to be found are derivatives.
    """
    t, nb = work.scratch[0], model.bodies.shape[0]
    for j in range(nb):
        joint, given = model.joints[j], work.joints[j].law
        for row in range(joint.m_T + joint.m_R):
            given[row] = v[joint.v_begin + row]
    if chords is not None:
        for n in range(chords.shape[0]):
            v[n] = chords[n] + (v[n] - number_of(v[n]))
        move_bodies(model, poses, q, v, work, work.twists)
    square = apart = farthest_turn(model, work.twists, dt)
    for _ in range(MOST_REPETITIONS):
        if not find_changes(model, poses, work.twists, dt, work):
            break
        left, largest = 0.0, 0.0
        for j in range(nb):
            joint, given = model.joints[j], work.joints[j].law
            # The world, whose twist is zero, has none in work.rhs.
            a = work.rhs[joint.parent].w if joint.parent < nb else work.twists[nb].w
            b = work.rhs[joint.child].w
            joint_motion_map(joint, poses[joint.parent], poses[joint.child], q, t, 0, t.S_a, t.S_b)
            for row in range(joint.m_T + joint.m_R):
                n = joint.v_begin + row
                rate = given[row] - rate_along(t.S_a[row], t.S_b[row], a, b)
                left, largest = max(left, abs(rate - v[n])), max(largest, abs(rate))
                v[n] = rate
        move_bodies(model, poses, q, v, work, work.twists)
        apart *= square
        derived = not are_duals(apart) or everywhere(apart <= ALIKE)
        if derived and everywhere(left <= CLOSE * largest):
            break
    for j in range(nb):
        joint, given = model.joints[j], work.joints[j].law
        for row in range(joint.m_T + joint.m_R):
            n = joint.v_begin + row
            v[n], given[row] = given[row], v[n]


@kernel
def start_knot(model, state, memory, work):
    """Momenta, Jacobians and rotors that start a step from system.pose1 and work.twists.

    The momentum of a knot velocity is the discrete Legendre transform of a start: the first
    step then receives half of the knot's impulse, as every later one does from either side. The
    twists are chords, and rotors turn with them: as the velocities at a knot are found.
    """
    fill(0.0, state.last_dt)
    state.stale[0] = 0.0
    t = work.scratch[0]
    for i in range(state.bodies.shape[0]):
        body, pose = state.bodies[i], memory.system.pose1[i]
        assign(work.twists[i].w, body.shown)
        assign(work.twists[i].w, body.v_mid)
        body.apart = 0.0
        for k in range(3):
            body.p[k] = model.bodies[i].mass * body.shown[k]
        rotate_back(pose.R, body.shown[3:], t.w)
        rotate(model.bodies[i].inertia, t.w, t.y)
        rotate(pose.R, t.y, body.p[3:])
    for j in range(model.joints.shape[0]):
        joint, knot = model.joints[j], state.joints[j]
        fill(0.0, knot.impulse)
        fill(0.0, knot.mid)
        fill(0.0, knot.drive)
        fill(0.0, knot.rotor)
        turning = False
        for row in range(joint.m_T + joint.m_R):
            v = joint.v_begin + row
            knot.mid[row] = own_rate(joint, row, state.v, state.bodies)
            if model.coordinates[v].armature != 0.0:
                turning = True
        if turning:
            start_rotors(model, j, memory.system.pose1, state.q, work, knot)
    for n in range(state.couplings.shape[0]):
        state.couplings[n].impulse = 0.0
    forget_ahead(state)
    fill(0.0, state.pressed)
    fill(0.0, state.closed)


@kernel
def start_rotors(model, j, poses, q, work, knot):
    """Momenta of the rotors of joint j at the rates that work.twists give it."""
    joint, t = model.joints[j], work.scratch[0]
    if is_tendon(joint):
        rate, _ = span_rate(model, joint, work.span2, work.twists)
        knot.rotor[0] = model.coordinates[joint.v_begin].armature * rate
        return
    joint_motion_map(joint, poses[joint.parent], poses[joint.child], q, t, 0, t.S_a, t.S_b)
    a, b = work.twists[joint.parent].w, work.twists[joint.child].w
    for row in range(joint.m_T + joint.m_R):
        rate = rate_along(t.S_a[row], t.S_b[row], a, b)
        knot.rotor[row] = model.coordinates[joint.v_begin + row].armature * rate


@kernel
def forget_unless_given(state, memory):
    """`forget`, but for steps with derivatives: these are given what they are guessed from."""
    if not are_duals(state.last_dt[0]):
        forget(memory)
        pace = memory.guesses.pace[0]
        pace.level, pace.intervals, pace.events = 0, 0, 0
        pace.shortest, pace.error = 0.0, 0.0


@kernel
def forget(memory):
    """Leave nothing for the next step to begin with but the state."""
    guesses = memory.guesses
    fill(0, memory.system.valid)
    for j in range(guesses.joints.shape[0]):
        guess = guesses.joints[j]
        fill(0.0, guess.slope)
        for row in range(6):
            fill(0.0, guess.missed[row])
    fill(0, guesses.active)
    fill(-1, guesses.ids)
    fill(0.0, guesses.trend)
    fill(0.0, guesses.contact_trend)
