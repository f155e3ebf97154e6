"""Lowering that differs from numba's: fused sums of products, and indices from the front.

In all kernels, a product and the sum that it is added to are one operation with one rounding. If
LLVM fused products, it would choose others for lanes than for single numbers, and others in each
version. States of a batch would then differ from the same states alone. So the products are chosen
here, from the formula: of `a * b + c` the product, of `a * b + c * d` the first product that is not
used elsewhere.

An index counts from the front. numba would check whether it is negative, at the cost of some
instructions in every access to a record.
"""

import functools
import hashlib
import operator
from collections import Counter

from numba.core import itanium_mangler, types
from numba.core.cgutils import get_record_member
from numba.core.compiler_machinery import register_pass
from numba.core.ir import Assign, Del, Expr, SetAttr, Var
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering
from numba.np.arrayobj import load_item, store_item

from robosim.kernels.compiler.aliasing import marked, names_of_field, names_of_items
from robosim.kernels.compiler.dense import Placed, address_at, item_size, made, part_of
from robosim.kernels.compiler.lanes import Lanes, fma, product_of

SUMS = {operator.add, operator.iadd}
DIFFERENCES = {operator.sub, operator.isub}


def has_fma(codegen):
    """Whether the processor has fused multiply-add; without, a library would be called."""
    features = codegen._tm_features.split(",")
    return "+fma" in features or "aarch64" in codegen._llvm_module.triple


def add_product(context, builder):
    """A function (a, b, c) of llvm values: a b + c, rounded once where that is one operation."""
    if has_fma(context.codegen()):
        return lambda a, b, c: fma(builder, a, b, c)
    return lambda a, b, c: builder.fadd(builder.fmul(a, b), c)


def from_the_front(signature):
    """The signature of an access to an array, by indices that do not count from its end."""
    if not isinstance(signature.args[0], types.Buffer):
        return signature

    def counted(kind):
        if isinstance(kind, types.BaseTuple):
            return types.Tuple([counted(one) for one in kind])
        return types.uintp if isinstance(kind, types.Integer) else kind

    args = list(signature.args)
    args[1] = counted(args[1])
    return signature.replace(args=tuple(args))


class KernelLower(Lower):
    """numba's lowering, except for indices, and sums and differences of products."""

    def lower_getitem(self, resty, expr, value, index, signature):
        kind, indices = self.typeof(value.name), self._indices(value, index)
        if indices is None:
            return super().lower_getitem(resty, expr, value, index, from_the_front(signature))
        context, builder = self.context, self.builder
        address, counts = address_at(builder, kind, self.loadvar(value.name), indices)
        if counts:
            part = context.get_value_type(resty)
            return made(builder, part, item_size(kind.dtype), address, counts)
        with marked(builder, self._names_of_items(value)):
            item = load_item(context, builder, kind, address)
        return context.cast(builder, item, kind.dtype, resty)

    def lower_setitem(self, target, index, value, signature):
        kind, indices = self.typeof(target.name), self._indices(target, index)
        whole = indices is not None and len(indices) == kind.ndim
        if not whole or isinstance(kind.dtype, types.Record):
            return super().lower_setitem(target, index, value, from_the_front(signature))
        context, builder = self.context, self.builder
        address, _ = address_at(builder, kind, self.loadvar(target.name), indices)
        item = context.cast(builder, self.loadvar(value.name), self.typeof(value.name), kind.dtype)
        with marked(builder, self._names_of_items(target)):
            store_item(context, builder, kind, item, address)

    def _names_of_items(self, array):
        """Alias names of an array's items: those of a field, if the array is known to be one."""
        field = self._field_of(array.name)
        return names_of_items(self.typeof(array.name).dtype) if field is None else field

    def _field_of(self, name):
        """Alias names of a variable's items, if all its values are arrays of one field."""
        if name not in self._fields:
            self._fields[name] = None  # in case a value depends on the variable itself
            fields = {self._field_in(value) for value in self._values.get(name, (None,))}
            self._fields[name] = fields.pop() if len(fields) == 1 else None
        return self._fields[name]

    def _field_in(self, value):
        """Alias names of the items of a value that is assigned to a variable."""
        if isinstance(value, Var):
            return self._field_of(value.name)
        if not isinstance(value, Expr):
            return None
        if value.op == "getattr":
            kind = self.typeof(value.value.name)
            if isinstance(kind, types.Record):
                array = isinstance(kind.typeof(value.attr), types.NestedArray)
                return names_of_field(kind, value.attr) if array else None
        if value.op in ("getitem", "static_getitem"):
            return self._field_of(value.value.name)
        return None

    def lower_function_body(self):
        for attribute in getattr(self.library, "attributes", ()):
            self.function.attributes.add(attribute)
        self._fields, self._values = {}, {}
        for block in self.blocks.values():
            for one in block.find_insts(Assign):
                self._values.setdefault(one.target.name, []).append(one.value)
        return super().lower_function_body()

    def lower_inst(self, inst):
        kind = self.typeof(inst.target.name) if isinstance(inst, SetAttr) else None
        number = isinstance(kind, types.Record)
        number = number and not isinstance(kind.typeof(inst.attr), types.NestedArray)
        with marked(self.builder, names_of_field(kind, inst.attr) if number else None):
            super().lower_inst(inst)

    def _indices(self, array, index):
        """Words that count along the first axes of a contiguous array; None for other accesses."""
        kind, of = self.typeof(array.name), self.typeof(index.name)
        if not (isinstance(kind, types.Array) and kind.layout == "C"):
            return None
        kinds = tuple(of) if isinstance(of, types.BaseTuple) else (of,)
        if self.context.enable_boundscheck or not 0 < len(kinds) <= kind.ndim:
            return None
        if not all(isinstance(one, types.Integer) for one in kinds):
            return None
        value = self.loadvar(index.name)
        if isinstance(of, types.BaseTuple):
            values = [self.builder.extract_value(value, k) for k in range(len(kinds))]
        else:
            values = [value]
        return [
            self.context.cast(self.builder, one, kind, types.uintp)
            for one, kind in zip(values, kinds, strict=True)
        ]

    def lower_expr(self, resty, expr):
        if expr.op == "getattr":
            kind = self.typeof(expr.value.name)
            if isinstance(kind, types.Record):
                return self._field(kind, expr, resty)
            if isinstance(kind, types.BaseNamedTuple):
                return self._part(kind.fields.index(expr.attr), kind, expr, resty)
        if expr.op == "static_getitem" and isinstance(self.typeof(expr.value.name), Placed):
            return self._part(expr.index, self.typeof(expr.value.name), expr, resty)
        return super().lower_expr(resty, expr)

    def _part(self, at, kind, expr, resty):
        """A part of a named tuple."""
        value = part_of(self.context, self.builder, kind, self.loadvar(expr.value.name), at)
        return self.context.cast(self.builder, value, kind.types[at], resty)

    def _field(self, kind, expr, resty):
        """A field of a record: its number, or the array that it holds."""
        context, builder, of = self.context, self.builder, kind.typeof(expr.attr)
        array = isinstance(of, types.NestedArray)
        item = context.get_data_type(of.dtype if array else of)
        record = self.loadvar(expr.value.name)
        address = get_record_member(builder, record, kind.offset(expr.attr), item)
        if array:
            whole = context.get_value_type(of)
            value = made(builder, whole, item_size(of.dtype), address, list(of.shape))
        else:
            with marked(builder, names_of_field(kind, expr.attr)):
                value = context.unpack_value(builder, of, address, None if kind.aligned else 1)
        return context.cast(builder, value, of, resty)

    def pre_block(self, block):
        super().pre_block(block)
        statements = [one for one in block.body if not isinstance(one, Del)]
        self._uses = Counter(var.name for one in statements for var in one.list_vars())

    def lower_binop(self, resty, expr, op):
        kind = resty == types.float64 or isinstance(resty, Lanes)
        if kind and op in SUMS | DIFFERENCES and has_fma(self.library.codegen):
            for product, other in ((expr.lhs, expr.rhs), (expr.rhs, expr.lhs)):
                factors = self._factors(product)
                if self._uses[product.name] == 2 and factors is not None:
                    return self._fuse(resty, expr, op, product, other, factors)
        return super().lower_binop(resty, expr, op)

    def _factors(self, product):
        """The factors of a variable that is a product, or else None."""
        value, kind = self._blk_local_varmap.get(product.name), self.typeof(product.name)
        return kind.factors_of(value) if isinstance(kind, Lanes) else product_of(value)

    def _fuse(self, resty, expr, op, product, other, factors):
        builder, first = self.builder, product is expr.lhs
        asked = self.fndesc.calltypes[expr].args

        def as_asked(value, var, k):
            return self.context.cast(builder, value, self.typeof(var.name), asked[k])

        a, b = (as_asked(one, product, 0 if first else 1) for one in factors)
        c = as_asked(self.loadvar(other.name), other, 1 if first else 0)
        if op in DIFFERENCES:
            if first:
                c = builder.fneg(c)
            else:
                a = builder.fneg(a)
        if isinstance(resty, Lanes):
            return resty.add_product(builder, a, b, c)
        return fma(builder, a, b, c)


def short_name(name, argtypes, *, abi_tags=(), uid=None):
    """The name of a kernel in machine code, which ends with a digest of its types.

    numba would spell the types out, thousands of letters for a model. Functions of numba's own keep
    their names, in which a number distinguishes those of the same name.
    """
    if not name.removeprefix(".NumbaEnv.").startswith("robosim."):
        return itanium_mangler.mangle(name, argtypes, abi_tags=abi_tags, uid=uid)
    return itanium_mangler.mangle(f"{name}.{digest_of_types(argtypes, *abi_tags)}", ())


def digest_of_types(kinds, *others):
    """A digest of types, the same in all processes and wherever the sources are."""
    spelled = [
        f"module {kind.pymod.__name__}" if isinstance(kind, types.Module) else str(kind)
        for kind in kinds
    ]
    return hashlib.sha256(repr((spelled, others)).encode()).hexdigest()[:16]


@functools.cache
def with_short_names(context):
    """numba's context of a target, in which functions have short names."""
    return context.subtarget(mangler=short_name)


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(NativeLowering):
    """numba's pass of lowering, with `KernelLower`."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self):
        return KernelLower

    def run_pass(self, state):
        whole = state.targetctx
        state.targetctx = with_short_names(whole)
        try:
            return super().run_pass(state)
        finally:
            state.targetctx = whole
