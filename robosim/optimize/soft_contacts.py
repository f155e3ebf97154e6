"""Contact forces as smooth functions of place and velocity, which act from a distance.

The normal force is a softened spring with the damping of [Hunt1975], and friction is Coulomb's with
a speed of regularisation, as in [Kurtz2023]. All derivatives are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.errors import OptionError
from robosim.kernels.compiler.content import row
from robosim.optimize.checks import numbers
from robosim.validation import Array, positive

Ground = Callable[[Array, Array], Array]
"""Maps x and y (...) [m] to (6, ...): the height, its slopes by x and y, and its second derivatives
by xx, xy and yy."""

Distance = Callable[[Array], Array]
"""Maps points (..., 3) [m] to (10, ...): the distance from the ground, its slopes by x, y and z,
and its second derivatives by xx, xy, xz, yy, yz and zz. A ground that has one as its `distance` is
also touched from the side."""

SHARP = 1e-3  # [m]: nearer to an edge, its bend counts as that of this distance


class Plateaus:
    """A ground of level platforms and pits, with smooth edges, for `SoftContacts`.

    Parameters
    ----------
    boxes : rows (x0, x1, y0, y1, height) [m]
        Rectangles, whose heights are added to that of the ground; infinite ends are allowed.
    width : float [m]
        Scale of an edge: 80 % of its height are within 4.4 widths.

    Raises
    ------
    OptionError
        For rows of another length, or a width that is not positive.
    """

    def __init__(self, boxes: ArrayLike, width: float = 0.01) -> None:
        rows = np.array(boxes, dtype=float)
        rows = rows if rows.size else np.zeros((0, 5))
        if (
            rows.ndim != 2
            or rows.shape[1] != 5
            or np.isnan(rows).any()
            or not np.isfinite(rows[:, 4]).all()
        ):
            raise OptionError("boxes must be rows (x0, x1, y0, y1, height)")
        self.boxes, self.width = rows, positive("width", width)

    def __call__(self, x: Array, y: Array) -> Array:
        """See `Ground`."""
        found = np.zeros((6, *np.shape(x)))
        for x0, x1, y0, y1, height in self.boxes:
            (a, a1, a2), (b, b1, b2) = self._window(x, x0, x1), self._window(y, y0, y1)
            found += height * np.stack((a * b, a1 * b, a * b1, a2 * b, a1 * b1, a * b2))
        return found

    def _window(self, at: Array, low: float, high: float) -> tuple[Array, Array, Array]:
        """One within two ends, zero beyond them, with two derivatives."""
        ones = np.ones(np.shape(at))
        value = slope = bend = 0.0 * ones
        for end, sign in ((low, 1.0), (high, -1.0)):
            if end == -np.inf:
                s, s1, s2 = ones, 0.0 * ones, 0.0 * ones
            elif end == np.inf:
                s, s1, s2 = 0.0 * ones, 0.0 * ones, 0.0 * ones
            else:
                s = 0.5 * (1.0 + np.tanh(0.5 * (at - end) / self.width))
                s1 = s * (1.0 - s) / self.width
                s2 = s1 * (1.0 - 2.0 * s) / self.width
            value, slope, bend = value + sign * s, slope + sign * s1, bend + sign * s2
        return value, slope, bend


class Blocks:
    """A ground of boxes, by the distance from them, for `SoftContacts`.

    Balls touch faces and edges of boxes where they do in `Simulation`, while a `Plateaus` has its
    height below each point.

    Parameters
    ----------
    boxes : rows (x0, x1, y0, y1, z0, z1) [m]
        Ends of boxes along the world's axes; infinite ends are allowed.
    blend : float [m]
        Width over which distances from several boxes are blended to the least one. Where two are
        equally near, the result is smaller by 0.7 of the width.

    Raises
    ------
    OptionError
        For rows of another length, ends in the wrong order, no boxes, a box without a face, or a
        width that is not positive.
    """

    def __init__(self, boxes: ArrayLike, blend: float = 0.003) -> None:
        rows = np.array(boxes, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != 6 or not len(rows) or np.isnan(rows).any():
            raise OptionError("boxes must be rows (x0, x1, y0, y1, z0, z1)")
        self.low, self.high = rows[:, ::2].copy(), rows[:, 1::2].copy()
        if not np.all(self.low < self.high):
            raise OptionError(f"lower ends of boxes come first, not {rows.tolist()}")
        if np.isinf(rows).all(axis=1).any():
            raise OptionError("a box needs one end at least that is not infinite")
        self.boxes, self.blend = rows, positive("blend", blend)

    def __call__(self, x: Array, y: Array) -> Array:
        """The height of the highest box at x and y, with slopes of zero; see `Ground`.

        Without a box there, the height is -inf.
        """
        found = np.zeros((6, *np.shape(x)))
        found[0] = -np.inf
        for low, high in zip(self.low, self.high, strict=True):
            there = (low[0] <= x) & (x <= high[0]) & (low[1] <= y) & (y <= high[1])
            found[0] = np.where(there, np.maximum(found[0], high[2]), found[0])
        return found

    def distance(self, p: Array) -> Array:
        """See `Distance`."""
        flat = np.ascontiguousarray(p, dtype=float).reshape(-1, 3)
        found = np.zeros((10, len(flat)))
        distance_of_boxes(flat, self.low, self.high, self.blend, found)
        return found.reshape(10, *np.shape(p)[:-1])


@row
def distance_of_boxes(p, low, high, blend, out):  # type: ignore[no-untyped-def]
    """`Distance` out (10, n) of points (n, 3) from boxes, blended by exponential weights."""
    boxes = low.shape[0]
    each = np.zeros((boxes, 10))
    for k in range(p.shape[0]):
        least = np.inf
        for b in range(boxes):
            distance_of_box(p[k], low[b], high[b], each[b])
            least = min(least, each[b, 0])
        total = 0.0
        for b in range(boxes):
            weight = np.exp((least - each[b, 0]) / blend)
            total += weight
            for e in range(1, 10):
                out[e, k] += weight * each[b, e]
            e = 4
            for i in range(3):
                for j in range(i, 3):
                    out[e, k] -= weight * each[b, 1 + i] * each[b, 1 + j] / blend
                    e += 1
        for e in range(1, 10):
            out[e, k] /= total
        e = 4
        for i in range(3):
            for j in range(i, 3):
                out[e, k] += out[1 + i, k] * out[1 + j, k] / blend
                e += 1
        out[0, k] = least - blend * np.log(total)


@row
def distance_of_box(p, low, high, out):  # type: ignore[no-untyped-def]
    """`Distance` out (10,) of a point (3,) from a box."""
    out[:] = 0.0
    size, deepest, side = 0.0, -np.inf, 0
    for i in range(3):
        beyond = max(low[i] - p[i], p[i] - high[i])
        if beyond > 0.0:
            size += beyond * beyond
        if beyond > deepest:
            deepest, side = beyond, i
    if size == 0.0:
        out[0] = deepest
        out[1 + side] = 1.0 if p[side] - high[side] > low[side] - p[side] else -1.0
        return
    size = np.sqrt(size)
    out[0] = size
    for i in range(3):
        if p[i] > high[i]:
            out[1 + i] = (p[i] - high[i]) / size
        elif p[i] < low[i]:
            out[1 + i] = (p[i] - low[i]) / size
    bend = max(size, SHARP)
    e = 4
    for i in range(3):
        for j in range(i, 3):
            active = 1.0 if i == j and out[1 + i] != 0.0 else 0.0
            out[e] = (active - out[1 + i] * out[1 + j]) / bend
            e += 1


def level(x: Array, y: Array) -> Array:
    """The `Ground` z = 0."""
    return np.zeros((6, *np.shape(x)))


@dataclass(frozen=True)
class SoftContacts:
    """Contact points of a robot that feel the ground from a distance, for `ContactMPC`.

    Attributes
    ----------
    names : tuple of str
        Contact points of the robot; None: those whose name contains "foot", or all if none does.
    stiffness : float [N/m]
    softness : float [m]
        Distance over which the force fades out: at twice this gap, it is an eighth of the product
        of stiffness and softness.
    friction : float or None, Coulomb coefficient; None for those of the points
    stiction : float [m/s]
        Sliding speed at which friction is 0.7 of its bound.
    dissipation : float [m/s]
        Speed of parting at which the normal force has vanished is twice this speed.
    ground : see `Ground` and `Distance`
    """

    names: tuple[str, ...] | None = None
    stiffness: float = 3000.0
    softness: float = 0.005
    friction: float | None = None
    stiction: float = 0.05
    dissipation: float = 0.5
    ground: Ground = field(default=level)

    def __post_init__(self) -> None:
        for name in ("stiffness", "softness", "stiction", "dissipation"):
            positive(name, getattr(self, name))

    def points(self, robot: Any) -> list[Any]:
        """The contact points of a robot.

        Raises
        ------
        OptionError
            For unknown names, and for points that are no balls.
        """
        known = {one.name: one for one in robot.contacts}
        names = self.names
        if names is None:
            names = tuple(name for name in known if "foot" in name) or tuple(known)
        for name in names:
            if name not in known:
                raise OptionError(f"'{name}' is no contact point of '{robot.name}': {list(known)}")
            if known[name].axis is not None or known[name].semi_axes is not None:
                raise OptionError(f"contact point '{name}' must be a ball or a corner")
        if not names:
            raise OptionError(f"robot '{robot.name}' has no contact points")
        return [known[name] for name in names]

    def surface(self, p: Array) -> Array:
        """`Distance` (10, ...) from the ground at points (..., 3); of a height, along z."""
        distance = getattr(self.ground, "distance", None)
        if distance is not None:
            return np.ascontiguousarray(distance(p))
        found = np.zeros((10, *p.shape[:-1]))
        height = self.ground(p[..., 0], p[..., 1])
        found[0], found[3] = p[..., 2] - height[0], 1.0
        found[1], found[2] = -height[1], -height[2]
        found[4], found[5], found[7] = -height[3], -height[4], -height[5]
        return found

    def numbers(self, slip: float, clearance: float) -> Array:
        """Parameters of `force` (6,)."""
        more = numbers("slip and clearance", (slip, clearance), (2,))
        return np.array(
            [self.stiffness, self.softness, self.stiction, self.dissipation, np.sqrt(more[0]),
             more[1]]
        )  # fmt: skip


@row
def force(p, v, ground, mu, radius, given, f, fp, fv, r, rp, rv):  # type: ignore[no-untyped-def]
    """The force on a point at p with velocity v, its slips, and the derivatives of both.

    `ground` (10,) is the distance with its derivatives; f (3,) is in world axes, with fp and fv
    (3, 3). The slips r (3,) are the sliding velocity, weighted by how near the ground is.
    """
    k, soft, stick, free = given[0], given[1], given[2], given[3]
    n = np.array((ground[1], ground[2], ground[3]))
    N = np.zeros((3, 3))
    N[0, 0], N[1, 1], N[2, 2] = ground[4], ground[7], ground[9]
    N[0, 1] = N[1, 0] = ground[5]
    N[0, 2] = N[2, 0] = ground[6]
    N[1, 2] = N[2, 1] = ground[8]
    nn = n[0] * n[0] + n[1] * n[1] + n[2] * n[2] + 1e-12
    root = np.sqrt(nn)
    gap = ground[0] - radius
    u = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
    # Stiffness, and its damping.
    z = -gap / soft
    if z > 30.0:
        spring, weak = k * soft * z, -k
    else:
        e = np.exp(z)
        spring, weak = k * soft * np.log1p(e), -k * e / (1.0 + e)
    s = u / free
    if s < 0.0:
        damp, slow = 1.0 - s, -1.0 / free
    elif s < 2.0:
        damp, slow = 0.25 * (s - 2.0) ** 2, 0.5 * (s - 2.0) / free
    else:
        damp, slow = 0.0, 0.0
    normal = spring * damp
    w = v - n * (u / nn)
    size = np.sqrt(stick * stick + w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    # How near: one on the ground, zero far above.
    reach = given[5]
    if reach > 0.0:
        q = min(max(gap / reach, -30.0), 30.0)
        near = 1.0 / (1.0 + np.exp(3.0 * (q - 1.0)))
        fade = -3.0 / reach * near * (1.0 - near)
    else:
        near, fade = 0.0, 0.0
    slip = given[4]
    for i in range(3):
        f[i] = normal * (n[i] / root - mu * w[i] / size)
        r[i] = slip * near * w[i]
    du, dn, dw = 0.0, np.zeros(3), np.zeros(3)
    for j in range(3):
        for side in range(2):
            if side == 0:  # along the place
                dn[:] = N[:, j]
                du = dn[0] * v[0] + dn[1] * v[1] + dn[2] * v[2]
                dgap = n[j]
            else:
                dn[:] = 0.0
                du, dgap = n[j], 0.0
            dnormal = weak * dgap * damp + spring * slow * du
            ndn = n[0] * dn[0] + n[1] * dn[1] + n[2] * dn[2]
            for i in range(3):
                dw[i] = -dn[i] * u / nn - n[i] * du / nn + n[i] * u * 2.0 * ndn / (nn * nn)
            if side == 1:
                dw[j] += 1.0
            ds = (w[0] * dw[0] + w[1] * dw[1] + w[2] * dw[2]) / size
            for i in range(3):
                unit = (dn[i] - n[i] * ndn / nn) / root
                drag = dw[i] / size - w[i] * ds / (size * size)
                change = dnormal * (n[i] / root - mu * w[i] / size) + normal * (unit - mu * drag)
                shift = slip * (near * dw[i] + fade * dgap * w[i])
                if side == 0:
                    fp[i, j], rp[i, j] = change, shift
                else:
                    fv[i, j], rv[i, j] = change, shift


@row
def slopes_of_contacts(  # type: ignore[no-untyped-def]
    p, J, chain, rates, ground, mu, radius, given, tau, Tq, Tv, r, Rq, Rv
):
    """Forces of all contacts on the coordinates at n states, slips, and their derivatives.

    p (n, c, 3) are the points, J (n, c, 6, nv) the Jacobians of their twists, and `chain` (nv,)
    numbers the joints from the root on. Results are tau (n, nv) with Tq and Tv (n, nv, nv), and
    r (n, c, 3) with Rq and Rv (n, c, 3, nv).
    """
    n, c, nv = p.shape[0], p.shape[1], rates.shape[1]
    f, v, bend, by = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros((4, 3, 3))
    fp, fv, rp, rv = by[0], by[1], by[2], by[3]
    D, F, B = np.zeros((3, nv)), np.zeros((3, nv)), np.zeros((3, nv))
    moves = np.zeros(nv, dtype=np.int64)
    for k in range(n):
        for a in range(c):
            count = 0
            for i in range(nv):
                moved = 0.0
                for x in range(6):
                    moved += abs(J[k, a, x, i])
                if moved > 0.0:
                    moves[count] = i
                    count += 1
            v[:] = 0.0
            for m in range(count):
                i = moves[m]
                for x in range(3):
                    v[x] += J[k, a, x, i] * rates[k, i]
            force(
                p[k, a], v, ground[:, k, a], mu[a], radius[a], given[k % given.shape[0]],
                f, fp, fv, r[k, a], rp, rv,
            )  # fmt: skip
            # How the velocity changes with the coordinates, and the Jacobian below a fixed force.
            D[:] = 0.0
            for m in range(count):
                i = moves[m]
                for b in range(count):
                    j = moves[b]
                    # Axes turn with all joints before them, and arms with those after them.
                    if chain[j] <= chain[i]:
                        w, o = J[k, a, 3:, j], J[k, a, :3, i]
                    else:
                        w, o = J[k, a, 3:, i], J[k, a, :3, j]
                    bend[0] = w[1] * o[2] - w[2] * o[1]
                    bend[1] = w[2] * o[0] - w[0] * o[2]
                    bend[2] = w[0] * o[1] - w[1] * o[0]
                    for x in range(3):
                        D[x, j] += bend[x] * rates[k, i]
                    Tq[k, i, j] += f[0] * bend[0] + f[1] * bend[1] + f[2] * bend[2]
            for m in range(count):
                j = moves[m]
                for x in range(3):
                    F[x, j] = B[x, j] = 0.0
                    for y in range(3):
                        F[x, j] += fp[x, y] * J[k, a, y, j] + fv[x, y] * D[y, j]
                        B[x, j] += fv[x, y] * J[k, a, y, j]
                        Rq[k, a, x, j] += rp[x, y] * J[k, a, y, j] + rv[x, y] * D[y, j]
                        Rv[k, a, x, j] += rv[x, y] * J[k, a, y, j]
            for m in range(count):
                i = moves[m]
                for x in range(3):
                    o = J[k, a, x, i]
                    tau[k, i] += o * f[x]
                    for b in range(count):
                        j = moves[b]
                        Tq[k, i, j] += o * F[x, j]
                        Tv[k, i, j] += o * B[x, j]


@row
def forces_of_contacts(p, J, rates, ground, mu, radius, given, tau, r):  # type: ignore[no-untyped-def]
    """As `slopes_of_contacts`, without derivatives."""
    n, c, nv = p.shape[0], p.shape[1], rates.shape[1]
    f, v, by = np.zeros(3), np.zeros(3), np.zeros((4, 3, 3))
    fp, fv, rp, rv = by[0], by[1], by[2], by[3]
    for k in range(n):
        for a in range(c):
            for x in range(3):
                v[x] = 0.0
                for i in range(nv):
                    v[x] += J[k, a, x, i] * rates[k, i]
            force(
                p[k, a], v, ground[:, k, a], mu[a], radius[a], given[k % given.shape[0]],
                f, fp, fv, r[k, a], rp, rv,
            )  # fmt: skip
            for i in range(nv):
                for x in range(3):
                    tau[k, i] += J[k, a, x, i] * f[x]
