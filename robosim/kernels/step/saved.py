"""What a step goes back to if a part of it fails."""

from robosim.kernels.compiler.addresses import copy_record
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign


@kernel
def save(state, guesses, work):
    """Keep what a step goes back to if a part of it fails."""
    copy_state(state, work.saved)
    copy_guesses(guesses, work.learned)


@kernel
def copy_state(source, target):
    """All of a state into another one."""
    for i in range(source.bodies.shape[0]):
        copy_record(source.bodies[i], target.bodies[i])
    for j in range(source.joints.shape[0]):
        copy_record(source.joints[j], target.joints[j])
    for n in range(source.couplings.shape[0]):
        copy_record(source.couplings[n], target.couplings[n])
    assign(source.q, target.q)
    assign(source.v, target.v)
    assign(source.last_dt, target.last_dt)
    assign(source.stale, target.stale)
    assign(source.kept, target.kept)
    assign(source.pressed, target.pressed)
    assign(source.closed, target.closed)


@kernel
def copy_guesses(source, target):
    """All of guesses into other ones; of contacts those that are active."""
    for j in range(source.joints.shape[0]):
        copy_record(source.joints[j], target.joints[j])
    assign(source.active, target.active)
    assign(source.ids, target.ids)
    first = source.contacts.shape[0] - source.features.shape[0]
    for k in range(source.contacts.shape[0]):
        if source.active[k] != 0:
            copy_record(source.contacts[k], target.contacts[k])
            if k >= first:
                copy_record(source.features[k - first], target.features[k - first])
    assign(source.trend, target.trend)
    assign(source.contact_trend, target.contact_trend)
    for n in range(source.pace.shape[0]):
        copy_record(source.pace[n], target.pace[n])
