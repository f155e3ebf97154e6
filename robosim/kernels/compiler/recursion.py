"""Types of the data of recursions over a tree, the same for all robots."""

from numba import typeof, types
from numba.extending import intrinsic

from robosim.compiled.links import empty_recursion
from robosim.kernels.compiler.addresses import TYPES, kind_of
from robosim.kernels.compiler.dense import ADDRESS

KIND = kind_of(typeof(empty_recursion()))  # of a `Recursion`
CHARTED = kind_of(typeof(empty_recursion(charted=True)))  # of one with charts

# A single state may be any array of floats. Entries are compiled at once for this general type;
# otherwise they would be compiled again for read-only arrays.
STATE = types.Array(types.float64, 1, "A", readonly=True)
OUT = types.Array(types.float64, 1, "C")
SINGLE = (types.float64, types.int64, STATE, STATE, STATE, OUT)


@intrinsic
def load_recursion(typing_context, address):
    """The `Recursion` at an address; in a tuple of one, of one with charts."""
    charted = isinstance(address, types.BaseTuple)

    def generate(context, builder, signature, arguments):
        at = builder.extract_value(arguments[0], 0) if charted else arguments[0]
        return builder.inttoptr(at, ADDRESS)

    return TYPES[CHARTED if charted else KIND](address), generate


def prepared(run, charted):
    """An entry for single states, compiled for all of them, of robots with charts or without."""
    address = types.UniTuple(types.int64, 1) if charted else types.int64
    if (address, *SINGLE) not in run.signatures:
        run.disable_compile(False)
        run.compile((address, *SINGLE))
        run.disable_compile()
    return run
