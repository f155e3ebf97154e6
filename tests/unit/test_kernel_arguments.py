"""What kernels are compiled for: no two arguments lead to memory that one of them writes.

Read from the sources: what each function reads and writes through each of its arguments, by itself
and in what it calls, and what its callers hand over. A field or an entry is a step of a path; an
index that is no constant may be any, but for two that are spelled differently in one call, as
`tree[b]` and `tree[joint.parent]`: the two ends of a joint, a contact or an edge are not the same.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robosim
from robosim.batch import BatchSimulation
from robosim.batch.group import Group
from robosim.models.builders import sphere_chain
from robosim.runtime.lanes import suits_lanes
from robosim.runtime.limbs import Limbs

ROOT = Path(robosim.__file__).parent
COMPILED = {"kernel", "aside", "stage", "entry", "bridge", "part"}
# Operations that numba is given: the arguments that each of them reads from and writes to.
READ = {("rows", "read_row"): 0, ("addresses", "copy_record"): 0}
WRITTEN = {("rows", "write_row"): 1, ("addresses", "copy_record"): 1}
ANY = ("any",)
DEEP = 7  # steps of a path; beyond them a path stands for all that it leads to

Path_ = tuple[tuple[Any, ...], ...]
Place = tuple[str, Path_]  # the name it is reached by, and the steps from there


def is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def step_of(index: ast.expr) -> tuple[Any, ...]:
    """A step of a path: (begin, end) of a constant index or slice, ("text", of another)."""
    if is_number(index):
        return index.value, index.value + 1
    if isinstance(index, ast.Slice):
        bounds = [index.lower or ast.Constant(0), index.upper or ast.Constant(1 << 30)]
        return tuple(bound.value for bound in bounds) if all(map(is_number, bounds)) else ANY
    return "text", ast.unparse(index)


def inside(path: Path_, more: Path_) -> Path_:
    """Where an index leads, into a slice if that is what it begins in."""
    if path and isinstance(path[-1][0], int) and path[-1][1] - path[-1][0] > 1:
        (begin, end), first = path[-1], more[0]
        if isinstance(first[0], int):
            first = begin + first[0], min(end, begin + first[1])
        else:
            first = path[-1]
        return (*path[:-1], first, *more[1:])
    return path + more


def meets(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether two steps from the same place may lead to the same."""
    if ANY in (a, b):
        return True
    if isinstance(a[0], int) and isinstance(b[0], int):
        return a[0] < b[1] and b[0] < a[1]
    return a == b or len(a) != len(b) or isinstance(a[0], int) != isinstance(b[0], int)


def anywhere(path: Path_) -> Path_:
    """A path as its function's callers see it, who know nothing of its indices."""
    return tuple(ANY if step[0] == "text" else step for step in path)


@dataclass
class Function:
    """What a function reads and writes, and whom it calls with what."""

    node: ast.FunctionDef
    names: dict[str, tuple[str, str]]  # those of other functions, as (module, name)
    open: bool  # whether any name may lead to memory, as in Python, or arguments only
    places: dict[str, list[Place]] = field(init=False)
    reads: set[Place] = field(default_factory=set)
    writes: set[Place] = field(default_factory=set)
    calls: list[tuple[tuple[str, str], list[list[Place]], ast.Call]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.arguments = [arg.arg for arg in self.node.args.args]
        self.places = {name: [(name, ())] for name in self.arguments}
        for statement in self.node.body:
            self.follow(statement)

    def lead(self, node: ast.AST | None) -> list[Place]:
        """Where an expression may lead to."""
        if isinstance(node, ast.Name):
            own = [(node.id, ())] if self.open and node.id not in self.places else []
            return self.places.get(node.id, own)
        if isinstance(node, ast.Attribute):
            return [(name, (*path, (node.attr,))) for name, path in self.lead(node.value)]
        if isinstance(node, ast.Subscript):
            indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            more = tuple(step_of(index) for index in indices)
            return [(name, inside(path, more)) for name, path in self.lead(node.value)]
        if isinstance(node, ast.IfExp):
            return self.lead(node.body) + self.lead(node.orelse)
        return []

    def read(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            self.call(node)
        elif isinstance(node, ast.Attribute | ast.Subscript):
            self.reads.update(self.lead(node))
            if isinstance(node, ast.Subscript):
                self.read(node.slice)
            self.read(node.value)
        else:
            for child in ast.iter_child_nodes(node):
                self.read(child)

    def call(self, node: ast.Call) -> None:
        called = None
        if isinstance(node.func, ast.Name):
            called = self.names.get(node.func.id)
        elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            module = self.names.get(node.func.value.id)
            called = (module[1], node.func.attr) if module else None
        if called in READ:
            self.reads.update(self.lead(node.args[READ[called]]))
        if called in WRITTEN:
            self.writes.update(self.lead(node.args[WRITTEN[called]]))
        if called is not None and called not in READ | WRITTEN:
            self.calls.append((called, [self.lead(arg) for arg in node.args], node))
        for arg in node.args:
            if called is None or not self.lead(arg):
                self.read(arg)

    def assign(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Tuple):
            alike = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
            parts = value.elts if alike else [None] * len(target.elts)
            for one, part in zip(target.elts, parts, strict=True):
                self.assign(one, part)
        elif isinstance(target, ast.Name):
            known = [] if target.id in self.arguments else self.places.get(target.id, [])
            self.places[target.id] = list(dict.fromkeys(self.lead(value) + known))
        else:
            self.writes.update(self.lead(target))

    def follow(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            self.read(node.value)
            for target in node.targets:
                self.assign(target, node.value)
        elif isinstance(node, ast.AugAssign):
            self.read(node.value)
            self.read(node.target)
            self.assign(node.target, None)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.stmt):
                    self.follow(child)
                elif isinstance(child, ast.expr):
                    self.read(child)


def functions_of(sources: list[Path], compiled: bool) -> dict[tuple[str, str], Function]:
    """All functions of some modules that are compiled, or all that are not."""
    found = {}
    for source in sources:
        tree = ast.parse(source.read_text())
        names = {
            alias.asname or alias.name: (str(node.module).rsplit(".", 1)[-1], alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        own = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        names |= {node.name: (source.stem, node.name) for node in own}
        for node in own:
            marks = {getattr(mark, "id", "") for mark in node.decorator_list}
            if bool(marks & COMPILED) == compiled:
                found[source.stem, node.name] = Function(node, names, not compiled)
    return found


def add_calls(functions: dict[tuple[str, str], Function]) -> None:
    """Add to what functions read and write what those that they call do."""
    before = -1
    while before != (before := sum(len(f.reads) + len(f.writes) for f in functions.values())):
        for function in functions.values():
            for called, handed, _ in function.calls:
                if called not in functions:
                    continue
                for kind in ("reads", "writes"):
                    own = getattr(function, kind)
                    for name, path in tuple(getattr(functions[called], kind)):
                        index = functions[called].arguments.index(name)
                        for start, way in handed[index] if index < len(handed) else ():
                            own.add((start, (*way, *anywhere(path))[:DEEP]))


def clashes(function: Function, functions: dict[tuple[str, str], Function]) -> Iterator[str]:
    """Calls whose callee writes through one argument what another leads to."""
    for called, handed, node in function.calls:
        callee = functions.get(called)
        if callee is None:
            continue
        pairs = itertools.permutations(zip(callee.arguments, handed, strict=False), 2)
        for (one, own), (other, others) in pairs:
            together = [(p, q) for p, q in itertools.product(own, others) if p[0] == q[0]]
            if not together:
                continue
            both = callee.reads | callee.writes
            written = {anywhere(path) for to, path in callee.writes if to == one}
            touched = {anywhere(path) for to, path in both if to == other}
            for (_, way), (_, another) in together:
                for a, b in itertools.product(written, touched):
                    if all(meets(*s) for s in zip((*way, *a), (*another, *b), strict=False)):
                        yield f"{ast.unparse(node)}: {one} and {other}"


@pytest.fixture(scope="module")
def compiled() -> dict[tuple[str, str], Function]:
    compiler = ROOT / "kernels" / "compiler"
    kernels = [one for one in (ROOT / "kernels").rglob("*.py") if compiler not in one.parents]
    experiments = [ROOT / "experiments" / f"{name}.py" for name in ("automatic", "graphs")]
    functions = functions_of([*sorted(kernels), *experiments], True)
    assert len(functions) > 300
    add_calls(functions)
    return functions


# Normals 1 to 3 of a triangle's sides, beside that of its plane, which is normal 0.
KNOWN = {"cross(e, N, side): out and b", "assign(N, side): out and source"}


def test_no_kernel_writes_what_another_argument_leads_to(compiled):
    for key, function in compiled.items():
        assert set(clashes(function, compiled)) <= KNOWN, key


def test_nor_does_what_is_called_from_python(compiled):
    sources = [path for path in ROOT.rglob("*.py") if ROOT / "kernels" not in path.parents]
    callers = functions_of(sources, False)
    entered = 0
    for key, function in callers.items():
        entered += sum(called in compiled for called, _, _ in function.calls)
        assert not set(clashes(function, compiled)), key
    assert entered > 10


def test_what_writes_by_address_is_called_by_no_kernel(compiled):
    """Nor what calls it, in turn: a kernel takes it that its arguments alone lead to what changes.

    Controllers are handed what they write.
    """
    names = "call_steps", "call_look"
    by_address = {("parts", "call_solver"), *(("addresses", name) for name in names)}
    callers = set(by_address)
    before = 0
    while before != (before := len(callers)):
        callers |= {key for key, f in compiled.items() if any(c[0] in callers for c in f.calls)}
    assert {("interval", "advance"), ("run", "run_steps"), ("group", "find_step")} <= callers
    assert ("group", "run_group") in callers
    for key in callers - by_address:
        marks = {getattr(mark, "id", "") for mark in compiled[key].node.decorator_list}
        assert marks & {"stage", "bridge"}, key


def test_no_index_counts_from_the_end(compiled):
    """Kernels are compiled as if none did."""
    for key, function in compiled.items():
        for node in ast.walk(function.node):
            if isinstance(node, ast.Subscript):
                inner = [part for part in ast.walk(node.slice) if isinstance(part, ast.UnaryOp)]
                assert not inner, (key, ast.unparse(node))


def test_what_would_clash_is_seen(tmp_path):
    (tmp_path / "bad.py").write_text(
        "@kernel\ndef shift(a, b, out):\n    out[0] = a[0]\n    out[1] = b.x[0]\n"
        "@kernel\ndef outer(w, k):\n    shift(w.x[:3], w, w.x[3:])\n"
        "@kernel\ndef whole(w, poses, k):\n    p = poses[k].x\n    shift(p, w, p)\n"
        "@kernel\ndef fine(w, poses, k, m):\n    shift(poses[k].x, w, poses[m].x)\n"
        "from robosim.kernels.compiler.rows import read_row, write_row\n"
        "@kernel\ndef copy(a, b):\n    write_row(read_row(a[0]), b[0])\n"
        "@kernel\ndef rows(D):\n    copy(D, D)\n    copy(D[:2], D[2:4])\n"
        "from robosim.kernels.compiler.addresses import copy_record\n"
        "@kernel\ndef save(a, b):\n    copy_record(a[0], b[0])\n"
        "@kernel\ndef records(D):\n    save(D, D)\n"
    )
    functions = functions_of([tmp_path / "bad.py"], True)
    add_calls(functions)
    seen = {name: set(clashes(function, functions)) for (_, name), function in functions.items()}
    assert seen["outer"] == {"shift(w.x[:3], w, w.x[3:]): out and b"}
    assert seen["whole"] == {"shift(p, w, p): out and a"}
    assert not seen["fine"]
    assert seen["rows"] == {"copy(D, D): b and a"}
    assert seen["records"] == {"save(D, D): b and a"}


def arrays_in(values: Any) -> Iterator[np.ndarray]:
    for value in values:
        if isinstance(value, tuple):
            yield from arrays_in(value)
        elif isinstance(value, np.ndarray) and value.size:
            yield value


@pytest.mark.parametrize("robot", ["a1", "minitaur", "spheres"])
def test_no_two_arrays_of_a_simulation_share_memory(robot):
    """But for the model's, which nobody writes."""
    made = sphere_chain(3) if robot == "spheres" else robosim.load(robot)
    sim = robosim.Simulation(made, 1e-3, lanes=True)
    sim.run(0.002)
    batch = BatchSimulation(made, 8, 1e-3)
    parts = [
        sim.parts.state,
        sim.parts.memory,
        sim.parts.loads,
        sim.parts.work,
        sim.parts.options,
    ]
    held = [(*parts, sim.engine.single.values)]
    one = batch._sims[0]
    held.append(
        (
            one.parts.state,
            one.parts.memory,
            one.parts.loads,
            one.parts.work,
            one.parts.options,
        )
    )
    if suits_lanes([one.parts]):
        group = Group(batch.robot, [one.parts for one in batch._sims]).handle.values
        held.append((group.state, group.memory, group.loads, group.work, group.info))
    if sim.engine.lanes is not None:
        legs = Limbs(sim.parts, sim.engine.lanes).handle.values
        held.append((legs.model, legs.state, legs.memory, legs.loads, legs.work, legs.info))
    for values in held:
        arrays = list(arrays_in(values))
        assert len(arrays) > 20
        for a, b in itertools.combinations(arrays, 2):
            assert not np.may_share_memory(a, b)
