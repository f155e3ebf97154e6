"""Gradients of sums over the knots of rollouts, with notes on their validity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.model import Model
from robosim.linearization.linearized import closed_contacts
from robosim.validation import Array

LISTED = 5  # steps that a note names


class Gradients(NamedTuple):
    """Derivatives of a sum over the knots of a rollout, with a row for each of its n states.

    Attributes
    ----------
    q, v : (n, nv)
        By the initial states; q in the tangent space of `Dynamics.difference`.
    torques : (n, steps, nu)
        By the argument `torques`.
    targets : (n, steps, nu)
        By the targets of the PD in each step.
    kp, kd : (n, nu)
        By the gains of the PD. For an implicit PD these are NaN, unless requested.
    parameters : (n, np)
        By the parameters in `names`.
    names : tuple of str
    divided : (n, steps) bool
        Steps with substeps. Their derivatives are those of the same substeps.
    changes : (n, steps) bool
        Steps in which a contact opens, closes, or changes between sticking and sliding. Their
        derivatives are one-sided.
    smoothed : (n, steps) bool
        Steps whose derivatives are those of smoother contacts, as their own could not be computed.
    """

    q: Array
    v: Array
    torques: Array
    targets: Array
    kp: Array
    kd: Array
    parameters: Array
    names: tuple[str, ...]
    divided: NDArray[np.bool_]
    changes: NDArray[np.bool_]
    smoothed: NDArray[np.bool_]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on steps at which the sum is not smooth, one for each kind and state."""
        return notes_of(self.divided, self.changes, self.smoothed)


class Sensitivities(NamedTuple):
    """Derivatives of all knots of a rollout along m directions.

    Attributes
    ----------
    knots : (n, steps + 1, 2 nv, m)
        Of q, in the tangent, and v.
    divided, changes, smoothed : (n, steps) bool
        As `Gradients` has them.
    """

    knots: Array
    divided: NDArray[np.bool_]
    changes: NDArray[np.bool_]
    smoothed: NDArray[np.bool_]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes as in `Gradients`."""
        return notes_of(self.divided, self.changes, self.smoothed)


class Seen(NamedTuple):
    """Contacts (n, steps) of repeated steps, and which of these steps were smoothed."""

    modes: list[list[bytes | None]]
    smoothed: NDArray[np.bool_]

    @classmethod
    def none(cls, n: int, steps: int) -> Seen:
        """The record before any step is repeated."""
        return cls([[None] * steps for _ in range(n)], np.zeros((n, steps), dtype=bool))

    def note(
        self, places: Sequence[tuple[int, int]], contacts: Sequence[tuple[Model, NDArray[np.void]]]
    ) -> None:
        """Note the contacts (`Step.contacts`) of steps (state, number) of a robot."""
        # np.concatenate takes many times longer for records.
        every = np.frombuffer(
            b"".join([rows.tobytes() for _, rows in contacts]), contacts[0][1].dtype
        )
        closed, numbers = closed_contacts(contacts[0][0], every)
        end = 0
        for (i, k), (_, rows) in zip(places, contacts, strict=True):
            begin, end = end, end + len(rows)
            self.modes[i][k] = numbers[begin:end][closed[begin:end]].tobytes()

    def note_rows(
        self,
        places: Sequence[tuple[int, int]],
        model: Model,
        contacts: NDArray[np.void],
        count: NDArray[np.int64],
    ) -> None:
        """Note the contacts (k, most) of k steps (state, number); `count` of each."""
        every = contacts[np.arange(contacts.shape[1]) < count[:, None]]
        closed, numbers = closed_contacts(model, every)
        ends = np.cumsum(count).tolist()
        for (i, k), start, end in zip(places, [0, *ends], ends, strict=False):
            self.modes[i][k] = numbers[start:end][closed[start:end]].tobytes()

    @property
    def changes(self) -> NDArray[np.bool_]:
        """(n, steps) whether the closed contacts differ from those of the step before."""
        return np.array(
            [
                [k > 0 and now is not None and now != row[k - 1] for k, now in enumerate(row)]
                for row in self.modes
            ]
        )


class Again(NamedTuple):
    """Derivatives of k repeated steps: (n, k, directions, 2 nv), by parameters (n, k, np, 2 nv)."""

    changes: Array
    by: Array


def notes_of(
    divided: NDArray[np.bool_], changes: NDArray[np.bool_], smoothed: NDArray[np.bool_]
) -> tuple[str, ...]:
    """Notes on steps (n, steps) that are not smooth, or whose contacts were smoothed."""
    side = "derivatives are those of the side that was taken"
    said = []
    for flags, what, advice in (
        (changes, "contacts change at", f"{side} (contact_speed= takes smoother contacts)"),
        (divided, "divided were", f"{side} (a smaller timestep divides none)"),
        (smoothed, "contacts were smoothed for the derivatives of", "their own are not found"),
    ):
        for i in np.flatnonzero(flags.any(axis=1)):
            steps = np.flatnonzero(flags[i])
            more = f" and {len(steps) - LISTED} more" if len(steps) > LISTED else ""
            listed = ", ".join(map(str, steps[:LISTED]))
            said.append(f"state {i}: {what} steps {listed}{more}; {advice}")
    return tuple(said)
