"""Names of an MJCF file, each once among elements of its kind.

Those of the mechanism stay as they are, and those that are made up step aside for them.
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
        Those that the mechanism has for such elements.
    """

    def __init__(self, own: Iterable[str] = ()) -> None:
        self._own, self._used = set(own), set[str]()

    def own(self, name: str) -> str:
        """A name of the mechanism's; with underscores where another kind there has it as well."""
        return self._use(free_name(name, self._used))

    def made(self, name: str) -> str:
        """A name that is made up."""
        return self._use(free_name(name, self._used | self._own))

    def _use(self, name: str) -> str:
        self._used.add(name)
        return name


def joint_names(joints: Sequence[Joint]) -> dict[str, list[str]]:
    """Joint -> a name for each MJCF joint that it becomes: one for each slide, one for the turn."""
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
