"""The public test scenes of [Sueda], by their numbers: lengths in cm, masses in g.

Each scene is a tree of cuboids of density 1. Poses of joints are given in axes of the parent's
joint, those of bodies in axes of their own joint. The author prints T + V - V0 at the end of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions, se3
from robosim.description.bearing import Bearing
from robosim.description.body import Body
from robosim.description.charts import (
    ExponentialBall,
    Hinge,
    Slide,
    SplineCurve,
    SplineSurface,
)
from robosim.description.solids import enclosed
from robosim.description.springs import Coupling, PointSpring
from robosim.experiments.redmax_scene import (
    NONE,
    Scene,
    Sigmoid,
    X,
    Y,
    Z,
    composite,
    cuboid,
    flat,
    turned,
    wave,
)
from robosim.reduced import ReducedSimulation

Array = NDArray[np.float64]
PI = np.pi


def simpler_chain() -> Scene:
    s = Scene("-1 chain of 2", -3697.4545694454454861)
    s.chain(2, (PI / 2, PI / 4))
    return s


def simple_chain() -> Scene:
    s = Scene("0 chain, fixed joints", -5930.8171118834870867)
    last = None
    for i in range(5):
        kind: dict[str, Any] = {"kind": "fixed"} if i % 2 else {"q": PI / 4}
        last = s.link(last, (10, 0, 0) if last else NONE, (5, 0, 0), **kind)
    return s


def three_axes() -> Scene:
    s = Scene("1 three axes", -9423.2594023734018265)
    a = s.link(None, NONE, (5, 0, 0), axis=Z)
    b = s.link(a, (10, 0, 0), (5, 0, 0), q=PI / 2)
    s.link(b, (10, 0, 0), (5, 0, 0), axis=Z, q=PI / 2)
    return s


def branching() -> Scene:
    s = Scene("2 branching", -1123.9825362491046690)
    a = s.link(None, (0, 0, 15), (0, 0, -5), (1, 1, 10), axis=X)
    b = s.link(a, (0, 0, -10), NONE, (1, 20, 1), axis=Z)
    s.link(b, (0, -10, 0), (0, 0, -5), (1, 1, 10), axis=X, q=PI / 4)
    s.link(b, (0, 10, 0), (0, 0, -5), (1, 1, 10), q=PI / 4)
    return s


def balls() -> Scene:
    s = Scene("3 exponential balls", 7788.8055603543098186, seconds=3.0)
    ball = composite(ExponentialBall())
    a = s.link(None, NONE, (0, 0, -5), (1, 1, 10), q=(PI / 8, 0, 0), v=(0, 0, 2), **ball)
    s.link(a, (0, 0, -10), (0, 0, -5), (1, 1, 10), q=(PI / 8, 0, 0), **ball)
    return s


def loop() -> Scene:
    s = Scene("4 loop", 3987.2011847696289806)
    a = s.link(None, sides=(20, 1, 1), kind="fixed")
    b = s.link(a, (-10, 0, 0), (0, 0, -5), (1, 1, 10))
    c = s.link(a, (10, 0, 0), (0, 0, -5), (1, 1, 10))
    d = s.link(b, (0, 0, -10), (10, 0, 0), (20, 1, 1))
    s.link(d, (10, 0, 0), (0, 0, -5), (1, 1, 10), v=5.0)
    s.loop(d, (10, 0, 0), c, (0, 0, -5))
    return s


def torques() -> Scene:
    s = Scene("5 torques", 170.5971183034905607, 10.0, 5e-2, NONE)
    s.chain(3)

    def given(sim: ReducedSimulation, k: int) -> tuple[float, float, float]:
        if k + 1 < 60:
            return 0.0, 0.0, 1e2
        return (0.0, 1e2, -1e2) if k + 1 < 120 else (1e2, -1e2, 0.0)

    s.before = given
    return s


def limits(theirs: bool = True) -> Scene:
    """Scene 6, with the author's sign for the stabilization of limits, or with the correct sign.

    With the author's sign, the angle moves on beyond the limit. The author's quadratic program is
    solved to 0.01 of the energy.
    """
    s = Scene("6 limits", 36957.4447830002754927, tolerance=0.01 / 36957.44)
    a = s.link(None, NONE, (5, 0, 0))
    s.link(a, (10, 0, 0), (5, 0, 0), lower=[-PI / 4], upper=[PI / 4])

    def with_their_sign(sim: ReducedSimulation) -> None:
        model = sim.engine.model
        right = model.limits_at

        def wrong(q: Array) -> tuple[Array, Array]:
            C, d = right(q)
            return C, C.sum(axis=1) * d

        model.limits_at = wrong  # type: ignore[method-assign]

    if theirs:
        s.begin = with_their_sign
    return s


def equal_angles() -> Scene:
    s = Scene("7 equal angles", 42645.1541420989669859, h=2e-2)
    s.chain(3)
    s.couplings = [Coupling("a", "joint2", "joint1", 0.5), Coupling("b", "joint3", "joint2", 0.5)]
    return s


def geared_loop() -> Scene:
    s = Scene("8 loop, equal angles", 14677.4348748325592169, h=2e-2)
    bar = (1, 1, 10)
    a = s.link(None, sides=(10, 1, 1), kind="fixed")
    b = s.link(a, (5, 0, 0), (0, 0, -5), bar)
    c = s.link(b, (0, 0, -10), (0, 0, -5), bar)
    d = s.link(c, (0, 0, -10), (-5, 0, 0), (10, 1, 1))
    e = s.link(d, (-10, 0, 0), (0, 0, 5), bar)
    f = s.link(e, (0, 0, 10), (0, 0, 5), bar)
    s.link(d, (-5, 0, 0), (0, 0, -5), bar, v=10.0)
    s.loop(a, (-5, 0, 0), f, (0, 0, 5))
    s.couplings = [Coupling("gear", "joint6", "joint3", 0.5)]
    return s


def hybrid() -> Scene:
    s = Scene("9 hybrid", 199570.9300431804149412, 10.0, 2e-2, NONE, hold=("joint1",))
    a = s.link(None, NONE, (5, 0, 0), motion=Sigmoid(1.5 * PI, 7.0, ends=True))
    b = s.link(a, (10, 0, 0), (5, 0, 0))
    s.link(b, (10, 0, 0), (5, 0, 0))
    return s


def point_force() -> Scene:
    s = Scene("10 point force, K left out", 1088.3425711375120954, gravity=NONE)
    names = s.chain(3)
    s.options = {"drag": {name: 10.0 * np.eye(6) for name in names}}

    def pushed(sim: ReducedSimulation, k: int) -> None:
        # The force is constant over the step, with the point at the beginning: without the matrix
        # K.
        R = quaternions.rotation_matrix(sim.state.q[2])
        sim.apply_wrench("body3", (0, 0, 1e3), point=sim.state.x[2] + R @ (5.0, 0, 0))

    s.before = pushed
    return s


def springs() -> Scene:
    s = Scene("11 springs, dampers", 2659.7218894234238178, 5.0, 2e-2, NONE)
    s.chain(3, stiffness=1e4, damping=1e3)
    s.v[0] = 1.0
    return s


def mass_springs() -> Scene:
    s = Scene("12 mass-springs", -11740.4013565295099397, 1.0, 5e-3)
    first, second = s.chain(2)

    def strand(n: int, ends: tuple[Array, Array], length: float) -> list[str]:
        nodes = []
        for share in np.linspace(0, 1, n):
            # A node does not rotate, so that its inertia has no effect.
            node = Body(f"body{len(s.bodies) + 1}", 1.0 / n, np.eye(3))
            at = (1 - share) * ends[0] + share * ends[1]
            fixed: dict[str, Any] = {"kind": "fixed_orientation", "actuated": False}
            nodes.append(s.link(None, at, sides=node, **fixed))
        for k in range(n - 1):
            part = length / (n - 1)
            name = f"spring{len(s.springs) + 1}"
            s.springs.append(
                PointSpring(name, nodes[k], nodes[k + 1], stiffness=1e5 / part**2, rest_length=part)
            )
        return nodes

    ends = np.array((30.0, 0, 10)), np.array((20.0, 0, 0))
    a = strand(3, ends, float(np.linalg.norm(ends[1] - ends[0])))
    b = strand(2, (np.array((5.0, 0, 0)), np.array((15.0, 0, 0))), 10.0)
    s.loop(None, ends[0], a[0], NONE)
    s.loop(second, (5, 0, 0), a[-1], NONE)
    s.loop(first, NONE, b[0], NONE)
    s.loop(second, NONE, b[-1], NONE)
    s.options = {"explicit": tuple(spring.name for spring in s.springs)}
    return s


def driven_body() -> Scene:
    s = Scene("13 driven body", -765.6565884021354123, 10.0, 5e-2)
    a = s.link(None, NONE, (0, 0, -5), (1, 1, 10))
    b = s.link(a, (0, 0, -10), (5, 0, 0))
    c = s.link(b, (10, 0, 0), (0, 0, 5), (1, 1, 10))
    last = s.link(c, (0, 0, 10), (5, 0, 0))
    s.begin = lambda sim: sim.drive_body(last, wave, (4, 0, 2))
    return s


def universal() -> Scene:
    s = Scene("14 universal", 9679.3365423127470422)
    last = None
    for i in range(3):
        q = (0, PI / 8) if i % 2 else (PI / 8, 0)
        at = (0, 0, -10) if last else NONE
        last = s.link(last, at, (0, 0, -5), (1, 1, 10), q=q, kind="universal")
    return s


def slide() -> Scene:
    s = Scene("15 slide in a loop", -17427.8561972516035894)
    bar, rail = (1, 1, 10), (22, 1, 1)
    a = s.link(None, sides=rail, kind="fixed")
    b = s.link(a, (-11, 0, 0), (0, 0, -5), bar)
    c = s.link(b, (0, 0, -10), (11, 0, 0), rail, kind="prismatic", axis=X)
    d = s.link(c, (22, 0, 0), (0, 0, 5), bar)
    s.link(c, (11, 0, 0), (0, 0, -5), bar, q=3 * PI / 4)
    s.loop(a, (11, 0, 0), d, (0, 0, 5))
    return s


def planar(joint: dict[str, Any], s: Scene) -> Scene:
    a = s.link(None, sides=(10, 10, 1), **joint)
    s.link(a, (-5, 0, 0), (0, 0, -5), (1, 1, 10))
    s.link(a, (0, -5, 0), (0, 0, -5), (1, 1, 10), axis=X)
    return s


def in_the_plane() -> Scene:
    s = planar(flat(2), Scene("16 planar", 1027.3404900101377279))
    s.q[-2:] = PI / 2, PI / 4
    return s


def translational() -> Scene:
    s = planar(flat(3), Scene("17 translational", 836.2350063173605577, gravity=NONE))
    s.v[-2:] = 2.0, 1.0
    return s


def free() -> Scene:
    s = Scene("18 free", 4.5116666666668817, 7.0, gravity=(0, 0, -1))
    s.link(
        None, sides=(1, 1, 1), v=(0, 0, 3, 0.2, 0.4, 0.6), q=(0, 0, 0, 1, 0, 0, 0), kind="floating"
    )
    return s


def composed() -> Scene:
    s = Scene("19 composite", 918.5086593280602756, h=2e-2)
    joint = composite(Hinge(X), Slide(X))
    s.link(None, NONE, (0, 0, 5), (1, 1, 10), q=(0.1, 0), v=(0, 1), **joint)
    return s


def joint_and_body() -> Scene:
    s = Scene("20 joint and body driven", 50368.3587015155280824, 10.0, 5e-2, hold=("joint3",))
    a = s.link(None, NONE, (0, 0, -5), (1, 1, 10))
    b = s.link(a, (0, 0, -10), (5, 0, 0))
    c = s.link(b, (10, 0, 0), (5, 0, 0), motion=Sigmoid(PI / 2, 10.0, ends=False))
    d = s.link(c, (10, 0, 0), (0, 0, 5), (1, 1, 10))
    last = s.link(d, (0, 0, 10), (5, 0, 0))
    s.begin = lambda sim: sim.drive_body(last, wave, (4, 0, 2))
    return s


def spline_curve() -> Scene:
    s = Scene("21 spline curve", -30627.8479814097263443, h=5e-3)
    a = s.link(None, NONE, (0, 0, -5), (1, 1, 10))
    frames = [
        turned(Y, PI, (-10, 0, 0)), turned(Y, PI / 2, (0, 0, -2)), turned(Y, 0, (10, 0, 0)),
        turned(Y, -PI / 2, (0, 0, 2)),
    ]  # fmt: skip
    curve = SplineCurve(frames, periodic=True)
    b = s.link(a, (0, 0, -10), (5, 0, 0), kind="spline", chart=curve)
    s.link(b, (10, 0, 0), (5, 0, 0), q=15 * PI / 16)
    return s


def spline_surface() -> Scene:
    s = Scene("22 spline surface", 2154.9740571399888722)
    a = s.link(None, NONE, (0, 0, -5), (1, 1, 10), axis=X, q=PI / 8)
    way, turn = np.linspace(-15, 15, 4), np.linspace(-PI / 4, PI / 4, 4)
    x, y = np.meshgrid(way, way, indexing="ij")
    tilt = np.repeat(turn[:, None], 4, axis=1)
    controls = np.stack((x, y, 0.05 * (x * x + y * y), tilt, tilt, 0 * x), axis=-1)
    on: dict[str, Any] = {"kind": "spline", "chart": SplineSurface(controls)}
    b = s.link(a, (0, 0, -14), (0, 0, -5), (1, 1, 10), q=(0.5, 0.5), **on)
    s.link(b, (0, 0, -10), (0, 0, -5), (1, 1, 10), q=PI / 4)
    return s


def point_springs() -> Scene:
    s = Scene("23 point springs", 2125.1442936080966319)
    names = s.chain(4, (PI / 2, PI / 16, PI / 16, PI / 16))
    for i in range(3):
        ends: dict[str, Any] = {"parent_position": (-1, 0, 0), "child_position": (5, 0, 0)}
        s.springs.append(
            PointSpring(
                f"spring{i}", names[i], names[i + 1], stiffness=1e2, rest_length=0.0, **ends
            )
        )
    return s


def composite_body() -> Scene:
    s = Scene("25 composite body", 1261.6057602036726166)
    mass, length = 10 * PI, 10.0
    across = mass / 12 * (3 + length**2)
    cylinder = Body("cylinder", mass, np.diag((0.5 * mass, across, across)))
    parts = ((cuboid("bar", (1, 1, 10)), (0, 0, -5)), (cylinder, (5, 0, -10)))
    total = sum(part.mass for part, _ in parts)
    centre = sum(part.mass * np.array(at, dtype=float) for part, at in parts) / total
    inertia = np.zeros((3, 3))
    for part, at in parts:  # [Sueda, Eq. 1.26]
        M = np.zeros((6, 6))
        M[:3, :3], M[3:, 3:] = part.mass * np.eye(3), part.inertia
        Ad = se3.adjoint(se3.transformation(np.eye(3), centre - np.array(at)))
        inertia += (Ad.T @ M @ Ad)[3:, 3:]
    s.link(None, NONE, centre, Body("body1", total, inertia))
    return s


def mesh() -> Scene:
    s = Scene("26 mesh", 59.8820887155682158, 1.0, tolerance=1e-6)
    corners = [
        (x, y, z) for z in (-1.5, 1.5) for x, y in ((-0.5, -1), (-0.5, 1), (0.5, 1), (0.5, -1))
    ]
    vertices = np.array(corners)
    vertices[5, 1] = 1.000001  # as in the author's file
    faces = np.array((
        (1, 3, 0), (7, 5, 4), (4, 1, 0), (5, 2, 1), (2, 7, 3), (0, 7, 4),
        (1, 2, 3), (7, 6, 5), (4, 5, 1), (5, 6, 2), (2, 6, 7), (0, 3, 7),
    ))  # fmt: skip
    solid = enclosed(vertices, faces)
    last = None
    for _ in range(2):
        name = f"body{len(s.bodies) + 1}"
        centre = np.array((0.5, 0, -1.5)) + solid.center
        body = Body(name, solid.volume, solid.inertia)
        last = s.link(last, (0, 0, -3) if last else NONE, centre, body)
    return s


def free_in_2d() -> Scene:
    s = Scene("35 free in 2D", 166.9232451756938644, 10.0, gravity=(0, -1, 0))
    a = s.link(None, v=(0, 0, 1), **composite(Slide(X), Slide(Y), Hinge(Z)))
    s.link(a, (5, 0, 0), (5, 0, 0), axis=Z, v=-1.0)
    return s


def hinges_that_rub() -> Scene:
    """Two hinges with bearings, whose axes are inclined by 45 degrees."""
    s = Scene("27 friction of hinges", -137371.1285153437056579, 1.0, tolerance=2e-4)
    joint: dict[str, Any] = {"axis": Z, "bearing": Bearing(0.6, 0.5, 1.0)}
    a = s.link(None, NONE, (5, 0, 0), offset=quaternions.from_axis_angle(X, PI / 4), **joint)
    s.link(a, (10, 0, 0), (5, 0, 0), **joint)
    return s


def balls_that_rub() -> Scene:
    """Two ball joints with bearings, whose bars start horizontally."""
    s = Scene("28 friction of balls", -184565.9459125697612762, 1.0)
    joint: dict[str, Any] = {"kind": "spherical", "bearing": Bearing(5.0, 1.0)}
    a = s.link(None, NONE, (5, 0, 0), q=(1, 0, 0, 0), **joint)
    s.link(a, (10, 0, 0), (5, 0, 0), q=(1, 0, 0, 0), **joint)
    return s


def slides_that_rub() -> Scene:
    """Two prismatic joints with bearings, down a slope of 60 degrees."""
    s = Scene("29 friction of slides", -256391.5065969563729595, 1.0)
    joint: dict[str, Any] = {"kind": "prismatic", "axis": X, "bearing": Bearing(0.8, 2.5, 5.0)}
    a = s.link(None, NONE, (5, 0, 0), offset=quaternions.from_axis_angle(Y, PI / 3), **joint)
    s.link(a, (10, 0, 0), (5, 0, 0), **joint)
    return s


SCENES: tuple[Callable[[], Scene], ...] = (
    simpler_chain, simple_chain, three_axes, branching, balls, loop, torques, limits, equal_angles,
    geared_loop, hybrid, point_force, springs, mass_springs, driven_body, universal, slide,
    in_the_plane, translational, free, composed, joint_and_body, spline_curve, spline_surface,
    point_springs, composite_body, mesh, free_in_2d,
)  # fmt: skip
