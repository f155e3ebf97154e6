"""The charts of a mechanism, whose addresses are in the records of its joints."""

from llvmlite import ir
from numba import typeof, types
from numba.extending import intrinsic

from robosim.compiled.records.chart import NO_CHARTS
from robosim.kernels.compiler.lanes import Lanes

CHARTS = typeof(NO_CHARTS)


@intrinsic
def charts_of(typing_context, joint, scratch):
    """The `Charts` of the mechanism that a joint's record belongs to; None in lanes.

    Mechanisms with charts take no steps in lanes. `scratch` is a record whose floats may be lanes.
    """
    kinds = (scratch.typeof(name) for name in scratch.fields)
    if any(type(getattr(kind, "dtype", kind)) is Lanes for kind in kinds):
        return types.none(joint, scratch), lambda context, *_: context.get_dummy_value()

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

    return CHARTS(joint, scratch), generate


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
