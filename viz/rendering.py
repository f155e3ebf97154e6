"""Pictures and videos of recordings, drawn by a headless browser."""

from __future__ import annotations

import io
import math
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from robosim.errors import OptionError, ViewerError
from robosim.version import install
from robosim.viz.browser import ADVICE, headless

if TYPE_CHECKING:
    from robosim.viz.recorder import Recorder

SUFFIXES = (".png", ".gif", ".mp4")
GIF_FPS = 20.0  # programs that show a GIF are limited to about this rate
_LOADING = 60.0  # [s]
# Hides all of the page but the scene and the time.
_BARE = "#panel, #toolbar, #charts-pane, #bar { display: none !important }"
_PANES = "document.body.classList.remove('panel-open', 'charts-open')"


def render(
    recorder: Recorder,
    path: str | Path,
    *,
    fps: float = 30.0,
    size: tuple[int, int] = (960, 540),
    speed: float = 1.0,
) -> Path:
    """Draw a recording into a file: its last frame (.png), or all frames (.gif, .mp4).

    Parameters
    ----------
    recorder : Recorder
    path : str or Path
    fps : float
        Pictures per second of the video; a GIF has at most 20.
    size : (width, height) [pixels], even
    speed : float
        Simulated time per time of the video.

    Returns
    -------
    pathlib.Path
        The path of the file.

    Raises
    ------
    OptionError
        For another suffix, or an odd size.
    ViewerError
        If nothing was recorded, if the file cannot be written, or if a browser or an encoder is
        missing; the message says how to install them.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise OptionError(f"{path}: must end in one of {', '.join(SUFFIXES)}")
    check_size(size)
    encoder = _ffmpeg() if suffix == ".mp4" else ""
    rate = min(fps, GIF_FPS) if suffix == ".gif" else fps
    with tempfile.TemporaryDirectory() as folder:
        page = recorder.save(Path(folder) / "recording.html")
        with headless() as browser:
            pictures = _pictures(browser, page, size, rate / speed, last=suffix == ".png")
            try:
                if suffix == ".png":
                    path.write_bytes(next(pictures))
                elif suffix == ".gif":
                    _write_gif(path, pictures, rate)
                else:
                    _write_mp4(path, pictures, rate, encoder)
            except OSError as error:
                raise ViewerError(f"{path}: cannot be written: {error.strerror}") from error
    return path


def check_renderer(suffix: str) -> None:
    """Check before a run whether its recording can be drawn.

    Raises
    ------
    ViewerError
        If a browser or an encoder is missing; the message says how to install them.
    """
    if suffix.lower() == ".mp4":
        _ffmpeg()
    with headless():
        pass


def _pictures(
    browser: Any, page: Path, size: tuple[int, int], rate: float, *, last: bool
) -> Iterator[bytes]:
    """Contents of PNG files of a recording, `rate` for each simulated second."""
    tab = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme="light")
    tab.goto(page.as_uri())
    show_scene_alone(tab)
    first, final = tab.evaluate("[robosim.first, robosim.last]")
    moments = [final]
    if not last:
        n = max(1, math.ceil((final - first) * rate - 1e-3))
        moments = [first + (final - first) * k / n for k in range(n + 1)]
    for moment in moments:
        tab.evaluate(f"robosim.seek({moment!r})")
        yield tab.screenshot()


def show_scene_alone(tab: Any) -> None:
    """Hide all of a page but the scene, and wait until the scene is drawn.

    Raises
    ------
    ViewerError
        If nothing is drawn within a minute.
    """
    tab.add_style_tag(content=_BARE)
    tab.evaluate(f"{_PANES}; window.dispatchEvent(new Event('resize'))")
    end = time.monotonic() + _LOADING
    while not tab.evaluate("Boolean(window.robosim && robosim.stage.placed)"):
        if time.monotonic() > end:
            raise ViewerError(f"the page does not show in the browser: {ADVICE}")
        time.sleep(0.05)


def check_size(size: tuple[int, int]) -> None:
    """Raise an OptionError for a size of pictures that is odd or below 16 pixels."""
    if any(side % 2 or side < 16 for side in size):
        raise OptionError(f"the size of a picture must be two even numbers of pixels, not {size}")


def _write_gif(path: Path, pictures: Iterator[bytes], rate: float) -> None:
    from PIL import Image

    frames = [
        Image.open(io.BytesIO(data)).convert("RGB").quantize(128, dither=Image.Dither.NONE)
        for data in pictures
    ]
    pause = round(1000 / rate)
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=pause, loop=0)


def _ffmpeg() -> str:
    """The path of an ffmpeg: the system's, or that of imageio-ffmpeg."""
    if found := shutil.which("ffmpeg"):
        return found
    try:
        from imageio_ffmpeg import get_ffmpeg_exe
    except ImportError:
        raise ViewerError(
            f"a video needs ffmpeg: {install('browser')} or apt install ffmpeg; a .gif does not "
            "need it"
        ) from None
    return str(get_ffmpeg_exe())


def _write_mp4(path: Path, pictures: Iterator[bytes], rate: float, encoder: str) -> None:
    command = [encoder, "-y", "-loglevel", "error", "-f", "image2pipe", "-c:v", "png"]
    command += ["-framerate", f"{rate:g}", "-i", "-", "-c:v", "libx264", "-crf", "20"]
    # What every player can show.
    command += ["-pix_fmt", "yuv420p", "-movflags", "+faststart", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        stdin: IO[bytes] | None = process.stdin
        assert stdin is not None
        try:
            for data in pictures:
                stdin.write(data)
            stdin.close()
        except BrokenPipeError:
            pass
        assert process.stderr is not None
        said = process.stderr.read().decode(errors="replace").strip()
    if process.returncode:
        raise ViewerError(f"{path}: ffmpeg could not write it: {said.splitlines()[-1:]}")
