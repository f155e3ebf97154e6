"""Rows of 6x6 blocks: six numbers in one register, which are added and scaled as one.

In memory a row is a cache line of eight numbers (`robosim.compiled.arrays.with_rows`), the last two
of which are unused. One or two instructions read or write it. For states in lanes, a row is six
numbers that are lanes, and operations are done number by number.
"""

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.errors import TypingError
from numba.extending import intrinsic

from robosim.compiled.arrays import LINE, WORD
from robosim.kernels.compiler import duals
from robosim.kernels.compiler.aliasing import marked, names_of_items
from robosim.kernels.compiler.lanes import DOUBLE, INDEX, Lanes, lanes_among, spread
from robosim.kernels.compiler.lowering import add_product

SIZE = 6
EIGHT = ir.VectorType(DOUBLE, LINE)
NOTHING = ir.Constant(EIGHT, [0.0] * LINE)


class Row(types.Type):
    """Six numbers, or six lanes."""

    def __init__(self, element):
        super().__init__(f"row({element})")
        self.element = element


@register_default(Row)
class RowModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        wide = isinstance(kind.element, Lanes)
        of = manager.lookup(kind.element).get_value_type()
        super().__init__(manager, kind, ir.ArrayType(of, SIZE) if wide else EIGHT)


def zero(kind):
    """0 of a number or of lanes."""
    return ir.Constant(kind, 0.0 if kind == DOUBLE else [0.0] * kind.count)


def pack(builder, values):
    """A row of six values."""
    kind = values[0].type
    wide = kind != DOUBLE
    out = ir.Constant(ir.ArrayType(kind, SIZE), ir.Undefined) if wide else NOTHING
    for k, value in enumerate(values):
        if wide:
            out = builder.insert_value(out, value, k)
        else:
            out = builder.insert_element(out, value, ir.Constant(INDEX, k))
    return out


def repeated(builder, value):
    """A row of the same number."""
    if value.type == DOUBLE:
        return spread(builder, value, LINE)
    return pack(builder, [value] * SIZE)


def each(builder, operation, *rows):
    """The row that an operation makes of rows, number by number."""
    if rows[0].type == EIGHT:
        return operation(*rows)
    entries = ([builder.extract_value(row, k) for row in rows] for k in range(SIZE))
    return pack(builder, [operation(*values) for values in entries])


def place(context, builder, kind, array, row):
    """The address of a row in memory, of llvm type `row`."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(data, row.as_pointer())


def element_of(kind):
    """Type of the numbers of a vector, `kind` being an argument of an intrinsic."""
    if not (isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout == "C"):
        raise TypingError(f"a row is read from and written to a vector, not {kind}")
    return lanes_among((kind.dtype,)) or types.float64


def chosen(builder, row, order):
    """Some numbers of a row, or zeros for those beyond it."""
    order = ir.Constant(ir.VectorType(INDEX, LINE), order)
    return builder.shuffle_vector(row, NOTHING, order)


def products(context, builder, element):
    """Functions (a, b) and (a, b, c) of llvm values: a b and a b + c."""
    add = add_product(context, builder)
    if isinstance(element, duals.Duals):
        return (
            lambda a, b: duals.product(builder, a, b, add),
            lambda a, b, c: duals.add_product(builder, a, b, c, add),
        )
    return builder.fmul, add


@intrinsic
def row_of(typing_context, a, b, c, d, e, f):
    """The row of six numbers."""
    element = lanes_among((a, b, c, d, e, f)) or types.float64

    def generate(context, builder, signature, args):
        return pack(builder, args)

    return Row(element)(*([element] * SIZE)), generate


@intrinsic
def read_row(typing_context, vector):
    """The row that is kept in a vector (8,)."""
    row = Row(element_of(vector))

    def generate(context, builder, signature, args):
        kind = context.get_value_type(row)
        align = WORD if kind == EIGHT else None
        where = place(context, builder, vector, args[0], kind)
        with marked(builder, names_of_items(vector.dtype)):
            return builder.load(where, align=align)

    return row(vector), generate


@intrinsic
def write_row(typing_context, row, vector):
    """vector (8,) = row."""
    element_of(vector)

    def generate(context, builder, signature, args):
        where = place(context, builder, vector, args[1], args[0].type)
        with marked(builder, names_of_items(vector.dtype)):
            builder.store(args[0], where, align=WORD if args[0].type == EIGHT else None)
        return context.get_dummy_value()

    return types.void(row, vector), generate


@intrinsic
def scaled(typing_context, factor, row):
    """factor * row."""

    def generate(context, builder, signature, args):
        factors = repeated(builder, args[0])
        return each(builder, products(context, builder, row.element)[0], factors, args[1])

    return row(row.element, row), generate


@intrinsic
def add_scaled(typing_context, row, factor, other):
    """row + factor * other."""

    def generate(context, builder, signature, args):
        factors = repeated(builder, args[1])
        fused = products(context, builder, row.element)[1]
        return each(builder, fused, factors, args[2], args[0])

    return row(row, row.element, row), generate


@intrinsic
def add_products(typing_context, row, one, other):
    """row + one * other, number by number, of all eight that are in memory."""

    def generate(context, builder, signature, args):
        fused = products(context, builder, row.element)[1]
        return each(builder, fused, args[1], args[2], args[0])

    return row(row, row, row), generate


@intrinsic
def total_of(typing_context, row):
    """The sum of a row's numbers, of all eight that are in memory."""

    def generate(context, builder, signature, args):
        total = args[0]
        if total.type == EIGHT:
            for half in (4, 2, 1):
                other = chosen(builder, total, [*range(half, 2 * half), *range(LINE - half)])
                total = builder.fadd(total, other)
            return builder.extract_element(total, ir.Constant(INDEX, 0))
        entries = [builder.extract_value(total, k) for k in range(SIZE)]
        total = entries[0]
        for entry in entries[1:]:
            total = builder.fadd(total, entry)
        return total

    return row.element(row), generate


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
        fused = products(context, builder, row.element)[1]
        nothing = zero(args[1].type)
        x, y, z = args[1:]
        before, after = [nothing] * 3 + [y, z, x], [nothing] * 3 + [z, x, y]
        first = args[0]
        if first.type == EIGHT:

            def turned(order):
                return chosen(builder, first, (0, 1, 2, *order, 6, 7))

            out = fused(pack(builder, before), turned((2, 0, 1)), first)
            return fused(builder.fneg(pack(builder, after)), turned((1, 2, 0)), out)
        values = [builder.extract_value(first, k) for k in range(SIZE)]
        out = values[:3]
        for k, (i, j) in enumerate(((2, 1), (0, 2), (1, 0))):
            value = fused(before[3 + k], values[i], values[3 + k])
            out.append(fused(builder.fneg(after[3 + k]), values[j], value))
        return pack(builder, out)

    return row(row, row.element, row.element, row.element), generate


@intrinsic
def linear_part(typing_context, row):
    """The first three numbers, and zeros."""

    def generate(context, builder, signature, args):
        if args[0].type == EIGHT:
            return chosen(builder, args[0], (0, 1, 2, *range(11, 16)))
        kept = [builder.extract_value(args[0], k) for k in range(3)]
        return pack(builder, kept + [zero(kept[0].type)] * 3)

    return row(row), generate
