"""The charts of a mechanism, whose addresses are in the records of its joints."""

from llvmlite import ir
from numba import typeof, types
from numba.extending import intrinsic

from robosim.compiled.records.chart import NO_CHARTS
from robosim.kernels.compiler.lanes import Lanes

CHARTS = typeof(NO_CHARTS)


def is_of_lanes(record):
    """Whether floats of a record are lanes."""
    kinds = (record.typeof(name) for name in record.fields)
    return any(type(getattr(kind, "dtype", kind)) is Lanes for kind in kinds)


@intrinsic
def bends(typing_context, scratch):
    """0, or None in lanes: these have no charts with splines and rotation vectors.

    `scratch` is a record whose floats may be lanes.
    """
    if is_of_lanes(scratch):
        return types.none(scratch), lambda context, *_: context.get_dummy_value()
    return types.int64(scratch), lambda *_: ir.Constant(ir.IntType(64), 0)


@intrinsic
def charts_of(typing_context, joint, scratch):
    """As `tree_charts_of`, but None in lanes: what they do with charts needs sweeps alone."""
    if is_of_lanes(scratch):
        return types.none(joint, scratch), lambda context, *_: context.get_dummy_value()
    return CHARTS(joint, scratch), read_charts(joint)


@intrinsic
def tree_charts_of(typing_context, joint, scratch):
    """The `Charts` of the mechanism that a joint's record belongs to.

    `scratch` is a record whose floats may be lanes, which share the numbers of charts.
    """
    return CHARTS(joint, scratch), read_charts(joint)


def read_charts(joint):
    """What generates the charts of a joint, of a type of records."""

    def generate(context, builder, signature, arguments):
        word = ir.IntType(64)
        record = builder.ptrtoint(arguments[0], word)

        def field(name):
            at = builder.add(record, ir.Constant(word, joint.offset(name)))
            return builder.load(builder.inttoptr(at, word.as_pointer()))

        arrays = [
            array_at(context, builder, kind, field(name), field(count))
            for kind, name, count in zip(
                CHARTS, ("factors", "numbers"), ("chart_end", "number_count"), strict=True
            )
        ]
        return context.make_tuple(builder, CHARTS, arrays)

    return generate


def array_at(context, builder, kind, address, count):
    """The array (count,) at an address, without an owner."""
    array = context.make_array(kind)(context, builder)
    item = context.get_data_type(kind.dtype)
    size = ir.Constant(ir.IntType(64), context.get_abi_sizeof(item))
    array.data = builder.inttoptr(address, array.data.type)
    array.nitems, array.itemsize = count, size
    for name, value in (("shape", count), ("strides", size)):
        one = ir.Constant(getattr(array, name).type, ir.Undefined)
        setattr(array, name, builder.insert_value(one, value, 0))
    for name in ("meminfo", "parent"):
        setattr(array, name, ir.Constant(getattr(array, name).type, None))
    return array._getvalue()
