"""Records of the paths of tendons."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.compiled.kinds import CYLINDER_WRAP, PULLEY, SPHERE_WRAP, TERM, VIA
from robosim.compiled.order import coordinate_places
from robosim.compiled.records.joint import COMPLIANCE
from robosim.compiled.records.tendon import PATH, SPAN
from robosim.description.mechanism import Mechanism
from robosim.description.tendon import Point, Pulley, Term, Wrap


def path_records(
    mechanism: Mechanism, joints: NDArray[np.void]
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """PATH and SPAN records; JOINT records of tendons get their places."""
    nb = len(mechanism.bodies)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    places = coordinate_places(mechanism)
    paths: list[Any] = []
    spans: list[int] = []
    for joint, tendon in zip(joints[len(joints) - len(mechanism.tendons) :], mechanism.tendons,
                             strict=True):  # fmt: skip
        joint["path_begin"], joint["span_begin"] = len(paths), len(spans)
        mine: dict[int, int] = {nb: -1}

        def span(body: int, mine: dict[int, int] = mine) -> int:
            if body not in mine:
                mine[body] = len(spans)
                spans.append(body)
            return mine[body]

        for part in tendon.path:
            record: Any = np.zeros((), dtype=PATH)
            match part:
                case Term():
                    j, row = places[part.coordinate]
                    ends = int(joints[j]["child"]), int(joints[j]["parent"])
                    record["kind"], record["joint"], record["row"] = TERM, j, row
                    record["factor"], record["p"] = part.factor, part.higher
                    record["span"], record["span_parent"] = span(ends[0]), span(ends[1])
                case Pulley():
                    record["kind"], record["factor"] = PULLEY, 1 / part.divisor
                case Point() | Wrap():
                    body = nb if part.body is None else index[part.body]
                    record["kind"], record["body"], record["span"] = VIA, body, span(body)
                    record["p"] = part.position
            if isinstance(part, Wrap):
                record["kind"] = SPHERE_WRAP if part.kind == "sphere" else CYLINDER_WRAP
                record["axes"] = quaternions.rotation_matrix(part.quaternion).T
                record["radius"] = part.radius
                if part.side is not None:
                    record["has_side"], record["side"] = 1, part.side.position
                    record["side_body"] = nb if part.side.body is None else index[part.side.body]
            paths.append(record)
        joint["path_end"], joint["span_end"] = len(paths), len(spans)
        # A unit of tension acts on a coordinate as a unit of its joint's force, times its factor.
        for body in mine.keys() - {nb}:
            joint["scale_T"] += 1 / mechanism.bodies[body].mass
        if tendon.is_fixed:
            terms = paths[int(joint["path_begin"]) :]
            joint["scale_T"] = sum(_term_scale(joints, term) for term in terms)
        joint["compliance_T"] = COMPLIANCE * joint["scale_T"]
    span_records = np.zeros(len(spans), dtype=SPAN)
    span_records["body"] = spans
    return np.array(paths, dtype=PATH), span_records


def _term_scale(joints: NDArray[np.void], term: Any) -> float:
    """Velocity of one of a tendon's coordinates by a unit of the tendon's impulse."""
    joint = joints[term["joint"]]
    scale = joint["scale_R" if term["row"] >= joint["m_T"] else "scale_T"]
    return abs(float(term["factor"] * scale))
