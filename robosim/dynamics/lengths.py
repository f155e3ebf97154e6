"""Forces along lengths in joint coordinates: tendons, and springs between points.

Dense Jacobians of `Kinematics` make these much slower than recursions over the tree.
"""

from __future__ import annotations

import threading

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.description.springs import PointSpring, Potential
from robosim.description.tendon import Tendon
from robosim.dynamics.length_jets import MovingBodies, length_slopes
from robosim.dynamics.passive import curvature
from robosim.errors import ModelError
from robosim.kinematics.kinematics import Kinematics
from robosim.kinematics.recursion import Recursion
from robosim.validation import Array


class Lengths:
    """Tendons and springs between points of a robot, evaluated at states.

    Attributes
    ----------
    inert : bool
        Whether a tendon has inertia.
    acts : bool
        Whether there are springs, dampers or potentials along lengths.
    """

    def __init__(self, robot: Mechanism) -> None:
        self.robot = robot
        self._springs = tuple(s for s in robot.springs if _acts(s))
        self.inert = any(tendon.armature > 0 for tendon in robot.tendons)
        self.acts = bool(self._springs or robot.soft_meshes) or any(map(_acts, robot.tendons))
        self._lock = threading.Lock()
        self._kinematics: Kinematics | None = None

    def _at(self, q: Array) -> Kinematics:
        if self._kinematics is None:
            self._kinematics = Kinematics(self.robot)
        self._kinematics.move_to(q)
        return self._kinematics

    def inertia(self, q: Array) -> Array:
        """Inertia of tendons, (nv, nv)."""
        with self._lock:
            J = self._at(q).tendon_jacobian()
        return np.asarray((J.T * self._armatures()) @ J)

    def inertial_forces(self, q: Array, v: Array, a: Array) -> Array:
        """Forces (nv,) for the inertia of tendons: J^T m (J a + J' v)."""
        with self._lock:
            at = self._at(q)
            J = at.tendon_jacobian()
            return np.asarray((self._armatures() * (J @ a + at.tendon_bias_accelerations(v))) @ J)

    def tendons(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Lengths (nt,) of all tendons, their Jacobian (nt, nv), and J' v (nt,)."""
        with self._lock:
            at = self._at(q)
            parts = at.tendon_lengths(), at.tendon_jacobian(), at.tendon_bias_accelerations(v)
        return parts

    def _armatures(self) -> Array:
        return np.array([tendon.armature for tendon in self.robot.tendons])

    def forces(self, q: Array, v: Array) -> Array:
        """Generalized forces (nv,) of springs, dampers and potentials."""
        self._refuse_soft()
        out = np.zeros(self.robot.nv)
        with self._lock:
            at = self._at(q)
            for element, length, row in self._rows(at):
                out -= row * _tension(element, length, float(row @ v))
        return out

    def slopes(self, on: Recursion, passive: bool, q: Array, v: Array, a: Array) -> Array:
        """Derivatives (3, nv, nv) of required forces by q along the tangent, v and a.

        Forces are those for the inertia of tendons and, if `passive`, for springs, dampers and
        potentials.

        Raises
        ------
        StateError
            If a path has no second derivatives.
        """
        if passive:
            self._refuse_soft()
        out = np.zeros((3, self.robot.nv, self.robot.nv))
        with self._lock:
            at = MovingBodies(on, self._at(q), v)
        elements: list[Tendon | PointSpring] = [*self.robot.tendons]
        elements += self._springs if passive else ()
        for element in elements:
            mass = element.armature if isinstance(element, Tendon) else 0.0
            if not (mass or (passive and _acts(element))):
                continue
            length, J, D, bias, bias_slopes = length_slopes(at, element)
            force, by_length = mass * (J @ a + bias), mass * (a @ D + bias_slopes)
            by_rate = mass * (v @ D + D @ v)
            if passive:
                force += _tension(element, length, float(J @ v))
                by_length += _stiffness(element, length) * J + element.damping * (v @ D)
                by_rate += element.damping * J
            out += J[:, None] * np.stack((by_length, by_rate, mass * J))[:, None]
            out[0] += force * D
        return out

    def energy(self, q: Array, v: Array) -> float:
        """Energy of tendons with inertia, and of all springs and potentials [J]."""
        self._refuse_soft()
        energy = 0.0
        with self._lock:
            for element, length, row in self._rows(self._at(q)):
                energy += 0.5 * element.stiffness * _stretch(element, length) ** 2
                if isinstance(element, Tendon):
                    energy += 0.5 * element.armature * float(row @ v) ** 2
                elif element.potential is not None:
                    energy += float(element.potential(length))
        return energy

    def _refuse_soft(self) -> None:
        for mesh in self.robot.soft_meshes:
            raise ModelError(
                "is elastic, and forces of solids are not those of Dynamics: leave them out by "
                "passive=False, or use robosim.Simulation, which has them",
                element=f"soft '{mesh.name}'",
            )

    def _rows(self, at: Kinematics) -> list[tuple[Tendon | PointSpring, float, Array]]:
        """Each element with its length, and the derivatives (nv,) by the velocities."""
        found: list[tuple[Tendon | PointSpring, float, Array]] = []
        if self.robot.tendons:
            parts = at.tendon_lengths(), at.tendon_jacobian()
            found += list(zip(self.robot.tendons, *parts, strict=True))
        for spring in self._springs:
            (a, J_a), (b, J_b) = (
                _point(at, name, position)
                for name, position in (
                    (spring.parent, spring.parent_position),
                    (spring.child, spring.child_position),
                )
            )
            length = float(np.linalg.norm(b - a))
            way = (b - a) / length if length > 0 else np.zeros(3)
            found.append((spring, length, way @ (J_b - J_a)))
        return found


def _acts(element: Tendon | PointSpring) -> bool:
    potential = isinstance(element, PointSpring) and element.potential is not None
    return element.stiffness > 0 or element.damping > 0 or potential


def _stretch(element: Tendon | PointSpring, length: float) -> float:
    """Extension of a spring beyond its rest length."""
    low, high = np.broadcast_to(np.asarray(element.rest_length), (2,))
    return float(length - np.clip(length, low, high))


def _tension(element: Tendon | PointSpring, length: float, rate: float) -> float:
    force = element.stiffness * _stretch(element, length) + element.damping * rate
    if isinstance(element, PointSpring) and element.potential is not None:
        force += slope(element.potential, length)
    return force


def _stiffness(element: Tendon | PointSpring, length: float) -> float:
    """Derivative of the tension by the length."""
    low, high = np.broadcast_to(np.asarray(element.rest_length), (2,))
    slack = low < high and low <= length <= high
    slope = 0.0 if slack else element.stiffness
    if isinstance(element, PointSpring) and element.potential is not None:
        slope += float(curvature(element.potential, np.asarray(length)))
    return slope


def slope(potential: Potential, x: float) -> float:
    """Derivative of a potential."""
    begins = np.asarray(potential.x)
    piece = int(np.clip(np.searchsorted(begins, x, side="right") - 1, 0, len(begins) - 2))
    c, d = potential.pieces[piece], x - begins[piece]
    return float(c[1] + d * (2 * c[2] + 3 * d * c[3]))


def _point(at: Kinematics, name: str | None, position: object) -> tuple[Array, Array]:
    """World position of a point of a body, and its Jacobian (3, nv)."""
    if name is None:
        return np.asarray(position, dtype=float), np.zeros((3, at.robot.nv))
    index = at.robot.body_index(name)
    arm = at.R[index] @ np.asarray(position, dtype=float)
    J = at.jacobian()[index]
    return at.x[index] + arm, J[:3] + np.cross(J[3:], arm, axis=0)
