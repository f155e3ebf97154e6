"""What a step leaves for the next one: the only writer of Memory when a step has been taken."""

from robosim.compiled.memory import PLACED
from robosim.kernels.compiler.addresses import copy_record
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import least_of_limbs, most_of_limbs, pick
from robosim.kernels.contact.law import contact_keeps
from robosim.kernels.equations.algebra import assign, fill
from robosim.kernels.solve.trend import choose_trend

SLIGHT = 1e-8  # [m/s], changes of contacts that are not worth a guess


@kernel
def learn(scheme, model, state, memory, work, dt, last_dt, shows, push, info):
    """What the next interval begins with; on the way, how far joints are violated.

    The interval before was `last_dt` long. Guesses learn from intervals that are alike.
    """
    guesses, system, misses = memory.guesses, memory.system, work.scratch[0].misses
    learn_contacts(scheme, model, memory, work, pick(last_dt == dt, 1.0, 0.0), misses, info)
    scheme.learn_rates(model, state, guesses, work, dt, last_dt, shows, push, misses)
    for i in range(model.bodies.shape[0]):
        copy_record(work.pose2[i], system.pose1[i])
    scheme.place_next(model, state, system, work, info)
    system.valid[PLACED] = 1
    info.gap, info.violation = least_of_limbs(info.gap), most_of_limbs(info.violation)


@kernel
def learn_contacts(scheme, model, memory, work, regular, misses, info):
    """Keep the contacts of the equations, with their variables and how these have changed."""
    guesses, first = memory.guesses, model.contacts.shape[0]
    assign(work.entered, guesses.active)
    assign(work.ids, guesses.ids)
    foretold = scheme.foretells_contacts() and model.facets.shape[0] == 0
    fill(0.0, misses)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        if k >= first:
            info.gap = min(info.gap, memory.system.contacts[k].gap)
            copy_record(work.slots[k], guesses.features[k - first])
        if foretold:
            contact_keeps(work.slots[k], work.contacts[k], regular, misses)
        copy_record(work.contacts[k], guesses.contacts[k])
    choose_trend(misses, SLIGHT * SLIGHT, guesses.contact_trend)
