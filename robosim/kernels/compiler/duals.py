"""Numbers with their derivatives in some directions, in one vector register.

A kernel that is compiled for records whose floats are `duals` (`robosim.kernels.compiler.lanes.
laned`) computes, beside each number, its derivatives along up to `DIRECTIONS` directions of the
inputs. The first element of a vector is the number, the others are its derivatives. Branches depend
on the numbers alone, so kernels take the same branches for duals as for plain floats. Exceptions
are `==` and `!=`, for which duals are equal only if their derivatives are equal, too.

Where a function has no derivative, a one-sided one is taken; for the root of zero it is zero.
"""

import math
import operator
from functools import partial

from llvmlite import ir
from numba import types
from numba.core import typing
from numba.core.datamodel import register_default
from numba.core.imputils import lower_builtin, lower_cast
from numba.extending import intrinsic

from robosim.kernels.compiler.lanes import (
    COMPARISONS,
    DOUBLE,
    INDEX,
    TRUTH,
    UNARY,
    Lanes,
    LanesModel,
    any_of,
    call_llvm,
    declare,
    fma,
    reordered,
    spread,
)
from robosim.kernels.compiler.lowering import add_product as sum_of_product

DIRECTIONS = 7  # with the number one register of eight, or two of four


class Duals(Lanes):
    """A float and its derivatives."""

    @property
    def truth(self):
        return types.boolean

    @staticmethod
    def number(builder, value):
        return number(builder, value)

    @staticmethod
    def factors_of(value):
        return getattr(value, "factors", None)

    @staticmethod
    def add_product(builder, a, b, c):
        return add_product(builder, a, b, c, partial(fma, builder))


register_default(Duals)(LanesModel)
duals = Duals("duals", DIRECTIONS + 1)
FIRST = ir.Constant(INDEX, 0)
SETTLED = 1e-6  # change that is allowed, relative to the largest derivative or the number


def number(builder, dual):
    """The number itself."""
    return builder.extract_element(dual, FIRST)


def with_number(builder, dual, value):
    """The derivatives of a dual beside another number."""
    return builder.insert_element(dual, value, FIRST)


def times(builder, value, dual):
    """A float times a dual."""
    return builder.fmul(spread(builder, value, dual.type.count), dual)


def all_slopes(builder, slopes, dual):
    """The derivatives `slopes` beside the number of a dual."""
    mask = ir.Constant(ir.VectorType(TRUTH, dual.type.count), [0] + [1] * (dual.type.count - 1))
    return builder.select(mask, slopes, dual)


def add_product(builder, a, b, c, add):
    """a b + c of three duals, by `add`, the a b + c of vectors; numbers are as those of floats."""
    numbers = [reordered(builder, one, [0] * one.type.count) for one in (a, b)]
    out = add(numbers[0], b, c)
    return all_slopes(builder, add(numbers[1], a, out), out)


def product(builder, a, b, add):
    """a b of two duals, which keeps its factors, so that a sum can be fused with it."""
    numbers = [reordered(builder, one, [0] * one.type.count) for one in (a, b)]
    out = builder.fmul(numbers[0], b)
    out = all_slopes(builder, add(numbers[1], a, out), out)
    out.factors = a, b
    return out


def along(builder, dual, value, slope):
    """A function's value beside its slope times the derivatives of its argument."""
    return with_number(builder, times(builder, slope, dual), value)


def unless_zero(builder, divisor, value):
    """A float, or zero where a divisor is."""
    nothing = ir.Constant(DOUBLE, 0.0)
    return builder.select(builder.fcmp_unordered("!=", divisor, nothing), value, nothing)


@lower_cast(types.Float, Duals)
@lower_cast(types.Integer, Duals)
def cast_number(context, builder, source, target, value):
    constant = ir.Constant(ir.VectorType(DOUBLE, target.width), [0.0] * target.width)
    return with_number(builder, constant, context.cast(builder, value, source, types.float64))


for _function in (operator.mul, operator.imul):

    @lower_builtin(_function, Duals, Duals)
    def multiply(context, builder, signature, args):
        return product(builder, *args, sum_of_product(context, builder))


for _function in (operator.truediv, operator.itruediv):

    @lower_builtin(_function, Duals, Duals)
    def divide(context, builder, signature, args):
        a, b = args
        below = number(builder, b)
        value = builder.fdiv(number(builder, a), below)
        slopes = builder.fsub(a, times(builder, value, b))
        return along(builder, slopes, value, builder.fdiv(ir.Constant(DOUBLE, 1.0), below))


for _function, _sign in COMPARISONS.items():

    @lower_builtin(_function, Duals, Duals)
    def compare(context, builder, signature, args, sign=_sign):
        if sign in ("==", "!="):
            # Terms that are skipped for a zero are needed if this zero has derivatives.
            differ = any_of(builder, builder.fcmp_unordered("!=", *args))
            return differ if sign == "!=" else builder.not_(differ)
        return builder.fcmp_ordered(sign, *(number(builder, arg) for arg in args))


for _size in (abs, math.fabs):

    @lower_builtin(_size, Duals)
    def size(context, builder, signature, args):
        below = builder.fcmp_ordered("<", number(builder, args[0]), ir.Constant(DOUBLE, 0.0))
        return builder.select(below, builder.fneg(args[0]), args[0])


def scalar(context, builder, function, *args):
    """The value of a function of plain floats."""
    signature = typing.signature(types.float64, *([types.float64] * len(args)))
    return context.get_function(function, signature)(builder, list(args))


@lower_builtin(math.sqrt, Duals)
def root(context, builder, signature, args):
    value = scalar(context, builder, math.sqrt, number(builder, args[0]))
    slope = builder.fdiv(ir.Constant(DOUBLE, 0.5), value)
    return along(builder, args[0], value, unless_zero(builder, value, slope))


@lower_builtin(math.floor, Duals)
def whole(context, builder, signature, args):
    constant = ir.Constant(args[0].type, [0.0] * args[0].type.count)
    below = number(builder, call_llvm(builder, UNARY[math.floor], args[0]))
    return with_number(builder, constant, below)


@lower_builtin(math.sin, Duals)
def sine(context, builder, signature, args):
    x = number(builder, args[0])
    value, slope = (scalar(context, builder, one, x) for one in (math.sin, math.cos))
    return along(builder, args[0], value, slope)


@lower_builtin(math.cos, Duals)
def cosine(context, builder, signature, args):
    x = number(builder, args[0])
    value, slope = (scalar(context, builder, one, x) for one in (math.cos, math.sin))
    return along(builder, args[0], value, builder.fneg(slope))


for _inverse, _slope in ((math.asin, 1.0), (math.acos, -1.0)):

    @lower_builtin(_inverse, Duals)
    def inverse(context, builder, signature, args, function=_inverse, sign=_slope):
        x = number(builder, args[0])
        square = builder.fsub(ir.Constant(DOUBLE, 1.0), builder.fmul(x, x))
        across = scalar(context, builder, math.sqrt, square)
        slope = builder.fdiv(ir.Constant(DOUBLE, sign), across)
        value = scalar(context, builder, function, x)
        return along(builder, args[0], value, unless_zero(builder, across, slope))


@lower_builtin(math.atan2, Duals, Duals)
def angle(context, builder, signature, args):
    y, x = (number(builder, arg) for arg in args)
    square = builder.fadd(builder.fmul(x, x), builder.fmul(y, y))
    slopes = builder.fsub(times(builder, x, args[0]), times(builder, y, args[1]))
    one = builder.fdiv(ir.Constant(DOUBLE, 1.0), square)
    value = scalar(context, builder, math.atan2, y, x)
    return along(builder, slopes, value, unless_zero(builder, square, one))


@lower_builtin(operator.mod, Duals, Duals)
def remainder(context, builder, signature, args):
    a, b = (number(builder, arg) for arg in args)
    value = scalar(context, builder, operator.mod, a, b)
    turns = builder.fdiv(builder.fsub(a, value), b)
    return with_number(builder, builder.fsub(args[0], times(builder, turns, args[1])), value)


@lower_builtin(operator.pow, Duals, Duals)
def power(context, builder, signature, args):
    a, b = (number(builder, arg) for arg in args)
    value = scalar(context, builder, operator.pow, a, b)
    slope = unless_zero(builder, a, builder.fdiv(builder.fmul(b, value), a))
    positive = builder.fcmp_ordered(">", a, ir.Constant(DOUBLE, 0.0))
    base = builder.select(positive, a, ir.Constant(DOUBLE, 1.0))
    by_exponent = builder.fmul(value, scalar(context, builder, math.log, base))
    slopes = builder.fadd(times(builder, slope, args[0]), times(builder, by_exponent, args[1]))
    return with_number(builder, slopes, value)


declare(int, (1,), lambda kind: types.int64)


@lower_builtin(int, Duals)
def truncated(context, builder, signature, args):
    return builder.fptosi(number(builder, args[0]), ir.IntType(64))


@lower_builtin(math.isfinite, Duals)
def finite(context, builder, signature, args):
    return builder.fcmp_ordered(
        "<",
        scalar(context, builder, abs, number(builder, args[0])),
        ir.Constant(DOUBLE, math.inf),
    )


@intrinsic
def slope(typing_context, dual, k):
    """The derivative in direction k."""

    def generate(context, builder, signature, args):
        at = builder.add(args[1], ir.Constant(args[1].type, 1))
        return builder.extract_element(args[0], at)

    return types.float64(dual, types.int64), generate


@intrinsic
def with_slope(typing_context, dual, k, value):
    """A dual with another derivative in direction k."""

    def generate(context, builder, signature, args):
        at = builder.add(args[1], ir.Constant(args[1].type, 1))
        return builder.insert_element(args[0], args[2], at)

    return dual(dual, types.int64, types.float64), generate


@intrinsic
def whole_below(typing_context, value):
    """The largest whole number that is not above a float, or above the number of a dual."""

    def generate(context, builder, signature, args):
        x = number(builder, args[0]) if isinstance(value, Duals) else args[0]
        floor = builder.module.declare_intrinsic("llvm.floor", [DOUBLE])
        return builder.fptosi(builder.call(floor, [x]), ir.IntType(64))

    return types.int64(value), generate


@intrinsic
def number_of(typing_context, dual):
    """The number itself."""

    def generate(context, builder, signature, args):
        return number(builder, args[0])

    return types.float64(dual), generate


@intrinsic
def is_settled(typing_context, dual, before):
    """Whether the derivatives of a dual have changed by less than SETTLED; True for plain floats.

    Changes are relative to the largest derivative or the number, as all derivatives may be
    rounding errors.
    """
    if not isinstance(dual, Duals):
        return types.boolean(dual, before), lambda *_: ir.Constant(TRUTH, 1)

    def generate(context, builder, signature, args):
        def largest(vector, begin):
            out = ir.Constant(DOUBLE, 0.0)
            for k in range(begin, vector.type.count):
                one = builder.extract_element(vector, ir.Constant(INDEX, k))
                out = builder.select(builder.fcmp_ordered(">", one, out), one, out)
            return out

        change = call_llvm(builder, "fabs", builder.fsub(*args))
        size = call_llvm(builder, "fabs", args[0])
        allowed = builder.fmul(ir.Constant(DOUBLE, SETTLED), largest(size, 0))
        return builder.fcmp_ordered("<=", largest(change, 1), allowed)

    return types.boolean(dual, before), generate


@intrinsic
def response(typing_context, change, cause):
    """Ratio of a dual's change to the change that caused it, in the element of the largest cause.

    Zero for plain floats, and without a cause.
    """
    if not isinstance(change, Duals):
        return types.float64(change, cause), lambda *_: ir.Constant(DOUBLE, 0.0)

    def generate(context, builder, signature, args):
        size = call_llvm(builder, "fabs", args[1])
        largest = part = ir.Constant(DOUBLE, 0.0)
        for k in range(size.type.count):
            at = ir.Constant(INDEX, k)
            one, above, below = (builder.extract_element(v, at) for v in (size, *args))
            larger = builder.fcmp_ordered(">", one, largest)
            largest = builder.select(larger, one, largest)
            part = builder.select(larger, builder.fdiv(above, below), part)
        return part

    return types.float64(change, cause), generate


@intrinsic
def are_duals(typing_context, value):
    """Whether a number has derivatives, which is known when a kernel is compiled."""

    def generate(context, builder, signature, args):
        return ir.Constant(TRUTH, int(value == duals))

    return types.boolean(value), generate
