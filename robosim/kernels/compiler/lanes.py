"""Several states, or several limbs of one, in one number: the lanes of vector registers.

A kernel that is compiled for records whose floats are `lanes` (`laned`) computes `WIDTH` states at
once, with the same operations in the same order as for one state. All states share the whole
numbers. A comparison of lanes is a mask. If a branch depends on a mask that holds for some states
and not for others, the states part: the kernel and its callers end at once, up to `together`, which
reports this. `everywhere`, `somewhere` and `pick` do not part.

With `limbs`, each lane has one limb of the same robot, and the trunk that all limbs hang on. The
trunk has the same numbers in every lane. So a sum over bodies has to be summed over the lanes as
well (`over_limbs`), where the trunk counts only once.
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

from robosim.compiled.arrays import WORD

WIDTH = 8  # two registers of four: with more to do for each instruction there is less overhead
LIMBS = 4  # a register of four
FEW = 4  # most states of a group that leave it in a step; if more do not follow, none leaves
PARTED = 77  # status that kernels end with where states part; numba's own are below

DOUBLE, INDEX, TRUTH = ir.DoubleType(), ir.IntType(32), ir.IntType(1)


class Lanes(types.Type):
    """`width` floats, one for each state or limb."""

    def __init__(self, name, width):
        self.width = width
        super().__init__(f"{name}{width}")

    @property
    def bitwidth(self):
        return 8 * WORD * self.width

    @property
    def truth(self):
        """The type of a comparison of two of them."""
        return Mask(self)

    @staticmethod
    def number(builder, value):
        """The part of a value that is compared."""
        return value

    @staticmethod
    def factors_of(value):
        """The factors of a value that is a product, or else None."""
        return product_of(value)

    @staticmethod
    def add_product(builder, a, b, c):
        """a b + c with one rounding."""
        return fma(builder, a, b, c)

    def can_convert_from(self, typingctx, other):
        return Conversion.promote if isinstance(other, (types.Float, types.Integer)) else None

    def unify(self, typingctx, other):
        return self if isinstance(other, (types.Float, types.Integer)) else None


def product_of(value):
    """The two factors of an llvm value that is their product, or else None."""
    return value.operands if getattr(value, "opname", "") == "fmul" else None


def fma(builder, a, b, c):
    """a b + c with one rounding."""
    kind = a.type
    name = "llvm.fma.f64" if kind == DOUBLE else f"llvm.fma.v{kind.count}f64"
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(kind, [kind] * 3), name)
    return builder.call(function, [a, b, c])


class Mask(types.Type):
    """A truth value for each lane."""

    def __init__(self, of):
        self.of = of
        super().__init__(f"mask of {of}")

    def can_convert_from(self, typingctx, other):
        return Conversion.promote if isinstance(other, types.Boolean) else None

    def unify(self, typingctx, other):
        return self if isinstance(other, types.Boolean) else None


lanes, limbs = Lanes("lanes", WIDTH), Lanes("limbs", LIMBS)


@register_default(Lanes)
class LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.VectorType(DOUBLE, kind.width))


@register_default(Mask)
class MaskModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.VectorType(TRUTH, kind.of.width))


def lanes_among(kinds):
    """The type of lanes among some types and masks; None if there are no lanes."""
    numbers = {kind.of if isinstance(kind, Mask) else kind for kind in kinds}
    return next((kind for kind in numbers if isinstance(kind, Lanes)), None)


class LanedRecord(types.Record):
    """A record whose floats are lanes, of the given numpy dtype."""

    def __init__(self, fields, wide):
        self.wide = wide
        super().__init__(fields, wide.itemsize, True)

    @property
    def dtype(self):
        return self.wide


register_default(LanedRecord)(models.RecordModel)


def laned(dtype, kind=lanes):
    """(numpy dtype, numba type) of records whose floats are lanes, the last axis of each field.

    Every field begins at a multiple of a vector's length, as loads of vectors ask for.
    """
    formats, offsets, fields, offset = [], [], [], 0
    vector = WORD * kind.width
    for name in dtype.names:
        base, shape = dtype.fields[name][0].base, dtype.fields[name][0].shape
        is_float = base == np.float64
        element = kind if is_float else from_dtype(base)
        field = types.NestedArray(element, shape) if shape else element
        formats.append((base, (*shape, kind.width) if is_float else shape))
        offsets.append(offset)
        fields.append((name, {"type": field, "offset": offset, "alignment": None, "title": None}))
        offset += vector * -(-np.dtype(formats[-1]).itemsize // vector)
    names = list(dtype.names)
    wide = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": offset})
    return wide, LanedRecord(fields, wide)


def reordered(builder, vector, order):
    """The vector of the elements `order` of a vector."""
    order = ir.Constant(ir.VectorType(INDEX, len(order)), order)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)


def spread(builder, value, count):
    """A vector of `count` times the same value."""
    nothing = ir.Constant(ir.VectorType(value.type, count), ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(INDEX, 0))
    return reordered(builder, first, [0] * count)


@lower_cast(types.Float, Lanes)
@lower_cast(types.Integer, Lanes)
def cast_number(context, builder, source, target, value):
    return spread(builder, context.cast(builder, value, source, types.float64), target.width)


def all_of(builder, condition):
    """Whether a mask holds in all lanes."""
    bits = ir.IntType(condition.type.count)
    number = builder.bitcast(condition, bits)
    return builder.icmp_unsigned("==", number, ir.Constant(bits, 2**bits.width - 1))


def any_of(builder, condition):
    """Whether a mask holds in any lane."""
    bits = ir.IntType(condition.type.count)
    return builder.icmp_unsigned("!=", builder.bitcast(condition, bits), ir.Constant(bits, 0))


def agreed(context, builder, condition):
    """Whether a mask holds in all lanes; the kernel ends here if it holds in some lanes only."""
    every, some = all_of(builder, condition), any_of(builder, condition)
    with builder.if_then(builder.and_(some, builder.not_(every)), likely=False):
        context.call_conv._return_errcode_raw(builder, ir.Constant(INDEX, PARTED))
    return every


@lower_cast(types.Boolean, Mask)
def cast_truth(context, builder, source, target, value):
    return spread(builder, value, target.of.width)


def declare(function, counts, result=lambda kind: kind):
    """Declare a function of lanes to numba; some arguments may be other numbers."""

    class Template(AbstractTemplate):
        def generic(self, args, kws):
            numbers = all(isinstance(arg, (Lanes, types.Float, types.Integer)) for arg in args)
            kind = lanes_among(args)
            if kws or len(args) not in counts or not numbers or kind is None:
                return None
            return typing.signature(result(kind), *([kind] * len(args)))

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
        declare(_function, (2,))

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
    declare(_function, (2,), lambda kind: kind.truth)

    @lower_builtin(_function, Lanes, Lanes)
    def compare(context, builder, signature, args, sign=_sign):
        how = builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered
        return how(sign, *args)


def call_llvm(builder, name, arg):
    """An operation of LLVM on all lanes."""
    full = f"llvm.{name}.v{arg.type.count}f64"
    function = builder.module.globals.get(full)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(arg.type, [arg.type]), full)
    return builder.call(function, [arg])


UNARY = {abs: "fabs", math.fabs: "fabs", math.sqrt: "sqrt", math.floor: "floor"}
for _one, _name in UNARY.items():
    declare(_one, (1,))

    @lower_builtin(_one, Lanes)
    def unary(context, builder, signature, args, name=_name):
        return call_llvm(builder, name, args[0])


declare(operator.neg, (1,))
declare(math.isfinite, (1,), lambda kind: kind.truth)


@lower_builtin(operator.neg, Lanes)
def negative(context, builder, signature, args):
    return builder.fneg(args[0])


@lower_builtin(math.isfinite, Lanes)
def finite(context, builder, signature, args):
    infinite = spread(builder, ir.Constant(DOUBLE, math.inf), args[0].type.count)
    return builder.fcmp_ordered("<", call_llvm(builder, "fabs", args[0]), infinite)


# Lane by lane, as there are no operations on vectors for these.
EACH = {math.sin: 1, math.cos: 1, math.asin: 1, math.acos: 1, math.atan2: 2}
EACH |= {operator.mod: 2, operator.pow: 2}
for _one, _count in EACH.items():
    declare(_one, (_count,))

    @lower_builtin(_one, *([Lanes] * _count))
    def each(context, builder, signature, args, function=_one):
        scalar = typing.signature(types.float64, *([types.float64] * len(args)))
        one, kind = context.get_function(function, scalar), args[0].type
        out = ir.Constant(kind, ir.Undefined)
        for k in range(kind.count):
            index = ir.Constant(INDEX, k)
            value = one(builder, [builder.extract_element(arg, index) for arg in args])
            out = builder.insert_element(out, value, index)
        return out


# The first argument that nothing exceeds, as numba has it for floats.
for _one, _sign in ((max, ">"), (min, "<")):
    declare(_one, range(2, 9))

    @lower_builtin(_one, types.VarArg(Lanes))
    def extreme(context, builder, signature, args, sign=_sign):
        number = signature.args[0].number
        out = args[0]
        for value in args[1:]:
            beyond = builder.fcmp_ordered(sign, number(builder, value), number(builder, out))
            out = builder.select(beyond, value, out)
        return out


def is_mask(args):
    """Whether a mask is the only argument."""
    return len(args) == 1 and isinstance(args[0], Mask)


@infer_global(bool)
class Truth(AbstractTemplate):
    key = bool

    def generic(self, args, kws):
        return typing.signature(types.boolean, *args) if is_mask(args) else None


@infer_global(operator.not_)
class Opposite(AbstractTemplate):
    key = operator.not_

    def generic(self, args, kws):
        return typing.signature(args[0], *args) if is_mask(args) else None


@lower_builtin(bool, Mask)
def truth(context, builder, signature, args):
    return agreed(context, builder, args[0])


@lower_builtin(operator.not_, Mask)
def opposite(context, builder, signature, args):
    return builder.not_(args[0])


@intrinsic
def everywhere(typing_context, condition):
    """Whether a condition holds in all lanes."""

    def generate(context, builder, signature, args):
        return args[0] if condition == types.boolean else all_of(builder, args[0])

    return types.boolean(condition), generate


@intrinsic
def somewhere(typing_context, condition):
    """Whether a condition holds in any lane."""

    def generate(context, builder, signature, args):
        return args[0] if condition == types.boolean else any_of(builder, args[0])

    return types.boolean(condition), generate


@intrinsic
def pick(typing_context, condition, yes, no):
    """One of two numbers in each lane, both of which are computed."""
    result = lanes_among((condition, yes, no)) or types.float64

    def generate(context, builder, signature, args):
        return builder.select(*args)

    return result(condition, result, result), generate


def across_limbs(name, combine):
    """An intrinsic that combines the numbers of all limbs to one, the same in every lane.

    Numbers that are not limbs stay as they are. `combine` is a function (builder, value, value).
    """

    def one_of_all(typing_context, value):
        kind = limbs if value == limbs else lanes_among((value,)) or types.float64

        def generate(context, builder, signature, args):
            out = args[0]
            if kind == limbs:
                for order in ([1, 0, 3, 2], [2, 3, 0, 1]):
                    out = combine(builder, out, reordered(builder, out, order))
            return out

        return kind(kind), generate

    one_of_all.__name__ = name
    return intrinsic(one_of_all)


def _extreme_of(sign):
    return lambda builder, a, b: builder.select(builder.fcmp_ordered(sign, a, b), a, b)


over_limbs = across_limbs("over_limbs", lambda builder, a, b: builder.fadd(a, b))
most_of_limbs = across_limbs("most_of_limbs", _extreme_of(">"))
least_of_limbs = across_limbs("least_of_limbs", _extreme_of("<"))


@intrinsic
def are_limbs(typing_context, value):
    """Whether a number has limbs in its lanes, which is known when a kernel is compiled."""

    def generate(context, builder, signature, args):
        return ir.Constant(TRUTH, int(value == limbs))

    return types.boolean(value), generate


@intrinsic
def are_states(typing_context, value):
    """Whether a number has states in its lanes, which is known when a kernel is compiled."""

    def generate(context, builder, signature, args):
        return ir.Constant(TRUTH, int(value == lanes))

    return types.boolean(value), generate


@intrinsic
def least_of_states(typing_context, value):
    """The least number of all states in lanes; other numbers stay as they are."""

    def generate(context, builder, signature, args):
        if value != lanes:
            return args[0]
        numbers = [builder.extract_element(args[0], INDEX(k)) for k in range(WIDTH)]
        least = numbers[0]
        for one in numbers[1:]:
            least = builder.select(builder.fcmp_ordered("<", one, least), one, least)
        return least

    return (types.float64 if value == lanes else value)(value), generate


@intrinsic
def few(typing_context, condition):
    """Whether a condition holds for at most `FEW` states of a group; False without a group."""

    def generate(context, builder, signature, args):
        if condition != Mask(lanes):
            return ir.Constant(TRUTH, 0)
        bits = builder.bitcast(args[0], ir.IntType(WIDTH))
        return builder.icmp_unsigned("<=", builder.ctpop(bits), ir.Constant(bits.type, FEW))

    return types.boolean(condition), generate


@intrinsic
def staying(typing_context, condition, left):
    """A condition in the lanes whose states have not left, which have `left` 0."""

    def generate(context, builder, signature, args):
        if condition != Mask(lanes):
            return args[0]
        there = builder.fcmp_ordered("==", args[1], ir.Constant(args[1].type, [0.0] * WIDTH))
        return builder.and_(args[0], there)

    return condition(condition, left), generate


@intrinsic
def lane(typing_context, numbers, k):
    """The number in lane k."""

    def generate(context, builder, signature, args):
        return builder.extract_element(*args)

    return types.float64(numbers, types.int64), generate


@intrinsic
def with_lane(typing_context, numbers, k, number):
    """The numbers with another one in lane k."""

    def generate(context, builder, signature, args):
        return builder.insert_element(args[0], args[2], args[1])

    return numbers(numbers, types.int64, types.float64), generate


def float_words(wide):
    """Offsets of all floats, and of their lanes, in a record and in one whose floats are lanes."""
    return words_of(wide)[0]


def whole_words(wide):
    """Offsets of all whole numbers in such two records."""
    return words_of(wide)[1]


def words_of(wide):
    """(offsets of floats, offsets of whole numbers), pairs of them as `float_words` has them."""
    floats, whole, at = [], [], 0
    for name in wide.fields:
        kind = wide.typeof(name)
        count, element = 1, kind
        if isinstance(kind, types.NestedArray):
            count, element = kind.nitems, kind.dtype
        begin, stride, out = wide.offset(name), WORD, whole
        if isinstance(element, Lanes):
            stride, out = WORD * element.width, floats
        out += [(at + WORD * i, begin + stride * i) for i in range(count)]
        at += WORD * count
    return floats, whole


@intrinsic
def take_lane(typing_context, wide, k, record):
    """Copy the floats of lane k to a record of single ones; both have the same fields."""

    def generate(context, builder, signature, args):
        copy_words(builder, wide, args[0], args[1], args[2], True)
        return context.get_dummy_value()

    return types.void(wide, types.int64, record), generate


@intrinsic
def put_lane(typing_context, record, wide, k):
    """Copy the floats of a record to lane k of one whose floats are lanes, of the same fields."""

    def generate(context, builder, signature, args):
        copy_words(builder, wide, args[1], args[2], args[0], False)
        return context.get_dummy_value()

    return types.void(record, wide, types.int64), generate


def copy_words(builder, wide, of_lanes, k, single, takes):
    """Copy each float from its lane k, or to it."""
    byte, word = ir.IntType(8).as_pointer(), ir.IntType(64)
    of_lanes, single = builder.bitcast(of_lanes, byte), builder.bitcast(single, byte)
    of_lanes = builder.gep(of_lanes, [builder.mul(k, word(WORD))])
    for at, to in float_words(wide):
        one, other = (
            builder.bitcast(builder.gep(base, [word(offset)]), word.as_pointer())
            for base, offset in ((single, at), (of_lanes, to))
        )
        if takes:
            builder.store(builder.load(other), one)
        else:
            builder.store(builder.load(one), other)


@intrinsic
def copy_lane(typing_context, source, target, k):
    """Copy the floats of lane k from one record of lanes to another one of the same type."""

    def generate(context, builder, signature, args):
        source_at, target_at, k = args
        copy_between(builder, source, (source_at, k), (target_at, k))
        return context.get_dummy_value()

    return types.void(source, target, types.int64), generate


@intrinsic
def spread_lane(typing_context, wide, k, to):
    """Copy the floats of lane k of a record of lanes to another lane of it."""

    def generate(context, builder, signature, args):
        at, k, to = args
        copy_between(builder, wide, (at, k), (at, to))
        return context.get_dummy_value()

    return types.void(wide, types.int64, types.int64), generate


def copy_between(builder, wide, source, target):
    """Copy the floats of a lane to a lane, (address of a record, lane) of a type of records."""
    byte, word = ir.IntType(8).as_pointer(), ir.IntType(64)
    bases = [
        builder.gep(builder.bitcast(at, byte), [builder.mul(k, word(WORD))])
        for at, k in (source, target)
    ]
    for _, offset in float_words(wide):
        here, there = (
            builder.bitcast(builder.gep(base, [word(offset)]), word.as_pointer()) for base in bases
        )
        builder.store(builder.load(here), there)


@intrinsic
def put_whole_numbers(typing_context, record, wide):
    """Copy whole numbers of a record to one whose floats are lanes, of the same fields."""

    def generate(context, builder, signature, args):
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        single, of_lanes = (builder.bitcast(one, byte) for one in args)
        for at, to in whole_words(wide):
            one, other = (
                builder.bitcast(builder.gep(base, [word(offset)]), word.as_pointer())
                for base, offset in ((single, at), (of_lanes, to))
            )
            builder.store(builder.load(one), other)
        return context.get_dummy_value()

    return types.void(record, wide), generate


@intrinsic
def together(typing_context, kernel, arguments):
    """Call a kernel with a tuple of arguments; whether it ended without parting."""
    signature = kernel.get_call_type(typing_context, arguments.types, {})

    def generate(context, builder, outer, values):
        compiled = kernel.dispatcher.get_compile_result(signature)
        context.add_linking_libs([compiled.library])
        parts = [builder.extract_value(values[1], k) for k in range(len(arguments.types))]
        called = context.call_internal_no_propagate(builder, compiled.fndesc, signature, parts)
        return builder.not_(called[0].is_error)

    return types.boolean(kernel, arguments), generate
