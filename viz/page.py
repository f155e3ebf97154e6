"""The page that shows a robot, as one file: meshcat's viewer, the scripts of web/, and data.

The browser fetches nothing from elsewhere; a Content-Security-Policy forbids this.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

from robosim.errors import ViewerError

# Each script uses only earlier ones.
SCRIPTS = (
    "messages", "meshes", "stage", "parts", "center", "layers", "items", "charts", "panel",
    "timeline", "card", "choices", "replay", "live",
)  # fmt: skip


# The scripts are written for meshcat 0.3.2; another bundle is refused.
BUNDLE = "dist/main.min.js"
BUNDLE_SHA256 = "dd07b95fb6957cf6c18ee7cf3909b6eb28214995142428171a60d76c3358211f"


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
    meshcat = _meshcat_viewer()
    licenses = [
        path.read_text(encoding="utf-8")
        for path in (meshcat / "LICENSE", meshcat / "dist" / "main.min.js.LICENSE.txt")
        if path.is_file()
    ]
    page = (web / "page.html").read_text(encoding="utf-8")
    # The data are inserted last: they are long, and must not be searched for placeholders.
    for name, content in (
        ("title", html.escape(title)),
        ("connect", connect),
        ("licenses", "\n".join(licenses).replace("--", "- -")),
        ("style", (web / "style.css").read_text(encoding="utf-8")),
        ("scripts", "".join(_script(web / f"{name}.js") for name in SCRIPTS)),
        ("support", (web / "support.js").read_text(encoding="utf-8")),
        ("meshcat", bundle()),
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
    return Path(spec.origin).parent / "viewer"


def bundle() -> str:
    """The script of meshcat's viewer, which each page has inside.

    Raises
    ------
    ViewerError
        If meshcat is not installed, or its viewer is not the one that is known.
    """
    file = _meshcat_viewer() / BUNDLE
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ViewerError(
            f"meshcat's viewer cannot be read: {file}: {error.strerror}; "
            "pip install --force-reinstall meshcat==0.3.2"
        ) from None
    found = hashlib.sha256(content).hexdigest()
    if found != BUNDLE_SHA256:
        raise ViewerError(
            f"{file} is not the viewer of meshcat 0.3.2, which pages are made with "
            f"(sha256 {found[:12]}... instead of {BUNDLE_SHA256[:12]}...): "
            "pip install --force-reinstall meshcat==0.3.2"
        )
    return content.decode("utf-8")
