"""Pieces of USD stages for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import robosim
from robosim import Mechanism


def stage(*parts: str, more: str = 'metersPerUnit = 1\n    upAxis = "Z"') -> str:
    """The text of a stage, whose default prim is `W`."""
    head = f'#usda 1.0\n(\n    defaultPrim = "W"\n    {more}\n)\n'
    return head + 'def Xform "W"\n{\n' + "".join(parts) + "}\n"


def prim(kind: str, name: str, *lines: str, apis: str = "", more: str = "") -> str:
    """A prim with applied schemas, by their names without "Physics" and "API", or in full."""
    full = [
        one if one.endswith("API") or ":" in one else f"Physics{one}API" for one in apis.split()
    ]
    listed = ", ".join(f'"{one}"' for one in full)
    applied = f"prepend apiSchemas = [{listed}]\n" if full else ""
    told = f" (\n{applied}{more}\n)" if full or more else ""
    return f'def {kind} "{name}"{told}\n{{\n' + "\n".join(lines) + "\n}\n"


def placed(position: str = "0, 0, 0", scale: str = "", turn: str = "") -> str:
    """Attributes of a prim's pose: position, quaternion (w, x, y, z), scale."""
    lines = [f"double3 xformOp:translate = ({position})"]
    order = ['"xformOp:translate"']
    if turn:
        lines.append(f"quatd xformOp:orient = ({turn})")
        order.append('"xformOp:orient"')
    if scale:
        lines.append(f"double3 xformOp:scale = ({scale})")
        order.append('"xformOp:scale"')
    lines.append(f"uniform token[] xformOpOrder = [{', '.join(order)}]")
    return "\n".join(lines)


def body(name: str, position: str = "0, 0, 0", *lines: str, mass: str = "2", **options: Any) -> str:
    """A rigid body that is a box of 0.2 by 0.4 by 0.6 m, with a mass."""
    scale = options.get("scale", "0.2, 0.4, 0.6")
    shape = prim("Cube", f"{name}_box", "double size = 1", placed(scale=scale), apis="Collision",
                 more=options.get("more", ""))  # fmt: skip
    told = f"float physics:mass = {mass}" if mass else ""
    return prim("Xform", name, placed(position, turn=options.get("turn", "")), told, *lines, shape,
                apis="RigidBody Mass")  # fmt: skip


def joint(kind: str, name: str, first: str, second: str, *lines: str, apis: str = "") -> str:
    """A joint between two bodies of `W`, or the world where the name is empty."""
    ends = [f"rel physics:body{k} = </W/{end}>" for k, end in enumerate((first, second)) if end]
    return prim(f"Physics{kind}Joint" if kind else "PhysicsJoint", name, *ends, *lines, apis=apis)


def load(folder: Path, text: str, **options: Any) -> Mechanism:
    """The mechanism of a file with that text."""
    path = folder / "stage.usda"
    path.write_text(text, encoding="utf-8")
    return robosim.load(path, **options)
