"""`Dynamics` against Pinocchio's and MuJoCo's algorithms at random states of real robots."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import branched
import mjcf_files
import numpy as np
import pytest

import robosim
from robosim import Dynamics
from robosim.comparison import random_state
from robosim.conversions import velocity_drift_from_pinocchio, velocity_map_from_pinocchio
from robosim.loaders.packages import example_robot_data
from robosim.se3 import cross_matrix

pytestmark = pytest.mark.peer

STATES = 4
ROBOTS = (
    "a1_description",
    "go2_description",
    "solo12",
    "anymal_b_simple_description/anymal",
    "anymal_c_simple_description",
    "hyq_description",
    "bolt_description",
    "g1_description/g1_29dof_rev_1_0",
    "talos_data/talos_reduced",
    "pr2_description",
    "baxter_description",
    "panda_description/panda",
    "kinova_description",
    "ur_description/ur5_robot",
    "xarm_description",
    "z1_description",
    "tiago_pro",
    "double_pendulum_description/double_pendulum_continuous",
    "allegro_hand_description/allegro_right_hand",
    "iris_description/iris",
)
needs_robots = pytest.mark.skipif(example_robot_data() is None, reason="needs example-robot-data")
needs_pinocchio = pytest.mark.skipif(
    importlib.util.find_spec("pinocchio") is None, reason="needs Pinocchio"
)


def close(measured, expected, tolerance=1e-10):
    """Equal, in parts of the largest entry."""
    scale = max(float(np.abs(expected).max(initial=0.0)), 1e-3)
    np.testing.assert_allclose(measured, expected, rtol=0, atol=tolerance * scale)


class Theirs:
    """Pinocchio's algorithms at one state, in coordinates of ours."""

    def __init__(self, robot, file):
        import pinocchio as pin

        self.pin, self.robot = pin, robot
        model = pin.buildModelFromUrdf(str(file))
        if robot.floating_base and not model.existJointName(robot.joints[0].name):
            model = pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer())
        self.model, self.data = model, model.createData()
        self.frames = [
            k
            for k, frame in enumerate(model.frames)
            if frame.type == pin.BODY and frame.parentJoint > 0
        ]

    def move(self, q, v):
        """Go to a state; T and its drift lead from their velocities to ours."""
        more = {"model": self.model}
        self.q, self.v = robosim.to_pinocchio(self.robot, q, v, **more)
        self.T = velocity_map_from_pinocchio(self.robot, q, **more)
        self.drift = velocity_drift_from_pinocchio(self.robot, q, v, **more)

    def rnea(self, a):
        back = self.T.T @ (a - self.drift)
        return self.T @ self.pin.rnea(self.model, self.data, self.q, self.v, back)

    def aba(self, tau):
        a = self.pin.aba(self.model, self.data, self.q, self.v, self.T.T @ tau)
        return self.T @ a + self.drift

    def crba(self):
        M = np.array(self.pin.crba(self.model, self.data, self.q))
        M = np.triu(M) + np.triu(M, 1).T
        return self.T @ M @ self.T.T

    def jacobians(self, frame):
        """Jacobian of a frame, and its rate times v."""
        pin, data = self.pin, self.data
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        pin.computeJointJacobiansTimeVariation(self.model, data, self.q, self.v)
        pin.updateFramePlacements(self.model, data)
        J = pin.getFrameJacobian(self.model, data, frame, world)
        rate = pin.getFrameJacobianTimeVariation(self.model, data, frame, world)
        return J @ self.T.T, rate @ self.v - J @ self.T.T @ self.drift


@pytest.fixture(scope="module", params=[*ROBOTS, "branched", "branched, fixed"])
def pair(request, tmp_path_factory):
    """(robot, its dynamics, Pinocchio's algorithms)."""
    if importlib.util.find_spec("pinocchio") is None:
        pytest.skip("needs Pinocchio")
    name = request.param
    if name.startswith("branched"):
        folder = tmp_path_factory.mktemp("branched")
        file = branched.write(folder, branched.FLOATING, branched.TURNED_OVER)
        robot = robosim.load(file, floating_base="fixed" not in name)
    elif example_robot_data() is None:
        pytest.skip("needs example-robot-data")
    else:
        robot = robosim.load(name, ground=False)
        file = robot.source
    return robot, Dynamics(robot, tree=True), Theirs(robot, file)


def moved(robot, theirs):
    """Random (q, v, a), to which the peer is moved."""
    rng = np.random.default_rng(17)
    for _ in range(STATES):
        q, v = random_state(robot, rng)
        theirs.move(q, v)
        yield q, v, rng.normal(size=robot.nv)


def test_rnea_aba_and_crba(pair):
    robot, dynamics, theirs = pair
    rotors = np.hstack([joint.per_coordinate("armature") for joint in robot.tree_joints])
    for q, v, a in moved(robot, theirs):
        M = dynamics.mass_matrix(q)
        close(M - np.diag(rotors), theirs.crba())
        tau = dynamics.inverse_dynamics(q, v, a, passive=False)
        close(tau - rotors * a, theirs.rnea(a))
        if not rotors.any():
            # Forces that leave no joint out: a wrist weighs a ten thousandth of the whole.
            tau = np.sqrt(np.diag(M)) * a
            accelerated = dynamics.forward_acceleration(q, v, tau, passive=False)
            close(accelerated, theirs.aba(tau))
            close(dynamics.solve_mass(q, tau), np.linalg.solve(M, tau), 1e-9)


def test_jacobians_and_their_rates(pair):
    robot, dynamics, theirs = pair
    for q, v, _ in moved(robot, theirs):
        for frame in theirs.frames[::5]:
            name = theirs.model.frames[frame].name
            J, bias = theirs.jacobians(frame)
            close(dynamics.frame_jacobian(q, name), J)
            close(dynamics.frame_velocity(q, v, name), J @ v)
            close(dynamics.frame_acceleration(q, v, np.zeros(robot.nv), name), bias)


def test_momentum_about_the_centre_of_mass(pair):
    robot, dynamics, theirs = pair
    pin = theirs.pin
    for q, v, _ in moved(robot, theirs):
        A = pin.ccrba(theirs.model, theirs.data, theirs.q, theirs.v) @ theirs.T.T
        momentum, matrix = dynamics.centroidal(q, v)
        center = dynamics.center_of_mass(q)
        if robot.floating_base:
            close(center, theirs.data.com[0])
        # Of what is fixed to the world only one of both counts the mass.
        A[3:] += np.cross(theirs.data.com[0] - center, A[:3], axis=0)
        close(matrix, A)
        close(momentum, A @ v)
        weight = pin.computeGeneralizedGravity(theirs.model, theirs.data, theirs.q)
        close(dynamics.gravity(q), theirs.T @ weight)
        rotors = np.hstack([joint.per_coordinate("armature") for joint in robot.tree_joints])
        potential = dynamics.energy(q, np.zeros(robot.nv))
        kinetic = pin.computeKineticEnergy(theirs.model, theirs.data, theirs.q, theirs.v)
        measured = dynamics.energy(q, v) - potential - 0.5 * rotors @ v**2
        assert measured == pytest.approx(kinetic, rel=1e-9)
        if robot.floating_base:
            expected = pin.computePotentialEnergy(theirs.model, theirs.data, theirs.q)
            assert potential == pytest.approx(expected, rel=1e-10)


def test_integrate_and_difference(pair):
    robot, dynamics, theirs = pair
    pin, model = theirs.pin, theirs.model
    for q, v, _ in moved(robot, theirs):
        # Translations aside, which Pinocchio moves along the turning axes of the base.
        turning = np.where(np.abs(theirs.drift) > 0, 0.0, v)
        if robot.floating_base:
            turning[:3] = 0.0
        if any(joint.kind in ("planar", "floating") for joint in robot.joints[1:]):
            continue
        there = dynamics.integrate(q, turning)
        theirs_q = robosim.to_pinocchio(robot, q, model=model)
        expected = pin.integrate(model, theirs_q, theirs.T.T @ turning)
        ours = robosim.to_pinocchio(robot, there, model=model)
        close(pin.difference(model, ours, expected), np.zeros(model.nv), 1e-10)


class Axes:
    """Pinocchio's velocities of floating and planar joints, in axes of the child: x_pin = B x.

    Those of other joints are the same. Velocities are in our order, which S has theirs from.
    """

    def __init__(self, robot, q, T):
        self.B, self.joints = np.eye(robot.nv), []
        for joint, at, begin in zip(
            robot.tree_joints, robot.q_offsets, robot.v_offsets, strict=False
        ):
            if joint.kind in ("floating", "planar"):
                n = joint.C_T.shape[1]
                move, turn = slice(begin, begin + n), slice(begin + n, begin + joint.nv)
                across = joint.rotation(q[at : at + joint.nq]).T @ joint.C_T
                # Of a planar joint Pinocchio has z for the axis, whatever its sign is.
                sign = joint.C_R[2, 0] if joint.kind == "planar" else 1.0
                self.B[move, move], self.B[turn, turn] = across[:n], sign * np.eye(joint.nv - n)
                self.joints.append((move, turn, across, joint.C_R))
        self.S = T.T @ self.B.T

    def by_turn(self, x):
        """Slope of B x along the tangent, (nv, nv): axes that turn by d have x turn by -d."""
        out = np.zeros_like(self.B)
        for move, turn, across, C_R in self.joints:
            n = len(across[0])
            out[move, turn] = (cross_matrix(across @ x[move]) @ C_R)[:n]
        return out

    def spin(self, v):
        """W (nv, nv) with a_pin = B a - W B v, as axes turn."""
        out = np.zeros_like(self.B)
        for move, turn, across, C_R in self.joints:
            n = len(across[0])
            out[move, move] = cross_matrix(C_R @ v[turn])[:n, :n]
        return out


def test_derivatives(pair):
    """Where velocities are in other axes, by the chain rule through B and its slopes."""
    robot, dynamics, theirs = pair
    pin, at = theirs.pin, (theirs.model, theirs.data)
    rotors = np.hstack([joint.per_coordinate("armature") for joint in robot.tree_joints])
    for q, v, a in moved(robot, theirs):
        axes = Axes(robot, q, theirs.T)
        B, S, W = axes.B, axes.S, axes.spin(v)
        state, a_pin = (theirs.q, theirs.v), S @ (B @ a - W @ B @ v)
        tau = B.T @ S.T @ pin.rnea(*at, *state, a_pin)
        # How B v, B tau and a_pin answer the tangent and v.
        v_by_q, tau_by_q = axes.by_turn(v), axes.by_turn(tau)
        a_by_q, a_by_v = axes.by_turn(a) - W @ v_by_q, v_by_q - W @ B

        D_q, D_v, D_a = (S.T @ D @ S for D in pin.computeRNEADerivatives(*at, *state, a_pin))
        by_q, by_v, _ = dynamics.inverse_dynamics_derivatives(q, v, a, passive=False)
        # tau_pin = B tau: the slope of tau itself is what B and its own slope leave.
        close(by_q, B.T @ (D_q @ B + D_v @ v_by_q + D_a @ a_by_q - tau_by_q))
        close(by_v, B.T @ (D_v @ B + D_a @ a_by_v))

        F_q, F_v, F_tau = (S.T @ F @ S for F in pin.computeABADerivatives(*at, *state, S @ B @ tau))
        if rotors.any():
            continue  # which they do not have
        slopes = dynamics.forward_derivatives(q, v, tau, passive=False)
        expected = (
            B.T @ (F_q @ B + F_v @ v_by_q + F_tau @ tau_by_q - a_by_q),
            B.T @ (F_v @ B - a_by_v),
            B.T @ F_tau @ B,
        )
        M = np.linalg.inv(expected[2])
        for measured, theirs_now in zip(slopes, expected, strict=True):
            # Rows of light links are large: in forces they count alike.
            close(M @ measured, M @ theirs_now, 1e-9)
        inverse = pin.computeMinverse(*at, theirs.q)
        inverse = np.triu(inverse) + np.triu(inverse, 1).T
        close(slopes[2], theirs.T @ inverse @ theirs.T.T, 1e-10)


MJCF = {
    "branches": """<mujoco><worldbody><body name="base" pos="0 0 1"><freejoint/>
      <geom type="box" size=".2 .1 .05" mass="3"/>
      <body name="leg" pos=".2 .1 0" euler="10 20 30"><joint name="x" axis="1 0 0" armature=".05"/>
        <joint name="y" axis="0 1 .2" pos="0 0 .02" damping=".4" stiffness="3" springref="10"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03" mass="1"/>
        <body name="foot" pos="0 0 -.3"><joint name="slide" type="slide" axis="0 .2 1"
          stiffness="40" damping="2"/><geom size=".05" mass=".2"/></body></body>
      <body name="arm" pos="-.2 0 .1"><joint name="ball" type="ball" armature=".02" damping=".1"
          stiffness="2"/><geom type="capsule" fromto="0 0 0 -.3 0 .1" size=".02" mass=".5"/>
        <body name="hand" pos="-.3 0 .1"><joint name="p" type="slide" axis="1 0 0"/>
          <joint name="r" axis="0 0 1"/><geom type="box" size=".05 .04 .02" mass=".3"/></body>
      </body></body></worldbody></mujoco>""",
    "tendons": """<mujoco><worldbody><site name="wall" pos="1 0 1"/>
      <body name="a" pos="0 0 1"><joint name="h1" axis="0 1 0" damping=".2"/>
        <geom type="capsule" fromto="0 0 0 .5 0 0" size=".05" mass="2"/>
        <site name="s" pos=".2 0 .1"/>
        <body name="b" pos=".5 0 0"><joint name="h2" axis="0 1 0" armature=".1"/>
          <geom type="capsule" fromto="0 0 0 .4 .1 0" size=".04" mass="1"/>
          <site name="t" pos=".2 .05 .08"/></body></body></worldbody>
      <tendon><fixed name="sum" stiffness="30" springlength=".1" damping=".5" armature=".1">
        <joint joint="h1" coef=".7"/><joint joint="h2" coef="-1.2"/></fixed>
      <spatial name="rope" stiffness="20" springlength=".3" damping="1"><site site="wall"/>
        <site site="s"/><site site="t"/></spatial></tendon></mujoco>""",
    "planar": """<mujoco><worldbody><body name="cart"><joint name="x" type="slide" axis="1 0 0"/>
      <joint name="z" type="slide" axis="0 0 1"/><joint name="turn" axis="0 1 0"/>
      <geom type="box" size=".2 .1 .1" mass="2"/><body name="pole" pos="0 0 .1">
      <joint name="swing" axis="0 1 0" armature=".2" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 .1 0 .6" size=".02" mass=".4"/></body></body>
      </worldbody></mujoco>""",
}


def hold_to_mujoco(robot, model):
    """Inverse and forward dynamics and mass matrix at random states."""
    import mujoco

    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    model.opt.density = model.opt.viscosity = 0.0
    weightless = model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    gravity = np.zeros(3) if weightless else model.opt.gravity
    dynamics, data = Dynamics(robot, gravity, tree=True), mujoco.MjData(model)
    rng = np.random.default_rng(4)
    for _ in range(STATES):
        q, v = random_state(robot, rng)
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, rng.normal(size=robot.nv)
        M, a = np.zeros((model.nv, model.nv)), data.qacc.copy()
        mujoco.mj_inverse(model, data)
        mujoco.mj_fullM(model, data, M)
        root = np.sqrt(np.diag(M))
        close(dynamics.mass_matrix(q) / np.outer(root, root), M / np.outer(root, root))
        close(dynamics.inverse_dynamics(q, v, a) / root, data.qfrc_inverse / root)
        moved = dynamics.forward_acceleration(q, v, data.qfrc_inverse)
        close(moved * root, a * root, 1e-8)
        yield dynamics, data, q


@pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="needs MuJoCo")
@pytest.mark.parametrize("name", MJCF)
def test_mujocos_inverse_and_mass_matrix(tmp_path: Path, name):
    """With springs, dampers, rotors, carriers of several joints, and tendons."""
    import mujoco

    path = tmp_path / "m.xml"
    path.write_text(MJCF[name])
    robot, model = robosim.load(path), mujoco.MjModel.from_xml_string(MJCF[name])
    for dynamics, data, q in hold_to_mujoco(robot, model):
        for k in range(1, model.nbody):
            J = np.zeros((6, model.nv))
            mujoco.mj_jacBody(model, data, J[:3], J[3:], k)
            close(dynamics.frame_jacobian(q, model.body(k).name), J)
            close(dynamics.frame(q, model.body(k).name)[0], data.xpos[k])


@pytest.mark.filterwarnings("ignore")  # MuJoCo's, of what is old in the files
@pytest.mark.parametrize(("package", "path"), mjcf_files.MJCF, ids=lambda v: v.rpartition("/")[2])
def test_files_of_others_beside_mujoco(package, path):
    """With springs, dampers and rotors; without the air, and what ties coordinates together."""
    folder = mjcf_files.folder_of(package)
    import mujoco

    robot = robosim.load(folder / path, ground=False, package_dirs=[folder])
    model = mujoco.MjModel.from_xml_path(str(folder / path))
    assert len(list(hold_to_mujoco(robot, model))) == STATES
