"""The process that expands a xacro file: `python -m robosim.loaders.xacro_process`.

A xacro file is a program from an unknown source. Before it runs, this process gives up all
permissions that are not needed. Expressions may use no attributes that begin with an underscore.
Files are read only from the folders of the model and of the user, and no file is written, no
process started and no connection opened. These rules also hold for xacro's code, and for
expressions that circumvent the first rule. Memory is limited here, and time by the parent process.

The process reads a request as JSON from its standard input, and answers in JSON.
"""

from __future__ import annotations

import ast
import builtins
import errno
import importlib
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import xacro
import xacro.substitution_args as substitution

from robosim import safe_xml
from robosim.errors import LoadError
from robosim.loaders.folders import Folders
from robosim.loaders.packages import FileFinder

MEMORY = 1 << 30  # [bytes]
# Modules that xacro imports on first use, which would be too late here.
_NEEDED = (
    "yaml", "xml.dom.expatbuilder", "xml.dom.pulldom", "encodings.ascii", "encodings.latin_1",
    "encodings.utf_16", "encodings.idna",
)  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LISTING = ("os.listdir", "os.scandir", "glob.glob", "glob.glob/2")
_HARMLESS = ("open", "compile", "exec", "object.__getattr__", "builtins.id", "sys._getframe")
# Attributes that lead from a value to the code that created it.
_FRAMES = frozenset(
    ("gi_frame", "gi_code", "cr_frame", "cr_code", "ag_frame", "ag_code", "f_globals", "f_locals",
     "f_builtins", "f_back", "tb_frame", "tb_next", "mro", "format_map"),
)  # fmt: skip


def refuse_private(expression: str) -> None:
    """Raise XacroException for an expression with attributes that begin with an underscore.

    xacro checks only two of these, and not within lambdas and comprehensions.
    """
    for node in ast.walk(ast.parse(expression.strip(), mode="eval")):
        if isinstance(node, ast.Attribute) and (node.attr.startswith("_") or node.attr in _FRAMES):
            raise xacro.XacroException(f"expressions must not use '{node.attr}'")
        if isinstance(node, ast.Name) and node.id.startswith("__"):
            raise xacro.XacroException(f"expressions must not use '{node.id}'")


def _guard_expressions() -> None:
    original: Callable[..., Any] = xacro.safe_eval

    def safe_eval(expression: str, symbols: Any, local: Any = None) -> Any:
        refuse_private(expression)
        return original(expression, symbols, local)

    def substituted(expression: str, context: dict[str, Any]) -> str:
        """$(eval ...), in which xacro allows all of Python."""
        refuse_private(expression)
        arguments = context.setdefault("arg", {})
        functions = {k: v for k, v in substitution._eval_dict.items() if k != "__builtins__"}
        functions |= {name: getattr(builtins, name) for name in ("str", "float", "int")}
        functions["arg"] = lambda name: substitution.convert_value(arguments[name], "auto")
        functions["dirname"] = lambda: substitution._eval_dirname(context.get("filename"))
        names = substitution._DictWrapper(arguments, functions)
        return str(eval(expression.strip(), {"__builtins__": {}}, names))

    xacro.safe_eval = safe_eval
    substitution._eval = substituted
    # Through `vars`, strings could access attributes.
    xacro._global_symbols["python"].pop("vars", None)


def _wanted(package: str) -> list[str]:
    """The paths that the present file requests in a package."""
    current = next((name for name in reversed(xacro.filestack or []) if name), None)
    if current is None:
        return []
    text = Path(current).read_text(encoding="utf-8", errors="replace")
    found = re.findall(rf"\$\(find\s+{re.escape(package)}\s*\)[/\\]+([^\"'$<>]+)", text)
    return [path.replace("\\", "/") for path in found]


def _guard_packages(finder: FileFinder, found: list[str]) -> None:
    def find(name: str) -> str:
        folder = finder.package(name, "$(find)", _wanted(name))
        finder.folders.allow(folder)
        found.append(str(folder))
        return str(folder)

    substitution._eval_find = find
    substitution._eval_dict["find"] = find


def _guard_process(folders: Folders) -> None:
    """Restrict this process: it may only read the allowed files from here on."""
    for name in _NEEDED:
        importlib.import_module(name)
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    except (ImportError, OSError, ValueError):
        pass  # not on Windows; elsewhere a lower limit holds already

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            file, mode, flags = arguments
            if isinstance(file, int):
                return
            writes = bool(set(mode or "") & set("wax+")) or bool(flags & _WRITING)
            if writes or not folders.contains(Path(os.fsdecode(file))):
                raise PermissionError(
                    errno.EACCES,
                    f"not in the model's own folder, {folders.own[0]}, nor in package_dirs",
                    os.fsdecode(file),
                )
        elif event not in _HARMLESS and event not in _LISTING:
            raise PermissionError(f"a xacro file must not cause '{event}' ({arguments[:1]})")

    sys.addaudithook(hook)


def expanded(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request: the URDF, and the folders of packages that were used."""
    file = Path(request["file"])
    finder = FileFinder(file, request["package_dirs"])
    found: list[str] = []
    finder.look_around()
    _guard_expressions()
    _guard_packages(finder, found)
    _guard_process(finder.folders)
    try:
        document = xacro.process_file(str(file), mappings=dict(request["arguments"]))
        # A larger text would not be read as a model file.
        urdf = document.documentElement.toxml()
        if len(urdf) > safe_xml.LARGEST_MODEL:
            return {"error": "expands to more than a model file may have", "file": None}
        packages = list(dict.fromkeys(found))
        return {"urdf": urdf, "packages": packages, "guesses": finder.warnings()}
    except LoadError as error:
        return {"error": error.reason, "file": None}
    except MemoryError:
        return {"error": f"takes more than {MEMORY >> 20} MB", "file": None}
    except RecursionError:
        return {"error": "macros or includes call each other without end", "file": None}
    except Exception as error:  # expressions may raise any exception
        stack = [name for name in xacro.filestack or [] if name]
        return {"error": str(error) or repr(error), "file": stack[-1] if stack else None}


def main() -> None:
    """Answer the request on the standard input."""
    answer = expanded(json.load(sys.stdin))
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
