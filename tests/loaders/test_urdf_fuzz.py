"""Any URDF gives a robot or an error that names the file: made by Hypothesis, and real ones broken.

`python -m benchmarks.fuzz_loaders` goes on for as long as one likes; what it has found is below.
"""

from __future__ import annotations

import importlib.util
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from urdf_text import INERTIAL, LIMIT, joint_xml, link_xml, robot_xml

import robosim
from robosim import LoadError, ModelError


def fuzzer():
    """The module benchmarks/fuzz_loaders.py, which is not installed."""
    file = Path(__file__).parents[2] / "benchmarks" / "fuzz_loaders.py"
    spec = importlib.util.spec_from_file_location("fuzz_loaders", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def loaded(path):
    """The file that the robot, or the error, says it is from."""
    try:
        return robosim.load(path).source
    except ModelError as error:
        return error.file


NAMES = st.sampled_from(["a", "b", "c", "d", "world", "é", "a b", "", "'"])
NUMBER = st.one_of(
    st.floats(-3, 3).map(repr),
    st.sampled_from(["0", "1", "-1", "nan", "inf", "1e308", "1e-308", "1e999", "x", "", "1 2"]),
)
THREE = st.lists(NUMBER, min_size=3, max_size=3).map(" ".join)


@st.composite
def element(draw, tag, attributes, children=()):
    """An element with any of the attributes, and any of the children."""
    given_ = {name: draw(value) for name, value in attributes.items() if draw(st.integers(0, 9))}
    inside = "".join(draw(child) for child in children if draw(st.integers(0, 5)))
    text = "".join(
        f' {k}="{v}"'.replace("&", "&amp;") if '"' not in v else "" for k, v in given_.items()
    )
    return f"<{tag}{text}>{inside}</{tag}>"


ORIGIN = element("origin", {"xyz": THREE, "rpy": THREE})
POSITIVE = st.one_of(st.floats(0.1, 3).map(repr), NUMBER)
SHAPE = st.one_of(
    element("box", {"size": THREE}),
    element("sphere", {"radius": POSITIVE}),
    element("cylinder", {"radius": POSITIVE, "length": POSITIVE}),
    element("capsule", {"radius": POSITIVE, "length": POSITIVE}),
    element("mesh", {"filename": st.sampled_from(["m.stl", "../x.stl", "package://a/b", ""]),
                     "scale": THREE}),
)  # fmt: skip
INERTIA = dict.fromkeys(("ixx", "iyy", "izz"), POSITIVE) | dict.fromkeys(
    ("ixy", "ixz", "iyz"), st.just("0")
)
LINK_PARTS = (
    st.one_of(
        st.just(INERTIAL),
        element("inertial", {}, (element("mass", {"value": POSITIVE}),
                                 element("inertia", INERTIA), ORIGIN)),
    ),
    element("collision", {}, (element("geometry", {}, (SHAPE,)), ORIGIN)),
    element("visual", {}, (element("geometry", {}, (SHAPE,)), ORIGIN)),
)  # fmt: skip
JOINT_TYPE = st.sampled_from(
    ["revolute", "continuous", "prismatic", "fixed", "floating", "planar", "hinge"]
)
JOINT_PARTS = (
    st.one_of(st.just(LIMIT), element("limit", dict.fromkeys(
        ("lower", "upper", "effort", "velocity"), NUMBER))),
    element("axis", {"xyz": THREE}),
    ORIGIN,
    element("dynamics", {"damping": POSITIVE, "friction": POSITIVE}),
    element("mimic", {"joint": NAMES, "multiplier": NUMBER, "offset": NUMBER}),
    element("safety_controller", {"k_velocity": NUMBER}),
)  # fmt: skip
LOOSE = st.one_of(
    element("loop_joint", {"name": NAMES, "type": JOINT_TYPE}, (
        element("link1", {"link": NAMES, "xyz": THREE, "rpy": THREE}),
        element("link2", {"link": NAMES, "xyz": THREE, "rpy": THREE}),
        element("axis", {"xyz": THREE}),
    )),
    element("gazebo", {"reference": NAMES}, (
        NUMBER.map(lambda text: f"<mu1>{text}</mu1>"),
        NUMBER.map(lambda text: f"<springStiffness>{text}</springStiffness>"),
        st.just("<selfCollide>1</selfCollide>"),
    )),
    element("transmission", {"name": NAMES}),
)  # fmt: skip


@st.composite
def robots(draw):
    """A tree of links and joints, most of it in order."""
    count = draw(st.integers(1, 4))
    names = draw(
        st.lists(NAMES, min_size=count, max_size=count, unique=bool(draw(st.integers(0, 9))))
    )
    parts = []
    for k, name in enumerate(names):
        parts.append(
            link_xml(name, "".join(draw(p) for p in LINK_PARTS if draw(st.integers(0, 3))))
        )
        if k:
            parent = draw(st.one_of(st.sampled_from(names[:k]), NAMES))
            inside = "".join(draw(p) for p in JOINT_PARTS if draw(st.booleans()))
            parts.append(joint_xml(f"j{k}", parent, name, draw(JOINT_TYPE), inside))
    parts += draw(st.lists(LOOSE, max_size=2))
    return robot_xml(*parts)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(robots())
def test_made_by_hypothesis(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_text(text, encoding="utf-8")
        assert loaded(path) is not None


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_real_ones_broken(seed):
    with tempfile.TemporaryDirectory() as folder:
        path = INPUTS.write(seed, Path(folder))
        assert loaded(path) is not None


INPUTS = fuzzer().Inputs("urdf")


def test_what_it_makes_depends_on_the_seed_alone(tmp_path):
    texts = []
    for k in range(2):
        (tmp_path / str(k)).mkdir()
        texts.append(INPUTS.write(7, tmp_path / str(k)).read_bytes())
    assert texts[0] == texts[1]
    assert random.Random("urdf 7").random() != random.Random("urdf 8").random()


BALL = '<geometry><sphere radius="1"/></geometry>'


class TestFound:
    """Regressions: what fuzzing has found."""

    def test_a_path_with_a_null(self, tmp_path):
        with pytest.raises(LoadError):
            robosim.load(tmp_path / "a\0.urdf")

    def test_numbers_whose_products_are_none(self, tmp_path):
        """An inertia of 1e308 overflowed where two of them were added."""
        path = tmp_path / "robot.urdf"
        path.write_text(robot_xml(link_xml("a", INERTIAL.replace('"0.1"', '"1e308"'))))
        with pytest.raises(LoadError, match=r"line 1: link 'a'.*at most 1e\+100, not '1e308'"):
            robosim.load(path)

    def test_a_mass_whose_products_are_none(self, tmp_path):
        """The same in MJCF."""
        path = tmp_path / "robot.xml"
        geom = '<freejoint/><geom type="box" size=".1 .1 .1" mass="1e308"/>'
        path.write_text(f"<mujoco><worldbody><body>{geom}</body></worldbody></mujoco>")
        with pytest.raises(LoadError, match=r"at most 1e\+100, not '1e308'"):
            robosim.load(path)

    @pytest.mark.parametrize(
        ("parts", "said"),
        [
            ([link_xml(f"l{k}", "") for k in range(5001)], "5001 <link>"),
            ([link_xml("a", f"<collision>{BALL}</collision>" * 1001)], "1001 <link/collision>"),
        ],
        ids=["links", "shapes"],
    )
    def test_more_than_any_robot_has(self, tmp_path, parts, said):
        path = tmp_path / "robot.urdf"
        path.write_text(robot_xml(*parts))
        with pytest.raises(LoadError, match=f"has {said}; more than"):
            robosim.load(path)

    def test_a_long_chain_of_fixed_joints_takes_no_more_than_its_length(self, tmp_path):
        """The names of the joints above each link were kept with it: 2 GB for 20 000 links."""
        n = 1000
        links = [link_xml(f"l{k}") for k in range(n)]
        joints = [joint_xml(f"j{k}", f"l{k - 1}", f"l{k}", "fixed", "") for k in range(1, n)]
        path = tmp_path / "robot.urdf"
        path.write_text(robot_xml(*links, *joints, link_xml("tip"), joint_xml("j", "l999", "tip")))
        robot = robosim.load(path)
        assert len(robot.bodies) == 2
        assert robot.joints[1].via == tuple(f"j{k}" for k in range(1, n))
