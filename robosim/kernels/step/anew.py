"""Many steps, each of which begins anew at the coordinates and velocities of its knot."""

from robosim.kernels.compiler.jit import stage
from robosim.kernels.equations.algebra import fill
from robosim.kernels.status import CONVERGED
from robosim.kernels.step.finish import find_knot_velocities
from robosim.kernels.step.knot import put_bodies
from robosim.kernels.step.run import apply_controls, servo_torques
from robosim.kernels.step.saved import copy_guesses
from robosim.kernels.step.step import step
from robosim.kernels.step.wants import MEANS, VELOCITIES


@stage
def run_anew(scheme, model, state, memory, loads, work, options, solver, run, begin, end):
    """As `run_steps`, but what a knot hands on is q and v alone, as `linearized_starts` has it.

    Guesses are kept, as they make the next step cheaper and no other one.
    """
    arc = options.dt if options.order == 2 else 0.0
    wants = VELOCITIES | MEANS
    for k in range(begin, end):
        copy_guesses(memory.guesses, work.learned)
        fill(0, memory.system.valid)
        put_bodies(model, state, memory, work, arc, None)
        copy_guesses(work.learned, memory.guesses)
        apply_controls(state, loads, options, run, k)
        status = step(
            scheme, model, state, memory, loads, work, options, solver, wants, run.infos[k]
        )
        if status != CONVERGED:
            find_knot_velocities(scheme, model, state, memory.system, loads, work, options)
            return k
        servo_torques(run, k, state, loads, options.dt)
    return end
