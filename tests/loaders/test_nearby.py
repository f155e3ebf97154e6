"""What is said of a model that does not exist: what there is nearby."""

import re
from pathlib import Path

import pytest

import robosim
from robosim.errors import LoadError


def said(source: object) -> str:
    with pytest.raises(LoadError) as caught:
        robosim.load(source)
    return str(caught.value)


@pytest.fixture
def arms(tmp_path: Path) -> Path:
    """A folder of two arms, with a mesh beside one of them."""
    for name in ("ur3e", "ur5e"):
        (tmp_path / "arms" / name).mkdir(parents=True)
        (tmp_path / "arms" / name / f"{name}.urdf").write_text(f"<robot name='{name}'/>")
    (tmp_path / "arms/ur5e/base.stl").write_text("")
    return tmp_path / "arms"


def test_a_file_of_a_similar_name(arms: Path) -> None:
    path = arms / "ur5e/ur5.urdf"
    there = f"in '{arms / 'ur5e'}'; did you mean 'ur5e.urdf'?"
    assert said(path) == f"{path}: the file does not exist {there}"


def test_models_in_the_folder_where_nothing_is_similar(arms: Path) -> None:
    assert said(arms / "ur5e/zz.urdf").endswith(f"in '{arms / 'ur5e'}', which has ur5e.urdf")
    (arms / "ur5e/ur5e.urdf").unlink()  # a mesh is no model
    assert said(arms / "ur5e/zz.urdf").endswith(f"in '{arms / 'ur5e'}'")


def test_the_folder_that_still_exists(arms: Path) -> None:
    told = said(arms / "ur5/deeper/ur5e.urdf")
    assert told.endswith(
        f"does not exist: there is no 'ur5' in '{arms}'; did you mean 'ur5e' or 'ur3e'?"
    )
    assert said(arms / "panda/panda.urdf").endswith(f"in '{arms}', which has ur3e, ur5e")


def test_a_relative_path_is_told_with_its_folder(
    arms: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(arms)
    assert said("robot.urdf") == f"robot.urdf: the file does not exist in '{arms}'"


def test_the_models_of_a_folder(arms: Path) -> None:
    told = said(arms)
    assert told.endswith(
        f"a folder is called so: give {arms}/ur3e/ur3e.urdf, {arms}/ur5e/ur5e.urdf"
    )
    for k in range(9):
        (arms / f"more{k}.urdf").write_text("<robot/>")
    assert said(arms).endswith("and 5 more")
    empty = arms / "empty"
    empty.mkdir()
    assert said(empty).endswith("give a file")


def test_the_models_of_a_python_package(arms: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(arms.parent)
    package = arms.rename(arms.parent / "some_arms")
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    told = said("some-arms")  # as pip spells it
    assert re.search(r"'some_arms' is a Python package: give .*ur3e\.urdf, .*ur5e\.urdf$", told)


def test_a_python_package_without_models_is_nothing_to_tell_of() -> None:
    told = said("typer")
    assert "Python package" not in told
    assert "known: a1" in told
