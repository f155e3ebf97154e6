"""Steps to an accuracy, against motions that are known in closed form."""

from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim import Body, ContactPoint, Joint, Mechanism, PointSpring, Simulation
from robosim.controllers import PD, stand
from robosim.models.builders import cube, double_pendulum, pendulum

G = 9.81


def ball(restitution: float, friction: float = 0.0) -> Mechanism:
    """A ball of 1 kg that may touch the ground."""
    point = ContactPoint(
        "point", "ball", (0, 0, 0), radius=0.1, friction=friction, restitution=restitution
    )
    base = Joint("base", "floating", None, "ball")
    return Mechanism("ball", (Body("ball", 1.0, 0.004 * np.eye(3)),), (base,), (point,))


def block(friction: float) -> Mechanism:
    """A cube of 1 kg with edges of 0.1 m on its corners."""
    corners = [(x, y, z) for x in (-0.05, 0.05) for y in (-0.05, 0.05) for z in (-0.05, 0.05)]
    points = [ContactPoint(f"c{k}", "cube", at, friction=friction) for k, at in enumerate(corners)]
    base = Joint("base", "floating", None, "cube")
    return Mechanism("cube", (Body("cube", 1.0, np.eye(3) / 600),), (base,), tuple(points))


def height(restitution: float, fall: float, time: float) -> float:
    """Height over the ground after a fall, with bounces in between."""
    speed, begin = np.sqrt(2 * G * fall), np.sqrt(2 * fall / G)
    if time < begin:
        return fall - 0.5 * G * time**2
    while True:
        speed *= restitution
        if time < begin + 2 * speed / G:
            t = time - begin
            return speed * t - 0.5 * G * t**2
        begin += 2 * speed / G


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("timestep", [0.002, 0.01, 0.05])
@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("every", [1, 80])
def test_a_ball_bounces_ten_times(timestep, accuracy, order, every):
    """Its error grows by the time that each impact is off, never beyond the accuracy."""
    sim = Simulation(ball(0.9), timestep, accuracy=accuracy, order=order)
    sim.set_state([0, 0, 0.6, 1, 0, 0, 0])
    sim.run(4.0, every=every)
    expected = 0.1 + height(0.9, 0.5, 4.0)
    assert abs(sim.q[2] - expected) < 4.0 * accuracy
    assert 10 <= sim.step_sizes.events <= (20 if every == 1 else 30)


@pytest.mark.parametrize("accuracy", [1e-2, 1e-4, 1e-6])
def test_bounces_without_end_come_to_rest(accuracy):
    """Zeno's: infinitely many in a finite time, of which those faster than can be told are one."""
    sim = Simulation(ball(0.6), 0.01, accuracy=accuracy, restitution_threshold=0.0)
    sim.set_state([0, 0, 0.6, 1, 0, 0, 0])
    sim.run(3.0)
    assert abs(sim.q[2] - 0.1) < accuracy
    assert abs(sim.v[2]) < 1e-2
    assert sim.step_sizes.events < 200


@pytest.mark.parametrize("timestep", [0.001, 0.005, 0.02])
@pytest.mark.parametrize("accuracy", [1e-3, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("every", [1, 20])
def test_a_block_slides_to_rest(timestep, accuracy, every):
    """It comes v^2 / (2 mu g) far, wherever in a step it stops."""
    sim = Simulation(block(0.5), timestep, accuracy=accuracy)
    sim.set_state([0, 0, 0.05, 1, 0, 0, 0], [1.0, 0, 0, 0, 0, 0])
    sim.run(0.4, every=every)
    assert abs(sim.q[0] - 1.0 / (2 * 0.5 * G)) < 0.2 * accuracy
    # The gap that a resting contact has grows with the interval, and shrinks in the last step.
    assert abs(sim.v).max() < (1e-9 if every == 1 else 1e-8)


@pytest.mark.parametrize("timestep", [0.001, 0.02])
@pytest.mark.parametrize("accuracy", [1e-3, 1e-5])
def test_a_block_slides_until_it_has_the_speed_of_its_belts(timestep, accuracy):
    """They run under its corners at 1 m/s. It comes v^2 / (2 mu g) less far, in few intervals."""
    robot = block(0.5)
    belts = tuple(replace(c, surface_velocity=(-1.0, 0.0, 0.0)) for c in robot.contacts)
    sim = Simulation(replace(robot, contacts=belts), timestep, accuracy=accuracy)
    sim.set_state([0, 0, 0.05, 1, 0, 0, 0])
    sim.run(0.4)
    assert abs(sim.q[0] - (0.4 - 1.0 / (2 * 0.5 * G))) < 0.2 * accuracy
    assert abs(sim.v - [1.0, 0, 0, 0, 0, 0]).max() < 1e-8
    assert sim.step_sizes.intervals < 1000


@pytest.mark.parametrize("accuracy", [1e-3, 1e-4, 1e-5, 1e-6])
def test_a_ball_bounces_on_a_spring(accuracy):
    """Two bounces on k = 1e4 N/m, whose force sets in and ends within steps of 10 ms."""
    k, fall = 1e4, 0.2
    point = ContactPoint("point", "ball", (0, 0, 0), radius=0.1, friction=0.0, stiffness=k)
    base = Joint("base", "floating", None, "ball")
    robot = Mechanism("ball", (Body("ball", 1.0, 0.004 * np.eye(3)),), (base,), (point,))
    sim = Simulation(robot, 0.01, accuracy=accuracy)
    sim.set_state([0, 0, 0.1 + fall, 1, 0, 0, 0])
    begin = sim.energy()
    sim.run(1.0)
    # In the ground z = -g / k + g / k cos(w t) - v / w sin(w t), until it is 0 again.
    w, v, time = np.sqrt(k), np.sqrt(2 * G * fall), np.sqrt(2 * fall / G)
    contact = (2 * np.pi - 2 * np.arctan(v * w / G)) / w
    t = 1.0 % (2 * time + contact)
    assert t < time  # it falls for the third time
    assert abs(sim.q[2] - (0.1 + fall - 0.5 * G * t**2)) < accuracy
    assert abs(sim.energy() - begin) < accuracy
    assert 4 <= sim.step_sizes.events <= 8


def test_a_fall_is_exact_and_cheap():
    """Two intervals for each step of a parabola, whatever the accuracy."""
    sim = Simulation(ball(0.0), 0.05, accuracy=1e-6)
    sim.set_state([0, 0, 10.0, 1, 0, 0, 0], [1.0, 0, 0, 0, 0, 0])
    sim.run(1.0)
    np.testing.assert_allclose(sim.q[:3], [1.0, 0, 10.0 - 0.5 * G], rtol=0, atol=1e-11)
    assert sim.step_sizes.intervals <= 40
    assert sim.step_sizes.error < 1e-11


def test_a_motion_that_does_not_change_takes_one_interval():
    """Neither does a body that coasts, nor one that lies."""
    coasting = Simulation(ball(0.0), 0.01, gravity=(0, 0, 0), accuracy=1e-4)
    coasting.set_state([0, 0, 1.0, 1, 0, 0, 0], [1.0, 0, 0, 0, 0, 0])
    coasting.run(0.1)
    assert coasting.step_sizes.intervals == 10
    lying = Simulation(block(0.5), 0.01, accuracy=1e-4)
    lying.set_state([0, 0, 0.05, 1, 0, 0, 0])
    lying.run(0.1)
    before = lying.step_sizes.intervals
    lying.run(0.1)
    assert lying.step_sizes.intervals - before == 10


def test_time_steps_between_logged_knots_are_taken_together():
    """Up to 64 of a motion that does not change, and that before a logged knot by itself."""
    coasting = Simulation(ball(0.0), 0.01, gravity=(0, 0, 0), accuracy=1e-4)
    coasting.set_state([0, 0, 1.0, 1, 0, 0, 0], [1.0, 0, 0, 0, 0, 0])
    coasting.run(2.0, every=100)
    # 1, 1, 2, 4, 8, 16 and 32 are 64 steps, as a part may be twice as long as that before.
    # Then 35 and 1 of the first row, and 64, 35 and 1 of the second.
    assert coasting.step_sizes.intervals == (7 + 1 + 1) + (1 + 1 + 1)
    assert coasting.step_sizes.shortest == pytest.approx(0.01)
    assert coasting.q[0] == pytest.approx(2.0, abs=1e-12)
    assert coasting.steps == 200


def lands(every, parts=1, controller=None, **options):
    """An A1 that lands under an implicit PD, after 0.4 s; also what was logged."""
    sim = Simulation(robosim.load("a1"), 0.002, accuracy=1e-3, **options)
    sim.place(gap=0.05)
    controller = controller or stand(sim.robot, implicit=True)
    logs = [sim.run(0.4 / parts, controller, every=every) for _ in range(parts)]
    return sim, np.concatenate([log.q for log in logs])


def test_time_steps_taken_together_are_as_accurate():
    """And take fewer intervals; runs may be divided between rows of the log, to the last bit."""
    each, rows = lands(1)
    seldom, few = lands(20)
    assert seldom.step_sizes.intervals < 0.5 * each.step_sizes.intervals
    np.testing.assert_allclose(few, rows[::20], rtol=0, atol=1e-4)
    np.testing.assert_allclose(seldom.accelerations(), each.accelerations(), rtol=0, atol=0.1)
    divided, same = lands(20, parts=5)
    assert divided.q.tobytes() == seldom.q.tobytes()
    assert same.tobytes() == few.tobytes()


def test_servos_of_a_world_are_of_second_order_too():
    """An island under an implicit PD takes the intervals that its robot takes alone."""
    robot = pendulum()
    alone = Simulation(robot, 0.05, accuracy=1e-3)
    world = Simulation(robot.add(ball(0.0), (5.0, 0, 3.0), prefix="b/"), 0.05, accuracy=1e-3)
    for sim in (alone, world):
        q = sim.robot.home.copy()
        q[0] = 1.0
        sim.set_state(q)
        sim.run(1.0, PD(sim.robot, 0.3, 20.0, 1.0, implicit=True))
    assert len(world.islands) == 2
    assert world.q[0] == alone.q[0]


def test_time_steps_under_control_are_not_taken_together():
    """A controller that acts in each step sees each knot, whatever is logged."""
    robot = robosim.load("a1")
    explicit = stand(robot)
    moving = PD(robot, lambda t: np.sin(np.outer(t, np.ones(12))), 40.0, 1.0, implicit=True)
    for controller in (explicit, moving, lambda sim: explicit):
        each, seldom = (lands(every, controller=controller)[0] for every in (1, 20))
        assert each.q.tobytes() == seldom.q.tobytes()
        assert each.step_sizes == seldom.step_sizes


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3, 1e-4])
def test_a_pendulum_is_as_accurate_as_asked(accuracy):
    """Against itself at a hundredth of the accuracy, with a servo that pulls it aside."""

    def end(asked):
        robot = pendulum()
        sim = Simulation(robot, 0.05, accuracy=asked)
        sim.set_state([1.0], [0.5])
        sim.run(2.0, PD(robot, 20.0, 1.0, [0.3], implicit=True))
        return sim.state.x[0].copy(), sim.step_sizes

    here, sizes = end(accuracy)
    assert np.linalg.norm(here - end(0.01 * accuracy)[0]) < 2.0 * accuracy
    assert 0.0 < sizes.error <= 2.0 * accuracy


def test_parts_of_order_four_are_longer_and_nearer():
    """Of a double pendulum, beside short steps; and one that meets a stop has order two there."""
    robot, ends = double_pendulum(), {}
    reference = Simulation(robot, 1e-4, order=4, tolerance=1e-13)
    for order in (2, 4):
        sim = Simulation(robot, 0.01, accuracy=1e-5, order=order)
        for one in (reference, sim):
            one.set_state([1.5, 0.5])
            one.run(1.0)
        off = np.linalg.norm(np.asarray(sim.state.x) - reference.state.x, axis=1).max()
        ends[order] = off, sim.step_sizes.intervals
        assert off < 1e-5
        assert sim.fourth_order_steps == (100 if order == 4 else 0)
    assert ends[4][0] < 0.5 * ends[2][0]
    assert ends[4][1] < 0.25 * ends[2][1]
    stopped = replace(robot.joints[1], upper=0.9)
    meets = Simulation(
        replace(robot, joints=(robot.joints[0], stopped)), 0.01, accuracy=1e-5, order=4
    )
    meets.set_state([1.5, 0.5])
    meets.run(1.0)
    assert meets.step_sizes.events > 0
    assert 0 < meets.fourth_order_steps < 100


@pytest.mark.parametrize("every", [1, 50])
def test_energy_has_no_trend(every):
    """Of a double pendulum that swings wildly for 2000 s."""
    sim = Simulation(double_pendulum(), 0.02, accuracy=1e-3)
    sim.set_state([2.0, 0.5])
    begin, means = sim.energy(), []
    for _ in range(10):
        sim.run(199.0, every=every)
        energies = []
        for _ in range(50):
            sim.step()
            energies.append(sim.energy() - begin)
        means.append(np.mean(energies))
    assert np.abs(means).max() < 2e-3 * begin


@pytest.mark.slow
def test_energy_has_no_trend_over_a_million_steps():
    """Of a double pendulum; and of a body on an eccentric orbit around a spring's end."""
    spring = PointSpring("spring", None, "ball", (0, 0, 1), stiffness=4.0, rest_length=0.0)
    base = Joint("base", "floating", None, "ball")
    body = Body("ball", 1.0, 0.004 * np.eye(3))
    orbit = Mechanism("orbit", (body,), (base,), springs=(spring,))
    starts = (
        (double_pendulum(), {}, [2.0, 0.5], None),
        (orbit, {"gravity": (0, 0, 0)}, [1.0, 0, 1.0, 1, 0, 0, 0], [0, 0.2, 0, 0, 0, 0]),
    )
    for robot, options, q, v in starts:
        sim = Simulation(robot, 0.02, accuracy=1e-3, **options)
        sim.set_state(q, v)
        begin, means = sim.energy(), []
        for _ in range(20):
            sim.run(0.02 * 49_900, every=1000)
            energies = []
            for _ in range(100):
                sim.step()
                energies.append(sim.energy() - begin)
            means.append(np.mean(energies) / begin)
        assert np.abs(means).max() < 5e-3, robot.name


@pytest.mark.parametrize("timestep", [0.02, 0.005, 1e-3])
@pytest.mark.parametrize("accuracy", [1e-4, 1e-6])
def test_a_body_that_spins_steadily_goes_on(timestep: float, accuracy: float) -> None:
    """However long the time step is, beside the parts that an accuracy divides it into."""
    rate, seconds, edge = 20.0, 0.08, 0.1
    sim = Simulation(cube(edge, 1.0), timestep, accuracy=accuracy)
    sim.set_state((0, 0, 5, 1, 0, 0, 0), (0, 0, 0, 0, 0, rate))
    sim.run(seconds)
    turned = 2 * np.arctan2(sim.q[6], sim.q[3])
    assert abs(turned - rate * seconds) * edge < accuracy * seconds
    assert abs(sim.v[5] - rate) * edge < accuracy
