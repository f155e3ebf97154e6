"""Observations of a task on a robot, with their histories."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.errors import ControllerError
from robosim.policies.layout import Layout
from robosim.policies.quantities import QUANTITIES, Reading, check_term
from robosim.policies.task import FRAME
from robosim.validation import Array

Mask = NDArray[np.bool_]


class Observer:
    """Observes n robots with one task.

    Parameters
    ----------
    layout : Layout
    n : int

    Attributes
    ----------
    sizes : tuple of int
        Number of entries of each term, without histories.
    names : tuple of str
        The terms' names.
    size : int
        Number of entries of an observation.
    needs_forces : bool
        Whether contact forces are observed.

    Raises
    ------
    ModelError
        If the robot does not have a quantity.
    LoadError
        For a wrong number of scales.
    """

    def __init__(self, layout: Layout, n: int = 1) -> None:
        task = layout.task
        self._layout, self._task, self.n = layout, task, n
        try:
            self.sizes = tuple(check_term(layout, term) for term in task.observations)
        except Exception as error:
            if getattr(error, "file", task.file) is None and task.file is not None:
                raise error.in_file(task.file) from None  # type: ignore[attr-defined]
            raise
        self.names = tuple(term.name for term in task.observations)
        self.needs_forces = "foot_contacts" in self.names
        self._lengths = [
            task.history if task.history_by == FRAME else max(task.history, term.history)
            for term in task.observations
        ]
        if task.history_by == FRAME and any(term.history > 1 for term in task.observations):
            raise task.error(
                "a term has a history of its own, which a history by frames excludes", "history"
            )
        # The values of each term, the oldest first.
        self._kept = [
            np.zeros((n, length, size))
            for length, size in zip(self._lengths, self.sizes, strict=True)
        ]
        self._terms = [
            (term, _unless(term.offset, 0.0), _unless(term.scale, 1.0), kept)
            for term, kept in zip(task.observations, self._kept, strict=True)
        ]
        self._empty = np.ones(n, dtype=bool)
        self.size = sum(k * size for k, size in zip(self._lengths, self.sizes, strict=True))

    def reset(self, rows: Mask) -> None:
        """Forget the histories of robots (n,); the next values fill them."""
        self._empty |= rows

    def observe(self, reading: Reading, rows: Mask) -> NDArray[np.float32]:
        """Observations (n, size) of the readings of all robots.

        Histories of robots (n,) move on by one; those of the others stay.

        Raises
        ------
        ControllerError
            If a quantity is not finite.
        """
        begins = rows & self._empty
        which, fills = (slice(None) if rows.all() else rows), bool(begins.any())
        for term, offset, scale, kept in self._terms:
            value = QUANTITIES[term.name].read(self._layout, term, reading)
            value = value if offset is None else value - offset
            if term.clip is not None:
                value = np.minimum(np.maximum(value, term.clip[0]), term.clip[1])
            value = value if scale is None else value * scale
            if kept.shape[1] > 1:
                kept[which, :-1] = kept[which, 1:]
            kept[which, -1] = value[which]
            if fills:
                kept[begins] = value[begins, None]
        self._empty &= ~rows
        found = self._flat()
        if not np.isfinite(found[which]).all():
            self._refuse(rows)
        return found

    def _refuse(self, rows: Mask) -> None:
        """Raise the error for the first term that is not finite."""
        for term, _, _, kept in self._terms:
            if not np.isfinite(kept[rows]).all():
                raise ControllerError(f"observation '{term.name}' is not finite")
        raise ControllerError("an observation is too large for a number in single precision")

    def _flat(self) -> NDArray[np.float32]:
        """All histories in a row for each robot."""
        kept = [one[:, ::-1] for one in self._kept] if self._task.newest_first else self._kept
        if self._task.history_by == FRAME:
            whole: Array = np.concatenate(kept, axis=2).reshape(self.n, -1)
        else:
            whole = np.concatenate([one.reshape(self.n, -1) for one in kept], axis=1)
        most = self._task.clip_observations
        if most is not None:
            whole = np.minimum(np.maximum(whole, -most), most)
        return whole.astype(np.float32)


def _unless(numbers: tuple[float, ...], idle: float) -> Array | None:
    """Numbers as an array, or None if they would change nothing."""
    return None if set(numbers) == {idle} else np.asarray(numbers)
