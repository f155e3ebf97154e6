"""The page that shows a robot, as one file: the viewer of meshcat 0.3.2, our scripts, and data.

All of it is in web/: meshcat's script is the one of its package, unchanged, for which our scripts
are written. Its Python side, which brings IPython and ZeroMQ, is not needed.

The browser fetches nothing from elsewhere; a Content-Security-Policy forbids this.
"""

from __future__ import annotations

import base64
import gzip
import html
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

# Each script uses only earlier ones.
SCRIPTS = (
    "messages", "meshes", "stage", "parts", "center", "layers", "items", "charts", "panel",
    "timeline", "card", "replay", "live",
)  # fmt: skip


def live_page(title: str, *, anywhere: bool = False) -> str:
    """The live page, which connects to its server: on this machine, or `anywhere`."""
    connect = "'self' ws:" if anywhere else "'self' ws://127.0.0.1:* ws://localhost:*"
    return _page(title, connect, "<script>\nlive();\n</script>")


def replay_page(title: str, data: Mapping[str, bytes]) -> str:
    """The page that replays frames, with all data inside.

    The data are the scene, the concatenated frames, and, for charts, "charts" and their "rows".
    """
    inside = "".join(
        f'<script type="text/plain" id="{name}">{_compressed(content)}</script>\n'
        for name, content in data.items()
    )
    return _page(title, "'none'", f"{inside}<script>\nreplay();\n</script>")


def _compressed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, compresslevel=6, mtime=0)).decode("ascii")


def _page(title: str, connect: str, start: str) -> str:
    web = files("robosim.viz") / "web"
    licenses = (web / "meshcat.LICENSE.txt").read_text(encoding="utf-8")
    page = (web / "page.html").read_text(encoding="utf-8")
    # The data are inserted last: they are long, and must not be searched for placeholders.
    for name, content in (
        ("title", html.escape(title)),
        ("connect", connect),
        ("licenses", licenses.replace("--", "- -")),
        ("style", (web / "style.css").read_text(encoding="utf-8")),
        ("scripts", "".join(_script(web / f"{name}.js") for name in SCRIPTS)),
        ("support", (web / "support.js").read_text(encoding="utf-8")),
        ("meshcat", (web / "meshcat.min.js").read_text(encoding="utf-8")),
        ("start", start),
    ):
        page = page.replace("{{" + name + "}}", content, 1 if name != "title" else -1)
    return page


def _script(file: Traversable) -> str:
    return f"<script>\n{file.read_text(encoding='utf-8')}</script>\n"
