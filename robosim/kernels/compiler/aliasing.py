"""What LLVM is told about accesses to memory: which of them may concern the same number.

A field of a record is neither another field, nor a field of another record, wherever the records
lie; a float is no whole number. An item of an array that a kernel gets as such may be of any field,
as may what is read or written without being marked.
"""

import functools
import hashlib

from llvmlite import ir
from numba.core import types

PLACE = "place"  # where a part of a named tuple is told to lie


@functools.cache
def record_name(record):
    """What tells a record's type from others."""
    return hashlib.sha256(str(record).encode()).hexdigest()[:12]


def names_of_items(kind):
    """What items of a type are; of records nothing, as their fields are what is accessed."""
    return None if isinstance(kind, types.Record) else (str(kind),)


def names_of_field(record, name):
    """What a field of a record is, or the items of the array that it holds."""
    kind = record.typeof(name)
    item = names_of_items(kind.dtype if isinstance(kind, types.NestedArray) else kind)
    return None if item is None else (*item, f"{record_name(record)}.{name}")


def marked(builder, first, names):
    """Mark the accesses that have been generated in a block, from the instruction `first` on."""
    if names is None:
        return
    module = builder.module
    node = module.add_metadata([ir.MetaDataString(module, "memory")])
    for name in names:
        named = ir.MetaDataString(module, name)
        node = module.add_metadata([named, node, ir.Constant(ir.IntType(64), 0)])
    access = module.add_metadata([node, node, ir.Constant(ir.IntType(64), 0)])
    for one in builder.block.instructions[first:]:
        if one.opname in ("load", "store"):
            one.set_metadata("tbaa", access)
