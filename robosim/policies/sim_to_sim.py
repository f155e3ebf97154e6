"""The same policy, robot and commands in robosim and in MuJoCo, and where both part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.errors import ConvergenceError
from robosim.policies.in_mujoco import SETTINGS, MuJoCoPlay
from robosim.policies.measures import TOUCH, Ground, Measures, ground_of, measures_of
from robosim.policies.policy import Policy
from robosim.policies.track import Track, Watched
from robosim.simulation import Simulation
from robosim.validation import Array, check_choice, positive

PEERS = ("mujoco",)
"""Simulators in which a policy can be played beside robosim."""
AROUND = 1.0
"""Distance from the base within which the terrain is looked at where a robot begins [m]."""
APART = 0.1
"""Distance of two bases from which on both runs have parted [m]."""


@dataclass(frozen=True)
class Touch:
    """The contact of a body in both simulators at one time.

    Attributes
    ----------
    body : str
    forces : (2,) [N], normal
    heights : (2,) [m], of its lowest point; None where it is near no obstacle
    """

    body: str
    forces: tuple[float, float]
    heights: tuple[float | None, float | None]


@dataclass(frozen=True)
class Parting:
    """Where two runs part.

    Attributes
    ----------
    time : float [s]
        The first time at which they are farther apart than allowed.
    distance : float [m]
        Between the bases, or, for a robot with a fixed base, between the same coordinates [rad, m].
    contacts : tuple of Touch
        Bodies that touch the ground then in one of both.
    agreement : float
        Fraction of the contacts of bodies until then that are closed in both, or open in both.
    """

    time: float
    distance: float
    contacts: tuple[Touch, ...]
    agreement: float


@dataclass(frozen=True, eq=False)
class SimToSim:
    """A policy in robosim, and beside it in another simulator.

    Attributes
    ----------
    robot : Mechanism
    policy : str
    tracks : tuple of Track, one or two
    measures : tuple of Measures, one of each track
    apart : float [m]
        The distance from which on they have parted.
    distance : (n,) [m]
        Between both runs, at their common times; empty for one track.
    parting : Parting or None
        None if they do not part, or for one track.
    """

    robot: Mechanism
    policy: str
    tracks: tuple[Track, ...]
    measures: tuple[Measures, ...]
    grounds: tuple[Ground, ...]
    apart: float
    distance: Array
    parting: Parting | None

    @property
    def unit(self) -> str:
        """Unit of distances: of bases, or of coordinates of a robot with a fixed base."""
        return "m" if self.robot.floating_base else "rad or m"

    @property
    def touches(self) -> bool:
        """Whether any body touched the ground."""
        return any(bool(ground.touches.any()) for ground in self.grounds)

    def to_dict(self) -> dict[str, Any]:
        """All values but the samples, ready for JSON."""
        return {
            "robot": self.robot.name,
            "policy": self.policy,
            "runs": [
                {"simulator": track.name, "settings": track.settings, **measures.to_dict()}
                for track, measures in zip(self.tracks, self.measures, strict=True)
            ],
            "apart_m": self.apart,
            "largest_distance_m": float(self.distance.max()) if len(self.distance) else None,
            "parting": None if self.parting is None else asdict(self.parting),
        }


def judged(policy: Policy, tracks: list[Track], apart: float = APART) -> SimToSim:
    """One or two tracks with their measures, and where they part.

    Raises
    ------
    OptionError
        For a distance that is not positive.
    """
    positive("apart", apart)
    robot = policy.robot
    grounds = tuple(ground_of(robot, track) for track in tracks)
    measures = tuple(
        measures_of(robot, track, ground) for track, ground in zip(tracks, grounds, strict=True)
    )
    distance, parting = np.zeros(0), None
    if len(tracks) == 2:
        distance = distances(robot, tracks[0], tracks[1])
        parting = _parting(tracks[0], tracks[1], grounds, distance, apart)
    told = policy.__name__
    return SimToSim(robot, told, tuple(tracks), measures, grounds, apart, distance, parting)


def distances(robot: Mechanism, one: Track, other: Track) -> Array:
    """Distances (n,) [m] of the bases at common times, or of coordinates of a fixed base."""
    n = min(len(one), len(other))
    if robot.floating_base:
        return np.asarray(np.linalg.norm(one.q[:n, :3] - other.q[:n, :3], axis=1))
    return np.asarray(np.abs(one.q[:n] - other.q[:n]).max(axis=1, initial=0.0))


def _parting(
    one: Track, other: Track, grounds: tuple[Ground, ...], distance: Array, apart: float
) -> Parting | None:
    beyond = np.flatnonzero(distance > apart)
    if not len(beyond):
        return None
    k = int(beyond[0])
    touches = []
    for j, body in enumerate(one.touching):
        forces = float(one.forces[k, j]), float(other.forces[k, j])
        if max(forces) > TOUCH:
            found = [float(ground.height[k, j]) for ground in grounds]
            one_high, other_high = (high if np.isfinite(high) else None for high in found)
            touches.append(Touch(body, forces, (one_high, other_high)))
    first, second = (ground.touches[: k + 1] for ground in grounds)
    ever = (first | second).any(axis=0)
    same = float((first == second)[:, ever].mean()) if ever.any() else 1.0
    return Parting(float(one.t[k]), float(distance[k]), tuple(touches), same)


class Schedule:
    """Commands that hold from given times on; a command for a policy.

    Parameters
    ----------
    times : (m,) [s], increasing
    commands : (m, k)
    """

    def __init__(self, times: Any, commands: Any) -> None:
        self.times = np.asarray(times, dtype=float)
        self.commands = np.asarray(commands, dtype=float)

    def __call__(self, time: float) -> Array:
        """The command (k,) at a time [s]."""
        k = int(np.searchsorted(self.times, time + 1e-9, side="right")) - 1
        return np.asarray(self.commands[max(k, 0)])


def check_peer(policy: Policy, peer: str, timestep: float) -> None:
    """Refuse a robot that a peer does not have, before a run in robosim.

    Raises
    ------
    OptionError, PeerError, ControllerError
        As `in_peer`.
    """
    check_choice("peer", peer, PEERS)
    MuJoCoPlay(policy, timestep)


def in_peer(
    policy: Policy,
    peer: str,
    track: Track,
    seconds: float,
    gravity: Any = (0.0, 0.0, -9.81),
    at_sample: Callable[[float], None] = lambda time: None,
) -> Track:
    """The run in another simulator, from the first state of a track and with its commands.

    Parameters
    ----------
    policy : Policy
    peer : str
        One of `PEERS`.
    track : Track
        A run in robosim.
    seconds : float [s]
    gravity : (3,) [m/s^2]
    at_sample : callable(time [s])
        Called before each step.

    Raises
    ------
    OptionError
        For an unknown peer.
    PeerError
        If the peer is not installed, or does not have the robot.
    """
    check_choice("peer", peer, PEERS)
    timestep = float(track.t[1] - track.t[0]) if len(track) > 1 else policy.task.timestep
    other = policy.copy()
    other.command = Schedule(track.t - track.t[0], track.command)
    play = MuJoCoPlay(other, timestep, SETTINGS, gravity)
    play.place(track.q[0], track.v[0])
    return play.play(seconds, at_sample)


def compare(
    policy: Policy,
    seconds: float = 10.0,
    peer: str | None = "mujoco",
    *,
    timestep: float | None = None,
    q: Any = None,
    apart: float = APART,
    **options: Any,
) -> SimToSim:
    """Play a policy in robosim, and beside it in another simulator.

    Parameters
    ----------
    policy : Policy
        The policy, whose command holds in both.
    seconds : float [s]
    peer : str or None
        One of `PEERS`; None: robosim alone.
    timestep : float [s] or None
        Time step of both; None: the task's.
    q : (nq,) or None
        Initial coordinates; None: the policy's pose, with its lowest contact 1 mm above the ground.
    apart : float [m]
        Distance of the bases from which on the runs have parted.
    **options
        Options of the `Simulation`.

    Returns
    -------
    SimToSim

    Raises
    ------
    OptionError, ControllerError, PeerError
        For an unknown peer, a policy that cannot be simulated, or a robot that the peer does not
        have.
    """
    positive("seconds", seconds)
    timestep = policy.task.timestep if timestep is None else timestep
    if peer is not None:
        check_peer(policy, peer, timestep)
    sim = Simulation(policy.robot, timestep, **options)
    begin(sim, policy, q)
    watched = Watched(policy.copy())
    ended = None
    try:
        sim.run(seconds, watched)
    except ConvergenceError as error:
        ended = str(error)
    tracks = [watched.track(ended)]
    if peer is not None:
        tracks.append(in_peer(policy, peer, tracks[0], seconds, sim.gravity))
    return judged(policy, tracks, apart)


def begin(sim: Simulation, policy: Policy, q: Any = None, gap: float = 1e-3) -> None:
    """Put a robot where a policy begins, or at coordinates q (nq,), at rest.

    The lowest contact of a floating robot that can touch the ground is then a gap [m] above it,
    unless q is given. On obstacles the robot stands on the highest surface.
    """
    robot = sim.robot
    if q is not None:
        sim.set_state(q)
    elif robot.floating_base and (robot.contacts or robot.obstacles):
        pose = policy.pose()
        if robot.obstacles:
            # Terrain has no contacts from below, so the robot comes down from above all of it.
            x, y = (pose[k] + np.linspace(-AROUND, AROUND, 41) for k in (0, 1))
            heights = policy.layout.terrain.heights(x[:, None], y)
            pose[2] += max(0.0, float(heights[np.isfinite(heights)].max(initial=0.0)))
        sim.place(pose, gap)
    else:
        sim.set_state(policy.pose())
