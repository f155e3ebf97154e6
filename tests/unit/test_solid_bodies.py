"""Bodies of shapes by their density, and several as one, against formulas on paper."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import Body, ModelError, quaternions

CORNERS = np.array([(x, y, z) for x in (0, 2) for y in (0, 3) for z in (0, 4)], dtype=float)
QUADS = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
FACES = [tri for a, b, c, d in QUADS for tri in ((a, b, c), (a, c, d))]


def test_shapes_have_their_mass_and_inertia():
    box = Body.box("box", (2, 3, 4), density=0.5)
    m = 12.0
    assert box.mass == pytest.approx(m)
    np.testing.assert_allclose(box.inertia, m / 12 * np.diag((25, 20, 13)), rtol=1e-12)
    np.testing.assert_array_equal(box.reference_position, np.zeros(3))
    mesh = Body.mesh("mesh", CORNERS, FACES, 0.5)
    np.testing.assert_allclose(mesh.inertia, box.inertia, rtol=1e-12)
    np.testing.assert_allclose(mesh.reference_position, (-1, -1.5, -2), rtol=1e-12)
    assert mesh.mass == pytest.approx(m)
    rod = Body.cylinder("rod", 0.1, 2.0, mass=3.0, collides=True)
    across = 3.0 * (0.01 / 4 + 4.0 / 12)
    np.testing.assert_allclose(rod.inertia, np.diag((across, across, 3.0 * 0.01 / 2)), rtol=1e-12)
    assert (len(rod.visuals), len(rod.collisions), len(box.collisions)) == (1, 1, 0)
    assert Body.box("b", (1, 1, 1)).mass == pytest.approx(1000.0)


def test_two_halves_make_a_whole():
    """Cut across and turned back, so that poses matter; drags come about the common centre."""
    turn = quaternions.from_axis_angle((0, 0, 1), np.pi / 2)
    half = Body.box("half", (3, 1, 4), 0.5)
    whole = Body.merged("whole", [(half, (-0.5, 0, 0), turn), (half, (0.5, 0, 0), turn)])
    box = Body.box("box", (2, 3, 4), 0.5)
    np.testing.assert_allclose(whole.inertia, box.inertia, rtol=1e-12, atol=1e-12)
    assert whole.mass == pytest.approx(box.mass)
    np.testing.assert_allclose(whole.visuals[1].position, (0.5, 0, 0), atol=1e-15)
    np.testing.assert_allclose(whole.visuals[1].quaternion, turn, atol=1e-15)
    heavy = Body("heavy", 3.0, np.eye(3), drag=2.0)
    off = Body.merged("off", [Body("light", 1.0, np.eye(3)), (heavy, (0, 4.0, 0))])
    np.testing.assert_allclose(off.reference_position, (0, -3, 0))
    np.testing.assert_allclose(off.inertia, np.diag((14, 2, 14)))
    # The part, a metre along y, goes at v + w x y: pushed along x as the whole turns about -z.
    twist = np.array((0, 0, 0, 0, 0, -1.0))
    assert off.drag is not None
    np.testing.assert_allclose(off.drag @ twist, (2, 0, 0, 0, 0, -2 - 2), atol=1e-12)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Body.box("b", (1, 0, 1)), "size of a box must be positive"),
        (lambda: Body.box("b", (1, 1, 1), -1.0), "body 'b'.*mass must be positive"),
        (lambda: Body.cylinder("b", 1, 1, np.nan), "body 'b'.*density must be finite"),
        (lambda: Body.mesh("b", CORNERS[:3], [(0, 1, 2)]), "encloses no volume"),
        (lambda: Body.merged("b", ()), "body 'b'.*no parts"),
        (lambda: Body.merged("b", [(1, (0, 0, 0))]), "parts are bodies"),
        (lambda: Body.merged("b", [(Body("a", 1, np.eye(3)), (0, 0))]), "position of 'a'"),
    ],
)
def test_what_is_refused(make, told):
    with pytest.raises(ModelError, match=told):
        make()
