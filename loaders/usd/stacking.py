"""Several hinges and slides between the same two bodies as one joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robosim.loaders.assembly.groups import reversed_tie
from robosim.loaders.assembly.parts import HINGE, SLIDE, Tie
from robosim.loaders.pose import Pose
from robosim.loaders.usd.joints import DEFAULTS

Array = NDArray[np.float64]

_SAME = 1e-5  # [m] and [-]


def stacked(ties: Sequence[Tie]) -> list[Tie]:
    """Joints, with one in place of several hinges and slides between the same two bodies.

    The first one in the file is nearest to the parent, as in files that MuJoCo writes; Newton reads
    them so as well.

    Raises
    ------
    LoadError
        For hinges that do not meet in a point, and joints with different poses at zero.
    """
    of: dict[tuple[str | None, str | None], list[Tie]] = {}
    for tie in ties:
        if tie.kind in ("revolute", "prismatic") and not tie.last:
            ends = tie.parent, tie.child
            of.setdefault(ends[::-1] if ends[::-1] in of else ends, []).append(tie)
    gone: dict[int, Tie | None] = {}
    for (parent, _), group in of.items():
        if len(group) > 1:
            turned = [tie if tie.parent == parent else reversed_tie(tie) for tie in group]
            gone |= {id(tie): None for tie in group}
            gone[id(group[0])] = _stack(turned)
    found = [gone.get(id(tie), tie) for tie in ties]
    return [tie for tie in found if tie is not None]


def _stack(ties: Sequence[Tie]) -> Tie:
    base = ties[0]
    zero = base.first @ base.second.inverse()
    moves = []
    point: Array | None = None
    for tie in ties:
        other = tie.first @ tie.second.inverse()
        if np.abs(other.R - zero.R).max() > _SAME or np.abs(other.p - zero.p).max() > _SAME:
            raise tie.refusal(f"has another pose at zero than '{base.name}' of the same two bodies")
        if tie.kind == "revolute":
            if point is not None and np.abs(tie.first.p - point).max() > _SAME:
                raise tie.refusal(
                    f"does not meet the other hinges between '{base.parent}' and '{base.child}'"
                )
            point = tie.first.p
        kind = HINGE if tie.kind == "revolute" else SLIDE
        moves.append((kind, base.first.R.T @ tie.first.R @ tie.axis))
    place = base.first if point is None else Pose(base.first.R, point)
    return replace(
        base,
        name="+".join(tie.name for tie in ties),
        kind="composite",
        first=place,
        second=zero.inverse() @ place,
        moves=tuple(moves),
        options={
            "coordinate_names": tuple(tie.name for tie in ties),
            **{what: [tie.options.get(what, DEFAULTS[what]) for tie in ties]
               for what in DEFAULTS},
        },
    )  # fmt: skip
