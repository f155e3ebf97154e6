"""How kernels are compiled with public names of numba only: slower, but right.

The decorators are those of `robosim.kernels.compiler.jit`, which tells them apart. Here a kernel is
an overload of itself, which numba compiles for the types that it is called with. numba leaves out
what follows `if x is not None` for an argument that is None, but not what follows `if x is None`
for one that is something, which need not even have a type. So both comparisons are written out as
what they are known to be, before numba sees the function.
"""

import ast
import inspect
import re
import textwrap

from numba import carray, cfunc, config, njit, types
from numba.extending import overload

from robosim.kernels.compiler import cache

OPTIONS = {"error_model": "numpy"}
ASKS = re.compile(r"\b(\w+) is (?:not )?None\b")


class Known(ast.NodeTransformer):
    """Writes True or False for the comparisons of some names with None.

    Parameters
    ----------
    nothing : dict
        From a name to whether it is None.
    """

    def __init__(self, nothing):
        self.nothing = nothing

    def visit_Compare(self, node):
        name = node.left.id if isinstance(node.left, ast.Name) else None
        if name not in self.nothing or not isinstance(node.ops[0], ast.Is | ast.IsNot):
            return self.generic_visit(node)
        return ast.Constant(self.nothing[name] == isinstance(node.ops[0], ast.Is))


def is_nothing(kind):
    """Whether an argument of a type is None; None if its type does not tell."""
    if isinstance(kind, types.Optional):
        return None
    return isinstance(kind, types.NoneType) or getattr(kind, "value", 0) is None


def known(function, arguments):
    """The function for arguments of the types (name -> type), without asking which are None."""
    source = textwrap.dedent(inspect.getsource(function))
    asked = [name for name in ASKS.findall(source) if name in arguments]
    nothing = {name: is_nothing(arguments[name]) for name in asked}
    nothing = {name: answer for name, answer in nothing.items() if answer is not None}
    if not nothing:
        return function
    tree = ast.fix_missing_locations(Known(nothing).visit(ast.parse(source)))
    tree.body[0].decorator_list = []
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    scope = {}
    exec(compile(tree, function.__code__.co_filename, "exec"), function.__globals__, scope)
    return scope[function.__name__]


def kernel(function):
    """Let numba compile a function where other kernels call it."""
    signature = inspect.signature(function)

    @overload(function, jit_options=OPTIONS, strict=False)
    def choose(*args, **kws):
        return known(function, signature.bind(*args, **kws).arguments)

    return function


def entry(function):
    """The function, compiled where Python calls it, and cached beside those of its sources."""
    before = config.CACHE_DIR
    config.CACHE_DIR = f"{cache.FOLDER}-plain"
    try:
        return njit(cache=True, nogil=True, **OPTIONS)(function)
    finally:
        config.CACHE_DIR = before


part = entry
bridge = stage = kernel


def find_compiled(part, signature):
    """Nothing: by public names nobody learns whether it is in the cache."""


def compile_part(part, signature):
    """What `call_solver` calls: status(address, dt, info), with the address of a record info."""
    record = signature[-1]

    def call(address, dt, info):
        return part(address, dt, carray(info, 1)[0])

    pointer = types.CPointer(record)
    return cfunc(types.int64(*signature[:-1], pointer), **OPTIONS)(call)


def address_of(found):
    """Where it is, in this process."""
    return found.address
