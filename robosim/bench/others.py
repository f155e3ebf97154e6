"""Pinocchio's forward dynamics, PyBullet and Drake on mechanisms of ours."""

from __future__ import annotations

from typing import Any

import numpy as np
from lxml import etree

from robosim.bench.case import Setup
from robosim.bench.measure import Contender
from robosim.mechanism import Mechanism


def urdf(robot: Mechanism) -> str:
    """A tree of hinges as a URDF text, without shapes; its links' frames are ours."""
    root = etree.Element("robot", name=robot.name)
    etree.SubElement(root, "link", name="world")
    before: dict[str | None, Any] = {None: np.zeros(3)}
    for joint in robot.tree_joints:
        body = robot.body(joint.child)
        reference = before[body.name] = body.reference_position
        link = etree.SubElement(root, "link", name=body.name)
        inertial = etree.SubElement(link, "inertial")
        etree.SubElement(inertial, "origin", xyz=_text(-reference))
        etree.SubElement(inertial, "mass", value=repr(body.mass))
        J = np.asarray(body.inertia)
        names = {"ixx": (0, 0), "iyy": (1, 1), "izz": (2, 2), "ixy": (0, 1), "ixz": (0, 2)}
        names["iyz"] = (1, 2)
        etree.SubElement(inertial, "inertia", {k: repr(float(J[i])) for k, i in names.items()})
        element = etree.SubElement(root, "joint", name=joint.name, type="continuous")
        etree.SubElement(element, "parent", link=joint.parent or "world")
        etree.SubElement(element, "child", link=body.name)
        # At zero the axes of both bodies agree: these chains have no offsets.
        place = np.asarray(joint.parent_position) - before[joint.parent]
        place = place - (np.asarray(joint.child_position) - reference)
        etree.SubElement(element, "origin", xyz=_text(place))
        etree.SubElement(element, "axis", xyz=_text(np.asarray(joint.axis)))
    return str(etree.tostring(root, encoding="unicode"))


def _text(values: Any) -> str:
    return " ".join(repr(float(value)) for value in values)


def aba(robot: Mechanism, text: str, calls: int, size: int = 0, told: str = "") -> Contender:
    """Pinocchio's aba: accelerations only, no integration, no contacts; its own loop in C++.

    The difference from MuJoCo's accelerations tells that both have the same robot.
    """
    import pinocchio as pin

    root = (pin.JointModelFreeFlyer(),) if robot.floating_base else ()
    model = pin.buildModelFromXML(text, *root)
    pool = pin.ModelPool(model, 1)
    rng = np.random.default_rng(0)
    q = np.array(
        [pin.integrate(model, pin.neutral(model), v) for v in rng.normal(size=(calls, model.nv))]
    )
    v, tau = rng.normal(size=(2, calls, model.nv))
    columns = [np.asfortranarray(array.T) for array in (q, v, tau)]
    out = np.asfortranarray(np.zeros((model.nv, calls)))

    def run() -> bool:
        pin.abaInParallel(1, pool, *columns, out)
        return True

    run()
    data = model.createData()
    k = calls // 2
    M = pin.crba(model, data, q[k])
    M = np.triu(M) + np.triu(M, 1).T
    left = M @ out[:, k] + pin.nonLinearEffects(model, data, q[k], v[k]) - tau[k]
    told += "aba alone, accelerations, no step, no contacts"
    error = {"M a + h - tau, relative": float(np.abs(left).max() / np.abs(tau[k]).max())}
    return Contender("Pinocchio", told, calls, run, errors=error, size=size)


def chains(setup: Setup, robot: Mechanism, n: int, steps: int, dt: float) -> list[Contender]:
    """Pinocchio's aba, PyBullet and Drake on a chain of hinges."""
    found = []
    text = urdf(robot)
    if setup.has("pinocchio"):
        found.append(aba(robot, text, steps, n))
    return found


def standing(setup: Setup, robot: Mechanism, q: Any, pd: Any, dt: float) -> list[Contender]:
    return []
