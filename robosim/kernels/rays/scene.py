"""Rays against all shapes of a robot and of its world."""

from math import inf

from robosim.compiled.kinds import HEIGHT_FIELD, MESH
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import rotate, rotate_back, rotation_matrix
from robosim.kernels.rays.fields import find_corners, meet_field
from robosim.kernels.rays.shapes import find_normal, meet_shape
from robosim.kernels.rays.trees import fit_tree
from robosim.kernels.rays.triangles import aim, meet_bounds, meet_mesh, triangle_normal


@kernel
def place_shapes(on, x, q):
    """Frames and bounds of all shapes, for the poses x (nb, 3) and q (nb, 4) of the bodies."""
    for b in range(x.shape[0]):
        rotation_matrix(q[b], on.bodies[b].R)
        for k in range(3):
            on.bodies[b].x[k] = x[b, k]
    for n in range(on.frames.shape[0]):
        place_shape(on.targets.shapes[n], on.bodies, on.frames[n], on.bounds[n], on.excluded[n])
    fit_tree(on.scene, on.targets.order, on.bounds)


@kernel
def place_shape(shape, bodies, frame, bounds, excluded):
    """Frame and bounds of a shape; bounds of nothing if it is excluded."""
    body, box = bodies[shape.body], bounds.box
    for i in range(3):
        frame.x[i] = body.x[i] + (
            body.R[i, 0] * shape.x[0] + body.R[i, 1] * shape.x[1] + body.R[i, 2] * shape.x[2]
        )
        for j in range(3):
            frame.R[i, j] = (
                body.R[i, 0] * shape.R[0, j]
                + body.R[i, 1] * shape.R[1, j]
                + body.R[i, 2] * shape.R[2, j]
            )
    for i in range(3):
        middle, half = frame.x[i], 0.0
        for j in range(3):
            middle += frame.R[i, j] * shape.center[j]
            half += abs(frame.R[i, j]) * shape.half[j]
        # A little more than the half, for rounding.
        half += 1e-14 * (half + abs(middle))
        box[0, i], box[1, i] = middle - half, middle + half
        if excluded != 0:
            box[0, i], box[1, i] = inf, -inf


@kernel
def turn_ray(frame, source, out):
    """A ray in the axes of a shape."""
    for i in range(3):
        out.o[i] = (
            frame.R[0, i] * (source.o[0] - frame.x[0])
            + frame.R[1, i] * (source.o[1] - frame.x[1])
            + frame.R[2, i] * (source.o[2] - frame.x[2])
        )
    rotate_back(frame.R, source.d, out.d)


@kernel
def meet_target(on, n, ray, local, most):
    """Distance to shape n, if below `most`; else inf."""
    shape, frame = on.targets.shapes[n], on.frames[n]
    turn_ray(frame, ray, local)
    if shape.kind == MESH:
        aim(local)
        waiting = on.waiting[1]
        return meet_mesh(local, on.targets.corners, on.targets.branches, shape.root, waiting, most)
    if shape.kind == HEIGHT_FIELD:
        if local.d[0] != 0.0 or local.d[1] != 0.0:
            aim(local)
        return meet_field(local, shape, on.targets.heights, most)
    t = meet_shape(shape.kind, local.o, local.d, shape.size)
    return t if t < most else inf


@kernel
def meet_scene(on, ray, local, limit):
    """(distance, shape, its triangle) of what the ray meets first within a limit; shape -1: none.

    Shapes without bounds come first, so that less is left to look for.
    """
    best, target, triangle, left = limit, -1, -1, 0
    for k in range(on.targets.open.shape[0]):
        n = on.targets.open[k]
        if on.excluded[n] == 0:
            t = meet_target(on, n, ray, local, best)
            if t < best:
                best, target, triangle = t, n, -1
    at = 0 if on.scene.shape[0] > 0 else -1
    while at >= 0:
        branch = on.scene[at]
        box = branch.box
        first, second = meet_bounds(ray, box, 0, best), meet_bounds(ray, box, 1, best)
        near = 0 if first <= second else 1
        at = -1
        for turn in range(2):
            c = near if turn == 0 else 1 - near
            t = first if c == 0 else second
            if t == inf or t > best:
                continue
            begin, count = branch.child[c], branch.count[c]
            for k in range(begin, begin + count):
                n = on.targets.order[k]
                t = meet_target(on, n, ray, local, best)
                if t < best:
                    best, target, triangle = t, n, local.found
            if count > 0:
                continue
            if at < 0:
                at = begin
            else:
                on.waiting[0, left].branch, on.waiting[0, left].t = begin, t
                left += 1
        while at < 0 and left > 0:
            left -= 1
            if on.waiting[0, left].t <= best:
                at = on.waiting[0, left].branch
    return best, target, triangle


@kernel
def find_world_normal(on, n, triangle, ray, local, distance, out):
    """The unit normal of shape n, world, where the ray meets it."""
    shape, frame = on.targets.shapes[n], on.frames[n]
    if shape.kind == MESH:
        triangle_normal(on.targets.corners, triangle, local.d)
    elif shape.kind == HEIGHT_FIELD:
        find_corners(local, shape, on.targets.heights, triangle)
        triangle_normal(local.corners, 0, local.d)
    else:
        turn_ray(frame, ray, local)
        for k in range(3):
            local.o[k] += distance * local.d[k]
        find_normal(shape.kind, local.o, shape.size, local.d)
    rotate(frame.R, local.d, out)
