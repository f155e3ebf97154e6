"""What acts along joint coordinates by itself: springs, dampers, potentials; and its energy."""

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.joint_forces import half_log, potential_slope, turn_moment
from robosim.kernels.equations.vectors import crossed


@kernel
def numbers_of(link):
    """How many coordinates of a joint are numbers, each with a velocity: all but quaternions."""
    return link.m_T + (link.m_R if link.m_R == 1 else 0)


@kernel
def add_passive(on, q, v, sign, tau):
    """tau (nv,) += sign * generalized forces of springs, dampers and potentials of joints."""
    links, coordinates, t = on.tree.links, on.tree.coordinates, on.scratch[0]
    for b in range(links.shape[0]):
        link = links[b]
        if link.law == 0:
            continue
        for row in range(numbers_of(link)):
            k = link.v_begin + row
            c, x = coordinates[k], q[link.q_begin + row]
            force = c.stiffness * (x - c.rest) + c.damping * v[k]
            if c.piece_end > c.piece_begin:
                slope, _ = potential_slope(on.tree.pieces, c.piece_begin, c.piece_end, x)
                force += slope
            tau[k] -= sign * force
        if link.m_R == 3:
            k, at = link.v_begin + link.m_T, link.q_begin + link.m_T
            unit_quaternion(q[at : at + 4], t.s)
            turn_moment(coordinates[k : k + 3], t.s, t, t.y)
            for i in range(3):
                tau[k + i] -= sign * (t.y[i] + coordinates[k + i].damping * v[k + i])


@kernel
def add_gyroscopic(on, link, v, sign, tau):
    """tau (nv,) += sign * omega x (A omega) of the rotors A of a free rotation, in child axes.

    The coordinates' velocities are those of axes that turn with the child.
    """
    k = link.v_begin + link.m_T
    rotors, a, b, c = on.tree.coordinates, v[k], v[k + 1], v[k + 2]
    x, y, z = rotors[k].armature * a, rotors[k + 1].armature * b, rotors[k + 2].armature * c
    x, y, z = crossed(a, b, c, x, y, z)
    tau[k] += sign * x
    tau[k + 1] += sign * y
    tau[k + 2] += sign * z


@kernel
def unit_quaternion(q, out):
    """out = q over its length, (4,)."""
    n = 1.0 / (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]) ** 0.5
    for i in range(4):
        out[i] = n * q[i]


@kernel
def potential_value(pieces, begin, end, x):
    """V of a potential at x; its outermost pieces go on beyond the ends."""
    n = begin
    while n + 1 < end and pieces[n + 1].begin <= x:
        n += 1
    d, c = x - pieces[n].begin, pieces[n].c
    return c[0] + d * (c[1] + d * (c[2] + d * c[3]))


@kernel
def passive_energy(on, q):
    """Energy [J] of the springs and potentials of joints."""
    links, coordinates, t = on.tree.links, on.tree.coordinates, on.scratch[0]
    energy = 0.0
    for b in range(links.shape[0]):
        link = links[b]
        if link.law == 0:
            continue
        for row in range(numbers_of(link)):
            c, x = coordinates[link.v_begin + row], q[link.q_begin + row]
            energy += 0.5 * c.stiffness * (x - c.rest) ** 2
            if c.piece_end > c.piece_begin:
                energy += potential_value(on.tree.pieces, c.piece_begin, c.piece_end, x)
        if link.m_R == 3:
            k, at = link.v_begin + link.m_T, link.q_begin + link.m_T
            unit_quaternion(q[at : at + 4], t.s)
            half = half_log(t.s)
            for i in range(3):
                energy += 0.5 * coordinates[k + i].stiffness * (2.0 * half * t.s[1 + i]) ** 2
    return energy
