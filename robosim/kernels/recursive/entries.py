"""What Python calls: each over n states, of which every argument has a row each, or one for all.

An address leads to a `Recursion` (`robosim.compiled.links`), in a tuple to one with charts.
Returned is 0, `NOT_A_STATE`, or 1 + the coordinate whose joint moves nothing that has inertia.
"""

from robosim.kernels.compiler.jit import entry, kernel
from robosim.kernels.compiler.recursion import load_recursion
from robosim.kernels.equations.vectors import not_finite, row_of
from robosim.kernels.recursive.articulated import forward_row, hybrid_row
from robosim.kernels.recursive.composite import centroidal_row, find_center, mass_row
from robosim.kernels.recursive.derivatives import derivatives_row, spatial_row
from robosim.kernels.recursive.joints import place_links
from robosim.kernels.recursive.mass_inverse import mass_inverse_row
from robosim.kernels.recursive.motion import (
    energy_row,
    frame_jacobian_row,
    frame_motion_row,
    frame_row,
    jacobian_rate_row,
    jacobian_row,
    point_jacobians_row,
    points_row,
)
from robosim.kernels.recursive.newton_euler import inverse_row
from robosim.kernels.recursive.tangent import difference_row, integrate_row

NOT_A_STATE = -1


@kernel
def no_state(on, q):
    """Whether coordinates are not finite, or a quaternion is zero."""
    if not_finite(q):
        return True
    for b in range(on.tree.links.shape[0]):
        link = on.tree.links[b]
        if link.m_R == 3:
            at = link.q_begin + link.m_T
            if not abs(q[at]) + abs(q[at + 1]) + abs(q[at + 2]) + abs(q[at + 3]) > 1e-150:
                return True
    return False


@kernel
def no_motion(on, q, v, a):
    """`no_state`, or whether velocities, or what goes with them, are not finite."""
    return no_state(on, q) or not_finite(v) or not_finite(a)


@entry
def inverse_dynamics(address, weight, passive, q, v, a, bodies, points, wrenches, out):
    """out (n, nv): forces that accelerate; gravity times `weight`; `passive` 1 or 0."""
    on = load_recursion(address)
    for i in range(out.shape[0]):
        if no_motion(on, q[row_of(q, i)], v[row_of(v, i)], a[row_of(a, i)]):
            return NOT_A_STATE
        inverse_row(
            on, weight, passive, q[row_of(q, i)], v[row_of(v, i)], a[row_of(a, i)],
            bodies, points, wrenches[row_of(wrenches, i)], out[i],
        )  # fmt: skip
    return 0


@entry
def forward_acceleration(address, weight, passive, q, v, tau, bodies, points, wrenches, out):
    """out (n, nv): accelerations."""
    on = load_recursion(address)
    for i in range(out.shape[0]):
        if no_motion(on, q[row_of(q, i)], v[row_of(v, i)], tau[row_of(tau, i)]):
            return NOT_A_STATE
        failed = forward_row(
            on, weight, passive, None, None, q[row_of(q, i)], v[row_of(v, i)], tau[row_of(tau, i)],
            bodies, points, wrenches[row_of(wrenches, i)], out[i],
        )  # fmt: skip
        if failed != 0:
            return failed
    return 0


@entry
def inverse_state(address, weight, passive, q, v, a, out):
    """`inverse_dynamics` of a single state in any memory, (nv,), that nothing pushes."""
    on = load_recursion(address)
    if no_motion(on, q, v, a):
        return NOT_A_STATE
    inverse_row(on, weight, passive, q, v, a, on.pushed, on.points, on.wrenches, out)
    return 0


@entry
def forward_state(address, weight, passive, q, v, tau, out):
    """`forward_acceleration` of a single state in any memory, (nv,), that nothing pushes."""
    on = load_recursion(address)
    if no_motion(on, q, v, tau):
        return NOT_A_STATE
    return forward_row(
        on, weight, passive, None, None, q, v, tau, on.pushed, on.points, on.wrenches, out
    )  # fmt: skip


@entry
def hybrid_dynamics(
    address, weight, passive, held, q, v, tau, given, bodies, points, wrenches, a, forces, crossing
):
    """Accelerations and forces (n, nv), those of `held` coordinates (nv,) given the other way.

    Also what crosses the joints (n, nb, 6).
    """
    on = load_recursion(address)
    for i in range(a.shape[0]):
        if no_motion(on, q[row_of(q, i)], v[row_of(v, i)], tau[row_of(tau, i)]):
            return NOT_A_STATE
        if not_finite(given[row_of(given, i)]):
            return NOT_A_STATE
        failed = hybrid_row(
            on, weight, passive, held, given[row_of(given, i)], q[row_of(q, i)], v[row_of(v, i)],
            tau[row_of(tau, i)], bodies, points, wrenches[row_of(wrenches, i)],
            a[i], forces[i], crossing[i],
        )  # fmt: skip
        if failed != 0:
            return failed
    return 0


@entry
def inverse_derivatives(address, q, v, a, by_q, by_v, mass):
    """Derivatives (n, nv, nv) of forces by coordinates and velocities, and mass matrices."""
    on = load_recursion(address)
    for i in range(mass.shape[0]):
        if no_motion(on, q[row_of(q, i)], v[row_of(v, i)], a[row_of(a, i)]):
            return NOT_A_STATE
        derivatives_row(
            on, q[row_of(q, i)], v[row_of(v, i)], a[row_of(a, i)], by_q[i], by_v[i], mass[i]
        )
    return 0


@entry
def spatial_motion(address, q, v, a, origin, columns, motions):
    """Points (n, 3) that stay; columns (n, nv, 3, 6) and motions (n, nb, 2, 6) about them."""
    on = load_recursion(address)
    for i in range(columns.shape[0]):
        if no_motion(on, q[row_of(q, i)], v[row_of(v, i)], a[row_of(a, i)]):
            return NOT_A_STATE
        spatial_row(
            on, q[row_of(q, i)], v[row_of(v, i)], a[row_of(a, i)],
            origin[i], columns[i], motions[i],
        )  # fmt: skip
    return 0


@entry
def forward_slopes(address, passive, q, v, tau, a, by_q, by_v, inverse):
    """Accelerations (n, nv); `inverse_derivatives` there; inverses (n, nv, nv) of mass matrices."""
    on = load_recursion(address)
    for i in range(inverse.shape[0]):
        if no_motion(on, q[row_of(q, i)], v[row_of(v, i)], tau[row_of(tau, i)]):
            return NOT_A_STATE
        failed = forward_row(
            on, 1.0, passive, None, None, q[row_of(q, i)], v[row_of(v, i)], tau[row_of(tau, i)],
            on.pushed, on.points, on.wrenches, a[i],
        )  # fmt: skip
        if failed != 0:
            return failed
        derivatives_row(on, q[row_of(q, i)], v[row_of(v, i)], a[i], by_q[i], by_v[i], inverse[i])
        mass_inverse_row(on, inverse[i])
    return 0


@entry
def mass_matrix(address, q, out):
    """out (n, nv, nv)."""
    on = load_recursion(address)
    for i in range(out.shape[0]):
        if no_state(on, q[row_of(q, i)]):
            return NOT_A_STATE
        mass_row(on, q[row_of(q, i)], out[i])
    return 0


@entry
def energy(address, q, v, out):
    """out (n, 1) [J]."""
    on = load_recursion(address)
    for i in range(out.shape[0]):
        if no_state(on, q[row_of(q, i)]) or not_finite(v[row_of(v, i)]):
            return NOT_A_STATE
        out[i, 0] = energy_row(on, q[row_of(q, i)], v[row_of(v, i)])
    return 0


@entry
def center_of_mass(address, q, out):
    """out (n, 3) [m]."""
    on = load_recursion(address)
    for i in range(out.shape[0]):
        if no_state(on, q[row_of(q, i)]):
            return NOT_A_STATE
        place_links(on, q[row_of(q, i)])
        find_center(on, out[i])
    return 0


@entry
def centroidal(address, q, v, center, momentum, matrix):
    """Centres of mass (n, 3), momenta about them (n, 6), their matrices (n, 6, nv)."""
    on = load_recursion(address)
    for i in range(momentum.shape[0]):
        if no_state(on, q[row_of(q, i)]) or not_finite(v[row_of(v, i)]):
            return NOT_A_STATE
        centroidal_row(on, q[row_of(q, i)], v[row_of(v, i)], center[i], momentum[i], matrix[i])
    return 0


@entry
def jacobian(address, q, out):
    """out (n, nb, 6, nv)."""
    on = load_recursion(address)
    for i in range(out.shape[0]):
        if no_state(on, q[row_of(q, i)]):
            return NOT_A_STATE
        jacobian_row(on, q[row_of(q, i)], out[i])
    return 0


@entry
def jacobian_rate(address, q, v, out):
    """out (n, nb, 6, nv)."""
    on = load_recursion(address)
    for i in range(out.shape[0]):
        if no_state(on, q[row_of(q, i)]) or not_finite(v[row_of(v, i)]):
            return NOT_A_STATE
        jacobian_rate_row(on, q[row_of(q, i)], v[row_of(v, i)], out[i])
    return 0


@entry
def frame_place(address, body, point, turn, q, position, rotation):
    """Positions (n, 3) and rotations (n, 3, 3) of a frame of a link."""
    on = load_recursion(address)
    for i in range(position.shape[0]):
        if no_state(on, q[row_of(q, i)]):
            return NOT_A_STATE
        frame_row(on, body, point, turn, q[row_of(q, i)], position[i], rotation[i])
    return 0


@entry
def frame_motion(address, body, point, q, v, a, out):
    """out (n, 12): twist and acceleration of a frame of a link."""
    on = load_recursion(address)
    for i in range(out.shape[0]):
        if no_motion(on, q[row_of(q, i)], v[row_of(v, i)], a[row_of(a, i)]):
            return NOT_A_STATE
        frame_motion_row(on, body, point, q[row_of(q, i)], v[row_of(v, i)], a[row_of(a, i)], out[i])
    return 0


@entry
def frame_jacobian(address, body, point, q, out):
    """out (n, 6, nv)."""
    on = load_recursion(address)
    for i in range(out.shape[0]):
        if no_state(on, q[row_of(q, i)]):
            return NOT_A_STATE
        frame_jacobian_row(on, body, point, q[row_of(q, i)], out[i])
    return 0


@entry
def points_of_links(address, bodies, points, q, out):
    """Positions out (n, c, 3) of c points of links."""
    on = load_recursion(address)
    for i in range(out.shape[0]):
        if no_state(on, q[row_of(q, i)]):
            return NOT_A_STATE
        points_row(on, bodies, points, q[row_of(q, i)], out[i])
    return 0


@entry
def jacobians_of_links(address, bodies, points, q, out):
    """Jacobians out (n, c, 6, nv) of the twists of c points of links."""
    on = load_recursion(address)
    for i in range(out.shape[0]):
        if no_state(on, q[row_of(q, i)]):
            return NOT_A_STATE
        point_jacobians_row(on, bodies, points, q[row_of(q, i)], out[i])
    return 0


@entry
def integrate(address, q, dv, out):
    """out (n, nq)."""
    on = load_recursion(address)
    for i in range(out.shape[0]):
        if no_state(on, q[row_of(q, i)]) or not_finite(dv[row_of(dv, i)]):
            return NOT_A_STATE
        integrate_row(on, q[row_of(q, i)], dv[row_of(dv, i)], out[i])
    return 0


@entry
def difference(address, q0, q1, out):
    """out (n, nv)."""
    on = load_recursion(address)
    for i in range(out.shape[0]):
        if no_state(on, q0[row_of(q0, i)]) or no_state(on, q1[row_of(q1, i)]):
            return NOT_A_STATE
        difference_row(on, q0[row_of(q0, i)], q1[row_of(q1, i)], out[i])
    return 0
