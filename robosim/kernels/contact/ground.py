"""How far contact points are above the ground z = 0, and how far they may come down."""

from math import inf, sqrt

from robosim.compiled.kinds import OVAL, PLANE, RIM
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import pick
from robosim.kernels.equations.algebra import dot
from robosim.kernels.narrow_phase.cylinder import FLAT, NEARLY_FLAT
from robosim.kernels.narrow_phase.motion import leeway
from robosim.kernels.narrow_phase.ovals import oval_reach


@kernel
def ground_gap(contact, pose):
    """Distance of a contact to the ground z = 0 [m], infinite where it is for others to touch.

    Points of a rim touch where that lies flat, where it leans the rim itself.
    """
    R, p, reach = pose.R, contact.p, contact.radius
    height = pose.x[2] + R[2, 0] * p[0] + R[2, 1] * p[1] + R[2, 2] * p[2]
    if contact.kind == RIM or contact.lying != 0:
        slope = dot(R[2], contact.p_end)
        size = sqrt(max(1.0 - slope * slope, 0.0))
        if contact.lying != 0:
            return pick(size > NEARLY_FLAT, inf, height)
        return pick(size < FLAT, inf, height - reach * size)
    if contact.kind == OVAL:
        return height - reach - oval_reach(contact.semi_axes, R[2])
    return height - reach


@kernel
def fall_to_ground(contact, pose, twist, dt, travel, fall):
    """How far a contact may come down within dt [m]: as its point goes on, with room for a change.

    `travel` is how far its body may move in any direction, `fall` what gravity has of that.
    """
    if contact.kind != PLANE or contact.lying != 0:
        return travel
    arm_x, arm_y = dot(pose.R[0], contact.p), dot(pose.R[1], contact.p)
    rate = twist[2] + twist[3] * arm_y - twist[4] * arm_x
    return min(travel, leeway(travel, fall) + max(-2.0 * dt * rate, 0.0))
