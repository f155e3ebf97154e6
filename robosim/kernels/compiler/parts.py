"""A `part` of the kernels: found in the cache, compiled, and called by its address."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from robosim.kernels.compiler.lanes import Lanes


def find_compiled(part, signature):
    """What the part has been compiled to for arguments of some types, or None."""
    return part._cache.load_overload(signature, part.targetctx)


def compile_part(part, signature):
    """What the part is compiled to now, and cached."""
    part.compile(signature)
    return part.overloads[signature]


def address_of(compiled) -> int:
    """Where it is, in this process."""
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


def length_type(dt):
    """How the length of an interval is handed over."""
    return dt if isinstance(dt, Lanes) else types.float64


@intrinsic
def call_solver(typing_context, function, address, dt, info):
    """Call what `robosim.runtime.background` compiles by its address: status(address, dt, info).

    It may end as kernels do where lanes part; then the caller does. The time `dt` to an impact has
    derivatives where all numbers have.
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
