"""Pictures and videos of recordings."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from robosim.errors import OptionError, ViewerError
from robosim.extras import needed
from robosim.version import install
from robosim.viz.drawing import Drawer
from robosim.viz.drawing.caption import Picture, captioned
from robosim.viz.drawing.frames import Frames

if TYPE_CHECKING:
    from robosim.description.camera import Camera
    from robosim.viz.recorder import Recorder

SUFFIXES = (".png", ".gif", ".mp4")
GIF_FPS = 20.0  # programs that show a GIF are limited to about this rate


def render(
    recorder: Recorder,
    path: str | Path,
    *,
    fps: float = 30.0,
    size: tuple[int, int] = (960, 540),
    speed: float = 1.0,
    camera: Camera | str | None = None,
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
    camera : Camera, name of one of the robot's, or None
        None: the page's camera, which follows the robot.

    Returns
    -------
    pathlib.Path
        The path of the file.

    Raises
    ------
    OptionError
        For another suffix, or an odd size.
    ViewerError
        If nothing was recorded, if the file cannot be written, or if an encoder is missing; the
        message says how to install it.
    MissingExtraError
        Without Pillow.
    ModelError
        For an unknown camera.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise OptionError(f"{path}: must end in one of {', '.join(SUFFIXES)}")
    check_size(size)
    check_renderer(suffix)
    encoder = _ffmpeg() if suffix == ".mp4" else ""
    rate = min(fps, GIF_FPS) if suffix == ".gif" else fps
    frames = Frames(recorder)
    pictures = _pictures(frames, size, rate / speed, camera, last=suffix == ".png")
    try:
        if suffix == ".png":
            _write_png(path, next(pictures))
        elif suffix == ".gif":
            _write_gif(path, pictures, rate)
        else:
            _write_mp4(path, pictures, size, rate, encoder)
    except OSError as error:
        raise ViewerError(f"{path}: cannot be written: {error.strerror}") from error
    return path


def check_renderer(suffix: str) -> None:
    """Check before a run whether its recording can be drawn.

    Raises
    ------
    ViewerError, MissingExtraError
        If an encoder or Pillow is missing; the message says how to install it.
    """
    _pillow()
    if suffix.lower() == ".mp4":
        _ffmpeg()


def _pictures(
    frames: Frames,
    size: tuple[int, int],
    rate: float,
    camera: Camera | str | None,
    *,
    last: bool,
) -> Iterator[Picture]:
    """Pictures of a recording, `rate` for each simulated second, or its last one."""
    width, height = size
    drawer = Drawer(
        frames.robot, width, height, ground=frames.ground, forces=True, ghosts=frames.ghosts
    )
    first, final = frames.times[0], frames.times[-1]
    moments = [final]
    if last:
        # The page's camera shows the first pose, and follows from there.
        drawer.draw(*frames.at(first)[:2], camera, "depth", time=first)
    else:
        n = max(1, math.ceil((final - first) * rate - 1e-3))
        moments = [first + (final - first) * k / n for k in range(n + 1)]
    for moment in moments:
        x, q, contacts = frames.at(moment)
        picture = drawer.draw(x, q, camera, contacts=contacts, time=moment)
        yield captioned(picture, frames.robot.name, moment)


def check_size(size: tuple[int, int]) -> None:
    """Raise an OptionError for a size of pictures that is odd or below 16 pixels."""
    if any(side % 2 or side < 16 for side in size):
        raise OptionError(f"the size of a picture must be two even numbers of pixels, not {size}")


def _pillow() -> Any:
    return needed("PIL.Image", "recordings as .png, .gif and .mp4 need Pillow", "pictures")


def _write_png(path: Path, picture: Picture) -> None:
    _pillow().fromarray(picture).save(path)


def _write_gif(path: Path, pictures: Iterator[Picture], rate: float) -> None:
    Image = _pillow()
    frames = [
        Image.fromarray(picture).quantize(128, dither=Image.Dither.NONE) for picture in pictures
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
            f"a video needs ffmpeg: {install('video')} or apt install ffmpeg; a .gif does not "
            "need it"
        ) from None
    return str(get_ffmpeg_exe())


def _write_mp4(
    path: Path, pictures: Iterator[Picture], size: tuple[int, int], rate: float, encoder: str
) -> None:
    command = [encoder, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{size[0]}x{size[1]}", "-framerate", f"{rate:g}", "-i", "-"]
    command += ["-c:v", "libx264", "-preset", "fast", "-crf", "20"]
    # What every player can show.
    command += ["-pix_fmt", "yuv420p", "-movflags", "+faststart", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        stdin: IO[bytes] | None = process.stdin
        assert stdin is not None
        try:
            for picture in pictures:
                stdin.write(picture.tobytes())
            stdin.close()
        except BrokenPipeError:
            pass
        assert process.stderr is not None
        said = process.stderr.read().decode(errors="replace").strip()
    if process.returncode:
        raise ViewerError(f"{path}: ffmpeg could not write it: {said.splitlines()[-1:]}")
