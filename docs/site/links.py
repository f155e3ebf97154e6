"""Whether all links of a built site lead somewhere: python docs/site/links.py SITE

Pages and pictures of the site itself, and headings by their anchors. Addresses elsewhere are
counted, not visited.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.links += [given[name] for name in ("href", "src") if name in given]


def broken(site: Path) -> tuple[list[str], int, int]:
    """What leads nowhere, and how many links lead within the site and elsewhere."""
    site = site.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    wrong, inside, outside = [], 0, 0
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # its links are those of the address that was asked for
        for link in page.links:
            address, anchor = urldefrag(link)
            if urlsplit(address).scheme or address.startswith("//"):
                outside += 1
                continue
            inside += 1
            target = (path.parent / unquote(address)).resolve() if address else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                wrong.append(f"{path.relative_to(site)}: {link} is not there")
            elif anchor and target in pages and unquote(anchor) not in pages[target].anchors:
                wrong.append(f"{path.relative_to(site)}: {link} has no such heading")
    return wrong, inside, outside


if __name__ == "__main__":
    wrong, inside, outside = broken(Path(sys.argv[1]))
    print(*wrong, f"{inside} links within the site, {outside} elsewhere", sep="\n")
    sys.exit(bool(wrong))
