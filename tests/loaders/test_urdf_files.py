"""Which files a URDF may name: its own, those the user has named, and nothing else."""

from __future__ import annotations

import os

import pytest
import trimesh
from urdf_text import INERTIAL, link_xml, robot_xml

import robosim
from robosim import LoadError
from robosim.loaders.folders import own_folder

BOX = trimesh.creation.box((1, 2, 3))


def mesh(address, tag="collision"):
    return f'<{tag}><geometry><mesh filename="{address}"/></geometry></{tag}>'


def robot_file(folder, *addresses, tag="collision"):
    folder.mkdir(parents=True, exist_ok=True)
    shapes = "".join(mesh(address, tag) for address in addresses)
    path = folder / "robot.urdf"
    path.write_text(robot_xml(link_xml("a", INERTIAL + shapes)))
    return path


def put_mesh(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    BOX.export(path)
    return path


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", "GAZEBO_MODEL_PATH",
                 "GZ_SIM_RESOURCE_PATH"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


class TestOutside:
    """A mesh that exists, in a folder beside the model's."""

    @pytest.fixture
    def secret(self, tmp_path):
        return put_mesh(tmp_path / "secret" / "x.stl")

    @pytest.fixture(params=["relative", "absolute", "file", "link", "linked folder", "encoded"])
    def address(self, request, tmp_path, secret):
        model = tmp_path / "model"
        model.mkdir()
        match request.param:
            case "link":
                (model / "x.stl").symlink_to(secret)
            case "linked folder":
                (model / "meshes").symlink_to(secret.parent)
        return {
            "relative": "../secret/x.stl",
            "absolute": str(secret),
            "file": f"file://{secret}",
            "link": "x.stl",
            "linked folder": "meshes/x.stl",
            "encoded": f"file://{model}/%2e%2e/secret/x.stl",
        }[request.param]

    def test_is_refused(self, tmp_path, address):
        path = robot_file(tmp_path / "model", address)
        with pytest.raises(LoadError, match=r"own folder.*package_dirs") as caught:
            robosim.load(path)
        assert caught.value.file == path
        assert caught.value.line == 1
        assert caught.value.element == "link 'a': <collision>: <mesh>"

    def test_is_read_when_the_user_says_so(self, tmp_path, address, secret):
        path = robot_file(tmp_path / "model", address)
        robot = robosim.load(path, package_dirs=secret.parent)
        assert len(robot.bodies[0].collisions) == 1

    def test_is_read_when_the_environment_says_so(self, tmp_path, address, secret, monkeypatch):
        monkeypatch.setenv("ROS_PACKAGE_PATH", str(secret.parent))
        robot = robosim.load(robot_file(tmp_path / "model", address))
        assert len(robot.bodies[0].collisions) == 1

    def test_is_refused_for_drawing_as_well(self, tmp_path, address):
        with pytest.raises(LoadError, match="own folder"):
            robosim.load(robot_file(tmp_path / "model", address, tag="visual"))


@pytest.mark.parametrize(
    "address",
    ["package://model/../secret/x.stl", "package://../secret/x.stl",
     "package://./../secret/x.stl", "model://../secret/x.stl", "$(find ..)/secret/x.stl"],
)  # fmt: skip
def test_a_package_cannot_be_left(tmp_path, address):
    put_mesh(tmp_path / "secret" / "x.stl")
    with pytest.raises(LoadError, match="out of its package"):
        robosim.load(robot_file(tmp_path / "model", address), package_dirs=tmp_path)


def test_a_folder_beside_it_is_no_package_unless_it_says_so(tmp_path):
    put_mesh(tmp_path / "other" / "meshes" / "x.stl")
    path = robot_file(tmp_path / "model", "package://other/meshes/x.stl")
    with pytest.raises(LoadError, match="none of the package folders"):
        robosim.load(path)
    (tmp_path / "other" / "package.xml").touch()
    robot = robosim.load(path)
    assert robot.package_dirs == (str(tmp_path),)


def test_the_users_own_link_may_lead_anywhere(tmp_path):
    put_mesh(tmp_path / "real" / "x.stl")
    target = robot_file(tmp_path / "real", "x.stl")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "robot.urdf").symlink_to(target)
    put_mesh(tmp_path / "model" / "x.stl")
    assert robosim.load(tmp_path / "model" / "robot.urdf").bodies[0].collisions


@pytest.mark.parametrize(
    "scheme", ["package://pkg/", "model://pkg/", "package:///pkg/", "$(find pkg)/"]
)
def test_names_of_packages(tmp_path, scheme):
    put_mesh(tmp_path / "pkg" / "meshes" / "x.stl")
    path = robot_file(tmp_path / "pkg" / "urdf", f"{scheme}meshes/x.stl")
    robot = robosim.load(path)
    assert robot.bodies[0].collisions
    assert robot.warnings == ()


def test_models_of_gazebo(tmp_path, monkeypatch):
    put_mesh(tmp_path / "models" / "thing" / "x.stl")
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(tmp_path / "models"))
    assert robosim.load(robot_file(tmp_path / "elsewhere", "model://thing/x.stl")).bodies


def test_guesses_are_reported(tmp_path):
    put_mesh(tmp_path / "download-main" / "meshes" / "x.stl")
    path = robot_file(tmp_path / "download-main" / "urdf", "package://pkg/meshes/x.stl")
    (warning,) = robosim.load(path).warnings
    assert "package pkg" in warning
    assert str(tmp_path / "download-main") in warning
    with pytest.raises(LoadError, match=r"strict.*package pkg"):
        robosim.load(path, strict=True)


@pytest.mark.parametrize("address", ["meshes/x.stl", "meshes\\x.stl"])
def test_paths_from_the_top_of_the_package_are_guessed(tmp_path, address):
    put_mesh(tmp_path / "pkg" / "meshes" / "x.stl")
    robot = robosim.load(robot_file(tmp_path / "pkg" / "urdf", address))
    assert robot.bodies[0].collisions
    assert "guessed" in robot.warnings[0]


def test_own_folders(tmp_path):
    package = tmp_path / "pkg"
    for inner in ("urdf", "urdf/variants", "other"):
        (package / inner).mkdir(parents=True)
    assert own_folder(package / "x.urdf") == package
    assert own_folder(package / "urdf" / "x.urdf") == package
    assert own_folder(package / "urdf" / "variants" / "x.urdf") == package
    assert own_folder(package / "other" / "x.urdf") == package / "other"
    (package / "package.xml").touch()
    assert own_folder(package / "other" / "x.urdf") == package
    # What everything lies in belongs to nobody.
    assert own_folder(tmp_path.parents[-2] / "urdf" / "x.urdf") == tmp_path.parents[-2] / "urdf"


def test_a_mesh_that_is_only_drawn_may_be_missing(tmp_path):
    robot = robosim.load(robot_file(tmp_path, "none.stl", "package://no/x.stl", tag="visual"))
    assert robot.bodies[0].visuals == ()
    assert any("not drawn: none.stl, package://no/x.stl" in text for text in robot.warnings)


class TestSpecialFiles:
    @pytest.mark.parametrize("what", ["pipe", "device", "folder"])
    def test_what_never_ends_is_refused(self, tmp_path, what):
        path = tmp_path / "robot.urdf"
        match what:
            case "pipe":
                os.mkfifo(path)
            case "device":
                path.symlink_to("/dev/zero")
            case "folder":
                path.mkdir()
        with pytest.raises(LoadError, match=r"robot\.urdf"):
            robosim.load(path)

    def test_a_file_that_is_too_big(self, tmp_path):
        path = tmp_path / "robot.urdf"
        with path.open("wb") as file:
            file.truncate((16 << 20) + 1)
        with pytest.raises(LoadError, match="more than 16 MB"):
            robosim.load(path)

    def test_a_pipe_in_place_of_a_mesh(self, tmp_path):
        os.mkfifo(tmp_path / "x.stl")
        with pytest.raises(LoadError, match=r"x\.stl"):
            robosim.load(robot_file(tmp_path, "x.stl"))


class TestHints:
    def test_the_folder_that_allows_a_file_holds_the_model_and_others_beside_it(self, tmp_path):
        put_mesh(tmp_path / "package" / "meshes" / "x.stl")
        put_mesh(tmp_path / "package" / "more" / "y.stl")
        names = ("../../meshes/x.stl", "../../more/y.stl")
        path = robot_file(tmp_path / "package" / "models" / "r", *names)
        folder = str(tmp_path / "package")
        with pytest.raises(LoadError) as caught:
            robosim.load(path)
        assert f"package_dirs=['{folder}'] allows that" in caught.value.reason
        assert len(robosim.load(path, package_dirs=[folder]).bodies[0].collisions) == 2

    def test_no_folder_is_proposed_that_is_shared(self, tmp_path, monkeypatch):
        """The home folder holds more than models: that of the mesh alone is proposed."""
        monkeypatch.setenv("HOME", str(tmp_path))
        put_mesh(tmp_path / "meshes" / "x.stl")
        path = robot_file(tmp_path / "r", "../meshes/x.stl")
        with pytest.raises(LoadError) as caught:
            robosim.load(path)
        assert f"package_dirs=['{tmp_path / 'meshes'}']" in caught.value.reason

    def test_folders_of_a_package_are_listed_once(self, tmp_path):
        path = robot_file(tmp_path / "foo" / "urdf", "package://foo/x.stl")
        (tmp_path / "foo" / "package.xml").write_text("<package><name>foo</name></package>")
        with pytest.raises(LoadError) as caught:
            robosim.load(path, package_dirs=[tmp_path / "foo", tmp_path, f"{tmp_path}/./foo/.."])
        folders = caught.value.alternatives
        assert str(tmp_path / "foo") in folders
        assert len(folders) == len(set(folders)) == len(set(map(os.path.normpath, folders)))
