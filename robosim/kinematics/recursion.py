"""Calls of the kernels in `robosim.kernels.recursive`, for rows of states, with errors by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.compiled.building.links import compile_links
from robosim.compiled.links import make_recursion
from robosim.description.massless import without_inertia
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError, StateError
from robosim.kernels.compiler.recursion import prepared
from robosim.kernels.recursive.entries import NOT_A_STATE
from robosim.runtime.handles import Handle
from robosim.validation import Array

FLOATS = np.dtype(np.float64)
BLOCK = 32  # rows whose intermediate results fit into the caches, for robots of some dozen joints
Width = tuple[tuple[int], int, bool]  # shape of a state, position of its memory, whether it is a q
Given = tuple[str, Any, Width]  # name of an argument, its value, and its width
Status = Callable[..., int]


class Pushes(NamedTuple):
    """External wrenches, in the form that kernels read."""

    links: NDArray[np.int64]  # (k,)
    points: Array  # (k, 3) from the reference points, link axes
    wrenches: Array  # (n or 1, k, 6)


class Memory:
    """Memory of one call; threads do not share it.

    Single states are copied to memory of a fixed type. For other types, such as read-only memory,
    kernels would be compiled again. Each argument has memory for rows, and a view of the single
    row.
    """

    def __init__(self, tree: Any, nq: int, nv: int) -> None:
        self._handle = Handle(make_recursion(tree))
        at = self._handle.address
        self.address: int | tuple[int] = at if tree.charts is None else (at,)
        rows = [np.zeros((1, n)) for n in (nq, nv, nv, nq, nv)]
        self.rows = [(one, one[0]) for one in rows]


class Recursion:
    """A tree for the kernels, with the functions that calls from Python need.

    Parameters
    ----------
    robot : Mechanism
    gravity : (3,) [m/s^2]
    masses : (nb,) [kg] or None
        Of points at the centres of mass, in place of the bodies.
    """

    def __init__(
        self, robot: Mechanism, gravity: ArrayLike, masses: ArrayLike | None = None
    ) -> None:
        self.robot = robot
        self._tree, self._turns = compile_links(robot, gravity, masses)
        nq, nv = self._nq, self._nv = (robot.nq,), (robot.nv,)
        self.q, self.v, self.a, self.q1, self.given = (
            (nq, 0, True),
            (nv, 1, False),
            (nv, 2, False),
            (nq, 3, True),
            (nv, 4, False),
        )
        self.no_pushes = Pushes(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), np.zeros((1, 0, 6)))
        self._free: list[Memory] = []
        self._prepared: set[Any] = set()
        self._frames: dict[str, tuple[int, Array, Array]] = {}

    def call(
        self,
        run: Status,
        given: tuple[Given, ...],
        shapes: tuple[tuple[int, ...], ...],
        before: tuple[Any, ...] = (),
        after: tuple[Any, ...] = (),
        least: int = 0,
    ) -> tuple[Array, ...]:
        """Arrays of the given shapes, each with one row per state if any argument has rows.

        Parameters
        ----------
        run : entry(address, *before, *arguments, *after, *out)
        given : (name, value, width) of each argument
        shapes : shapes of the results
        before, after : further arguments, passed unchanged
        least : int
            Number of rows in `after`; 0 without any.

        Raises
        ------
        StateError
            For a wrong shape, different numbers of rows, or an invalid state.
        ModelError
            If a coordinate moves no inertia.
        """
        memory = self._free.pop() if self._free else self._memory()
        arrays, n = [], least
        for name, value, (shape, place, _) in given:
            if type(value) is np.ndarray and value.dtype is FLOATS and value.shape == shape:
                array, row = memory.rows[place]
                row[:] = value
            else:
                array, many = _rows(name, value, shape[0])
                if many:
                    n = _common(name, len(array), n)
            arrays.append(array)
        if len(shapes) == 1:
            out = [np.empty((n or 1, *shapes[0]))]
        else:
            out = [np.empty((n or 1, *shape)) for shape in shapes]
        status = run(memory.address, *before, *arrays, *after, *out)
        self._free.append(memory)
        if status:
            raise self._error(status, given, arrays)
        return tuple(out) if n else tuple([array[0] for array in out])

    def single(
        self, run: Status, q: ArrayLike, v: ArrayLike, a: ArrayLike, weight: float, passive: int
    ) -> Array | None:
        """`call` for functions (nv,) that controllers call in every step, in half of the time.

        None if the arguments are not single states as arrays, or are invalid. `call` accepts all
        forms, and raises the errors.
        """
        if not (
            type(q) is type(v) is type(a) is np.ndarray
            and q.dtype is v.dtype is a.dtype is FLOATS
            and q.shape == self._nq
            and v.shape == a.shape == self._nv
        ):
            return None
        if run not in self._prepared:
            self._prepared.add(prepared(run, self._tree.charts is not None))
        memory = self._free.pop() if self._free else self._memory()
        out = np.empty(self._nv)
        try:
            status = run(memory.address, weight, passive, q, v, a, out)
        except TypeError:  # unaligned memory
            return None
        self._free.append(memory)
        return None if status else out

    def of_pose(self, run: Status, q: ArrayLike, shape: tuple[int, ...]) -> Array:
        """`call` for functions of q alone, in less time for a single configuration."""
        if type(q) is np.ndarray and q.dtype is FLOATS and q.shape == self._nq:
            memory = self._free.pop() if self._free else self._memory()
            array, row = memory.rows[0]
            row[:] = q
            out = np.empty((1, *shape))
            status = run(memory.address, array, out)
            self._free.append(memory)
            if not status:
                return np.asarray(out[0])
        return self.call(run, (("q", q, self.q),), (shape,))[0]

    def _memory(self) -> Memory:
        return Memory(self._tree, self.robot.nq, self.robot.nv)

    def _error(self, status: int, given: tuple[Given, ...], arrays: list[Array]) -> Exception:
        """The error for a status: the first invalid number, or a coordinate without inertia."""
        if status != NOT_A_STATE:
            return without_inertia(self.robot.v_names[status - 1])
        for (name, _, (_, _, is_q)), array in zip(given, arrays, strict=True):
            names = self.robot.q_names if is_q else self.robot.v_names
            for i, k in np.argwhere(~np.isfinite(array)):
                where = f" in row {i}" if len(array) > 1 else ""
                return StateError(f"{name} must be finite; '{names[k]}' is {array[i, k]}{where}")
        for name, joint in self._zero_quaternions(given, arrays):
            return StateError(f"{name} has a quaternion of length zero, of joint '{joint}'")
        raise AssertionError(f"status {status} of a state without fault")

    def _zero_quaternions(
        self, given: tuple[Given, ...], arrays: list[Array]
    ) -> list[tuple[str, str]]:
        found = []
        for (name, _, (_, _, is_q)), array in zip(given, arrays, strict=True):
            joints = zip(self.robot.tree_joints, self.robot.q_offsets, strict=False)
            for joint, begin in joints if is_q else ():
                at = begin + joint.numbers
                if joint.has_quaternion and np.any(
                    np.abs(array[:, at : at + 4]).sum(axis=1) <= 1e-150
                ):
                    found.append((name, joint.name))
        return found

    def checked(self, name: str, value: ArrayLike, width: Width) -> Array:
        """An argument as an array, (nv,) or (n, nv), or a StateError."""
        array, many = _rows(name, value, width[0][0])
        return array if many else array[0]

    def finite(self, name: str, value: ArrayLike, width: Width) -> Array:
        """`checked`, and a StateError if a number is not finite."""
        array = self.checked(name, value, width)
        if not np.all(np.isfinite(array)):
            raise self._error(NOT_A_STATE, ((name, value, width),), [np.atleast_2d(array)])
        return array

    def common(self, arguments: Mapping[str, Array]) -> int:
        """Number of rows of named arguments, 0 if all are single; or a StateError."""
        n = 0
        for name, array in arguments.items():
            if array.ndim == 2:
                n = _common(name, len(array), n)
        return n

    def each(self, f: Callable[..., Any], *states: ArrayLike) -> Array:
        """A function of q, v and a, applied to one state or to each row of states."""
        parts = [np.asarray(part, dtype=float) for part in states]
        n = self.common(dict(zip("qva", parts, strict=False)))
        if not n:
            return np.asarray(f(*parts))
        whole = [np.broadcast_to(part, (n, part.shape[-1])) for part in parts]
        return np.stack([f(*state) for state in zip(*whole, strict=True)])

    def blocks(self, f: Callable[..., tuple[Array, ...]], *states: Array) -> tuple[Array, ...]:
        """A function of states or of rows of states, applied to a few rows at a time.

        So intermediate results stay in the caches.
        """
        n = max((len(part) for part in states if part.ndim == 2), default=0)
        if n == 0:
            return f(*states)
        whole = [np.broadcast_to(part, (n, part.shape[-1])) for part in states]
        out: list[Array] = []
        for begin in range(0, n, BLOCK):
            rows = slice(begin, begin + BLOCK)
            found = f(*(part[rows] for part in whole))
            out = out or [np.empty((n, *part.shape[1:])) for part in found]
            for all_rows, part in zip(out, found, strict=True):
                all_rows[rows] = part
        return tuple(out)

    def frame(self, name: str) -> tuple[int, Array, Array]:
        """Link of a frame, its origin from the reference point, and its axes; in link axes."""
        if name not in self._frames:
            index, frame = self.robot.frame(name)
            self._frames[name] = self.fixed(index, frame.position, frame.quaternion)
        return self._frames[name]

    def fixed(
        self, index: int, position: ArrayLike, quaternion: ArrayLike = quaternions.IDENTITY
    ) -> tuple[int, Array, Array]:
        """As `frame`, for a point or frame given as the fields of a `Frame` on a body."""
        turn = self._turns[index].T
        joint = self.robot.tree_joints[index]
        point = np.asarray(position) - np.asarray(joint.child_position)
        axes = turn @ quaternions.rotation_matrix(quaternion)
        return index, turn @ point, np.ascontiguousarray(axes)

    def pushes(self, wrenches: Mapping[str, ArrayLike] | None) -> tuple[Pushes, int]:
        """Wrenches by the names of bodies or frames, for kernels, and the number of their rows.

        Raises
        ------
        ModelError
            For an unknown name.
        StateError
            For a wrong shape or a value that is not finite.
        """
        if not wrenches:
            return self.no_pushes, 0
        links, points, values, n = [], [], [], 0
        for name, value in wrenches.items():
            index, point = self._pushed(name)
            array, many = _rows(f"the wrench on '{name}'", value, 6)
            if not np.all(np.isfinite(array)):
                raise StateError(f"the wrench on '{name}' must be finite, not {array.tolist()}")
            if many:
                n = _common(f"the wrench on '{name}'", len(array), n)
            links.append(index)
            points.append(point)
            values.append(array)
        rows = np.stack([np.broadcast_to(array, (n or 1, 6)) for array in values], axis=1)
        return Pushes(np.array(links, dtype=np.int64), np.array(points), rows.copy()), n

    def held(self, accelerations: Mapping[str, ArrayLike]) -> tuple[NDArray[np.int64], Array]:
        """Flags, 1 or 0, of velocities with given accelerations, and these: (nv,) or (n, nv).

        Raises
        ------
        ModelError
            For an unknown name.
        StateError
            For a wrong shape or a value that is not finite.
        """
        robot = self.robot
        joints = {joint.name: k for k, joint in enumerate(robot.tree_joints)}
        held, found, n = np.zeros(robot.nv, dtype=np.int64), [], 0
        for name, value in accelerations.items():
            if name not in joints:
                raise ModelError(
                    f"has no joint '{name}' in its tree",
                    element=f"mechanism '{robot.name}'",
                    alternatives=tuple(joints),
                )
            begin, width = robot.v_offsets[joints[name]], robot.tree_joints[joints[name]].nv
            if width == 0:
                raise ModelError("does not move", element=f"joint '{name}'")
            label = f"the acceleration of joint '{name}'"
            array, many = _rows(label, value, width)
            if not np.all(np.isfinite(array)):
                raise StateError(f"{label} must be finite, not {array.tolist()}")
            if many:
                n = _common(label, len(array), n)
            held[begin : begin + width] = 1
            found.append((slice(begin, begin + width), array))
        given = np.zeros((n or 1, robot.nv))
        for columns, array in found:
            given[:, columns] = array
        return held, given if n else given[0]

    def _pushed(self, name: str) -> tuple[int, Array]:
        """Link and point at which a wrench acts; for a body its centre of mass."""
        index, frame = self.robot.body_or_frame(name)
        if name == self.robot.bodies[index].name:
            return index, np.array(self._tree.links["center"][index])
        return index, self.frame(frame.name)[1]


def _rows(name: str, value: Any, width: int) -> tuple[Array, bool]:
    """An argument as rows (n, width) in memory of its own, and whether it was given as rows."""
    try:
        array = np.array(value, dtype=np.float64, order="C", ndmin=1)
    except (TypeError, ValueError):
        raise StateError(f"{name} must be numbers, not {value!r}") from None
    if array.ndim > 2 or array.shape[-1] != width:
        raise StateError(f"{name} must have shape ({width},) or (n, {width}), not {array.shape}")
    return (array if array.ndim == 2 else array[None]), array.ndim == 2


def _common(name: str, rows: int, n: int) -> int:
    """The common number of rows of all arguments, including this one."""
    if rows == 0:
        raise StateError(f"{name} has no rows")
    if n > 1 and rows not in (1, n):
        raise StateError(
            f"{name} has {rows} rows, and other arguments have {n}: give as many, or 1"
        )
    return max(rows, n)
