"""README as a package index shows it; all else about the package is in pyproject.toml.

An index knows no files of the repository. Links to them lead to its address, if pyproject.toml
says one ("Source" of the urls). Otherwise links are plain text, pictures are left out, and so is
the section that is about pictures.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:)([^)\s]+)\)")
TAG = re.compile(r'\b(href|src|srcset)="(?![a-z]+:)([^"]+)"')
SECTION = re.compile(r"^(?=## )", re.M)
# Below the address of a repository: pages of its files, and files as they are, for pictures.
PAGE, FILE = "blob/HEAD", "raw/HEAD"


def for_index(text: str, source: str | None) -> str:
    """README with links that work away from the repository, whose address is `source`."""
    if source is None:
        text = "".join(part for part in SECTION.split(text) if "<img " not in part)
        return LINK.sub(lambda found: "" if found[1] else found[2], text)
    base = source.rstrip("/")

    def link(found: re.Match[str]) -> str:
        picture, label, address = found.groups()
        return f"{picture}[{label}]({base}/{FILE if picture else PAGE}/{address})"

    def tag(found: re.Match[str]) -> str:
        name, address = found.groups()
        return f'{name}="{base}/{PAGE if name == "href" else FILE}/{address}"'

    return TAG.sub(tag, LINK.sub(link, text))


if __name__ == "__main__":
    urls = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    setup(
        long_description=for_index(
            (HERE / "README.md").read_text(encoding="utf-8"), urls.get("Source")
        ),
        long_description_content_type="text/markdown",
    )
