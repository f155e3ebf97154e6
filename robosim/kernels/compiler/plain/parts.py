"""A `part` of the kernels by plain numba: compiled as a function of C."""

from llvmlite import ir
from numba import carray, cfunc, types
from numba.extending import intrinsic


def find_compiled(part, signature):
    """Nothing: nobody can ask numba for what is in its cache."""


def compile_part(part, signature):
    """A function of C: status(address, dt, address of a record info)."""
    *numbers, record = signature

    def call(address, dt, info):
        return part(address, dt, carray(info, 1)[0])

    return cfunc(types.int64(*numbers, types.CPointer(record)), error_model="numpy")(call)


def address_of(compiled) -> int:
    """Where it is, in this process."""
    return int(compiled.address)


@intrinsic
def call_solver(typing_context, function, address, dt, info):
    """Call what `robosim.runtime.background` compiles by its address: status(address, dt, info)."""

    def generate(context, builder, signature, arguments):
        kinds = [value.type for value in arguments[1:]]
        kind = ir.FunctionType(ir.IntType(64), kinds)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.int64(types.int64, types.int64, types.float64, info), generate
