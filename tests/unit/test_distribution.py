"""What the package is called and says of itself: one name and version wherever they are told."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from robosim.version import DISTRIBUTION, __version__, install

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
PIP = re.compile(r"pip install \"([\w-]+)\[(\w+)\]\"")


def test_name_and_version_are_those_of_the_project() -> None:
    assert (PROJECT["name"], PROJECT["version"]) == (DISTRIBUTION, __version__)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in citation
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d$", changes, re.M)


def test_extras_that_name_others_name_this_package() -> None:
    ours = [one for needed in EXTRAS.values() for one in needed if one.startswith("robosim")]
    assert ours
    assert all(one.startswith(f"{DISTRIBUTION}[") for one in ours)


def test_lines_of_pip_in_documents_and_examples_name_the_package_and_an_extra() -> None:
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.py")]
    found = [line for file in files for line in PIP.findall(file.read_text(encoding="utf-8"))]
    assert len(found) > 10
    assert {name for name, _ in found} == {DISTRIBUTION}
    assert {extra for _, extra in found} <= set(EXTRAS)


def test_code_says_the_name_in_one_place() -> None:
    for folder in ("robosim", "loaders", "models", "viz"):
        for file in (ROOT / folder).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            assert file.name == "version.py" or DISTRIBUTION not in text, file
            for extra in re.findall(r"\binstall\([\"'](\w+)[\"']\)", text):
                assert extra in EXTRAS, file
            for extra in re.findall(r"\bneeded\([^()]*, \"(\w+)\"\)", text):
                assert extra in EXTRAS, file
            assert not re.search(r'pip install "?robosim', text) or file.name == "version.py", file
    assert PIP.fullmatch(install("gym")).groups() == (DISTRIBUTION, "gym")  # type: ignore[union-attr]
    assert install() == f"pip install {DISTRIBUTION}"


@pytest.mark.parametrize("source", [None, "https://example.org/robosim/"])
def test_links_of_the_readme_work_on_an_index(source: str | None) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    made = runpy.run_path(str(ROOT / "setup.py"))["for_index"](readme, source)
    addresses = re.findall(r"\]\(([^)\s]+)\)|(?:href|src|srcset)=\"([^\"]+)\"", made)
    addresses = [one or other for one, other in addresses]
    assert all(address.startswith("https://") for address in addresses)
    assert bool(addresses) == (source is not None)
    # The words stay, and with an address the pictures too.
    assert "[examples](examples) ·" in readme
    linked = "examples" if source is None else f"[examples]({source}blob/HEAD/examples)"
    assert f"\n{linked} · " in made
    for picture in ("![Errors", "<img ", "grasp.py"):
        assert picture in readme
        assert (picture in made) == (source is not None)
