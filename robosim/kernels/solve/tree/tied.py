"""Joints that close loops of a tree, and couplings: what is compiled for mechanisms that have some.

The sweeps of a tree are the same with its loops and without; here they are with them.
"""

from robosim.compiled.kinds import TIED_FACTORS, TIED_MOTION, TIED_SWEEPS
from robosim.kernels.compiler.features import NUMBER, WHOLE, feature
from robosim.kernels.solve.tree.eliminate import factor_joints
from robosim.kernels.solve.tree.free import solve_free
from robosim.kernels.solve.tree.sweep import solve_joints


@feature(TIED_MOTION, dt=NUMBER)
def solve_tied(model, state, system, loads, work, options, dt, info):
    """`solve_free` with loops."""
    return solve_free(model, model.loops, state, system, loads, work, options, dt, info)


@feature(TIED_FACTORS, held=WHOLE)
def factor_tied(model, system, work, held):
    """`factor_joints` with loops."""
    return factor_joints(model, model.loops, system, work, held != 0)


@feature(TIED_SWEEPS, held=WHOLE, before=WHOLE)
def sweep_tied(model, system, work, x, held, before):
    """`solve_joints` with loops; always 0."""
    solve_joints(model, model.loops, system, work, x, held != 0, before != 0)
    return 0
