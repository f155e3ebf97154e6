"""Options of commands for loading a model."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

import robosim
from robosim.cli.adding import Added, addition, with_added
from robosim.cli.application import err
from robosim.cli.options import option
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError

_PANEL = "Loading"
_option = partial(option, rich_help_panel=_PANEL)

FloatingBase = Annotated[
    bool | None,
    _option(
        "--floating-base/--fixed-base",
        help="Whether the root link moves freely; by default as in the model.",
    ),
]
PackageDirs = Annotated[
    list[Path] | None,
    _option(
        "--package-dir",
        help="Folder to search for package:// addresses; may be given several times.",
        metavar="DIR",
    ),
]
Srdf = Annotated[
    Path | None,
    _option(
        "--srdf",
        help="SRDF file with poses and collision exclusions of a URDF; by default the .srdf file "
        "beside the URDF.",
        metavar="FILE",
    ),
]
Loops = Annotated[
    Path | None,
    _option(
        "--loops",
        help="File with joints that close loops of a URDF; by default robot.loops.yaml beside "
        "robot.urdf.",
        metavar="FILE",
    ),
]
XacroArgs = Annotated[
    list[str] | None,
    _option(
        "--xacro-arg",
        help="An argument of a .xacro file, such as arm:=left; may be given several times.",
        metavar="NAME:=VALUE",
    ),
]
Friction = Annotated[
    float | None,
    _option(
        help="Friction coefficient of all contacts; by default that of the model.",
        metavar="MU",
    ),
]
NoGround = Annotated[
    bool,
    typer.Option(
        "--no-ground", help="Remove the contacts with the ground.", rich_help_panel=_PANEL
    ),
]
Touching = Annotated[
    str | None,
    _option(
        "--touching",
        help="Links that can touch the ground: all, feet, none, or names separated by commas.",
        metavar="LINKS",
    ),
]
SelfCollision = Annotated[
    bool,
    typer.Option(
        "--self-collision",
        help="Enable collisions between bodies without a joint between them.",
        rich_help_panel=_PANEL,
    ),
]
SelfCollide = Annotated[
    bool,
    typer.Option(
        "--selfcollide",
        help="Enable collisions only for links with <selfCollide> in the file.",
        rich_help_panel=_PANEL,
    ),
]


Convex = Annotated[
    list[str] | None,
    _option(
        "--convex",
        help="What collision meshes count as: hull, decompose, a largest number of convex parts, "
        "or a threshold of concavity such as 0.02. With LINK= before it for one link; may be given "
        "several times.",
        metavar="[LINK=]HOW",
    ),
]
Corners = Annotated[
    int | None,
    _option(
        help="Vertices of a link's convex hull that touch the ground, at most; by default 32.",
        metavar="N",
    ),
]


@dataclass(frozen=True)
class Files:
    """Options for the files of a model, and for its base."""

    floating_base: FloatingBase = None
    package_dir: PackageDirs = None
    srdf: Srdf = None
    loops: Loops = None
    xacro_arg: XacroArgs = None

    def load(self, model: str, **options: Any) -> Mechanism:
        """The robot that the options of the command line ask for."""
        # Large meshes take seconds to read.
        with err.status(f"loading {escape(model)}") if err.is_terminal else nullcontext():
            return robosim.load(
                model,
                floating_base=self.floating_base,
                package_dirs=self.package_dir or None,
                srdf=self.srdf,
                loops=self.loops,
                xacro_args=dict(map(_argument, self.xacro_arg or ())),
                **options,
            )


@dataclass(frozen=True)
class Loading(Files):
    """The same, with options for contacts."""

    friction: Friction = None
    no_ground: NoGround = False
    touching: Touching = None
    self_collision: SelfCollision = False
    selfcollide: SelfCollide = False
    convex: Convex = None
    corners: Corners = None

    @property
    def links(self) -> str | list[str]:
        """Links of `--touching`, for the argument `contacts` of `robosim.load`."""
        if self.touching is None or self.touching in ("all", "feet", "none"):
            return self.touching or "all"
        links = [name.strip() for name in self.touching.split(",") if name.strip()]
        if not links:
            raise OptionError("--touching must be all, feet, none, or names, not empty")
        return links

    @property
    def of_hulls(self) -> dict[str, int]:
        """The arguments for `--corners`."""
        return {} if self.corners is None else {"corners": self.corners}

    @property
    def meshes(self) -> Any:
        """Choices of `--convex`, for the argument `convex` of `robosim.load`."""
        choices = [text.rpartition("=") for text in self.convex or ()]
        if len(choices) == 1 and not choices[0][0]:
            return _choice(choices[0][2])
        if not all(link for link, _, _ in choices):
            raise OptionError("--convex given several times takes a link each, as in mug=decompose")
        return {link: _choice(how) for link, _, how in choices} or "hull"

    def load(self, model: str, **options: Any) -> Mechanism:
        """Load the robot with these options."""
        robot = super().load(
            model,
            ground=not self.no_ground,
            contacts=self.links,
            self_collision=self.self_collision or ("file" if self.selfcollide else None),
            **{"convex": self.meshes, **self.of_hulls, **options},
        )
        if self.friction is None:
            return robot
        contacts = tuple(replace(point, friction=self.friction) for point in robot.contacts)
        return replace(robot, contacts=contacts)


@dataclass(frozen=True)
class World(Loading):
    """The same, with options for obstacles and added models."""

    add: Added = None

    def load(self, model: str, **options: Any) -> Mechanism:
        """Load the robot with these options, and add the other models."""
        wanted = [addition(text) for text in self.add or ()]
        robot = super().load(model, **options)
        for one in wanted:
            other = robosim.load(
                one.model, ground=not self.no_ground, package_dirs=self.package_dir or None
            )
            robot = with_added(robot, other, one)
        return robot


def _argument(text: str) -> tuple[str, str]:
    name, sign, value = text.partition(":=")
    if not sign or not name.strip():
        raise OptionError(f"--xacro-arg must be like arm:=left, not '{text}'")
    return name.strip(), value


def _choice(text: str) -> str | int | float:
    """How meshes are divided, as `robosim.load` takes it, which refuses what it cannot take."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
