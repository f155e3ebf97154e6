"""Several states in one number: the lanes of vector registers, one state in each.

A kernel that is compiled for records whose floats are `lanes` (`laned`) takes `WIDTH` states the
same way at once, with the same operations in the same order as for one of them. Whole numbers are
shared by all states. A comparison of lanes is a mask; where a branch asks for one that does not
hold for all states or for none, they part: the kernel ends at once, and so do all that have called
it, up to `together`, which tells so. `everywhere`, `somewhere` and `pick` do not part.
"""

import math
import operator

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import typing
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_builtin, lower_cast
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import intrinsic

from robosim.model import WORD

WIDTH = 8  # two registers of four: with more to do for each instruction there is less overhead
PARTED = 77  # status that kernels end with where states part; numba's own are below

DOUBLE, INDEX = ir.DoubleType(), ir.IntType(32)
VECTOR, BITS = ir.VectorType(DOUBLE, WIDTH), ir.VectorType(ir.IntType(1), WIDTH)


class Lanes(types.Type):
    """`WIDTH` floats, one for each state."""

    bitwidth = 8 * WORD * WIDTH

    def __init__(self):
        super().__init__(f"lanes{WIDTH}")

    def can_convert_from(self, typingctx, other):
        return Conversion.promote if isinstance(other, (types.Float, types.Integer)) else None

    def unify(self, typingctx, other):
        return self if isinstance(other, (types.Float, types.Integer)) else None


class Mask(types.Type):
    """`WIDTH` truths, one for each state."""

    def __init__(self):
        super().__init__(f"mask{WIDTH}")

    def can_convert_from(self, typingctx, other):
        return Conversion.promote if isinstance(other, types.Boolean) else None

    def unify(self, typingctx, other):
        return self if isinstance(other, types.Boolean) else None


lanes, mask = Lanes(), Mask()


@register_default(Lanes)
class LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, VECTOR)


@register_default(Mask)
class MaskModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, BITS)


class LanedRecord(types.Record):
    """A record whose floats are lanes, of the given numpy dtype."""

    def __init__(self, fields, wide):
        self.wide = wide
        super().__init__(fields, wide.itemsize, True)

    @property
    def dtype(self):
        return self.wide


register_default(LanedRecord)(models.RecordModel)


def laned(dtype):
    """(numpy dtype, numba type) of records whose floats are lanes, the last axis of each field.

    Every field begins at a multiple of `WIDTH` words, as loads of vectors ask for.
    """
    formats, offsets, fields, offset = [], [], [], 0
    for name in dtype.names:
        base, shape = dtype.fields[name][0].base, dtype.fields[name][0].shape
        is_float = base == np.float64
        element = lanes if is_float else from_dtype(base)
        kind = types.NestedArray(element, shape) if shape else element
        formats.append((base, (*shape, WIDTH) if is_float else shape))
        offsets.append(offset)
        fields.append((name, {"type": kind, "offset": offset, "alignment": None, "title": None}))
        words = -(-np.dtype(formats[-1]).itemsize // (WORD * WIDTH))
        offset += WORD * WIDTH * words
    names = list(dtype.names)
    wide = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": offset})
    return wide, LanedRecord(fields, wide)


def spread(builder, value, kind=VECTOR):
    """The same value in all lanes."""
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(INDEX, 0))
    zeros = ir.Constant(ir.VectorType(INDEX, WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(first, nothing, zeros)


@lower_cast(types.Float, Lanes)
@lower_cast(types.Integer, Lanes)
def cast_number(context, builder, source, target, value):
    return spread(builder, context.cast(builder, value, source, types.float64))


def agreed(context, builder, condition):
    """Whether a mask holds in all lanes; the kernel ends here where it does in some only."""
    bits = ir.IntType(WIDTH)
    number = builder.bitcast(condition, bits)
    every = builder.icmp_unsigned("==", number, ir.Constant(bits, 2**WIDTH - 1))
    none = builder.icmp_unsigned("==", number, ir.Constant(bits, 0))
    with builder.if_then(builder.not_(builder.or_(every, none)), likely=False):
        context.call_conv._return_errcode_raw(builder, ir.Constant(INDEX, PARTED))
    return every


@lower_cast(types.Boolean, Mask)
def cast_truth(context, builder, source, target, value):
    return spread(builder, value, BITS)


def declare(function, result, counts):
    """Let numba know the result of a function of lanes, of which other numbers may be some."""

    class Template(AbstractTemplate):
        def generic(self, args, kws):
            numbers = all(isinstance(arg, (Lanes, types.Float, types.Integer)) for arg in args)
            if kws or len(args) not in counts or not numbers or lanes not in args:
                return None
            return typing.signature(result, *([lanes] * len(args)))

    Template.key = function
    infer_global(function)(Template)


ARITHMETIC = {
    "fadd": (operator.add, operator.iadd),
    "fsub": (operator.sub, operator.isub),
    "fmul": (operator.mul, operator.imul),
    "fdiv": (operator.truediv, operator.itruediv),
}
for _name, _functions in ARITHMETIC.items():
    for _function in _functions:
        declare(_function, lanes, (2,))

        @lower_builtin(_function, Lanes, Lanes)
        def arithmetic(context, builder, signature, args, name=_name):
            return getattr(builder, name)(*args)


COMPARISONS = {
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}
for _function, _sign in COMPARISONS.items():
    declare(_function, mask, (2,))

    @lower_builtin(_function, Lanes, Lanes)
    def compare(context, builder, signature, args, sign=_sign):
        how = builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered
        return how(sign, *args)


def call_llvm(builder, name, arg):
    """An operation of LLVM on all lanes."""
    full = f"llvm.{name}.v{WIDTH}f64"
    function = builder.module.globals.get(full)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(VECTOR, [VECTOR]), full)
    return builder.call(function, [arg])


UNARY = {abs: "fabs", math.fabs: "fabs", math.sqrt: "sqrt", math.floor: "floor"}
for _one, _name in UNARY.items():
    declare(_one, lanes, (1,))

    @lower_builtin(_one, Lanes)
    def unary(context, builder, signature, args, name=_name):
        return call_llvm(builder, name, args[0])


declare(operator.neg, lanes, (1,))
declare(math.isfinite, mask, (1,))


@lower_builtin(operator.neg, Lanes)
def negative(context, builder, signature, args):
    return builder.fneg(args[0])


@lower_builtin(math.isfinite, Lanes)
def finite(context, builder, signature, args):
    infinite = spread(builder, ir.Constant(DOUBLE, math.inf))
    return builder.fcmp_ordered("<", call_llvm(builder, "fabs", args[0]), infinite)


# Lane by lane, as there are no operations on vectors for these.
EACH = {math.sin: 1, math.cos: 1, math.asin: 1, math.acos: 1, math.atan2: 2}
EACH |= {operator.mod: 2, operator.pow: 2}
for _one, _count in EACH.items():
    declare(_one, lanes, (_count,))

    @lower_builtin(_one, *([Lanes] * _count))
    def each(context, builder, signature, args, function=_one):
        scalar = typing.signature(types.float64, *([types.float64] * len(args)))
        one, out = context.get_function(function, scalar), ir.Constant(VECTOR, ir.Undefined)
        for k in range(WIDTH):
            index = ir.Constant(INDEX, k)
            value = one(builder, [builder.extract_element(arg, index) for arg in args])
            out = builder.insert_element(out, value, index)
        return out


# The first argument that nothing exceeds, as numba has it for floats.
for _one, _sign in ((max, ">"), (min, "<")):
    declare(_one, lanes, range(2, 9))

    @lower_builtin(_one, types.VarArg(Lanes))
    def extreme(context, builder, signature, args, sign=_sign):
        out = args[0]
        for value in args[1:]:
            out = builder.select(builder.fcmp_ordered(sign, value, out), value, out)
        return out


@infer_global(bool)
class Truth(AbstractTemplate):
    key = bool

    def generic(self, args, kws):
        return typing.signature(types.boolean, *args) if args == (mask,) else None


@infer_global(operator.not_)
class Opposite(AbstractTemplate):
    key = operator.not_

    def generic(self, args, kws):
        return typing.signature(mask, *args) if args == (mask,) else None


@lower_builtin(bool, Mask)
def truth(context, builder, signature, args):
    return agreed(context, builder, args[0])


@lower_builtin(operator.not_, Mask)
def opposite(context, builder, signature, args):
    return builder.not_(args[0])


@intrinsic
def everywhere(typing_context, condition):
    """Whether a condition holds in all states that are taken together."""

    def generate(context, builder, signature, args):
        if condition == types.boolean:
            return args[0]
        bits = ir.IntType(WIDTH)
        number = builder.bitcast(args[0], bits)
        return builder.icmp_unsigned("==", number, ir.Constant(bits, 2**WIDTH - 1))

    return types.boolean(condition), generate


@intrinsic
def somewhere(typing_context, condition):
    """Whether a condition holds in any state that is taken together with others."""

    def generate(context, builder, signature, args):
        if condition == types.boolean:
            return args[0]
        bits = ir.IntType(WIDTH)
        return builder.icmp_unsigned("!=", builder.bitcast(args[0], bits), ir.Constant(bits, 0))

    return types.boolean(condition), generate


@intrinsic
def pick(typing_context, condition, yes, no):
    """One of two numbers in each state, both of which are computed."""
    result = lanes if lanes in (yes, no) or condition == mask else types.float64

    def generate(context, builder, signature, args):
        return builder.select(*args)

    return result(condition, result, result), generate


@intrinsic
def lane(typing_context, numbers, k):
    """The number of state k."""

    def generate(context, builder, signature, args):
        return builder.extract_element(*args)

    return types.float64(lanes, types.int64), generate


@intrinsic
def together(typing_context, kernel, arguments):
    """Call a kernel with arguments, a tuple; whether its states came through without parting."""
    signature = kernel.get_call_type(typing_context, arguments.types, {})

    def generate(context, builder, outer, values):
        compiled = kernel.dispatcher.get_compile_result(signature)
        context.add_linking_libs([compiled.library])
        parts = [builder.extract_value(values[1], k) for k in range(len(arguments.types))]
        called = context.call_internal_no_propagate(builder, compiled.fndesc, signature, parts)
        return builder.not_(called[0].is_error)

    return types.boolean(kernel, arguments), generate
