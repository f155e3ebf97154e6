"""The formulation of [Sueda] as a reference: an independent computation in plain numpy."""

from __future__ import annotations

import numpy as np

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.peers.answers import GRAVITY, Answer
from robosim.reduced.forces import coriolis_and_weight
from robosim.reduced.tree import Links, Placed
from robosim.validation import Array
from robosim.version import __version__


class Reduced:
    """The equations of `robosim.ReducedSimulation`, with bodies and joints that move freely.

    The mass matrix is ``J^T M J`` with Jacobians of [Sueda, Alg. 1], and accelerations are those of
    Alg. 10. Neither shares code with the compared functions. No model file is needed.
    """

    name = "reduced"
    version = __version__

    def __init__(self, robot: Mechanism) -> None:
        self._links = Links(robot)
        self._links.armature = np.zeros(robot.nv)
        self._fixed = {frame.name: frame for frame in robot.world_frames}
        self._frames = {frame.name: (i, frame) for i, frame in robot.frames()}
        self.frames = (*self._frames, *self._fixed)
        self.total_mass = float(self._links.inertias[:, 0, 0].sum())

    def answer(self, q: Array, v: Array, tau: Array) -> Answer:
        links = self._links
        placed = Placed(links, q, v)
        E, twists = placed.E, placed.twists
        acting = coriolis_and_weight(links, E, twists, np.asarray(GRAVITY))
        inert = np.einsum("nij,nj->ni", links.inertias, placed.bias)
        bias = placed.transposed(inert - acting)
        solve = placed.inertia_solver()
        positions, rotations = {}, {}
        for name, (i, frame) in self._frames.items():
            R = E[i][:3, :3]
            positions[name] = E[i][:3, 3] + R @ np.asarray(frame.position)
            rotations[name] = R @ quaternions.rotation_matrix(np.asarray(frame.quaternion))
        for name, frame in self._fixed.items():
            positions[name] = np.asarray(frame.position)
            rotations[name] = quaternions.rotation_matrix(np.asarray(frame.quaternion))
        masses = links.inertias[:, 0, 0]
        center = masses @ np.array([F[:3, 3] for F in E]) / self.total_mass
        return Answer(
            np.asarray(center), positions, rotations, placed.mass_matrix(), bias, solve(tau - bias)
        )
