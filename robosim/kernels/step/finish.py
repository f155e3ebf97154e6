"""The state at the end of a step: the only writer of State."""

import numpy as np

from robosim.compiled.kinds import HINGE
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import somewhere
from robosim.kernels.contact.active_set import ground_gap
from robosim.kernels.equations.algebra import assign, fill, rotate_back
from robosim.kernels.equations.arcs import add_changes, find_changes
from robosim.kernels.equations.coordinates import read_joints
from robosim.kernels.equations.joint import joint_motion_map, read_coordinates, read_velocities
from robosim.kernels.solve.tree.unknowns import interval_rates, read_rates, turned_angle
from robosim.kernels.step.velocities import is_tied, project_changes


@kernel
def show_velocities(model, tree, loops, state, system, loads, work, arc):
    """Velocities of bodies and joints at the second knot, read along arcs of length `arc` [s]."""
    for i in range(model.bodies.shape[0]):
        assign(work.twists[i].w, state.bodies[i].shown)
    if find_changes(model, work.pose2, work.twists, arc, False, work):
        if is_tied(model, loads):
            project_changes(model, tree, work.pose2, system, work)
        add_changes(model, work, work.twists)
    for i in range(model.bodies.shape[0]):
        body, twist = state.bodies[i], work.twists[i].w
        assign(twist[:3], body.v)
        rotate_back(work.pose2[i].R, twist[3:], body.omega)
    fill(0.0, work.twists[model.bodies.shape[0]].w)
    t = work.scratch[0]
    if tree is not None:
        for b in range(model.bodies.shape[0]):
            joint = model.joints[b]
            a, child = work.pose2[joint.parent], work.pose2[b]
            read_rates(joint, system.tree[b], a, child, work.twists, t, state.v)
    if loops is not None:
        for n in range(loops.joint.shape[0]):
            joint = model.joints[loops.joint[n]]
            over, on = work.twists[joint.parent].w, work.twists[joint.child].w
            a, child = work.pose2[joint.parent], work.pose2[joint.child]
            joint_motion_map(joint, a, child, t, 0, t.S_a, t.S_b)
            read_velocities(t.S_a, t.S_b, over, on, joint, state.v)


@kernel
def commit(model, tree, loops, state, system, work, dt, info):
    """Move the state to the second knot, all of it but the velocities there; note the gap."""
    info.gap, info.violation = np.inf, 0.0
    for i in range(model.bodies.shape[0]):
        body, w, pose, parameters = state.bodies[i], work.bodies[i], work.pose2[i], model.bodies[i]
        for k in range(3):
            body.x[k] = pose.x[k]
            body.v_mid[k] = w.v[k]
            body.v_mid[3 + k] = 2.0 / dt * w.P[1 + k]
        assign(pose.q, body.q)
        assign(work.known[i].w, body.p)
        if somewhere(pose.x[2] - parameters.reach < info.gap):
            for k in range(parameters.contact_begin, parameters.contact_end):
                info.gap = min(info.gap, ground_gap(work.slots[k], pose))
    for j in range(model.joints.shape[0]):
        joint, w, knot = model.joints[j], work.joints[j], state.joints[j]
        assign(w.rotor, knot.rotor)
        assign(w.impulse, knot.impulse)
        if tree is None or j >= model.bodies.shape[0]:
            for row in range(w.rows, 6):
                knot.impulse[row] = 0.0
            for k in range(6):
                info.violation = max(info.violation, abs(w.g[k]))
    for n in range(model.couplings.shape[0]):
        info.violation = max(info.violation, abs(work.couplings[n].g))
        state.couplings[n].impulse = work.couplings[n].impulse
    if tree is None:
        read_joints(model, tree, state, work, work.pose2, work.twists, 0)
        for j in range(model.joints.shape[0]):
            joint = model.joints[j]
            for row in range(joint.m_T + joint.m_R):
                state.joints[j].mid[row] = state.v[joint.v_begin + row]
    else:
        read_tree(model, state, system, work, dt)
    if loops is not None:
        read_loops(model, loops, state, work, dt)
    state.last_dt[0] = dt


@kernel
def read_tree(model, state, system, work, dt):
    """Coordinates of a tree's joints at the second knot, and their rates over the interval."""
    t = work.scratch[0]
    for b in range(model.bodies.shape[0]):
        joint, w, knot = model.joints[b], system.tree[b], state.joints[b]
        assign(knot.mid, work.joints[b].before)
        interval_rates(joint, system.pose1[b], w, dt, knot.mid)
        if joint.kind == HINGE:
            state.q[joint.q_begin] += turned_angle(w.Q)
        else:
            read_coordinates(joint, work.pose2[joint.parent], work.pose2[b], t, state.q)


@kernel
def read_loops(model, loops, state, work, dt):
    """The same of the joints that close loops."""
    t = work.scratch[0]
    for n in range(loops.joint.shape[0]):
        j = loops.joint[n]
        joint, mid = model.joints[j], state.joints[j].mid
        a, b = work.pose2[joint.parent], work.pose2[joint.child]
        for row in range(joint.m_T + joint.m_R):
            mid[row] = state.q[joint.q_begin + row]
        read_coordinates(joint, a, b, t, state.q)
        for row in range(joint.m_T + joint.m_R):
            mid[row] = (state.q[joint.q_begin + row] - mid[row]) / dt
