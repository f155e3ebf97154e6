"""Blocks: arrays that a compiled function of a task reads by one address, and steps that it takes.

numba looks at each array of a call for 0.1 us, and an action of an environment has forty of them.
A block has their values as numba keeps these in memory, and is filled once. Functions of users get
the arrays, so that these have numba's usual types, without an owner.
"""

import hashlib

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.extending import intrinsic

BLOCKS: dict[int, types.Type] = {}  # kind -> type of the values
WORD = ir.IntType(64)
LIST, TABLE = types.Array(types.int64, 1, "C"), types.Array(types.int64, 2, "C")


class Block:
    """The values of a named tuple of arrays, numbers and such tuples, for `unpack`.

    Attributes
    ----------
    kind : int
        Kind of their types, the same in all processes; a constant of functions that `unpack` them.
    address : int
        Of the block, valid as long as this object exists. The arrays must keep their memory.
    """

    def __init__(self, values):
        known = _type_of(values)
        named = f"{known} {list(_names_of(values))}"
        self.kind = int.from_bytes(hashlib.sha256(named.encode()).digest()[:7], "little")
        BLOCKS[self.kind] = known
        self.values, self._words = values, np.array(list(_words_of(values)), dtype=np.int64)
        self.address = int(self._words.ctypes.data)


def _type_of(value):
    """numba's type of a value. Whether an array is contiguous follows from its strides alone.

    For numpy, an array with one row is contiguous in any case.
    """
    if isinstance(value, tuple):
        return types.NamedTuple([_type_of(one) for one in value], type(value))
    if isinstance(value, np.ndarray):
        layout = "C" if value.strides == _strides(value) else "A"
        return types.Array(from_dtype(value.dtype), value.ndim, layout)
    return types.float64 if isinstance(value, float) else types.int64


def _names_of(values):
    """Names of all fields, which numba's types do not tell."""
    for name, value in zip(values._fields, values, strict=True):
        yield name
        if isinstance(value, tuple):
            yield from _names_of(value)


def _strides(array):
    """Strides of a contiguous array of this shape; those of an empty one are not used."""
    if not array.size:
        return array.strides
    sizes = np.cumprod([array.itemsize, *reversed(array.shape[1:])])
    return tuple(int(size) for size in reversed(sizes))


def _words_of(value):
    """The words of a value in numba's layout."""
    if isinstance(value, tuple):
        for one in value:
            yield from _words_of(one)
    elif isinstance(value, np.ndarray):
        yield from (0, 0, value.size, value.itemsize, value.ctypes.data)
        yield from (*value.shape, *value.strides)
    else:
        yield int(np.array(value).view(np.int64)) if isinstance(value, float) else int(value)


@intrinsic(prefer_literal=True)
def unpack(typing_context, address, kind):
    """The values of the block at an address; the kind is a literal."""
    if not isinstance(kind, types.IntegerLiteral):
        return None

    def generate(context, builder, signature, arguments):
        pointer = context.get_value_type(signature.return_type).as_pointer()
        return builder.load(builder.inttoptr(arguments[0], pointer))

    return BLOCKS[kind.literal_value](types.int64, kind), generate


def _numbers_at(context, builder, address, shape):
    """An array of whole numbers, contiguous in C, at an address."""
    array = context.make_array(LIST if len(shape) == 1 else TABLE)(context, builder)
    array.data = builder.inttoptr(address, WORD.as_pointer())
    array.meminfo, array.parent = (
        ir.Constant(getattr(array, name).type, None) for name in ("meminfo", "parent")
    )
    size, strides = WORD(8), []
    for count in reversed(shape):
        strides.insert(0, size)
        size = builder.mul(size, count)
    array.nitems, array.itemsize = builder.sdiv(size, WORD(8)), WORD(8)
    array.shape = cgutils.pack_array(builder, shape)
    array.strides = cgutils.pack_array(builder, strides)
    return array._getvalue()


def _call(context, builder, code, kinds, values):
    """Call an entry, which returns nothing, by its address."""
    kind = context.call_conv.get_function_type(types.none, kinds)
    function = builder.inttoptr(code, kind.as_pointer())
    nothing = [cgutils.alloca_once(builder, one.pointee) for one in kind.args[:2]]
    packed = context.get_arg_packer(kinds).as_arguments(builder, values)
    builder.call(function, [*nothing, *packed])
    return context.get_dummy_value()


@intrinsic
def call_states(typing_context, code, solver, parts, runs, done, count, end):
    """Call a `StepFunction` by its address; `parts`, `runs`, `done` are addresses of (count,)."""

    def generate(context, builder, signature, args):
        code, solver, *lists, count, end = args
        arrays = [_numbers_at(context, builder, one, [count]) for one in lists]
        kinds = types.int64, LIST, LIST, LIST, types.int64
        return _call(context, builder, code, kinds, [solver, *arrays, end])

    return types.void(*[types.int64] * 7), generate


@intrinsic
def call_group(typing_context, code, solver, alone, group, parts, runs, done, width, end):
    """Call a `GroupStepFunction` of one group by its address.

    `alone` is the address of what takes steps of single states (2,), `group` that of the group's
    address, and `parts`, `runs` and `done` are those of (width,).
    """

    def generate(context, builder, signature, args):
        code, solver, alone, group, *rows, width, end = args
        two, one = WORD(2), WORD(1)
        arrays = [_numbers_at(context, builder, alone, [two])]
        arrays += [_numbers_at(context, builder, group, [one])]
        arrays += [_numbers_at(context, builder, each, [one, width]) for each in rows]
        kinds = types.int64, LIST, LIST, TABLE, TABLE, TABLE, types.int64
        return _call(context, builder, code, kinds, [solver, *arrays, end])

    return types.void(*[types.int64] * 9), generate


@intrinsic
def take_number(typing_context, counter):
    """The number at counter[0], which is then one more; each number goes to one thread."""

    def generate(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.atomic_rmw("add", array.data, WORD(1), "monotonic")

    return types.int64(LIST), generate
