"""Every pair of features in a mechanism, and what is promised of each mechanism.

A short draw; `python -m benchmarks.combinations` goes on for as long as one likes.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import pytest
from combinations.builder import Case
from combinations.checks import repeats
from combinations.covering import pairs_of
from combinations.drawn import Drawn
from combinations.features import FEATURES, MOST, REFUSED, fits
from combinations.mechanisms import again, build, cases, rows
from combinations.mended import MENDED
from combinations.registry import CHECKS, FAST, KNOWN, SLOW, Check, known, may_not_follow
from hypothesis import HealthCheck, Phase, given, settings

from robosim import ConvergenceError, DeadPointError, NoMotionError, Simulation

ROWS = rows()
# Mechanisms whose steps have read arrays of the workspace before they were written.
READ_EARLY: tuple[tuple[tuple[str, ...], dict[str, list[int]]], ...] = (
    (("massless", "limits", "strand"), {"": [1, 0, -75]}),
    (("dry_friction", "soft_solid"), {}),
    (("spherical", "tendon_limit", "implicit_pd"), {}),
)
pytestmark = pytest.mark.filterwarnings("ignore")


def names(row: tuple[str, ...]) -> str:
    return "-".join(row)


def test_all_pairs_that_may_occur_together_do():
    covered = set().union(*(pairs_of(row) for row in ROWS))
    for a, b in combinations(FEATURES, 2):
        alike = FEATURES[a].kind == FEATURES[b].kind and MOST.get(FEATURES[a].kind) == 1
        refused = (a, b) in REFUSED or (b, a) in REFUSED
        assert (frozenset((a, b)) in covered) == (not alike and not refused), (a, b)
    for row in ROWS:
        for k, name in enumerate(row):
            assert fits(name, frozenset(row[:k] + row[k + 1 :]))


def refuse(pair: tuple[str, str]) -> None:
    """Build a mechanism that the library refuses, itself or its simulation."""
    case = build(pair, Drawn.again({}))
    Simulation(case.robot, **case.options)


@pytest.mark.parametrize("pair", REFUSED, ids=names)
def test_pairs_that_are_refused(pair):
    error, told = REFUSED[pair]
    with pytest.raises(error, match=told):
        refuse(pair)


def test_a_motion_that_leads_through_the_ground_is_told():
    """A wave presses a folded chain down. Its highest pose is in the ground at 0.304 s.

    With friction forces and speeds have no bound before, at 0.2955 s with any time step.
    """
    numbers = {
        "": [1, -98, 30, 25, -33, 29, -41],
        "revolute": [96, 49, -99, -79, 52, 18, -31, -89, -35, 83, -98, -16, 22, -21, 38, -38, -12,
            -44, 100, 25, 21, 37, -2, -59, -5],
        "several_hinges": [-51, 81, 51, -99, 59, 40, -50, 85, 9, 15, 1, -90, -85, 40, -96, -31, 83,
            -30, -38, 2, 52, 40, -100, -42, 62, -100, -100],
        "massless": [12, 100, -72, 10, -100, 1, -38, -71, 61, -6, 40, -53, 70, -96, -25, 9, -37, 41,
            100, -8, 9, 6, -97, 91, -41, -72, -63, 61, -92, 19, 28, 59, -13, 92, 9, -100, 8, -6,
            -85, 85, -30, -89, -2, 81, -72, -50, -67, 21, 47, 84],
        "hull": [0, -30, -47, -46, 100, -41, -36, 44, 37, -89, -97, 16, 84, -100, -34, -99, 94, -59,
            -95, 10, -54, -16, 61, 90, -100, -30, 2, 15, -30, -81, -100, 1, -87, 69, -100],
        "anisotropy": [2, 1, -16, 67, -7],
        "plane": [2],
        "motion": [2, -86],
    }  # fmt: skip
    case = again(tuple(numbers)[1:], numbers)
    sim = case.simulation()
    with pytest.raises(NoMotionError) as caught:
        case.run(sim, 160)
    assert caught.value.motions == ("revolute_joint",)
    assert caught.value.holding == ("contact of 'beyond' with 'ground'",)
    assert 0.29 < caught.value.time < 0.304 < caught.value.ends
    assert may_not_follow(case, caught.value)


def test_a_loop_at_a_dead_point_is_told():
    """A trunk on a vertical link between a plane and a fixed point, tilted by its legs."""
    case = again(("planar", "massless", "legs", "on_box", "loop", "implicit_pd"), {})
    with pytest.raises(DeadPointError, match="permit velocities") as caught:
        case.run(case.simulation(), 40)
    assert caught.value.joints == ("loop",)
    assert {"massless_joint", "beyond_joint"} <= set(caught.value.held)
    of_state = caught.value.of_state(3)
    assert of_state.joints == caught.value.joints
    assert of_state.state == 3


def test_a_mechanism_comes_again_from_its_numbers():
    draws = iter(range(10_000))
    case = build(ROWS[0], Drawn(lambda low, high: low + next(draws) % (high - low + 1)))
    twin = again(case.features, case.numbers)
    assert twin.numbers == case.numbers
    assert case.simulation().q.tobytes() == twin.simulation().q.tobytes()
    assert repr(twin.robot) == repr(case.robot)


def keeps(case: Case, checks: Mapping[str, Check]) -> None:
    """Raise the first AssertionError of checks, but of faults that are known.

    Of what does not move nothing is promised.
    """
    if not case.robot.nv:
        return
    for name, check in checks.items():
        if known(name, case.features) is None:
            try:
                check(case)
            except Exception as error:
                if isinstance(error, ConvergenceError) and may_not_follow(case, error):
                    return
                numbers = {key: values for key, values in case.numbers.items() if any(values)}
                error.add_note(f"{name} of again({case.features}, {numbers})")
                raise


def is_plain(case: Case) -> bool:
    """Whether all numbers are the plainest ones, with which Hypothesis begins."""
    return not any(any(values) for values in case.numbers.values())


def look(row: tuple[str, ...], checks: Mapping[str, Check], examples: int) -> None:
    """Draw mechanisms of a row. The benchmark makes those that fail plainer, which takes long."""

    @settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(row))
    def draw(case: Case) -> None:
        if not is_plain(case):
            keeps(case, checks)

    draw()


@pytest.mark.parametrize("row", ROWS, ids=names)
def test_what_is_promised(row):
    look(row, FAST, 2)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, marks=[] if k in (0, 31, 62) else pytest.mark.slow)
        for k, row in enumerate(ROWS)
    ],
    ids=names,
)
def test_what_is_promised_of_derivatives(row):
    look(row, SLOW, 2)


def test_known_faults_are_still_there():
    """One that is mended has to leave KNOWN, and is looked for again in all mechanisms."""
    for fault in KNOWN:
        with pytest.raises((AssertionError, ConvergenceError)):
            CHECKS[fault.check](again(*fault.case))


@pytest.mark.parametrize("found", MENDED, ids=lambda found: f"{found[0]}-{names(found[1])}")
def test_what_was_mended_stays_so(found):
    check, *mechanism = found
    assert CHECKS[check](again(*mechanism))


@pytest.mark.parametrize("mechanism", READ_EARLY, ids=lambda mechanism: names(mechanism[0]))
def test_what_was_read_before_it_was_written_is_not(mechanism):
    case = again(*mechanism)
    assert repeats.memory_does_not_matter(case)
    assert repeats.copies_go_on_alike(case)
