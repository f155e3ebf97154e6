"""Mesh files: scale, units, mirrors, colours, textures; and that they are kept once."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
import trimesh
from PIL import Image
from urdf_text import INERTIAL, link_xml

import robosim
from robosim.loaders import disk_cache, meshes
from robosim.loaders.packages import FileFinder

BOX = trimesh.creation.box((1, 2, 3))


def visual(file, scale="", tag="visual", material=""):
    scale = scale and f' scale="{scale}"'
    return f'<{tag}><geometry><mesh filename="{file}"{scale}/></geometry>{material}</{tag}>'


def refused(write, file, said):
    """What is wrong with a mesh stops a load where it can touch, and is told where it is drawn."""
    with pytest.raises(robosim.LoadError, match=said):
        load_shapes(write, visual(file, tag="collision"))
    robot = robosim.load(write(link_xml("a", INERTIAL + visual(file))))
    assert robot.bodies[0].visuals == ()
    (warning,) = (text for text in robot.warnings if "not drawn" in text)
    assert re.search(said, warning)


def load_shapes(write, *elements, **options):
    body = robosim.load(write(link_xml("a", INERTIAL + "".join(elements)), **options)).bodies[0]
    return body.visuals, body.collisions


def extent(shape):
    return np.ptp(shape.vertices, axis=0)


def volume(shape):
    return trimesh.Trimesh(shape.vertices, shape.faces).volume


def collada(tmp_path, unit="", up="Z_UP", name="x.dae"):
    text = trimesh.exchange.dae.export_collada(BOX).decode()
    text = text.replace("<up_axis>Y_UP</up_axis>", f"{unit}<up_axis>{up}</up_axis>")
    (tmp_path / name).write_text(text)
    return name


@pytest.mark.parametrize("suffix", ["stl", "obj", "dae", "glb"])
def test_formats(write, tmp_path, suffix):
    (tmp_path / f"x.{suffix}").write_bytes(BOX.export(file_type=suffix, file_obj=None)
        if suffix != "obj" else BOX.export(file_type="obj").encode())  # fmt: skip
    ((shape,), ()) = load_shapes(write, visual(f"x.{suffix}"))
    np.testing.assert_allclose(extent(shape), (1, 2, 3), atol=1e-6)
    assert volume(shape) == pytest.approx(6)


@pytest.mark.parametrize("scale", ["2 3 4", "-2 3 4", "-2 -3 -4"])
def test_scale_and_mirrors_keep_the_outside_outside(write, tmp_path, scale):
    BOX.export(tmp_path / "x.stl")
    ((shape,), ()) = load_shapes(write, visual("x.stl", scale))
    np.testing.assert_allclose(extent(shape), (2, 6, 12), atol=1e-6)
    assert volume(shape) == pytest.approx(6 * 24)


def test_one_number_scales_all_axes(write, tmp_path):
    BOX.export(tmp_path / "x.stl")
    ((shape,), ()) = load_shapes(write, visual("x.stl", "0.001"))
    np.testing.assert_allclose(extent(shape), (0.001, 0.002, 0.003), atol=1e-9)


def test_collada_units_scale_and_the_up_axis_is_ignored(write, tmp_path):
    for up in ("Z_UP", "Y_UP", "X_UP"):
        collada(tmp_path, '<unit name="inch" meter="0.0254"/>', up)
        ((shape,), ()) = load_shapes(write, visual("x.dae"))
        np.testing.assert_allclose(extent(shape), np.multiply((1, 2, 3), 0.0254), atol=1e-6)


@pytest.mark.parametrize("unit", ["0", "-1", "nan", "wide"])
def test_a_collada_unit_must_be_a_length(write, tmp_path, unit):
    collada(tmp_path, f'<unit name="x" meter="{unit}"/>')
    refused(write, "x.dae", rf"x\.dae.*<unit>.*'{unit}'")


def test_a_mesh_is_kept_once(write, tmp_path):
    collada(tmp_path)
    visuals, collisions = load_shapes(
        write, visual("x.dae"), visual("x.dae"), visual("x.dae", tag="collision"),
        visual("x.dae", "2 2 2"),
    )  # fmt: skip
    assert visuals[0].vertices is visuals[1].vertices
    assert visuals[0].vertices is collisions[0].vertices
    assert visuals[0].faces is visuals[1].faces
    assert visuals[2].vertices is not visuals[0].vertices
    with pytest.raises(ValueError, match="read-only"):
        visuals[0].vertices[0, 0] = 1


def test_a_mesh_of_several_parts_collides_as_one(write, tmp_path):
    scene = trimesh.Scene([BOX, BOX.copy().apply_translation((5, 0, 0))])
    (tmp_path / "x.dae").write_bytes(
        trimesh.exchange.dae.export_collada(list(scene.geometry.values()))
    )
    visuals, (collision,) = load_shapes(write, visual("x.dae"), visual("x.dae", tag="collision"))
    assert len(visuals) == 2
    np.testing.assert_allclose(extent(collision), (6, 2, 3), atol=1e-6)
    assert volume(collision) == pytest.approx(12)


def test_colour_of_the_mesh_unless_the_urdf_says_one(write, tmp_path):
    box = BOX.copy()
    material = trimesh.visual.material.PBRMaterial(baseColorFactor=[255, 0, 51, 255])
    box.visual = trimesh.visual.TextureVisuals(material=material)
    (tmp_path / "x.dae").write_bytes(trimesh.exchange.dae.export_collada(box))
    green = '<material name="g"><color rgba="0 1 0 1"/></material>'
    (own, urdf), () = load_shapes(write, visual("x.dae"), visual("x.dae", material=green))
    np.testing.assert_allclose(own.rgba, (1, 0, 0.2, 1), atol=1 / 255)
    assert urdf.rgba == (0, 1, 0, 1)


def test_texture_and_its_coordinates_are_carried(write, tmp_path):
    buffer = io.BytesIO()
    Image.new("RGB", (2, 2), (9, 8, 7)).save(buffer, "PNG")
    (tmp_path / "t.png").write_bytes(buffer.getvalue())
    (tmp_path / "x.mtl").write_text("newmtl m\nKd 1 1 1\nmap_Kd t.png\n")
    (tmp_path / "x.obj").write_text(
        "mtllib x.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl m\nf 1/1 2/2 3/3\n"
    )
    green = '<material name="g"><color rgba="0 1 0 1"/></material>'
    ((shape,), ()) = load_shapes(write, visual("x.obj", material=green))
    assert shape.texture == buffer.getvalue()
    np.testing.assert_allclose(shape.uv, shape.vertices[:, :2])
    assert shape.rgba == (1, 1, 1, 1)


def test_broken_looks_keep_the_shape(write, tmp_path):
    name = collada(tmp_path)
    text = (tmp_path / name).read_text()
    start, end = text.index("<library_effects>"), text.index("</library_effects>")
    (tmp_path / name).write_text(text[:start] + "<library_effects>" + text[end:])
    ((shape,), ()) = load_shapes(write, visual(name))
    assert volume(shape) == pytest.approx(6)


def test_gltf_with_a_buffer_beside_it(write, tmp_path):
    for name, content in trimesh.Scene([BOX]).export(file_type="gltf").items():
        (tmp_path / name).write_bytes(content)
    ((shape,), ()) = load_shapes(write, visual("model.gltf"))
    assert volume(shape) == pytest.approx(6)


def test_binary_and_text_stl_are_the_same(write, tmp_path):
    ball = trimesh.creation.icosphere(subdivisions=2)
    ball.export(tmp_path / "binary.stl")
    (tmp_path / "text.stl").write_text(ball.export(file_type="stl_ascii"))
    ((binary, text), ()) = load_shapes(write, visual("binary.stl"), visual("text.stl"))
    assert len(binary.vertices) == len(ball.vertices)  # corners are shared again
    corners = binary.vertices[binary.faces]
    np.testing.assert_allclose(corners, ball.vertices[ball.faces], atol=1e-6)
    np.testing.assert_allclose(text.vertices[text.faces], corners, atol=1e-6)


def test_an_stl_with_a_number_that_is_none_is_refused(write, tmp_path):
    data = bytearray(BOX.export(file_type="stl"))
    data[100:104] = np.float32(np.nan).tobytes()
    (tmp_path / "x.stl").write_bytes(data)
    refused(write, "x.stl", r"x\.stl.*finite")


def test_a_triangle_without_corners_is_refused(write, tmp_path):
    data = bytearray(BOX.export(file_type="glb"))
    last = data.index(np.array(BOX.faces, np.uint32).tobytes())
    data[last : last + 4] = (5000).to_bytes(4, "little")
    (tmp_path / "x.glb").write_bytes(data)
    refused(write, "x.glb", r"x\.glb.*not one of its 8")


class TestBounds:
    def test_a_file_that_is_too_large_is_not_read(self, write, tmp_path, monkeypatch):
        BOX.export(tmp_path / "x.stl")
        monkeypatch.setattr(meshes, "LARGEST_FILE", 600)
        refused(write, "x.stl", r"x\.stl.*the most that is read")

    def test_too_many_triangles(self, write, tmp_path, monkeypatch):
        collada(tmp_path)
        monkeypatch.setattr(meshes, "MOST_FACES", 11)
        refused(write, "x.dae", "12 triangles")

    @pytest.mark.parametrize("depth", [40, 3000])
    def test_nodes_that_show_each_other_over_and_over(self, write, tmp_path, depth):
        """2^40 boxes by forty nodes that each show the next one twice; and a long chain."""
        name = collada(tmp_path)
        text = (tmp_path / name).read_text()
        times = 2 if depth == 40 else 1
        nodes = "".join(
            f'<node id="n{k}">' + f'<instance_node url="#n{k + 1}"/>' * times + "</node>"
            for k in range(depth)
        )
        library = f"<library_nodes>{nodes}<node id='n{depth}'/></library_nodes>"
        text = text.replace("<library_visual_scenes>", f"{library}<library_visual_scenes>")
        start = text.index("<node", text.index("<visual_scene"))
        text = text[:start] + '<node><instance_node url="#n0"/></node>' + text[start:]
        (tmp_path / name).write_text(text)
        refused(write, name, "nodes or more")


class TestDisk:
    """What was read from a mesh is kept under the hash of the file and of those beside it."""

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.setattr(meshes, "_WORTH_KEEPING", 0)

    @pytest.fixture
    def textured(self, tmp_path):
        Image.new("RGB", (2, 2), (9, 8, 7)).save(tmp_path / "t.png")
        (tmp_path / "x.mtl").write_text("newmtl m\nKd 1 1 1\nmap_Kd t.png\n")
        (tmp_path / "x.obj").write_text(
            "mtllib x.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl m\n"
            "f 1/1 2/2 3/3\n"
        )
        return tmp_path / "x.obj"

    @staticmethod
    def entries():
        return sorted(disk_cache.folder().iterdir())

    def test_the_second_time_nothing_is_parsed(self, write, tmp_path, textured, monkeypatch):
        shapes = [visual("x.obj", "1 2 -3"), visual("x.dae", tag="collision")]
        collada(tmp_path, '<unit meter="0.5"/>')
        first = load_shapes(write, *shapes)
        monkeypatch.setattr(meshes, "_parse", lambda *_: pytest.fail("parsed again"))
        second = load_shapes(write, *shapes)
        for (a,), (b,) in zip(first, second, strict=True):
            np.testing.assert_array_equal(a.vertices, b.vertices)
            np.testing.assert_array_equal(a.faces, b.faces)
            assert a.faces.dtype == b.faces.dtype
            assert (a.rgba, a.texture) == (b.rgba, b.texture)
        np.testing.assert_array_equal(first[0][0].uv, second[0][0].uv)

    def test_a_texture_that_changed_is_noticed(self, write, tmp_path, textured):
        ((first,), ()) = load_shapes(write, visual("x.obj"))
        Image.new("RGB", (2, 2), (1, 2, 3)).save(tmp_path / "t.png")
        ((second,), ()) = load_shapes(write, visual("x.obj"))
        assert first.texture != second.texture == (tmp_path / "t.png").read_bytes()

    def test_the_name_of_the_file_does_not_matter(self, write, tmp_path):
        for name in ("a.stl", "b.stl"):
            BOX.export(tmp_path / name)
        load_shapes(write, visual("a.stl"), visual("b.stl"))
        assert len(self.entries()) == 1

    @pytest.mark.parametrize("spoilt", [b"", b"no archive", None])
    def test_a_broken_entry_is_read_again(self, write, tmp_path, spoilt):
        BOX.export(tmp_path / "x.stl")
        load_shapes(write, visual("x.stl"))
        (entry,) = self.entries()
        if spoilt is None:  # an archive with faces that have no vertices
            arrays = dict(np.load(entry))
            np.savez(entry, **(arrays | {"faces0": arrays["faces0"] + 1}))
        else:
            entry.write_bytes(spoilt)
        ((shape,), ()) = load_shapes(write, visual("x.stl"))
        assert volume(shape) == pytest.approx(6)


def test_files_far_from_the_mesh_are_not_read(write, tmp_path):
    (tmp_path / "far").mkdir()
    Image.new("RGB", (2, 2), (9, 8, 7)).save(tmp_path / "far" / "t.png")
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "x.obj").write_text(
        "mtllib x.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl m\nf 1/1 2/2 3/3\n"
    )
    for address in ("../../far/t.png", str(tmp_path / "far" / "t.png")):
        (folder / "x.mtl").write_text(f"newmtl m\nKd 1 1 1\nmap_Kd {address}\n")
        ((shape,), ()) = load_shapes(write, visual("a/b/x.obj"))
        assert shape.texture is None
    (tmp_path / "far" / "t.png").rename(tmp_path / "a" / "t.png")
    (folder / "x.mtl").write_text("newmtl m\nKd 1 1 1\nmap_Kd ../t.png\n")
    ((shape,), ()) = load_shapes(write, visual("a/b/x.obj"))
    assert shape.texture == (tmp_path / "a" / "t.png").read_bytes()


class TestAddresses:
    def test_relative_absolute_and_file(self, write, tmp_path):
        (tmp_path / "meshes").mkdir()
        mesh = tmp_path / "meshes" / "a b.stl"
        BOX.export(mesh)
        for address in ("meshes/a b.stl", str(mesh), f"file://{mesh}", mesh.as_uri()):
            ((shape,), ()) = load_shapes(write, visual(address))
            assert volume(shape) == pytest.approx(6)

    def test_packages(self, write, tmp_path, monkeypatch):
        """Argument, then ROS_PACKAGE_PATH, then the folders above the file."""
        monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
        file = tmp_path / "above" / "pkg" / "urdf" / "r.urdf"
        for place in ("argument", "environment", "above"):
            path = tmp_path / place / "pkg" / "x.stl"
            path.parent.mkdir(parents=True)
            path.touch()
        file.parent.mkdir()

        def found(*directories):
            finder = FileFinder(file, directories)
            path = finder.find("package://pkg/x.stl", "link 'a'")
            assert finder.used == [path.parent.parent]
            return path.parent.parent.name

        assert found() == "above"
        monkeypatch.setenv("ROS_PACKAGE_PATH", f":{tmp_path / 'environment'}")
        assert found() == "environment"
        assert found(tmp_path / "argument") == "argument"
        assert found(tmp_path / "argument" / "pkg") == "argument"  # the package itself

    def test_package_dirs_are_kept(self, write, tmp_path):
        (tmp_path / "here" / "pkg").mkdir(parents=True)
        BOX.export(tmp_path / "here" / "pkg" / "x.stl")
        path = write(link_xml("a", INERTIAL + visual("package://pkg/x.stl")))
        robot = robosim.load(path, package_dirs=[tmp_path / "here"])
        assert robot.package_dirs == (str(tmp_path / "here"),)
        assert robosim.load(path, package_dirs=tmp_path / "here").package_dirs == robot.package_dirs
