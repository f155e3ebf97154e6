"""Access by address: values that are stored in memory, functions to call, records.

A type of values is identified by a number, its kind. A kernel that reads such values can then be
cached, as numba accepts a number as a constant of a cached kernel, but not a type.
"""

import hashlib

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from robosim.kernels.compiler.dense import ADDRESS, Placed, dense

TYPES: dict[int, types.Type] = {}  # kind -> type of the values


def kind_of(known):
    """The kind of a type: a number that is the same in all processes."""
    kind = int.from_bytes(hashlib.sha256(str(known).encode()).digest()[:7], "little")
    TYPES[kind] = dense(known)
    return kind


@intrinsic
def leave(typing_context, memory, values):
    """Store values in memory (int64) if there is room; returns the number of words that they need.

    The owners of arrays are left out, as they belong to the caller.
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
    """The values that are stored at an address; the kind is a literal."""
    if not isinstance(kind, types.IntegerLiteral):
        return None

    def generate(context, builder, signature, arguments):
        values_type = signature.return_type
        if isinstance(values_type, Placed):
            return builder.inttoptr(arguments[0], ADDRESS)
        pointer = context.get_value_type(values_type).as_pointer()
        return builder.load(builder.inttoptr(arguments[0], pointer))

    return dense(TYPES[kind.literal_value])(address, kind), generate


@intrinsic
def read_word(typing_context, address):
    """The whole number at an address."""

    def generate(context, builder, signature, args):
        return builder.load(builder.inttoptr(args[0], ir.IntType(64).as_pointer()))

    return types.int64(address), generate


@intrinsic
def write_word(typing_context, address, value):
    """Store a whole number at an address."""

    def generate(context, builder, signature, args):
        builder.store(args[1], builder.inttoptr(args[0], ir.IntType(64).as_pointer()))
        return context.get_dummy_value()

    return types.void(address, value), generate


@intrinsic
def copy_record(typing_context, source, target):
    """target = source, for two records of the same type, by copying memory.

    numba would copy one number after the other, a thousand of them for a joint.
    """

    def generate(context, builder, signature, args):
        size = ir.Constant(ir.IntType(64), signature.args[0].size)
        pointer = ir.IntType(8).as_pointer()
        copy = builder.module.declare_intrinsic("llvm.memcpy", [pointer, pointer, size.type])
        source, target = (builder.bitcast(one, pointer) for one in args)
        builder.call(copy, [target, source, size, ir.Constant(ir.IntType(1), 0)])
        return context.get_dummy_value()

    return types.void(source, target), generate


@intrinsic
def call_steps(typing_context, code, solver, parts, runs, done, i, end):
    """Call a function of `robosim.runtime.handles` for state i of some, by its address."""
    rows = types.Array(types.int64, 1, "C")
    kinds = types.int64, rows, rows, rows, types.int64

    def generate(context, builder, signature, args):
        arrays = []
        for kind, value in zip(signature.args[2:5], args[2:5], strict=True):
            one = context.make_array(rows)(context, builder)
            word = ir.IntType(64)
            data = context.make_array(kind)(context, builder, value).data
            one.data = builder.gep(builder.bitcast(data, word.as_pointer()), [args[5]])
            one.meminfo, one.parent = (
                ir.Constant(getattr(one, name).type, None) for name in ("meminfo", "parent")
            )
            one.nitems, one.itemsize = word(1), word(8)
            one.shape = ir.Constant(ir.ArrayType(word, 1), [word(1)])
            one.strides = ir.Constant(ir.ArrayType(word, 1), [word(8)])
            arrays.append(one._getvalue())
        kind = context.call_conv.get_function_type(types.none, kinds)
        function = builder.inttoptr(args[0], kind.as_pointer())
        nothing = [cgutils.alloca_once(builder, one.pointee) for one in kind.args[:2]]
        packed = context.get_arg_packer(kinds).as_arguments(builder, [args[1], *arrays, args[6]])
        builder.call(function, [*nothing, *packed])
        return context.get_dummy_value()

    given = types.int64, types.int64, parts, runs, done, types.int64, types.int64
    return types.void(*given), generate


@intrinsic
def call_look(typing_context, code, group, parts, stage, wants):
    """Call an entry of `robosim.runtime.looks` by its address: a status; 1 if lanes part in it."""

    def generate(context, builder, signature, args):
        word = ir.IntType(64)
        rows = context.make_array(signature.args[2])(context, builder, args[2])
        kinds = (types.int64,) * 4
        kind = context.call_conv.get_function_type(types.int64, kinds)
        function = builder.inttoptr(args[0], kind.as_pointer())
        status, nothing = (cgutils.alloca_once(builder, one.pointee) for one in kind.args[:2])
        values = [args[1], builder.ptrtoint(rows.data, word), args[3], args[4]]
        packed = context.get_arg_packer(kinds).as_arguments(builder, values)
        ended = builder.call(function, [status, nothing, *packed])
        went = builder.icmp_signed("==", ended, ended.type(0))
        return builder.select(went, builder.load(status), word(1))

    return types.int64(types.int64, types.int64, parts, types.int64, types.int64), generate


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
