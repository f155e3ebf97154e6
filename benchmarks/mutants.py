"""Small errors in the kernels, drawn at random, and whether the tests detect them.

    python -m benchmarks.mutants --minutes 60 --out mutants.jsonl
    python -m benchmarks.mutants --only contact/law --count 20
    python -m benchmarks.mutants --out mutants.jsonl --table

A mutant is the program with one small change of one line below robosim/kernels: a swapped sign, +
in place of -, a missing factor, another comparison, swapped arguments, a missing term, an index
that is off by one, another constant. The order in which mutants are drawn depends on the seed
alone, and all kinds of changes are equally likely.

Kernels compile for minutes. So a copy of the repository has all mutants at once, and which one
acts is a number that kernels read (schemata.py, chosen_mutant.py). In one process all tests run
without a mutant. This compiles the kernels, and tells which mutants each test reaches. Then a
process is forked for each mutant (forked_tests.py). There the tests run that reach it: those of its
part (TESTS) first, then all others, until one fails. Mutants that types or constants depend on are
compiled by themselves, in another copy, and tested with the tests of their part.

--out gets a line of JSON for each mutant. With the file of an earlier run, the campaign goes on
where that ended. With --folder, the program with all mutants is kept, and its compiled kernels.
`outcome` is one of

    detected    a test failed, or the process crashed: `test` is its name
    refused     the change does not compile: not counted as a mutant
    time        a test took ten times as long as without a mutant, and may hang
    survived    all tests passed: equivalent, or a test is missing

To look at survivors: --again runs those of --out anew, with --tests in place of TESTS. --verify
runs all tests that detected something on the program without a change, where they have to pass.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from benchmarks import schemata

ROOT = Path(__file__).resolve().parents[1]
KERNELS = Path("robosim/kernels")
PARTS = "robosim", "loaders", "models", "viz", "tests", "benchmarks", "docs", "examples"
LEFT_OUT = "compiler/"
"""Kernels are compiled by this folder, which has tests of another sort."""

COMPILING = 180.0  # [s] that kernels of a mutant by itself may take

ADDED = {ast.Add: "-", ast.Sub: "+"}
SCALED = {ast.Mult: "/", ast.Div: "*"}
COMPARED: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">"), ast.LtE: ("<", ">"), ast.Gt: (">=", "<"), ast.GtE: (">", "<"),
    ast.Eq: ("!=",), ast.NotEq: ("==",),
}  # fmt: skip

JACOBIANS = "tests/jacobians/test_"
CLOSED = "tests/closed_form/test_"
KEPT = "tests/invariants/test_"
UNIT = "tests/unit/test_"
MINIMAL = "tests/minimal/test_"
DERIVATIVES = "tests/jacobians/test_linearize"  # whose kernels compile for minutes
EVERYTHING = (
    f"{JACOBIANS}components.py::test_newton_matrix_of_everything",
    f"{JACOBIANS}components.py::test_everything_against_a_dense_solve",
)
TREES = (
    f"{JACOBIANS}articulated.py::test_newton_direction[0-revolute]",
    f"{JACOBIANS}articulated.py::test_newton_direction[1-floating]",
    f"{JACOBIANS}articulated.py::test_trajectories_agree[floating]",
)
STEPS = (
    f"{CLOSED}forces_and_joints.py::test_constant_torque_on_a_hinge",
    f"{CLOSED}forces_and_joints.py::test_a_wrench_pushes_where_it_is_applied",
    f"{CLOSED}friction.py::test_a_ball_slides_then_rolls",
    f"{CLOSED}restitution.py::test_a_leg_lands_as_its_mass_matrix_tells[articulated]",
    f"{KEPT}a1_standing.py",
)
OVALS = f"{CLOSED}ellipsoids.py", f"{KEPT}ellipsoids_on_edges.py"
# The tests of each part of the kernels, those that compile in seconds first. Of all prefixes of a
# file's name, the tests of longer ones come before those of shorter ones.
TESTS: dict[str, tuple[str, ...]] = {
    "": STEPS,
    "contact/": (
        f"{JACOBIANS}contact_jacobians.py", f"{JACOBIANS}touching_bodies.py",
        f"{JACOBIANS}cones.py", f"{CLOSED}friction.py", f"{CLOSED}collisions.py",
    ),
    "contact/active_set": (f"{CLOSED}rolling.py", f"{CLOSED}velocity_limits.py"),
    "contact/compliance": (f"{JACOBIANS}deflections.py", f"{CLOSED}compliant_contacts.py"),
    "contact/answers": (f"{JACOBIANS}contact_jacobians.py", f"{JACOBIANS}newton_matrix.py"),
    "contact/cone": (f"{JACOBIANS}cones.py", f"{JACOBIANS}newton_matrix.py"),
    "contact/law": (
        f"{JACOBIANS}cones.py", f"{JACOBIANS}deflections.py", f"{JACOBIANS}newton_matrix.py",
    ),
    "contact/limits": (
        f"{JACOBIANS}free_rotations.py", f"{CLOSED}velocity_limits.py",
        f"{CLOSED}limits_that_bounce.py", f"{CLOSED}forces_of_limits.py",
    ),
    "contact/ovals": OVALS,
    "contact/pads": (f"{JACOBIANS}pads.py", f"{CLOSED}bearings_in_motion.py"),
    "contact/pinned": (f"{CLOSED}no_room.py",),
    "contact/reach": (f"{KEPT}islands.py", f"{KEPT}thrown_over_edges.py"),
    "contact/rims": (f"{JACOBIANS}touching_bodies.py", f"{CLOSED}rolling.py"),
    "contact/shared": (f"{CLOSED}compliant_contacts.py",),
    "contact/slots": (
        f"{CLOSED}rolling.py", f"{CLOSED}velocity_limits.py", f"{KEPT}thrown_over_edges.py",
    ),
    "contact/surfaces": (f"{CLOSED}moving_surfaces.py",),
    "contact/turning": (f"{JACOBIANS}turning_jacobians.py", f"{CLOSED}friction_against_turning.py"),
    "equations/": (
        f"{JACOBIANS}joint_jacobians.py", f"{JACOBIANS}body_momentum.py",
        f"{JACOBIANS}newton_matrix.py", *EVERYTHING,
    ),
    "equations/actuator_law": (f"{JACOBIANS}actuator_laws.py", f"{CLOSED}motor_curves.py"),
    "equations/algebra": (
        f"{JACOBIANS}block_ldu.py", f"{UNIT}charts.py", f"{UNIT}recursive.py",
    ),
    "equations/arcs": (f"{KEPT}arcs.py",),
    "equations/chart": (f"{UNIT}charts.py", f"{KEPT}motion_on_charts.py"),
    "equations/coordinates": (f"{KEPT}coordinates.py", f"{UNIT}kinematics.py"),
    "equations/drag": (
        f"{JACOBIANS}actuator_laws.py",
        f"{JACOBIANS}articulated.py::test_newton_direction_with_drag",
    ),
    "equations/joint_forces": (f"{JACOBIANS}components.py", f"{CLOSED}springs_and_loops.py"),
    "equations/soft": (f"{CLOSED}soft_solids.py",),
    "equations/tendon": (f"{UNIT}tendon_paths.py", *EVERYTHING, f"{CLOSED}tendons.py"),
    "minimal/": (
        f"{MINIMAL}equations.py", f"{MINIMAL}minimal_conservation.py", f"{MINIMAL}use.py",
    ),
    "minimal/constraints": (f"{MINIMAL}multipliers.py",),
    "minimal/step": (f"{MINIMAL}multipliers.py",),
    "minimal/galerkin": (f"{MINIMAL}equations.py", f"{MINIMAL}orders.py"),
    "minimal/linearize": (f"{MINIMAL}minimal_derivatives.py",),
    "minimal/twists": (f"{MINIMAL}minimal_derivatives.py",),
    "narrow_phase/": (
        f"{UNIT}shapes.py", f"{JACOBIANS}touching_bodies.py", f"{CLOSED}collisions.py",
        f"{KEPT}cylinders_on_edges.py", f"{UNIT}gaps_from_above.py",
    ),
    "narrow_phase/ellipsoid": OVALS,
    "narrow_phase/ovals": OVALS,
    "recursive/": (
        f"{UNIT}recursive.py", f"{UNIT}recursive_passive.py", f"{UNIT}charts.py",
        f"{UNIT}dynamics.py",
    ),
    "solve/": (f"{JACOBIANS}newton_matrix.py", *EVERYTHING, *TREES, f"{JACOBIANS}articulated.py"),
    "solve/attempts": (
        f"{KEPT}substeps.py", f"{KEPT}hard_contacts.py", f"{KEPT}hard_cases.py",
        f"{KEPT}solvers.py",
    ),
    "solve/bearings": (f"{JACOBIANS}pads.py", f"{CLOSED}bearings_in_motion.py"),
    "solve/graph/ldu": (f"{JACOBIANS}block_ldu.py",),
    "solve/interior_point": (
        f"{CLOSED}friction.py", f"{KEPT}hard_contacts.py", f"{KEPT}hard_cases.py",
    ),
    "solve/nested": (f"{KEPT}hard_cases.py",),
    "solve/tree/": TREES,
    "solve/tree/charts": (f"{KEPT}motion_on_charts.py",),
    "solve/tree/coupled": (f"{KEPT}coupled_bodies.py",),
    "solve/tree/loops": (f"{JACOBIANS}articulated.py::test_newton_direction_of_loops",),
    "solve/tree/tied": (f"{KEPT}ties_of_trees.py",),
    "step/": (
        f"{CLOSED}restitution.py", f"{KEPT}substeps.py", f"{KEPT}knot_velocities.py",
        f"{CLOSED}friction.py",
    ),
    "step/accuracy": (f"{CLOSED}accuracy.py", f"{UNIT}step_sizes.py"),
    "step/anew": (f"{CLOSED}accuracy.py",),
    "step/closure": (f"{UNIT}closing.py",),
    "step/events": (f"{CLOSED}accuracy.py",),
    "step/group": (f"{UNIT}batch.py", f"{UNIT}lanes.py", f"{UNIT}lanes_apart.py"),
    "step/impact": (
        f"{CLOSED}restitution.py", f"{KEPT}hit_within_a_step.py", f"{CLOSED}limits_that_bounce.py",
    ),
    "step/islands": (f"{KEPT}islands.py",),
    "step/learn": (f"{KEPT}guesses.py",),
    "step/following": (f"{DERIVATIVES}.py",),
    "step/linearize": (f"{DERIVATIVES}.py",),
    "step/means": (f"{KEPT}seldom_logged.py",),
    "step/velocities": (
        f"{CLOSED}velocity_limits.py", f"{KEPT}arcs.py", f"{CLOSED}compliant_contacts.py",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A change of some bytes of a source."""

    file: str
    line: int
    kind: str
    begin: int
    end: int
    text: str
    old: str

    def applied(self, source: bytes) -> bytes:
        """The source with the change."""
        return source[: self.begin] + self.text.encode() + source[self.end :]

    def lines(self, source: bytes) -> tuple[str, str]:
        """The line where the change begins, before and after it."""
        k = self.line - 1
        changed = self.applied(source).splitlines()[k].decode().strip()
        return source.splitlines()[k].decode().strip(), changed


class Changes(ast.NodeVisitor):
    """All mutants of a source."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source = file, source
        self.found: list[Mutant] = []
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.visit(ast.parse(source))

    def span(self, node: Any) -> tuple[int, int]:
        """First byte of a node, and the one after its last."""
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def code(self, node: ast.AST) -> str:
        """The text of a node."""
        begin, end = self.span(node)
        return self.source[begin:end].decode()

    def change(self, kind: str, begin: int, end: int, text: str) -> None:
        """Note a mutant."""
        line = self.source.count(b"\n", 0, begin) + 1
        old = self.source[begin:end].decode()
        self.found.append(Mutant(self.file, line, kind, begin, end, text, old))

    def put(self, kind: str, node: ast.AST, text: str) -> None:
        """Note a mutant with another text in place of a node."""
        self.change(kind, *self.span(node), text)

    def operator(self, kind: str, left: ast.AST, right: ast.AST, new: str, *, all_of: str) -> None:
        """Note a mutant with another operator between two nodes, beside brackets."""
        begin, end = self.span(left)[1], self.span(right)[0]
        place = self.source[begin:end].decode().find(all_of)
        if place >= 0:
            begin += place
            self.change(kind, begin, begin + len(all_of), new)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub):
            self.put("sign", node, f"(+{self.code(node.operand)})")
        elif isinstance(node.op, ast.Not):
            self.put("condition", node, f"(True and {self.code(node.operand)})")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        kind = type(node.op)
        if kind in ADDED:
            sign = "+" if kind is ast.Add else "-"
            self.operator("+ and -", node.left, node.right, ADDED[kind], all_of=sign)
        elif kind in SCALED:
            sign = "*" if kind is ast.Mult else "/"
            self.operator("* and /", node.left, node.right, SCALED[kind], all_of=sign)
            if kind is ast.Mult:
                self.put("factor", node.left, "1")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        kind = type(node.op)
        if kind in ADDED:
            sign = "+=" if kind is ast.Add else "-="
            self.operator("+ and -", node.target, node.value, f"{ADDED[kind]}=", all_of=sign)
        self.put("dropped", node, "pass")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        nodes = [node.left, *node.comparators]
        for left, op, right in zip(nodes, node.ops, nodes[1:], strict=False):
            for new in COMPARED.get(type(op), ()):
                old = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=="}
                self.operator("comparison", left, right, new, all_of=old.get(type(op), "!="))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.operator("condition", left, right, new, all_of=old)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        for left, right in zip(node.args, node.args[1:], strict=False):
            a, b = self.code(left), self.code(right)
            if type(left) is type(right) and a != b and not isinstance(left, ast.Starred):
                between = self.source[self.span(left)[1] : self.span(right)[0]].decode()
                self.change("arguments", self.span(left)[0], self.span(right)[1], b + between + a)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        several = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for index in several:
            if isinstance(index, ast.Constant) and isinstance(index.value, int):
                self.put("index", index, str(index.value - 1 if index.value else 1))
            else:
                if isinstance(index, ast.Name):
                    self.put("index", index, f"{index.id} - 1")
                self.visit(index)
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.put("constant", node, str(not node.value))
        elif isinstance(node.value, int):
            self.put("constant", node, str(node.value + 1))
        elif isinstance(node.value, float):
            self.put("constant", node, repr(2.0 * node.value or 1.0))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for each in node.body:  # without decorators, annotations and values of arguments
            self.visit(each)

    def left_as_it_is(self, node: ast.AST) -> None:
        """Imports, assertions, and what is raised."""

    visit_Import = visit_ImportFrom = visit_Assert = visit_Raise = left_as_it_is
    visit_JoinedStr = left_as_it_is


def name_of(mutant: Mutant, source: bytes) -> str:
    """A name that stays when other lines of the file change."""
    before, after = mutant.lines(source)
    lines = [line.strip() for line in source.decode().splitlines()[: mutant.line]]
    told = mutant.file, mutant.kind, before, after, mutant.text, lines.count(before)
    return hashlib.sha256(repr(told).encode()).hexdigest()[:12]


def draw(sources: dict[str, bytes], seed: int) -> list[tuple[str, Mutant]]:
    """All mutants with their names, as if drawn one by one: first a kind, then a mutant of it."""
    named = {}
    for file, source in sources.items():
        for mutant in Changes(file, source).found:
            named.setdefault(name_of(mutant, source), mutant)
    number = Counter(mutant.kind for mutant in named.values())

    def place(item: tuple[str, Mutant]) -> float:
        digest = hashlib.sha256(f"{seed} {item[0]}".encode()).digest()
        drawn = (int.from_bytes(digest[:6], "big") + 1) / 2**48
        return -math.log(drawn) * number[item[1].kind]

    return sorted(named.items(), key=place)


def tests_of(file: str) -> list[str]:
    """The tests of a part, most likely ones first."""
    parts = sorted((part for part in TESTS if file.startswith(part)), key=len, reverse=True)
    if TESTS[parts[0]][0].startswith(DERIVATIVES):
        parts = parts[:1]
    alone = file.startswith(("minimal/", "recursive/", "narrow_phase/"))
    found = [test for part in parts if part or not alone for test in TESTS[part]]
    return list(dict.fromkeys(found))


class Copy:
    """A copy of the repository, with a cache of kernels of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"
        compiled = shutil.ignore_patterns("__pycache__")
        for part in PARTS:
            shutil.copytree(ROOT / part, folder / part, ignore=compiled, dirs_exist_ok=True)
        for part in ("loaders", "models", "viz"):
            if not (folder / "robosim" / part).exists():
                (folder / "robosim" / part).symlink_to(folder / part)
        for file in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / file, folder)
        filled = Path(os.environ.get("NUMBA_CACHE_DIR", "no such folder")) / "lowered"
        if filled.is_dir() and not self.cache.exists():
            shutil.copytree(filled, self.cache / "lowered", copy_function=linked)

    def environment(self) -> dict[str, str]:
        """The environment of processes that test the copy."""
        return os.environ | {
            "NUMBA_CACHE_DIR": str(self.cache), "NUMBA_OPT": "1", "MPLBACKEND": "Agg",
            "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(self.folder),
        }  # fmt: skip

    def test(self, tests: list[str], limit: float) -> tuple[str, str, str]:
        """Run tests: the outcome, the test that decided it, and what it said."""
        environment = self.environment()
        command = [sys.executable, "-m", "pytest", "-x", "-v", "--color=no", "--tb=short",
                   "-p", "no:cacheprovider", *tests]  # fmt: skip
        if any(test.startswith(DERIVATIVES) for test in tests):
            command += ["-m", ""]  # slow ones, too
        told = self.folder / "told.txt"
        with told.open("w") as file:
            process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=file, stderr=file,
                start_new_session=True,
            )  # fmt: skip
            try:
                code = process.wait(limit)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                code = None
        return outcome(code, told.read_text(encoding="utf-8", errors="replace"))

    def tidy(self) -> None:
        """Remove the entries that were compiled; kernels are named for their sources, and stay."""
        for folder in self.cache.glob("kernels-*"):
            shutil.rmtree(folder)


def linked(source: str, target: str) -> None:
    """A hard link if there can be one: files of the cache are replaced, and never changed."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def outcome(code: int | None, told: str) -> tuple[str, str, str]:
    """What the output of pytest tells: the outcome, a test, and a line."""
    running = re.findall(r"^(tests/\S+::.*?)(?: (?:PASSED|FAILED|ERROR|SKIPPED).*)?$", told, re.M)
    last = running[-1].strip() if running else ""
    if code in (4, 5):  # of pytest: no such test, or none that is not left out
        raise SystemExit(told)
    if code == 0:
        return "survived", "", ""
    if code is None:
        return "time", last, ""
    said = re.findall(r"^E   +(.*)$", told, re.M)
    failed = re.search(r"^(?:FAILED|ERROR) (\S+(?:\[.*?\])?)(?: - (.*))?$", told, re.M)
    test = failed[1] if failed else last
    line = (said[0] if said else told.strip().splitlines()[-1])[:200] if told.strip() else ""
    refused = re.search(r"numba\.core\.errors|TypingError|LoweringError|UnboundLocalError", told)
    return "refused" if refused else "detected", test, line


def read(path: Path | None) -> list[dict[str, Any]]:
    """The lines of a campaign; of a mutant that was run again, the last one."""
    if path is None or not path.exists():
        return []
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return list({line["name"]: line for line in lines}.values())


def try_alone(
    left: list[tuple[str, Mutant]], sources: dict[str, bytes], options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Test mutants one after the other, each compiled by itself."""
    if not left:
        return
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        copy = Copy(Path(folder))
        for name, mutant in left:
            path = copy.folder / KERNELS / mutant.file
            begin = time.monotonic()
            path.write_bytes(mutant.applied(sources[mutant.file]))
            tests = options.tests or tests_of(mutant.file)
            result = copy.test(tests, COMPILING + options.limit)
            path.write_bytes(sources[mutant.file])
            copy.tidy()
            yield line_of(name, mutant, sources, *result, time.monotonic() - begin)


def line_of(
    name: str,
    mutant: Mutant,
    sources: dict[str, bytes],
    result: str,
    test: str,
    said: str,
    seconds: float,
) -> dict[str, Any]:
    """What is written of a mutant."""
    before, after = mutant.lines(sources[mutant.file])
    return {
        "name": name, "file": mutant.file, "line": mutant.line, "kind": mutant.kind,
        "before": before, "after": after, "outcome": result, "test": test, "said": said,
        "seconds": round(seconds, 1),
    }  # fmt: skip


class Schemata:
    """A copy of the repository with many mutants, of which one is chosen at run time."""

    def __init__(
        self,
        folder: Path,
        mutants: list[tuple[str, Mutant]],
        sources: dict[str, bytes],
        options: argparse.Namespace,
        console: Console,
    ) -> None:
        self.copy, self.sources, self.options = Copy(folder), sources, options
        self.mutants, self.console = dict(enumerate(mutants)), console
        self.there: set[int] = set()
        beside = Path(__file__).parent
        shutil.copy(beside / "chosen_mutant.py", folder / KERNELS / "compiler" / "mutant.py")
        for file, source in sources.items():
            here = {k: one for k, (_, one) in self.mutants.items() if one.file == file}
            changed, found = schemata.together(source, here)
            self.there |= found
            (folder / KERNELS / file).write_bytes(changed)

    def tests_of(self, number: int) -> list[str]:
        """The tests of a mutant."""
        return self.options.tests or tests_of(self.mutants[number][1].file)

    def told(self, wanted: list[int]) -> Iterator[dict[str, Any]]:
        """The lines that `forked_tests` writes."""
        folder = self.copy.folder
        tests = sorted({test for number in wanted for test in self.tests_of(number)})
        jobs = {"run": [(k, self.tests_of(k)) for k in wanted],
                "slow": DERIVATIVES, "limit": self.options.limit,
                "processes": self.options.processes}  # fmt: skip
        (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
        reads, writes = os.pipe()
        environment = self.copy.environment() | {
            "MUTANT_JOBS": str(folder / "jobs.json"), "MUTANT_LINES": str(writes),
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-p", "benchmarks.forked_tests", "-s", "-q",
                   "-p", "no:cacheprovider", "-m", "", *tests]  # fmt: skip
        with (folder / "told.txt").open("w") as told:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=told, stderr=told,
                pass_fds=[writes], start_new_session=True,
            )  # fmt: skip
        os.close(writes)
        try:
            with os.fdopen(reads, encoding="utf-8") as lines:
                yield from map(json.loads, lines)
            process.wait()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)

    def left_out(self) -> dict[int, tuple[str, str]]:
        """Mutants that did not compile: "refused" or "alone", and the error."""
        path = self.copy.folder / "left_out.txt"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        words = (line.split(maxsplit=2) for line in lines)
        return {int(number): (kind, said) for number, kind, said in words}

    def try_all(self, names: set[str]) -> Iterator[dict[str, Any]]:
        """Test those of these mutants that can be chosen at run time."""
        began: dict[int, str] = {}
        failed: dict[int, tuple[str, str]] = {}
        wanted = [k for k in sorted(self.there) if self.mutants[k][0] in names]
        for line in self.told(wanted) if wanted else ():
            number = line.get("number")
            if "fails" in line:
                self.console.print(f"fails without a mutant: {line['fails']}", line["told"][-300:])
            elif "begins" in line:
                began[number] = line["begins"]
            elif "failed" in line:
                failed[number] = line["failed"], line["said"]
            elif "code" in line:
                result = "detected", *failed.get(number, (began.get(number, ""), ""))
                left_out = self.left_out().get(number)
                if left_out is not None:
                    if left_out[0] == "alone":
                        self.there.discard(number)
                        continue
                    result = "refused", "", left_out[1]
                elif line["code"] == 0:
                    result = "survived", "", line.get("told", "")
                elif line["code"] == -signal.SIGALRM:
                    result = "time", began[number], ""
                yield line_of(*self.mutants[number], self.sources, *result, line["seconds"])


def try_each(
    left: list[tuple[str, Mutant]],
    there: list[tuple[str, Mutant]],
    sources: dict[str, bytes],
    options: argparse.Namespace,
    console: Console,
) -> Iterator[dict[str, Any]]:
    """Test mutants in the program that has all that are `there`, then the others alone."""
    tried, names = set(), {name for name, _ in left}
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        place = options.folder or Path(folder)
        for line in Schemata(place, there, sources, options, console).try_all(names):
            tried.add(line["name"])
            yield line
    yield from try_alone([one for one in left if one[0] not in tried], sources, options)


def run(
    left: list[tuple[str, Mutant]],
    there: list[tuple[str, Mutant]],
    sources: dict[str, bytes],
    options: argparse.Namespace,
    console: Console,
) -> list[dict[str, Any]]:
    """Test mutants for some minutes, and write a line for each."""
    lines: list[dict[str, Any]] = []
    end = time.monotonic() + 60 * options.minutes
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("copying", total=len(left))
        for line in try_each(left, there, sources, options, console):
            lines.append(line)
            if options.out is not None:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
            if line["outcome"] in ("survived", "time"):
                console.print(
                    f"{line['outcome']}: {line['name']} {line['file']}:{line['line']} "
                    f"{line['kind']}\n  - {line['before']}\n  + {line['after']}",
                    markup=False, highlight=False, soft_wrap=True,
                )  # fmt: skip
            counts = Counter(line["outcome"] for line in lines)
            told = f"{counts['detected']} detected, {counts['survived']} survived"
            progress.update(task, advance=1, description=told)
            if time.monotonic() > end:
                break
    return lines


def verify(done: list[dict[str, Any]], limit: float) -> bool:
    """Whether all tests that detected something pass without a change."""
    tests = sorted({line["test"] for line in done if line["outcome"] == "detected"} - {""})
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        result, test, said = Copy(Path(folder)).test(tests, limit)
    print(f"{len(tests)} tests without a change: {result} {test} {said}")
    return result == "survived"


def report(done: list[dict[str, Any]], console: Console) -> None:
    """Tables of outcomes by part of the kernels and by kind of change."""
    for told, key in (
        ("part", lambda line: f"kernels/{line['file'].rpartition('/')[0]}"),
        ("change", lambda line: line["kind"]),
    ):
        table = Table(told, "drawn", "detected", "time", "survived", "refused")
        counts = Counter((key(line), line["outcome"]) for line in done)
        for name in [*sorted({name for name, _ in counts}), "all"]:
            numbers = [
                sum(n for (one, what), n in counts.items() if name in (one, "all") and what == each)
                for each in ("detected", "time", "survived", "refused")
            ]
            table.add_row(name, *map(str, (sum(numbers[:3]), *numbers)))
        console.print(table)


def main() -> int:
    """Draw mutants for some minutes; the exit code is 1 if --verify finds a failing test."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="how long to go on")
    parser.add_argument("--count", type=int, default=400, help="mutants in all, with those of OUT")
    parser.add_argument("--seed", type=int, default=0, help="of the order in which they are drawn")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds of tests for each mutant"
    )
    parser.add_argument("--folder", type=Path, help="of the program with mutants, to be kept")
    parser.add_argument("--processes", type=int, default=2, help="that test at a time")
    parser.add_argument("--only", nargs="+", metavar="PART", help="as in contact/law; equations/")
    parser.add_argument("--out", type=Path, help="a file of JSON lines, to which more are added")
    parser.add_argument("--again", action="store_true", help="run the survivors of OUT again")
    parser.add_argument("--names", nargs="+", metavar="NAME", help="run these again")
    parser.add_argument("--tests", nargs="+", metavar="TEST", help="in place of those of the part")
    parser.add_argument("--list", action="store_true", help="print the mutants, and run nothing")
    parser.add_argument("--table", action="store_true", help="count those of OUT, and run nothing")
    parser.add_argument("--verify", action="store_true", help="run what detected without a change")
    options = parser.parse_args()
    console, done = Console(), read(options.out)
    if options.verify:
        return 0 if verify(done, 60.0 * options.minutes) else 1
    files = sorted(p.relative_to(ROOT / KERNELS).as_posix() for p in (ROOT / KERNELS).rglob("*.py"))
    sources = {file: (ROOT / KERNELS / file).read_bytes() for file in files
               if not file.startswith(LEFT_OUT)
               and (not options.only or file.startswith(tuple(options.only)))}  # fmt: skip
    order = draw(sources, options.seed)
    there = order[: options.count + options.count // 8]  # with those that will not compile
    known = {line["name"]: line["outcome"] for line in done}
    if options.names:
        left = [(name, mutant) for name, mutant in order if name in options.names]
    elif options.again:
        left = [item for item in order if known.get(item[0]) in ("survived", "time")]
    else:
        left = [item for item in order if item[0] not in known]
        left = left[: max(0, options.count - sum(line["outcome"] != "refused" for line in done))]
    if options.list:
        for name, mutant in left:
            before, after = mutant.lines(sources[mutant.file])
            print(f"{name} {mutant.file}:{mutant.line} {mutant.kind}\n  - {before}\n  + {after}")
        return 0
    if not options.table:
        done += run(left, there, sources, options, console)
    report(list({line["name"]: line for line in done}.values()), console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
