"""What LLVM is told about memory: fields of records lie apart, and accesses are told from which."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest
from numba import typeof, types

from robosim.compiled import records
from robosim.kernels.compiler.addresses import TYPES, kind_of, load
from robosim.kernels.compiler.aliasing import names_of_field, names_of_items
from robosim.kernels.compiler.dense import Placed, dense
from robosim.kernels.compiler.jit import entry, kernel
from robosim.runtime.handles import Handle, Parts, make_run_buffers

RECORDS = {
    f"{module.name}.{name}": value
    for module in pkgutil.iter_modules(records.__path__)
    for name, value in vars(importlib.import_module(f"{records.__name__}.{module.name}")).items()
    if isinstance(value, np.dtype) and value.names
}


@pytest.mark.parametrize("name", RECORDS)
def test_fields_of_a_record_lie_apart(name):
    dtype = RECORDS[name]
    assert dtype.fields is not None
    end = 0
    for _, (base, offset, *_) in sorted(dtype.fields.items(), key=lambda item: item[1][1]):
        assert offset >= end
        end = offset + base.itemsize


def test_items_of_an_array_may_be_of_any_field():
    """So a field is told by what its items are, and then by its name."""
    record = types.Record.make_c_struct([("x", types.float64), ("n", types.int64)])
    other = types.Record.make_c_struct([("x", types.float64), ("y", types.float64)])
    assert names_of_field(record, "x")[:1] == names_of_items(types.float64)
    assert names_of_field(record, "n")[:1] == names_of_items(types.int64)
    of_x = {names_of_field(kind, "x") for kind in (record, other)}
    assert len(of_x) == 2
    assert names_of_items(record) is None


ITEM = np.dtype([("x", "f8"), ("y", "f8", (3,)), ("n", "i8"), ("z", "f8", (3,))])


@kernel
def move(values, n):
    for k in range(n):
        values[k] += 1.0


@kernel
def one_of(record, first):
    values = record.y if first else record.z
    move(values, 2)
    record.y[1] *= 3.0
    return values[1] + record.z[1]


@entry
def run(items, first):
    record = items[0]
    before = record.y[0] + record.z[0]
    left = one_of(record, first)
    return before + left + record.y[0] + record.z[0] + record.x + record.n


@pytest.mark.parametrize("first", [True, False])
def test_what_may_be_one_field_or_another_is_read_anew(first):
    def expected(record):
        before = record["y"][0] + record["z"][0]
        values = record["y"] if first else record["z"]
        values[:2] += 1.0
        record["y"][1] *= 3.0
        left = values[1] + record["z"][1]
        last = record["y"][0] + record["z"][0] + record["x"] + record["n"]
        return before + left + last

    items = np.zeros(1, dtype=ITEM)
    items["x"], items["y"], items["n"] = 0.5, (1.0, 2.0, 3.0), 7
    items["z"] = 4.0, 5.0, 6.0
    wanted = expected(items.copy()[0])
    assert run(items, first) == wanted


def test_named_tuples_are_handed_over_by_their_address():
    values = make_run_buffers(3, (2, 2, 2), np.zeros(2, dtype=ITEM), np.ones((1, 2)), start=0.25)
    handle = Handle(values)
    kind = dense(TYPES[handle.kind])
    assert isinstance(kind, Placed)
    read = _reader(handle.kind)
    assert read(handle.address) == (3 * 2 + 2) + 0.25 + 1.0


def _reader(kind):
    @kernel
    def total(run, part):
        return run.infos.shape[0] * run.q.shape[1] + run.gains.shape[0] + part.start[0]

    @entry
    def read(address):
        run = load(address, kind)
        return total(run, run) + run.torques[0, 1]

    return read


def test_nested_tuples_lie_where_they_are_read():
    """Whatever comes before them: numbers of one byte, arrays of several axes."""
    nested = Parts(True, 2.5, np.ones((2, 3)), (7, np.arange(3.0)), np.zeros(0), Parts(*range(6)))
    kind = kind_of(typeof(nested))
    handle = Handle(nested)
    assert handle.kind == kind

    @entry
    def read(address):
        on = load(address, kind)
        inner = on.options
        whole = on.memory.shape[1] + inner.options + inner.model
        return on.state + whole if on.model else 0.0

    assert read(handle.address) == 2.5 + 3 + 5 + 0
