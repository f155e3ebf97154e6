"""Kernels that are compiled separately, and only for mechanisms that need them.

A `feature` is called like a kernel, but by its address in `Model.calls` of its argument `model`. So
its callers are the same for all models. They first check that the model has elements which need
the feature, because otherwise there is no address. A feature returns a whole number.
`robosim.runtime.features` compiles the features that a model needs.

The types of a feature's arguments must be known without its callers. So arguments that are numbers
are declared: as `NUMBER`, which may be a float, lanes or a dual, or as `WHOLE`.
"""

import inspect

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import make_concrete_template

from robosim.kernels.compiler.dense import DATA, WORD, dense, part_of
from robosim.kernels.compiler.jit import part
from robosim.kernels.compiler.lanes import lanes

NUMBER, WHOLE = "number", "whole"
MISSING = -78  # status that kernels end with where a feature is missing: none of numba's own
ALL: dict = {}  # place in Model.calls -> Feature
OF_STATES: dict = {}  # and what states in lanes have in its place


class Feature:
    """A kernel that is called by its address, at this place of `Model.calls`."""

    def __init__(self, place, function, numbers):
        self.place, self.part = place, part(function)
        self.names = list(inspect.signature(function).parameters)
        self._numbers = numbers
        self.part.get_call_template = self._template
        self.part.get_overload = lambda kinds: self
        lower_builtin(self, types.VarArg(types.Any))(self._call)

    def kinds(self, known, number):
        """Types of the arguments: `known` by name; a `NUMBER` is of type `number`."""
        declared = {NUMBER: number, WHOLE: types.int64}
        return tuple(
            declared[self._numbers[name]] if name in self._numbers else known[name]
            for name in self.names
        )

    def _template(self, args, kws):
        """How numba finds the types of a call."""
        arguments = dict(zip(self.names, args, strict=False)) | kws
        known = {name: dense(types.unliteral(kind)) for name, kind in arguments.items()}
        signature = types.int64(*self.kinds(known, number_in(known.get("state"))))
        template = make_concrete_template("feature", self, [signature])
        by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(name, by_name) for name in self.names]
        return template, inspect.Signature(parameters), args, kws

    def _call(self, context, builder, signature, args):
        """Generate a call by the address in the model."""
        at = self.names.index("model")
        model = signature.args[at]
        calls = part_of(context, builder, model, args[at], model.fields.index("calls"))
        calls = builder.extract_value(calls, DATA)
        address = builder.load(builder.gep(calls, [WORD(self.place)]))
        with cgutils.if_unlikely(builder, builder.icmp_signed("==", address, WORD(0))):
            context.call_conv._return_errcode_raw(builder, ir.Constant(ir.IntType(32), MISSING))
        kind = context.call_conv.get_function_type(types.int64, signature.args)
        function = builder.inttoptr(address, kind.as_pointer())
        word, exception = (one.pointee for one in kind.args[:2])
        left, nothing = cgutils.alloca_once(builder, word), cgutils.alloca_once(builder, exception)
        packer = context.get_arg_packer(signature.args)
        ended = builder.call(function, [left, nothing, *packer.as_arguments(builder, args)])
        # If lanes part in the feature, its caller ends as well.
        with cgutils.if_unlikely(builder, builder.icmp_signed("!=", ended, ended.type(0))):
            builder.ret(ended)
        return builder.load(left)


def number_in(state):
    """The type of floats in a state: plain ones, lanes or duals; None without a state."""
    return state and state.types[state.fields.index("last_dt")].dtype


def feature(place, **numbers):
    """A decorator of features; `numbers` declares the arguments that are numbers."""

    def decorate(function):
        ALL[place] = Feature(place, function, numbers)
        return ALL[place].part

    return decorate


def feature_of_states(place, **numbers):
    """A decorator of what is called for states in lanes in the place of a feature."""

    def decorate(function):
        OF_STATES[place] = Feature(place, function, numbers)
        return OF_STATES[place].part

    return decorate


def feature_for(place, number):
    """The feature at a place of `Model.calls`, where floats are of the type `number`."""
    return OF_STATES.get(place, ALL[place]) if number == lanes else ALL[place]
