"""Many mutants in one program, of which one is chosen while it runs: mutant schemata.

A statement becomes `if is_mutant(17): ... else: ...`, with the mutant and with the statement as it
was. A condition or a range becomes an expression of this form. So kernels are compiled once for
all mutants. `chosen_mutant.py` is the module of `is_mutant`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

IMPORT = b"from robosim.kernels.compiler.mutant import is_mutant\n"


class Change(Protocol):
    """Other bytes for some of a source."""

    @property
    def begin(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def text(self) -> str: ...


class Places:
    """Where the nodes of a source begin and end, in bytes."""

    def __init__(self, source: bytes) -> None:
        self.source, self.starts = source, [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """First byte of a node, and the one after its last."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )


def units(body: list[ast.stmt], inside: bool = False) -> Iterator[ast.stmt | ast.expr]:
    """Simple statements, and the conditions and ranges of others, of all functions."""
    for each in body:
        if isinstance(each, ast.FunctionDef):
            yield from units(each.body, True)
        elif isinstance(each, ast.If | ast.While | ast.For):
            expression = each.iter if isinstance(each, ast.For) else each.test
            # numba has to see itself whether something is None: not in a choice.
            if inside and not any(
                isinstance(one, ast.Is | ast.IsNot) for one in ast.walk(expression)
            ):
                yield expression
            yield from units(each.body, inside)
            yield from units(each.orelse, inside)
        elif inside and not hasattr(each, "body"):
            yield each


def together(source: bytes, changes: dict[int, Change]) -> tuple[bytes, set[int]]:
    """The source with changes to choose from, by their numbers; and the numbers of these.

    Changes outside of functions cannot be chosen at run time, and are left out.
    """
    places, tree = Places(source), ast.parse(source)
    found = set()
    for unit in sorted(units(tree.body), key=places.span, reverse=True):
        begin, end = places.span(unit)
        texts, old = [], source[begin:end]
        for number, change in changes.items():
            if begin <= change.begin and change.end <= end:
                a, b = change.begin - begin, change.end - begin
                texts.append((number, old[:a] + change.text.encode() + old[b:]))
                found.add(number)
        new, indent = old, b" " * unit.col_offset
        for number, text in texts:
            choice = b"is_mutant(%d)" % number
            if isinstance(unit, ast.expr):
                new = b"(\n(%s)\nif %s else (\n%s))" % (text, choice, new)
        if texts and isinstance(unit, ast.stmt):
            new = b""
            for number, text in texts:
                new += b"if is_mutant(%d):\n%s    %s\n%sel" % (number, indent, text, indent)
            new += b"se:\n%s    %s" % (indent, old)
        source = source[:begin] + new + source[end:]
    if not found:
        return source, found
    imports = [each for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)]
    lines = source.splitlines(keepends=True)
    lines.insert(imports[-1].end_lineno or 0, IMPORT)
    return b"".join(lines), found


@dataclass(frozen=True)
class Choice:
    """A mutant in a source with choices: its number and text, lines and function."""

    number: int
    text: str
    begin: int
    end: int
    function: str


def choices(source: bytes) -> list[Choice]:
    """Find the choices of a source again."""
    found = []
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.If | ast.IfExp) and is_choice(node.test):
                    text = node.body[0] if isinstance(node, ast.If) else node.body
                    lines = text.lineno, text.end_lineno or 0
                    told = ast.unparse(text), *lines, function.name
                    found.append(Choice(number_of(node.test), *told))
    return found


def is_choice(node: ast.AST) -> bool:
    """Whether a node is `is_mutant(...)`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "is_mutant"
    )


def number_of(node: ast.AST) -> int:
    """The number of a choice."""
    assert isinstance(node, ast.Call)
    return int(ast.literal_eval(node.args[0]))
