"""Notes of a loader on a file, each with the names of all elements that it concerns."""

from __future__ import annotations


class Notes:
    """Collects notes, and the names of elements for each."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, None]] = {}

    def add(self, sentence: str, name: str = "") -> None:
        """Add a note, once, and the name of an element."""
        names = self._names.setdefault(sentence, {})
        if name:
            names[name] = None

    def sentences(self) -> tuple[str, ...]:
        """All notes in the order of their first use, each with the names of its elements."""
        return tuple(
            f"{sentence}: {', '.join(names)}" if names else sentence
            for sentence, names in self._names.items()
        )
