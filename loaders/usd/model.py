"""USD to Mechanism, composed of the results of the other modules."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from robosim.description.body import Geometry
from robosim.description.mechanism import Mechanism
from robosim.description.names import free_name
from robosim.description.obstacles import HalfSpace, TriangleMesh, obstacle_name
from robosim.errors import LoadError, ModelError
from robosim.loaders.assembly import Assembly, Link, mechanism_of
from robosim.loaders.notes import Notes
from robosim.loaders.options import LoadOptions
from robosim.loaders.pose import Pose
from robosim.loaders.usd.filters import Filters
from robosim.loaders.usd.joints import Joints
from robosim.loaders.usd.library import library, quiet
from robosim.loaders.usd.masses import Masses
from robosim.loaders.usd.materials import Materials
from robosim.loaders.usd.shapes import SHAPES, Shapes
from robosim.loaders.usd.stacking import stacked
from robosim.loaders.usd.stage import Stage, told

_GRAVITY = 9.81
_LEVEL = 1e-6
_DRAWN = ("default", "render")
_READ_TYPES = (
    *SHAPES, "Xform", "Scope", "Material", "Shader", "NodeGraph", "GeomSubset", "Camera", "Physics",
)  # fmt: skip
_READ_APIS = (
    "PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysicsCollisionAPI", "PhysicsMeshCollisionAPI",
    "PhysicsArticulationRootAPI", "PhysicsFilteredPairsAPI", "PhysicsMaterialAPI",
    "PhysicsLimitAPI", "PhysicsDriveAPI", "MaterialBindingAPI", "CollectionAPI",
    "PhysxJointAPI", "NewtonJointAPI",
)  # fmt: skip


def load_usd(path: Path, options: LoadOptions) -> Mechanism:
    """Load a USD file; see `robosim.load` for the options.

    Raises
    ------
    LoadError, ModelError
        For invalid or unsupported content; with file, prim and value.
    MissingExtraError
        If usd-core is not installed.
    """
    try:
        with quiet():
            return _Reader(Stage(path, options.package_dirs), options).mechanism()
    except ModelError as error:
        if error.file is not None:
            raise
        raise error.in_file(path) from None
    except library().Tf.ErrorException as error:
        raise LoadError(f"USD cannot read it: {told(error)}", file=path) from None


class _Reader:
    """A stage during its conversion to a mechanism."""

    def __init__(self, stage: Stage, options: LoadOptions) -> None:
        self.stage, self.options, self.notes = stage, options, Notes()
        self.shapes = Shapes(stage, self.notes)
        self.materials = Materials(stage, options.friction, self.notes)
        self.masses = Masses(stage, self.materials, self.notes)
        self.links: dict[str, Link] = {}  # by the path of the prim
        self.colliders: dict[str, list[tuple[Any, Geometry]]] = {}
        self.owners: dict[str, str] = {}  # path of a collider -> that of its body, or its own
        self.obstacles: dict[str, str] = {}  # path of an obstacle -> its name

    def mechanism(self) -> Mechanism:
        """The mechanism of the stage."""
        prims = list(self.stage.prims())
        self._find_bodies(prims)
        default = self.stage.usd.GetDefaultPrim()
        self.assembly = Assembly(
            name=default.GetName() if default else self.stage.path.stem,
            source=str(self.stage.path),
            notes=self.notes,
            world=True,
        )
        self._read_shapes(prims)
        for path, link in self.links.items():
            prim = self.stage.usd.GetPrimAtPath(path)
            if link.inertial is None:
                link.inertial = self.masses.inertial(prim, self.colliders[path])
        joints = self._read_joints(prims)
        assembly = self.assembly
        assembly.links = list(self.links.values())
        assembly.ties, assembly.cords = stacked(joints.ties), joints.cords
        assembly.actuators, assembly.targets = joints.actuators, joints.targets
        names = self.obstacles | {path: link.name for path, link in self.links.items()}
        assembly.apart += Filters(self.stage, prims, self.notes).pairs(self.owners, names)
        self._note_unread(prims)
        if not assembly.links:
            raise LoadError(
                "no prim of it has a PhysicsRigidBodyAPI: nothing in it can move",
                file=self.stage.path,
                element="stage",
            )
        return mechanism_of(assembly, self.options)

    def _find_bodies(self, prims: list[Any]) -> None:
        UsdPhysics = library().UsdPhysics
        bodies = [prim for prim in prims if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
        names = _names(bodies)
        off = self._without_self_collision(prims)
        for prim in bodies:
            api, path = UsdPhysics.RigidBodyAPI(prim), str(prim.GetPath())
            if api.GetRigidBodyEnabledAttr().Get() is False:
                self.notes.add("bodies that are not enabled are parts of the world", names[path])
                continue
            link = Link(
                names[path],
                self.stage.place(prim).pose,
                lambda reason, alternatives=(), prim=prim: self.stage.refusal(
                    prim, reason, alternatives
                ),
                robot=path,
            )
            if api.GetKinematicEnabledAttr().Get():
                self.notes.add("kinematic bodies stay where they are", link.name)
                link.static = True
            gravity = prim.GetAttribute("physxRigidBody:disableGravity")
            if gravity and gravity.Get():
                link.gravity_compensation = 1.0
            for what in ("Velocity", "AngularVelocity"):
                value = self.stage.vector(prim, getattr(api, f"Get{what}Attr")())
                if value is not None and np.any(value):
                    self.notes.add("velocities of bodies are not read: all begin at rest",
                                   link.name)  # fmt: skip
            link.collides = not any(path == root or path.startswith(f"{root}/") for root in off)
            self.links[path] = link
            self.colliders[path] = []

    def _without_self_collision(self, prims: list[Any]) -> list[str]:
        """Paths of articulations whose bodies do not collide with each other."""
        found = []
        for prim in prims:
            for name in ("physxArticulation:enabledSelfCollisions", "newton:selfCollisionEnabled"):
                attribute = prim.GetAttribute(name)
                if attribute and attribute.Get() is False:
                    root = prim.GetParent() if prim.GetPath().pathString in self.links else prim
                    found.append(str(root.GetPath()))
        return found

    def _body(self, prim: Any) -> str | None:
        """Path of the body that a prim is a part of, None for the world."""
        while prim and not prim.IsPseudoRoot():
            path = str(prim.GetPath())
            if path in self.links:
                return path
            prim = prim.GetParent()
        return None

    def _place_of(self, prim: Any) -> tuple[str, Pose] | None:
        """(name, pose) of the body that a prim is a part of, None for the world."""
        path = self._body(prim)
        return None if path is None else (self.links[path].name, self.links[path].place)

    def _read_shapes(self, prims: list[Any]) -> None:
        pxr = library()
        per_link: dict[str, list[Geometry]] = {path: [] for path in self.links}
        for prim in prims:
            kind = str(prim.GetTypeName())
            collides = prim.HasAPI(pxr.UsdPhysics.CollisionAPI) and (
                pxr.UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get() is not False
            )
            path = self._body(prim)
            if collides:
                if kind not in SHAPES:
                    self._refuse_collider(prim, kind)
                    continue
                self.owners[str(prim.GetPath())] = path or str(prim.GetPath())
                if path is None:
                    self._obstacle(prim, kind)
                else:
                    shape = self._collider(prim, kind, self.links[path])
                    self.colliders[path].append((prim, shape))
                    per_link[path].append(shape)
            if kind in SHAPES and kind != "Plane" and self._is_drawn(prim):
                self._draw(prim, path)
        for path, shapes in per_link.items():
            link = self.links[path]
            alike = len({shape.friction for shape in shapes}) < 2
            link.collisions = [
                replace(shape, name=link.name if alike else f"{link.name}/{shape.name}")
                for shape in shapes
            ]

    def _refuse_collider(self, prim: Any, kind: str) -> None:
        """A collider that is no shape: refused, unless it only groups shapes."""
        if kind in ("", "Xform", "Scope"):
            self.notes.add("colliders without a shape collide with nothing", str(prim.GetPath()))
            return
        raise self.stage.refusal(prim, f"a collider cannot be a {kind}", SHAPES)

    def _collider(self, prim: Any, kind: str, link: Link) -> Geometry:
        if kind == "Plane":
            raise self.stage.refusal(prim, "a plane cannot be a part of a body that moves")
        if kind == "Mesh":
            api = library().UsdPhysics.MeshCollisionAPI(prim)
            told = (
                str(api.GetApproximationAttr().Get() or "none")
                if prim.HasAPI(library().UsdPhysics.MeshCollisionAPI)
                else "none"
            )
            if told not in ("convexHull", "boundingCube", "boundingSphere"):
                self.notes.add(
                    "colliders that are no convex hulls by the file count as their hulls, unless "
                    "load(..., convex='decompose') divides them",
                    link.name,
                )
        return self.shapes.geometry(
            prim, link.place, True, name=prim.GetName(), **self.materials.surface(prim)
        )

    def _obstacle(self, prim: Any, kind: str) -> None:
        """A collider of the world: the ground, or an obstacle."""
        assembly, surface = self.assembly, self.materials.surface(prim)
        taken = {obstacle_name(one) for one in assembly.obstacles}
        taken |= {link.name for link in self.links.values()}
        name = free_name(prim.GetName(), taken)
        if kind == "Plane":
            normal, point = self.shapes.normal_and_point(prim)
            if normal[2] > 1 - _LEVEL and abs(normal @ point) < _LEVEL:
                known = np.inf if assembly.ground is None else assembly.ground
                assembly.ground = min(known, surface["friction"])
                return
            assembly.obstacles.append(HalfSpace(normal, point, name=name, **surface))
            return
        shape = self.shapes.geometry(prim, Pose.identity(), True, name=name, **surface)
        self.obstacles[str(prim.GetPath())] = name
        assembly.obstacles.append(TriangleMesh(shape, **surface) if shape.kind == "mesh" else shape)

    def _is_drawn(self, prim: Any) -> bool:
        UsdGeom = library().UsdGeom
        image = UsdGeom.Imageable(prim)
        seen = image.ComputeVisibility() != UsdGeom.Tokens.invisible
        return seen and str(image.ComputePurpose()) in _DRAWN

    def _draw(self, prim: Any, path: str | None) -> None:
        link = None if path is None else self.links[path]
        at = Pose.identity() if link is None else link.place
        try:
            shape = self.shapes.geometry(
                prim, at, False, name=prim.GetName(), rgba=self.materials.colour(prim)
            )
        except LoadError as error:
            self.notes.add(f"shapes that cannot be read are not drawn: {error}")
            return
        if link is None:
            self.assembly.visuals.append(shape)
        else:
            link.visuals.append(replace(shape, name=link.name))

    def _read_joints(self, prims: list[Any]) -> Joints:
        pxr = library()
        joints = Joints(self.stage, self._place_of, self.notes)
        found = []
        for prim in prims:
            if prim.IsA(pxr.UsdPhysics.Joint):
                found.append(prim)
            elif str(prim.GetTypeName()).endswith("Joint"):
                raise self.stage.refusal(
                    prim, f"joints of type '{prim.GetTypeName()}' are not read"
                )
        names = _names(found)
        for prim in found:
            joints.read(prim, names[str(prim.GetPath())])
        return joints

    def _note_unread(self, prims: list[Any]) -> None:
        """Notes on gravity, and on applied schemas that have no effect here."""
        UsdPhysics = library().UsdPhysics
        unread: Counter[str] = Counter()
        for prim in prims:
            kind = str(prim.GetTypeName())
            if kind and not kind.startswith(_READ_TYPES) and not kind.endswith("Light"):
                unread[kind] += 1
            if prim.IsA(UsdPhysics.Scene):
                self._note_gravity(UsdPhysics.Scene(prim))
            applied = prim.GetPrimTypeInfo().GetAppliedAPISchemas()
            for name in (str(one).partition(":")[0] for one in applied):
                if name not in _READ_APIS:
                    unread[name] += 1
        if unread:
            listed = (f"{name} ({n})" if n > 1 else name for name, n in sorted(unread.items()))
            self.notes.add(f"the simulation does not use: {', '.join(listed)}")

    def _note_gravity(self, scene: Any) -> None:
        prim = scene.GetPrim()
        size = self.stage.number(prim, scene.GetGravityMagnitudeAttr(), -1.0, unbounded=True)
        way = self.stage.vector(prim, scene.GetGravityDirectionAttr())
        size = size * self.stage.metres if 0 <= size < np.inf else _GRAVITY
        there = way is not None and 0 < np.abs(way).max() < np.inf
        way = self.stage.up @ way if there else np.array((0.0, 0.0, -1.0))
        gravity = size * way / np.linalg.norm(way)
        if np.abs(gravity - (0, 0, -_GRAVITY)).max() > 0.02:
            told = [round(one, 6) for one in gravity.tolist()]
            self.notes.add(
                f"gravity of the file is {told} m/s^2; give it to the simulation, whose default is "
                "9.81 downward"
            )


def _names(prims: list[Any]) -> dict[str, str]:
    """Path -> name: the last part of the path, or the whole one where that is not unique."""
    last = Counter(prim.GetName() for prim in prims)
    return {
        str(prim.GetPath()): prim.GetName()
        if last[prim.GetName()] == 1
        else str(prim.GetPath()).lstrip("/")
        for prim in prims
    }
