"""Mass, centre of mass and inertia of links that are merged into one body."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.description.inertial import Inertial, merge
from robosim.description.inertias import turnable
from robosim.errors import LoadError
from robosim.loaders.tree import Group, PlacedLink, origin

Array = NDArray[np.float64]


def of_group(group: Group, warnings: list[str]) -> Inertial:
    """The inertial of a group of links, in the axes of its topmost link.

    Raises
    ------
    LoadError
        For a link with negative mass.
    """
    parts = [part for placed in group.links if (part := _of_link(placed)) is not None]
    if len(parts) > 1:
        # A body with one link is checked by the mechanism; in a merged one, errors would be hidden.
        for placed in group.links:
            _notice_impossible(placed.link, warnings)
    return merge(parts) if parts else Inertial(0.0, np.zeros(3), np.zeros((3, 3)))


def of_what_stays(name: str, inertial: Inertial, warnings: list[str]) -> Inertial:
    """The inertial of a body that is fixed to the world, whose inertia has no effect.

    An inertia that is not positive definite is replaced by that of a ball of water.
    """
    inertia = turnable(inertial.inertia, inertial.mass)
    if inertia is inertial.inertia:
        return inertial
    warnings.append(
        f"link '{name}': the inertia is not positive definite; it is fixed to the world, and so "
        "nothing depends on that"
    )
    return inertial._replace(inertia=inertia)


def _of_link(placed: PlacedLink) -> Inertial | None:
    inertial = placed.link.inertial
    if inertial is None:
        return None
    if inertial.mass < 0:
        raise LoadError(
            f"mass must not be negative, not {inertial.mass}",
            element=f"link '{placed.link.name}'",
        )
    if inertial.mass == 0 and not np.any(inertial.inertia):
        return None
    R, p = origin(inertial.origin)
    R_top = placed.R @ R
    inertia = R_top @ inertial.inertia @ R_top.T
    return Inertial(inertial.mass, placed.p + placed.R @ p, (inertia + inertia.T) / 2)


def _notice_impossible(link: object, warnings: list[str]) -> None:
    inertial = getattr(link, "inertial", None)
    if inertial is None:
        return
    moments = np.linalg.eigvalsh(inertial.inertia)
    values = moments.tolist()
    name = getattr(link, "name", "")
    if moments[0] < -1e-12 * abs(moments[2]):
        warnings.append(
            f"link '{name}': the inertia is not positive definite, its principal moments are "
            f"{values}; merged into another body as it is"
        )
    elif moments[0] + moments[1] < moments[2] * (1 - 1e-9):
        warnings.append(
            f"link '{name}': the principal moments of inertia {values} break the triangle "
            "inequality; no real body has them"
        )
