"""xacro to URDF, by the package xacro, in a separate process with few permissions.

A xacro file contains Python expressions, and so is a program. The program's permissions are
restricted; see `robosim.loaders.xacro_process`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from robosim import safe_xml
from robosim.errors import LoadError
from robosim.loaders.options import LoadOptions
from robosim.loaders.schema import tag_name
from robosim.version import install

# [s], for the whole expansion
LONGEST = 30


_MISSING = re.compile(r"Undefined substitution argument (\S+)")
_EXPRESSION = re.compile(r"\$\{|\$\((?!find\s)")


def is_xacro(root: etree._Element) -> bool:
    """Whether a model file has elements or expressions of xacro, regardless of its name.

    ``$(find NAME)`` alone also occurs in URDF files, and files made by xacro still declare its
    prefix.
    """
    if root.tag != "robot":
        return False
    return any(
        tag_name(element).startswith("xacro:")
        or any(_EXPRESSION.search(str(value)) for value in element.attrib.values())
        for element in root.iter(etree.Element)
    )


class Expanded(NamedTuple):
    """A URDF, the folders of packages that were used, and messages of xacro."""

    urdf: bytes
    packages: tuple[str, ...]
    messages: tuple[str, ...]


def expand(path: Path, options: LoadOptions) -> Expanded:
    """Expand a xacro file to a URDF.

    ``$(find NAME)`` searches for packages in the same folders as ``package://NAME``. Included files
    must be in folders from which a URDF may read.

    Raises
    ------
    LoadError
        If xacro is not installed, refuses the file, or takes too long or too much memory.
    """
    safe_xml.parse(safe_xml.read_bytes(path, largest=safe_xml.LARGEST_MODEL), path)
    if importlib.util.find_spec("xacro") is None:
        raise LoadError(
            "this is a xacro file, and the package xacro is not installed: "
            f"{install('xacro')}, or expand it yourself to a .urdf file",
            file=path,
        )
    request = {
        "file": os.path.abspath(path),
        "package_dirs": [os.path.abspath(folder) for folder in options.package_dirs],
        "arguments": {str(name): str(value) for name, value in options.xacro_args.items()},
    }
    command = [sys.executable, "-m", "robosim.loaders.xacro_process"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    try:
        process = subprocess.run(
            command,
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=LONGEST,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LoadError(f"xacro takes more than {LONGEST} s", file=path) from None
    try:
        answer = json.loads(process.stdout)
    except ValueError:
        last = process.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise LoadError(
            f"xacro ended without an answer, as with too much memory: {last}", file=path
        ) from None
    if "error" in answer:
        raise LoadError(f"xacro: {_told(answer['error'])}", file=answer["file"] or path)
    messages = process.stderr.decode(errors="replace").strip().splitlines()
    told = (*answer["guesses"], *(f"xacro: {text}" for text in messages if text.strip()))
    return Expanded(answer["urdf"].encode(), tuple(answer["packages"]), tuple(dict.fromkeys(told)))


def _told(error: str) -> str:
    """A message of xacro, with the option that gives a missing argument."""
    missing = _MISSING.search(error)
    if missing is None:
        return error
    name = missing[1]
    return f"{error}; xacro_args={{'{name}': '...'}} gives it (--xacro-arg {name}:=...)"
