"""The length of a tendon, and its derivatives by the motions of the bodies that it runs over.

A tendon is a joint of no constraints whose one coordinate is its length. The bodies that it acts on
are its spans: each has a row of the derivatives by its world twist, whose transpose turns the
tension, as a force along growing length, into a wrench. A path without friction is as short as
it can be where it wraps around something, so that only its straight parts give rows.
"""

from math import acos, asin, atan2, cos, floor, pi, sin, sqrt

from robosim.compiled.kinds import PULLEY, SPHERE_WRAP, TERM, VIA
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.equations.algebra import cross, dot, fill, rotate
from robosim.kernels.equations.joint import joint_motion_map


@kernel
def is_tendon(joint):
    """Whether this joint's coordinate is the length of a tendon."""
    return joint.path_end > joint.path_begin


@aside
def follow_tendon(model, joint, poses, q, spans, t):
    """The length of a tendon at `poses` and joint coordinates q; its rows into `spans`."""
    for n in range(joint.span_begin, joint.span_end):
        fill(0.0, spans[n].w)
    length, share = 0.0, 1.0
    for k in range(joint.path_begin, joint.path_end):
        item = model.paths[k]
        if item.kind == TERM:
            x = q[model.joints[item.joint].q_begin + item.row]
            a, b, c = item.p[0], item.p[1], item.p[2]
            length += x * (item.factor + x * (a + x * (b + x * c)))
            slope = item.factor + x * (2.0 * a + x * (3.0 * b + x * 4.0 * c))
            add_term(model.joints[item.joint], item, slope, poses, q, spans, t)
        elif item.kind == PULLEY:
            share = item.factor
        elif item.kind == VIA and k + 1 < joint.path_end:
            after = model.paths[k + 1]
            if after.kind == VIA:
                place_point(item.p, poses[item.body], t.R_J[0])
                place_point(after.p, poses[after.body], t.R_J[1])
                length += add_stretch(item, after, t.R_J[0], t.R_J[1], poses, share, spans, t)
            elif after.kind != PULLEY:
                end = model.paths[k + 2]
                length += add_wrapped(item, after, end, poses, share, spans, t)
    return length


@kernel
def add_term(joint, item, slope, poses, q, spans, t):
    """A coordinate's rows, for the two bodies of its joint, times the length's slope by it."""
    a, b = poses[joint.parent], poses[joint.child]
    joint_motion_map(joint, a, b, q, t, 0, t.S_a, t.S_b)
    for k in range(6):
        spans[item.span].w[k] += slope * t.S_b[item.row, k]
        if item.span_parent >= 0:
            spans[item.span_parent].w[k] += slope * t.S_a[item.row, k]


@kernel
def place_point(p, pose, out):
    """out = where the point p of a body is in the world."""
    rotate(pose.R, p, out)
    for i in range(3):
        out[i] += pose.x[i]


@kernel
def add_stretch(first, second, start, end, poses, share, spans, t):
    """The length of a straight part from `start` to `end`, times `share`; its rows are added."""
    for i in range(3):
        t.w[i] = end[i] - start[i]
    length = sqrt(dot(t.w, t.w))
    scale = share / length if length > 1e-12 else 0.0
    for i in range(3):
        t.w[i] *= scale
    add_pull(second, end, 1.0, poses, spans, t)
    add_pull(first, start, -1.0, poses, spans, t)
    return share * length


@kernel
def add_pull(item, at, sign, poses, spans, t):
    """Add the rows of a point that moves along sign t.w to those of its body."""
    if item.span < 0:
        return
    row = spans[item.span].w
    for i in range(3):
        t.y[i] = sign * (at[i] - poses[item.body].x[i])
    cross(t.y, t.w, t.z)
    for i in range(3):
        row[i] += sign * t.w[i]
        row[3 + i] += t.z[i]


@kernel
def add_wrapped(first, wrap, second, poses, share, spans, t):
    """The length from a point to another one around a sphere or cylinder; its rows are added."""
    start, end, center = t.R_J[0], t.R_J[1], t.R_J[2]
    place_point(first.p, poses[first.body], start)
    place_point(second.p, poses[second.body], end)
    place_point(wrap.p, poses[wrap.body], center)
    # Ends and side from the centre, then the axes of the plane that it bends in.
    a, b, side, e0, e1, e2 = t.S_a[0, :3], t.S_a[1, :3], t.S_a[2, :3], t.S_b[0], t.S_b[1], t.S_b[2]
    for i in range(3):
        a[i], b[i] = start[i] - center[i], end[i] - center[i]
    if min(dot(a, a), dot(b, b)) < 1e-30:
        return add_stretch(first, second, start, end, poses, share, spans, t)
    if wrap.kind == SPHERE_WRAP:
        plane_through(a, b, e0, e1, e2)
    else:
        cylinder_axes(wrap, poses[wrap.body], e0, e1, e2)
    ax, ay, bx, by = dot(a, e0), dot(a, e1), dot(b, e0), dot(b, e1)
    inside = False
    sx, sy = 0.0, 0.0
    if wrap.has_side != 0:
        place_point(wrap.side, poses[wrap.side_body], side)
        for i in range(3):
            side[i] -= center[i]
        inside = dot(side, side) < wrap.radius * wrap.radius
        sx, sy = dot(side, e0), dot(side, e1)
    if inside:
        arc, x0, y0, x1, y1 = touch_inside(ax, ay, bx, by, wrap.radius)
    else:
        arc, x0, y0, x1, y1 = wrap_circle(ax, ay, bx, by, wrap.has_side != 0, sx, sy, wrap.radius)
    if arc < 0.0:
        return add_stretch(first, second, start, end, poses, share, spans, t)
    z0, z1 = 0.0, 0.0
    if wrap.kind != SPHERE_WRAP:
        # Along the axis it climbs evenly.
        before = sqrt((ax - x0) * (ax - x0) + (ay - y0) * (ay - y0))
        after = sqrt((bx - x1) * (bx - x1) + (by - y1) * (by - y1))
        low, whole = dot(a, e2), before + arc + after
        climb = (dot(b, e2) - low) / whole
        z0, z1 = low + climb * before, low + climb * (before + arc)
        arc = sqrt(arc * arc + (z1 - z0) * (z1 - z0))
    for i in range(3):
        a[i] = center[i] + x0 * e0[i] + y0 * e1[i] + z0 * e2[i]
        b[i] = center[i] + x1 * e0[i] + y1 * e1[i] + z1 * e2[i]
    length = add_stretch(first, wrap, start, a, poses, share, spans, t)
    length += add_stretch(wrap, second, b, end, poses, share, spans, t)
    return length + share * arc


@kernel
def plane_through(a, b, e0, e1, e2):
    """Axes e0 (6,) along a, e1 in the plane of a and b, e2 across, in their first three places."""
    cross(a, b, e2)
    size = sqrt(dot(e2, e2))
    if size < 1e-15:
        # In line with the centre any plane will do.
        least = 0
        for i in range(1, 3):
            if abs(a[i]) < abs(a[least]):
                least = i
        fill(0.0, e1)
        e1[least] = 1.0
        cross(a, e1, e2)
        size = sqrt(dot(e2, e2))
    length = sqrt(dot(a, a))
    for i in range(3):
        e0[i] = a[i] / length
        e2[i] /= size
    cross(e2, e0, e1)


@kernel
def cylinder_axes(wrap, pose, e0, e1, e2):
    """Axes of a cylinder in the world, e2 along it."""
    rotate(pose.R, wrap.axes[0], e0)
    rotate(pose.R, wrap.axes[1], e1)
    rotate(pose.R, wrap.axes[2], e2)


@kernel
def wrap_circle(ax, ay, bx, by, has_side, sx, sy, radius):
    """(arc, x0, y0, x1, y1): how a path from a to b in a plane bends around a circle at 0.

    Its arc's length and ends, or a length of -1 if it goes past. It takes the shorter way around,
    if the straight one is blocked at all. If the side is right behind the circle, seen from between
    a and b, it takes the longer way.
    """
    square, aa, bb = radius * radius, ax * ax + ay * ay, bx * bx + by * by
    dx, dy, across = bx - ax, by - ay, ax * by - ay * bx
    dd = dx * dx + dy * dy
    if aa < square or bb < square or dd < 1e-30:
        return -1.0, 0.0, 0.0, 0.0, 0.0
    sense = 1.0 if across > 0.0 else -1.0
    behind = sense * (sy * bx - sx * by) > 0.0 and sense * (sx * ay - sy * ax) > 0.0
    if has_side and behind:
        sense = -sense
    else:
        near = min(max(-(dx * ax + dy * ay) / dd, 0.0), 1.0)
        nx, ny = ax + near * dx, ay + near * dy
        if nx * nx + ny * ny > square:
            return -1.0, 0.0, 0.0, 0.0, 0.0
    first = atan2(ay, ax) + sense * acos(min(1.0, radius / sqrt(aa)))
    last = atan2(by, bx) - sense * acos(min(1.0, radius / sqrt(bb)))
    turn = sense * (last - first)
    turn -= 2.0 * pi * floor(turn / (2.0 * pi))
    x0, y0, x1, y1 = cos(first), sin(first), cos(last), sin(last)
    return radius * turn, radius * x0, radius * y0, radius * x1, radius * y1


@kernel
def touch_inside(ax, ay, bx, by, radius):
    """Like `wrap_circle` for a path that has to go through the circle: it touches in one point.

    There both parts make the same angle with the circle. With z its sine, seen from the
    centre a is away by asin z - asin(z radius / |a|), b likewise, and both make the angle a 0 b.
    """
    la, lb = sqrt(ax * ax + ay * ay), sqrt(bx * bx + by * by)
    dx, dy = bx - ax, by - ay
    dd = dx * dx + dy * dy
    if la <= radius or lb <= radius or dd < 1e-30:
        return -1.0, 0.0, 0.0, 0.0, 0.0
    near = -(dx * ax + dy * ay) / dd
    if 0.0 < near < 1.0:
        nx, ny = ax + near * dx, ay + near * dy
        if nx * nx + ny * ny <= radius * radius:
            return -1.0, 0.0, 0.0, 0.0, 0.0
    angle = atan2(ax * by - ay * bx, ax * bx + ay * by)
    between = abs(angle)
    low, high, ra, rb = 0.0, 1.0, radius / la, radius / lb
    if between < 1e-12 or 2.0 * asin(high) - asin(ra) - asin(rb) <= between:
        # Nowhere at equal angles, or straight there and back.
        mx, my = ax + bx, ay + by
        size = radius / sqrt(mx * mx + my * my)
        return 0.0, size * mx, size * my, size * mx, size * my
    for _ in range(60):
        z = 0.5 * (low + high)
        if 2.0 * asin(z) - asin(ra * z) - asin(rb * z) > between:
            high = z
        else:
            low = z
    turn = asin(low) - asin(ra * low)
    turn = atan2(ay, ax) + (turn if angle > 0.0 else -turn)
    x, y = radius * cos(turn), radius * sin(turn)
    return 0.0, x, y, x, y


@kernel
def add_span_impulses(model, joint, spans, impulse, impulses):
    """What an impulse along a tendon does to its bodies."""
    for n in range(joint.span_begin, joint.span_end):
        body = model.spans[n].body
        for k in range(6):
            impulses[body].w[k] += spans[n].w[k] * impulse


@kernel
def span_rate(model, joint, spans, motions):
    """(rate of a tendon's length for motions of its bodies, sum of its parts' sizes)."""
    rate, size = 0.0, 0.0
    for n in range(joint.span_begin, joint.span_end):
        body = model.spans[n].body
        for k in range(6):
            term = spans[n].w[k] * motions[body].w[k]
            rate += term
            size += abs(term)
    return rate, size


@kernel
def place_tendon_blocks(model, joint, left, right, w, blocks):
    """Blocks of a tendon; its row reads d impulse - A rate = residual, or rate of what is held."""
    for row in range(6):
        blocks[joint.node].F[row, row] = 1.0
    if w.rows == 0:
        return
    slope = -w.A[0, 0]
    if w.held[0] != 0:
        blocks[joint.node].F[0, 0] = joint.compliance_T
        slope = 1.0
    for n in range(joint.span_begin, joint.span_end):
        span = model.spans[n]
        for k in range(6):
            blocks[span.body_node].F[k, 0] = -left[n].w[k]
            blocks[span.node_body].F[0, k] = slope * right[n].w[k]
