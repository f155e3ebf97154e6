"""Searches and tuning: on functions whose answer is known, and a robot's first episodes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import robosim
from robosim import LoadError, ModelError, OptionError, SaveError
from robosim.cli import app
from robosim.cluster import Workers
from robosim.learning import Domain, Learned, RandomSearch, Run, learn_gait, tune
from robosim.learning.domain import with_friction, with_masses
from robosim.learning.walking import walker
from robosim.models import builders

START = (0.1, 0.0, 1.0, 0.0, -1.5)
QUICK = {"learners": 2, "seconds": 0.4, "friction": 0.2, "threads": 1}


@pytest.fixture(scope="module")
def a1():
    return robosim.load("a1")


class TestRandomSearch:
    goal = np.array([0.3, -0.2, 0.1])

    def value(self, x):
        return -np.sum((x - self.goal) ** 2, axis=-1)

    def test_it_climbs(self):
        search = RandomSearch(np.zeros(3), 4, seed=1)
        for _ in range(400):
            search.tell(self.value(search.ask()))
        assert np.all(self.value(search.best) > -2e-3)
        np.testing.assert_array_equal(search.values, self.value(search.best))

    def test_it_is_the_algorithm(self):
        """[Bruedigam2023, Algorithm 7] as its authors ran it, written out for one learner."""
        search = RandomSearch(np.zeros(3), explore=0.1, seed=5, least=-1.0)
        random = np.random.default_rng(np.random.SeedSequence(5).spawn(1)[0])
        best, before, bias, explore = np.zeros(3), -1.0, np.zeros(3), 0.1
        better = 0
        for _ in range(60):
            draw = random.standard_normal(3)
            tried = best + (0.002 * draw + 0.01 * bias if bias.any() else explore * draw)
            np.testing.assert_array_equal(search.ask(), tried)
            np.testing.assert_array_equal(search.ask(), tried)  # the same until it is told
            value = float(self.value(tried))
            search.tell(value)
            if value > before:
                bias = (tried - best) / np.linalg.norm(tried - best)
                best, before, explore = tried, value, 0.1
                better += 1
            else:
                bias, explore = np.zeros(3), 0.9 * explore
            np.testing.assert_array_equal(search.best, best)
        assert better > 5

    def test_learners_do_not_depend_on_each_other(self):
        few, many = RandomSearch(np.zeros(3), 2, seed=3), RandomSearch(np.zeros(3), 5, seed=3)
        for _ in range(20):
            a, b = few.ask(), many.ask()
            np.testing.assert_array_equal(a, b[:2])
            few.tell(self.value(a))
            many.tell(self.value(b))

    def test_nothing_is_no_improvement(self):
        search = RandomSearch(np.zeros(3), 2, least=-np.inf)
        asked = search.ask()
        search.tell([np.nan, 1.0])
        np.testing.assert_array_equal(search.best, [np.zeros(3), asked[1]])

    def test_it_goes_on_from_its_state_to_the_same_bits(self):
        search = RandomSearch(np.zeros(3), 2, seed=2)
        for k in range(10):
            search.tell(self.value(search.ask()))
            if k == 4:
                search.ask()
                other = RandomSearch.from_state(json.loads(json.dumps(search.state())))
                for _ in range(5):
                    other.tell(self.value(other.ask()))
        np.testing.assert_array_equal(other.best, search.best)
        np.testing.assert_array_equal(other.ask(), search.ask())
        assert other.told == search.told

    @pytest.mark.parametrize(
        ("call", "told"),
        [
            (lambda: RandomSearch([np.nan]), "start"),
            (lambda: RandomSearch([[0.0], [0.0]], 3), "2 rows for 3"),
            (lambda: RandomSearch([0.0], explore=0.0), "explore"),
            (lambda: RandomSearch([0.0]).tell(1.0), "ask"),
            (lambda: RandomSearch.from_state({"best": [[1.0]]}), "no state"),
        ],
    )
    def test_wrong_numbers_are_refused(self, call, told):
        with pytest.raises(OptionError, match=told):
            call()
        search = RandomSearch([0.0], 2)
        search.ask()
        for values in ([1.0], [1.0, 2.0, 3.0], "x"):
            with pytest.raises(OptionError, match="values"):
                search.tell(values)


class TestTune:
    t = np.linspace(0.0, 2.0, 201)

    def runs(self, scale):
        """Loads of which the second reaches 3 s^2, at 1 s."""
        return [
            Run("gentle", self.t, scale * np.sin(self.t)),
            Run("rough", self.t, -3 * scale**2 * np.exp(-((self.t - 1) ** 2))),
        ]

    def test_the_largest_scale_is_found(self):
        found = tune(self.runs, limit=1.5, over=(0.1, 2.0), tolerance=1e-6)
        assert found.value == pytest.approx(np.sqrt(0.5), abs=3e-6)
        assert found.load <= 1.5
        assert (found.run, found.time) == ("rough", pytest.approx(1.0))
        assert "rough" in str(found)
        assert found.tried[0][0] == 0.1

    def test_all_of_the_range_may_do(self):
        assert tune(self.runs, limit=100.0, over=(0.1, 2.0)).value == 2.0

    def test_the_best_of_several_is_found(self):
        values = [(s, d) for s in (0.2, 0.5, 0.9) for d in (0, 1)]
        found = tune(
            lambda pair: self.runs(pair[0]),
            limit=1.5,
            over=values,
            score=lambda v, load: v[0] - v[1],
        )
        assert found.value == (0.5, 0)

    def test_limits_that_nothing_keeps_are_told(self):
        with pytest.raises(OptionError, match=r"'gentle' has 0\.1 .*widen"):
            tune(self.runs, limit=0.01, over=(0.1, 2.0))
        with pytest.raises(OptionError, match="no value"):
            tune(self.runs, limit=0.01, over=[0.5, 0.1, 1.0])

    def test_what_is_not_a_number_is_beyond_any_limit(self):
        with pytest.raises(OptionError, match="inf"):
            tune(lambda s: Run("broken", [0.0], [np.nan]), limit=1.0, over=(0.0, 1.0))

    @pytest.mark.parametrize(
        ("run", "limit", "over"),
        [
            (lambda s: 3.0, 1.0, (0.0, 1.0)),
            (lambda s: [], 1.0, (0.0, 1.0)),
            (lambda s: Run("a", [0.0], [1.0, 2.0]), 1.0, (0.0, 1.0)),
            (lambda s: Run("a", [0.0], [0.0]), -1.0, (0.0, 1.0)),
            (lambda s: Run("a", [0.0], [0.0]), 1.0, (1.0, 0.0)),
            (lambda s: Run("a", [0.0], [0.0]), 1.0, ()),
        ],
    )
    def test_wrong_calls_are_refused(self, run, limit, over):
        with pytest.raises(OptionError):
            tune(run, limit=limit, over=over)


class TestLearnGait:
    def test_the_first_episodes(self, a1, tmp_path):
        found = learn_gait(a1, episodes=3, start=START, **QUICK)
        assert found.values.shape == (3, 2)
        assert found.complete
        assert np.all(np.diff(found.curves, axis=0) >= 0)
        assert found.distance == found.curves[-1].max() > 0
        sim, gait = walker(a1, found)
        begin = sim.q[0]
        sim.run(0.4, gait)
        # In the batch eight states are stepped together, which agrees to the tolerance.
        assert sim.q[0] - begin == pytest.approx(found.distance, abs=1e-6)
        found.save(tmp_path / "walk.json")
        back = Learned.load(tmp_path / "walk.json")
        assert back.to_dict() == found.to_dict()
        assert found.plot(tmp_path / "walk.png").axes
        assert (tmp_path / "walk.png").stat().st_size > 1000

    def test_it_goes_on_to_the_same_bits(self, a1):
        whole = learn_gait(a1, episodes=4, start=START, seed=7, **QUICK)
        part = learn_gait(a1, episodes=2, start=START, seed=7, **QUICK)
        rest = learn_gait(a1, episodes=2, resume=part, threads=1)
        np.testing.assert_array_equal(rest.values, whole.values)
        np.testing.assert_array_equal(rest.parameters, whole.parameters)
        with pytest.raises(OptionError, match="robot"):
            learn_gait(replace(a1, name="other"), resume=part)

    def test_a_search_of_ones_own_is_told_of_falls(self, a1):
        """A gait that throws the robot over is worth nothing, and ends no search."""

        class Wild:
            def __init__(self):
                self.told = []

            def ask(self):
                return np.array([START, (0.3, 0.8, 1.0, 0.8, -1.5)])

            def tell(self, values):
                self.told.append(values)

        wild = Wild()
        options = {**QUICK, "seconds": 0.6, "friction": 0.8}
        found = learn_gait(a1, search=wild, episodes=1, **options)
        assert np.isfinite(wild.told[0][0])
        assert np.isnan(wild.told[0][1])
        assert found.fell == 1
        assert found.failed == 0
        assert found.search is None

    def test_a_search_that_is_interrupted_keeps_what_it_found(self, a1):
        class Stops:
            def __init__(self):
                self.inner = RandomSearch(START, 2, least=0.0)

            def ask(self):
                return self.inner.ask()

            def tell(self, values):
                self.inner.tell(values)
                if self.inner.told == 2:
                    raise KeyboardInterrupt

        found = learn_gait(a1, search=Stops(), episodes=5, **QUICK)
        assert not found.complete
        assert len(found.values) == 1

    def test_a_domain_draws_the_same_for_all_learners(self, a1):
        domain = Domain(mass=(0.8, 1.2), friction=(0.2, 0.8), push=20.0, draws=2, worst=True)
        options = {**QUICK, "friction": None}
        one = learn_gait(a1, episodes=1, start=START, domain=domain, **options)
        assert one.values.shape == (1, 2)
        again = learn_gait(a1, episodes=1, start=START, domain=domain, **options)
        np.testing.assert_array_equal(one.values, again.values)
        plain = learn_gait(a1, episodes=1, start=START, **options)
        assert not np.array_equal(one.values, plain.values)

    def test_motors_of_a_domain_have_less_torque(self, a1):
        """Gains of a gait are those of the draw: with none, the robot falls down."""
        options = {**QUICK, "episodes": 1, "start": START}
        weak = learn_gait(a1, domain=Domain(motors=(0.0, 0.0), draws=1), **options)
        assert weak.fell == weak.values.size
        same = learn_gait(a1, domain=Domain(motors=[1.0, 1.0], draws=1), **options)
        plain = learn_gait(a1, **options)
        np.testing.assert_array_equal(same.values, plain.values)

    def test_workers_find_the_same(self, a1):
        domain = Domain(mass=(0.8, 1.2), push=20.0, draws=2, motors=(0.9, 1.1))
        with Workers(a1, 2, 1, ray=False) as workers:
            for more in ({}, {"domain": domain}):
                options = {**QUICK, "episodes": 2, "start": START, **more}
                alone, beside = (
                    learn_gait(a1, **options),
                    learn_gait(a1, workers=workers, **options),
                )
                assert beside.to_dict() == alone.to_dict()
            with pytest.raises(OptionError, match="timestep"):
                learn_gait(a1, workers=workers, **{**QUICK, "timestep": 2e-3})

    @pytest.mark.parametrize(
        ("options", "error", "told"),
        [
            ({"start": (1.0, 2.0)}, OptionError, "b, a1, d1, a2, d2"),
            ({"seconds": 0.0}, OptionError, "seconds"),
            ({"episodes": 0}, OptionError, "episodes"),
            ({"learners": 0}, OptionError, "learners"),
        ],
    )
    def test_wrong_options_are_refused(self, a1, options, error, told):
        with pytest.raises(error, match=told):
            learn_gait(a1, **{**QUICK, "episodes": 1, **options})

    def test_what_cannot_walk_is_refused(self, a1):
        with pytest.raises(ModelError, match="thigh and a calf"):
            learn_gait(builders.minitaur(), episodes=1)
        with pytest.raises((ModelError, robosim.StateError)):
            learn_gait(replace(a1, contacts=()), episodes=1, **{**QUICK, "friction": None})

    def test_files_that_are_none_are_refused(self, a1, tmp_path):
        path = tmp_path / "walk.json"
        with pytest.raises(LoadError, match="cannot be read"):
            Learned.load(path)
        for text in ("{", "[]", '{"format": "x"}', '{"format": "robosim gait"}'):
            path.write_text(text)
            with pytest.raises(LoadError, match="is not a gait"):
                Learned.load(path)
        found = Learned.none("a1", {}, 2, np.array(START))
        with pytest.raises(SaveError):
            found.save(tmp_path / "nowhere" / "walk.json")


class TestDomain:
    def test_robots_differ_in_numbers_alone(self, a1):
        heavy = with_masses(a1, [2.0] * len(a1.bodies))
        assert heavy.total_mass == pytest.approx(2 * a1.total_mass)
        slippery = with_friction(a1, 0.1)
        assert {point.friction for point in slippery.contacts} == {0.1}
        drawn = Domain(mass=(0.8, 1.2), push=10.0).draw(a1, 2.0, np.random.default_rng(0))
        ratio = [b.mass / a.mass for a, b in zip(a1.bodies, drawn.robot.bodies, strict=True)]
        assert np.ptp(ratio) > 0.05
        assert 0.8 <= min(ratio) <= max(ratio) <= 1.2
        assert np.linalg.norm(drawn.push.force) <= 10.0

    @pytest.mark.parametrize(
        "options",
        [
            {"mass": (2.0, 1.0)},
            {"friction": (-1.0, 1.0)},
            {"push": -1.0},
            {"draws": 0},
            {"motors": (-0.1, 1.0)},
        ],
    )
    def test_ranges_that_are_none_are_refused(self, options):
        with pytest.raises(OptionError):
            Domain(**options)


def test_the_command_line(tmp_path):
    run = CliRunner()
    stem = str(tmp_path / "walk")
    options = ["--episodes", "1", "--learners", "2", "--seconds", "0.4", "--friction", "0.2"]
    told = run.invoke(app, ["learn", "a1", *options, "--out", stem, "--json"])
    assert told.exit_code == 0, told.output
    assert {file.name for file in tmp_path.iterdir()} == {"walk.json", "walk.png", "walk.html"}
    told = run.invoke(app, ["learn", "a1", "--episodes", "1", "--out", stem, "--resume"])
    assert told.exit_code == 0, told.output
    assert len(Learned.load(tmp_path / "walk.json").values) == 2
    walk = ["simulate", "a1", "--gait", f"{stem}.json", "--seconds", "0.2"]
    assert run.invoke(app, walk).exit_code == 0
    for wrong in (
        ["learn", "a1", "--resume"],
        ["learn", "a1", "--out", str(tmp_path / "no" / "walk")],
        ["learn", "minitaur", "--episodes", "1"],
        [*walk, "--controller", "trot"],
        ["simulate", "cube", "--gait", f"{stem}.json"],
    ):
        assert run.invoke(app, wrong).exit_code != 0
