"""What kernels find at an address: values that were left there, functions to call, records.

The types of values are known by a number, their kind, so that the kernels that read them can be
cached: a type itself is no constant that a cached kernel can be found by.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from robosim.kernels.compiler.choice import PLAIN

BYTES, WORD = ir.IntType(8).as_pointer(), ir.IntType(64)
TYPES: dict[int, types.Type] = {}  # kind -> of the values


@intrinsic
def leave(typing_context, memory, values):
    """Leave values in memory, int64, if there is room; returns the words that they need.

    Without the owners of their arrays, which belong to the call that hands them over.
    """

    def generate(context, builder, signature, arguments):
        memory_type, values_type = signature.args
        value = without_owners(context, builder, values_type, arguments[1])
        words = ir.Constant(ir.IntType(64), (context.get_abi_sizeof(value.type) + 7) // 8)
        memory = context.make_array(memory_type)(context, builder, arguments[0])
        with builder.if_then(builder.icmp_signed(">=", memory.nitems, words)):
            builder.store(value, builder.bitcast(memory.data, value.type.as_pointer()))
        return words

    return types.int64(memory, values), generate


def without_owners(context, builder, kind, value):
    """The value with no owner in its arrays."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        for name in ("meminfo", "parent"):
            setattr(array, name, ir.Constant(getattr(array, name).type, None))
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for k, part in enumerate(kind):
            inner = without_owners(context, builder, part, builder.extract_value(value, k))
            value = builder.insert_value(value, inner, k)
    return value


@intrinsic(prefer_literal=True)
def load(typing_context, address, kind):
    """The values that were left at an address, of a kind that is a literal."""
    if not isinstance(kind, types.IntegerLiteral):
        return None

    def generate(context, builder, signature, arguments):
        pointer = context.get_value_type(signature.return_type).as_pointer()
        return builder.load(builder.inttoptr(arguments[0], pointer))

    return TYPES[kind.literal_value](address, kind), generate


@intrinsic
def read_word(typing_context, address):
    """The whole number at an address."""

    def generate(context, builder, signature, args):
        return builder.load(builder.inttoptr(args[0], ir.IntType(64).as_pointer()))

    return types.int64(address), generate


@intrinsic
def write_word(typing_context, address, value):
    """Leave a whole number at an address."""

    def generate(context, builder, signature, args):
        builder.store(args[1], builder.inttoptr(args[0], ir.IntType(64).as_pointer()))
        return context.get_dummy_value()

    return types.void(address, value), generate


@intrinsic
def copy_record(typing_context, source, target):
    """target = source, two records of a kind, as they lie in memory.

    numba would copy one number after the other, a thousand of them for a joint.
    """

    def generate(context, builder, signature, args):
        copy = builder.module.declare_intrinsic("llvm.memcpy", [BYTES, BYTES, WORD])
        target, source = (builder.bitcast(one, BYTES) for one in (args[1], args[0]))
        size = ir.Constant(WORD, signature.args[0].size)
        builder.call(copy, [target, source, size, ir.IntType(1)(0)])
        return context.get_dummy_value()

    return types.void(source, target), generate


def call_compiled(builder, called, arguments):
    """Call what numba has compiled, which may end as kernels do where lanes part: the caller too.

    It leaves its result where its first argument leads, an exception where the second does.
    """
    code, exception = ir.IntType(32), BYTES.as_pointer()
    kinds = [WORD.as_pointer(), exception, *(value.type for value in arguments)]
    called = builder.inttoptr(called, ir.FunctionType(code, kinds).as_pointer())
    with builder.goto_entry_block():
        status, nothing = builder.alloca(WORD), builder.alloca(BYTES)
        builder.store(WORD(None), status)
        builder.store(BYTES(None), nothing)
    ended = builder.call(called, [status, nothing, *arguments])
    with builder.if_then(builder.icmp_signed("!=", ended, code(0)), likely=False):
        builder.ret(ended)
    return builder.load(status)


def call_c(builder, called, arguments):
    """Call a function of C."""
    kinds = [value.type for value in arguments]
    called = builder.inttoptr(called, ir.FunctionType(WORD, kinds).as_pointer())
    return builder.call(called, arguments)


@intrinsic
def call_solver(typing_context, function, address, dt, info):
    """Call what is compiled apart (`robosim.apart`) by its address: status(address, dt, info)."""
    call = call_c if PLAIN else call_compiled

    def generate(context, builder, signature, arguments):
        return call(builder, arguments[0], arguments[1:])

    return types.int64(types.int64, types.int64, types.float64, info), generate


@intrinsic
def call_controller(typing_context, address, t, q, v, tau):
    """Call a function (t, q, v, tau) of C by its address; arrays by their first element."""

    def generate(context, builder, signature, arguments):
        double, pointer = ir.DoubleType(), ir.DoubleType().as_pointer()
        function = ir.FunctionType(ir.VoidType(), [double, pointer, pointer, pointer])
        firsts = [
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args[2:], arguments[2:], strict=True)
        ]
        called = builder.inttoptr(arguments[0], function.as_pointer())
        builder.call(called, [arguments[1], *firsts])
        return context.get_dummy_value()

    return types.void(types.int64, types.float64, q, v, tau), generate
