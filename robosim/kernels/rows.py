"""Rows of 6x6 blocks: six numbers in one register, which are added and scaled as one.

Of states in lanes a row is six registers; the same is done with each of its numbers.
"""

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.errors import TypingError
from numba.extending import intrinsic

from robosim.kernels.fused import add_product
from robosim.kernels.lanes import DOUBLE, INDEX, VECTOR, WORD, Lanes, lanes

SIZE = 6
SIX = ir.VectorType(DOUBLE, SIZE)


class Row(types.Type):
    """Six numbers, or six lanes."""

    def __init__(self, element):
        super().__init__(f"row({element})")
        self.element = element


@register_default(Row)
class RowModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        wide = isinstance(kind.element, Lanes)
        super().__init__(manager, kind, ir.ArrayType(VECTOR, SIZE) if wide else SIX)


def pack(builder, values):
    """A row of six values."""
    wide = values[0].type == VECTOR
    out = ir.Constant(ir.ArrayType(VECTOR, SIZE) if wide else SIX, ir.Undefined)
    for k, value in enumerate(values):
        if wide:
            out = builder.insert_value(out, value, k)
        else:
            out = builder.insert_element(out, value, ir.Constant(INDEX, k))
    return out


def each(builder, operation, *rows):
    """A row of what an operation makes of rows, number by number."""
    if rows[0].type == SIX:
        return operation(*rows)
    entries = ([builder.extract_value(row, k) for row in rows] for k in range(SIZE))
    return pack(builder, [operation(*values) for values in entries])


def place(context, builder, kind, array, element):
    """Where the six numbers of a vector in memory begin."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(data, element.as_pointer())


def element_of(kind):
    """Type of the numbers of a vector, `kind` being an argument of an intrinsic."""
    if not (isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout == "C"):
        raise TypingError(f"a row is read from and written to a vector, not {kind}")
    return lanes if isinstance(kind.dtype, Lanes) else types.float64


@intrinsic
def read_row(typing_context, vector):
    """The row that a vector (6,) holds."""
    row = Row(element_of(vector))

    def generate(context, builder, signature, args):
        if row.element == types.float64:
            return builder.load(place(context, builder, vector, args[0], SIX), align=WORD)
        kind = ir.ArrayType(VECTOR, SIZE)
        return builder.load(place(context, builder, vector, args[0], kind))

    return row(vector), generate


@intrinsic
def write_row(typing_context, row, vector):
    """vector (6,) = row."""
    element_of(vector)

    def generate(context, builder, signature, args):
        where = place(context, builder, vector, args[1], args[0].type)
        builder.store(args[0], where, align=WORD if args[0].type == SIX else None)
        return context.get_dummy_value()

    return types.void(row, vector), generate


@intrinsic
def scaled(typing_context, factor, row):
    """factor * row."""

    def generate(context, builder, signature, args):
        factors = pack(builder, [args[0]] * SIZE)
        return each(builder, builder.fmul, factors, args[1])

    return row(row.element, row), generate


@intrinsic
def add_scaled(typing_context, row, factor, other):
    """row + factor * other."""

    def generate(context, builder, signature, args):
        factors = pack(builder, [args[1]] * SIZE)
        fused = add_product(context, builder)
        return each(builder, fused, factors, args[2], args[0])

    return row(row, row.element, row), generate


@intrinsic
def sum_rows(typing_context, row, other):
    """row + other."""

    def generate(context, builder, signature, args):
        return each(builder, builder.fadd, *args)

    return row(row, row), generate


@intrinsic
def shifted(typing_context, row, x, y, z):
    """row + (0, r x its first three) for r = (x, y, z): a row of a matrix times X2."""

    def generate(context, builder, signature, args):
        fused = add_product(context, builder)
        nothing = ir.Constant(args[1].type, 0.0 if args[1].type == DOUBLE else [0.0] * VECTOR.count)
        x, y, z = args[1:]
        before, after = [nothing] * 3 + [y, z, x], [nothing] * 3 + [z, x, y]
        row = args[0]
        if row.type == SIX:
            unused = ir.Constant(SIX, ir.Undefined)

            def turned(order):
                chosen = ir.Constant(ir.VectorType(INDEX, SIZE), [0, 1, 2, *order])
                return builder.shuffle_vector(row, unused, chosen)

            out = fused(pack(builder, before), turned((2, 0, 1)), row)
            return fused(builder.fneg(pack(builder, after)), turned((1, 2, 0)), out)
        first = [builder.extract_value(row, k) for k in range(SIZE)]
        out = first[:3]
        for k, (i, j) in enumerate(((2, 1), (0, 2), (1, 0))):
            value = fused(before[3 + k], first[i], first[3 + k])
            out.append(fused(builder.fneg(after[3 + k]), first[j], value))
        return pack(builder, out)

    return row(row, row.element, row.element, row.element), generate


@intrinsic
def linear_part(typing_context, row):
    """The first three numbers, and zeros."""

    def generate(context, builder, signature, args):
        if args[0].type == SIX:
            chosen = ir.Constant(ir.VectorType(INDEX, SIZE), [0, 1, 2, 9, 10, 11])
            return builder.shuffle_vector(args[0], ir.Constant(SIX, [0.0] * SIZE), chosen)
        kept = [builder.extract_value(args[0], k) for k in range(3)]
        return pack(builder, kept + [ir.Constant(VECTOR, [0.0] * VECTOR.count)] * 3)

    return row(row), generate
