"""Parts of a page that reports results: one file of HTML that fetches nothing."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.errors import ViewerError
from robosim.extras import needed

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's, as in all plots."""
_STYLE = """
body { margin: 0 auto; max-width: 1080px; padding: 16px; background: #fff; color: #24303c;
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 8px 0; } h2 { font-size: 17px; margin: 26px 0 8px; }
table { border-collapse: collapse; } caption { text-align: left; color: #5b6a78; }
th, td { text-align: left; padding: 3px 22px 3px 0; border-bottom: 1px solid #d9e0e6; }
td + td, th + th { text-align: right; font-variant-numeric: tabular-nums; }
p { max-width: 75ch; } small { color: #5b6a78; }
img { width: 100%; } iframe { width: 100%; height: 540px; border: 1px solid #d9e0e6; }
"""
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; frame-src 'self'"
)


def document(title: str, body: str, style: str = "") -> str:
    """A whole page; `body` is HTML, and `style` is CSS beyond that of all pages."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def written(text: str, file: str | Path) -> Path:
    """Write a page; returns its path.

    Raises
    ------
    ViewerError
        If the file cannot be written.
    """
    path = Path(file)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ViewerError(f"{path}: cannot write the page: {error.strerror or error}") from None
    return path


def table(caption: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """A table of texts, which are escaped; each row is its name and its cells."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    lines = [f"<table>\n<caption>{html.escape(caption)}</caption>\n<tr><th></th>{head}</tr>"]
    for what, texts in rows:
        cells = "".join(f"<td>{html.escape(text)}</td>" for text in texts)
        lines.append(f"<tr><td>{html.escape(what)}</td>{cells}</tr>")
    return "\n".join((*lines, "</table>"))


def figure(height: float) -> Any:
    """An empty figure of a page's width and a height [in]."""
    from robosim.viz.figures import ShownFigure

    return ShownFigure(figsize=(10.8, height), layout="constrained")


def plain(ax: Any) -> None:
    """Grid, spines and title of a plot on a page."""
    ax.grid(True, color="#e3e8ec", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.title.set_fontsize(10)


def picture(drawn: Any, alt: str) -> str:
    """A figure as an image, whose names cannot collide with those of others on the page."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "robosim"}):
        drawn.savefig(buffer, format="svg", metadata={"Date": None})
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="{alt}" src="data:image/svg+xml;base64,{data}">'


def pixels(drawn: NDArray[np.uint8], alt: str) -> str:
    """A picture (height, width, 3) as an image."""
    Image = needed("PIL.Image", "pictures on a page need Pillow", "pictures")
    buffer = io.BytesIO()
    Image.fromarray(drawn).save(buffer, format="PNG")
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="{alt}" src="data:image/png;base64,{data}">'
