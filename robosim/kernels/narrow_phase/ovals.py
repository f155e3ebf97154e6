"""Ellipsoids: how far they reach, and the normal that parts one of them from something else most.

A matrix B with the semi-axes as columns leads from the unit ball to the ellipsoid. That reaches
|B^T n| along a unit vector n, with the point B B^T n / |B^T n| from its centre, its arm. With two
columns it is a disc, with none a point; so rims and points are ellipsoids here, too.

Two of them, from whose centres w leads from the first to the second, are parted by n as far as

    n . w - |B^T n| - |B_o^T n|.

The largest value of all n is their signed distance, where they overlap by less than they are bent.
Where one is an edge along d, n is across d.
"""

from math import sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign, cross, dot, perpendiculars
from robosim.kernels.narrow_phase.points import normalize

TURNS = 60  # Newton steps to the normal, of which a start nearby takes three to five
LONGEST = 0.3  # turn of a normal in one step [rad]
SETTLED = 1e-12  # turn after which it stays: the next one is its square
HALVINGS = 20
SLACK = 1e-14  # of the lengths, by which rounding may make less of what parts two ellipsoids
BESIDE = 0.01  # angle from the axis of a disc that a normal beside it starts with
SHARPEST = 1e-6  # of the lengths, what a normal's step takes for the radius of curvature at least


@kernel
def across_axes(B, n):
    """B^T n, as three numbers."""
    return (
        B[0, 0] * n[0] + B[1, 0] * n[1] + B[2, 0] * n[2],
        B[0, 1] * n[0] + B[1, 1] * n[1] + B[2, 1] * n[2],
        B[0, 2] * n[0] + B[1, 2] * n[1] + B[2, 2] * n[2],
    )


@kernel
def oval_reach(B, n):
    """How far an ellipsoid reaches along a unit vector [m]."""
    x, y, z = across_axes(B, n)
    return sqrt(x * x + y * y + z * z)


@kernel
def oval_arm(B, n, out):
    """out: from the centre to the point that is farthest along n; returns how far that is."""
    x, y, z = across_axes(B, n)
    size = sqrt(x * x + y * y + z * z)
    inverse = 1.0 / max(size, 1e-300)
    for i in range(3):
        out[i] = inverse * (B[i, 0] * x + B[i, 1] * y + B[i, 2] * z)
    return size


@kernel
def oval_bend(B, n, u, v):
    """u . (derivative of the arm by n) v: for unit vectors across n a radius of curvature [m]."""
    x, y, z = across_axes(B, n)
    ux, uy, uz = across_axes(B, u)
    vx, vy, vz = across_axes(B, v)
    square = max(x * x + y * y + z * z, 1e-300)
    along = (x * ux + y * uy + z * uz) * (x * vx + y * vy + z * vz) / square
    return (ux * vx + uy * vy + uz * vz - along) / sqrt(square)


@kernel
def parted(n, w, B, B_o):
    """By how much a normal parts two ellipsoids [m]."""
    return dot(n, w) - oval_reach(B, n) - oval_reach(B_o, n)


@kernel
def part_most(w, d, B, B_o, n, m, g, start):
    """Turn n to where it parts two ellipsoids most; m, g and start (3,) are scratch.

    It stays across the unit vector d, unless that is 0. Returns by how much it parts them.
    """
    is_edge = dot(d, d) > 0.0
    before = parted(n, w, B, B_o)
    for _ in range(TURNS):
        if is_edge:
            cross(d, n, m)
            assign(d, g)
        else:
            perpendiculars(n, m, g)
        length = abs(dot(n, w)) + oval_reach(B, n) + oval_reach(B_o, n)
        oval_arm(B, n, start)
        x, y = dot(m, w) - dot(m, start), dot(g, w) - dot(g, start)
        oval_arm(B_o, n, start)
        x, y = x - dot(m, start), y - dot(g, start)
        xx = before + oval_bend(B, n, m, m) + oval_bend(B_o, n, m, m)
        yy = before + oval_bend(B, n, g, g) + oval_bend(B_o, n, g, g)
        xy = oval_bend(B, n, m, g) + oval_bend(B_o, n, m, g)
        if is_edge:
            y, xy, yy = 0.0, 0.0, xx
        # As positive as it takes for the step to lead up.
        least = 0.5 * (xx + yy) - sqrt(0.25 * (xx - yy) ** 2 + xy * xy)
        shift = max(SHARPEST * length - least, -2.0 * least, 0.0)
        xx, yy = xx + shift, yy + shift
        determinant = xx * yy - xy * xy
        turn_m, turn_g = (yy * x - xy * y) / determinant, (xx * y - xy * x) / determinant
        size = sqrt(turn_m * turn_m + turn_g * turn_g)
        scale = min(1.0, LONGEST / max(size, 1e-300))
        assign(n, start)
        # Where normals bend sharply, full steps would go back and forth.
        for _ in range(HALVINGS):
            for k in range(3):
                n[k] = start[k] + scale * (turn_m * m[k] + turn_g * g[k])
            normalize(n)
            after = parted(n, w, B, B_o)
            if after >= before - SLACK * length:
                break
            scale *= 0.5
        before = after
        if size * scale < SETTLED:
            break
    return before


@kernel
def try_start(w, d, B, B_o, best, n, trial):
    """n = the direction `trial`, or against it, if that parts two ellipsoids by more than `best`.

    Returns by how much n parts them.
    """
    if not normalize(trial) > 0.0:
        return best
    side, along = 1.0 if dot(trial, w) > 0.0 else -1.0, dot(trial, d)
    for k in range(3):
        trial[k] = side * (trial[k] - along * d[k])
    if normalize(trial) < 1e-6:
        return best
    value = parted(trial, w, B, B_o)
    if value > best:
        assign(trial, n)
        return value
    return best


@kernel
def start_normal(w, d, B, B_o, n, trial):
    """n: a normal to begin `part_most` with, across d unless that is 0; trial (3,) is scratch.

    The best one of that between the centres, of all semi-axes, of which that is the best one which
    a flat ellipsoid overlaps something along, and of those beside the axis of a rim.
    """
    best = -1e300
    n[0], n[1], n[2] = 0.0, 0.0, 1.0
    assign(w, trial)
    best = try_start(w, d, B, B_o, best, n, trial)
    for which in range(2):
        C = B if which == 0 else B_o
        for k in range(3):
            for i in range(3):
                trial[i] = C[i, k]
            best = try_start(w, d, B, B_o, best, n, trial)
    if is_disc(B_o):
        try_beside_axis(w, d, B, B_o, best, n, trial)


@kernel
def is_disc(B):
    """Whether an ellipsoid is a disc, with two semi-axes and no third one."""
    third = B[0, 2] == 0.0 and B[1, 2] == 0.0 and B[2, 2] == 0.0
    return third and (B[0, 0] != 0.0 or B[1, 0] != 0.0 or B[2, 0] != 0.0)


@kernel
def try_beside_axis(w, d, B, disc, best, n, trial):
    """`try_start` with normals beside the axis of a disc, to where the other ellipsoid is.

    What parts two of them has a crease there, which steps from elsewhere do not get across.
    """
    for side in (1.0, -1.0):
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            trial[i] = side * (disc[j, 0] * disc[k, 1] - disc[k, 0] * disc[j, 1])
        if not normalize(trial) > 0.0:
            return
        # Along both of the disc's axes, how far from its axis the other one's lowest point is.
        x, y, z = across_axes(B, trial)
        size = sqrt(x * x + y * y + z * z)
        u, v = 0.0, 0.0
        for i in range(3):
            offset = w[i] - (B[i, 0] * x + B[i, 1] * y + B[i, 2] * z) / size
            u += disc[i, 0] * offset
            v += disc[i, 1] * offset
        inverse = BESIDE / sqrt((u * u + v * v) * oval_square(disc))
        if u * u + v * v > 0.0:
            for i in range(3):
                trial[i] += inverse * (u * disc[i, 0] + v * disc[i, 1])
            best = try_start(w, d, B, disc, best, n, trial)


@kernel
def oval_square(disc):
    """The square of the first semi-axis of an ellipsoid [m^2]."""
    return disc[0, 0] * disc[0, 0] + disc[1, 0] * disc[1, 0] + disc[2, 0] * disc[2, 0]
