"""Energy, momentum and violations of a mechanism at its knot."""

from __future__ import annotations

import numpy as np

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.springs import PointSpring
from robosim.kernels.contact.readout import spring_energy as _spring_energy
from robosim.kernels.equations.coordinates import joint_violations
from robosim.runtime.handles import Parts
from robosim.validation import Array


def energy(robot: Mechanism, parts: Parts) -> float:
    """Kinetic and potential energy at the knot [J], of bodies, rotors and springs.

    The potential of gravity is zero at the world's origin.
    """
    bodies, masses = parts.state.bodies, parts.model.bodies["mass"]
    kinetic = 0.5 * np.sum(masses * np.sum(bodies["v"] ** 2, axis=1))
    spin = np.einsum("bi,bij,bj", bodies["omega"], parts.model.bodies["inertia"], bodies["omega"])
    heavy = parts.model.bodies["gravitational_mass"]
    total = kinetic + 0.5 * spin - heavy @ (bodies["x"] @ parts.options.gravity)
    return float(total + _coordinate_energy(robot, parts) + _elastic_energy(robot, parts))


def spring_energy(parts: Parts) -> float:
    """Energy of compliant contacts and limits at the knot [J]."""
    model, system = parts.model, parts.memory.system
    if not (model.contacts["compliant"].any() or model.collision.pairs["compliant"].any()):
        return 0.0
    # The next step goes on from looks of its own, to the last bit.
    system = system._replace(looks=system.looks.copy())
    return float(_spring_energy(model, parts.state, system, parts.work))


def _elastic_energy(robot: Mechanism, parts: Parts) -> float:
    """Energy of soft solids at the knot [J]."""
    bodies, total = parts.state.bodies, 0.0
    for mesh in robot.soft_meshes:
        points = np.array(mesh.positions)
        for k, name in enumerate(mesh.bodies):
            if name is not None:
                body = bodies[robot.body_index(name)]
                points[k] = body["x"] + quaternions.rotation_matrix(body["q"]) @ points[k]
        total += mesh.energy(points)
    return total


def _coordinate_energy(robot: Mechanism, parts: Parts) -> float:
    """Energy of rotors, springs and potentials at the knot [J]."""
    coordinates, q, v = parts.model.coordinates, parts.state.q, parts.state.v
    energy = float(0.5 * coordinates["armature"] @ v**2)
    for joint in parts.model.joints[parts.model.joints["law"] != 0]:
        single = int(joint["m_T"]) + (int(joint["m_R"]) if joint["m_R"] == 1 else 0)
        for row in range(single):
            c = coordinates[joint["v_begin"] + row]
            x = float(q[joint["q_begin"] + row])
            away = x - c["rest"]
            away -= min(max(away, 0.0), c["slack"])
            energy += 0.5 * c["stiffness"] * away**2
        if joint["m_R"] == 3:
            begin = joint["q_begin"] + joint["m_T"]
            turn = quaternions.rotation_vector(q[begin : begin + 4])
            stiffness = coordinates["stiffness"][joint["v_begin"] + joint["m_T"] :][:3]
            energy += 0.5 * float(stiffness @ turn**2)
    elements: list[Joint | PointSpring] = [*robot.joints, *robot.springs]
    for joint, element in zip(parts.model.joints, elements, strict=False):
        own = (element.potential,) if isinstance(element, PointSpring) else element.potentials
        for row, potential in enumerate(own):
            if potential is not None:
                energy += float(potential(q[joint["q_begin"] + row]))
    return energy


def momentum(parts: Parts) -> tuple[Array, Array]:
    """Linear [kg m/s] and angular [kg m^2/s] momentum at the knot, about the world's origin."""
    bodies, masses = parts.state.bodies, parts.model.bodies["mass"]
    linear = masses[:, None] * bodies["shown"][:, :3]
    turns = quaternions.rotation_matrix(bodies["q"])
    inertias = turns @ parts.model.bodies["inertia"] @ np.swapaxes(turns, 1, 2)
    own = np.einsum("bij,bj->bi", inertias, bodies["shown"][:, 3:])
    return linear.sum(axis=0), (own + np.cross(bodies["x"], linear)).sum(axis=0)


def constraint_violation(parts: Parts) -> float:
    """Largest violation of a joint [m, or the sine of half an angle] at the knot."""
    violations = np.zeros(len(parts.model.joints))
    joint_violations(parts.model, parts.state, parts.work, violations)
    return float(violations.max())
