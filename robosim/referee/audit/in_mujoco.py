"""MuJoCo with the robot's own file: an adapter, for a process of its own.

Settings of a job are names of MuJoCo's own: ``integrator``, ``cone``, ``impratio``,
``noslip_iterations``, ``iterations``, and ``solref``, ``solimp`` of all contacts,
``eq_solref``, ``eq_solimp`` of equalities, ``limit_solref``, ``limit_solimp`` of limits,
``friction_solref``, ``friction_solimp`` of dry friction, and ``margin``. A time constant in
``solref`` may be below two time steps, as ``refsafe`` is then disabled.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.errors import PeerError
from robosim.referee.audit.adapters import MADE
from robosim.referee.audit.runs import HELD, WORLD, Array, Job, Look, Opened, Touches

INTEGRATORS = {
    "Euler": mujoco.mjtIntegrator.mjINT_EULER,
    "RK4": mujoco.mjtIntegrator.mjINT_RK4,
    "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
}
CONES = {"pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL, "elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC}
# The arrays of a model that a setting replaces.
SOFT = {
    "solref": ("geom_solref", "pair_solref"),
    "solimp": ("geom_solimp", "pair_solimp"),
    "eq_solref": ("eq_solref",),
    "eq_solimp": ("eq_solimp",),
    "limit_solref": ("jnt_solref", "tendon_solref_lim"),
    "limit_solimp": ("jnt_solimp", "tendon_solimp_lim"),
    "friction_solref": ("dof_solref", "tendon_solref_fri"),
    "friction_solimp": ("dof_solimp", "tendon_solimp_fri"),
    "margin": ("geom_margin", "pair_margin"),
}
UNSTABLE = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)
HINGE, SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)


def model_of(source: str, kind: str, robot: Mechanism | None, ground: bool) -> Any:
    """MuJoCo's model of a file.

    A URDF gets what its format has not: a free base, and the ground, if robosim has them. So does
    an MJCF with nothing solid in its world, where robosim has a ground.

    Raises
    ------
    PeerError
        If MuJoCo cannot load it.
    """
    try:
        if kind in ("mjcf", MADE):
            model = mujoco.MjModel.from_xml_path(source)
            if kind == MADE or not ground or _has_obstacles(model):
                return model
            spec = mujoco.MjSpec.from_file(source)
            _add_ground(spec, robot)
            return spec.compile()
        spec = mujoco.MjSpec.from_file(source)
        spec.compiler.fusestatic = False
        if robot is not None and robot.floating_base:
            spec.worldbody.first_body().add_freejoint()
        if robot is not None and robot.contacts:
            frictions = {contact.body: contact.friction for contact in robot.contacts}
            for body in spec.bodies:
                for geom in body.geoms:
                    geom.friction[0] = frictions.get(body.name, geom.friction[0])
        if ground:
            _add_ground(spec, robot)
        return spec.compile()
    except Exception as error:  # MuJoCo raises ValueError, mujoco.FatalError and others
        raise PeerError(f"MuJoCo cannot load it: {' '.join(str(error).split())}") from error


def _has_obstacles(model: Any) -> bool:
    """Whether anything solid is fixed to the world."""
    solid = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    return bool((model.body_weldid[model.geom_bodyid[solid]] == 0).any())


def _add_ground(spec: Any, robot: Mechanism | None) -> None:
    """Add the plane z = 0, which touches the links that touch it in robosim."""
    plane = mujoco.mjtGeom.mjGEOM_PLANE
    # MuJoCo takes the larger friction of two geoms, so that the plane has none.
    spec.worldbody.add_geom(type=plane, size=[100, 100, 1], friction=[0, 0, 0])
    touching = set() if robot is None else {contact.body for contact in robot.contacts}
    own = () if robot is None else robot.bodies
    for name in {body.name for body in own} & {body.name for body in spec.bodies} - touching:
        spec.add_exclude(bodyname1="world", bodyname2=name)


class InMuJoCo:
    """A file in MuJoCo.

    Parameters
    ----------
    source : str
        The path of a file.
    kind : str
        "mjcf" or "urdf"; `MADE` for an MJCF that robosim has written.
    robot : Mechanism or None
        In robosim; None if that has not loaded the file.
    gravity : (3,) [m/s^2] or None
        None: the file's.
    """

    def __init__(
        self, source: str, kind: str, robot: Mechanism | None, gravity: Array | None = None
    ) -> None:
        mujoco.set_mju_user_warning(lambda text: None)  # which the data count
        if kind not in ("mjcf", "urdf", MADE):
            raise PeerError(f"MuJoCo reads MJCF and URDF, not {Path(source).suffix} files")
        self.version = str(mujoco.__version__)
        self.robot = robot
        self._kind = kind
        self._fresh = model_of(source, kind, robot, robot is not None and bool(robot.contacts))
        if gravity is not None:
            self._fresh.opt.gravity[:] = gravity
        self._fresh.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        model = self._fresh
        if robot is not None and kind == "mjcf" and (model.nq, model.nv) != (robot.nq, robot.nv):
            raise PeerError(
                f"MuJoCo has {model.nq} coordinates and {model.nv} velocities, robosim "
                f"{robot.nq} and {robot.nv}"
            )
        self._names = [self._body_name(k) for k in range(model.nbody)]
        moving = [k for k in range(1, model.nbody) if model.body_weldid[k] != 0]
        self._moving = np.array(moving, dtype=int)
        self.bodies = tuple(self._names[k] for k in moving)
        self.model, self.data = model, mujoco.MjData(model)
        self._push = np.zeros(model.nv)  # constant forces of an implicit PD
        self._where = np.arange(model.nv)
        if self._converts:
            assert robot is not None
            # Imported where it is needed, as it imports numba.
            from robosim.peers.conversions import to_mujoco

            order = to_mujoco(
                robot, np.asarray(robot.home), np.arange(float(robot.nv)), model=model
            )[1]
            self._where = np.argsort(np.rint(order).astype(int))

    @property
    def _converts(self) -> bool:
        """Whether MuJoCo has other coordinates than robosim."""
        return self.robot is not None and self._kind != "mjcf"

    def _body_name(self, k: int) -> str:
        if self._fresh.body_weldid[k] == 0:
            return WORLD
        name = self._fresh.body(k).name or f"body{k}"
        return "world" if name == "world_link" else name

    def opened(self) -> Opened:
        """What MuJoCo has made of the file."""
        model = self._fresh
        joints = {}
        for k in range(model.njnt):
            if model.jnt_type[k] in (HINGE, SLIDE):
                dof = model.jnt_dofadr[k]
                limited = bool(model.jnt_limited[k])
                joints[model.joint(k).name] = {
                    "lower": float(model.jnt_range[k, 0]) if limited else -np.inf,
                    "upper": float(model.jnt_range[k, 1]) if limited else np.inf,
                    "damping": float(model.dof_damping[dof]),
                    "friction": float(model.dof_frictionloss[dof]),
                    "armature": float(model.dof_armature[dof]),
                }
        geoms = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
        touching = {self._names[k] for k in model.geom_bodyid[geoms]} - {WORLD}
        return Opened(
            "mujoco",
            self.version,
            self.bodies,
            joints,
            float(model.body_mass[self._moving].sum()),
            int(model.neq),
            int(model.ntendon),
            int(model.nu),
            tuple(sorted(touching)),
            self._angles(),
        )

    def _angles(self) -> tuple[str, ...]:
        """Names of limits and equalities that are measured in radians."""
        model = self._fresh
        turning = [k for k in range(model.njnt) if model.jnt_type[k] == HINGE]
        names = [model.joint(k).name or f"joint{k}" for k in turning]
        of_joints = int(mujoco.mjtEq.mjEQ_JOINT)
        equal = [
            k
            for k in range(model.neq)
            if model.eq_type[k] == of_joints and int(model.eq_obj1id[k]) in turning
        ]
        return (*names, *map(self._loop_name, equal))

    def begin(self, job: Job) -> str:
        """Apply the time step and settings of a job, and set its state."""
        import copy

        self.model = model = copy.copy(self._fresh)
        model.opt.timestep = job.timestep
        told = self._apply(job.settings)
        if job.kind != HELD:
            model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
        self._push = np.zeros(model.nv)
        if job.gains is not None:
            self._spring(job.gains)
        self.data = data = mujoco.MjData(model)
        data.qfrc_applied[:] = self._push
        if job.q is not None:
            q, v = job.q, np.zeros(model.nv) if job.v is None else job.v
            if self._converts:
                from robosim.peers.conversions import to_mujoco

                assert self.robot is not None
                q, v = to_mujoco(self.robot, q, v, model=model)
            data.qpos[:], data.qvel[:] = q, v
        return told

    def _apply(self, settings: Mapping[str, Any]) -> str:
        model, told = self.model, []
        for name, value in settings.items():
            if name == "integrator":
                model.opt.integrator = int(INTEGRATORS[value])
            elif name == "cone":
                model.opt.cone = int(CONES[value])
            elif name in SOFT:
                numbers = np.atleast_1d(np.asarray(value, dtype=float))
                for array in SOFT[name]:
                    rows = getattr(model, array)
                    if rows.ndim == 2:
                        rows[:, : len(numbers)] = numbers
                    else:
                        rows[:] = numbers[0]
                if name.endswith("solref"):
                    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_REFSAFE)
            else:
                setattr(model.opt, name, value)
            told.append(written(name, value))
        return ", ".join(told)

    def _spring(self, gains: Any) -> None:
        """An implicit PD as springs and dampers, which MuJoCo integrates implicitly in part."""
        model = self.model
        model.opt.integrator = int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST)
        for row in gains[gains["implicit"] == 1]:
            dof = int(self._where[int(row["v_index"])])
            joint = int(model.dof_jntid[dof])
            model.dof_damping[dof] += row["kd"]
            # The file's own spring stays.
            at, own = int(model.jnt_qposadr[joint]), float(np.ravel(model.jnt_stiffness[joint])[0])
            both = own + row["kp"]
            self._push[dof] = row["kd"] * row["velocity"]
            if both > 0:
                pull = own * model.qpos_spring[at] + row["kp"] * row["target"]
                model.qpos_spring[at] = pull / both
            model.jnt_stiffness[joint] = both

    def drive(self, row: Array, kind: str) -> None:
        """Controls of the file's actuators, or torques on joints."""
        if kind == HELD:
            self.data.ctrl[:] = row
            return
        self.data.qfrc_applied[:] = self._push
        assert self.robot is not None
        if len(row) == self.robot.nv and len(row) != self.robot.nu:
            self.data.qfrc_applied[self._where] += row
        else:
            self.data.qfrc_applied[self._where[np.asarray(self.robot.actuated, dtype=int)]] += row

    def step(self, steps: int) -> str | None:
        """Take time steps, until MuJoCo warns of an instability."""
        mujoco.mj_step(self.model, self.data, nstep=steps)
        if any(self.data.warning[int(kind)].number for kind in UNSTABLE):
            return f"MuJoCo was unstable at {self.data.time:.4g} s"
        return None

    def look(self) -> Look:
        """The present state, with its contact forces."""
        model, data = self.model, self.data
        mujoco.mj_forward(model, data)
        q, v = np.array(data.qpos), np.array(data.qvel)
        if self._converts:
            from robosim.peers.conversions import from_mujoco

            q, v = from_mujoco(self.robot, q, v, model=model)  # type: ignore[arg-type]
        return Look(
            q,
            v,
            np.array(data.xpos[self._moving]),
            np.array(data.xmat[self._moving]).reshape(-1, 3, 3),
            float(data.energy.sum()),
            float(data.energy[1]),
            self._touches(),
            self._loops(),
            self._limits(),
            float(np.abs(data.actuator_force).max(initial=0.0)),
        )

    def _velocity(self, body: int, point: Array, out: Array) -> Array:
        mujoco.mj_objectVelocity(self.model, self.data, mujoco.mjtObj.mjOBJ_XBODY, body, out, 0)
        return _point_velocity(out, point - self.data.xpos[body])

    def _touches(self) -> dict[Any, Any]:
        model, data, found = self.model, self.data, Touches()
        wrench, twist = np.zeros(6), np.zeros(6)
        for k in range(data.ncon):
            contact = data.contact[k]
            if contact.exclude or min(contact.geom) < 0:
                continue
            one, other = (int(model.geom_bodyid[geom]) for geom in contact.geom)
            mujoco.mj_contactForce(model, data, k, wrench)
            point, normal = np.array(contact.pos), np.array(contact.frame[:3])
            velocity = self._velocity(other, point, twist) - self._velocity(one, point, twist)
            found.add(
                self._names[one],
                self._names[other],
                -float(contact.dist),
                float(wrench[0]),
                normal,
                velocity,
            )
        return found.found

    def _loops(self) -> dict[str, float]:
        model, data, found = self.model, self.data, {}
        if not model.neq:
            return {}
        rows = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        ids, positions = data.efc_id[rows], data.efc_pos[rows]
        for k in np.unique(ids):
            own = positions[ids == k]
            # The first three equations of a weld are lengths, its others are angles.
            found[self._loop_name(int(k))] = float(np.linalg.norm(own[:3]))
        return found

    def _loop_name(self, k: int) -> str:
        model = self.model
        if model.equality(k).name:
            return str(model.equality(k).name)
        kind = mujoco.mjtEq(int(model.eq_type[k])).name.removeprefix("mjEQ_").lower()
        ids = (int(model.eq_obj1id[k]), int(model.eq_obj2id[k]))
        of = {"joint": model.joint, "tendon": model.tendon}.get(kind)
        if of is None:
            site = model.eq_objtype[k] == int(mujoco.mjtObj.mjOBJ_SITE)
            of = model.site if site else model.body
        return f"{kind} of " + " and ".join(of(one).name or str(one) for one in ids if one >= 0)

    def _limits(self) -> dict[str, float]:
        model, found = self.model, {}
        for k in range(model.njnt):
            if model.jnt_limited[k] and model.jnt_type[k] in (HINGE, SLIDE):
                value, (lower, upper) = self.data.qpos[model.jnt_qposadr[k]], model.jnt_range[k]
                beyond = max(lower - value, value - upper)
                if beyond > 0:
                    found[model.joint(k).name or f"joint{k}"] = float(beyond)
        return found


def _point_velocity(twist: Array, arm: Array) -> Array:
    """Velocity (3,) of a point, of an angular and a linear velocity (6,) and an arm (3,)."""
    (a, b, c), (x, y, z) = twist[:3], arm
    return np.array([b * z - c * y, c * x - a * z, a * y - b * x]) + twist[3:]


_LIKE = {
    "solref": "solref of geoms",
    "solimp": "solimp of geoms",
    "eq_solref": "solref of equalities",
    "eq_solimp": "solimp of equalities",
    "limit_solref": "solreflimit",
    "limit_solimp": "solimplimit",
    "friction_solref": "solreffriction",
    "friction_solimp": "solimpfriction",
    "margin": "margin of geoms",
}


def written(name: str, value: Any) -> str:
    """A setting as it stands in an MJCF file."""
    text = " ".join(f"{number:g}" for number in np.atleast_1d(value)) if _number(value) else value
    return f'{_LIKE.get(name, name)}="{text}"'


def _number(value: Any) -> bool:
    return not isinstance(value, str)
