"""Groups of joints that share a column of panels: similar ones, or those of a limb."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

LINES = 7  # in a panel, if names suggest no groups
MAX_GROUPS = 6
MAX_BY_SIDE = 8  # where limbs, with a column for each side, need more
_WORDS = {"left": "right", "l": "r"}
_PREFIX = re.compile(r"^L(?=[A-Z])")

Group = tuple[str, list[str]]  # (title, joints) of a column of panels


def groups(joints: Mapping[str, Sequence[str]], unit: Callable[[str], str]) -> list[Group]:
    """The columns of panels, for joints with their columns of a log.

    Pairs of left and right joints, if recognized by their names, have columns beside each other.
    Joints that differ only in the first or last word, such as four hips, share a column. Otherwise
    joints are taken in their order. Joints with different units share no column.
    """
    lines = {
        joint: max(Counter(name.rpartition(".")[2] for name in names).values(), default=0)
        for joint, names in joints.items()
    }
    found = _by_side(_twins(joints, by_words=True), joints, lines, unit)
    found = found or _alike(joints, lines, unit)
    found = found or _by_side(_twins(joints, by_words=False), joints, lines, unit)
    return found or [("", column) for column in _in_order(joints, lines, unit)]


def short(joint: str) -> str:
    """The name of a joint without the suffix "_joint"."""
    return joint.removesuffix("_joint") or joint


def label(name: str, title: str) -> str:
    """The name of a log's column without the words that are in the title of its panels."""
    stem = short(name.rpartition(".")[0])
    if title in ("left", "right"):
        words = [word for word in stem.split("_") if word.lower() not in (title, title[0])]
        stripped = "_".join(words)
        return stripped if stripped != stem else re.sub(r"^[LR](?=[A-Z])", "", stem)
    for rest in (stem.removesuffix(f"_{title}"), stem.removeprefix(f"{title}_")):
        if title and rest != stem:
            return rest
    return stem


def _twins(joints: Mapping[str, Sequence[str]], *, by_words: bool) -> dict[str, str]:
    """The right joint of each left one, such as "r_knee" for "l_knee", "RKnee" for "LKnee"."""
    found = {}
    for joint in joints:
        other = _mirrored(joint) if by_words else _PREFIX.sub("R", joint)
        if other != joint and other in joints:
            found[joint] = other
    return found


def _mirrored(joint: str) -> str:
    """A name with the word for left replaced by that for right, or else the same name."""
    words = joint.split("_")
    for k, word in enumerate(words):
        if word.lower() in _WORDS.values():
            return joint
        if word.lower() in _WORDS:
            right = _WORDS[word.lower()]
            twin = right.upper() if word.isupper() else right.title() if word.istitle() else right
            return "_".join([*words[:k], twin, *words[k + 1 :]])
    return joint


def _by_side(
    twins: Mapping[str, str],
    joints: Mapping[str, Sequence[str]],
    lines: Mapping[str, int],
    unit: Callable[[str], str],
) -> list[Group]:
    """Columns "left" and "right" for each limb, then other joints; empty without pairs."""
    paired = {*twins, *twins.values()}
    middle = [joint for joint in joints if joint not in paired]
    if not twins or sum(lines[joint] for joint in middle) > LINES:
        return []
    places = {joint: k for k, joint in enumerate(joints)}
    shares = range(LINES, max(LINES, sum(lines.values())) + 1)
    for columns, most in itertools.product((MAX_GROUPS, MAX_BY_SIDE), shares):
        limbs: list[list[str]] = []
        for joint in twins:
            last = limbs[-1][-1] if limbs else None
            # A limb ends where other joints are between two of its joints.
            goes_on = last is not None and places[joint] - places[last] <= 2
            full = goes_on and sum(lines[one] for one in limbs[-1]) + lines[joint] > most
            if not goes_on or full or unit(joint) != unit(str(last)):
                limbs.append([])
            limbs[-1].append(joint)
        rest = _in_order(middle, lines, unit)
        if 2 * len(limbs) + len(rest) <= columns:
            found: list[Group] = []
            for limb in limbs:
                found += [("left", limb), ("right", [twins[joint] for joint in limb])]
            return [*found, *(("", column) for column in rest)]
    return []


def _alike(
    joints: Mapping[str, Sequence[str]], lines: Mapping[str, int], unit: Callable[[str], str]
) -> list[Group]:
    """Groups of joints that differ in their first or last word only; empty if of no use."""
    split = [short(joint).split("_") for joint in joints]
    for drop in (slice(1, None), slice(None, -1)):
        found: dict[tuple[str, str], list[str]] = {}
        for joint, words in zip(joints, split, strict=True):
            found.setdefault(("_".join(words[drop]), unit(joint)), []).append(joint)
        sizes = {sum(lines[joint] for joint in group) for group in found.values()}
        if 2 <= len(found) <= MAX_GROUPS and min(sizes) >= 2 and max(sizes) <= LINES:
            return [(title, group) for (title, _), group in found.items()]
    return []


def _in_order(
    joints: Sequence[str] | Mapping[str, Sequence[str]],
    lines: Mapping[str, int],
    unit: Callable[[str], str],
) -> list[list[str]]:
    by_unit: dict[str, list[str]] = {}
    for joint in joints:
        by_unit.setdefault(unit(joint), []).append(joint)
    most = max(LINES, -(-sum(lines[joint] for joint in joints) // MAX_GROUPS))
    columns: list[list[str]] = []
    for alike in by_unit.values():
        columns.append([])
        for joint in alike:
            full = sum(lines[one] for one in columns[-1]) + lines[joint] > most
            if full and columns[-1]:
                columns.append([])
            columns[-1].append(joint)
    return columns
