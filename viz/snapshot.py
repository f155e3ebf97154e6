"""The present state of a simulation for the viewer, for recordings and for charts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions, se3
from robosim.description.mechanism import Mechanism
from robosim.errors import StateError
from robosim.formulation import Formulation
from robosim.log import LogInfo

Array = NDArray[np.float64]
FAR = 1.0  # violation of a joint in a loop whose child is not near its chart
MAX_FORCES = 16  # lines in the chart of contact forces


def snapshot(sim: Formulation) -> dict[str, Any]:
    """Arguments of `Viewer.update` and `Recorder.add`: poses, contacts and time."""
    positions, forces = sim.contact_positions(), sim.contact_forces()
    shapes = sim.contacts(ground=False)
    if shapes:
        positions = np.vstack((positions, [contact.position for contact in shapes]))
        forces = np.vstack((forces, [contact.force for contact in shapes]))
    return {
        "x": sim.state.x,
        "q": sim.state.q,
        "contact_positions": positions,
        "contact_forces": forces,
        "time": sim.time,
    }


class JointViolations:
    """Violations of all joints of a robot, computed from the poses of its bodies.

    The residuals are those of the integrator's constraints (see `robosim.joints`), of which a
    simulation returns only the largest.
    """

    def __init__(self, robot: Mechanism) -> None:
        joints, n = robot.joints, len(robot.bodies)
        self._a = np.array([n if j.parent is None else robot.body_index(j.parent) for j in joints])
        self._b = np.array([robot.body_index(joint.child) for joint in joints])
        self._p_a = np.array([np.asarray(joint.parent_position) for joint in joints])
        self._p_b = np.array([np.asarray(joint.child_position) for joint in joints])
        offsets = np.array([np.asarray(joint.offset) for joint in joints])
        self._offset = offsets
        self._R_offset = quaternions.rotation_matrix(offsets)
        self._robot = robot
        self._charted = [k for k, joint in enumerate(joints) if joint.own_chart is not None]
        self._D_T = np.zeros((len(joints), 3, 3))
        self._D_R = np.zeros((len(joints), 3, 3))
        for k, joint in enumerate(joints):
            self._D_T[k, :, : joint.D_T.shape[1]] = joint.D_T
            self._D_R[k, :, : joint.D_R.shape[1]] = joint.D_R

    def __call__(self, x: Array, q: Array, coordinates: Array) -> Array:
        """(nj,) [m, or the sine of half an angle] for poses x (nb, 3), q (nb, 4).

        With the coordinates (nq,) of the tree, at which charts are read. What a chart is off by is
        a twist [m, rad].
        """
        x = np.vstack((x, np.zeros(3)))
        q = np.vstack((q, quaternions.IDENTITY))
        R = quaternions.rotation_matrix(q)
        a, b = self._a, self._b
        apart = x[b] + np.einsum("jik,jk->ji", R[b], self._p_b)
        apart -= x[a] + np.einsum("jik,jk->ji", R[a], self._p_a)
        R_joint = R[a] @ self._R_offset
        g_T = np.einsum("jik,ji->jk", R_joint, apart)
        turned = _conjugate_times(self._offset, _conjugate_times(q[a], q[b]))[:, 1:]
        broken = np.concatenate(
            (np.einsum("jik,ji->jk", self._D_T, g_T), np.einsum("jik,ji->jk", self._D_R, turned)),
            axis=1,
        )
        off = np.abs(broken).max(axis=1)
        for k in self._charted:
            E = se3.transformation(R_joint[k].T @ R[b[k]], g_T[k])
            off[k] = self._off_chart(k, E, coordinates)
        return np.asarray(off)

    def _off_chart(self, k: int, E: Array, coordinates: Array) -> float:
        """The distance of a pose E (4, 4) of joint k's child from its chart."""
        # Imported here, as this imports numba, which recordings do not need.
        from robosim.kinematics.relative_on_chart import nearest

        joint = self._robot.joints[k]
        chart = joint.own_chart
        assert chart is not None
        if k < len(self._robot.tree_joints):
            begin = self._robot.q_offsets[k]
            q = coordinates[begin : begin + joint.nq]
            left = se3.log(se3.inverse(chart.pose(q)) @ E)
        else:
            try:
                q, left = nearest(chart, E)
            except StateError:
                return FAR
        across = np.linalg.svd(chart.columns(q))[0][:, chart.nv :]
        return float(np.abs(across.T @ left).max(initial=0.0))


def _conjugate_times(a: Array, b: Array) -> Array:
    """Products of conjugates of quaternions a (n, 4) with quaternions b (n, 4)."""
    scalar = np.einsum("ji,ji->j", a, b)
    vector = a[:, :1] * b[:, 1:] - b[:, :1] * a[:, 1:] - np.cross(a[:, 1:], b[:, 1:])
    return np.hstack((scalar[:, None], vector))


def joint_charts(info: LogInfo) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """Charts of joint positions, velocities and torques, one for each unit of them.

    With the places of their lines among the columns of q, v and tau.
    """
    charts: list[dict[str, Any]] = []
    places = []
    for what, names in (("position", info.q), ("velocity", info.v), ("torque", info.tau)):
        stems: dict[str, dict[int, str]] = {}
        for k, name in enumerate(names):
            if name.endswith(f".{what}"):
                of_unit = stems.setdefault(info.units.get(name, ""), {})
                of_unit[k] = name.removesuffix(f".{what}")
        charts += [
            {"title": f"joint {what}", "unit": unit, "names": list(found.values())}
            for unit, found in stems.items()
        ]
        places.append([k for found in stems.values() for k in found])
    return charts, places


class Probe:
    """Samples of a simulation for the charts.

    Attributes
    ----------
    charts : list of dict
        Title, unit and names of lines of each chart. A sample has the time, and then the values
        of all lines in this order.
    """

    def __init__(self, robot: Mechanism) -> None:
        joints, (self._q, self._v, self._tau) = joint_charts(LogInfo.of(robot, 0.0))
        touching = {contact.body: None for contact in robot.contacts}
        touching |= {body.name: None for body in robot.bodies if body.collisions}
        self._bodies = list(touching)[:MAX_FORCES]
        self._of_contact = [
            self._bodies.index(contact.body) if contact.body in self._bodies else MAX_FORCES
            for contact in robot.contacts
        ]
        self.charts = [
            {"title": "real-time factor", "unit": "", "names": ["factor"]},
            {"title": "energy", "unit": "J", "names": ["total"]},
            *joints,
            *([{"title": "contact force", "unit": "N", "names": self._bodies}] * bool(touching)),
            {"title": "Newton iterations", "unit": "", "names": ["a step"]},
        ]
        self.width = 1 + sum(len(chart["names"]) for chart in self.charts)

    def __call__(self, sim: Formulation, chunk: Any, factor: float) -> Array:
        """A sample (width,); ``chunk`` is the last one of the run, or None before the first."""
        tau = np.zeros(len(self._tau)) if chunk is None else chunk.tau[-1][self._tau]
        iterations = 0.0 if chunk is None else float(np.mean(chunk.iterations))
        parts = [[sim.time, factor, sim.energy()], sim.q[self._q], sim.v[self._v], tau]
        if self._bodies:
            parts.append(self._forces(sim))
        return np.concatenate((*parts, [iterations]))

    def _forces(self, sim: Formulation) -> Array:
        """Size of the sum of the contact forces on each body [N]."""
        total = np.zeros((MAX_FORCES + 1, 3))
        np.add.at(total, self._of_contact, sim.contact_forces())
        for contact in sim.contacts(ground=False):
            for body, sign in ((contact.body, 1.0), (contact.other, -1.0)):
                if body in self._bodies:
                    total[self._bodies.index(body)] += sign * contact.force
        return np.linalg.norm(total[: len(self._bodies)], axis=1)
