"""Inverse kinematics: configurations that reach targets, within limits and with closed loops."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError, StateError
from robosim.inverse_kinematics.pose_constraints import PoseConstraints, limits_turns
from robosim.inverse_kinematics.result import IKResult
from robosim.inverse_kinematics.search import Search
from robosim.inverse_kinematics.search_space import SearchSpace
from robosim.inverse_kinematics.targets import (
    CenterOfMassTarget,
    FrameTarget,
    Moving,
    PostureTarget,
    Target,
)
from robosim.kinematics.given import check_time, checked_pose
from robosim.kinematics.motions import goal_of, value_at


class InverseKinematics:
    """Searches for configurations of one robot.

    Parameters
    ----------
    of : Dynamics
    """

    def __init__(self, of: Moving) -> None:
        self._of, self.robot, self._space = of, of.robot, SearchSpace(of.robot)
        robot = of.robot
        self._constrained = bool(
            robot.loop_joints
            or robot.couplings
            or robot.tendons
            or any(limits_turns(one) for one in robot.tree_joints)
        )
        self._free: list[PoseConstraints] = []  # threads do not share these

    def solve(
        self,
        targets: Target | Sequence[Target],
        q0: ArrayLike | None,
        *,
        fixed: Sequence[str],
        restarts: int,
        seed: int,
        time: float,
    ) -> IKResult:
        """See `Dynamics.inverse_kinematics`."""
        tasks = [target.task(self._of) for target in _checked(targets)]
        if not any(np.isfinite(task.tolerance) for task in tasks):
            raise StateError("no target has a finite tolerance: there is nothing to reach")
        for name, number in (("restarts", restarts), ("seed", seed)):
            if not isinstance(number, Integral) or number < 0:
                raise StateError(f"{name} must be a whole number, not negative, not {number!r}")
        check_time(time)
        start = checked_pose(self.robot, "q0", np.asarray(self.robot.home) if q0 is None else q0)
        given = _driven(self.robot, time)
        unknown = np.ones(self.robot.nv, dtype=bool)
        unknown[[v for v in given if v < len(unknown)]] = False
        self._space.put(start, given)
        unknown &= ~_fixed(self.robot, fixed)
        constraints = None
        if self._constrained:
            constraints = self._free.pop() if self._free else self._constraints(given)
            constraints.given = given
        try:
            search = Search(self._of, self._space, tasks, constraints, unknown, start)
            return search.run(restarts, seed)
        finally:
            if constraints is not None:
                self._free.append(constraints)

    def _constraints(self, given: dict[int, float]) -> PoseConstraints:
        return PoseConstraints(self.robot, given, self._of.jacobian)


def _checked(targets: Target | Sequence[Target]) -> tuple[Target, ...]:
    kinds = FrameTarget, CenterOfMassTarget, PostureTarget
    names = " or ".join(kind.__name__ for kind in kinds)
    if isinstance(targets, kinds):
        return (targets,)
    try:
        found = tuple(targets)
    except TypeError:
        found = ()
    if not found or not all(isinstance(one, kinds) for one in found):
        raise StateError(f"targets must be each a {names}, not {targets!r}")
    return found


def _fixed(robot: Mechanism, names: Sequence[str]) -> NDArray[np.bool_]:
    """Which velocities (nv,) belong to the named joints."""
    if isinstance(names, str):
        raise StateError(f"fixed takes names of joints, ('{names}',), not the name '{names}'")
    known = {joint.name: k for k, joint in enumerate(robot.tree_joints)}
    out = np.zeros(robot.nv, dtype=bool)
    for name in names:
        if name not in known:
            raise ModelError(
                f"has no joint '{name}' in its tree",
                element=f"mechanism '{robot.name}'",
                alternatives=tuple(known),
            )
        k = known[name]
        out[robot.v_offsets[k] : robot.v_offsets[k + 1]] = True
    return out


def _driven(robot: Mechanism, time: float) -> dict[int, float]:
    """Values of driven and fixed coordinates, by index of velocity, for `PoseConstraints`."""
    given: dict[int, float] = {}
    for v, joint in zip(robot.v_offsets, robot.joints, strict=False):
        if joint.motion is not None:
            goal = goal_of(joint, value_at(joint, time)).tolist()
            given |= dict(enumerate(goal, start=v))
    for v, tendon in enumerate(robot.tendons, start=robot.v_offsets[-1] + len(robot.springs)):
        if tendon.motion is not None:
            given[v] = float(value_at(tendon, time)[0])
    return given
