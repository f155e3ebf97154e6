"""Types of what recursions over a tree work on, the same for all robots."""

from numba import typeof, types

from robosim.compiled.links import empty_recursion
from robosim.kernels.compiler.addresses import kind_of

KIND = kind_of(typeof(empty_recursion()))  # of a `Recursion`

# Single states are taken as they are, in any memory: entries of these types are compiled at once,
# and take what can be read as such. Otherwise they would be compiled anew for read-only memory.
STATE = types.Array(types.float64, 1, "A", readonly=True)
OUT = types.Array(types.float64, 1, "C")
SINGLE = (types.int64, types.float64, types.int64, STATE, STATE, STATE, OUT)


def prepared(run):
    """An entry for single states, compiled for all of them."""
    if not run.signatures:
        run.compile(SINGLE)
        run.disable_compile()
    return run
