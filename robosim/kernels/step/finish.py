"""The state at the end of a step: the only writer of State."""

import numpy as np

from robosim.compiled.memory import FACTORED
from robosim.kernels.compiler.charts import charts_of
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.compiler.lanes import pick, somewhere
from robosim.kernels.contact.ground import ground_gap
from robosim.kernels.contact.hits import is_closed, is_stop, may_be_hit
from robosim.kernels.equations.algebra import assign, fill, rotate_back
from robosim.kernels.equations.arcs import add_changes
from robosim.kernels.equations.chart_rows import change_chart
from robosim.kernels.equations.joint import is_chart, is_driven
from robosim.kernels.status import CONVERGED
from robosim.kernels.step.means import add_impulses, begin_means, show_ahead
from robosim.kernels.step.start import start_interval
from robosim.kernels.step.velocities import begin_projection, find_velocities, length_ahead
from robosim.kernels.step.wants import BEGINS, MEANS


@kernel
def show_velocities(scheme, model, state, system, work):
    """Velocities of bodies and joints at the second knot, as `find_velocities` has left them."""
    for i in range(model.bodies.shape[0]):
        assign(work.twists[i].w, state.bodies[i].shown)
    if work.scratch[0].arcs != 0:
        add_changes(model, work, work.twists)
    for i in range(model.bodies.shape[0]):
        body, twist = state.bodies[i], work.twists[i].w
        assign(twist[:3], body.v)
        rotate_back(work.pose2[i].R, twist[3:], body.omega)
        body.apart = 0.0
    fill(0.0, work.twists[model.bodies.shape[0]].w)
    scheme.read_rates(model, state, system, work)
    show_ahead(scheme, model, state, work)
    state.stale[0] = 0.0


@kernel
def commit(scheme, model, state, system, work, dt, shows, wants, info):
    """Move the state to the second knot, its velocities if they are there; note the gap."""
    state.kept[0] = 0.0
    if wants & MEANS:
        if wants & BEGINS:
            begin_means(state)
        add_impulses(scheme, model, state, system, work)
        state.kept[0] = 1.0
    if shows:
        show_velocities(scheme, model, state, system, work)
    else:
        state.stale[0] = 1.0
        system.valid[FACTORED] = 0
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
        w, knot = work.joints[j], state.joints[j]
        if w.rows > model.joints[j].n_T + model.joints[j].n_R:
            assign(w.rotor, knot.rotor)
        assign(w.impulse, knot.impulse)
        if is_driven(model.joints[j]):
            assign(w.drive, knot.drive)
        if j >= scheme.first_multiplier(model):
            for row in range(w.rows, 6):
                knot.impulse[row] = 0.0
            for k in range(6):
                info.violation = max(info.violation, abs(w.g[k]))
    for n in range(model.couplings.shape[0]):
        info.violation = max(info.violation, abs(work.couplings[n].g))
        state.couplings[n].impulse = work.couplings[n].impulse
    scheme.read(model, state, system, work, dt)
    for j in range(model.joints.shape[0]):
        if is_chart(model.joints[j]):
            change_chart(
                charts_of(model.joints[j], work.scratch[0]),
                model.joints[j],
                state,
                state.joints[j].mid,
            )
    state.last_dt[1], state.last_dt[0] = state.last_dt[0], dt
    assign(work.bearings.pressed, state.pressed)
    if state.closed.shape[0] > 0:
        note_closed(model, state, work)


@aside
def note_closed(model, state, work):
    """Note which contacts have pushed: restitution is for those that have not."""
    fill(0.0, state.closed)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        if may_be_hit(work.slots[k]) or is_stop(work.slots[k]):
            state.closed[k] = pick(is_closed(work.slots[k], work.contacts[k]), 1.0, 0.0)


@kernel
def find_knot_velocities(scheme, model, state, system, loads, work, options):
    """Velocities at the knot where the state is, if nobody had asked for them."""
    if state.stale[0] == 0.0:
        return
    dt = state.last_dt[0]
    fill(0, system.valid)
    start_interval(scheme, model, state, system, loads, work, options, 0.0, 0.0)
    work.active[0] = 0
    fill(0, work.entered)
    scheme.find_rest(model, state, system, work, dt)
    limited = begin_projection(model, system, work, dt, False)
    length = length_ahead(model, options, dt)
    status = find_velocities(scheme, model, system, loads, work, options, limited, dt, length)
    if status == CONVERGED:
        show_velocities(scheme, model, state, system, work)
    fill(0, system.valid)
