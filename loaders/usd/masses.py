"""Mass, centre and inertia of rigid bodies: what is authored, else those of their colliders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description import solids
from robosim.description.body import Geometry
from robosim.description.inertial import Inertial, merge
from robosim.description.inertias import turnable
from robosim.errors import ModelError
from robosim.loaders.assembly.groups import moved
from robosim.loaders.notes import Notes
from robosim.loaders.pose import Pose
from robosim.loaders.usd.library import library
from robosim.loaders.usd.materials import Materials
from robosim.loaders.usd.stage import LARGEST_NUMBER, Stage

Array = NDArray[np.float64]

DENSITY = 1000.0  # [kg/m^3], the default of UsdPhysics


class Masses:
    """The inertials of a stage's bodies."""

    def __init__(self, stage: Stage, materials: Materials, notes: Notes) -> None:
        self._stage, self._materials, self._notes = stage, materials, notes

    def inertial(self, prim: Any, colliders: Sequence[tuple[Any, Geometry]]) -> Inertial | None:
        """The inertial of a body in its frame; None without mass and colliders.

        Parameters
        ----------
        prim : Usd.Prim
        colliders : sequence of (Usd.Prim, Geometry)
            In the frame of the body.

        Raises
        ------
        LoadError
            For a negative mass, density or moment.
        """
        mass = self._number(prim, "mass") * self._stage.kilograms
        density = self._number(prim, "density") * self._per_volume
        parts = [part for one in colliders if (part := self._of_collider(*one, density))]
        own = merge(parts) if parts else None
        if own is not None and not own.mass > 0:
            own = None
        moments, axes, center = self._authored(prim)
        if own is None and mass == 0:
            return None
        if mass == 0:
            assert own is not None
            mass = own.mass
        if center is None:
            center = np.zeros(3) if own is None else own.center
        if moments is not None:
            return Inertial(mass, center, axes @ np.diag(moments) @ axes.T)
        if own is None:
            self._notes.add(
                "bodies with a mass and neither inertia nor colliders have the inertia of a ball "
                "of water",
                prim.GetName(),
            )
            return Inertial(mass, center, turnable(np.zeros((3, 3)), mass))
        inertia = own.inertia * (mass / own.mass)
        r = own.center - center
        inertia = inertia + mass * (r @ r * np.eye(3) - np.outer(r, r))
        return Inertial(mass, center, (inertia + inertia.T) / 2)

    @property
    def _per_volume(self) -> float:
        return self._stage.kilograms / self._stage.metres**3

    def _api(self, prim: Any) -> Any | None:
        api = library().UsdPhysics.MassAPI
        return api(prim) if prim.HasAPI(api) else None

    def _number(self, prim: Any, what: str) -> float:
        """A mass or density of a prim in the stage's units; 0 for none."""
        api = self._api(prim)
        if api is None:
            return 0.0
        attribute = api.GetMassAttr() if what == "mass" else api.GetDensityAttr()
        value = self._stage.number(prim, attribute)
        if value < 0:
            raise self._stage.refusal(prim, f"physics:{what} must not be {value}")
        return value

    def _authored(self, prim: Any) -> tuple[Array | None, Array, Array | None]:
        """(moments (3,), their axes (3, 3), centre (3,)), None where they are not authored."""
        api = self._api(prim)
        if api is None:
            return None, np.eye(3), None
        moments = self._stage.vector(prim, api.GetDiagonalInertiaAttr())
        moments = np.zeros(3) if moments is None else moments
        if np.any(moments < 0) or np.any(moments > LARGEST_NUMBER):
            raise self._stage.refusal(
                prim, f"physics:diagonalInertia must not be {moments.tolist()}"
            )
        place = self._stage.place(prim)
        # Without one it is at minus infinity.
        center = self._stage.vector(prim, api.GetCenterOfMassAttr())
        told = None if center is None or not np.all(np.isfinite(center)) else center
        R = self._stage.rotation(prim, api.GetPrincipalAxesAttr())
        R = np.eye(3) if R is None else R
        units = self._stage.kilograms * self._stage.metres**2
        return (
            moments * units if np.any(moments) else None,
            R,
            None if told is None else place.stretch @ told,
        )

    def _of_collider(self, prim: Any, shape: Geometry, density: float) -> Inertial | None:
        """The inertial of a collider, in the frame of its body."""
        try:
            solid = solids.solid(shape)
        except ModelError:
            self._notes.add("colliders without a volume have no mass", prim.GetName())
            return None
        mass = self._number(prim, "mass") * self._stage.kilograms
        own = self._number(prim, "density") * self._per_volume
        if mass == 0:
            heavy = own or density or self._of_material(prim) or DENSITY
            mass = heavy * solid.volume
        place = Pose(
            quaternions.rotation_matrix(np.asarray(shape.quaternion)), np.asarray(shape.position)
        )
        return moved(Inertial(mass, solid.center, solid.inertia * (mass / solid.volume)), place)

    def _of_material(self, prim: Any) -> float:
        material = self._materials.physics(prim)
        if material is None:
            return 0.0
        bound = material.GetPrim()
        return self._stage.number(bound, material.GetDensityAttr()) * self._per_volume
