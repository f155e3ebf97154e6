"""Parts of the kernels: loaded from the cache or compiled, and called by their addresses."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from robosim.kernels.compiler.lanes import Lanes


def find_compiled(part, signature):
    """The part for arguments of these types from the cache, or None."""
    return part._cache.load_overload(signature, part.targetctx)


def compile_part(part, signature):
    """Compile the part for arguments of these types, and save it in the cache."""
    part.compile(signature)
    return part.overloads[signature]


def address_of(compiled) -> int:
    """The address of a compiled part in this process."""
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


def length_type(dt):
    """The type of an interval's length as an argument of a part."""
    return dt if isinstance(dt, Lanes) else types.float64


@intrinsic
def call_solver(typing_context, function, address, dt, info):
    """Call the part that solves the equations, by its address: status(address, dt, info).

    If lanes part in it, the caller ends as well. The length `dt` of an interval that ends with an
    impact has derivatives if all numbers have.
    """

    def generate(context, builder, signature, arguments):
        code, word = ir.IntType(32), ir.IntType(64)
        exception = ir.IntType(8).as_pointer().as_pointer()
        kinds = [word.as_pointer(), exception, *(value.type for value in arguments[1:])]
        called = builder.inttoptr(arguments[0], ir.FunctionType(code, kinds).as_pointer())
        status = cgutils.alloca_once(builder, word)
        nothing = cgutils.alloca_once(builder, exception.pointee)
        ended = builder.call(called, [status, nothing, *arguments[1:]])
        with cgutils.if_unlikely(builder, builder.icmp_signed("!=", ended, code(0))):
            builder.ret(ended)
        return builder.load(status)

    return types.int64(types.int64, types.int64, length_type(dt), info), generate
