"""Repair of model files that are not valid XML, but that other programs read.

Robot programs read XML with lenient parsers. Content that those accept and XML forbids is repaired
here: declarations with other versions or encodings, text before the first element, hyphens in
comments, bare ampersands, characters that XML does not have, attributes without a space in between.
Line numbers are unchanged. Tags that do not match are not repaired.
"""

from __future__ import annotations

import codecs
import re

_DECLARATION = re.compile(rb"^(?:\xef\xbb\xbf)?\s*<\?xml\b[^>]*>", re.IGNORECASE)
_KNOWN = re.compile(r"(?i)utf-?8|(us-)?ascii|(iso-|windows-|cp|gb|big|koi|euc|shift)[-\w]+")
_ENCODING = re.compile(rb"""encoding\s*=\s*["']([-\w.:]+)["']""")
# Each pattern consumes all text that it inspects, so that the time is linear in the length.
_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_REFERENCE = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);|#)")
_CHARACTER = re.compile(r"&#(?:x([0-9a-fA-F]+);|([0-9]+);)?")
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAG = re.compile(r"""<\s*+(/?[A-Za-z_](?:[^<>"']|"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))*+)""")
_QUOTED = re.compile(r"""("[^"]*+"|'[^']*+')""")


def repaired(data: bytes) -> bytes | None:
    """The document as XML in UTF-8, without a declaration; None if its encoding is unknown.

    A document type declaration is kept, for the caller to refuse.
    """
    if b"\0" in data[:4] or data[:2] in (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE):
        return None
    encoding = "utf-8"
    declaration = _DECLARATION.match(data)
    if declaration is not None:
        said = _ENCODING.search(declaration[0])
        encoding = said[1].decode() if said else encoding
        data = b"\n" * declaration[0].count(b"\n") + data[declaration.end() :]
    text = _decoded(data.removeprefix(codecs.BOM_UTF8), encoding)
    before, bracket, after = text.partition("<")
    text = "\n" * before.count("\n") + bracket + after
    text = _COMMENT.sub(lambda found: "\n" * found[1].count("\n"), text)
    text = _FORBIDDEN.sub("", text)
    text = _CHARACTER.sub(_character, _REFERENCE.sub("&amp;", text))
    text = _TAG.sub(lambda found: "<" + _QUOTED.sub(r"\1 ", found[1]), text)
    return text.encode()


def _decoded(data: bytes, encoding: str) -> str:
    """Text in the declared encoding, in UTF-8, or else in one that has all bytes."""
    for name in dict.fromkeys((encoding, "utf-8")):
        if _KNOWN.fullmatch(name):
            try:
                return data.decode(name)
            except (LookupError, ValueError):
                pass
    return data.decode("latin-1")


def _character(found: re.Match[str]) -> str:
    """A character reference, if XML has the character; otherwise its source text."""
    code = int(found[1], 16) if found[1] else int(found[2] or 0)
    known = code < 0x110000 and not _FORBIDDEN.match(chr(code))
    return found[0] if known and (found[1] or found[2]) else f"&amp;{found[0][1:]}"
