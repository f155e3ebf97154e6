"""The light on what is seen.

Colours are linear until they are mixed with the fog, as they are in the page of the viewer.
Surfaces scatter light as a rough dielectric: a diffuse part, and a reflection of the sun by
microfacets [Walter2007] with the Fresnel factor of Schlick.
"""

from math import floor, inf, pi, sqrt

from robosim.compiled.drawing import SHADES
from robosim.kernels.compiler.jit import aside, kernel

ALPHA = 0.3025  # the square of a roughness of 0.55
METAL = 0.05  # how far a surface reflects as a metal does
GLOSS = 0.012  # share of the sun that the ground reflects, which is rougher than bodies
FAR = 1e30  # depth of what nothing is at


@kernel
def clamped(x):
    return min(max(x, 0.0), 1.0)


@kernel
def encoded(x, table):
    """A linear value in sRGB, 0 to 1."""
    return table[int(clamped(x) * SHADES)]


@kernel
def mix(a, b, share):
    return a + share * (b - a)


@kernel
def fog(view, depth, table, color):
    """Put a linear colour behind the fog of this depth, in sRGB."""
    share = clamped((depth - view.fog[0]) * view.fog[1])
    for k in range(3):
        color[k] = mix(encoded(color[k], table), view.fog_color[k], share)


@kernel
def rise(view, u, v):
    """How far a ray rises in the world for each metre along the camera's axis."""
    return view.R[2, 0] * u + view.R[2, 1] * v + view.R[2, 2]


@kernel
def ground_depth(view, u, v):
    """Depth at which a ray meets the ground from above, or FAR."""
    up, height = rise(view, u, v), view.eye[2] - view.floor
    return -height / up if view.ground != 0 and up < -1e-9 and height > 0.0 else FAR


@kernel
def square_wave(x, width):
    """Mean over a width of a wave that is 1 for x in [0, 1), -1 in [1, 2), and so on."""
    a, b = 0.5 * (x - 0.5 * width), 0.5 * (x + 0.5 * width)
    a, b = abs(a - floor(a) - 0.5), abs(b - floor(b) - 0.5)
    return 2.0 * (a - b) / width


@kernel
def ground_color(view, u, v, depth, lit, color):
    """Checks, smoothed over what a pixel covers of them; a share `lit` of the sun reaches them."""
    R, tiles = view.R, view.tiles
    step = depth * view.step * tiles
    inverse, checks = 1.0 / rise(view, u, v), 1.0
    for k in range(2):
        ahead = R[k, 0] * u + R[k, 1] * v + R[k, 2]
        right = abs(R[k, 0] - ahead * R[2, 0] * inverse)
        below = abs(R[k, 1] - ahead * R[2, 1] * inverse)
        width = step * max(right, below) + 0.01
        if width < 8.0:
            checks *= square_wave((view.eye[k] + depth * ahead) * tiles, width)
        else:
            checks = 0.0
    share = 0.5 + 0.5 * checks
    for k in range(3):
        sun = lit * view.ground_sun[k]
        light = view.ground_light[k] + sun
        color[k] = light * mix(view.dark_tile[k], view.light_tile[k], share) + GLOSS * sun


@kernel
def sky_color(view, u, v, table, out):
    """The sky, from the haze at the horizon to the zenith, in sRGB."""
    share = clamped(rise(view, u, v) / (0.6 * sqrt(1.0 + u * u + v * v)))
    for k in range(3):
        out[k] = encoded(mix(view.haze[k], view.zenith[k], share), table)


@kernel
def lit_share(view, x, y, z, lift, shadows):
    """Which share of the sun reaches a point in the camera's axes: a mean over 4 x 4 samples."""
    M = view.camera_to_light
    a = view.light_origin[0] + M[0, 0] * x + M[0, 1] * y + M[0, 2] * z - 0.5
    b = view.light_origin[1] + M[1, 0] * x + M[1, 1] * y + M[1, 2] * z - 0.5
    box = view.shaded
    if a < box[0] or a > box[1] or b < box[2] or b > box[3]:
        return 1.0
    height = view.light_origin[2] + M[2, 0] * x + M[2, 1] * y + M[2, 2] * z + lift
    column, row = int(a), int(b)
    s, t = a - column, b - row
    total = 0.0
    for i in range(4):
        weight = 1.0 - t if i == 0 else (t if i == 3 else 1.0)
        of_row = 0.0
        for j in range(4):
            share = 1.0 - s if j == 0 else (s if j == 3 else 1.0)
            if shadows[row - 1 + i, column - 1 + j] <= height:
                of_row += share
        total += weight * of_row
    return total / 9.0


@aside
def texture_color(part, meshes, s, t, spread, out):
    """The colour of a texture, linear, between its four nearest texels."""
    level = 0
    while level + 1 < part.levels and spread > 1.5:
        spread *= 0.5
        level += 1
    image = meshes.textures[part.texture + level]
    x, y = (s - floor(s)) * image.width - 0.5, (1.0 - t - floor(1.0 - t)) * image.height - 0.5
    column, row = floor(x), floor(y)
    a, b = x - column, y - row
    for k in range(3):
        out[k] = 0.0
    for i in range(2):
        for j in range(2):
            weight = (a if j == 1 else 1.0 - a) * (b if i == 1 else 1.0 - b)
            at = image.first + (row + i) % image.height * image.width + (column + j) % image.width
            for k in range(3):
                out[k] += weight * meshes.texels[at, k]


@kernel
def surface_color(on, view, part, face, u, v, work, out):
    """The light from a triangle where a ray meets it, in sRGB; returns the depth."""
    normals, uv, placed = on.meshes.normals, on.meshes.uv, on.placed
    faces = on.meshes.faces
    a, b, c = faces[face, 0], faces[face, 1], faces[face, 2]
    i, j, k = part.placed + a, part.placed + b, part.placed + c
    x0, y0, z0 = placed[i, 0] + 0.0, placed[i, 1] + 0.0, placed[i, 2] + 0.0
    ax, ay, az = placed[j, 0] - x0, placed[j, 1] - y0, placed[j, 2] - z0
    bx, by, bz = placed[k, 0] - x0, placed[k, 1] - y0, placed[k, 2] - z0
    # Where the ray t (u, v, 1) meets the triangle [Moeller1997].
    px, py, pz = v * bz - by, bx - u * bz, u * by - v * bx
    det = ax * px + ay * py + az * pz
    scale = 1.0 / det if det != 0.0 else 0.0
    qx, qy, qz = -(y0 * az - z0 * ay), -(z0 * ax - x0 * az), -(x0 * ay - y0 * ax)
    s = clamped(-(x0 * px + y0 * py + z0 * pz) * scale)
    t = clamped((u * qx + v * qy + qz) * scale)
    if s + t > 1.0:
        s, t = s / (s + t), t / (s + t)
    depth = z0 + s * az + t * bz
    # The normal, on the side of the camera.
    gx, gy, gz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    nx, ny, nz = gx, gy, gz
    if part.flat == 0:
        first = part.vertices[0]
        r = 1.0 - s - t
        mx = r * normals[first + a, 0] + s * normals[first + b, 0] + t * normals[first + c, 0]
        my = r * normals[first + a, 1] + s * normals[first + b, 1] + t * normals[first + c, 1]
        mz = r * normals[first + a, 2] + s * normals[first + b, 2] + t * normals[first + c, 2]
        N = part.to_normal
        nx = N[0, 0] * mx + N[0, 1] * my + N[0, 2] * mz
        ny = N[1, 0] * mx + N[1, 1] * my + N[1, 2] * mz
        nz = N[2, 0] * mx + N[2, 1] * my + N[2, 2] * mz
    length = sqrt(nx * nx + ny * ny + nz * nz)
    side = 1.0 if gx * u + gy * v + gz <= 0.0 else -1.0
    side = side / length if length > 0.0 else 0.0
    nx, ny, nz = side * nx, side * ny, side * nz
    base = work[0]
    for k in range(3):
        base[k] = part.color[k]
    if part.texture >= 0:
        first = part.vertices[0]
        sa, ta = uv[first + a, 0] + 0.0, uv[first + a, 1] + 0.0
        sb, tb = uv[first + b, 0] - sa, uv[first + b, 1] - ta
        sc, tc = uv[first + c, 0] - sa, uv[first + c, 1] - ta
        image = on.meshes.textures[part.texture]
        covered = sqrt(gx * gx + gy * gy + gz * gz) / (depth * depth) * view.focal * view.focal
        texels_there = abs(sb * tc - sc * tb) * image.width * image.height
        spread = sqrt(texels_there / covered) if covered > 0.0 else 1.0
        place_s, place_t = sa + s * sb + t * sc, ta + s * tb + t * tc
        texture_color(part, on.meshes, place_s, place_t, spread, base)
    lambert = nx * view.sun[0] + ny * view.sun[1] + nz * view.sun[2]
    shine = 0.0
    if lambert > 0.0:
        x, y, z = depth * u + view.bias * nx, depth * v + view.bias * ny, depth + view.bias * nz
        if view.shadows != 0:
            lambert *= lit_share(view, x, y, z, view.bias, on.shadows)
        if lambert > 0.0:
            shine = lambert
    sky = 0.5 + 0.5 * (nx * view.sky[0] + ny * view.sky[1] + nz * view.sky[2])
    glow, fresnel = 0.0, 0.0
    if shine > 0.0:
        glow, fresnel = reflection(view, u, v, nx, ny, nz)
    for k in range(3):
        sun = max(lambert, 0.0) * view.sun_color[k]
        light = mix(view.earth_color[k], view.sky_color[k], sky) + sun
        mirror = mix(0.04, base[k], METAL)
        out[k] = (1.0 - METAL) * base[k] * light
        out[k] += sun * glow * (mirror + (1.0 - mirror) * fresnel)
    fog(view, depth, on.gamma, out)
    return depth


@kernel
def reflection(view, u, v, nx, ny, nz):
    """(pi D V, the power of Schlick's factor) of the sun, seen along a ray."""
    scale = 1.0 / sqrt(1.0 + u * u + v * v)
    ex, ey, ez = -u * scale, -v * scale, -scale
    hx, hy, hz = view.sun[0] + ex, view.sun[1] + ey, view.sun[2] + ez
    length = sqrt(hx * hx + hy * hy + hz * hz)
    if length == 0.0:
        return 0.0, 0.0
    hx, hy, hz = hx / length, hy / length, hz / length
    n_l = clamped(nx * view.sun[0] + ny * view.sun[1] + nz * view.sun[2])
    n_e = clamped(nx * ex + ny * ey + nz * ez)
    n_h = clamped(nx * hx + ny * hy + nz * hz)
    e_h = clamped(ex * hx + ey * hy + ez * hz)
    square = ALPHA * ALPHA
    under = n_h * n_h * (square - 1.0) + 1.0
    spread = square / (pi * under * under)
    from_light = n_e * sqrt(square + (1.0 - square) * n_l * n_l)
    to_eye = n_l * sqrt(square + (1.0 - square) * n_e * n_e)
    seen = 0.5 / max(from_light + to_eye, 1e-6)
    left = 1.0 - e_h
    return pi * spread * seen, left * left * left * left * left


@kernel
def background(on, view, u, v, out):
    """The ground or the sky along a ray (u, v, 1) in the camera's axes, in sRGB."""
    depth = ground_depth(view, u, v)
    if depth >= FAR:
        sky_color(view, u, v, on.gamma, out)
        return
    lit = 1.0
    if view.shadows != 0:
        lit = lit_share(view, depth * u, depth * v, depth, view.bias, on.shadows)
    ground_color(view, u, v, depth, lit, out)
    fog(view, depth, on.gamma, out)


@kernel
def shade(on, view, number, u, v, work, out):
    """What is seen along a ray (u, v, 1) in the camera's axes, in sRGB.

    `number` is that of the nearest triangle, or -1.
    """
    if number >= 0:
        part = on.parts[on.owners[number]]
        face = part.faces[0] + number - part.number
        depth = surface_color(on, view, part, face, u, v, work, out)
        if depth <= ground_depth(view, u, v) * (1.0 + 1e-4):
            return
    background(on, view, u, v, out)


@kernel
def hides(view, nearness, u, v):
    """Whether the ground hides what has this inverse depth."""
    return ground_depth(view, u, v) * (1.0 + 1e-4) * nearness < 1.0


@kernel
def depth_at(view, nearness, u, v):
    """Depth of what is seen, inf for the sky."""
    depth = 1.0 / nearness if nearness > 0.0 else FAR
    under = ground_depth(view, u, v)
    depth = min(depth, under)
    return depth if depth < FAR else inf
