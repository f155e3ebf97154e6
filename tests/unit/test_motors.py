"""Motors: their laws in closed form, in single simulations and in batches, and what is refused."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import robosim
from robosim import (
    BatchSimulation,
    Body,
    Joint,
    Mechanism,
    MinimalSimulation,
    Simulation,
    linearize,
)
from robosim.control.periodic import Aims
from robosim.controllers import PD, PID, DCMotor, Delay, LearnedActuator, Motors, Rate
from robosim.errors import ControllerError, LoadError, ModelError, OptionError, StateError
from robosim.mechanism import with_backlash

H = 0.001
J = 0.02  # inertia of a wheel about its axis [kg m^2]
R, KT, KE, N = 0.8, 0.05, 0.06, 9.0


def wheels(n: int = 1, inertia: float = J) -> Mechanism:
    """Wheels about fixed axes, each with a motor."""
    bodies = tuple(Body(f"wheel{k}", 1.0, np.diag((0.03, 0.03, inertia))) for k in range(n))
    joints = tuple(
        Joint(f"j{k}", "revolute", None, f"wheel{k}", parent_position=(k, 0, 0)) for k in range(n)
    )
    return Mechanism("wheels", bodies, joints)


def sim_of(robot: Mechanism) -> Simulation:
    return Simulation(robot, H, gravity=(0.0, 0.0, 0.0))


def held(robot: Mechanism, speed: float) -> Simulation:
    """A simulation at a speed."""
    sim = sim_of(robot)
    sim.set_state(v=np.full(robot.nv, speed))
    return sim


# --- the law of a motor ------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [0.0, 3.0, -7.0, 40.0])
def test_the_torque_of_a_voltage_is_on_the_torque_speed_line(speed):
    motor = DCMotor(R, KT, back_emf=KE, gear_ratio=N, command="voltage")
    motors = Motors(wheels(), (24.0,), motor)
    (tau,) = motors(held(wheels(), speed))
    assert tau == pytest.approx(N * KT / R * (24.0 - KE * N * speed), rel=1e-13)
    assert motors.currents[0, 0] == pytest.approx((24.0 - KE * N * speed) / R, rel=1e-13)
    assert motors.voltages.tolist() == [[24.0]]


def test_stall_torque_and_no_load_speed():
    motor = DCMotor(R, KT, back_emf=KE, gear_ratio=N, efficiency=0.7, voltage_limit=24.0)
    assert motor.stall_torque == pytest.approx(N * KT * 24.0 / R * 0.7)
    assert motor.no_load_speed == pytest.approx(24.0 / (KE * N))
    motors = Motors(wheels(), (1e6,), motor)
    assert motors(held(wheels(), 0.0))[0] == pytest.approx(motor.stall_torque)
    motors = Motors(wheels(), (1e6,), motor)
    assert motors(held(wheels(), float(motor.no_load_speed)))[0] == pytest.approx(0, abs=1e-12)


def test_a_motor_runs_up_to_its_no_load_speed_as_an_exponential():
    """With held torques the speed is a geometric series, within the solver's tolerance."""
    robot, motor = wheels(), DCMotor(R, KT, gear_ratio=N, voltage_limit=12.0, command="voltage")
    log = sim_of(robot).run(0.3, Motors(robot, (12.0,), motor))
    rate = N**2 * KT**2 / (R * J)
    final = float(motor.no_load_speed)
    shares = log.v[:, 0] / final
    steps = np.arange(len(shares))
    ratio = (1 - shares[2:]) / (1 - shares[1:-1])
    assert ratio == pytest.approx(np.full(len(ratio), ratio[0]), rel=1e-5)
    assert -np.log(ratio[0]) / H == pytest.approx(rate, rel=rate * H)
    assert shares[-1] == pytest.approx(1 - np.exp(-rate * H * steps[-1]), rel=1e-2)


@pytest.mark.parametrize("inductance", [0.0, 2e-3])
def test_a_torque_is_set_at_once_within_the_limits(inductance):
    robot = wheels()
    motor = DCMotor(R, KT, gear_ratio=N, current_limit=10.0, inductance=inductance)
    sim, motors = sim_of(robot), Motors(robot, (2.0,), motor)
    motors(sim)
    assert motors.currents[0, 0] == pytest.approx(2.0 / (N * KT), rel=1e-12)
    motors = Motors(robot, (-100.0,), motor)
    motors(sim)
    assert motors.currents[0, 0] == pytest.approx(-10.0, rel=1e-12)


def test_the_supply_limits_torques_where_the_back_emf_is_high():
    motor = DCMotor(R, KT, gear_ratio=N, voltage_limit=24.0, current_limit=20.0)
    speed = 45.0
    motors = Motors(wheels(), (100.0,), motor)
    assert motors(held(wheels(), speed))[0] == pytest.approx(N * KT / R * (24 - KT * N * speed))
    # Driven beyond its no-load speed, it brakes whatever the drive does.
    fast = 2 * float(motor.no_load_speed)
    motors = Motors(wheels(), (100.0,), motor)
    assert motors(held(wheels(), fast))[0] == pytest.approx(-N * KT / R * 24.0)


@pytest.mark.parametrize(("torque", "share"), [(2.0, 0.6), (-2.0, 1 / 0.5)])
def test_losses_of_gears_brake_in_both_directions_of_power(torque, share):
    motor = DCMotor(R, KT, gear_ratio=N, efficiency=0.6, back_efficiency=0.5)
    motors = Motors(wheels(), (torque,), motor)
    assert motors(held(wheels(), 5.0))[0] == pytest.approx(torque * share)


def test_the_current_is_that_of_the_differential_equation():
    """At rest: i = V / R (1 - exp(-t R / L)), at every knot, and the torque its mean."""
    inductance, volts = 4e-3, 12.0
    robot, decay = wheels(inertia=1e9), R / inductance
    motors = Motors(robot, (volts,), DCMotor(R, KT, inductance=inductance, command="voltage"))
    sim, found, torques = sim_of(robot), [0.0], []
    for _ in range(20):
        torques.append(motors(sim)[0])
        sim.step(torques[-1:])
        found.append(motors.currents[0, 0])
    t = H * np.arange(21)
    assert found == pytest.approx(volts / R * (1 - np.exp(-decay * t)), rel=1e-9)
    charge = volts / R * (t - (1 - np.exp(-decay * t)) / decay)
    assert torques == pytest.approx(KT * np.diff(charge) / H, rel=1e-9)


def thermal(**more) -> DCMotor:
    values = {"thermal_resistance": 3.0, "thermal_capacity": 0.05, "ambient": 20.0}
    return DCMotor(R, KT, **(values | more))


@pytest.mark.parametrize("inductance", [0.0, 2e-3])
def test_the_resistance_grows_with_the_temperature(inductance):
    """Heat and losses of heat balance in the end, at the resistance that the winding then has."""
    robot, volts, growth = wheels(inertia=1e9), 6.0, 0.0039
    motor = thermal(command="voltage", inductance=inductance, temperature_coefficient=growth,
                    reference_temperature=30.0)  # fmt: skip
    motors = Motors(robot, (volts,), motor)
    sim_of(robot).run(4.0, motors)
    (warm,), (current,) = motors.temperatures[0], motors.currents[0]
    resistance = R * (1 + growth * (warm - 30.0))
    assert current == pytest.approx(volts / resistance, rel=1e-9)
    assert warm - 20.0 == pytest.approx(3.0 * resistance * current**2, rel=1e-9)
    assert warm > 60.0
    # The first step is one at the ambient temperature.
    motors = Motors(robot, (volts,), motor)
    motors(sim_of(robot))
    cold, x = R * (1 - 10 * growth), H * R * (1 - 10 * growth) / (inductance or 1e-9)
    assert motors.currents[0, 0] == pytest.approx(volts / cold * (1 - np.exp(-x)), rel=1e-12)


def test_a_limit_of_the_temperature_holds_where_the_resistance_grows():
    robot = wheels(inertia=1e9)
    motor = thermal(temperature_coefficient=0.0039, temperature_limit=70.0)
    motors, sim, hottest = Motors(robot, (5.0,), motor), sim_of(robot), []
    for _ in range(2000):
        sim.step(motors(sim))
        hottest.append(motors.temperatures[0, 0])
    assert max(hottest) <= 70.0 + 1e-9
    assert hottest[-1] == pytest.approx(70.0, abs=1e-9)


def test_the_winding_warms_up_exponentially():
    robot, current = wheels(inertia=1e9), 4.0
    motors = Motors(robot, (KT * current,), thermal())
    assert motors.temperatures.tolist() == [[20.0]]
    sim, found = sim_of(robot), []
    for _ in range(200):
        sim.step(motors(sim))
        found.append(motors.temperatures[0, 0])
    t = H * np.arange(1, 201)
    warm = 20.0 + 3.0 * R * current**2 * (1 - np.exp(-t / (3.0 * 0.05)))
    assert found == pytest.approx(warm, rel=1e-9)


@pytest.mark.parametrize("inductance", [0.0, 5e-4])
def test_the_heat_is_that_of_the_square_of_the_current(inductance):
    """By a quadrature of the transient, with a capacity that keeps all of the heat."""
    robot, volts = wheels(inertia=1e9), 6.0
    motor = thermal(
        thermal_resistance=1e9, command="voltage", inductance=inductance, thermal_capacity=2.0
    )
    motors, sim = Motors(robot, (volts,), motor), sim_of(wheels(inertia=1e9))
    for _ in range(3):
        sim.step(motors(sim))
    t = (np.arange(300000) + 0.5) * 1e-8
    left = np.exp(-t * R / inductance) if inductance else np.zeros(len(t))
    heat = np.sum(R * (volts / R * (1 - left)) ** 2) * 1e-8
    assert motors.temperatures[0, 0] - 20.0 == pytest.approx(heat / 2.0, rel=1e-7)


def test_the_current_falls_to_what_the_temperature_allows():
    robot = wheels(inertia=1e9)
    motors = Motors(robot, (KT * 30.0,), thermal(temperature_limit=100.0))
    sim = sim_of(robot)
    for _ in range(300):
        sim.step(motors(sim))
        assert motors.temperatures[0, 0] <= 100.0 + 1e-9
    assert motors.temperatures[0, 0] == pytest.approx(100.0, abs=1e-9)
    assert motors.currents[0, 0] == pytest.approx(np.sqrt(80.0 / (3.0 * R)))


def test_an_inductance_keeps_the_current_above_the_limit_for_a_moment():
    robot = wheels(inertia=1e9)
    motors = Motors(robot, (KT * 30.0,), thermal(temperature_limit=100.0, inductance=2e-3))
    sim, found = sim_of(robot), []
    for _ in range(300):
        sim.step(motors(sim))
        found.append(motors.temperatures[0, 0])
    assert 100.0 < max(found) < 20.0 + 80.0 + R * 30.0**2 * H / 0.05  # less than a step of all
    assert found[-1] == pytest.approx(100.0, abs=1e-9)


# --- PID ----------------------------------------------------------------------------------------


def test_a_pid_removes_the_error_that_a_pd_leaves():
    robot = wheels()
    load = 0.5
    pid = PID(0.3, 20.0, 60.0, 1.2, limit=10.0)
    motors = Motors(robot, pid)
    sim = sim_of(robot)
    for _ in range(3000):
        sim.step(motors(sim) - load)
    assert sim.q[0] == pytest.approx(0.3, abs=1e-5)  # a PD is off by 0.025
    assert motors.integrals[0, 0] == pytest.approx(load, abs=1e-4)


def test_the_integral_of_a_constant_error_is_a_ramp():
    robot = wheels(inertia=1e12)
    motors, sim = Motors(robot, PID(0.5, 2.0, 3.0, 0.0)), sim_of(robot)
    torques = []
    for _ in range(50):
        torques.append(motors(sim)[0])
        sim.step()
    assert torques == pytest.approx(1.0 + 1.5 * H * np.arange(50), rel=1e-9)


@pytest.mark.parametrize("anti_windup", ["clamping", "back-calculation"])
def test_a_saturated_integral_does_not_wind_up(anti_windup):
    """A joint that is held away from its target, and then let go."""
    robot = wheels(inertia=1e12)
    pid = PID(1.0, 2.0, 50.0, 0.0, limit=3.0, anti_windup=anti_windup)
    motors, sim = Motors(robot, pid), sim_of(robot)
    for _ in range(2000):
        sim.step(motors(sim))
    # Without a treatment it would be 100. Back-calculation balances 50 = (asked - 3) / 0.04.
    wanted = 1.0 if anti_windup == "clamping" else 50.0 * 0.04 + 3.0 - 2.0
    assert motors.integrals[0, 0] == pytest.approx(wanted, abs=0.06)
    pid.target = -1.0
    for _ in range(150):
        sim.step(motors(sim))
    assert motors(sim)[0] < 0.0


def test_targets_may_be_functions_of_time_and_values_of_states():
    robot = wheels(2, inertia=1e12)
    batch = BatchSimulation(robot, 3, H, gravity=(0, 0, 0))
    rows = np.arange(6.0).reshape(3, 2)
    batch.rollout(1, controller=(motors := Motors(robot, PID(rows, 2.0, 0.0, 0.0))))
    assert motors.aims.torques == pytest.approx(2.0 * rows)
    moving = PID(lambda t: np.stack((t, 2 * t), axis=1), 2.0, 0.0, 0.0)
    batch.rollout(3, controller=(motors := Motors(robot, moving)))
    assert motors.aims.torques[0] == pytest.approx((2 * 3 * H, 4 * 3 * H))


# --- delays and rates --------------------------------------------------------------------------


def ramp(time, q, v):
    return np.repeat(time[:, None], 2, axis=1) + 1.0


def commands(*stages, steps=12) -> list[float]:
    robot = wheels(2)
    return sim_of(robot).run(steps * H, Motors(robot, ramp, *stages)).tau[:steps, 0].tolist()


def test_a_delay_shifts_commands_by_its_steps():
    plain = commands()
    assert commands(Delay(0.003)) == pytest.approx([0.0] * 3 + plain[:-3])
    assert commands(Delay(0.003, initial=0.5)) == pytest.approx([0.5] * 3 + plain[:-3])
    assert commands(Delay(0.003, initial=None)) == pytest.approx([plain[0]] * 3 + plain[:-3])
    assert commands(Delay(0.0)) == plain


def test_a_rate_holds_commands_and_what_precedes_acts_at_it():
    plain = commands()
    assert commands(Rate(250.0)) == [plain[k - k % 4] for k in range(12)]
    assert commands(Delay(0.004), Rate(250.0)) == [0.0] * 4 + [plain[k - k % 4] for k in range(8)]
    assert commands(Rate(250.0), Delay(0.001)) == [0.0] + [plain[k - k % 4] for k in range(11)]


def test_the_integral_of_a_held_law_advances_by_its_period():
    robot = wheels(inertia=1e12)
    motors, sim = Motors(robot, PID(0.5, 0.0, 3.0, 0.0), Rate(100.0)), sim_of(robot)
    for _ in range(40):
        sim.step(motors(sim))
    assert motors.integrals[0, 0] == pytest.approx(4 * 0.01 * 3.0 * 0.5)


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        (Delay(0.0004), "a Delay of 0.0004 s is shorter than one of the time steps of 0.001 s"),
        (Delay(0.0025), "a Delay of 0.0025 s is no whole number of the time steps of 0.001 s"),
        (Rate(3000.0), r"period of Rate\(3000\) of 0.000333333 s is shorter than one"),
        (Rate(300.0), r"period of Rate\(300\) of 0.00333333 s is no whole number"),
    ],
)
def test_times_between_steps_are_refused(stage, told):
    robot = wheels(2)
    with pytest.raises(ControllerError, match=told):
        sim_of(robot).run(0.01, Motors(robot, ramp, stage))


# --- runs, divided runs, batches ---------------------------------------------------------------


def all_of(robot: Mechanism) -> Motors:
    pid = PID(lambda t: np.stack((np.sin(9 * t), 0.4 + 0 * t), 1), (40.0, 30.0), 25.0, 1.0, 6.0)
    motor = thermal(gear_ratio=(5.0, 7.0), efficiency=0.9, inductance=1e-3, voltage_limit=20.0)
    return Motors(robot, pid, Rate(500.0), Delay(0.003), motor)


def learned(inputs):
    """A network of one hidden layer, whose digits depend on the order of sums."""
    weights = np.sin(np.arange(6 * 8).reshape(6, 8))
    return np.tanh(inputs @ weights) @ np.cos(np.arange(8.0))


def learning(robot: Mechanism) -> Motors:
    actuator = LearnedActuator(learned, lags=(0.0, 0.002, 0.004), velocity_scale=0.1, limit=3.0)
    return Motors(robot, (0.5, -0.3), actuator)


def held_by_pd(robot: Mechanism) -> Motors:
    return Motors(robot, PD(robot, (0.3, -0.2), 20.0, 1.0), DCMotor(R, KT, gear_ratio=N))


@pytest.mark.parametrize("make", [all_of, learning, held_by_pd])
def test_batches_are_bit_for_bit_single_simulations(make):
    robot = robosim.load("double_pendulum")
    rng = np.random.default_rng(3)
    q, v = rng.normal(size=(2, 5, 2))
    batch = BatchSimulation(robot, 5, H, lanes=False)
    batch.set_state(q, v)
    motors = make(robot)
    rollout = batch.rollout(40, controller=motors)
    for i in range(5):
        sim, alone = Simulation(robot, H), make(robot)
        sim.set_state(q[i], v[i])
        log = sim.run(40 * H, alone)
        assert np.array_equal(rollout.tau[i], log.tau[:40])
        assert np.array_equal(rollout.q[i, :40], log.q[:40])
        assert np.array_equal(batch.q[i], sim.q)
        if make is all_of:
            for what in ("currents", "temperatures", "voltages", "integrals"):
                assert np.array_equal(getattr(motors, what)[i], getattr(alone, what)[0])


@pytest.mark.parametrize("make", [all_of, learning])
def test_divided_runs_are_the_same(make):
    robot = robosim.load("double_pendulum")
    whole, parts = Simulation(robot, H), Simulation(robot, H)
    whole.run(0.03, make(robot))
    motors = make(robot)
    for seconds in (0.007, 0.003, 0.02):
        parts.run(seconds, motors)
    assert np.array_equal(whole.q, parts.q)
    assert np.array_equal(whole.v, parts.v)
    batch = BatchSimulation(robot, 2, H, lanes=False)
    motors = make(robot)
    for steps in (7, 3, 20):
        batch.rollout(steps, controller=motors)
    assert np.array_equal(batch.q[1], whole.q)


def test_single_steps_are_those_of_a_run():
    robot = robosim.load("double_pendulum")
    run, steps = Simulation(robot, H), Simulation(robot, H)
    run.run(0.02, all_of(robot))
    motors = all_of(robot)
    for _ in range(20):
        assert np.array_equal(motors(steps), motors(steps))  # a look does not advance
        steps.step(motors(steps))
    assert np.array_equal(run.q, steps.q)


def test_the_memory_begins_anew_where_time_goes_back():
    robot = robosim.load("double_pendulum")
    sim, motors = Simulation(robot, H), all_of(robot)
    first = sim.run(0.02, motors).tau
    sim.set_state(robot.home)
    assert np.array_equal(sim.run(0.02, motors).tau, first)
    assert np.array_equal(Simulation(robot, H).run(0.02, motors).tau, first)
    assert np.array_equal(Simulation(robot, H).run(0.02, motors.copy()).tau, first)
    assert motors.integrals.any()
    motors.reset()
    assert not motors.integrals.any()
    assert (motors.temperatures == 20.0).all()


def test_a_state_that_is_set_anew_after_one_step_begins_anew():
    """Its time is that at which the motors acted last, and its memory is of another run."""
    robot = robosim.load("double_pendulum")
    sim, motors = Simulation(robot, H), Motors(robot, (2.0, 1.0), Delay(H, (0.5, 0.5)))
    assert sim.run(H, motors).tau[0].tolist() == [0.5, 0.5]
    sim.set_state(np.array((0.3, 0.1)))
    assert sim.run(2 * H, motors).tau[:2].tolist() == [[0.5, 0.5], [2.0, 1.0]]
    batch = BatchSimulation(robot, 2, H, lanes=False)
    for _ in range(2):
        tau = batch.rollout(1, controller=motors).tau
        assert tau.tolist() == [[[0.5, 0.5]], [[0.5, 0.5]]]
        batch.set_state(np.array((0.3, 0.1)))


def test_the_same_instant_asks_once():
    robot, calls = wheels(), []
    sim = sim_of(robot)

    def law(time, q, v):
        calls.append(time[0])
        return 1.0

    motors = Motors(robot, law)
    assert motors(sim) == motors(sim)
    assert calls == [0.0]


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_pickles_and_copies_are_other_motors(copied):
    robot = robosim.load("double_pendulum")
    motors = Motors(robot, PID(0.5, 30, 20, 1), Rate(500), Delay(2 * H), thermal())
    tau = Simulation(robot, H).run(0.02, motors).tau
    assert motors.integrals.any()
    other = copied(motors)
    assert not other.integrals.any()
    assert np.array_equal(Simulation(robot, H).run(0.02, other).tau, tau)


def test_one_state_of_a_batch_begins_anew_alone():
    robot = robosim.load("double_pendulum")
    batch, motors = BatchSimulation(robot, 2, H, lanes=False), all_of(robot)
    begin = batch[0].copy()
    batch.rollout(11, controller=motors)
    batch.restore(begin, index=0)
    batch.rollout(9, controller=motors)
    sims = [Simulation(robot, H) for _ in range(2)]
    for sim, steps in zip(sims, (9, 20), strict=True):
        sim.run(steps * H, all_of(robot))
    assert np.array_equal(batch.q, [sim.q for sim in sims])


@pytest.mark.parametrize("lanes", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_a_rollout_has_samples_and_ends_of_states(lanes):
    """Samples are those of single runs, and a state that fails has nan after its last step."""
    robot = robosim.load("double_pendulum")
    batch = BatchSimulation(robot, 9, H, lanes=lanes)
    q = np.random.default_rng(0).uniform(-0.5, 0.5, (9, 2))
    v = np.zeros((9, 2))
    v[3] = 1e9
    batch.set_state(q, v)
    extra = np.linspace(-1, 1, 18).reshape(9, 2)
    rollout = batch.rollout(10, extra, controller=all_of(robot), every=3)
    assert rollout.failed.tolist() == [k == 3 for k in range(9)]
    assert rollout.done.tolist() == [0 if k == 3 else 10 for k in range(9)]
    assert np.isnan(rollout.q[3, 1:]).all()
    assert np.isnan(rollout.gap[3]).all()
    assert not rollout.iterations[3].any()
    for i in (0, 8):
        sim, motors = Simulation(robot, H), all_of(robot)
        sim.set_state(q[i])
        log = sim.run(10 * H, lambda sim, i=i, motors=motors: motors(sim) + extra[i])
        close = {"rtol": 0, "atol": 1e-9 if lanes else 0}
        np.testing.assert_allclose(rollout.q[i, :4], log.q[:10:3], **close)
        np.testing.assert_allclose(
            rollout.v[i, :4], log.v[:10:3], **{**close, "atol": 1e-6 * lanes}
        )
        np.testing.assert_allclose(
            rollout.tau[i], log.tau[:10:3], **{**close, "atol": 1e-6 * lanes}
        )
        assert rollout.t[i] == pytest.approx([0, 3 * H, 6 * H, 9 * H, 10 * H])
        assert np.array_equal(rollout.q[i, 4], sim.q) or lanes


# --- learned actuators -------------------------------------------------------------------------


def test_the_history_is_that_of_errors_and_speeds():
    robot, seen = wheels(2), []

    def network(inputs):
        seen.append(inputs.copy())
        return np.zeros(2)

    for order in ("positions first", "velocities first"):
        seen.clear()
        actuator = LearnedActuator(
            network, lags=(0.0, 0.003), position_scale=2.0, velocity_scale=0.5, order=order
        )
        sim = sim_of(robot)
        sim.set_state((0.1, 0.2), (3.0, -1.0))
        sim.run(6 * H, Motors(robot, (1.0, 0.0), actuator))
        t = H * np.array((5.0, 2.0))
        errors = 2.0 * np.array((0.9 - 3.0 * t, -0.2 + t))
        speeds = 0.5 * np.array(((3.0, 3.0), (-1.0, -1.0)))
        halves = (errors, speeds) if order == "positions first" else (speeds, errors)
        assert seen[5] == pytest.approx(np.hstack(halves), abs=1e-9)
        first = (1.8, 1.8, 1.5, 1.5) if order == "positions first" else (1.5, 1.5, 1.8, 1.8)
        assert seen[0][0] == pytest.approx(first)


def test_a_network_in_a_file_is_a_learned_actuator(tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper, numpy_helper

    def linear(row):
        weights = numpy_helper.from_array(np.array([row], dtype=np.float32), "W")
        node = helper.make_node("Gemm", ["obs", "W"], ["torque"], transB=1)
        info = helper.make_tensor_value_info
        ends = info("obs", TensorProto.FLOAT, ["n", len(row)]), info("torque", 1, ["n", 1])
        graph = helper.make_graph([node], "g", ends[:1], ends[1:], [weights])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, tmp_path / "net.onnx")
        return tmp_path / "net.onnx"

    robot = wheels(2)
    actuator = LearnedActuator(linear([8.0, 0.0, -0.5, 0.0]), lags=(0.0, 0.001), torque_scale=2.0)
    sim = sim_of(robot)
    sim.set_state((0.25, 0.5), (1.0, 2.0))
    motors = Motors(robot, (1.0, 1.0), actuator)
    found = motors(sim)
    assert pickle.loads(pickle.dumps(motors))(sim).tolist() == found.tolist()
    assert found == pytest.approx((2 * (8 * 0.75 - 0.5), 2 * (8 * 0.5 - 1.0)))
    with pytest.raises(LoadError, match=r"takes 4 inputs, and a LearnedActuator with 3 lags has 6"):
        LearnedActuator(linear([8.0, 0.0, -0.5, 0.0]))


def test_a_network_of_another_shape_is_refused():
    robot = wheels(2)
    for network in (lambda inputs: np.zeros(3), lambda inputs: inputs):
        with pytest.raises(ControllerError, match=r"gave shape .* for 2 joints with 6 inputs"):
            sim_of(robot).run(0.01, Motors(robot, 0.0, LearnedActuator(network)))
    nan = Motors(robot, 0.0, LearnedActuator(lambda inputs: np.array((0.0, np.nan))))
    with pytest.raises(ControllerError, match=r"Motors gave nan for 'j1' at t = 0 s"):
        sim_of(robot).run(0.01, nan)
    with pytest.raises(ControllerError, match="gave 'x', which is not torques"):
        sim_of(robot).run(0.01, Motors(robot, 0.0, LearnedActuator(lambda inputs: "x")))


# --- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: DCMotor(0.0, KT), "resistance of a DCMotor must be a number above 0"),
        (lambda: DCMotor(R, np.nan), "torque_constant of a DCMotor must be a number above 0"),
        (lambda: DCMotor(R, KT, efficiency=1.2), "efficiency of a DCMotor must not be above 1"),
        (lambda: DCMotor(R, KT, inductance=-1), "inductance of a DCMotor .* of 0 or more"),
        (lambda: DCMotor(R, KT, current_limit="x"), "current_limit of a DCMotor"),
        (lambda: DCMotor(R, KT, thermal_capacity=1.0), "both a thermal_resistance and"),
        (lambda: DCMotor(R, KT, temperature_limit=90.0), "temperature_limit .* needs"),
        (lambda: DCMotor(R, KT, temperature_coefficient=0.004), "temperature_coefficient .* needs"),
        (lambda: thermal(temperature_coefficient=0.2), "no resistance at its ambient temperature"),
        (lambda: thermal(temperature_limit=10.0), "must be above its ambient"),
        (lambda: DCMotor(R, KT, command="speed"), "command must be one of voltage, torque"),
        (lambda: DCMotor(R, KT, gear_ratio=np.inf), "gear_ratio of a DCMotor must be finite"),
        (lambda: PID(0, -1.0, 0, 0), "kp of a PID must be a number of 0 or more"),
        (lambda: PID(0, 1.0, 0, 0, anti_windup="none"), "anti_windup must be one of clamping"),
        (lambda: PID(0, 1.0, 0, 0, tracking_time=1.0), "tracking_time of a PID is of"),
        (lambda: PID(0, 0, 1, 0, anti_windup="back-calculation"), "needs a tracking_time"),
        (lambda: Delay(-1.0), "the seconds of a Delay must be a number of 0 or more"),
        (lambda: Delay((1.0, 2.0)), "the seconds of a Delay must be one number"),
        (lambda: Rate(0.0), "the hertz of a Rate must be a number above 0"),
        (lambda: LearnedActuator(learned, lags=()), "lags of a LearnedActuator must be one or"),
        (lambda: LearnedActuator(learned, position_scale=np.nan), "position_scale of a Learned"),
        (lambda: LearnedActuator(learned, order="mixed"), "order must be one of positions first"),
        (lambda: LearnedActuator(learned, torque_scale="x"), "torque_scale of a Learned"),
        (lambda: LearnedActuator(3), "network of a LearnedActuator must be a path or callable"),
        (lambda: DCMotor(R, KT, voltage_limit=True), "voltage_limit of a DCMotor .* not True"),
        (lambda: DCMotor("2", KT), "resistance of a DCMotor must be a number above 0"),
    ],
)
def test_values_out_of_range_are_refused_by_name(make, told):
    with pytest.raises(OptionError, match=told):
        make()


def test_a_reset_of_rows_needs_one_for_each_state():
    motors = Motors(wheels(), PID(0.5, 1.0, 1.0, 0.0))
    motors.reset(np.array([True]))  # before any run, there is nothing to reset
    sim_of(wheels()).run(5 * H, motors)
    with pytest.raises(ControllerError, match="rows of a reset must be 1 truth values"):
        motors.reset(np.array([True, False]))
    assert motors.integrals.all()
    motors.reset([True])
    assert not motors.integrals.any()


def test_a_robot_with_motors_elsewhere_is_refused():
    """As that with a play, whose coordinates behind it are the next ones."""
    arm = wheels(2)
    arm = replace(arm, joints=[replace(joint, armature=0.1) for joint in arm.joints])
    slack = with_backlash(arm, {"j0": 0.1})
    motors = Motors(arm, (1.0, 2.0))
    for other in (slack, wheels(1), wheels(3)):
        with pytest.raises(ControllerError, match="'wheels' do not fit the actuated coordinates"):
            sim_of(other).run(5 * H, motors)
    assert sim_of(wheels(2)).run(5 * H, motors).tau[0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("implicit", [False, True])
def test_a_pd_with_motors_elsewhere_is_refused(implicit):
    """Everywhere, also with as many of them: the second joint is not the second motor here."""
    arm = wheels(2)
    arm = replace(arm, joints=[replace(joint, armature=0.1) for joint in arm.joints])
    slack = with_backlash(arm, {"j0": 0.1})
    pd = PD(arm, (1.0, 2.0), 1.0, 1.0, implicit=implicit)
    sim, batch = sim_of(slack), BatchSimulation(slack, 2, H, gravity=(0, 0, 0))
    told = f"for another robot: .* than those of '{slack.name}'"
    for attempt in (
        partial(sim.run, 5 * H, pd),
        partial(sim.run, 5 * H, lambda sim: pd),
        partial(MinimalSimulation(slack, H, ignore=("limits",)).run, 5 * H, pd),
        partial(batch.rollout, 3, controller=pd),
        partial(batch.rollout, 3, controller=[pd, pd]),
        partial(linearize, sim_of(slack), controller=pd),
        partial(Motors, slack, pd),
    ):
        with pytest.raises(ControllerError, match=told):
            attempt()
    assert sim.steps == 0
    assert len(sim_of(wheels(2)).run(5 * H, pd).t) == 5


@pytest.mark.parametrize(
    ("law", "stages", "told"),
    [
        (0.0, ("motor",), "stages of Motors are Delay, Rate, DCMotor and LearnedActuator"),
        (0.0, (DCMotor(R, KT), Delay(H)), "DCMotor must be the last stage of Motors, not before D"),
        (0.0, (Rate(10), Rate(10)), "one Rate, not several"),
        (PID(0, 1, 0, 0), (LearnedActuator(learned),), "a PID gives torques"),
        ("stand", (), "the law of Motors must be a PID, a PD, a policy"),
        (0.0, (DCMotor((1, 2, 3), KT),), "resistance of a DCMotor has 3 numbers, and .*: j0, j1"),
        (PID(0, (1, 2, 3), 0, 0), (), "kp of a PID has 3 numbers"),
        (0.0, (Delay(H, (1, 2, 3)),), "initial of a Delay has 3 numbers"),
    ],
)
def test_chains_that_do_not_fit_are_refused(law, stages, told):
    with pytest.raises(ControllerError, match=told):
        Motors(wheels(2), law, *stages)


def test_commands_that_do_not_fit_are_refused():
    robot = wheels(2)
    for law, told in (
        ((1.0, 2.0, 3.0), r"commands of Motors must be a number, or of shape \(2,\) or \(1, 2\)"),
        ((1.0, np.nan), "commands of Motors must be finite"),
        (lambda t, q, v: "x", "commands of Motors must be numbers"),
        (PID((1.0, 2.0, 3.0), 1, 0, 0), "target of a PID must be a number, or of shape"),
    ):
        with pytest.raises(ControllerError, match=told):
            Motors(robot, law)(sim_of(robot))
    with pytest.raises(ControllerError, match="Motors without a DCMotor have no currents"):
        _ = Motors(robot, 0.0).currents
    with pytest.raises(ControllerError, match="temperatures with a thermal_resistance"):
        _ = Motors(robot, 0.0, DCMotor(R, KT)).temperatures
    with pytest.raises(ControllerError, match="a PD in Motors must be explicit"):
        Motors(robot, PD(robot, 0.0, 1.0, 1.0, implicit=True))
    slow = Motors(robot, PID(0, 1, 20, 0, anti_windup="back-calculation"), Rate(10.0))
    with pytest.raises(ControllerError, match=r"tracking_time of a PID must be 0\.1 s or more"):
        slow(sim_of(robot))
    with pytest.raises(ControllerError, match="'cube' has no actuated coordinate"):
        Motors(robosim.load("cube"), 0.0)


def test_a_policy_moves_the_joints_through_motors():
    """Its targets, or the torques of its PD, are the commands."""
    from robosim.control.periodic import Aims

    robot = wheels(2)

    class Stepwise:
        needs_forces = False

        def __init__(self):
            self.aims = Aims(*np.zeros((3, 1, 2)))
            self.last = -np.inf

        def pd(self, timestep):
            return PD(robot, 0.0, 10.0, 0.0)

        def steps(self, timestep):
            return 4

        def serve(self, sim, n, timestep):
            self.last = -np.inf

        def due(self, time):
            return time >= self.last + 0.004 - 1e-9

        def act(self, time, q, v, forces, due):
            self.last = time[0]
            self.aims.targets[:] = time[0] + 1.0
            return self.aims

    heavy = wheels(2, inertia=1e12)
    tau = sim_of(heavy).run(8 * H, Motors(heavy, Stepwise())).tau[:, 0]
    assert tau[:8] == pytest.approx([10.0] * 4 + [10.04] * 4, abs=1e-9)
    same = LearnedActuator(lambda inputs: inputs[:, 0], lags=(0.0,))
    tau = sim_of(heavy).run(8 * H, Motors(heavy, Stepwise(), same)).tau[:, 0]
    assert tau[:8] == pytest.approx([1.0] * 4 + [1.004] * 4, abs=1e-9)


# --- memory in checkpoints and logs ---------------------------------------------------------------


HOT = {"thermal_resistance": 3.0, "thermal_capacity": 2.0, "temperature_limit": 60.0}
WARM = DCMotor(R, KT, inductance=2e-3, voltage_limit=24.0, **HOT)
CHAINS = {
    "a motor": lambda robot: Motors(robot, PID(1.0, 9.0, 40.0, 0.1, 3.0), WARM),
    "all stages": lambda robot: Motors(
        robot, PID(lambda t: np.sin(9 * t)[:, None] * np.ones((1, 2)), 9.0, 40.0, 0.1, 3.0),
        Delay(4 * H), Rate(0.5 / H), Delay(3 * H), WARM,
    ),
    "a network": lambda robot: Motors(
        robot, (0.3, -0.2), Delay(2 * H), LearnedActuator(learned, lags=(0.0, 2 * H, 5 * H))
    ),
}  # fmt: skip


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("steps", [0, 1, 7, 20])
def test_a_run_continues_from_a_checkpoint_bit_for_bit(tmp_path, chain, steps):
    robot = wheels(2)
    motors, sim = CHAINS[chain](robot), sim_of(robot)
    sim.set_state(v=(2.0, -1.0))
    if steps:
        sim.run(steps * H, motors)
    sim.save(tmp_path / "sim.npz", motors)
    beside, kept = sim.copy(), motors.memory()
    expected = sim.run(30 * H, motors)
    assert np.ptp(expected.tau) > 1e-3

    again, other = sim_of(robot), CHAINS[chain](robot)
    again.load(tmp_path / "sim.npz", other)
    found = again.run(30 * H, other)
    for name in ("t", "q", "v", "tau"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    # The same in one process, also by the same motors again.
    motors.recall(beside, kept)
    assert np.array_equal(beside.run(30 * H, motors).tau, expected.tau)
    for name, array in other.memory().items():
        assert np.array_equal(array, motors.memory()[name])
    # Without the memory, motors begin anew.
    if steps > 1:
        bare, anew = sim_of(robot), CHAINS[chain](robot)
        bare.load(tmp_path / "sim.npz")
        assert not np.array_equal(bare.run(30 * H, anew).tau, expected.tau)


def test_a_memory_of_other_motors_is_refused(tmp_path):
    robot = wheels(2)
    motors, sim = CHAINS["all stages"](robot), sim_of(robot)
    sim.run(5 * H, motors)
    sim.save(tmp_path / "sim.npz", motors)
    other = CHAINS["a motor"](robot)
    with pytest.raises(ControllerError, match="is not of these Motors for 1 states: 'stage 0 cur"):
        sim_of(robot).load(tmp_path / "sim.npz", other)
    assert not other.currents.any()
    with pytest.raises(ControllerError, match="do not fit the actuated coordinates"):
        other.recall(sim_of(wheels(3)), motors.memory())
    batch = BatchSimulation(robot, 3, H, gravity=(0.0, 0.0, 0.0))
    with pytest.raises(ControllerError, match="for 3 states"):
        motors.recall(batch, motors.memory())


def test_a_checkpoint_without_a_memory_is_refused(tmp_path):
    robot = wheels(2)
    motors, sim = CHAINS["a motor"](robot), sim_of(robot)
    sim.run(5 * H, motors)
    sim.save(tmp_path / "sim.npz")
    other = sim_of(robot)
    with pytest.raises(StateError, match="has no memory of a controller"):
        other.load(tmp_path / "sim.npz", motors)
    assert other.steps == 0
    pd = PD(robot, 0.0, 1.0, 1.0)
    for attempt in (sim.save, sim.load):
        with pytest.raises(ControllerError, match="Motors and a Drive have a memory"):
            attempt(tmp_path / "sim.npz", pd)


def test_a_policy_in_motors_keeps_its_memory_for_itself(tmp_path):
    class Policy:
        needs_forces, aims = False, None

        def pd(self, timestep):
            return PD(wheels(1), 0.0, 1.0, 1.0)

        def steps(self, timestep):
            return 1

        def serve(self, sim, n, timestep):
            self.aims = Aims(*np.zeros((3, n, 1)))

        def due(self, time):
            return np.ones(len(time), dtype=bool)

        def act(self, time, q, v, forces, due):
            return self.aims

    robot = wheels(1)
    motors, sim = Motors(robot, Policy()), sim_of(robot)
    sim.run(3 * H, motors)
    with pytest.raises(ControllerError, match=r"the memory of .*Policy.* cannot be kept"):
        sim.save(tmp_path / "sim.npz", motors)


def test_a_batch_continues_from_a_memory():
    robot = wheels(2)
    batch = BatchSimulation(robot, 3, H, gravity=(0.0, 0.0, 0.0))
    motors = CHAINS["all stages"](robot)
    batch.rollout(9, controller=motors)
    kept, starts = motors.memory(), [batch[i].copy() for i in range(3)]
    expected = batch.rollout(20, controller=motors)
    for i, start in enumerate(starts):
        batch.restore(start, index=i)
    motors.recall(batch, kept)
    assert np.array_equal(batch.rollout(20, controller=motors).tau, expected.tau)


def test_logs_have_currents_voltages_and_temperatures():
    robot = wheels(2)
    motors, sim = CHAINS["a motor"](robot), sim_of(robot)
    log = sim.run(40 * H, motors, also=("motors", "frame:wheel1"))
    plain = sim_of(robot).run(40 * H, CHAINS["a motor"](robot))
    assert np.array_equal(log.tau, plain.tau)
    units = {name: log.info.units[f"j1.{name}"] for name in ("current", "voltage", "temperature")}
    assert units == {"current": "A", "voltage": "V", "temperature": "deg C"}
    # What the motors say after so many steps is in the row of that time.
    other, again = CHAINS["a motor"](robot), sim_of(robot)
    again.run(25 * H, other)
    for k, joint in enumerate(robot.actuated_names):
        assert log.column(f"{joint}.current")[0] == 0.0
        assert log.column(f"{joint}.temperature")[0] == 25.0
        assert log.column(f"{joint}.current")[25] == other.currents[0, k] != 0.0
        assert log.column(f"{joint}.voltage")[25] == other.voltages[0, k]
        assert log.column(f"{joint}.temperature")[25] == other.temperatures[0, k] > 25.0
    # A run that goes on, and one that begins anew.
    assert sim.run(2 * H, motors, also="motor:j0").column("j0.current")[0] == motors_at(robot, 40)
    sim.set_state()
    assert sim.run(2 * H, motors, also="motor:j0").column("j0.current")[0] == 0.0
    cold = Motors(robot, 1.0, DCMotor(R, KT))
    found = sim_of(robot).run(3 * H, cold, also="motors")
    assert np.isnan(found.column("j0.temperature")).all()
    assert found.column("j0.current")[1] == pytest.approx(1.0 / KT)


def motors_at(robot: Mechanism, steps: int) -> float:
    """The current of the first motor after so many steps."""
    motors = CHAINS["a motor"](robot)
    sim_of(robot).run(steps * H, motors)
    return float(motors.currents[0, 0])


def test_logs_of_motors_need_some():
    robot = wheels(1)
    for controller in (None, PD(robot, 0.0, 1.0, 1.0), lambda sim: np.zeros(1)):
        with pytest.raises(OptionError, match="need Motors with a DCMotor"):
            sim_of(robot).run(3 * H, controller, also="motors")
    with pytest.raises(ControllerError, match="have no currents"):
        sim_of(robot).run(3 * H, Motors(robot, 0.0), also="motors")
    with pytest.raises(ModelError, match="'j7' has no motor"):
        sim_of(robot).run(3 * H, Motors(robot, 0.0, DCMotor(R, KT)), also="motor:j7")
