"""Model and mesh files cannot read other files, reach the network or grow without bound."""

from __future__ import annotations

import time

import pytest
from urdf_text import INERTIAL, link_xml, robot_xml

import robosim
from robosim import LoadError

LAUGHS = "".join(
    f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 10)
)  # fmt: skip
DECLARATIONS = {
    "expansion in text": f'<!DOCTYPE robot [<!ENTITY l0 "ha">{LAUGHS}]>',
    "external entity": '<!DOCTYPE robot [<!ENTITY l9 SYSTEM "file:///etc/hostname">]>',
    "external parameter entity": '<!DOCTYPE robot [<!ENTITY % x SYSTEM "x.dtd"> %x; ]>',
    "external subset": '<!DOCTYPE robot SYSTEM "http://127.0.0.1:9/x.dtd">',
    "bare declaration": "<!DOCTYPE robot>",
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("declaration", DECLARATIONS.values(), ids=DECLARATIONS.keys())
@pytest.mark.parametrize("use", ["in text", "in an attribute"])
def test_document_types_are_refused_unread(tmp_path, declaration, use, encoding):
    reference = "&l9;" if "l9" in declaration else ""
    body = f"<note>{reference}</note>" if use == "in text" else link_xml(f"a{reference}")
    text = robot_xml(body).replace('<?xml version="1.0"?>', f'<?xml version="1.0"?>{declaration}')
    path = tmp_path / "robot.urdf"
    path.write_bytes(text.encode(encoding))
    start = time.perf_counter()
    with pytest.raises(LoadError, match="DOCTYPE") as caught:
        robosim.load(path)
    assert caught.value.file == path
    assert time.perf_counter() - start < 5


def test_deep_nesting_is_refused(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(robot_xml("<x>" * 5000 + "</x>" * 5000))
    with pytest.raises(LoadError, match=r"malformed XML.*depth"):
        robosim.load(path)


def test_entities_in_a_mesh_are_refused(tmp_path):
    path = tmp_path / "robot.urdf"
    mesh = '<collision><geometry><mesh filename="x.dae"/></geometry></collision>'
    path.write_text(robot_xml(link_xml("a", INERTIAL + mesh)))
    (tmp_path / "x.dae").write_text(
        '<!DOCTYPE x [<!ENTITY l SYSTEM "file:///etc/hostname">]><COLLADA>&l;</COLLADA>'
    )
    with pytest.raises(LoadError, match=r"x\.dae.*DOCTYPE"):
        robosim.load(path)
