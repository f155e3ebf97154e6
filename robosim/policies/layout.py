"""A task on a robot: joints by their indices, the default pose, gains, and frames of the base."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.control.controllers import PD, holds_over, stand
from robosim.control.standing import home_inertia
from robosim.description.contact_points import link_of
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError
from robosim.policies.quantities import CENTRE, ORIGIN
from robosim.policies.task import (
    BREADTH,
    MODEL,
    POSITION,
    TORQUE,
    VELOCITY,
    PerJoint,
    PolicyTask,
)
from robosim.rays.ground import Ground, ground_of
from robosim.validation import Array

GAINS_OF = {POSITION: ("stiffness", "damping"), VELOCITY: ("damping",), TORQUE: ()}
PLURALS = {POSITION: "positions", VELOCITY: "velocities", TORQUE: "torques"}


class Layout:
    """The joints of a task on a robot, with everything that is given for each joint.

    Parameters
    ----------
    robot : Mechanism
    task : PolicyTask

    Attributes
    ----------
    names : tuple of str
        The task's joints, in its order; na of them.
    q_index, v_index : (na,) int
        Indices of these joints in q and v.
    driven : (na,) int
        Indices of these joints in ``robot.actuated``.
    default : (na,) [rad or m]
        The default pose: targets of an action of zero.
    scale : (na,) [rad or m, rad/s or m/s, N m or N]
        How far an action of 1 moves a target, or the velocity or torque that it is.
    commands : int
        Number of entries of the command.

    Raises
    ------
    ModelError
        If the robot has not the joints that the task names.
    LoadError
        For a number of values that is not that of the joints.
    """

    def __init__(self, robot: Mechanism, task: PolicyTask) -> None:
        self.robot, self.task = robot, task
        self.names = _chosen(robot, task)
        self.commands = len(task.command)
        self.driven = np.array([robot.actuated_names.index(name) for name in self.names], dtype=int)
        gains = PD(robot, 0.0, 0.0, 0.0).gains
        self.q_index = gains["q_index"][self.driven]
        self.v_index = gains["v_index"][self.driven]
        home = np.asarray(robot.home, dtype=float)[self.q_index]
        pose = task.default_joint_pos
        self.default = home if pose is None else self.each("default_joint_pos", pose, home)
        self.scale = self.each("action_scale", task.action_scale)

    def each(self, what: str, value: PerJoint, otherwise: Array | None = None) -> Array:
        """A value for each joint (na,): from a number, a list, or a mapping of patterns.

        Raises
        ------
        LoadError
            For another number of values than joints, or a malformed pattern.
        ModelError
            For a pattern that matches no joint, or joints without a value.
        """
        if not isinstance(value, Mapping):
            values = np.asarray(value, dtype=float)
            if values.shape not in ((), (len(self.names),)):
                raise self.task.error(
                    f"must be a number or one for each of {len(self.names)} joints "
                    f"({', '.join(self.names)}), not {values.size} numbers",
                    what,
                )
            return np.array(np.broadcast_to(values, len(self.names)))
        found = np.full(len(self.names), np.nan)
        for pattern, number in value.items():
            try:
                re.compile(pattern)
            except re.error as error:
                raise self.task.error(f"'{pattern}' is no pattern: {error}", what) from None
            rows = [k for k, name in enumerate(self.names) if re.fullmatch(pattern, name)]
            if not rows:
                raise ModelError(
                    f"'{pattern}' matches no joint", element=f"{self.task.name}: {what}",
                    alternatives=self.names,
                )  # fmt: skip
            found[rows] = np.where(np.isnan(found[rows]), number, found[rows])
        if otherwise is not None:
            found = np.where(np.isnan(found), otherwise, found)
        missing = [name for name, one in zip(self.names, found, strict=True) if np.isnan(one)]
        if missing:
            raise ModelError(
                f"no pattern matches {', '.join(missing)}", element=f"{self.task.name}: {what}",
                alternatives=tuple(value),
            )  # fmt: skip
        return found

    def pose(self) -> Array:
        """The robot's home q (nq,) with the joints where runs begin."""
        q, begin = np.array(self.robot.home, dtype=float), self.task.start_joint_pos
        q[self.q_index] = (
            self.default if begin is None else self.each("start_joint_pos", begin, self.default)
        )
        return q

    @cached_property
    def terrain(self) -> Ground:
        """What the robot walks on."""
        return ground_of(self.robot)

    @property
    def _others(self) -> NDArray[np.int64]:
        """Motors that the task does not drive, as indices in ``robot.actuated``."""
        return np.setdiff1d(np.arange(self.robot.nu), self.driven)

    @cached_property
    def _held(self) -> NDArray[np.void]:
        return stand(self.robot).gains

    @cached_property
    def rest(self) -> Array:
        """Targets (nu,) of all motors for an action of zero."""
        target = np.zeros(self.robot.nu)
        if len(self._others):
            target[:] = self._held["target"]
        target[self.driven] = self.default
        return target

    @cached_property
    def limit(self) -> Array:
        """The largest torques (na,) [N m or N] of the task's joints."""
        task = self.task
        if task.effort_limits is True:
            return np.asarray(self.robot.effort_limits[self.driven])
        if task.effort_limits is False:
            return np.full(len(self.names), np.inf)
        return self.each("effort_limits", task.effort_limits)

    def pd(self, timestep: float) -> PD:
        """The PD of all motors, whose targets are those of an action of zero.

        Joints that the task does not drive are held where they are at home, by an implicit PD with
        the gains of `stand`.

        Parameters
        ----------
        timestep : float [s]
            Time step of the simulation, by which the PD is explicit or implicit if the task leaves
            that open.

        Raises
        ------
        LoadError
            If the task has no gains.
        """
        robot, task = self.robot, self.task
        self._check_gains()
        others, rows = self._others, self.driven
        kp, kd = np.zeros((2, robot.nu))
        limit, speed = np.full((2, robot.nu), np.inf)
        limit[rows] = self.limit
        if len(others):
            kp[others], kd[others] = self._held["kp"][others], self._held["kd"][others]
        for gain, what in ((kp, "stiffness"), (kd, "damping")):
            if what in GAINS_OF[task.control]:
                gain[rows] = self.each(what, getattr(task, what))
        if task.effort_limits is True:
            limit[others] = robot.effort_limits[others]
        if task.no_load_speed is not None:
            speed[rows] = self.each("no_load_speed", task.no_load_speed)
        pd = PD(robot, self.rest, kp, kd, limit=limit, speed=speed)
        implicit = task.implicit
        if task.control == TORQUE:
            implicit = False
        elif implicit is None:
            implicit = not holds_over(pd, home_inertia(robot), timestep)
        pd.gains["implicit"][rows], pd.gains["implicit"][others] = implicit, True
        return pd

    def _check_gains(self) -> None:
        """Refuse a task without the gains of its control, or with others."""
        task = self.task
        needed = GAINS_OF[task.control]
        for what in ("stiffness", "damping"):
            value = getattr(task, what)
            if what in needed and value is None:
                raise task.error(
                    f"the task has no '{what}', and neither has the policy's file: give a number, "
                    "one for each joint, or patterns of joint names with numbers",
                    what,
                )
            if what not in needed and value is not None and np.any(self.each(what, value)):
                raise task.error(
                    f"actions that are {PLURALS[task.control]} have no '{what}': give none, or 0, "
                    "or choose another 'control'",
                    what,
                )
        if task.control == TORQUE:
            for what in ("implicit", "no_load_speed"):
                if getattr(task, what):
                    raise task.error(
                        f"actions that are torques are held over their period, without '{what}'",
                        what,
                    )

    def base_frame(self, at: str) -> tuple[Array, Array]:
        """Rotation (3, 3) from the base's axes to a frame's, and the frame's point.

        The point (3,) [m] is given from the origin of the base link, in its axes. The frame is
        "origin" or "com", which have the base's axes, or a frame that is fixed to the base.

        Raises
        ------
        ModelError
            If the base has no such frame.
        """
        base = self.robot.tree_joints[0]
        centre = -np.asarray(base.child_position, dtype=float)
        if at == ORIGIN:
            return np.eye(3), np.zeros(3)
        if at == CENTRE:
            return np.eye(3), centre
        frames = {frame.name: frame for frame in self.robot.bodies[0].frames}
        if at not in frames:
            raise ModelError(
                f"base '{self.robot.bodies[0].name}' has no frame '{at}'",
                element=f"robot '{self.robot.name}'",
                alternatives=(ORIGIN, CENTRE, *frames),
            )
        frame = frames[at]
        R_bf = quaternions.rotation_matrix(np.asarray(frame.quaternion))
        return R_bf.T, centre + np.asarray(frame.position)

    def contacts_of(self, links: Sequence[str]) -> list[NDArray[np.int64]]:
        """Indices of the contacts of each link, or body, in ``robot.contacts``.

        Raises
        ------
        ModelError
            For a link without contacts with the ground.
        """
        contacts = self.robot.contacts
        owners = [{contact.body, link_of(contact)} for contact in contacts]
        known = tuple(dict.fromkeys(name for owner in owners for name in sorted(owner)))
        for link in links:
            if link not in known:
                raise ModelError(
                    f"link '{link}' has no contacts with the ground",
                    element=f"robot '{self.robot.name}'", alternatives=known, wanted=link,
                )  # fmt: skip
        return [
            np.array([k for k, owner in enumerate(owners) if link in owner], dtype=np.int64)
            for link in links
        ]


def _chosen(robot: Mechanism, task: PolicyTask) -> tuple[str, ...]:
    """The joints of a task on a robot, in the task's order."""
    there = robot.actuated_names
    if isinstance(task.joints, str):
        return _ordered(robot, task.joints)
    missing = [name for name in task.joints if name not in there]
    if missing:
        more = [name for name in there if name not in task.joints]
        raise ModelError(
            f"robot '{robot.name}' has no actuated {'joint' if len(missing) == 1 else 'joints'} "
            f"{', '.join(missing)}; it has {', '.join(there)}"
            + (f", of which the task does not name {', '.join(more)}" if more else ""),
            element=f"{task.name}: joints",
        )
    return tuple(task.joints)


def _ordered(robot: Mechanism, order: str) -> tuple[str, ...]:
    """All actuated joints in one of the `ORDERS`."""
    if order == MODEL:
        return robot.actuated_names
    children: dict[str | None, list[int]] = {}
    for j, joint in enumerate(robot.tree_joints):
        children.setdefault(joint.parent, []).append(j)
    names: list[str] = []
    waiting: deque[str | None] = deque([None])
    while waiting:
        # A queue visits a tree by its levels, a stack leg by leg.
        parent = waiting.popleft() if order == BREADTH else waiting.pop()
        found = sorted(children.get(parent, []), key=lambda j: robot.tree_joints[j].name)
        if order == BREADTH:
            names += [robot.tree_joints[j].name for j in found]
            waiting.extend(robot.tree_joints[j].child for j in found)
        else:
            if parent is not None:
                names.append(next(j.name for j in robot.tree_joints if j.child == parent))
            waiting.extend(robot.tree_joints[j].child for j in reversed(found))
    there = robot.actuated_names
    listed = [name for joint in names for name in there if _is_of(name, joint)]
    return (*listed, *(name for name in there if name not in listed))


def _is_of(coordinate: str, joint: str) -> bool:
    """Whether the name of a coordinate is that of a joint, or of one of its coordinates."""
    return coordinate == joint or coordinate.rpartition(".")[0] == joint
