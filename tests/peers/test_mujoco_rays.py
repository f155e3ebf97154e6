"""Rays against ten robots, beside `mj_ray`."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim.dynamics import Dynamics
from robosim.loaders.packages import example_robot_data
from robosim.peers.mujoco_geoms import as_geoms, moved
from robosim.rays import Scene

mujoco = pytest.importorskip("mujoco")
pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(example_robot_data() is None, reason="needs example-robot-data"),
    pytest.mark.filterwarnings("ignore"),
]
RAYS = 10_000
ROBOTS = {
    "a1": "collision",
    "g1_description/g1_29dof_rev_1_0": "collision",
    "go2_description": "collision",
    "panda_description/panda": "collision",
    "so_arm_description/so101": "collision",
    "solo_description/solo12": "visual",
    "talos_data/talos_full_v2": "collision",
    "tiago_description/tiago": "collision",
    "ur_description/ur5_robot": "visual",
    "z1_description": "collision",
}


@pytest.mark.parametrize("name", ROBOTS)
def test_distances_bodies_and_normals_are_those_of_mujoco(name):
    kind = ROBOTS[name]
    robot = robosim.load(name, floating_base=False, ground=False)
    robot, model = as_geoms(mujoco, robot, f"{kind}s")
    rng = np.random.default_rng(1)
    q = Dynamics(robot).random(rng)
    data = moved(mujoco, model, robot, q)
    low, high = data.geom_xpos.min(axis=0) - 0.05, data.geom_xpos.max(axis=0) + 0.05
    origins = rng.uniform(low - 0.3, high + 0.3, (RAYS, 3))
    ways = rng.uniform(low, high, (RAYS, 3)) - origins
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    distance, body, normal = np.empty(RAYS), np.empty(RAYS, dtype=int), np.empty((RAYS, 3))
    found, n = np.zeros(1, dtype=np.int32), np.zeros(3)
    for k in range(RAYS):
        distance[k] = mujoco.mj_ray(model, data, origins[k], ways[k], None, 1, -1, found, n)
        body[k], normal[k] = model.geom_bodyid[found[0]] - 1, n
    hits = Scene(robot, kind).at(q).cast(origins, ways)
    there = distance >= 0
    assert 0.2 < there.mean() < 0.99
    np.testing.assert_array_equal(np.isfinite(hits.distance), there)
    np.testing.assert_allclose(hits.distance[there], distance[there], rtol=0, atol=1e-9)
    # Where surfaces of two shapes coincide, either one may come first.
    same = hits.body[there] == body[there]
    assert same.mean() > 0.999
    np.testing.assert_allclose(hits.normal[there][same], normal[there][same], atol=1e-6)
