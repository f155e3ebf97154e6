"""Documents that are no XML, and that other robot programs read: they are read and told."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from urdf_text import INERTIAL, LIMIT, joint_xml, link_xml, robot_xml

import robosim
from robosim import LoadError, xml_repairs

MJCF = '<mujoco><worldbody><body name="a"><joint name="j"/>\n<geom size=".1"/></body></worldbody>'
MJCF += "</mujoco>"
URDF = robot_xml(link_xml("world", ""), link_xml("a", INERTIAL),
                 joint_xml("j", "world", "a", inside=LIMIT))  # fmt: skip
URDF = URDF.removeprefix('<?xml version="1.0"?>')
LATIN = "<!-- \xe9 -->"
# What is put before the root element, and the encoding of the file.
BEFORE = {
    "version 0.0": ('<?xml version="0.0" ?>', "utf-8"),
    "version 2.0": ('<?xml version="2.0"?>', "utf-8"),
    "no quotes": ("<?xml version=1.0?>", "utf-8"),
    "no version": ("<?xml ?>", "utf-8"),
    "wrong order": ('<?xml encoding="utf-8" version="1.0"?>', "utf-8"),
    "unknown encoding": ('<?xml version="1.0" encoding="foo"?>', "utf-8"),
    "other encoding": ('<?xml version="1.0" encoding="utf-16"?>', "utf-8"),
    "stated wrongly": ('<?xml version="1.0" encoding="utf-8"?>' + LATIN, "latin-1"),
    "not stated": (LATIN, "latin-1"),
    "standalone": ('<?xml version="1.0" standalone="maybe"?>', "utf-8"),
    "space before": ('\n  <?xml version="1.0"?>', "utf-8"),
    "words before": ("hello ", "utf-8"),
    "hyphens": ("<!-- a -- b -->", "utf-8"),
    "more hyphens": ("<!--- a --->", "utf-8"),
}
# What is replaced by what.
INSIDE = {
    "ampersand in a name": ('"a"', '"a&b"'),
    "unknown entity": ('"a"', '"a&foo;"'),
    "bracket in a name": ('"a"', '"a<b"'),
    "control character": ('"a"', '"a\x01"'),
    "reference to none": ('"a"', '"a&#1;"'),
    "reference beyond": ('"a"', '"a&#xFFFFFFFF;"'),
    "ampersand in text": ("<body", " a & b <body"),
    "end of cdata": ("<body", " ]]> <body"),
    "space in a tag": ("<joint", "< joint"),
    "no space": ('name="j"', 'name="j"pos="0 0 0"'),
    "second root": ("</mujoco>", "</mujoco><mujoco/>"),
    "end without begin": ("</mujoco>", "</mujoco></x>"),
    "null behind": ("</mujoco>", "</mujoco>\0"),
}
REFUSED = {
    "cut off": ("</body></worldbody></mujoco>", ""),
    "other tag": ("</body>", "</bod>"),
    "no quotes": ('"j"', "j"),
    "no value": ("<joint", "<joint limited"),
    "twice": ('name="j"', 'name="j" name="k"'),
    "digit": ('<joint name="j"/>', "<1x/>"),
}


def told(path: Path) -> list[str]:
    robot = robosim.load(path, ground=False)
    assert (robot.nv, robot.bodies[0].mass > 0) == (1, True)
    return [text for text in robot.warnings if "no XML" in text]


@pytest.mark.parametrize("case", BEFORE)
@pytest.mark.parametrize("suffix", [".urdf", ".xml"])
def test_what_comes_before_the_root(tmp_path, case, suffix):
    before, encoding = BEFORE[case]
    path = tmp_path / f"r{suffix}"
    path.write_bytes((before + (URDF if suffix == ".urdf" else MJCF)).encode(encoding))
    (warning,) = told(path)
    assert f"r{suffix} is no XML in line {1 + before.count(chr(10))} (" in warning


@pytest.mark.parametrize("case", INSIDE)
def test_what_is_inside(tmp_path, case):
    path = tmp_path / "r.xml"
    path.write_text(MJCF.replace(*INSIDE[case]))
    assert len(told(path)) == 1
    mujoco = pytest.importorskip("mujoco")
    assert mujoco.MjModel.from_xml_path(str(path)).nv == 1


@pytest.mark.parametrize("case", REFUSED)
def test_what_nobody_reads_is_refused(tmp_path, case):
    path = tmp_path / "r.xml"
    path.write_text(MJCF.replace(*REFUSED[case]))
    with pytest.raises(LoadError, match="malformed XML"):
        robosim.load(path)


def test_lines_stay_what_they_are(tmp_path):
    path = tmp_path / "r.xml"
    comment = "<?xml version='0.0'?>\n<!-- a\n-- b -->\n"
    path.write_text(comment + MJCF.replace('size=".1"', 'size="x"'))
    with pytest.raises(LoadError, match="'x'") as caught:
        robosim.load(path)
    assert caught.value.line == 5


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_no_document_type_comes_in_by_that_way(tmp_path, encoding):
    laughs = '<!DOCTYPE mujoco [<!ENTITY a "aaaaaaaa"><!ENTITY b SYSTEM "file:///etc/hostname">]>'
    path = tmp_path / "r.xml"
    text = f'<?xml version="0.0"?>{laughs}' + MJCF.replace('"a"', '"&a;&b;"')
    path.write_bytes(text.encode(encoding))
    with pytest.raises(LoadError, match=r"DOCTYPE|malformed"):
        robosim.load(path)


@pytest.mark.parametrize(
    "text", ["<!--", "< ", '<a b="', '<a "', "<a '\"", "&", "&#", '<a""\'', "&#x1"]
)
def test_repairs_take_no_longer_than_the_text_is_long(text):
    start = time.perf_counter()
    xml_repairs.repaired((text * 400_000).encode())
    assert time.perf_counter() - start < 5


NAMESPACES = {
    "on the root": (' xmlns="http://drake.mit.edu"', ""),
    "on an element": ("", ' xmlns="http://example.org"'),
    "of another": (' xmlns="http://a.org" xmlns:x="http://b.org"', ""),
}


@pytest.mark.parametrize("case", NAMESPACES)
def test_default_namespaces(tmp_path, case):
    on_root, on_link = NAMESPACES[case]
    path = tmp_path / "r.urdf"
    path.write_text(
        URDF.replace('name="r"', f'name="r"{on_root}').replace("<link", f"<link{on_link}")
    )
    assert robosim.load(path).warnings == ()
    assert robosim.load(path).nv == 1
    path = tmp_path / "r.xml"
    path.write_text(MJCF.replace("<mujoco", f"<mujoco{on_root}"))
    assert robosim.load(path).nv == 1


def test_an_srdf_file_is_read_so_too(tmp_path):
    (tmp_path / "r.urdf").write_text(URDF)
    state = '<group_state name="up" group="g"><joint name="j" value="0.5"/></group_state>'
    (tmp_path / "r.srdf").write_text(
        f'<?xml version="0.0"?><robot name="r" xmlns="http://a.org">{state}</robot>'
    )
    robot = robosim.load(tmp_path / "r.urdf")
    assert robot.configurations["up"] == 0.5
    assert any("r.srdf is no XML" in text for text in robot.warnings)
