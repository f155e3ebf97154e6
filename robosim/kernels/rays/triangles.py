"""Rays against triangles, boxes, and meshes by their trees."""

from math import inf, sqrt

from robosim.kernels.compiler.jit import kernel

# More than what rounding takes from the far end of an interval in a box: a ray misses no box.
OVER = 1.0000000000000009
LARGEST = 1e300  # 1 / d of a direction without a part along an axis


@kernel
def aim(ray):
    """What boxes and triangles need of a ray whose o and d are set."""
    most = 0
    for k in range(3):
        d = ray.d[k]
        ray.near[k] = 0 if d >= 0.0 else 1
        ray.inverse[k] = 1.0 / d if abs(d) > 1e-300 else (LARGEST if d >= 0.0 else -LARGEST)
        if abs(d) > abs(ray.d[most]):
            most = k
    i = 0 if most == 2 else most + 1
    j = 0 if i == 2 else i + 1
    ray.axes[0], ray.axes[1], ray.axes[2] = i, j, most
    ray.shear[2] = ray.inverse[most]
    ray.shear[0], ray.shear[1] = ray.d[i] * ray.shear[2], ray.d[j] * ray.shear[2]


@kernel
def meet_bounds(ray, box, c, most):
    """Where the ray enters the box c of some, if before `most`; inf if it does not.

    The origin may be inside: then the distance is negative.
    """
    near = (box[c, ray.near[0], 0] - ray.o[0]) * ray.inverse[0]
    far = (box[c, 1 - ray.near[0], 0] - ray.o[0]) * ray.inverse[0]
    a = (box[c, ray.near[1], 1] - ray.o[1]) * ray.inverse[1]
    b = (box[c, 1 - ray.near[1], 1] - ray.o[1]) * ray.inverse[1]
    near, far = (a if a > near else near), (b if b < far else far)
    a = (box[c, ray.near[2], 2] - ray.o[2]) * ray.inverse[2]
    b = (box[c, 1 - ray.near[2], 2] - ray.o[2]) * ray.inverse[2]
    near, far = (a if a > near else near), (b if b < far else far)
    return near if near <= far * OVER and far >= 0.0 and near <= most else inf


@kernel
def apart(p, q):
    """p - q of two products that are rounded each, so that q - p is exactly the negative."""
    return 0.0 if p == q else p - q


@kernel
def meet_triangle(ray, corners, n, most):
    """Distance to triangle n of some, if below `most`, from either side; else inf.

    An edge that two triangles share is on the same side of the ray for both [Woop2013]: no ray
    passes between them.
    """
    i, j, k = ray.axes[0], ray.axes[1], ray.axes[2]
    oi, oj, ok = ray.o[i], ray.o[j], ray.o[k]
    si, sj = ray.shear[0], ray.shear[1]
    az, bz, cz = corners[n, 0, k] - ok, corners[n, 1, k] - ok, corners[n, 2, k] - ok
    ax, ay = (corners[n, 0, i] - oi) - si * az, (corners[n, 0, j] - oj) - sj * az
    bx, by = (corners[n, 1, i] - oi) - si * bz, (corners[n, 1, j] - oj) - sj * bz
    cx, cy = (corners[n, 2, i] - oi) - si * cz, (corners[n, 2, j] - oj) - sj * cz
    u, v, w = apart(cx * by, cy * bx), apart(ax * cy, ay * cx), apart(bx * ay, by * ax)
    if (u < 0.0 or v < 0.0 or w < 0.0) and (u > 0.0 or v > 0.0 or w > 0.0):
        return inf
    det = u + v + w
    if det == 0.0:
        return inf
    t = ray.shear[2] * (u * az + v * bz + w * cz) / det
    return t if 0.0 <= t < most else inf


@kernel
def meet_mesh(ray, corners, branches, root, waiting, most):
    """Distance to the first triangle of a mesh, which is noted, if below `most`; else inf."""
    best, left, at = most, 0, root
    while True:
        branch = branches[at]
        box = branch.box
        first, second = meet_bounds(ray, box, 0, best), meet_bounds(ray, box, 1, best)
        near = 0 if first <= second else 1
        next_branch = -1
        for turn in range(2):
            c = near if turn == 0 else 1 - near
            t = first if c == 0 else second
            if t == inf or t > best:
                continue
            begin, count = branch.child[c], branch.count[c]
            for n in range(begin, begin + count):
                found = meet_triangle(ray, corners, n, best)
                if found < best:
                    best, ray.found = found, n
            if count > 0:
                continue
            if next_branch < 0:
                next_branch = begin
            else:
                waiting[left].branch, waiting[left].t = begin, t
                left += 1
        while next_branch < 0 and left > 0:
            left -= 1
            if waiting[left].t <= best:
                next_branch = waiting[left].branch
        if next_branch < 0:
            return best if best < most else inf
        at = next_branch


@kernel
def triangle_normal(corners, n, out):
    """The unit normal of a triangle, on the side from which its corners go round to the left."""
    ex, ey, ez = (
        corners[n, 1, 0] - corners[n, 0, 0],
        corners[n, 1, 1] - corners[n, 0, 1],
        corners[n, 1, 2] - corners[n, 0, 2],
    )
    fx, fy, fz = (
        corners[n, 2, 0] - corners[n, 0, 0],
        corners[n, 2, 1] - corners[n, 0, 1],
        corners[n, 2, 2] - corners[n, 0, 2],
    )
    x, y, z = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
    scale = 1.0 / sqrt(x * x + y * y + z * z)
    out[0], out[1], out[2] = scale * x, scale * y, scale * z
