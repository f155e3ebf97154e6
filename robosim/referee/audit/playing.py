"""Runs of one simulator: the same loop for all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robosim.errors import ControllerError
from robosim.referee.audit.runs import ASKED, Array, Job, Peer, Recorder, Run

Ask = Callable[[int, float, Array, Array], Array]
"""A function of the number of the sample, its time [s], q and v, that returns torques (nu,)."""


def play(peer: Peer, job: Job, ask: Ask | None = None) -> Run:
    """Run a job; what was seen until the end, or until the simulator failed.

    Parameters
    ----------
    peer : Peer
    job : Job
    ask : callable or None
        The controller of jobs that are `ASKED`.
    """
    told = peer.begin(job)
    recorder, ended, stopped = Recorder(), None, False
    for k in range(job.samples + 1):
        if k % job.every == 0 or job.kind == ASKED:
            look = peer.look()
            if not (np.isfinite(look.q).all() and np.isfinite(look.v).all()):
                ended = f"its state was not finite at {k * job.period:.4g} s"
                break
            if k % job.every == 0:
                recorder.add(k * job.period, look)
        if k == job.samples:
            break
        if job.kind == ASKED:
            assert ask is not None
            try:
                torques = ask(k, k * job.period, look.q, look.v)
            except ControllerError as error:
                ended, stopped = str(error), True
                break
            peer.drive(torques, job.kind)
        elif k < len(job.table):
            peer.drive(job.table[k], job.kind)
        ended = peer.step(job.substeps)
        if ended is not None:
            break
    return recorder.run(job, peer, told, ended, stopped)
