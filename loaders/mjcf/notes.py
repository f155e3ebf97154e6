"""What a loader has to tell about a file, a sentence for all elements that it is true of."""

from __future__ import annotations


class Notes:
    """Collects sentences, and the names of the elements that each is about."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, None]] = {}

    def add(self, sentence: str, name: str = "") -> None:
        """Remember a sentence, once, and an element that it is about."""
        names = self._names.setdefault(sentence, {})
        if name:
            names[name] = None

    def sentences(self) -> tuple[str, ...]:
        """All sentences in the order of their first use, each with its elements' names."""
        return tuple(
            f"{sentence}: {', '.join(names)}" if names else sentence
            for sentence, names in self._names.items()
        )
