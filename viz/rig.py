"""The simulation and the controller of a session, both of which can be replaced."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError, known
from robosim.formulation import Formulation
from robosim.viz import torques

Array = NDArray[np.float64]
# Range of a slider on both sides of zero, for a coordinate without limits; for an endless spline
# some of its segments.
REACH = {"m": 1.0, "rad": math.pi, "1": 10.0}
Factory = Callable[[Mechanism, float], Any]  # makes a controller for a robot and a timestep


class Rig:
    """A simulation, its controller, and further controllers to choose from.

    Parameters
    ----------
    sim : Simulation
    controller : callable(sim) -> torques, a PD, a name, or None
    controllers : mapping of name to callable(robot, timestep) -> controller
        Further controllers; `controller` may be one of these names.
    rebuild : callable(timestep) -> Simulation, or None
        Makes a simulation with another timestep.

    Attributes
    ----------
    name : str
        Name of the present controller.
    joints : list of dict
        The coordinates that a slider can move: names, joints, indices in q, units and limits.
    """

    def __init__(
        self,
        sim: Formulation,
        controller: Any = None,
        controllers: Mapping[str, Factory] | None = None,
        rebuild: Callable[[float], Formulation] | None = None,
    ) -> None:
        from robosim.control.controllers import resolve

        self.sim, self.robot = sim, sim.robot
        self._begin = sim.q, sim.v
        self.controllers = dict(controllers or {})
        self.rebuild = rebuild
        name = _name(controller)
        if name not in self.controllers:
            given: dict[str, Factory] = {
                name: lambda robot, timestep: resolve(robot, controller, timestep)
            }
            self.controllers = given | self.controllers
        if self.robot.nu:
            self.controllers.setdefault(torques.NAME, torques.ByHand)
        self.joints = _joints(self.robot)
        self._make(name)
        if isinstance(controller, str):
            self._set_in(sim.time)

    @property
    def can_rebuild(self) -> bool:
        """Whether the simulation can have another timestep."""
        return self.rebuild is not None

    @property
    def targets(self) -> list[float | None]:
        """The controller's targets of `joints`; None for a coordinate without a target."""
        gains = getattr(self.control, "gains", None)
        if gains is None or not np.any(gains["kp"]):
            return [None] * len(self.joints)
        held = dict(zip(gains["q_index"].tolist(), gains["target"].tolist(), strict=True))
        return [held.get(joint["q"]) for joint in self.joints]

    def with_robot(self, sim: Formulation) -> Rig:
        """The same controllers for the simulation of another robot, with the same choice."""
        return Rig(sim, self.name, self.controllers, self.rebuild)

    @property
    def by_hand(self) -> torques.ByHand | None:
        """The controller, if its torques are set by sliders."""
        return self.control if isinstance(self.control, torques.ByHand) else None

    def choose(self, name: str) -> None:
        """Continue with another controller; a gait begins now."""
        self._make(name)
        self._set_in(self.sim.time)

    def _make(self, name: str) -> None:
        self.control = self.controllers[name](self.robot, self.sim.timestep)
        self.name = name

    def _set_in(self, time: float) -> None:
        """Let a gait begin from the standing pose at this time [s]."""
        begin_at = getattr(self.control, "begin_at", None)
        if begin_at is not None:
            begin_at(time)

    def aim(self, targets: Mapping[int, float]) -> None:
        """Change targets of the controller; keys are indices of coordinates in q.

        Raises
        ------
        OptionError
            If the controller has no targets.
        """
        gains = getattr(self.control, "gains", None)
        if gains is None:
            raise OptionError(f"the controller '{self.name}' has no targets to move")
        for q_index, value in targets.items():
            gains["target"][gains["q_index"] == q_index] = value

    def aim_by_name(self, targets: Mapping[str, float]) -> None:
        """Change targets of coordinates by their names, kept within the limits of joints.

        Raises
        ------
        OptionError
            For a name without a target; then no target changes.
        """
        held = {
            joint["name"]: joint
            for joint, target in zip(self.joints, self.targets, strict=True)
            if target is not None
        }
        if not held:
            raise OptionError(f"the controller '{self.name}' has no targets to move")
        wanted = {}
        for name, value in targets.items():
            if name not in held:
                raise OptionError(f"no target of '{name}' ({known(name, tuple(held))})")
            joint = held[name]
            if joint["limited"]:
                value = min(max(value, joint["lower"]), joint["upper"])
            wanted[joint["q"]] = value
        self.aim(wanted)

    def put(self, q: Array | None, time: float, moved: str | None = None) -> None:
        """Put the robot into a pose q (nq,) at rest; other joints than `moved` close loops.

        Without q the robot returns to its first pose and velocity.
        """
        self._set_in(time)
        if q is None:
            self.sim.set_state(*self._begin, time=time)
            return
        closed = self.robot.loop_joints or self.robot.couplings
        hold = (moved,) if moved is not None and closed else ()
        self.sim.set_state(q, time=time, hold=hold)

    def restart(self, timestep: float) -> None:
        """Make a simulation with another timestep [s], and the same controller.

        Raises
        ------
        OptionError
            If there is no `rebuild`.
        """
        if self.rebuild is None:
            raise OptionError("the timestep of this simulation cannot be changed")
        self.sim = self.rebuild(timestep)
        self._begin = self.sim.q, self.sim.v
        self.choose(self.name)


def _name(controller: Any) -> str:
    if isinstance(controller, str):
        return controller
    return "zero" if controller is None else getattr(controller, "__name__", "given")


def _joints(robot: Mechanism) -> list[dict[str, Any]]:
    found = []
    for joint, begin in zip(robot.tree_joints, robot.q_offsets, strict=False):
        if joint.kind == "floating" or joint.motion is not None:
            continue
        for k in range(joint.numbers):
            unit = joint.units[k]
            lower, upper = float(np.asarray(joint.lower)[k]), float(np.asarray(joint.upper)[k])
            reach = REACH[unit]
            found.append(
                {
                    "name": robot.q_names[begin + k],
                    "joint": joint.name,
                    "q": begin + k,
                    "unit": unit,
                    "lower": lower if math.isfinite(lower) else -reach,
                    "upper": upper if math.isfinite(upper) else reach,
                    "limited": math.isfinite(lower) and math.isfinite(upper),
                }
            )
    return found
