"""Simulators that fail in every way that one can: adapters for the process of a simulator."""

from __future__ import annotations

import os
import signal
import time

import numpy as np

from robosim.errors import PeerError
from robosim.referee.audit.runs import Look, Opened


class Fine:
    """A simulator in which nothing moves; it fails as its subclasses say."""

    version = "1"
    bodies = ("box",)

    def __init__(self, source, kind, robot, gravity):
        self.q, self.v, self.steps = np.array(robot.home), np.zeros(robot.nv), 0

    def opened(self):
        return Opened("faulty", self.version, self.bodies)

    def begin(self, job):
        self.steps = 0
        return ""

    def drive(self, row, kind):
        pass

    def step(self, steps):
        self.steps += 1
        return self.at(self.steps)

    def at(self, step):
        return None

    def look(self):
        return Look(
            self.q, self.v, self.q[None, :3], np.eye(3)[None], np.nan, np.nan, {}, {}, {}, 0.0
        )


class Crashes(Fine):
    def at(self, step):
        if step == 3:
            os.kill(os.getpid(), signal.SIGSEGV)


class Hangs(Fine):
    def at(self, step):
        time.sleep(3600)


class Raises(Fine):
    def at(self, step):
        raise ValueError("no such matrix")


class Diverges(Fine):
    def at(self, step):
        if step > 4:
            self.q = self.q + np.nan


class Refuses(Fine):
    def __init__(self, source, kind, robot, gravity):
        raise PeerError("it has no wheels")


class Prints(Fine):
    def at(self, step):
        os.write(1, b"noise of a library\n")
