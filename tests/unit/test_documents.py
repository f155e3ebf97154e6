"""The Markdown documents: short lines, short sentences, links that lead somewhere.

What counts as prose is everything but headings, tables, code, formulas between lines of `$$`,
pictures, and lines of HTML. Generated tables below benchmarks/results are not looked at. Guides
have shorter sentences than the derivation, the log of experiments and the list of changes.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *DOCS, ROOT / "benchmarks/README.md"]
FOLDERS = (
    *("robosim", "loaders", "models", "viz", "tests", "benchmarks", "examples", "docs"),
    "build_backend",
)
SOURCES = [
    f"/{file.relative_to(ROOT).as_posix()}"
    for folder in FOLDERS
    for file in (ROOT / folder).rglob("*")
    if file.suffix in {".py", ".js"}
]
LONGEST_LINE = 99  # characters
LONGEST_SENTENCE = 29  # words
LONGEST_IN_GUIDES = 25
NO_GUIDES = {"derivation.md", "experiments-log.md", "CHANGELOG.md"}

ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s+")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
TAG = re.compile(r'<[^>]*\b(?:href|src|srcset)="([^"]+)"')
ONLY_LINK = re.compile(rf"\s*(?:[-*]\s+)?(?:{LINK.pattern}|<?https?://\S+)[.,;:]?\s*")
ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|vs|Algs?|Eqs?|Figs?|Sects?)\.")
VERBS = (
    "is|are|was|were|has|have|had|does|do|did|can|may|must|will|would|should|also|then|"
    "means?|makes?|gives?|takes?|costs?|holds?|keeps?|leaves?|lets?|needs?|goes|comes"
)
# Without a noun in its own sentence, a pronoun sends the reader back to look for one.
PRONOUN_FIRST = re.compile(
    rf"(It|They|Its|Their|Them|He|She|(This|That|These|Those|Both|Either|Neither) ({VERBS}))\b"
)
GLOSSARY = {  # words that the glossary must define, whatever else it does
    *("barrier", "block", "carrier", "feature", "formulation", "guess", "impulse", "interval"),
    *("knot", "lane", "limb", "loads", "memory", "node", "scheme", "slot", "start", "state"),
    *("step", "trend", "twist", "workspace"),
}


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines of prose, each with its number."""
    code = formula = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            code = not code
        elif stripped == "$$" and not code:
            formula = not formula
        elif not code and not formula and not stripped.startswith(("|", "#", "![", "<")):
            yield number, line


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs and items of lists, each with the number of its first line."""
    begin, last, lines = 0, 0, list[str]()
    for number, line in prose(text):
        item = ITEM.match(line)
        if lines and (not line.strip() or item or number > last + 1):
            yield begin, " ".join(lines)
            lines = []
        if line.strip():
            begin = begin if lines else number
            lines.append(line[item.end() if item else 0 :].strip())
        last = number
    if lines:
        yield begin, " ".join(lines)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Sentences with their paragraphs' numbers; code and formulas count as a word each."""
    for number, paragraph in paragraphs(text):
        plain = re.sub(r"`[^`]*`", "Code", paragraph)
        plain = re.sub(r"\$[^$]*\$", "X", plain)
        plain = LINK.sub(r"\1", plain).replace("*", "")
        plain = ABBREVIATIONS.sub(lambda found: found[1].replace(".", ""), plain)
        for sentence in re.split(r"(?<=[.!?])[\"')\]]*\s+", plain):
            yield number, sentence


def anchors(path: Path) -> set[str]:
    """What a link may name behind a #, as GitHub makes it of headings."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def long_lines(text: str) -> list[int]:
    return [
        number
        for number, line in prose(text)
        if len(line) > LONGEST_LINE and not ONLY_LINK.fullmatch(line)
    ]


def long_sentences(text: str, longest: int = LONGEST_SENTENCE) -> list[tuple[int, int, str]]:
    counts = (
        (number, sum(any(c.isalnum() for c in word) for word in sentence.split()), sentence)
        for number, sentence in sentences(text)
    )
    return [found for found in counts if found[1] > longest]


def pronouns(text: str) -> list[tuple[int, str]]:
    return [found for found in sentences(text) if PRONOUN_FIRST.match(found[1])]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(params=DOCUMENTS, ids=name)
def document(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_lines_are_short(document: Path) -> None:
    assert not long_lines(document.read_text(encoding="utf-8"))


def test_sentences_are_short(document: Path) -> None:
    longest = LONGEST_SENTENCE if document.name in NO_GUIDES else LONGEST_IN_GUIDES
    assert not long_sentences(document.read_text(encoding="utf-8"), longest)


def test_no_sentence_begins_with_a_pronoun(document: Path) -> None:
    assert not pronouns(document.read_text(encoding="utf-8"))


def test_links_lead_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    for address in [*(found for _, found in LINK.findall(text)), *TAG.findall(text)]:
        if re.match(r"[a-z]+:", address):
            continue
        file, _, anchor = address.partition("#")
        target = (document.parent / file).resolve() if file else document
        assert target.exists(), f"{address} does not exist"
        assert not anchor or anchor in anchors(target), f"{address} is no heading"


def test_sources_that_are_named_exist(document: Path) -> None:
    """In full, or by the end of their path: `kernels/step.py`, `viz/web/*.js`."""
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    for named in re.findall(r"`([\w./*-]+\.(?:py|js))`", text):
        exists = fnmatch.filter(SOURCES, f"*/{named}")
        assert exists or named == "utils.py", f"{named} does not exist"  # there must be none


def test_kernels_that_the_derivation_names_exist() -> None:
    text = (ROOT / "docs/derivation.md").read_text(encoding="utf-8")
    lists = re.findall(r"Kernels?:\s+((?:`\w+`[,;]?\s*)+)", text)
    named = {kernel for found in lists for kernel in re.findall(r"`(\w+)`", found)}
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "robosim").rglob("*.py")]
    defined = {kernel for source in sources for kernel in re.findall(r"^def (\w+)", source, re.M)}
    assert len(named) > 30
    assert not named - defined


def test_the_index_links_every_page() -> None:
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    linked = {address.partition("#")[0] for _, address in LINK.findall(index)}
    assert {page.name for page in DOCS} - {"index.md"} <= linked


def test_changes_are_told_in_a_line_each() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    entries = text[text.index("### Added") :].splitlines()
    assert all(re.match(r"- |#|$", line) for line in entries)


def test_the_glossary_defines_each_word_once() -> None:
    text = (ROOT / "docs/conventions.md").read_text(encoding="utf-8")
    heads = re.findall(r"^- \*\*(.+?)\*\*", text[text.index("## Glossary") :], re.MULTILINE)
    words = [word.strip().lower() for head in heads for word in head.split(",")]
    assert len(words) == len(set(words))
    assert set(words) >= GLOSSARY


def test_the_checks_find_what_they_are_for() -> None:
    words = "word " * LONGEST_SENTENCE
    text = f"{words}word.\n\n- Right. It is not\n  right.\n\n{'x' * 100}\n"
    assert [number for number, _, _ in long_sentences(text)] == [1]
    assert not long_sentences(text, LONGEST_SENTENCE + 1)
    assert pronouns(text) == [(3, "It is not right.")]
    assert long_lines(text) == [1, 6]


def test_the_checks_leave_out_what_is_not_prose() -> None:
    words = "word " * 40
    text = (
        f"# {words}\n| {words} |\n```\n{words}\n```\n$$\n{words}\n$$\n"
        f"[x](https://{'x' * 100}),\n\nSee Eq. 3 and Sect. 4. `It` is code.\n"
    )
    assert not long_lines(text)
    assert not long_sentences(text)
    assert not pronouns(text)
    assert not long_sentences(f"{'word ' * 20}(e.g. a word). {'word ' * 20}")
