"""A program that loads a file in another library and prints what the library made of it, as JSON.

A process of its own, as a library may crash or hang on a file. Arguments: the library, the file,
"urdf" or "mjcf", and "floating" or "fixed".
"""

from __future__ import annotations

import json
import sys
from typing import Any


def _in_mujoco(file: str, kind: str, floating: bool) -> dict[str, Any]:
    import mujoco

    model = mujoco.MjModel.from_xml_path(file)
    moving = model.body_weldid != 0
    return {"nv": int(model.nv), "mass": float(model.body_mass[moving].sum())}


def _in_pinocchio(file: str, kind: str, floating: bool) -> dict[str, Any]:
    import pinocchio

    if kind == "mjcf":
        model = pinocchio.buildModelFromMJCF(file)
    elif floating:
        model = pinocchio.buildModelFromUrdf(file, pinocchio.JointModelFreeFlyer())
    else:
        model = pinocchio.buildModelFromUrdf(file)
    # The first inertia is of what is fixed to the world.
    return {"nv": int(model.nv), "mass": float(sum(body.mass for body in model.inertias[1:]))}


READERS = {"mujoco": _in_mujoco, "pinocchio": _in_pinocchio}


def main() -> None:
    """Load, and print ``{"nv", "mass"}`` of what moves, or ``{"error"}``."""
    library, file, kind, base = sys.argv[1:]
    try:
        told = READERS[library](file, kind, base == "floating")
    except Exception as error:  # whatever a library raises
        told = {"error": f"{error}".strip() or type(error).__name__}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
