"""The knot that a simulation starts from."""

from robosim.kernels.compiler.jit import entry, kernel
from robosim.kernels.equations.algebra import assign, fill, rotate, rotate_back
from robosim.kernels.equations.arcs import add_changes, find_changes
from robosim.kernels.equations.coordinates import move_bodies, place_bodies, read_joints
from robosim.kernels.equations.joint import own_rate


@entry
def set_bodies(model, state, memory, work, dt):
    """Put the bodies where state.q and state.v say, as the tree's joints lead to them."""
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
    start_knot(model, state, memory, work, dt)


@kernel
def start_knot(model, state, memory, work, dt):
    """Momenta, Jacobians and rotors that start a step from system.pose1 and work.twists.

    The momentum of a knot velocity is the discrete Legendre transform of a start: the first
    step then receives half of the knot's impulse, as every later one does from either side. `dt`
    is the length of the arcs that the twists are measured along, or 0.
    """
    state.last_dt[0], state.stale[0] = 0.0, 0.0
    t = work.scratch[0]
    if find_changes(model, memory.system.pose1, work.twists, dt, True, work):
        add_changes(model, work, work.twists)
    for i in range(state.bodies.shape[0]):
        body, pose = state.bodies[i], memory.system.pose1[i]
        assign(work.twists[i].w, body.shown)
        assign(work.twists[i].w, body.v_mid)
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
        for row in range(joint.m_T + joint.m_R):
            v = joint.v_begin + row
            knot.mid[row] = own_rate(joint, row, state.v, state.bodies)
            knot.rotor[row] = model.coordinates[v].armature * state.v[v]
    for n in range(state.couplings.shape[0]):
        state.couplings[n].impulse = 0.0
    forget(memory)


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
