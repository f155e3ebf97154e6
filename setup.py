"""README as a package index shows it; all else about the package is in pyproject.toml.

An index knows no files of the repository. Links to them lead to its address, if pyproject.toml
says one ("Source" of the urls), and are plain text otherwise; pictures without one are left out.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:)([^)\s]+)\)")


def for_index(text: str, source: str | None) -> str:
    """README with links that work away from the repository, whose address is `source`."""

    def link(found: re.Match[str]) -> str:
        picture, label, address = found.groups()
        if source is not None:
            return f"{picture}[{label}]({source.rstrip('/')}/{address})"
        return "" if picture else label

    return LINK.sub(link, text)


if __name__ == "__main__":
    urls = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    setup(
        long_description=for_index(
            (HERE / "README.md").read_text(encoding="utf-8"), urls.get("Source")
        ),
        long_description_content_type="text/markdown",
    )
