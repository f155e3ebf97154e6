"""Table B.2: what the selection matrices of the twelve joint kinds select."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robosim import ModelError
from robosim.joints import KINDS, perpendicular_basis, selection

# kind -> free translations, free rotations.
FREEDOMS = {
    "fixed": (0, 0),
    "prismatic": (1, 0),
    "planar_fixed_orientation": (2, 0),
    "fixed_orientation": (3, 0),
    "revolute": (0, 1),
    "cylindrical": (1, 1),
    "planar": (2, 1),
    "axis_rotation": (3, 1),
    "spherical": (0, 3),
    "cylindrical_free_orientation": (1, 3),
    "planar_free_orientation": (2, 3),
    "floating": (3, 3),
}

axes = arrays(float, 3, elements=st.floats(-10, 10)).filter(lambda a: np.linalg.norm(a) > 1e-3)


def test_all_twelve_are_there():
    assert set(KINDS) == set(FREEDOMS)


@pytest.mark.parametrize("kind", FREEDOMS)
@given(axis=axes)
def test_selection_and_null_space_complement_each_other(kind, axis):
    """[D C] is orthonormal and spans space, for translation and rotation."""
    chosen = selection(kind, axis)
    for D, C, free in zip(chosen[:2], chosen[2:], FREEDOMS[kind], strict=True):
        assert C.shape == (3, free)
        assert D.shape == (3, 3 - free)
        both = np.hstack((D, C))
        np.testing.assert_allclose(both.T @ both, np.eye(3), rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", FREEDOMS)
def test_the_axis_is_where_it_belongs(kind):
    axis = np.array([1.0, -2.0, 3.0])
    unit = axis / np.linalg.norm(axis)
    chosen = selection(kind, axis)
    translations, rotations = FREEDOMS[kind]
    if translations == 1:
        np.testing.assert_allclose(chosen.C_T[:, 0], unit)
    if translations == 2:
        np.testing.assert_allclose(chosen.D_T[:, 0], unit)
    if rotations == 1:
        np.testing.assert_allclose(chosen.C_R[:, 0], unit)


@given(axis=axes)
def test_perpendicular_basis_is_right_handed(axis):
    across, along = perpendicular_basis(axis)
    np.testing.assert_allclose(along[:, 0] * np.linalg.norm(axis), axis, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(np.cross(*across.T), along[:, 0], rtol=0, atol=1e-14)


def test_along_z_the_plane_is_x_and_y():
    np.testing.assert_array_equal(perpendicular_basis((0, 0, 2))[0], [[1, 0], [0, 1], [0, 0]])


def test_an_unknown_kind_is_named_with_those_known():
    with pytest.raises(ModelError, match="unknown joint kind 'rope'") as caught:
        selection("rope")
    assert caught.value.alternatives == tuple(KINDS)


@pytest.mark.parametrize("axis", [(0, 0, 0), (0, 0, np.nan), (np.inf, 0, 0), (1, 0)])
def test_an_axis_that_is_none(axis):
    with pytest.raises(ModelError, match="finite vector other than zero"):
        selection("revolute", axis)
