"""Eight numbers of a matrix of floats in one number, as lanes."""

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from robosim.compiled.arrays import WORD
from robosim.kernels.compiler.aliasing import marked, names_of_items
from robosim.kernels.compiler.lanes import DOUBLE, WIDTH, lanes


def eight_at(context, builder, kind, matrix, row, column):
    """The address of the numbers of a matrix from a column on."""
    array = context.make_array(kind)(context, builder, matrix)
    width = builder.extract_value(array.shape, 1)
    at = builder.gep(array.data, [builder.add(builder.mul(row, width), column)])
    return builder.bitcast(at, ir.VectorType(DOUBLE, WIDTH).as_pointer())


@intrinsic
def eight(typing_context, matrix, row, column):
    """The numbers of a matrix of floats from a column on, as lanes."""

    def generate(context, builder, signature, args):
        at = eight_at(context, builder, matrix, *args)
        with marked(builder, names_of_items(matrix.dtype)):
            return builder.load(at, align=WORD)

    return lanes(matrix, types.int64, types.int64), generate


@intrinsic
def put_eight(typing_context, numbers, matrix, row, column):
    """The numbers of a matrix of floats from a column on = lanes."""

    def generate(context, builder, signature, args):
        at = eight_at(context, builder, matrix, *args[1:])
        with marked(builder, names_of_items(matrix.dtype)):
            builder.store(args[0], at, align=WORD)
        return context.get_dummy_value()

    return types.void(lanes, matrix, types.int64, types.int64), generate
