"""Options for watching a run: in the browser, or as a page, a video or a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from robosim.cli.application import err, remark
from robosim.cli.options import option
from robosim.cli.running import ended_by_interrupt
from robosim.errors import OptionError

if TYPE_CHECKING:
    from robosim.description.mechanism import Mechanism
    from robosim.viz import Recorder, Viewer
    from robosim.viz.foxglove_server import FoxgloveServer

PAGES = (".html", ".htm")
RECORDINGS = (*PAGES, ".mp4", ".gif", ".png")
WATCHING = "Watching"
_shown = partial(typer.Option, rich_help_panel=WATCHING)
_option = partial(option, rich_help_panel=WATCHING)

Open = Annotated[bool, _shown("--open", help="Open the browser.")]
Record = Annotated[
    Path | None,
    _option(
        help="Record the run as a page (.html), a video (.mp4, .gif) or a picture of its last "
        "frame (.png).",
        metavar="FILE",
    ),
]
View = Annotated[
    str | None,
    _option(
        "--camera",
        help="The model's camera from which a video or picture is recorded; by default one that "
        "follows the robot.",
        metavar="NAME",
    ),
]
Port = Annotated[
    int | None,
    _option(help="Port of the live view; by default the first free one from 7000.", metavar="PORT"),
]
Host = Annotated[
    str | None,
    _option(
        help="Serve the live view to other machines: an address of this machine, or 0.0.0.0. The "
        "printed address then contains a token.",
        metavar="ADDRESS",
    ),
]


Foxglove = Annotated[
    bool,
    _shown("--foxglove", help="Also serve the run to Foxglove on this machine, in real time."),
]
FoxglovePort = Annotated[
    int | None, _option(help="Port for Foxglove; by default 8765.", metavar="PORT")
]


@dataclass(frozen=True)
class Watching:
    """A recording, and where a live view is served."""

    record: Record = None
    camera: View = None
    port: Port = None
    host: Host = None
    foxglove: Foxglove = False
    foxglove_port: FoxglovePort = None

    def check(self) -> None:
        """Refuse a recording that cannot be written, before a run."""
        if self.record is not None:
            check_record(self.record, "--record")
        if self.camera is not None and (self.record is None or self.record.suffix in PAGES):
            raise OptionError("--camera needs --record FILE.mp4, .gif or .png")
        if self.foxglove_port is not None and not self.foxglove:
            raise OptionError("--foxglove-port is for --foxglove")

    @contextmanager
    def served(self, robot: Mechanism) -> Iterator[FoxgloveServer | None]:
        """A server for Foxglove whose address is printed, if it is requested."""
        if not self.foxglove:
            yield None
            return
        from robosim.viz.foxglove_server import PORT, FoxgloveServer

        port = PORT if self.foxglove_port is None else self.foxglove_port
        with FoxgloveServer(robot, port=port, quiet=True) as server:
            err.print(f"for Foxglove: {server.url}", style="bold green", markup=False)
            yield server

    def recorder(self, robot: Mechanism) -> Recorder | None:
        """The recorder, if a recording is requested."""
        from robosim.viz import Recorder

        if self.camera is not None:
            robot.camera(self.camera)
        return None if self.record is None else Recorder(robot, fps=30)

    def save(self, recorder: Recorder | None) -> None:
        """Write the recording, if one is requested."""
        if self.record is not None and recorder is not None:
            save_recording(recorder, self.record, self.camera)


def check_record(record: Path, option: str) -> None:
    """Refuse a file to which a recording cannot be written."""
    suffix = record.suffix.lower()
    if suffix not in RECORDINGS:
        raise OptionError(
            f"{option} writes a page, a video or a picture: '{record}' must end in "
            f"{', '.join(RECORDINGS)}"
        )
    if not record.absolute().parent.is_dir():
        raise OptionError(f"{option} {record}: the directory does not exist")
    if suffix not in PAGES:
        from robosim.viz.rendering import check_renderer

        check_renderer(suffix)


def save_recording(recorder: Recorder, record: Path, camera: str | None = None) -> None:
    """Write a recording in the format of its suffix."""
    if record.suffix.lower() in PAGES:
        recorder.save(record)
        return
    from robosim.viz.rendering import render

    err.print(f"drawing {record} ...", markup=False, soft_wrap=True)
    render(recorder, record, fps=recorder.fps, camera=camera)


@contextmanager
def open_viewer(
    robot: Mechanism,
    port: int | None,
    host: str | None = None,
    open_browser: bool = False,
    ghosts: Sequence[str] = (),
) -> Iterator[Viewer]:
    """A viewer whose address is printed, until ctrl-C at the latest."""
    from robosim.viz import Viewer

    options: dict[str, Any] = {"open_browser": open_browser, "ghosts": ghosts, "quiet": True}
    with ended_by_interrupt(), Viewer(robot, port=port, host=host, **options) as viewer:
        if host is not None:
            remark("whoever has this address can watch and steer; the connection is not encrypted")
        err.print(f"live view: {viewer.url}", style="bold green", markup=False, soft_wrap=True)
        yield viewer


def compiled(start: Callable[[], Any], viewer: Viewer | None) -> Any:
    """The result of `start`; a page, if any, shows the robot and the progress of its kernels."""
    if viewer is None:
        return start()
    from robosim.viz.waiting import show_home, waiting

    show_home(viewer)
    with waiting(viewer):
        return start()
