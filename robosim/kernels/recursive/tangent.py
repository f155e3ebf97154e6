"""Moving coordinates along velocities, and back: quaternions by exponential and logarithm."""

from math import atan2, sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import exponential, quaternion_back, quaternion_product
from robosim.kernels.recursive.passive import numbers_of, unit_quaternion


@kernel
def integrate_row(on, q, dv, out):
    """out (nq,) = q moved on along dv (nv,); quaternions of length one."""
    t = on.scratch[0]
    for b in range(on.tree.links.shape[0]):
        link = on.tree.links[b]
        for row in range(numbers_of(link)):
            out[link.q_begin + row] = q[link.q_begin + row] + dv[link.v_begin + row]
        if link.m_R == 3:
            at, k = link.q_begin + link.m_T, link.v_begin + link.m_T
            unit_quaternion(q[at : at + 4], t.s)
            exponential(dv[k : k + 3], t.r)
            quaternion_product(t.s, t.r, out[at : at + 4])


@kernel
def difference_row(on, q0, q1, out):
    """out (nv,) that leads from q0 to q1, by turns of at most half a turn."""
    t = on.scratch[0]
    for b in range(on.tree.links.shape[0]):
        link = on.tree.links[b]
        for row in range(numbers_of(link)):
            out[link.v_begin + row] = q1[link.q_begin + row] - q0[link.q_begin + row]
        if link.m_R == 3:
            at, k = link.q_begin + link.m_T, link.v_begin + link.m_T
            quaternion_back(q0[at : at + 4], q1[at : at + 4], t.s)
            logarithm(t.s, out[k : k + 3])


@kernel
def logarithm(r, out):
    """out = rotation vector (3,), of at most half a turn, of a quaternion of any length."""
    sine = sqrt(r[1] * r[1] + r[2] * r[2] + r[3] * r[3])
    sign = -1.0 if r[0] < 0.0 else 1.0
    scale = 2.0 / abs(r[0])
    if sine > 1e-9 * abs(r[0]):
        scale = 2.0 * atan2(sine, abs(r[0])) / sine
    for i in range(3):
        out[i] = sign * scale * r[1 + i]
