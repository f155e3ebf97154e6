"""Alias analysis by types: LLVM learns which accesses to memory may concern the same number.

Different fields never share memory, whether they are of the same type of record or of two types.
Nor do floats and whole numbers. An item of an array that is an argument may belong to any field,
and so may the data of an access that is not marked.
"""

import functools
import hashlib
from contextlib import contextmanager

from llvmlite import ir
from numba.core import types

PLACE = "place"  # alias name of the parts of named tuples


@functools.cache
def record_name(record):
    """A short name that identifies a type of records."""
    return hashlib.sha256(str(record).encode()).hexdigest()[:12]


def names_of_items(kind):
    """Alias names of items of a type; None for records, whose fields are accessed instead."""
    return None if isinstance(kind, types.Record) else (str(kind),)


def names_of_field(record, name):
    """Alias names of a field of a record, or of the items of an array in this field."""
    kind = record.typeof(name)
    item = names_of_items(kind.dtype if isinstance(kind, types.NestedArray) else kind)
    return None if item is None else (*item, f"{record_name(record)}.{name}")


@contextmanager
def marked(builder, names):
    """Mark the accesses that are generated meanwhile in the builder's block."""
    first = len(builder.block.instructions)
    yield
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
