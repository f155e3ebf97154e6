"""xacro to URDF, by the package of that name, in a process of its own that may do little else.

A xacro file holds Python expressions and so is a program. What it may do is bounded: see
`robosim.loaders.xacro_process`.
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

# Of the whole expansion [s].
LONGEST = 30


_EXPRESSION = re.compile(r"\$\{|\$\((?!find\s)")


def is_xacro(root: etree._Element) -> bool:
    """Whether a model file has elements or expressions of xacro, whatever it is called.

    ``$(find NAME)`` alone stands in URDF files as well, and files that xacro has made still declare
    its prefix.
    """
    if root.tag != "robot":
        return False
    return any(
        tag_name(element).startswith("xacro:")
        or any(_EXPRESSION.search(str(value)) for value in element.attrib.values())
        for element in root.iter(etree.Element)
    )


class Expanded(NamedTuple):
    """A URDF, the folders of the packages that it was made with, and what xacro had to say."""

    urdf: bytes
    packages: tuple[str, ...]
    messages: tuple[str, ...]


def expand(path: Path, options: LoadOptions) -> Expanded:
    """The URDF that a xacro file stands for.

    ``$(find NAME)`` looks for packages where ``package://NAME`` does, and files are included from
    the folders that a URDF may name files of.

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
        raise LoadError(f"xacro: {answer['error']}", file=answer["file"] or path)
    messages = process.stderr.decode(errors="replace").strip().splitlines()
    told = (*answer["guesses"], *(f"xacro: {text}" for text in messages if text.strip()))
    return Expanded(answer["urdf"].encode(), tuple(answer["packages"]), tuple(dict.fromkeys(told)))
