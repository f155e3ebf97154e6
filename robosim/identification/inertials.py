"""Ten parameters of a body's mass distribution, of which all values are physical.

The pseudo-inertia of a body about the origin of its reference frame,

    J = [S, h; h', m],  h = m c,  S = tr(I) / 2 - I,

is positive definite if and only if some distribution of mass has it [Wensing2018]. So it is
``J = U U'`` with an upper triangular U, whose diagonal is positive [Rucker2022]:

    U = exp(a) [exp(d1), s12, s13, t1; 0, exp(d2), s23, t2; 0, 0, exp(d3), t3; 0, 0, 0, 1]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim.description.centres import centre_of
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError
from robosim.linearization.parameters import AXES, ENTRIES
from robosim.validation import Array

ABOVE = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))  # s12, s13, s23, t1, t2, t3
STEP = 1e-6  # of the ten parameters, for finite differences


class Inertial(NamedTuple):
    """Mass [kg], centre (3,) [m] from the reference frame, inertia (3, 3) about the centre."""

    mass: float
    centre: Array
    inertia: Array


def names_of(body: str) -> tuple[str, ...]:
    """Names of the ten parameters, in the order of `values_of`."""
    axes = (f"centre:{body}:{axis}" for axis in AXES)
    return (f"mass:{body}", *axes, *(f"inertia:{body}:{which}" for which in ENTRIES))


def values_of(inertial: Inertial) -> Array:
    """Values (10,) of the parameters in `names_of`."""
    entries = [inertial.inertia[at] for at in ENTRIES.values()]
    return np.array([inertial.mass, *inertial.centre, *entries])


def inertial_of(robot: Mechanism, name: str) -> Inertial:
    """The mass, centre and inertia of a body."""
    body = robot.body(name)
    return Inertial(body.mass, centre_of(robot, name), np.asarray(body.inertia, dtype=float))


def to_numbers(inertial: Inertial, name: str) -> Array:
    """The ten parameters (10,): a, d1, d2, d3, s12, s13, s23, t1, t2, t3.

    Raises
    ------
    OptionError
        If no distribution of mass has this inertia.
    """
    m, c = inertial.mass, np.asarray(inertial.centre)
    own = 0.5 * np.trace(inertial.inertia) * np.eye(3) - inertial.inertia
    pseudo = np.zeros((4, 4))
    pseudo[:3, :3], pseudo[3, 3] = own + m * np.outer(c, c), m
    pseudo[:3, 3] = pseudo[3, :3] = m * c
    try:
        # An upper triangle times its transpose: Cholesky's factor of the reversed matrix.
        U = np.linalg.cholesky(pseudo[::-1, ::-1])[::-1, ::-1]
    except np.linalg.LinAlgError:
        raise OptionError(
            f"no body has the inertia that '{name}' begins with: "
            f"{np.asarray(inertial.inertia).tolist()} kg m^2; give a start that one can have"
        ) from None
    U = U / U[3, 3]
    diagonal = np.log(np.diag(U)[:3])
    return np.array([0.5 * np.log(m), *diagonal, *(U[at] for at in ABOVE)])


def from_numbers(x: Array) -> Inertial:
    """The inertial of ten parameters, which is physical for all their values."""
    U = np.diag([*np.exp(x[1:4]), 1.0])
    for value, at in zip(x[4:], ABOVE, strict=True):
        U[at] = value
    pseudo = np.exp(2.0 * x[0]) * (U @ U.T)
    m = float(pseudo[3, 3])
    c = pseudo[:3, 3] / m
    own = pseudo[:3, :3] - m * np.outer(c, c)
    return Inertial(m, c, np.trace(own) * np.eye(3) - own)


def slopes_at(x: Array) -> Array:
    """Derivatives (10, 10) of `values_of` by the ten parameters, by central differences."""
    out = np.empty((10, 10))
    for k, step in enumerate(STEP * np.eye(10)):
        ends = (values_of(from_numbers(x + way * step)) for way in (1.0, -1.0))
        out[:, k] = np.subtract(*ends) / (2.0 * STEP)
    return out
