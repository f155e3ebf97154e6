"""What MJCF has: nothing of a file is dropped without a word, and nothing real is cried over."""

from __future__ import annotations

import re

import pytest

import robosim
from robosim.loaders.mjcf.schema import ELEMENTS, UNSEEN

BODY = """<body name="b"><joint name="j" {joint}/><geom size=".1" {geom}/>{more}</body>"""


def warnings(folder, *, joint="", geom="", more="", rest="", **options) -> str:
    body = BODY.format(joint=joint, geom=geom, more=more)
    path = folder / "m.xml"
    path.write_text(f"<mujoco><worldbody>{body}</worldbody>{rest}</mujoco>")
    return "; ".join(robosim.load(path, **options).warnings)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"joint": 'dampnig="1"'}, "MJCF has no such attributes, so they are not read: 'dampnig'"),
        ({"rest": "<default><geom sise='1'/></default>"}, "not read: 'sise' of <geom>"),
        ({"rest": "<contact><pear/></contact>"}, "not read: <pear> in <contact>"),
        ({"more": '<body><geom size=".1" sise="1"/><site sise="1"/></body>'}, "'sise' of <site>"),
        ({"rest": '<option timestp="1"/>'}, "'timestp' of <option>"),
        ({"rest": "<asset><mash name='a'/></asset>"}, "<mash> in <asset>"),
        ({"joint": 'springyield="1 2"'}, "act in MuJoCo, and not here: 'springyield' of <joint>"),
        ({"rest": '<option><flag actuation="disable"/></option>'}, "'actuation' of <flag>"),
    ],
)
def test_what_is_not_read_is_told_by_name(tmp_path, parts, told):
    assert told in warnings(tmp_path, **parts)
    with pytest.raises(robosim.LoadError, match=re.escape(told)):
        warnings(tmp_path, strict=True, **parts)


def test_what_is_told_is_counted(tmp_path):
    told = warnings(tmp_path, geom='sise="1"', more='<geom size=".1" sise="1"/>')
    assert "'sise' of <geom> (2 times)" in told


@pytest.mark.parametrize(
    "parts",
    [
        {"joint": 'springyield="0 0" actuatorgravcomp="false"'},
        {"joint": 'solreflimit=".01 1" margin=".1" user="1 2" group="3"'},
        {"geom": 'solref=".01 1" solimp=".9 .95 .001" rgba="1 0 0 1" fluidshape="ellipsoid"'},
        {"rest": '<visual><map nonsense="1"/></visual><size njmax="5"/><statistic extent="1"/>'},
        {"rest": '<option solver="CG" iterations="5"><flag multiccd="enable"/></option>'},
        {"more": '<camera name="c"/><light dir="0 0 1"/>'},
    ],
)
def test_what_means_nothing_here_is_no_warning(tmp_path, parts):
    assert warnings(tmp_path, **parts) == ""


@pytest.mark.peer
def test_it_has_what_mujoco_has():
    """Every element and attribute of MuJoCo's own schema is known."""
    mujoco = pytest.importorskip("mujoco")
    above: list[str] = []
    missing, seen = [], 0
    for line in mujoco.mj_printSchema(False, True).splitlines():
        start = re.match(r"( *)([a-z_()]+) \([!?*R]\)\s*(.*)$", line)
        if start:
            above = [*above[: len(start[1]) // 3], start[2].removeprefix("(world)")]
        if UNSEEN.intersection(above):
            continue
        here, holder = above[-1], above[-2] if len(above) > 1 else ""
        element = ELEMENTS.get(f"{holder}/{here}") or ELEMENTS[here]
        known = element.read | element.quiet | element.acting
        for word in (start[3] if start else line).split():
            seen += 1
            missing += [] if word in known else [(here, word)]
        if holder not in ("", "mujoco") and here not in ELEMENTS[holder].children:
            missing.append((holder, here))
    assert missing == []
    assert seen > 500
