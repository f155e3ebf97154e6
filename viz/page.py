"""The page that shows a robot, in one piece: meshcat's viewer, this package's part, the data.

Nothing in it is fetched from anywhere: a Content-Security-Policy forbids it to the browser.
"""

from __future__ import annotations

import base64
import gzip
import html
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

from robosim.errors import ViewerError

# In the order of what they build on.
SCRIPTS = (
    "messages", "meshes", "stage", "parts", "center", "layers", "items", "charts", "panel", "live",
    "replay",
)  # fmt: skip


def live_page(title: str, *, anywhere: bool = False) -> str:
    """The page that connects to the server which served it: on this machine, or `anywhere`."""
    connect = "'self' ws:" if anywhere else "'self' ws://127.0.0.1:* ws://localhost:*"
    return _page(title, connect, "<script>\nlive();\n</script>")


def replay_page(title: str, data: Mapping[str, bytes]) -> str:
    """The page that replays frames (messages end to end), with all that it needs inside.

    The data are the scene, the frames and, where there are charts, these and their rows.
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
    meshcat = _meshcat_viewer()
    licenses = [
        path.read_text(encoding="utf-8")
        for path in (meshcat / "LICENSE", meshcat / "dist" / "main.min.js.LICENSE.txt")
        if path.is_file()
    ]
    page = (web / "page.html").read_text(encoding="utf-8")
    # The data goes in last: it is the longest, and must not be searched for placeholders.
    for name, content in (
        ("title", html.escape(title)),
        ("connect", connect),
        ("licenses", "\n".join(licenses).replace("--", "- -")),
        ("style", (web / "style.css").read_text(encoding="utf-8")),
        ("scripts", "".join(_script(web / f"{name}.js") for name in SCRIPTS)),
        ("meshcat", (meshcat / "dist" / "main.min.js").read_text(encoding="utf-8")),
        ("start", start),
    ):
        page = page.replace("{{" + name + "}}", content, 1 if name != "title" else -1)
    return page


def _script(file: Traversable) -> str:
    return f"<script>\n{file.read_text(encoding='utf-8')}</script>\n"


def _meshcat_viewer() -> Path:
    """The folder of meshcat's browser side; meshcat itself, which is slow, is not imported."""
    spec = find_spec("meshcat")
    if spec is None or spec.origin is None:
        raise ViewerError("meshcat is not installed: pip install meshcat")
    folder = Path(spec.origin).parent / "viewer"
    if not (folder / "dist" / "main.min.js").is_file():
        raise ViewerError(f"meshcat's viewer is missing: {folder / 'dist' / 'main.min.js'}")
    return folder
