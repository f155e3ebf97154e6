"""Memory for the steps of all states of a batch: inputs and results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robosim.compiled.records.step import INFO
from robosim.control.controllers import GAINS
from robosim.runtime.handles import NOTHING_SWEPT, Handle, RunBuffers
from robosim.simulation import Simulation


class BatchBuffers:
    """The `RunBuffers` of all states: arrays with a row for each state, and a handle for each."""

    def __init__(
        self,
        sims: Sequence[Simulation],
        steps: int,
        moving: tuple[bool, bool],
        torques: bool,
        every: int,
    ) -> None:
        n, robot = len(sims), sims[0].robot
        loads = sims[0].parts.loads
        rates, forces = robot.v_offsets[-1], len(loads.tau)
        driven = len(loads.motion)
        self.gains = np.zeros((n, robot.nu), dtype=GAINS)
        self.targets = np.zeros((n, steps if moving[0] else 0, robot.nu))
        self.rates = np.zeros((n, steps if moving[1] else 0, robot.nu))
        self.torques = np.zeros((n, steps if torques else 1, forces))
        self.motions = np.zeros((n, steps + 1 if driven else 0, driven, 2))
        self.controllers = np.zeros((n, 1), dtype=np.int64)
        self.starts = np.zeros((n, 1))
        self.every, rows = every, -(-steps // every)
        self.anew = False  # whether each step is a start at the q and v of its knot
        self.q, self.v = np.empty((n, rows, robot.nq)), np.empty((n, rows, robot.nv))
        self.tau = np.empty((n, rows, rates))
        self.infos = np.zeros((n, steps), dtype=INFO)
        aims = self.gains, self.targets, self.rates
        inputs = (*aims, self.torques, self.motions, self.controllers, self.starts)
        results = (self.q, self.v, self.tau, self.infos)
        arrays = (*inputs, np.full((n, 1), every), *results)
        self.handles = [
            Handle(RunBuffers._make((*(array[i] for array in arrays), NOTHING_SWEPT)))
            for i in range(n)
        ]
        self.addresses = np.array([handle.address for handle in self.handles])


class BufferCache:
    """The buffers of the last run of each kind, for loops that repeat the same run."""

    def __init__(self, sims: Sequence[Simulation]) -> None:
        self._sims = sims
        self._kept: dict[tuple[tuple[bool, bool], bool], tuple[tuple[int, int], BatchBuffers]] = {}

    def of(self, steps: int, moving: tuple[bool, bool], torques: bool, every: int) -> BatchBuffers:
        """Buffers for a run: those of the last run of this kind and size, or new ones."""
        length, kept = self._kept.get((moving, torques), ((0, 0), None))
        if kept is None or length != (steps, every):
            kept = BatchBuffers(self._sims, steps, moving, torques, every)
            self._kept[moving, torques] = (steps, every), kept
        return kept
