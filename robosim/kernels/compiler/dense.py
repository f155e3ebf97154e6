"""Arrays of kernels: contiguous, and handed from one kernel to the next as an address and a shape.

numba hands over seven numbers for an array and puts them together again in what is called. A model
has twenty arrays: most of what it generated for a kernel was that. All but two of the seven are
constants here, or follow from the shape.
"""

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_cast

WORD = ir.IntType(64)
# Where the parts of numba's arrays are, of which the first two tell who owns them.
NAMED = types.BaseNamedTuple  # type: ignore[attr-defined]
ITEMS, ITEM_SIZE, DATA, SHAPE, STRIDES = range(2, 7)


class Dense(types.Array):
    """An array that is contiguous in C, which nobody owns."""

    def __init__(self, dtype, ndim, readonly=False):
        super().__init__(dtype, ndim, "C", readonly=readonly)


def dense(kind):
    """The type with arrays that are dense, where they are contiguous; of nested tuples as well."""
    if isinstance(kind, NAMED):
        return types.NamedTuple([dense(one) for one in kind], kind.instance_class)
    if type(kind) is types.Array and kind.layout == "C":
        return Dense(kind.dtype, kind.ndim, readonly=not kind.mutable)
    return kind


def item_size(kind):
    """Bytes of a record or of a number."""
    return kind.size if isinstance(kind, types.Record) else kind.bitwidth // 8


@register_default(Dense)
class DenseModel(models.ArrayModel):
    """numba's array, but as an argument an address and a shape."""

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
    """(where an item of a contiguous array is, or the first one of a part, and the part's shape).

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


@lower_cast(types.Array, Dense)
@lower_cast(Dense, types.Array)
@lower_cast(NAMED, NAMED)
def as_it_is(context, builder, source, target, value):
    """The same array, or tuple of arrays."""
    return value
