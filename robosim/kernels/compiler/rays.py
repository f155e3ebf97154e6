"""Types of the data that rays are cast with, the same for all robots."""

from numba import typeof
from numba.extending import intrinsic

from robosim.compiled.rays import empty_casting
from robosim.kernels.compiler.addresses import TYPES, kind_of
from robosim.kernels.compiler.dense import ADDRESS

KIND = kind_of(typeof(empty_casting()))  # of a `Casting`


@intrinsic
def load_casting(typing_context, address):
    """The `Casting` at an address."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ADDRESS)

    return TYPES[KIND](address), generate
