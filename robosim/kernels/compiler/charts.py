"""Whether joints have charts, which is part of the type of their records.

So what charts need is compiled for mechanisms that have some, and for no others.
"""

from llvmlite import ir
from numba import typeof, types
from numba.extending import intrinsic

from robosim.compiled.building.charts import chart_records

CHARTS = typeof(chart_records([])[0])


@intrinsic
def has_charts(typing_context, record):
    """Whether a joint's record, or what a tree keeps of it, has room for a chart: a constant."""
    known = "factors" in record.fields or "q1" in record.fields

    def generate(context, builder, signature, arguments):
        return context.get_constant(types.boolean, known)

    return types.boolean(record), generate


@intrinsic
def charts_of(typing_context, joint):
    """The `Charts` of the mechanism that a joint's record belongs to; None if it has none."""
    if "factors" not in joint.fields:
        return types.none(joint), lambda context, *_: context.get_dummy_value()

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

    return CHARTS(joint), generate


def array_at(context, builder, kind, address, count):
    """The array (count,) at an address, which somebody else owns."""
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
