"""OBJ files whose faces have more than three corners, or that have points alone, as in MuJoCo."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest

import robosim
from robosim.loaders.obj_faces import triangulated

mujoco = pytest.importorskip("mujoco")

MODEL = """<mujoco><asset><mesh name="m" file="m.obj" inertia="{}"/></asset>
<worldbody><body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""
# A cube of which one corner is moved, so that no face beside it is flat.
BENT = """v -0.05 -0.05 -0.05\nv 0.05 -0.05 -0.05\nv 0.05 0.05 -0.05\nv -0.05 0.05 -0.05
v -0.05 -0.05 0.05\nv 0.05 -0.05 0.05\nv 0.05 0.05 0.08\nv -0.05 0.05 0.05
f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"""


def written(folder, text, inertia="exact"):
    (folder / "m.obj").write_text(text)
    (folder / "m.xml").write_text(MODEL.format(inertia))
    return folder / "m.xml"


def both(folder, text, inertia="exact"):
    """(MuJoCo's model, ours) of a mesh file."""
    model = mujoco.MjModel.from_xml_string(MODEL.format(inertia), {"m.obj": text.encode()})
    return model, robosim.load(written(folder, text, inertia))


def masses(model, robot):
    """Masses and principal moments of both."""
    (body,) = robot.bodies
    theirs = (model.body_mass[1], *np.sort(model.body_inertia[1]))
    return (body.mass, *np.linalg.eigvalsh(body.inertia)), theirs


def prism(rng, corners, star, bump):
    """The text of a prism over a random polygon, whose corners are moved out of plane."""
    while True:
        angles = np.sort(rng.uniform(0, 2 * np.pi, corners))
        if np.diff([*angles, angles[0] + 2 * np.pi]).max() < 2.8:
            break
    radii = rng.uniform(0.3, 1.0, corners) if star else np.ones(corners)
    flat = np.c_[radii * np.cos(angles), radii * np.sin(angles)]
    points = np.vstack([np.c_[flat, np.full(corners, z)] for z in (0.5, -0.5)])
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    points = (points + bump * rng.normal(size=points.shape)) @ (turn * np.linalg.det(turn))
    points = points.astype(np.float32) + np.float32(rng.uniform(-1, 1))
    ring = np.arange(corners)
    faces = [ring, ring[::-1] + corners]
    faces += [
        np.array((k, corners + k, corners + n, n))
        for k, n in zip(ring, np.roll(ring, -1), strict=True)
    ]
    text = "".join("v {:.9g} {:.9g} {:.9g}\n".format(*point) for point in points)
    return text + "".join(f"f {' '.join(map(str, face + 1))}\n" for face in faces)


@pytest.mark.parametrize("bump", [0.0, 0.03])
@pytest.mark.parametrize("star", [False, True])
@pytest.mark.parametrize("corners", [4, 5, 6, 8, 11])
def test_faces_are_cut_as_in_mujoco(tmp_path, corners, star, bump):
    """The same triangles in the same order, convex and not, flat and not, where ever the origin."""
    rng = np.random.default_rng(corners)
    for _ in range(8):
        text = prism(rng, corners, star, bump)
        model, _ = both(tmp_path, text, "shell")
        cut = triangulated(text.encode()).decode().splitlines()
        points = np.array([line.split()[1:] for line in cut if line[0] == "v"], dtype=float)
        faces = np.array([line.split()[1:] for line in cut if line[0] == "f"], dtype=int) - 1
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, model.mesh_quat[0])
        theirs = model.mesh_vert @ R.reshape(3, 3).T + model.mesh_pos[0]
        np.testing.assert_allclose(points[faces], theirs[model.mesh_face], atol=1e-5)


@pytest.mark.parametrize("inertia", ["exact", "legacy", "shell", "convex"])
def test_masses_of_bent_quads(tmp_path, inertia):
    ours, theirs = masses(*both(tmp_path, BENT, inertia))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


SPELLINGS = {
    "from the end": lambda text: text.replace("f 5 6 7 8", "f -4 -3 -2 -1"),
    "comment": lambda text: text.replace("f 5 6 7 8", "# the lid\n\tf  5 6 7 8 "),
    "other line ends": lambda text: text.replace("\n", "\r\n"),
    "normals": lambda text: "vn 0 0 1\n" + re.sub(r" (\d)(?=[ \n])", r" \1//1", text),
    "coordinates": lambda text: "vt 0 0\n" + re.sub(r" (\d)(?=[ \n])", r" \1/1", text),
    "both": lambda text: "vn 0 0 1\nvt 0 0\n" + re.sub(r" (\d)(?=[ \n])", r" \1/1/1", text),
    "material": lambda text: "o bent\ng one\nusemtl grey\n" + text,
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_of_faces(tmp_path, spelling):
    ours, theirs = masses(*both(tmp_path, SPELLINGS[spelling](BENT)))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    np.testing.assert_allclose(ours[0], 1.05, rtol=1e-6)


def test_a_face_over_two_lines(tmp_path):
    text = BENT.replace("f 5 6 7 8", "f 5 6 \\\n 7 8")
    assert triangulated(text.encode()) == triangulated(BENT.encode())


def test_triangles_are_not_touched():
    text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3 # four words\n"
    assert triangulated(text) == text


def test_a_corner_that_does_not_exist_is_told(tmp_path):
    with pytest.raises(robosim.LoadError, match=r"m\.obj"):
        robosim.load(written(tmp_path, BENT.replace("f 5 6 7 8", "f 5 6 7 80")))


def test_faces_with_too_many_corners_are_refused(tmp_path):
    many = " ".join(["1"] * 1001)
    with pytest.raises(robosim.LoadError, match="1001 corners"):
        robosim.load(written(tmp_path, BENT + f"f {many}\n"))


@pytest.mark.parametrize("more", ["", "v 0 0 0\n", "p 1 2 3\n", "vn 0 0 1\n"])
def test_points_alone_are_their_convex_hull(tmp_path, more):
    points = "".join(line + "\n" for line in BENT.splitlines() if line[0] == "v") + more
    model, robot = both(tmp_path, points)
    ours, theirs = masses(model, robot)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    (shape,) = robot.bodies[0].collisions
    assert len(shape.faces) == model.nmeshface


@pytest.mark.parametrize("text", ["v 0 0 0\nv 1 0 0\nl 1 2\n", "v 0 0 0\nv 1 0 0\nv 0 1 0\n", ""])
def test_what_has_no_hull_is_refused(tmp_path, text):
    with pytest.raises(robosim.LoadError, match="mesh"):
        robosim.load(written(tmp_path, text))


def test_a_file_of_mujocos_format_without_faces_is_its_convex_hull(tmp_path):
    points = [line.split()[1:] for line in BENT.splitlines() if line[0] == "v"]
    data = struct.pack("<4i", len(points), 0, 0, 0) + np.array(points, dtype="<f4").tobytes()
    text = MODEL.format("exact").replace(".obj", ".msh")
    model = mujoco.MjModel.from_xml_string(text, {"m.msh": data})
    (tmp_path / "m.msh").write_bytes(data)
    (tmp_path / "m.xml").write_text(text)
    ours, theirs = masses(model, robosim.load(tmp_path / "m.xml"))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
