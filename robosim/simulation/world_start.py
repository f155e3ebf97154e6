"""Starts of a world of several units: each is the start of a unit by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.errors import StateError
from robosim.kinematics.given import checked_start
from robosim.simulation.checkpoint import restored_if_refused
from robosim.simulation.islands import Island
from robosim.simulation.loads import Held
from robosim.simulation.start import Start, checked_body_state, checked_signs
from robosim.simulation.worlds import Worlds
from robosim.validation import Array


class WorldStart:
    """Sets the state of a world; see `Start`."""

    def __init__(self, engine: Worlds, held: Held) -> None:
        self._engine, self._held = engine, held

    def at_coordinates(
        self,
        q: ArrayLike | None,
        v: ArrayLike | None,
        time: float,
        hold: Sequence[str],
        signs: Mapping[str, float] | None = None,
    ) -> None:
        """See `Simulation.set_state`."""
        robot = self._engine.robot
        q, v = checked_start(robot, q, v, time, hold)
        asked = checked_signs(robot, signs or {})
        signed = {name for name, sign in zip(robot.v_names, asked, strict=True) if sign}

        def begin(one: Island, start: Start) -> None:
            own, places = one.robot, one.places.values
            names = {joint.name for joint in own.joints}
            start.at_coordinates(
                q[places.q[: own.nq]],
                v[places.v[: own.nv]],
                time,
                [name for name in hold if name in names],
                {name: (signs or {})[name] for name in own.v_names if name in signed},
            )

        self._begin(float(time), begin)

    def at_bodies(
        self,
        x: ArrayLike,
        q: ArrayLike,
        v: ArrayLike | None,
        omega: ArrayLike | None,
        time: float,
    ) -> None:
        """See `Simulation.set_body_state`."""
        given = checked_body_state(self._engine.robot, x, q, v, omega, time)

        def begin(one: Island, start: Start) -> None:
            mine = one.places.values.bodies
            x, q, v, omega = (given[name][mine] for name in ("x", "q", "v", "omega"))
            start.at_bodies(x, q, v, omega, time)

        self._begin(float(time), begin)

    def _begin(self, time: float, begin: Callable[[Island, Start], None]) -> None:
        """Start all units, or none."""
        engine = self._engine
        engine.divided()
        with ExitStack() as stack:
            for one in engine.islands:
                stack.enter_context(restored_if_refused(one.engine.parts, one.engine.counters))
            for one, start in zip(engine.islands, engine.starts, strict=True):
                begin(one, start)
        self._held.release_servos()
        loads = engine.parts.loads
        loads.external["w"] = 0.0
        loads.controls[:] = 0.0
        engine.started(time)

    def fixed(
        self, time: float, hold: Sequence[str] = ()
    ) -> tuple[NDArray[np.int64], Array, Array]:
        """See `Start`; derivatives, which ask for it, are those of one system."""
        raise StateError("a world in islands has no coordinates that are fixed together")
