"""How kernels are compiled: cached, without the interpreter lock, floats as in C.

An `entry` is called from Python, a `kernel` by other kernels only. A `stage` is called from one
place and becomes part of its caller. A `part` is compiled by itself, as an entry is, and called by
its address: from stages, or from a `bridge`, as it writes what no argument of its caller is seen to
lead to. None of them raises: a division by zero gives inf or nan.

`find_compiled` and `compile_part` take a part and the types of its arguments; what they give has
the address `address_of`.
"""

from robosim.kernels.compiler.choice import PLAIN

if PLAIN:
    from robosim.kernels.compiler.plain_jit import (
        address_of,
        bridge,
        compile_part,
        entry,
        find_compiled,
        kernel,
        part,
        stage,
    )
else:
    from robosim.kernels.compiler.private_jit import (
        address_of,
        bridge,
        compile_part,
        entry,
        find_compiled,
        kernel,
        part,
        stage,
    )

__all__ = [
    "address_of",
    "bridge",
    "compile_part",
    "entry",
    "find_compiled",
    "kernel",
    "named",
    "part",
    "stage",
]


def named(*kinds):
    """A decorator that names a function for the kinds of values that it reads.

    numba tells code of the same name apart by a number that it counts anew in each process.
    """

    def decorate(function):
        function.__qualname__ = "_".join([function.__name__, *map(str, kinds)])
        return function

    return decorate
