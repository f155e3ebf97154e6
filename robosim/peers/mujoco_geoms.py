"""Robots as MuJoCo's geoms, and with the meshes that MuJoCo has made of theirs.

MuJoCo keeps vertices in single precision, from the middle of each mesh and along its principal
axes. So both sides are compared for the vertices that MuJoCo has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from robosim import quaternions
from robosim.description.body import Body
from robosim.description.geometry import Geometry
from robosim.description.mechanism import Mechanism
from robosim.kinematics.kinematics import Kinematics
from robosim.peers.mujoco_obstacles import without_cones
from robosim.validation import Array


def _size(shape: Geometry) -> list[float]:
    size = np.array(shape.size)
    if shape.kind == "box":
        size /= 2
    elif len(size) == 2:
        size[1] /= 2
    return [*size, 0.0, 0.0][:3]


def _add(
    spec: Any, kinds: Any, body: Any, shape: Geometry, name: str, meshes: dict[int, str]
) -> None:
    kind = getattr(kinds, f"mjGEOM_{shape.kind.upper()}")
    geom = body.add_geom(name=name, type=kind, pos=shape.position, quat=shape.quaternion)
    if shape.kind != "mesh":
        geom.size = _size(shape)
        return
    if id(shape.vertices) not in meshes:
        used, faces = np.unique(np.asarray(shape.faces), return_inverse=True)
        mesh = spec.add_mesh(name=f"m{len(meshes)}")
        mesh.uservert = np.asarray(shape.vertices)[used].ravel().astype(np.float32)
        mesh.userface = faces.ravel().astype(np.int32)
        mesh.inertia = 3  # a shell, which needs no volume
        meshes[id(shape.vertices)] = mesh.name
    geom.meshname = meshes[id(shape.vertices)]


def _of_model(mujoco: Any, model: Any, data: Any, n: int, shape: Geometry) -> Geometry:
    """A shape as geom n is, where MuJoCo places it."""
    body = model.geom_bodyid[n]
    turn = data.xmat[body].reshape(3, 3).T
    place: dict[str, Any] = {
        "position": turn @ (data.geom_xpos[n] - data.xpos[body]),
        "quaternion": quaternions.from_matrix(turn @ data.geom_xmat[n].reshape(3, 3)),
    }
    if shape.kind != "mesh":
        return replace(shape, **place)
    mesh = model.geom_dataid[n]
    of_vertices = model.mesh_vertadr[mesh] + np.arange(model.mesh_vertnum[mesh])
    of_faces = model.mesh_faceadr[mesh] + np.arange(model.mesh_facenum[mesh])
    vertices, faces = model.mesh_vert[of_vertices].astype(float), model.mesh_face[of_faces]
    return replace(shape, vertices=vertices, faces=faces, uv=None, texture=None, **place)


def as_geoms(mujoco: Any, robot: Mechanism, kind: str, lit: bool = False) -> tuple[Mechanism, Any]:
    """A robot whose shapes of a kind ("collisions", "visuals") are those of the model beside it.

    All bodies of the model are fixed to the world, and called 0, 1 and so on. With `lit`, the model
    has a ground and a light that casts shadows, too.
    """
    spec, meshes, robot = mujoco.MjSpec(), dict[int, str](), without_cones(robot)
    for b, body in enumerate(robot.bodies):
        added = spec.worldbody.add_body(name=str(b))
        for k, shape in enumerate(getattr(body, kind)):
            _add(spec, mujoco.mjtGeom, added, shape, f"{b} {k}", meshes)
    if lit:
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=(20.0, 20.0, 0.1))
        spec.worldbody.add_light(pos=(1.1, -1.3, 2.0), dir=(-0.55, 0.65, -1.0), castshadow=True)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)

    def same(b: int, body: Body) -> Body:
        shapes = [
            _of_model(mujoco, model, data, model.geom(f"{b} {k}").id, shape)
            for k, shape in enumerate(getattr(body, kind))
        ]
        changed: dict[str, Any] = {kind: tuple(shapes)}
        return replace(body, **changed)

    return replace(robot, bodies=tuple(same(*one) for one in enumerate(robot.bodies))), model


def moved(mujoco: Any, model: Any, robot: Mechanism, q: Array) -> Any:
    """MuJoCo's data with all bodies where the robot has them at q."""
    kinematics, data = Kinematics(robot, q), mujoco.MjData(model)
    for b in range(len(robot.bodies)):
        n = model.body(str(b)).id
        model.body_pos[n] = kinematics.x[b]
        model.body_quat[n] = quaternions.from_matrix(kinematics.R[b])
    mujoco.mj_forward(model, data)
    return data
