"""The two generic joint constraints and their selection matrices [Bruedigam2023, App. B].

Every joint has one translational and one rotational function of the two bodies,

    g_T = Q(q_a)^T ((x_b + Q(q_b) p_b) - (x_a + Q(q_a) p_a))        [Eq. B.1]
    g_R = V L(q_off)^T L(q_a)^T q_b                                 [Eq. B.3]

of which ``D^T g = 0`` is the constraint and ``C^T g`` contains the minimal coordinates. A joint
kind is only a pair of names from Table B.1, so a new kind is one new row below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.bearing import Bearing, check_bearing
from robosim.description.charts import MOST, UNIVERSAL, Chart, Screw, check_chart
from robosim.description.selection import CHART_KINDS, Selection, selection
from robosim.description.springs import Potential
from robosim.errors import ModelError
from robosim.validation import (
    Array,
    Frozen,
    checked_limit_springs,
    frozen_array,
    read_only,
    unit_quaternion,
)

LEAST_TURN = 1e-4
"""Least `largest_turn` [rad]: below, the cosine of half of it has too few digits."""


class SafetyLimits(NamedTuple):
    """Softer limits that a model file asks a controller to keep; robosim does not enforce them.

    With q and v the joint's coordinate and rate, a controller keeps v between ``-k_position (q -
    lower)`` and ``-k_position (q - upper)``, and its torque between ``-k_velocity (v - v_lower)``
    and ``-k_velocity (v - v_upper)``. A gain of zero disables a limit.
    """

    lower: float = 0.0
    upper: float = 0.0
    k_position: float = 0.0
    k_velocity: float = 0.0


@dataclass(frozen=True, eq=False)
class Joint(Frozen):
    """A joint between a parent (or the world, None) and a child body: of Table B.2, or a chart.

    Attributes
    ----------
    name, kind : str
        The kind is a key of ``robosim.joints.KINDS`` or one of ``robosim.joints.CHART_KINDS``.
    parent : str or None
    child : str
    axis : (3,)
        In the joint frame, which is the child's body frame.
    chart : Chart or None
        Of a `composite` or `spline` joint: the pose of the child in the joint frame as a function
        of the coordinates. A `universal` joint turns about x, then about y.
    pitch : float [m/rad]
        Of a `screw` joint: how far it moves along its axis per radian.
    parent_position : (3,) [m]
        p_a, from the parent's centre of mass, in its axes (world coordinates for the world).
    child_position : (3,) [m]
        p_b, from the child's centre of mass, in its axes.
    directions : (m, 3) or None
        Orthogonal unit vectors in the joint frame, along which the free translations are measured.
        None: those of `perpendicular_basis`, or x, y and z.
    coordinate_names : tuple of str
        Names of the coordinates, where a model file has one for each; not with a free rotation.
    offset : (4,)
        q_off: joint frame to parent axes at zero.
    lower, upper : (nv,) [rad or m]
        Limits of the coordinates, in the order translations, rotations. Equal limits lock the
        coordinate; other limits closer to each other than 1e-9 are moved apart to that distance.
    velocity_limit, effort_limit : float or (nv,) [rad/s or m/s], [N m or N]
        Limits of each coordinate. Velocity limits are enforced by a simulation with
        `velocity_limits=True` only, and effort limits by a controller with `PD(limit=)` only.
    safety : SafetyLimits or None
    stiffness, rest : float or (nv,) [N m/rad, rad; N/m, m]
        Spring towards the coordinate `rest`; of a free rotation towards its zero.
    damping : float or (nv,) [N m s/rad, N s/m]
    friction : float or (nv,) [N m, N]
        Dry friction: the generalized force needed to start motion.
    bearing : Bearing or None
        Additional friction that depends on the load of the joint, for a revolute, prismatic or
        spherical joint [Sueda, Sect. 2.11].
    armature : float or (nv,) [kg m^2, kg]
        Inertia of a rotor, reflected to the joint, in addition to that of the bodies.
    potential : Potential, sequence of Potential or None, or None
        Energy as a function of the coordinate; a sequence (nv,) for several coordinates. Not for
        free rotations.
    motion : callable or None
        Prescribed coordinates (nq,) as a function of time [s], or a number for a joint with a
        single one. The forces that drive the joint are unbounded. A free rotation is a unit
        quaternion. Joints that close loops must have a single coordinate.
    cone : float [rad]
        Largest angle between the child's z axis and the joint frame's, of a free rotation.
    largest_turn : float [rad]
        Largest angle of a free rotation from its zero, about any axis.
    limit_restitution : float, 0 to 1
        Newton's coefficient of restitution of the limits, `cone` and `largest_turn`.
    limit_stiffness : float [N m/rad or N/m] or None, limit_damping : float [N m s/rad or N s/m]
        Of compliant limits, `cone` and `largest_turn`; None: hard. Beyond its limit a coordinate
        has a spring and a damper, which never pull it there.
    actuated : bool or (nv,) of bool
        Whether a controller applies a torque or force, as one bool or one per coordinate. Stored
        as one bool if all are equal; always False for a floating joint.
    continuous : bool or None
        Whether the model file calls a hinge continuous, which Pinocchio represents as (cos, sin).
        None, without a model file: a hinge without limits is continuous.
    via : tuple of str
        Names of fixed joints of the model file that were merged between the parent's reference
        frame and this joint, outermost first. The order of joints in Pinocchio depends on them.
    """

    name: str
    kind: str
    parent: str | None
    child: str
    axis: ArrayLike = (0.0, 0.0, 1.0)
    parent_position: ArrayLike = (0.0, 0.0, 0.0)
    child_position: ArrayLike = (0.0, 0.0, 0.0)
    offset: ArrayLike = quaternions.IDENTITY
    directions: ArrayLike | None = None
    coordinate_names: tuple[str, ...] = ()
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None
    velocity_limit: ArrayLike = np.inf
    effort_limit: ArrayLike = np.inf
    safety: SafetyLimits | None = None
    damping: ArrayLike = 0.0
    friction: ArrayLike = 0.0
    armature: ArrayLike = 0.0
    stiffness: ArrayLike = 0.0
    rest: ArrayLike = 0.0
    potential: Potential | Sequence[Potential | None] | None = None
    motion: Callable[[float], ArrayLike] | None = None
    cone: float = np.inf
    largest_turn: float = np.inf
    limit_restitution: float = 0.0
    limit_stiffness: float | None = None
    limit_damping: float = 0.0
    actuated: bool | Sequence[bool] = True
    continuous: bool | None = None
    via: tuple[str, ...] = ()
    chart: Chart | None = None
    pitch: float = 0.0
    bearing: Bearing | None = None
    own_chart: Chart | None = field(init=False)
    D_T: Array = field(init=False)
    D_R: Array = field(init=False)
    C_T: Array = field(init=False)
    C_R: Array = field(init=False)

    def __post_init__(self) -> None:
        element = f"joint '{self.name}'"
        axis = frozen_array(self.axis, (3,), "axis", element)
        self._set_chart(axis, element)
        try:
            if self.own_chart is None:
                chosen = selection(self.kind, axis)
            else:
                chosen = Selection(*(np.zeros((3, 0)) for _ in range(4)))
        except ModelError as error:
            raise ModelError(
                error.reason,
                element=element,
                alternatives=(*error.alternatives, *CHART_KINDS) if error.alternatives else (),
            ) from None
        if self.directions is not None:
            chosen = chosen._replace(C_T=self._checked_directions(chosen.C_T, element))
        for matrix in chosen:
            matrix.setflags(write=False)
        self._set(
            axis=frozen_array(axis / np.linalg.norm(axis), (3,), "axis", element),
            D_T=chosen.D_T,
            D_R=chosen.D_R,
            C_T=chosen.C_T,
            C_R=chosen.C_R,
            parent_position=frozen_array(self.parent_position, (3,), "parent_position", element),
            child_position=frozen_array(self.child_position, (3,), "child_position", element),
            offset=unit_quaternion(self.offset, "offset", element),
            via=tuple(self.via),
            coordinate_names=tuple(self.coordinate_names),
        )
        self._set(actuated=self._checked_actuated(element))
        names = self.coordinate_names
        if names and (self.has_quaternion or len(names) != self.nv):
            raise ModelError(
                f"coordinate_names must be {self.nv} without a free rotation, not {names}",
                element=element,
            )
        begin, end = np.full(self.nv, -np.inf), np.full(self.nv, np.inf)
        if self.own_chart is not None:
            begin, end = self.own_chart.limits()
        self._set(
            lower=self._limit(self.lower, begin, "lower", element),
            upper=self._limit(self.upper, end, "upper", element),
        )
        beyond = (np.asarray(self.lower) < begin) | (np.asarray(self.upper) > end)
        if np.any(beyond):
            k = int(np.argmax(beyond))
            raise ModelError(
                f"limits of coordinate {k} must lie on the spline, between {begin[k]} and {end[k]}",
                element=element,
            )
        if np.any(np.asarray(self.lower) > np.asarray(self.upper)):
            raise ModelError(
                f"limits are the wrong way round: lower {np.asarray(self.lower).tolist()}, "
                f"upper {np.asarray(self.upper).tolist()}",
                element=element,
            )
        self._check_components(element)
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        stuck = lower == upper
        if np.any(stuck):
            if self.nv > 1:
                raise ModelError(
                    f"limits leave no freedom: lower and upper are {lower[stuck].tolist()}; "
                    "choose a "
                    "kind without that coordinate",
                    element=element,
                )
            if self.motion is None:
                value = float(lower[0])
                self._set(motion=lambda time: value)
        check_bearing(self.bearing, self.kind, self.motion is not None, element)

    def _set_chart(self, axis: Array, element: str) -> None:
        """Set the chart of a joint that is one; refuse charts of other joints."""
        given = self.chart is not None, self.pitch != 0.0, self.directions is not None
        allowed = {"composite": (0,), "spline": (0,), "screw": (1,), "universal": ()}
        if self.kind not in CHART_KINDS:
            allowed[self.kind] = (2,)
        for k, what in enumerate(("chart", "pitch", "directions")):
            if given[k] and k not in allowed[self.kind]:
                raise ModelError(f"a '{self.kind}' joint takes no {what}", element=element)
        self._set(own_chart=UNIVERSAL if self.kind == "universal" else self.chart)
        if self.kind == "screw":
            try:
                self._set(own_chart=Screw(axis, self.pitch))
            except (ModelError, TypeError) as error:
                raise ModelError(f"pitch must be a finite number [m/rad], not {self.pitch!r}",
                                 element=element) from error  # fmt: skip
        if self.kind in CHART_KINDS:
            if not isinstance(self.own_chart, Chart):
                raise ModelError(
                    f"a '{self.kind}' joint needs a chart, such as Composite(Hinge(), Slide()) or "
                    f"SplineCurve(frames); not {self.own_chart!r}",
                    element=element,
                )
            if not 1 <= self.own_chart.nv <= MOST:
                raise ModelError(f"a chart has 1 to {MOST} coordinates, not {self.own_chart.nv}",
                                 element=element)  # fmt: skip
            check_chart(self.own_chart, element)

    def _checked_directions(self, C_T: Array, element: str) -> Array:
        """The directions as columns (3, m): an orthonormal basis of the range of C_T (3, m)."""
        m = C_T.shape[1]
        directions = frozen_array(np.asarray(self.directions), (m, 3), "directions", element)
        self._set(directions=directions)
        # In the plane of C_T, of unit length, and orthogonal.
        inside = np.abs(C_T @ (C_T.T @ directions.T) - directions.T).max(initial=0.0) < 1e-6
        unit = np.abs(directions @ directions.T - np.eye(m)).max(initial=0.0) < 1e-6
        if not (inside and unit):
            raise ModelError(
                f"directions must be unit vectors across each other, along which a '{self.kind}' "
                f"joint can move; not {directions.tolist()}",
                element=element,
            )
        return np.array(directions.T)

    def _checked_limit_springs(self, element: str) -> dict[str, Any]:
        """Stiffness and damping of the limits, checked."""
        if self.limit_stiffness is not None and self.limit_restitution:
            raise ModelError(
                f"limit_restitution is of hard limits: {self.limit_restitution} and a "
                "limit_stiffness exclude each other",
                element=element,
            )
        return checked_limit_springs(self.limit_stiffness, self.limit_damping, element)

    def _check_components(self, element: str) -> None:
        """Check springs, dampers, friction, rotors, motions and the limits of a free rotation."""
        for what in ("stiffness", "damping", "friction", "armature", "rest"):
            values = self.per_coordinate(what)
            if what != "rest" and np.any(values < 0):
                raise ModelError(
                    f"{what} must not be negative, not {getattr(self, what)}", element=element
                )
        self._check_exchanged(element)
        free = slice(self.C_T.shape[1], None) if self.has_quaternion else slice(0, 0)
        if np.any(self.per_coordinate("rest")[free]):
            raise ModelError(
                "the spring of a free rotation rests at its zero: turn `offset` instead of `rest`",
                element=element,
            )
        if np.any(np.isfinite(np.asarray(self.lower)[free])) or np.any(
            np.isfinite(np.asarray(self.upper)[free])
        ):
            raise ModelError(
                "a free rotation has no lower and upper limit; give it a `cone` or `largest_turn`",
                element=element,
            )
        if self.motion is not None and self.nv == 0:
            raise ModelError(f"a '{self.kind}' joint has no motion", element=element)
        self._check_potentials(element)
        if self.motion is not None and not callable(self.motion):
            raise ModelError(
                f"motion must be a function of time, not {self.motion!r}", element=element
            )
        for what in ("velocity_limit", "effort_limit"):
            each = self.per_coordinate(what)
            if self.nv:
                alike = bool(np.all(each == each[0]))
                self._set(**{what: float(each[0]) if alike else read_only(each)})
        bounce = float(frozen_array(self.limit_restitution, (), "limit_restitution", element))
        if not 0.0 <= bounce <= 1.0:
            told = f"limit_restitution must be from 0 to 1, not {bounce}"
            raise ModelError(told, element=element)
        self._set(limit_restitution=bounce, **self._checked_limit_springs(element))
        for what in ("cone", "largest_turn"):
            if not isinstance(getattr(self, what), Real):
                raise ModelError(
                    f"{what} must be a number, not {getattr(self, what)!r}", element=element
                )
        for what in ("cone", "largest_turn"):
            angle = getattr(self, what)
            if not (angle == np.inf or (self.has_quaternion and 0 < angle < np.pi)):
                raise ModelError(
                    f"a {what} is for joints with a free rotation, between 0 and pi; not {angle} "
                    f"for '{self.kind}'",
                    element=element,
                )
        if self.largest_turn < LEAST_TURN:
            raise ModelError(
                f"a largest_turn of {self.largest_turn} leaves no freedom (at least {LEAST_TURN}); "
                "choose a kind without a rotation",
                element=element,
            )

    def _checked_actuated(self, element: str) -> bool | tuple[bool, ...]:
        given = self.actuated
        if np.ndim(given) == 0:
            return bool(given) and self.kind != "floating"
        if np.shape(given) != (self.nv,):
            raise ModelError(
                f"actuated must be a bool or {self.nv} of them, not {given!r}", element=element
            )
        each = tuple(bool(one) and self.kind != "floating" for one in given)  # type: ignore[union-attr]
        return each if len(set(each)) > 1 else any(each)

    def _check_potentials(self, element: str) -> None:
        given = self.potential
        if given is None or (isinstance(given, Potential) and self.nv == 1):
            return
        known = not isinstance(given, Potential) and len(given) == self.nv
        if not known or any(not isinstance(one, Potential | None) for one in given):  # type: ignore[union-attr]
            raise ModelError(
                f"potential must be one for each of its {self.nv} coordinates, or None there; not "
                f"{given!r}",
                element=element,
            )
        self._set(potential=tuple(given))  # type: ignore[arg-type]
        if any(one is not None for one in self.potentials[self.numbers :]):
            raise ModelError("a free rotation has no potential", element=element)

    def _check_exchanged(self, element: str) -> None:
        """Refuse forces and limits along coordinates that may be replaced by others."""
        if self.own_chart is None or not any(self.own_chart.changes):
            return
        changes = np.array(self.own_chart.changes)
        limited = np.isfinite(np.asarray(self.lower)) | np.isfinite(np.asarray(self.upper))
        acting = np.array([one is not None for one in self.potentials])
        for what in ("stiffness", "damping", "friction", "armature", "limits", "potential"):
            values = {"limits": limited, "potential": acting}.get(what)
            if values is None:
                values = self.per_coordinate(what) != 0
            if np.any(values[changes]):
                raise ModelError(
                    f"has {what} along the coordinates of an ExponentialBall, which are exchanged "
                    "for others as it turns; a 'spherical' joint can have them",
                    element=element,
                )

    def per_coordinate(self, what: str) -> Array:
        """`stiffness`, `effort_limit`, ... for each of the joint's velocities, (nv,)."""
        element = f"joint '{self.name}'"
        try:
            values = np.array(getattr(self, what), dtype=float)
            values = np.broadcast_to(values, (self.nv,))
        except (TypeError, ValueError):
            raise ModelError(
                f"{what} must be a number or {self.nv} of them, not {getattr(self, what)!r}",
                element=element,
            ) from None
        wrong = np.isnan(values) if what.endswith("_limit") else ~np.isfinite(values)
        if np.any(wrong):
            told = "a number" if what.endswith("_limit") else "finite"
            raise ModelError(f"{what} must be {told}, not {getattr(self, what)}", element=element)
        return values

    def _limit(self, value: ArrayLike | None, default: Array, what: str, element: str) -> Array:
        if value is None:
            value = default
        try:
            array = np.array(value, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError):
            raise ModelError(
                f"{what} limits must be {self.nv} numbers, not {value!r}", element=element
            ) from None
        if array.shape != (self.nv,) or np.any(np.isnan(array)):
            raise ModelError(
                f"{what} limits must be {self.nv} numbers, not {array.tolist()}", element=element
            )
        array.setflags(write=False)
        return array

    @property
    def n_constraints(self) -> int:
        """Number of constraint rows, 0..6."""
        if self.own_chart is not None:
            return 6 - self.own_chart.nv
        return int(self.D_T.shape[1] + self.D_R.shape[1])

    @property
    def nv(self) -> int:
        """Number of velocities: 6 minus the constraints."""
        return 6 - self.n_constraints

    @property
    def nq(self) -> int:
        """Number of coordinates: one more than nv where the rotation is free (a quaternion)."""
        return self.nv + (1 if self.C_R.shape[1] == 3 else 0)

    @property
    def potentials(self) -> tuple[Potential | None, ...]:
        """The potential of each coordinate, (nv,)."""
        if self.potential is None or isinstance(self.potential, Potential):
            return (self.potential,) * self.nv
        return tuple(self.potential)

    @property
    def resists(self) -> bool:
        """Whether a coordinate has limits or dry friction, or the joint a bearing."""
        angles = (self.cone, self.largest_turn)
        limits = np.concatenate((np.asarray(self.lower), np.asarray(self.upper), angles))
        dry = np.any(self.per_coordinate("friction") > 0) or self.bearing is not None
        return bool(np.any(np.isfinite(limits)) or dry)

    @property
    def is_limited_in_velocity(self) -> bool:
        """Whether a coordinate has a velocity limit, and the joint no prescribed motion."""
        return bool(np.any(np.isfinite(self.velocity_limit))) and self.motion is None

    @property
    def has_motor(self) -> tuple[bool, ...]:
        """Whether each of its nv coordinates takes a torque or force from the controller."""
        each = self.actuated
        return (each,) * self.nv if isinstance(each, bool) else tuple(each)

    @property
    def has_quaternion(self) -> bool:
        """Whether the rotation is free, and so is kept as a quaternion in q."""
        return int(self.C_R.shape[1]) == 3

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the nv coordinates: "m", "rad", or "1" for a spline's."""
        if self.own_chart is not None:
            return self.own_chart.units
        return ("m",) * int(self.C_T.shape[1]) + ("rad",) * int(self.C_R.shape[1])

    @property
    def numbers(self) -> int:
        """Number of coordinates whose rates are velocities: all except quaternions."""
        return self.nv - 3 if self.has_quaternion else self.nv

    def translation(self, coordinates: ArrayLike) -> Array:
        """Position (3,) [m] of the child's joint point in the joint frame, at coordinates (nq,)."""
        if self.own_chart is not None:
            return self.own_chart.pose(coordinates)[:3, 3]
        slid = np.asarray(coordinates, dtype=float)[: self.C_T.shape[1]]
        return np.asarray(self.C_T @ slid)

    def rotation(self, coordinates: ArrayLike) -> Array:
        """Rotation (3, 3), child to joint frame, at the joint's coordinates (nq,)."""
        if self.own_chart is not None:
            return self.own_chart.pose(coordinates)[:3, :3]
        rest = np.asarray(coordinates, dtype=float)[self.C_T.shape[1] :]
        if self.has_quaternion:
            return quaternions.rotation_matrix(quaternions.normalized(rest))
        if len(rest):
            turn = quaternions.from_axis_angle(self.C_R[:, 0], rest[0])
            return quaternions.rotation_matrix(turn)
        return np.eye(3)
