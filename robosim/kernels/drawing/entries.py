"""What Python calls to draw. Rows of a picture can be drawn by several threads.

The address leads to a `Drawing` (`robosim.compiled.drawing`). `thread` chooses scratch memory, and
`samples` is the number of samples along each edge of a pixel.
"""

from math import inf

from robosim.kernels.compiler.jit import entry, kernel
from robosim.kernels.compiler.known import load_drawing
from robosim.kernels.drawing.shading import FAR, background, depth_at, hides, shade
from robosim.kernels.drawing.triangles import fill_part, fill_seen, move, see

SAME = 0.02  # parts of one shape whose depths differ by less than this share are one surface


@entry
def place_parts(address, samples):
    """Place the vertices of all parts for the camera."""
    on = load_drawing(address)
    view, placed, seen = on.views[0], on.placed, on.seen
    for p in range(on.parts.shape[0]):
        part = on.parts[p]
        if part.shown == 0:
            continue
        a, b = part.vertices[0], part.vertices[1]
        move(part.to_camera, part.from_camera, on.meshes.vertices, a, b, part.placed, placed)
        top, bottom = inf, -inf
        for n in range(part.placed, part.placed + b - a):
            z = placed[n, 2] + 0.0
            seen[n, 2] = 0.0
            if z >= view.near:
                see(placed[n, 0], placed[n, 1], z, view.focal, view.middle, seen[n])
                seen[n, 0] *= samples
                seen[n, 1] *= samples
                top, bottom = min(top, seen[n, 1] + 0.0), max(bottom, seen[n, 1] + 0.0)
            else:
                top, bottom = -inf, inf
        part.rows[0], part.rows[1] = top, bottom


@entry
def cast_shadows(address):
    """Fill the map of shadows by all parts."""
    on = load_drawing(address)
    placed, faces, size = on.toward_sun, on.meshes.faces, on.shadows.shape[0]
    # Nothing is in the shade where no shadow falls, nor at the edge of the map.
    box = on.views[0].shaded
    box[0], box[1], box[2], box[3] = size + 0.0, 0.0, size + 0.0, 0.0
    for p in range(on.parts.shape[0]):
        part = on.parts[p]
        if part.shown == 0 or part.casts == 0:
            continue
        a, b = part.vertices[0], part.vertices[1]
        move(part.to_light, part.from_light, on.meshes.vertices, a, b, part.placed, placed)
        for n in range(part.placed, part.placed + b - a):
            box[0], box[1] = min(box[0], placed[n, 0] - 3.0), max(box[1], placed[n, 0] + 3.0)
            box[2], box[3] = min(box[2], placed[n, 1] - 3.0), max(box[3], placed[n, 1] + 3.0)
        for face in range(part.faces[0], part.faces[1]):
            i, j, k = faces[face, 0], faces[face, 1], faces[face, 2]
            i, j, k = part.placed + i, part.placed + j, part.placed + k
            fill_seen(placed, i, j, k, -part.closed, -1, 0, size, on.shadows, on.numbers)
    for k in range(2):
        box[2 * k], box[2 * k + 1] = max(box[2 * k], 2.0), min(box[2 * k + 1], size - 4.0)


@entry
def find_nearest(address, thread, samples, begin, end, first, last, over):
    """The nearest triangles of parts `begin` to `end` in rows `first` to `last` of samples.

    `over` is 0 for opaque parts, 1 for others, into memory of their own, and 2 for all parts.
    """
    on = load_drawing(address)
    view, work = on.views[0], on.work[thread]
    middle = work[7]
    middle[0], middle[1] = samples * view.middle[0], samples * view.middle[1]
    focal, near = samples * view.focal, view.near
    for p in range(begin, end):
        part = on.parts[p]
        if part.shown == 0 or part.rows[0] > last + 1.0 or part.rows[1] < first - 1.0:
            continue
        if over == 1:
            fill_part(
                part, on, focal, middle, near, first, last, on.nearness_over, on.numbers_over, work
            )
        elif over == 2 or part.opacity >= 1.0:
            fill_part(part, on, focal, middle, near, first, last, on.nearness, on.numbers, work)


@kernel
def same_surface(on, number, near, row, column):
    """Whether a sample shows the same surface as one with this triangle and inverse depth."""
    other = on.numbers[row, column]
    if number < 0 or other < 0:
        return number == other
    apart = abs(on.nearness[row, column] - near)
    return on.owners[other] == on.owners[number] and apart < SAME * near


@kernel
def is_uniform(on, samples, row, column):
    """Whether all samples of a pixel show one surface; pixels have one sample or four."""
    if samples == 1:
        return True
    number, near = on.numbers[row, column], on.nearness[row, column] + 0.0
    return (
        same_surface(on, number, near, row, column + 1)
        and same_surface(on, number, near, row + 1, column)
        and same_surface(on, number, near, row + 1, column + 1)
    )


@kernel
def along(view, k, pixel, samples, sample):
    """Component k, 0 or 1, of the ray through a sample of a pixel, which has depth 1."""
    return (pixel + (sample + 0.5) / samples - view.middle[k]) * view.step


@entry
def paint(address, thread, samples, first, last, picture):
    """Paint rows `first` to `last` of a picture (height, width, 3) of uint8."""
    on = load_drawing(address)
    view, work = on.views[0], on.work[thread]
    one, total = work[4], work[5]
    for i in range(first, last):
        v = (i + 0.5 - view.middle[1]) * view.step
        for j in range(picture.shape[1]):
            row, column = samples * i, samples * j
            if is_uniform(on, samples, row, column):
                u = (j + 0.5 - view.middle[0]) * view.step
                number = on.numbers[row, column]
                if number < 0:
                    background(on, view, u, v, total)
                else:
                    shade(on, view, number, u, v, work, total)
            else:
                blend(on, view, samples, i, j, work, one, total)
            for k in range(3):
                picture[i, j, k] = int(255.0 * total[k] + 0.5)


@kernel
def blend(on, view, samples, i, j, work, one, total):
    """The mean colour of the samples of a pixel that shows several surfaces."""
    before, share = -2, 1.0 / (samples * samples)
    for k in range(3):
        total[k] = 0.0
    for a in range(samples):
        for b in range(samples):
            number = on.numbers[samples * i + a, samples * j + b]
            if number != before:
                u, v = along(view, 0, j, samples, b), along(view, 1, i, samples, a)
                shade(on, view, number, u, v, work, one)
            before = number
            for k in range(3):
                total[k] += share * one[k]


@entry
def lay_over(address, thread, samples, first, last, left, right, picture):
    """Blend a part that is not opaque over pixels of an area of a picture."""
    on = load_drawing(address)
    view, work = on.views[0], on.work[thread]
    one, total = work[4], work[5]
    nearness, numbers = on.nearness_over, on.numbers_over
    for i in range(first, last):
        for j in range(left, right):
            covered, opacity = 0, 0.0
            for k in range(3):
                total[k] = 0.0
            for a in range(samples):
                for b in range(samples):
                    row, column = samples * i + a, samples * j + b
                    number, near = numbers[row, column], nearness[row, column] + 0.0
                    numbers[row, column], nearness[row, column] = -1, 0.0
                    if number < 0 or near <= on.nearness[row, column]:
                        continue
                    u, v = along(view, 0, j, samples, b), along(view, 1, i, samples, a)
                    if hides(view, near, u, v):
                        continue
                    on.nearness[row, column] = near
                    shade(on, view, number, u, v, work, one)
                    covered += 1
                    opacity = on.parts[on.owners[number]].opacity
                    for k in range(3):
                        total[k] += one[k]
            if covered > 0:
                share = opacity * covered / (samples * samples)
                for k in range(3):
                    before = picture[i, j, k] * (1.0 - share)
                    picture[i, j, k] = int(before + 255.0 * share * total[k] / covered + 0.5)


@entry
def measure(address, first, last, world, depth, labels):
    """Depths and labels of rows of a picture with one sample in each pixel.

    Parameters
    ----------
    world : index that stands for the world
    depth : (height, width) [m], result, inf for the sky
    labels : (height, width, 2), result: body and shape, -1 for the sky; the ground is a shape -1
        of the world
    """
    on = load_drawing(address)
    view = on.views[0]
    for i in range(first, last):
        for j in range(depth.shape[1]):
            u, v = along(view, 0, j, 1, 0), along(view, 1, i, 1, 0)
            number, near = on.numbers[i, j], on.nearness[i, j] + 0.0
            depth[i, j] = depth_at(view, near, u, v)
            if number >= 0 and not hides(view, near, u, v):
                part = on.parts[on.owners[number]]
                labels[i, j, 0], labels[i, j, 1] = part.body, part.shape
            elif depth[i, j] < FAR:
                labels[i, j, 0], labels[i, j, 1] = world, -1
            else:
                labels[i, j, 0], labels[i, j, 1] = -1, -1
