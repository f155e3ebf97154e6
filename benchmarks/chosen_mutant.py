"""Which mutant is chosen: a module of the copy of robosim that has all mutants at once.

The number is in memory, at an address that is the same in all processes. So compiled kernels, which
read it, can be kept in files. A mutant that does not compile is left out of the kernel at hand, and
noted in a file.
"""

import ctypes
import mmap
import os
import re
from pathlib import Path

from llvmlite import ir
from numba.core import errors, types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.consts import ConstantInference
from numba.core.imputils import lower_builtin
from numba.core.ir import Assign, Const, Expr, Global
from numba.core.ir_utils import find_const, get_definition, guard
from numba.core.typing.context import BaseContext
from numba.core.typing.templates import (
    ConcreteTemplate,
    _IntrinsicTemplate,
    infer_global,
    signature,
)
from numba.core.untyped_passes import DeadBranchPrune

from benchmarks.schemata import choices
from robosim.kernels.compiler import jit

VARIABLE = "ROBOSIM_MUTANT"  # of the environment, for processes that tests start
KERNELS = Path(__file__).parents[1]
LEFT_OUT = KERNELS.parents[1] / "left_out.txt"  # numbers, "refused" or "alone", and errors
ADDRESS = 0x200000000000  # far from what systems give without being asked
SIZE = 2**16
FIXED = 0x100000  # MAP_FIXED_NOREPLACE

allocate = ctypes.CDLL(None, use_errno=True).mmap
allocate.restype = ctypes.c_void_p
allocate.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | FIXED
if allocate(ADDRESS, SIZE, mmap.PROT_READ | mmap.PROT_WRITE, kind, -1, 0) != ADDRESS:
    raise OSError(ctypes.get_errno(), "no memory at the address of the mutant's number")
NUMBER = ctypes.c_int64.from_address(ADDRESS)
REACHED = (ctypes.c_uint8 * (SIZE - 8)).from_address(ADDRESS + 8)  # 1 for each that was asked for
NUMBER.value = int(os.environ.get(VARIABLE, "-1"))


def is_mutant(number):
    """Whether this mutant is chosen; notes that it would make a difference."""
    REACHED[number] = 1
    return NUMBER.value == number


@infer_global(is_mutant)
class Template(ConcreteTemplate):
    key = is_mutant
    cases = (signature(types.boolean, types.int64),)


@lower_builtin(is_mutant, types.int64)
def compare(context, builder, kinds, args):
    word, byte = ir.IntType(64), ir.IntType(8)
    place = builder.add(args[0], word(ADDRESS + 8))
    builder.store(byte(1), builder.inttoptr(place, byte.as_pointer()))
    number = builder.load(builder.inttoptr(word(ADDRESS), word.as_pointer()))
    return builder.icmp_signed("==", number, args[0])


def left_out():
    """Numbers of mutants that are left out so far."""
    lines = LEFT_OUT.read_text().splitlines() if LEFT_OUT.exists() else ()
    return {int(line.split()[0]) for line in lines}


LEFT = left_out()
ALL = [
    (path.relative_to(KERNELS).as_posix(), one)
    for path in KERNELS.rglob("*.py")
    if b" is_mutant(" in (source := path.read_bytes()) and path != Path(__file__)
    for one in choices(source)
]


@register_pass(mutates_CFG=False, analysis_only=False)
class LeaveOut(FunctionPass):
    """A mutant that is left out is never chosen, which the next pass finds out."""

    _name = "leave_out"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        code, found = state.func_ir, False
        for block in code.blocks.values():
            for one in block.find_insts(Assign):
                if number_in(one.value, code) in LEFT:
                    values = code._definitions[one.target.name]
                    never = Const(False, loc=one.loc)
                    values[values.index(one.value)] = one.value = never
                    found = True
        if found:
            code._consts = ConstantInference(code)
        return found


def number_in(value, code):
    """The number of a call of `is_mutant`; None for other values."""
    if isinstance(value, Expr) and value.op == "call":
        called = guard(get_definition, code, value.func)
        if isinstance(called, Global) and called.value is is_mutant:
            return find_const(code, value.args[0])
    return None


def leave_out(error, function, outermost):
    """Find the mutants that keep a function from being compiled; whether there are any.

    Those whose own lines the error names are refused. Others may only differ in types from the
    statement in their place, which numba tells of another line: they have to be tested alone. They
    call a stage that the error is about, or are in the innermost kernel with mutants.
    """
    told = re.sub("\x1b.*?m", "", str(error))
    places = re.findall(r"kernels/([\w/]+\.py)\W+(?:line )?(\d+)", told)
    names = re.findall(r"<function (\w+) at|^def (\w+)\(", told, re.M)
    names = [one or other for one, other in names]
    left = [one for one in ALL if one[1].number not in LEFT]
    kind = "refused"
    found = [
        one for file, one in left
        if any(file == path and one.begin <= int(line) <= one.end for path, line in places)
    ]  # fmt: skip
    if not found:
        kind, own = "alone", (one for _, one in left if one.function == function.__name__)
        found = [one for one in own if any(f"{name}(" in one.text for name in names)]
    if not found and outermost:
        inside = ([one for _, one in left if one.function == name] for name in names)
        found = next(filter(None, inside), [])
    with LEFT_OUT.open("a") as file:
        said = " ".join(told.split())[-300:]
        file.writelines(f"{one.number} {kind} {said}\n" for one in found)
    LEFT.update(one.number for one in found)
    return bool(found)


def told_as(kind, method):
    """A method with an error of numba's, which tells the place, for errors of some kind.

    Without, a missing field of a record is a KeyError, and a missing kernel an AttributeError.
    """

    def find(*args):
        try:
            return method(*args)
        except kind as error:
            raise errors.TypingError(f"{args[-1]}: {error}") from error

    return find


def patiently(compile_extra):
    """The method of a compiler, which leaves mutants out until a kernel compiles."""
    depth = 0

    def compile_without(self, func):
        nonlocal depth
        depth += 1
        try:
            while True:
                try:
                    return compile_extra(self, func)
                except errors.NumbaError as error:
                    if not leave_out(error, func, depth == 1):
                        raise
                self.state.func_ir = self.state.status.fail_reason = None
        finally:
            depth -= 1

    return compile_without


jit.EntryCompiler.compile_extra = patiently(jit.EntryCompiler.compile_extra)
types.Record.typeof = told_as(KeyError, types.Record.typeof)
BaseContext.resolve_module_constants = told_as(AttributeError, BaseContext.resolve_module_constants)
_IntrinsicTemplate.generic = told_as(AttributeError, _IntrinsicTemplate.generic)
PASSES = ((LeaveOut, one) if one is DeadBranchPrune else (one,) for one in jit.PASSES)
jit.PASSES = tuple(one for several in PASSES for one in several)
