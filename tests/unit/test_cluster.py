"""Workers: the same bits for any number of them, on threads and on Ray, whatever dies meanwhile."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from robosim import BatchSimulation, ControllerError, OptionError, StateError
from robosim.cli import app
from robosim.cluster import Workers
from robosim.errors import WorkerError
from robosim.learning import RandomSearch, Run, tune
from robosim.models.builders import pendulum

# Alone and by one solver, so that no other kernels have to be compiled.
PLAIN = {"lanes": False, "solver": "articulated", "timestep": 0.01}
CANDIDATES = np.linspace(0.1, 1.0, 7)


@pytest.fixture(scope="module")
def robot():
    return pendulum()


def ends(batch, candidates, random):
    """Where a pendulum is that begins at a candidate, with something random added."""
    batch.set_state(np.reshape(candidates, (-1, 1)))
    run = batch.rollout(20, every=20)
    return run.q[:, -1, 0] + np.array([own.standard_normal() for own in random])


def directly(robot, seed=0, call=0):
    """The same without workers."""
    batch = BatchSimulation(robot, len(CANDIDATES), threads=1, **PLAIN)
    keys = [(call, item) for item in range(len(CANDIDATES))]
    random = [np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key)) for key in keys]
    return ends(batch, CANDIDATES, random)


def on_threads(robot, n=2, per_worker=3, **options):
    return Workers(robot, n, per_worker, ray=False, **PLAIN, **options)


class TestOnThreads:
    @pytest.mark.parametrize(("n", "per_worker"), [(1, 3), (3, 3), (2, 1), (1, 64)])
    def test_candidates_are_worth_the_same_for_any_number_of_workers(self, robot, n, per_worker):
        with on_threads(robot, n, per_worker, seed=5) as workers:
            assert (workers.n, workers.kind) == (n, "threads")
            for call in range(2):
                found = workers.map(ends, CANDIDATES)
                np.testing.assert_array_equal(found, directly(robot, 5, call))

    def test_rollouts_are_those_of_a_batch(self, robot):
        random = np.random.default_rng(1)
        q, v = random.uniform(-1, 1, (2, 7, 1))
        torques, kp = random.uniform(-1, 1, (7, 10, 1)), random.uniform(0, 2, (7, 1))
        batch = BatchSimulation(robot, 7, threads=1, **PLAIN)
        with on_threads(robot) as workers:
            for drive in (
                {"torques": torques},
                {"torques": torques[0], "every": 4},
                {"controller": "zero", "kp": kp, "kd": [0.1], "targets": torques[:, 0]},
            ):
                batch.set_state(q, v)
                whole = batch.rollout(10, **drive)
                for ours, theirs in zip(workers.rollout(10, q=q, v=v, **drive), whole, strict=True):
                    np.testing.assert_array_equal(ours, theirs)
            assert workers.rollout(2).q.shape == (6, 3, 1)  # the states of all workers
            assert workers.rollout(2, items=4).q.shape == (4, 3, 1)

    def test_a_batch_is_as_new_whatever_was_done_with_it(self, robot):
        def pushed(batch, candidates, random):
            before = batch[0].q[0], batch[0].v[0], batch[0].time
            batch[0].apply_wrench(robot.bodies[0].name, force=(0.0, 5.0, 0.0))
            batch.rollout(3)
            return np.array([before])

        with on_threads(robot, 1) as workers:
            for _ in range(2):
                np.testing.assert_array_equal(workers.map(pushed, [1.0]), np.zeros((1, 3)))
            np.testing.assert_array_equal(workers.map(ends, CANDIDATES), directly(robot, call=2))

    def test_items_one_by_one(self, robot):
        with on_threads(robot) as workers:
            found = workers.each(lambda item, random: (item, random.random()), "abc")
            assert [item for item, _ in found] == list("abc")
            assert len({number for _, number in found}) == 3

    def test_an_error_says_for_which_item(self, robot):
        def fails(batch, candidates, random):
            if np.any(candidates > 0.6):
                raise ZeroDivisionError("much too far")
            return candidates

        def fails_alone(item, random):
            return 1 / (item - 2)

        with on_threads(robot) as workers:
            with pytest.raises(WorkerError, match="item 4: ZeroDivisionError: much") as caught:
                workers.map(fails, CANDIDATES)
            assert caught.value.items == range(4, 5)
            assert isinstance(caught.value.__cause__, ZeroDivisionError)
            assert "fails" in caught.value.__notes__[0]
            with pytest.raises(WorkerError, match="item 2: ZeroDivisionError"):
                workers.each(fails_alone, range(4))
            with pytest.raises(WorkerError, match=r"item 5: StateError: .*finite"):
                workers.rollout(2, q=np.where(np.arange(7) == 5, np.nan, 0.0)[:, None])
            np.testing.assert_array_equal(workers.map(ends, CANDIDATES), directly(robot, call=3))

    def test_what_is_wrong_with_a_chunk_alone_is_said_of_the_chunk(self, robot):
        def fails(batch, candidates, random):
            return candidates[: 2 if len(candidates) == 3 else None]

        with (
            on_threads(robot) as workers,
            pytest.raises(WorkerError, match=r"items 0 to 2: .*a row"),
        ):
            workers.map(fails, CANDIDATES)

    def test_memory_that_is_not_there(self, robot):
        def fills(batch, candidates, random):
            return np.zeros((3, 1 << 50))

        with on_threads(robot) as workers, pytest.raises(WorkerError) as caught:
            workers.map(fills, CANDIDATES[:3])
        assert "items 0 to 2: out of memory" in str(caught.value)
        assert "per_worker" in str(caught.value)

    def test_wrong_calls_are_refused(self, robot):
        with on_threads(robot) as workers:
            for error, call in (
                (OptionError, lambda: workers.map(ends, [])),
                (OptionError, lambda: workers.map(ends, 1.0)),
                (OptionError, lambda: workers.rollout(2, items=0)),
                (OptionError, lambda: workers.rollout(2, v=[0.0], gap=0.1)),
                (OptionError, lambda: workers.rollout(2, items=3, controller=["zero"] * 2)),
                (StateError, lambda: workers.rollout(2, items=3, q=np.zeros((2, 1)))),
                (ControllerError, lambda: workers.rollout(2, [np.nan])),
            ):
                with pytest.raises(error):
                    call()
        with pytest.raises(OptionError, match="closed"):
            workers.map(ends, CANDIDATES)

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"n": 0}, "n must"),
            ({"per_worker": 0}, "per_worker"),
            ({"seed": -1}, "seed"),
            ({"retries": -1}, "retries"),
            ({"cpus": np.nan}, "cpus"),
            ({"address": "here:1"}, "address"),
            ({"threads": 2}, "threads"),
            ({"friction_cone": "none"}, "friction_cone"),
        ],
    )
    def test_wrong_options_are_refused(self, robot, options, told):
        with pytest.raises(OptionError, match=told):
            Workers(robot, ray=False, **options)
        with pytest.raises(OptionError, match="Mechanism"):
            Workers("a1", ray=False)


class TestSearching:
    goal = np.array([0.4, -0.3])

    def worth(self, batch, candidates, random):
        return -np.sum((np.stack(candidates) - self.goal) ** 2, axis=-1)

    def test_random_search(self, robot):
        found = []
        for n in (1, 2):
            search = RandomSearch(np.zeros(2), 4, seed=2)
            with on_threads(robot, n) as workers:
                found.append(search.run(self.worth, 300, workers))
        np.testing.assert_array_equal(*found)
        assert np.all(search.values > -2e-3)
        single = RandomSearch(np.zeros(2), seed=2)
        with on_threads(robot, 1) as workers:
            best = single.run(self.worth, 300, workers)
        np.testing.assert_array_equal(best, found[0][0])

    def test_a_search_keeps_what_it_had_found_before_an_error(self, robot):
        def once(batch, candidates, random):
            if search.told == 3:
                raise KeyError("enough")
            return self.worth(batch, candidates, random)

        search = RandomSearch(np.zeros(2), 2, seed=2)
        with on_threads(robot) as workers, pytest.raises(WorkerError, match="enough"):
            search.run(once, 10, workers)
        assert search.told == 3
        assert np.all(np.isfinite(search.values))

    @pytest.mark.parametrize("n", [1, 2, 5])
    def test_tuning_tries_the_same_values(self, robot, n):
        t = np.linspace(0.0, 2.0, 21)

        def runs(scale):
            return [Run("gentle", t, scale * np.sin(t)), Run("rough", t, scale**2 * t)]

        with on_threads(robot, n) as workers:
            for over, limit in (((0.1, 2.0), 1.3), ((0.1, 2.0), 100.0), ([0.2, 0.6, 0.9], 1.3)):
                found = tune(runs, limit=limit, over=over, tolerance=1e-4, workers=workers)
                assert found == tune(runs, limit=limit, over=over, tolerance=1e-4)
            with pytest.raises(OptionError, match="widen"):
                tune(runs, limit=0.01, over=(0.1, 2.0), workers=workers)
            with pytest.raises(WorkerError, match=r"item 0: .*TypeError"):
                tune(lambda scale: runs("x"), limit=1.0, over=[1.0, 2.0, 3.0], workers=workers)


def test_a_ray_that_is_not_there(robot, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(OptionError, match=r'pip install "robosim-variational\[ray\]"'):
        Workers(robot, 1, ray=True)


@pytest.fixture(scope="module")
def cluster():
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def workers(cluster, robot):
    with Workers(robot, 2, 3, ray=True, retries=1, cpus=0.5, **PLAIN) as workers:
        yield workers


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
class TestOnRay:
    @pytest.fixture
    def again(self, workers):
        """The workers as if they were new, as far as random numbers go."""
        workers._calls = 0
        return workers

    def test_the_same_bits_as_on_threads(self, again, robot):
        assert (again.n, again.kind) == (2, "Ray")
        np.testing.assert_array_equal(again.map(ends, CANDIDATES), directly(robot))
        with on_threads(robot) as others:
            for ours, theirs in zip(
                again.rollout(5, [0.1], items=7), others.rollout(5, [0.1], items=7), strict=True
            ):
                np.testing.assert_array_equal(ours, theirs)
        found = again.each(lambda item, random: item + random.integers(0, 1), [1, 2])
        assert found == [1, 2]

    def test_another_robot(self, again, robot):
        again.robot = pendulum(length=3.0)
        long = again.map(ends, CANDIDATES)
        np.testing.assert_array_equal(long, directly(pendulum(length=3.0)))
        again.robot = robot

    def test_what_a_worker_had_is_done_again_when_it_dies(self, again, robot, tmp_path):
        marks = [str(tmp_path / f"{k}") for k in range(2)]

        def dies(batch, candidates, random):
            for mark in marks:
                if candidates[0] > 0.4 and not Path(mark).exists():
                    Path(mark).touch()
                    os._exit(1)
                    break
            return ends(batch, candidates, random)

        Path(marks[1]).touch()
        np.testing.assert_array_equal(again.map(dies, CANDIDATES), directly(robot))
        assert Path(marks[0]).exists()

    def test_workers_that_die_again_and_again(self, again, robot):
        def dies(batch, candidates, random):
            if CANDIDATES[4] in candidates:
                os._exit(1)
            return candidates

        with pytest.raises(WorkerError, match=r"items 3 to 5: the worker died: .* 2 times"):
            again.map(dies, CANDIDATES)
        np.testing.assert_array_equal(again.map(ends, CANDIDATES), directly(robot, call=1))

    def test_an_error_comes_back(self, again):
        def fails(batch, candidates, random):
            batch.set_state([np.nan])

        with pytest.raises(WorkerError, match="item 0: StateError") as caught:
            again.map(fails, CANDIDATES)
        assert isinstance(caught.value.__cause__, StateError)
        with pytest.raises(WorkerError, match="items 0 to 2: out of memory"):
            again.map(lambda batch, items, random: np.zeros(1 << 55), CANDIDATES)

    def test_what_cannot_be_sent(self, again):
        lock = __import__("threading").Lock()
        with pytest.raises(OptionError, match="objective cannot be sent"):
            again.map(lambda batch, items, random: lock and items, CANDIDATES)

    def test_a_quadruped_learns_by_the_command_line(self, cluster):
        options = ["--episodes", "1", "--learners", "2", "--seconds", "0.2", "--json"]
        told = [
            CliRunner().invoke(app, ["learn", "a1", *options, *more])
            for more in ((), ("--ray", "1"))
        ]
        assert told[1].exit_code == 0, told[1].output
        assert told[0].stdout == told[1].stdout

    def test_more_workers_than_processors(self, again, robot, monkeypatch):
        monkeypatch.setattr("robosim.workers.on_ray.PATIENCE", 0.1)
        with pytest.raises(OptionError, match=r"3 workers need 3 processors.*has [\d.]+ free of 2"):
            Workers(robot, 3, ray=True)

    def test_an_address_at_which_nobody_answers(self, robot, monkeypatch):
        import ray

        monkeypatch.setattr(ray, "is_initialized", lambda: False)
        begin = time.monotonic()
        for address in ("127.0.0.1:9", "ray://127.0.0.1:9"):
            with pytest.raises(OptionError, match="ray start --head"):
                Workers(robot, 1, ray=True, address=address)
        assert time.monotonic() - begin < 10.0
