"""Elements of an MJCF file with their attributes, file and line.

lxml's tree is copied to these objects, so that included, replicated and defaulted elements are
plain values with their original file and line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from lxml import etree
from numpy.typing import ArrayLike, NDArray

from robosim.errors import LoadError
from robosim.loaders.schema import LARGEST, UNLIMITED

Array = NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True)
class Node:
    """An element: tag, attributes, children, and the file and line of its origin."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: tuple[Node, ...] = ()
    file: Path = Path()
    line: int = 0

    @classmethod
    def from_xml(cls, element: etree._Element, file: Path) -> Node:
        """The element and all below it, without comments; the parser limits the depth."""
        children = tuple(
            cls.from_xml(child, file) for child in element if isinstance(child.tag, str)
        )
        attributes = {str(key): str(value) for key, value in element.attrib.items()}
        return cls(str(element.tag), attributes, children, file, element.sourceline or 0)

    @property
    def name(self) -> str:
        """The name, empty without one."""
        return self.attributes.get("name", "")

    @property
    def label(self) -> str:
        """Tag and name, for messages."""
        return f"{self.tag} '{self.name}'" if self.name else f"<{self.tag}>"

    def error(self, reason: str, alternatives: Sequence[str] = ()) -> LoadError:
        """A LoadError that names this element, its file and line."""
        return LoadError(
            reason,
            file=self.file,
            line=self.line or None,
            element=self.label,
            alternatives=alternatives,
        )

    def all(self, *tags: str) -> Iterator[Node]:
        """The children with some tags, in their order."""
        return (child for child in self.children if child.tag in tags)

    def names(self, *tags: str) -> set[str]:
        """Names of all elements below with some tags, except for those without a name."""
        found: set[str] = set()
        stack = list(self.children)
        while stack:
            node = stack.pop()
            if node.tag in tags and node.name:
                found.add(node.name)
            stack += node.children
        return found

    def with_attributes(self, attributes: dict[str, str]) -> Node:
        """The same element with other attributes."""
        return replace(self, attributes=attributes)

    def has(self, attribute: str) -> bool:
        """Whether the attribute exists."""
        return attribute in self.attributes

    def text(self, attribute: str) -> str:
        """A required attribute."""
        value = self.attributes.get(attribute, "").strip()
        if not value:
            raise self.error(f"attribute '{attribute}' is missing")
        return value

    def numbers(
        self, attribute: str, default: ArrayLike | None = None, *, count: int | None = None
    ) -> Array:
        """Finite numbers, as many as `count` or the default has; any number without either.

        Raises
        ------
        LoadError
            For a wrong number of values, a value that is not finite, or a missing attribute without
            a default.
        """
        values = self.some_numbers(attribute, default)
        wanted = count if default is None else np.size(np.asarray(default))
        if wanted is not None and len(values) != wanted:
            raise self.error(
                f"'{attribute}' must hold {wanted} number(s), not '{self.attributes[attribute]}'"
            )
        return values

    def ends(self, attribute: str, default: ArrayLike | None = None) -> tuple[float, float]:
        """The two ends of a range; numbers as large as UNLIMITED are infinite."""
        lower, upper = self.numbers(attribute, default, count=2)
        return (
            float(lower) if lower > -UNLIMITED else -np.inf,
            float(upper) if upper < UNLIMITED else np.inf,
        )

    def some_numbers(
        self, attribute: str, default: ArrayLike | None = None, *, fill: bool = False
    ) -> Array:
        """Finite numbers; with `fill`, those missing at the end are taken from the default."""
        if attribute not in self.attributes:
            if default is None:
                raise self.error(f"attribute '{attribute}' is missing")
            return np.array(default, dtype=float).reshape(-1)
        words = self.attributes[attribute].split()
        if not words:
            raise self.error(f"'{attribute}' must hold numbers, and is empty")
        values = np.array([self._finite(attribute, word) for word in words])
        if not fill:
            return values
        filled = np.array(default, dtype=float).reshape(-1)
        if not 0 < len(values) <= len(filled):
            raise self.error(
                f"'{attribute}' must hold 1 to {len(filled)} numbers, not "
                f"'{self.attributes[attribute]}'"
            )
        filled[: len(values)] = values
        return filled

    def _finite(self, attribute: str, word: str) -> float:
        try:
            value = float(word)
        except ValueError:
            raise self.error(f"'{attribute}' must hold numbers, not '{word}'") from None
        if attribute.endswith("range") and math.isfinite(value):
            # The largest number of a double, for example, stands for no limit.
            return min(max(value, -LARGEST), LARGEST)
        if not abs(value) <= LARGEST:
            raise self.error(
                f"'{attribute}' must hold finite numbers, at most {LARGEST:g}, not '{word}'"
            )
        return value

    def number(self, attribute: str, default: float | None = None) -> float:
        """A single finite number."""
        return float(self.numbers(attribute, default, count=1)[0])

    def integer(self, attribute: str, default: int | None = None) -> int:
        """A single whole number."""
        value = self.number(attribute, default)
        if value != int(value):
            raise self.error(
                f"'{attribute}' must be a whole number, not '{self.attributes[attribute]}'"
            )
        return int(value)

    def choice(self, attribute: str, choices: Sequence[str], default: str) -> str:
        """One of several words."""
        value = self.attributes.get(attribute, default).strip()
        if value not in choices:
            raise self.error(f"'{attribute}' cannot be '{value}'", choices)
        return value

    def flag(self, attribute: str, default: bool) -> bool:
        """A flag, true or false."""
        words = {"true": True, "false": False}
        return words[self.choice(attribute, tuple(words), str(default).lower())]

    def limited(self, attribute: str, range_attribute: str, autolimits: bool) -> bool:
        """Whether a range is enabled: explicitly, or because it exists (autolimits)."""
        said = self.choice(attribute, ("true", "false", "auto"), "auto")
        if said != "auto":
            return said == "true"
        if not np.any(self.some_numbers(range_attribute, (0.0, 0.0))):
            return False
        if not autolimits:
            raise self.error(
                f"'{range_attribute}' without '{attribute}' does not say whether it acts, as "
                f"autolimits is false; set {attribute} to true or false"
            )
        return True

    def look_up(self, attribute: str, known: Mapping[str, T], what: str) -> T:
        """The object to which an attribute refers by name.

        Raises
        ------
        LoadError
            If the attribute or the object does not exist; lists the known names.
        """
        name = self.text(attribute)
        if name not in known:
            raise self.error(f"{what} '{name}' does not exist", tuple(known))
        return known[name]
