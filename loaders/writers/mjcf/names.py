"""Names of an MJCF file, unique among elements of each kind.

Names of the mechanism are unchanged, and generated names are chosen to differ from these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robosim.description.joint import Joint
from robosim.description.names import free_name


class Names:
    """The names of one kind of element.

    Parameters
    ----------
    own : iterable of str
        Names of such elements in the mechanism.
    """

    def __init__(self, own: Iterable[str] = ()) -> None:
        self._own, self._used = set(own), set[str]()

    def own(self, name: str) -> str:
        """A name of the mechanism, with underscores if another kind of element has it as well."""
        return self._use(free_name(name, self._used))

    def made(self, name: str) -> str:
        """A generated name."""
        return self._use(free_name(name, self._used | self._own))

    def _use(self, name: str) -> str:
        self._used.add(name)
        return name


def joint_names(joints: Sequence[Joint]) -> dict[str, list[str]]:
    """Joint -> names of its MJCF joints: one for each slide, one for the rotation."""
    taken = {name for joint in joints for name in joint.coordinate_names or (joint.name,)}
    names = Names(taken)
    found = {}
    for joint in joints:
        slides, turns = joint.C_T.shape[1], min(joint.C_R.shape[1], 1)
        if joint.coordinate_names:
            found[joint.name] = list(joint.coordinate_names)
        elif slides + turns == 1:
            found[joint.name] = [joint.name]
        else:
            ends = [f"t{k}" for k in range(slides)] + ["r"] * turns
            found[joint.name] = [names.made(f"{joint.name}_{end}") for end in ends]
    return found
