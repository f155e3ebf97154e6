"""What `mkdocs build` makes of the repository: pages that are generated, links, formulas.

Documents are written to be read in the repository as well, and link its files. In the site,
README is the first page, examples and the reference have pages of their own, and links are led
there. Formulas become MathML, which browsers draw without any script.
"""

from __future__ import annotations

import ast
import html
import posixpath
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import gallery
import recordings
import reference

ROOT = Path(__file__).parents[2]
README = "README.md"
# Files of the repository that are pages, beside docs/ and examples/.
PAGES = {
    README: "index.md",
    "docs/index.md": "contents.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples": "examples/index.md",
    "benchmarks/results/tables.md": "benchmarks/tables.md",
    "benchmarks/results/conformance.md": "benchmarks/conformance.md",
}
# Words of file names that are written otherwise.
SPELLED = {"a1": "the A1", "pinocchio": "Pinocchio", "urdf": "URDF", "ppo": "PPO", "ray": "Ray",
           "sb3": "Stable-Baselines3"}  # fmt: skip
DOORS = "<!-- what the first page offers after the examples -->"
TAG = re.compile(r'\b(href|src|srcset)="(?![a-z]+:|#)([^"]+)"')
LINK = re.compile(r"(!?)\[((?:[^\]\[]|\[[^\]]*\])*)\]\((?![a-z]+:|#)([^)\s]+)\)")
SOURCES = ROOT / "build/docs"  # as in mkdocs.yml


def site_of(path: str) -> str | None:
    """The page or picture of a file of the repository, by its path there; None if it has none."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith("examples/") and path.endswith(".py"):
        return path.removesuffix(".py") + ".md"
    return None


# Of each page, the file that its text is from, from whose place its links lead.
_origin: dict[str, str] = {page: path for path, page in PAGES.items()}


def examples() -> dict[str, tuple[str, str]]:
    """The title and the text of each example's page, by its path in the site."""
    found = {}
    for file in sorted((ROOT / "examples").rglob("*.py")):
        path = file.relative_to(ROOT).as_posix()
        up = "../" * path.count("/")
        source = file.read_text(encoding="utf-8")
        tree = ast.parse(source)
        said = ast.get_docstring(tree) or ""
        title, _, rest = said.partition("\n\n")
        rest = re.sub(r"^ *(?:Run as )?python examples/.*$", "", rest, flags=re.M).strip()
        body = source.split('"""', 2)[2].strip()
        words = re.sub(r"^\d+_", "", file.stem).split("_")
        name = " ".join(SPELLED.get(word, word) for word in words)
        picture = gallery.of_example(file.name[:2])
        text = [
            f"# {name[0].upper()}{name[1:]}\n",
            f"{' '.join(title.split())}\n",
            f"{rest}\n" if rest else "",
            f"![{name}]({up}images/{picture})\n" if picture else "",
            f"```bash\npython {path}\n```\n",
            f'```python title="{path}"\n{body}\n```\n',
        ]
        found[path.removesuffix(".py") + ".md"] = name, "\n".join(part for part in text if part)
    return found


def sections(text: str) -> dict[str, str]:
    """The parts of a document by their headings of the second level; "" is what comes first."""
    parts = re.split(r"^## (.*)$", text, flags=re.M)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def first_page(readme: str) -> str:
    """README, with doors to the other pages."""
    return f"{readme}\n{DOORS}\n"


def examples_page(contents: str) -> str:
    """The table of examples of docs/index.md, which says what each shows."""
    return f"# Examples\n{sections(contents)['Examples']}"


def generated() -> dict[str, str]:
    """The text of each page that is made here."""
    readme = (ROOT / README).read_text(encoding="utf-8")
    contents = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    found = {
        "index.md": first_page(readme),
        "gallery.md": gallery.page(),
        "examples/index.md": examples_page(contents),
    }
    _origin["examples/index.md"] = "docs/index.md"
    for path, page in PAGES.items():
        if page not in found:
            found[page] = (ROOT / path).read_text(encoding="utf-8")
    found |= {page: text for page, (_, text) in examples().items()}
    return found | reference.pages()


def on_startup(command: str, dirty: bool) -> None:
    """Lays out the sources as they are when installed, for what reads docstrings."""
    shutil.rmtree(SOURCES, ignore_errors=True)
    only = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "robosim", SOURCES / "robosim", ignore=only)
    for folder in reference.BESIDE:
        shutil.copytree(ROOT / folder, SOURCES / "robosim" / folder, ignore=only)


def on_config(config: Any) -> Any:
    """Names the pages that nav leaves out, as they are generated."""
    for section in config.nav:
        (title,) = section
        if title == "Examples":
            section[title] = ["examples/index.md", *examples()]
        if title == "Reference":
            rest = [f"reference/{module}.md" for module in reference.MODULES]
            own = [page for page in reference.pages() if page not in rest][1:]
            section[title] = ["reference/index.md", {"robosim": own}, {"Modules": rest}]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that are generated; docs/index.md is not the first one here."""
    files.remove(files.src_uris["index.md"])
    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    for folder in (recordings.KEPT, recordings.ROBOTS):
        for name, content in recordings.pages(folder).items():
            if f"recordings/{name}" not in files.src_uris:
                files.append(File.generated(config, f"recordings/{name}", content=content))
    for path in recordings.ROBOTS.glob("*.png"):
        files.append(File.generated(config, f"robots/{path.name}", content=path.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Leads links to files of the repository to their pages; what has none becomes plain text."""
    here = page.file.src_uri
    if here.startswith(("reference/", "gallery")):
        return markdown
    if here.startswith("examples/") and here != "examples/index.md":
        return markdown
    origin = _origin.get(here, f"docs/{here}")
    base = posixpath.dirname(origin)

    def link(found: re.Match[str]) -> str:
        picture, label, address = found.groups()
        file, _, anchor = address.partition("#")
        path = posixpath.normpath(posixpath.join(base, file))
        if not (ROOT / path).exists():
            raise FileNotFoundError(f"{origin} links {address}, which is not there")
        target = site_of(path)
        if target is None:
            return label if picture else f"`{path}`" if label == posixpath.basename(path) else label
        if label.endswith(".md"):
            label = re.sub(r"^# ", "", (ROOT / path).read_text(encoding="utf-8").split("\n")[0])
        led = posixpath.relpath(target, posixpath.dirname(here) or ".")
        return f"{picture}[{label}]({led}{'#' + anchor if anchor else ''})"

    def tag(found: re.Match[str]) -> str:
        """A link or a picture in HTML, which is taken as it is, from the page's own address."""
        target = site_of(posixpath.normpath(posixpath.join(base, found[2])))
        assert target is not None, f"{origin} shows {found[2]}, which has no page"
        led = posixpath.relpath(target, page.url or ".")
        return f'{found[1]}="{re.sub(r"[.]md$", "/", led)}"'

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)
    led = "".join(p if p.startswith("```") else TAG.sub(tag, LINK.sub(link, p)) for p in parts)
    return led.replace(DOORS, gallery.doors())


FORMULA = re.compile(r'<(span|div) class="arithmatex">(?:\\\(|\\\[)(.*?)(?:\\\)|\\\])</\1>', re.S)


def on_page_content(content: str, page: Any, config: Any, files: Files) -> str:
    """Makes MathML of formulas."""

    def drawn(found: re.Match[str]) -> str:
        display = "block" if found[1] == "div" else "inline"
        made = convert(html.unescape(found[2]).strip(), display=display)
        return f'<{found[1]} class="formula">{made}</{found[1]}>'

    return FORMULA.sub(drawn, content)
