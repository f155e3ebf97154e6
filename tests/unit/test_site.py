"""The site: its reference lists every public name, none of which is undocumented.

`.ci/run` builds the site itself, with warnings as errors, and checks its links.
"""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from test_documents import LONGEST_IN_GUIDES, long_sentences, pronouns
from test_layers import LAYERS

import robosim
from robosim.errors import MissingExtraError
from robosim.models import shipped
from robosim.viz.page import bundle

ROOT = Path(__file__).parents[2]
MADE = (property, classmethod, staticmethod)
sys.path.insert(0, str(ROOT / "docs/site"))
import gallery  # noqa: E402
import links  # noqa: E402
import recordings  # noqa: E402
import reference  # noqa: E402

PAGES = reference.pages()


def test_every_name_of_the_package_has_its_place() -> None:
    assert {*reference.public_names(""), "__version__"} == set(robosim.__all__)
    for name in reference.public_names(""):
        page = PAGES[f"reference/{reference.page_of(name)}.md"]
        where = "errors." if reference.page_of(name) == "errors" else ""
        assert f"::: robosim.{where}{name}\n" in page
        assert f"[`{name}`](" in PAGES["reference/index.md"]


def test_all_documented_modules_are_in_the_reference() -> None:
    assert set(LAYERS["documented"]) <= set(reference.MODULES)


@pytest.mark.parametrize("module", reference.MODULES)
def test_every_name_of_a_module_has_its_place(module: str) -> None:
    page = PAGES[f"reference/{module}.md"]
    names = reference.public_names(module)
    assert names
    for name in names:
        assert f"::: robosim.{module}.{name}\n" in page or f"[`{name}`]({name}.md)" in page


def undocumented(name: str, value: Any) -> Iterator[str]:
    """What of a class or function has no docstring, its own public members included."""
    words = inspect.getdoc(value) or ""
    if not words or words.startswith(f"{value.__name__}("):  # what a dataclass says of itself
        yield name
    for member, found in vars(value).items() if inspect.isclass(value) else ():
        is_own = isinstance(found, MADE) or inspect.isroutine(found)
        # What overrides something may leave the words to it.
        if not member.startswith("_") and is_own and not inspect.getdoc(getattr(value, member)):
            yield f"{name}.{member}"


def has_words(module: str, name: str) -> bool:
    """Whether a docstring stands below a value where it is defined."""
    origins = reference.origins(module)
    if name in origins:
        return has_words(origins[name].removeprefix("robosim").removeprefix("."), name)
    body = reference.tree_of(module).body
    for node, after in pairwise(body):
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        if isinstance(targets[0], ast.Name) and targets[0].id == name:
            return isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    return False


def documented(module: str) -> ModuleType:
    """A module of the reference; the test is skipped where an extra is missing for it."""
    try:
        return import_module(f"robosim.{module}" if module else "robosim")
    except MissingExtraError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("module", ["", *reference.MODULES])
def test_no_public_name_is_undocumented(module: str) -> None:
    found = documented(module)
    missing = [] if inspect.getdoc(found) else [module]
    for name in reference.public_names(module):
        value = getattr(found, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            missing += undocumented(name, value)
        elif not has_words(module, name):
            missing.append(name)
    assert missing == []


def with_members(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """The docstrings of a class or function and of its own public members, by their names."""
    yield name, inspect.getdoc(value) or ""
    for member, found in vars(value).items() if inspect.isclass(value) else ():
        if not member.startswith("_") and (isinstance(found, MADE) or inspect.isroutine(found)):
            yield f"{name}.{member}", inspect.getdoc(getattr(value, member)) or ""


def as_paragraphs(docstring: str) -> str:
    """A docstring whose sections, entries of lists and descriptions are paragraphs, as Markdown.

    Headings and examples are left out.
    """
    lines = docstring.splitlines()
    told, deep = list[str](), 0
    for line, after in pairwise([*lines, ""]):
        words, indent = line.strip(), len(line) - len(line.lstrip())
        heading = any(re.fullmatch("-{3,}", one.strip()) for one in (line, after))
        if heading or words.startswith((">>>", "...")):
            words = ""
        elif words and (indent != deep or re.match(r"[\w*., ()\"-]+ : ", words)):
            told.append("")
        deep = indent if words else deep
        told.append(re.sub("``[^`]*``", "`code`", words))
    return "\n".join(told)


@pytest.mark.parametrize("module", ["", *reference.MODULES])
def test_sentences_of_public_docstrings_are_short_and_begin_with_a_noun(module: str) -> None:
    found = documented(module)
    docstrings = [(module, inspect.getdoc(found) or "")]
    for name in reference.public_names(module):
        value = getattr(found, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            docstrings += with_members(name, value)
    wrong = []
    for name, words in docstrings:
        text = as_paragraphs(words)
        wrong += [(name, said) for _, _, said in long_sentences(text, LONGEST_IN_GUIDES)]
        wrong += [(name, said) for _, said in pronouns(text)]
    assert wrong == []


def test_long_sentences_of_docstrings_are_found() -> None:
    words = "word " * LONGEST_IN_GUIDES
    docstring = f"""Short.

    Parameters
    ----------
    first : int
        {words}.
    second : int, third : int
        {words}more.
        It is here.

    >>> {words}more
    """
    text = as_paragraphs(inspect.cleandoc(docstring))
    assert [said for _, _, said in long_sentences(text, LONGEST_IN_GUIDES)] == [f"{words}more."]
    assert [said for _, said in pronouns(text)] == ["It is here."]


def test_every_page_of_the_guides_is_in_the_navigation() -> None:
    """Those of examples and of the reference are put there when they are made."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = set(re.findall(r"[\w/-]+\.md", text[text.index("\nnav:") :]))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} <= nav


def test_pictures_of_the_gallery_are_there_and_small() -> None:
    files = [ROOT / "docs/images" / one.file for one in gallery.PICTURES]
    assert len(set(files)) == len(files)
    drawn = set((ROOT / "docs/images/gallery").iterdir())
    assert drawn <= set(files)
    assert all(file.is_file() for file in files)
    assert all(file.stat().st_size < 150_000 for file in drawn)


def test_recordings_of_the_gallery_are_there_and_small() -> None:
    """Those of scenes, of all models that ship, and none besides; no meshes of others in them."""
    found = {path.stem: path for path in recordings.KEPT.iterdir()}
    scenes = {Path(one.file).stem for one in gallery.PICTURES if one.file.startswith("gallery/")}
    plots = {Path(one.file).stem for one in gallery.PICTURES if one.model}
    models = {f"model-{one.name}" for one in shipped()}
    assert set(found) == models | (scenes - plots - set(gallery.OF_OTHERS))
    sizes = [path.stat().st_size for path in found.values()]
    assert max(sizes) < recordings.LARGEST
    assert sum(sizes) < 2_000_000
    thumbnails = {path.stem for path in recordings.THUMBNAILS.iterdir()}
    assert {f"model-{name}" for name in thumbnails} == models
    for one in gallery.PICTURES:
        is_shown = one.model or (one.file.startswith("gallery/") and Path(one.file).stem in found)
        assert (one.recording() in found) is bool(is_shown)


def test_pages_of_recordings_share_one_script(tmp_path: Path) -> None:
    shutil.copy(recordings.KEPT / "model-cube.zip", tmp_path)
    made = recordings.pages(tmp_path)
    assert set(made) == {"model-cube.html", "viewer.js"}
    page = str(made["model-cube.html"])
    assert made["viewer.js"] == bundle()
    assert len(page) < 200_000
    assert '<script src="viewer.js"></script>' in page
    assert "script-src 'self' 'unsafe-inline'" in page
    assert "connect-src 'none'" in page
    assert recordings.pages(tmp_path / "none") == {}


def test_a_recording_is_that_of_a_run(tmp_path: Path) -> None:
    """Rounded to 1e-4 of each number, and the same bytes each time."""
    recorder = recordings.recorded(*recordings.moving(robosim.load("pendulum")), 0.5)
    assert len(recorder) == 13
    files = [tmp_path / name for name in ("a.zip", "b.zip")]
    for file in files:
        recordings.compressed(recorder, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    with zipfile.ZipFile(files[0]) as file:
        frames = np.frombuffer(file.read("frames"), "<f4")
    whole = np.frombuffer(b"".join(recorder.frames()), "<f4")
    np.testing.assert_allclose(frames, whole, rtol=1.3e-4, atol=0)
    assert np.ptp(whole.reshape(13, -1)[:, 4:7], axis=0).max() > 0.02  # it moves


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/index.html").write_text('<h1 id="x">x</h1><a href="..#y">y</a>')
    (tmp_path / "index.html").write_text(
        '<h1 id="y"></h1><a href="a/#x"></a><a href="a/#z"></a><img src="b.png">'
        '<a href="https://example.org/nothing"></a>'
    )
    wrong, inside, outside = links.broken(tmp_path)
    assert wrong == [
        "index.html: a/#z has no such heading",
        "index.html: b.png is not there",
    ]
    assert (inside, outside) == (4, 1)
