"""Loading of data whose types are the same for all robots: of rays, of pictures, of motors."""

from numba import typeof
from numba.extending import intrinsic

from robosim.compiled.drawing import empty_drawing
from robosim.compiled.motors import make_pid, make_windings
from robosim.compiled.rays import empty_casting
from robosim.kernels.compiler.addresses import TYPES, kind_of
from robosim.kernels.compiler.dense import ADDRESS

CASTING = kind_of(typeof(empty_casting()))
DRAWING = kind_of(typeof(empty_drawing()))
WINDINGS = kind_of(typeof(make_windings(0, 0)))
PID = kind_of(typeof(make_pid(0, 0)))


def generate(context, builder, signature, arguments):
    return builder.inttoptr(arguments[0], ADDRESS)


@intrinsic
def load_casting(typing_context, address):
    """The `Casting` at an address."""
    return TYPES[CASTING](address), generate


@intrinsic
def load_drawing(typing_context, address):
    """The `Drawing` at an address."""
    return TYPES[DRAWING](address), generate


@intrinsic
def load_windings(typing_context, address):
    """The `WindingArrays` at an address."""
    return TYPES[WINDINGS](address), generate


@intrinsic
def load_pid(typing_context, address):
    """The `PidArrays` at an address."""
    return TYPES[PID](address), generate
