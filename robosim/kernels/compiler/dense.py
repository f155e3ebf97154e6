"""How arrays and named tuples are passed to kernels: by as few numbers as possible.

numba passes seven numbers for each array. Here most of them are constants or follow from the
shape: a `Dense` array is contiguous, and passed as an address and a shape.

numba passes each array of a named tuple. A model and its scratch memory have a hundred arrays, so
a call took as long as the elimination of two joints. Here a named tuple is `Placed`: it lies in
memory, where `robosim.kernels.compiler.addresses` stores it, and its address is passed. A kernel
loads only the arrays that it uses.
"""

import functools

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_cast

from robosim.kernels.compiler.aliasing import PLACE, marked

WORD = ir.IntType(64)
ADDRESS = ir.IntType(8).as_pointer()
NAMED = types.BaseNamedTuple  # type: ignore[attr-defined]
# Places of the parts of numba's arrays, behind two that name the owner.
ITEMS, ITEM_SIZE, DATA, SHAPE, STRIDES = range(2, 7)


class Dense(types.Array):
    """An array that is contiguous in C, without an owner."""

    def __init__(self, dtype, ndim, readonly=False):
        super().__init__(dtype, ndim, "C", readonly=readonly)


class Placed(types.NamedTuple):  # type: ignore[name-defined]
    """A named tuple in memory, in the layout of numba's value; it is never changed."""

    def __init__(self, kinds, named):
        super().__init__(kinds, named)
        self.name = f"placed {self.name}"


def dense(kind):
    """The type as kernels are compiled for it: named tuples by address, contiguous arrays dense."""
    if isinstance(kind, NAMED):
        return Placed([dense(one) for one in kind], kind.instance_class)
    if type(kind) is types.Array and kind.layout == "C":
        return Dense(kind.dtype, kind.ndim, readonly=not kind.mutable)
    return kind


def item_size(kind):
    """Bytes of a record or of a number."""
    return kind.size if isinstance(kind, types.Record) else kind.bitwidth // 8


@register_default(Dense)
class DenseModel(models.ArrayModel):
    """numba's array, which as an argument is an address and a shape."""

    def get_argument_type(self):
        return self.get_value_type().elements[DATA], (WORD,) * self.fe_type.ndim

    def as_argument(self, builder, value):
        counts = (builder.extract_value(value, (SHAPE, k)) for k in range(self.fe_type.ndim))
        return builder.extract_value(value, DATA), tuple(counts)

    def from_argument(self, builder, value):
        return made(builder, self.get_value_type(), item_size(self.fe_type.dtype), *value)


def made(builder, kind, size, data, counts):
    """The value of a contiguous array, of llvm type `kind`: its items lie at `data`."""
    counts = [WORD(one) if isinstance(one, int) else one for one in counts]
    parts = [ir.Constant(part, None) for part in kind.elements]
    parts[ITEM_SIZE] = WORD(size)
    parts[STRIDES] = ir.Constant(kind.elements[STRIDES], [WORD(size)] * len(counts))
    out = ir.Constant(kind, parts)
    for k, count in enumerate(counts):
        out = builder.insert_value(out, count, (SHAPE, k))
    items = counts[-1]
    for k in range(len(counts) - 2, -1, -1):
        out = builder.insert_value(out, times(builder, items, WORD(size)), (STRIDES, k))
        items = times(builder, items, counts[k])
    out = builder.insert_value(out, items, ITEMS)
    return builder.insert_value(out, data, DATA)


def times(builder, a, b):
    """a b of two whole numbers."""
    if isinstance(a, ir.Constant) and isinstance(b, ir.Constant):
        return WORD(a.constant * b.constant)
    return builder.mul(a, b)


def counts_of(builder, kind, value):
    """The shape of an array."""
    if isinstance(kind, types.NestedArray):
        return [WORD(one) for one in kind.shape]
    return [builder.extract_value(value, (SHAPE, k)) for k in range(kind.ndim)]


def address_at(builder, kind, value, indices):
    """(address of an item of a contiguous array, or of a part's first item, and the part's shape).

    `indices` are words, for the first axes of the array.
    """
    counts = counts_of(builder, kind, value) if kind.ndim > 1 else [None]
    at = indices[0]
    for k in range(1, len(indices)):
        at = builder.add(times(builder, at, counts[k]), indices[k])
    for count in counts[len(indices) :]:
        at = times(builder, at, count)
    data = builder.extract_value(value, DATA)
    return builder.gep(data, [at], inbounds=True), counts[len(indices) :]


@register_default(Placed)
class PlacedModel(models.PrimitiveModel):
    """The value of a `Placed` tuple is its address."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, ADDRESS)


def lying(context, kind):
    """The llvm type of a value in memory."""
    if isinstance(kind, NAMED):
        return ir.LiteralStructType([lying(context, one) for one in kind])
    return context.get_value_type(kind)


def bytes_of(kind):
    """(size, alignment) of an llvm type of numbers and addresses [bytes]."""
    if isinstance(kind, ir.IntType):
        size = -(-kind.width // 8)
        return size, size
    if isinstance(kind, ir.ArrayType):
        size, alignment = bytes_of(kind.element)
        return kind.count * size, alignment
    if isinstance(kind, ir.LiteralStructType):
        end, most = 0, 1
        for part in kind.elements:
            size, alignment = bytes_of(part)
            end, most = aligned(end, alignment) + size, max(most, alignment)
        return aligned(end, most), most
    return 8, 8


def aligned(offset, alignment):
    """The first multiple of an alignment from an offset on."""
    return -(-offset // alignment) * alignment


@functools.cache
def offsets(context, kind):
    """Offsets of the parts of a named tuple in memory [bytes]."""
    offsets_of_parts, end = [], 0
    for part in kind:
        size, alignment = bytes_of(lying(context, part))
        offsets_of_parts.append(aligned(end, alignment))
        end = offsets_of_parts[-1] + size
    return offsets_of_parts


def part_of(context, builder, kind, value, k):
    """Part k of a named tuple."""
    part = kind[k]
    if not isinstance(kind, Placed):
        return builder.extract_value(value, k)
    at = offsets(context, kind)[k]
    if isinstance(part, Placed):
        return builder.gep(value, [WORD(at)], inbounds=True)

    def read(offset, kind):
        place = builder.gep(value, [WORD(at + offset)], inbounds=True)
        return builder.load(builder.bitcast(place, kind.as_pointer()))

    whole = context.get_value_type(part)
    with marked(builder, (PLACE,)):
        if not isinstance(part, Dense):
            return read(0, whole)
        data = read(8 * DATA, whole.elements[DATA])
        counts = [read(8 * (SHAPE + k), WORD) for k in range(part.ndim)]
    return made(builder, whole, item_size(part.dtype), data, counts)


@lower_cast(types.Array, Dense)
@lower_cast(Dense, types.Array)
def as_it_is(context, builder, source, target, value):
    """The same array."""
    return value


@lower_cast(NAMED, Placed)
def place(context, builder, source, target, value):
    """The address of a copy of a named tuple."""
    if isinstance(source, Placed):
        return value
    # As numba has it: an array of parts that are alike, which lies as the structure does.
    room = cgutils.alloca_once(builder, value.type)
    with marked(builder, (PLACE,)):
        builder.store(value, room)
    return builder.bitcast(room, ADDRESS)
