"""Plots of a log: the right joints side by side, with units, and a file that can be opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from robosim import Body, Joint, LogError, Mechanism, OptionError
from robosim.log import Chunk, Log
from robosim.viz.plot_groups import MAX_GROUPS, groups
from robosim.viz.plots import POINTS, plot_log


def robot(joints: Sequence[str], *, kind: str = "revolute", floating: bool = False) -> Mechanism:
    names = (["base"] if floating else []) + [f"link_{k}" for k in range(len(joints))]
    bodies = tuple(Body(name, 1.0, np.eye(3)) for name in names)
    root = (Joint("root", "floating", None, "base"),) if floating else ()
    rest = tuple(
        Joint(joint, kind, "base" if floating else None, f"link_{k}")
        for k, joint in enumerate(joints)
    )
    return Mechanism("tester", bodies, root + rest)


def log_of(mechanism: Mechanism, n: int = 50) -> Log:
    rng = np.random.default_rng(1)
    q = rng.normal(size=(n, mechanism.nq))
    if mechanism.floating_base:
        angle = np.linspace(0, 0.5, n)
        q[:, 3:7] = np.column_stack((np.cos(angle / 2), 0 * angle, np.sin(angle / 2), 0 * angle))
    one = np.ones(n, dtype=np.int64)
    v, tau = rng.normal(size=(n, mechanism.nv)), rng.normal(size=(n, mechanism.nu))
    gap = np.full(n, 1e-4 if mechanism.floating_base else np.inf)
    t = 1e-3 * np.arange(n)
    return Log.from_chunks(mechanism, 1e-3, [Chunk(t, q, v, tau, one, one, 0 * t, gap)])


def titles(figure: Figure) -> list[str]:
    found = []
    for ax in figure.axes:
        legend = ax.get_legend()
        found.append(ax.get_title() or (legend.get_title().get_text() if legend else ""))
    return [title for title in found if title]


def lines(figure: Figure, axes: int) -> list[str]:
    return [str(line.get_label()) for line in figure.axes[axes].get_lines()]


QUADRUPED = [
    f"{leg}_{part}_joint" for leg in ("FL", "FR", "RL", "RR") for part in ("hip", "thigh", "calf")
]


def test_the_legs_of_a_quadruped_are_compared_joint_by_joint() -> None:
    figure = plot_log(log_of(robot(QUADRUPED, floating=True)))
    assert titles(figure)[:3] == ["hip", "thigh", "calf"]
    assert lines(figure, 0) == ["FL", "FR", "RL", "RR"]
    assert titles(figure)[3:] == ["base height", "base tilt", "smallest gap to the ground"]
    labels = [ax.get_ylabel() for ax in figure.axes]
    for label in ("position [rad]", "velocity [rad/s]", "torque [N m]", "[m]", "[deg]", "[mm]"):
        assert label in labels
    assert figure.get_suptitle() == "tester: 0.05 s, sampled every 1 ms"


def test_tilt_is_the_angle_from_the_vertical() -> None:
    figure = plot_log(log_of(robot([], floating=True)))
    tilt = next(ax for ax in figure.axes if ax.get_title() == "base tilt")
    np.testing.assert_allclose(
        tilt.get_lines()[0].get_ydata(), np.degrees(np.linspace(0, 0.5, 50)), atol=1e-12
    )


def test_an_arm_goes_into_one_column_with_its_joints_in_order() -> None:
    names = [f"arm_joint{k}" for k in range(1, 8)]
    figure = plot_log(log_of(robot(names)))
    assert len(figure.axes) == 3
    assert lines(figure, 0) == names


def test_joints_with_different_units_share_no_panel() -> None:
    bodies = (Body("a", 1.0, np.eye(3)), Body("b", 1.0, np.eye(3)))
    mixed = Mechanism(
        "crane",
        bodies,
        (Joint("slew", "revolute", None, "a"), Joint("lift", "prismatic", "a", "b")),
    )
    figure = plot_log(log_of(mixed))
    assert [lines(figure, k) for k in range(2)] == [["slew"], ["lift"]]
    labels = [ax.get_ylabel() for ax in figure.axes]
    assert "position [m]" in labels
    assert "torque [N]" in labels


def test_passive_joints_have_no_torque() -> None:
    ball = Mechanism(
        "ball",
        (Body("a", 1.0, np.eye(3)),),
        (Joint("socket", "spherical", None, "a", actuated=False),),
    )
    figure = plot_log(log_of(ball))
    assert len(figure.axes) == 2
    assert lines(figure, 0) == ["socket.qw", "socket.qx", "socket.qy", "socket.qz"]
    assert lines(figure, 1) == ["socket.wx", "socket.wy", "socket.wz"]
    # Other names than in the panel above, so they are told there.
    assert figure.axes[1].get_legend() is not None


def test_many_joints_stay_within_a_page() -> None:
    figure = plot_log(log_of(robot([f"j{k}" for k in range(60)])))
    assert len(figure.axes) <= 18
    drawn = sum(len(ax.get_lines()) for ax in figure.axes)
    assert drawn == 180


def test_joints_are_chosen_by_name() -> None:
    figure = plot_log(log_of(robot(QUADRUPED)), joints="^F[LR]_calf")
    assert sorted(lines(figure, 0)) == ["FL_calf", "FR_calf"]


def test_a_long_log_keeps_its_peaks() -> None:
    log = log_of(robot(["hinge"]), n=200_000)
    log.q[123_456, 0] = 99.0
    line = plot_log(log).axes[0].get_lines()[0]
    y = np.asarray(line.get_ydata())
    assert len(y) < 1.1 * POINTS
    assert y.max() == 99.0
    assert y.min() == log.q.min()


def test_a_log_without_units_or_name(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    log_of(robot(["hinge"])).save(path)
    figure = plot_log(Log.load(path))
    assert "position [rad or m]" in [ax.get_ylabel() for ax in figure.axes]
    assert figure.get_suptitle() == "0.05 s, sampled every 1 ms"


def test_a_joint_that_closes_a_loop_has_torques_only() -> None:
    tree = robot(["crank", "rocker"])
    loop = Joint("closing", "revolute", "link_0", "link_1")
    figure = plot_log(log_of(Mechanism("loop", tree.bodies, (*tree.joints, loop))))
    shown = [ax.get_legend() for ax in figure.axes if ax.get_legend()]
    said = [[text.get_text() for text in legend.get_texts()] for legend in shown]
    assert said == [["crank", "rocker"], ["closing"]]


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_written_without_a_display(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    path = tmp_path / f"run{suffix}"
    plot_log(log_of(robot(QUADRUPED, floating=True)), path)
    start = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}[suffix]
    assert path.read_bytes().startswith(start)


def test_errors(tmp_path: Path) -> None:
    log = log_of(robot(["hinge"]))
    with pytest.raises(OptionError, match="no joint matches 'knee'"):
        plot_log(log, joints="knee")
    with pytest.raises(OptionError, match="not a regular expression"):
        plot_log(log, joints="[")
    with pytest.raises(OptionError, match=r"'\.txt'"):
        plot_log(log, tmp_path / "run.txt")
    with pytest.raises(LogError, match="cannot be written"):
        plot_log(log, tmp_path / "nowhere" / "run.png")
    with pytest.raises(LogError, match="no samples"):
        plot_log(log_of(robot(["hinge"]), n=0))


def test_limits_are_drawn_where_a_joint_comes_near_them() -> None:
    near = Joint("near", "revolute", None, "a", lower=-3.5, upper=50.0, effort_limit=1e3)
    log = log_of(Mechanism("limited", (Body("a", 1.0, np.eye(3)),), (near,)))
    log.q[:, 0] = np.linspace(-3.0, 3.0, len(log))
    position, velocity, torque = plot_log(log).axes
    (limit,) = position.get_lines()[1:]
    assert set(limit.get_ydata()) == {-3.5}
    assert limit.get_linestyle() != "-"
    assert "limit" in [text.get_text() for text in position.texts]
    assert len(velocity.get_lines()) == len(torque.get_lines()) == 1
    # A log that was read has no robot, and is drawn without.
    assert len(plot_log(Log(log.info, log.samples)).axes[0].get_lines()) == 1


def test_a_robot_with_other_joints_has_no_limits_to_draw() -> None:
    log = log_of(robot(["hinge"]))
    assert len(plot_log(log, robot=robot(["elbow"])).axes[0].get_lines()) == 1


def test_contact_phases_are_told_body_by_body() -> None:
    import robosim

    sim = robosim.Simulation(robosim.load("cube"))
    q = sim.q.copy()
    q[2] += 0.1
    sim.set_state(q)
    log = sim.run(0.4)
    figure = plot_log(log)
    phases = next(ax for ax in figure.axes if ax.get_title() == "touching the ground")
    (bars,) = phases.collections
    first = bars.get_paths()[0].get_extents()
    # It falls 0.1 m in sqrt(2 h / g), and stays down.
    assert first.x0 == pytest.approx(np.sqrt(0.2 / 9.81), abs=2e-3)
    assert first.x1 == pytest.approx(0.4, abs=2e-3)
    assert [label.get_text() for label in phases.get_yticklabels()] == ["cube"]


def test_ball_joints_share_panels_by_their_lines() -> None:
    """Nine of four numbers each: no legend names more than can be told apart."""
    figure = plot_log(log_of(robot([f"j{k}" for k in range(9)], kind="spherical")))
    counts = [len(ax.get_lines()) for ax in figure.axes if ax.get_lines()]
    assert sum(counts) == 9 * (4 + 3 + 3)
    assert max(counts) <= 8


def test_a_legend_of_very_many_names_some() -> None:
    figure = plot_log(log_of(robot([f"j{k}" for k in range(180)])))
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert len(labels) == 24
    assert labels[-1] == "and 7 more"


def test_a_single_sample_can_be_seen() -> None:
    figure = plot_log(log_of(robot(["hip"]), n=1))
    assert figure.axes[0].get_lines()[0].get_marker() == "."


HUMANOID = [
    f"{side}_{part}_joint"
    for limb in (("hip_pitch", "hip_roll", "hip_yaw", "knee"), ("shoulder_pitch", "elbow", "wrist"))
    for side in ("left", "right")
    for part in limb
] + ["waist_yaw_joint"]


def test_left_and_right_limbs_stand_beside_each_other_with_their_own_limits() -> None:
    mechanism = robot(HUMANOID)
    joints = tuple(
        replace(joint, lower=low, upper=high)
        for joint in mechanism.joints
        for low, high in [(-4.0, 0.5) if joint.name == "left_hip_roll_joint" else (-0.5, 4.0)]
    )
    mechanism = replace(mechanism, joints=joints)
    figure = plot_log(log_of(mechanism))
    assert titles(figure) == ["left", "right", "left", "right"]
    tops = figure.axes[:5]
    legs = ["hip_pitch", "hip_roll", "hip_yaw", "knee"]
    shown = [[n for n in lines(figure, k) if not n.startswith("_")] for k in range(5)]
    assert shown == [legs, legs, *[["shoulder_pitch", "elbow", "wrist"]] * 2, ["waist_yaw"]]
    for left, right in zip(*(tops[k].get_lines()[:4] for k in (0, 1)), strict=True):
        assert left.get_color() == right.get_color()
    drawn = [
        {float(line.get_ydata()[0]) for line in ax.get_lines() if str(line.get_label())[0] == "_"}
        for ax in tops[:2]
    ]
    assert drawn[0] >= {-4.0, -0.5, 0.5, 4.0}
    assert drawn[1] == {-0.5, 4.0}  # without those of the left hip


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (["LHip", "LToe", "RHip", "RToe", "Hat"], [["LHip", "LToe"], ["RHip", "RToe"], ["Hat"]]),
        (["a_L_1", "a_L_2", "a_R_1", "a_R_2"], [["a_L_1", "a_L_2"], ["a_R_1", "a_R_2"]]),
        (["r_hand_l_finger", "r_hand_r_finger"], [["r_hand_l_finger", "r_hand_r_finger"]]),
        (["left_a", "b"], [["left_a", "b"]]),
    ],
)  # fmt: skip
def test_sides_are_told_by_names(names: list[str], columns: list[list[str]]) -> None:
    found = groups({name: [f"{name}.position"] for name in names}, lambda joint: "rad")
    assert [group for _, group in found] == columns


def test_passive_joints_of_limbs_have_columns_of_their_own() -> None:
    """Their unit differs, as they have no torque: legs, arms and fingers are three pairs."""
    parts = {"HIP": "P R Y", "KNEE": "P", "ANKLE": "P R", "ARM": "1 2 3 4 5 6 7", "THUMB": "1 2"}
    sides = {
        side: [f"{side}_{part}_{k}" for part, ks in parts.items() for k in ks.split()]
        for side in "RL"
    }
    names = [*sides["R"][:6], *sides["L"][:6], "WAIST", "NECK", *sides["R"][6:], *sides["L"][6:]]
    found = groups({name: [f"{name}.position"] for name in names}, lambda j: "THUMB" in j and "1")
    assert [title for title, _ in found] == ["left", "right"] * 3 + [""]
    assert [group for _, group in found[1::2]] == [
        sides["R"][:6], sides["R"][6:13], sides["R"][13:]
    ]  # fmt: skip


def test_many_joints_of_limbs_stay_within_a_page() -> None:
    names = [f"{side}_{k}" for side in ("left", "right") for k in range(40)]
    found = groups({name: [f"{name}.position"] for name in names}, lambda joint: "rad")
    assert len(found) <= MAX_GROUPS
    assert sorted(name for _, group in found for name in group) == sorted(names)
