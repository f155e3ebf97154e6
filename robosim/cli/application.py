"""The application to which commands are added, and its error messages."""

from __future__ import annotations

import errno
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.text import Text
from typer.core import TyperGroup

import robosim
from robosim.errors import RobosimError

INTERRUPTED = 130  # exit code of shells for a command ended by ctrl-C

EXAMPLES = (
    ("robosim demo", "eight robots and mechanisms, live in the browser"),
    ("robosim models", "what can be loaded by name"),
    ("robosim info a1", "what a robot is made of"),
    ("robosim view a1 --open", "live in the browser"),
    ("robosim simulate a1 --seconds 10 --log run.parquet", "simulate and log"),
    ("robosim replay run.parquet --open", "a log, shown again"),
    ("robosim compare a1 --peer pinocchio", "check against a peer"),
    ("robosim doctor robot.urdf", "what is wrong with a model"),
    ("robosim convert a1 a1.xml", "write it as MJCF, or URDF"),
    ("robosim plot run.parquet", "a picture of the log"),
    ("robosim dataset run.parquet --out d --task walk", "a dataset of LeRobot"),
    ("robosim reproduce fig7b --out figures", "a paper's figure, run again"),
    ("robosim bench a1_stand --out times", "speed compared with other simulators"),
)
EPILOG = "\n\n".join(
    (
        "[bold]Examples[/bold], where a1 may be any name from 'robosim models' or a URDF file",
        *(f"[cyan]{line:51}[/cyan]{what}" for line, what in EXAMPLES),
    )
)

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


class Application(TyperGroup):
    """Converts errors that robosim raises deliberately to a message and exit code 1."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # --debug concerns all commands, and is accepted at any position.
        if "--debug" in args:
            args = ["--debug", *(arg for arg in args if arg != "--debug")]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except RobosimError as error:
            if ctx.params.get("debug"):
                raise
            report(error)
            raise typer.Exit(1) from None
        except OSError as error:
            # Errors of files are robosim's; the remaining ones are those of the standard output.
            if ctx.params.get("debug") or error.errno != errno.ENOSPC:
                raise
            report(RobosimError(f"the output cannot be written: {error.strerror}"))
            raise typer.Exit(1) from None


def show(*renderables: RenderableType) -> None:
    """Print results on stdout; lines are not wrapped in a file or a pipe."""
    console = out if out.is_terminal else Console(highlight=False, width=500)
    console.print(*renderables)


def report(error: Exception) -> None:
    """Print an error on stderr."""
    err.print(Text.assemble(("error: ", "bold red"), (str(error), "red")), soft_wrap=True)


def remark(text: str) -> None:
    """Print a remark on stderr."""
    err.print(Text(text, style="yellow"), soft_wrap=True)


app = typer.Typer(
    cls=Application,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"robosim {robosim.__version__}")
        raise typer.Exit


@app.callback(epilog=EPILOG)
def application(
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Show the traceback of an error; anywhere on the command line."
        ),
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Robot simulation in maximal coordinates, without drift of joints and penetration."""
