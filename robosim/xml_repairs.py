"""Model files that are no XML, as other programs read them nevertheless.

Robot programs read XML with parsers that do not look closely. What those accept and XML forbids is
put into XML's terms here: declarations with other versions or encodings, text before the first
element, hyphens in comments, bare ampersands, characters that XML has not, attributes without a
space between. Lines stay where they are. Tags that do not match are nobody's to guess.
"""

from __future__ import annotations

import codecs
import re

_DECLARATION = re.compile(rb"^(?:\xef\xbb\xbf)?\s*<\?xml\b[^>]*>", re.IGNORECASE)
_KNOWN = re.compile(r"(?i)utf-?8|(us-)?ascii|(iso-|windows-|cp|gb|big|koi|euc|shift)[-\w]+")
_ENCODING = re.compile(rb"""encoding\s*=\s*["']([-\w.:]+)["']""")
# Each of these takes all that it has looked at, so that no text takes longer than its length.
_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_REFERENCE = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);|#)")
_CHARACTER = re.compile(r"&#(?:x([0-9a-fA-F]+);|([0-9]+);)?")
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAG = re.compile(r"""<\s*+(/?[A-Za-z_](?:[^<>"']|"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))*+)""")
_QUOTED = re.compile(r"""("[^"]*+"|'[^']*+')""")


def repaired(data: bytes) -> bytes | None:
    """The same document as XML in UTF-8, without a declaration; None if its letters are not known.

    A document type declaration stays one, for whoever refuses it.
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
    """Text in the encoding that is stated, in UTF-8, or else in one that has all bytes."""
    for name in dict.fromkeys((encoding, "utf-8")):
        if _KNOWN.fullmatch(name):
            try:
                return data.decode(name)
            except (LookupError, ValueError):
                pass
    return data.decode("latin-1")


def _character(found: re.Match[str]) -> str:
    """A reference to a character, if XML has that; else what stands there, as text."""
    code = int(found[1], 16) if found[1] else int(found[2] or 0)
    known = code < 0x110000 and not _FORBIDDEN.match(chr(code))
    return found[0] if known and (found[1] or found[2]) else f"&amp;{found[0][1:]}"
