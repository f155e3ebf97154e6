"""Friction and colours of prims."""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim.loaders.meshes import GREY, Colour
from robosim.loaders.notes import Notes
from robosim.loaders.usd.library import library
from robosim.loaders.usd.stage import Stage

_COLOURS = ("diffuseColor", "diffuse_color_constant")
_OPACITIES = ("opacity", "opacity_constant")


class Materials:
    """What is bound to the prims of a stage.

    Parameters
    ----------
    stage : Stage
    friction : float
        Of prims without a physics material.
    notes : Notes
    """

    def __init__(self, stage: Stage, friction: float, notes: Notes) -> None:
        self._stage, self._friction, self._notes = stage, friction, notes

    def physics(self, prim: Any) -> Any | None:
        """The physics material of a prim, as UsdPhysics.MaterialAPI; None without one."""
        pxr = library()
        material = pxr.UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")[0]
        bound = material.GetPrim() if material else None
        if bound and bound.HasAPI(pxr.UsdPhysics.MaterialAPI):
            return pxr.UsdPhysics.MaterialAPI(bound)
        return None

    def surface(self, prim: Any) -> dict[str, Any]:
        """Friction and restitution of a collider, as fields of a `Geometry`.

        Raises
        ------
        LoadError
            For a negative coefficient, or a restitution above 1.
        """
        found: dict[str, Any] = {"friction": self._friction}
        material = self.physics(prim)
        if material is None:
            return found
        moving, resting = material.GetDynamicFrictionAttr(), material.GetStaticFrictionAttr()
        if moving.HasAuthoredValue() or resting.HasAuthoredValue():
            bound = material.GetPrim()
            two = [self._stage.number(bound, one) for one in (moving, resting)]
            found["friction"] = two[0] if moving.HasAuthoredValue() else two[1]
            both = moving.HasAuthoredValue() and resting.HasAuthoredValue()
            if both and abs(two[0] - two[1]) > 1e-6:
                self._notes.add(
                    "of dynamic and static friction the dynamic one counts",
                    str(material.GetPath()),
                )
        if material.GetRestitutionAttr().HasAuthoredValue():
            found["restitution"] = self._stage.number(
                material.GetPrim(), material.GetRestitutionAttr()
            )
        for what, value in found.items():
            if not (value >= 0 and (what == "friction" or value <= 1)):
                raise self._stage.refusal(material.GetPrim(), f"{what} must not be {value}")
        return found

    def colour(self, prim: Any) -> Colour:
        """The colour of a shape: its material's, or else its own."""
        pxr = library()
        material = pxr.UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0]
        rgb, alpha = None, None
        if material:
            shaders = [pxr.UsdShade.Shader(child) for child in pxr.Usd.PrimRange(material.GetPrim())
                       if child.IsA(pxr.UsdShade.Shader)]  # fmt: skip
            rgb = _first(shaders, _COLOURS)
            alpha = _first(shaders, _OPACITIES)
        gprim = pxr.UsdGeom.Gprim(prim)
        if rgb is None:
            values = pxr.UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance(
                "primvars:displayColor"
            )
            own = values.Get() if values else gprim.GetDisplayColorAttr().Get()
            rgb = _one(own)
        if alpha is None:
            alpha = _one(gprim.GetDisplayOpacityAttr().Get())
            alpha = 1.0 if alpha is None else alpha
        if rgb is None:
            return (*GREY[:3], float(np.clip(alpha, 0.0, 1.0)))
        r, g, b, a = np.clip((*rgb, alpha), 0.0, 1.0).tolist()
        return r, g, b, a


def _one(values: Any) -> Any | None:
    """The first one of several values, None without any."""
    return values[0] if hasattr(values, "__len__") and len(values) else None


def _first(shaders: list[Any], names: tuple[str, ...]) -> Any | None:
    """The first constant value of an input of these names."""
    for shader in shaders:
        for name in names:
            source = shader.GetInput(name)
            if source and not source.HasConnectedSource():
                value = source.Get()
                if value is not None:
                    return value
    return None
