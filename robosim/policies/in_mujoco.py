"""A policy in MuJoCo: the same robot, controller and commands as in robosim.

The robot is written as MJCF (`robosim.peers.mujoco_run`), and MuJoCo's coordinates are converted
back before the policy sees them. An explicit PD gives torques at the beginning of each step, as in
robosim. An implicit one becomes MuJoCo's actuators, with its integrator "implicitfast".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from robosim.control.pd import PD, pd_torques
from robosim.description.mechanism import Mechanism
from robosim.errors import PeerError
from robosim.peers.conversions import from_mujoco, to_mujoco
from robosim.peers.mujoco_run import (
    ON_FEET,
    MuJoCoRun,
    Settings,
    available,
    controls_of,
    version,
)
from robosim.policies.policy import Policy
from robosim.policies.track import Contacts, Felt, Samples, Track, touching
from robosim.validation import Array
from robosim.version import install

SETTINGS = ON_FEET


class MuJoCoPlay:
    """A robot in MuJoCo that a policy controls.

    Parameters
    ----------
    policy : Policy
    timestep : float [s]
    settings : Settings
    gravity : (3,) [m/s^2]

    Raises
    ------
    PeerError
        If MuJoCo is not installed, or for a robot that MuJoCo does not have: with meshes as
        terrain, closed loops, or joints of other kinds.
    ControllerError
        If a period of the policy is no whole number of time steps.
    """

    def __init__(
        self,
        policy: Policy,
        timestep: float,
        settings: Settings = SETTINGS,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
    ) -> None:
        if not available():
            raise PeerError(f"mujoco is not installed; get it with: {install('peers')}")
        robot = policy.robot
        self.policy, self.robot, self.timestep = policy.copy(), robot, timestep
        self.settings = settings
        self._pd = self.policy.pd(timestep)
        gains = self._pd.gains
        # Motors with an implicit PD are actuators of MuJoCo, and the others give torques.
        self._servos, self._motors = (np.flatnonzero(gains["implicit"] == k) for k in (1, 0))
        if np.isfinite(gains["speed"][self._servos]).any():
            raise PeerError("an implicit PD with a no-load speed has no MJCF here")
        servos = PD.with_gains(gains[self._servos]) if len(self._servos) else None
        self.run = MuJoCoRun(robot, timestep, settings, gravity, servos)
        model = self.run.model
        # Indices in qpos and qvel of robosim's coordinates: both have the same values.
        q, v = from_mujoco(robot, np.arange(model.nq), np.arange(model.nv), model=model)
        self._q, self._v = np.rint(q).astype(int), np.rint(v).astype(int)
        self._felt = _felt_by(robot, self.run)
        self._contacts = _of_each_contact(robot)

    @property
    def q(self) -> Array:
        """Coordinates (nq,) in robosim's order."""
        return np.array(self.run.data.qpos[self._q])

    @property
    def v(self) -> Array:
        """Velocities (nv,) in robosim's order."""
        return np.array(self.run.data.qvel[self._v])

    def place(self, q: ArrayLike, v: ArrayLike) -> None:
        """Begin at coordinates q (nq,) and velocities v (nv,), in robosim's order."""
        self.run.set_state(*to_mujoco(self.robot, q, v, model=self.run.model))

    def play(self, seconds: float, at_sample: Callable[[float], None] = lambda time: None) -> Track:
        """Let the policy control the robot for some time.

        Parameters
        ----------
        seconds : float [s]
        at_sample : callable(time [s])
            Called before each step.

        Raises
        ------
        ControllerError
            If the policy gives a number that is not finite.
        """
        run, policy, samples = self.run, self.policy, Samples(self.robot, self.policy)
        policy.serve(self, 1, self.timestep)
        for _ in range(round(seconds / self.timestep)):
            at_sample(run.time)
            q, v, felt = self.q, self.v, self._felt()
            now = np.array([run.time])
            due = policy.due(now)
            if due.any():
                forces = self._contacts(felt[0])[None] if policy.needs_forces else None
                aims = policy.act(now, q[None], v[None], forces, due)
                self._pd = aims.of(self._pd, 0)
            samples.add(run.time, q, v, felt)
            tau = self._drive(q, v)
            if not run.step():
                break
            tau[self._servos] = run.data.actuator_force
            samples.acted(tau)
        ended = None
        if run.failed_at is not None:
            ended = f"MuJoCo was unstable at {run.failed_at:.4g} s"
        told = f"{version()}, steps of {1e3 * self.timestep:g} ms, {self.settings.told()}"
        return samples.track("MuJoCo", told, ended)

    def _drive(self, q: Array, v: Array) -> Array:
        """Set targets and torques of the next step; returns the torques (nu,) of the latter."""
        gains, data = self._pd.gains, self.run.data
        data.ctrl[:] = controls_of(gains[self._servos])
        tau = np.zeros(len(gains))
        rows = gains[self._motors]
        tau[self._motors] = pd_torques(rows, q[rows["q_index"]], v[rows["v_index"]])[1]
        tau += self.policy.aims.torques[0]
        data.qfrc_applied[self._v[rows["v_index"]]] = tau[self._motors]
        return tau


def _felt_by(robot: Mechanism, run: MuJoCoRun) -> Callable[[], Felt]:
    """A function that reads what the ground and obstacles do to each body that can touch them."""
    import mujoco

    names, model = touching(robot), run.model
    owners = {int(model.body(name).id): name for name in names}
    wrench = np.zeros(6)

    def read() -> Felt:
        found, data = Contacts(names), run.data
        for k in range(data.ncon):
            contact = data.contact[k]
            # The normal points from the first geom to the second.
            for geom, way in ((int(contact.geom1), -1.0), (int(contact.geom2), 1.0)):
                name = owners.get(int(model.geom_bodyid[geom]))
                if name is not None:
                    mujoco.mj_contactForce(model, data, k, wrench)
                    at, normal = np.array(contact.pos), way * np.array(contact.frame[:3])
                    found.add(name, float(wrench[0]), float(contact.dist), at, normal)
        return found.forces, found.nearest if robot.obstacles else None

    return read


def _of_each_contact(robot: Mechanism) -> Callable[[Array], Array]:
    """A function that divides forces of bodies equally among their contacts (nc,)."""
    names = touching(robot)
    which = np.array([names.index(contact.body) for contact in robot.contacts], dtype=int)
    share: Array = 1.0 / np.maximum(np.bincount(which, minlength=len(names)), 1)

    def divided(forces: Array) -> Array:
        return np.asarray((forces * share)[which])

    return divided
