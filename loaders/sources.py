"""From a name or path of a robot to the Mechanism: shipped models, files, installed collections."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from robosim import models, safe_xml
from robosim.description.contact_points import DEFAULT_FRICTION
from robosim.description.hulls import HULL_POINTS
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import AnyShape, as_obstacles
from robosim.errors import LoadError
from robosim.loaders import descriptions, kinds, nearby, texts
from robosim.loaders.contacts import chosen, with_open_meshes_noticed
from robosim.loaders.options import Convex, LoadOptions, Motion
from robosim.loaders.packages import example_robot_data
from robosim.models import ModelInfo, stances
from robosim.overlaps import ties_beside_obstacles, without_overlaps
from robosim.version import install

COLLECTION = "example-robot-data"
FEWEST_CORNERS = 14  # along the axes and diagonals, which keep the bounding box


def load(
    source: Any,
    floating_base: bool | None = None,
    ground: bool = True,
    package_dirs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    *,
    friction: float = DEFAULT_FRICTION,
    contacts: str | Iterable[str] = "all",
    obstacles: AnyShape | Iterable[AnyShape] = (),
    self_collision: bool | str | None = None,
    srdf: str | os.PathLike[str] | None = None,
    loops: str | os.PathLike[str] | None = None,
    xacro_args: Mapping[str, str] | None = None,
    strict: bool = False,
    restitution: float = 0.0,
    compliant: bool = False,
    convex: Convex = "hull",
    corners: int = HULL_POINTS,
    mocap: Mapping[str, Motion] | None = None,
) -> Mechanism:
    """Load a robot or mechanism.

    Parameters
    ----------
    source : str, path, yourdfpy.URDF or mujoco.MjSpec
        A built-in name ("a1", "cube"), or the path of a .urdf, .xacro, .sdf or MJCF .xml file. Or
        the path of a USD stage: .usda, .usd, .usdc or .usdz. Or the name of a robot of an installed
        example-robot-data, such as "a1_description" or "example-robot-data:a1". Or
        "robot_descriptions:NAME", which may download the robot. Or the text of a URDF, SDF or MJCF
        file, which begins with "<"; its files are searched for in `package_dirs`.
    floating_base : bool or None
        Whether the root floats. None: for URDF, the root floats unless it has no mass; for others,
        as in the file.
    ground : bool
        Whether the collision geometry becomes contact points with the ground.
    package_dirs : path, or iterable of paths
        Folders in which ``package://`` addresses are searched for first. A model file may refer to
        files in its own folder, in these folders, and in those of ROS_PACKAGE_PATH and similar
        variables only.
    friction : float
        Friction coefficient of contacts without a coefficient in the file.
    contacts : "all", "feet", "none", or names of links
        Links with contact points on the ground. "feet" are links with such a name, or else the
        lowest ends of limbs; "none" equals ``ground=False``, and collision meshes may be missing.
        The home pose does not depend on it.
    obstacles
        Obstacles for its collision geometry; see `Mechanism.with_contacts`.
    self_collision : bool, "file" or None
        Whether bodies of one robot collide with each other. "file": only links with
        ``<selfCollide>`` in a URDF, or those that an SDF or USD wants. For MJCF "file" is True.
        None: False, and a warning counts the pairs that the file wants to collide. Different
        robots of one file collide as it says.
    srdf : path or None
        An SRDF file for a URDF; None: the one beside the URDF, if it exists.
    loops : path or None
        A file with joints that close loops of a URDF; None: ``robot.loops.yaml`` beside
        ``robot.urdf``, if it exists.
    xacro_args : mapping of name to text
        The arguments of a xacro file.
    strict : bool
        Whether warnings are errors.
    restitution : float
        Newton's coefficient, 0 to 1, of shapes and contact points without a coefficient in the
        file.
    compliant : bool
        Whether contacts are the springs of the file. Of an MJCF, `solref` and `solimp` become
        springs with MuJoCo's penetration at rest; of a URDF, `kp` and `kd` of Gazebo's extensions
        are read. Without
        it contacts are hard. Contacts without such data in a URDF are hard in any case.
    convex : "hull", "decompose", int, float, or mapping of links to these
        What collision meshes count as. "decompose": parts that are convex, found by CoACD (extra
        ``decompose``) and kept on disk. An integer: at most so many. Another number: to this
        threshold of concavity, from 0.01 on in place of 0.05. Terrain keeps its hollows anyway.
    corners : int, 14 or more
        At most so many vertices of a link's convex hull become contact points with the ground.
        The fewer there are, the more of the hull sinks in: `robosim info --contacts` tells how far.
    mocap : mapping of mocap bodies of an MJCF to functions of time
        A function of a time [s] gives the pose (7,) of its body's frame in the world, position [m]
        and quaternion. Such a body is on a `floating` joint with that `motion`, which adds to q
        and v. Other mocap bodies stay where they are.

    Raises
    ------
    LoadError, ModelError
        With file, element, value and accepted alternatives.
    MissingExtraError
        If meshes are to be divided and CoACD is not installed.
    """
    text = texts.text_of(source)
    try:
        name = os.fspath(source) if text is None else text.whose
    except TypeError:
        raise LoadError(
            f"a robot is a name, a path, the text of a model, a yourdfpy.URDF or a mujoco.MjSpec, "
            f"not {source!r}"
        ) from None
    if self_collision not in (True, False, "file", None):
        raise LoadError(
            f"self_collision cannot be {self_collision!r}",
            alternatives=("True", "False", "file", "None"),
        )
    if not isinstance(corners, int | np.integer) or corners < FEWEST_CORNERS:
        raise LoadError(f"corners must be {FEWEST_CORNERS} or more, not {corners!r}")
    obstacles = as_obstacles(obstacles)
    if package_dirs is None:
        package_dirs = ()
    elif isinstance(package_dirs, (str, os.PathLike)):
        package_dirs = (package_dirs,)
    options = LoadOptions(
        stance_of=stances.stance,
        floating_base=floating_base,
        # First, if there are obstacles: the ground determines the height of the base at home.
        ground=ground or bool(obstacles),
        package_dirs=tuple(package_dirs),
        friction=friction,
        self_collision=self_collision,
        srdf=srdf,
        loops=loops,
        xacro_args=dict(xacro_args or {}),
        touches=bool(obstacles or self_collision or contacts != "none"),
        compliant=compliant,
        corners=int(corners),
        mocap=dict(mocap or {}),
    )
    if text is None:
        mechanism = _load(name, options)
    else:
        folders = tuple(Path(folder).expanduser() for folder in options.package_dirs)
        with texts.as_file(text, folders) as (path, allowed):
            mechanism = _load_file(
                path, name, replace(options, package_dirs=(*options.package_dirs, *allowed))
            )
    mechanism = _with_restitution(mechanism, restitution)
    mechanism = with_open_meshes_noticed(chosen(mechanism, contacts if options.ground else "all"))
    if convex != "hull":
        from robosim.loaders.convex import with_parts

        mechanism = with_parts(mechanism, convex)
    collides = self_collision is True or (self_collision == "file" and mechanism.source is not None)
    mechanism = mechanism.with_contacts(obstacles, self_collision=collides, ground=ground)
    if collides or ties_beside_obstacles(mechanism):
        mechanism = without_overlaps(mechanism)
    if text is not None:
        mechanism = replace(mechanism, source=None)  # the file no longer exists
    if strict and mechanism.warnings:
        raise LoadError(
            f"strict=True, and there are warnings: {'; '.join(mechanism.warnings)}",
            file=mechanism.source,
        )
    return mechanism


def _with_restitution(mechanism: Mechanism, e: float) -> Mechanism:
    """The mechanism with a coefficient of restitution for elements without one."""
    if e == 0:
        return mechanism

    def bounces(part: Any) -> Any:
        hard = part.stiffness is None
        return replace(part, restitution=part.restitution or e) if hard else part

    bodies = tuple(
        replace(body, collisions=tuple(map(bounces, body.collisions))) for body in mechanism.bodies
    )
    points = tuple(map(bounces, mechanism.contacts))
    return replace(mechanism, bodies=bodies, contacts=points)


def file_of(name: str | os.PathLike[str]) -> Path | None:
    """The file that `load` reads for a name or a path; None for a model that is built.

    Raises
    ------
    LoadError
        If there is none.
    """
    name = os.fspath(name)
    if name in models.BUILT:
        return None
    prefix = f"{descriptions.PACKAGE}:"
    if name.startswith(prefix):
        return descriptions.find(name.removeprefix(prefix)).path
    return models.path(name) if name in models.FILES else _find(name)


def _load(name: str, options: LoadOptions) -> Mechanism:
    """`load` for a name or a path."""
    if name in models.BUILT:
        _refuse_urdf_options(name, options)
        if options.mocap:
            raise LoadError(f"'mocap' is for MJCF files, which '{name}' is not")
        return models.build(
            name,
            floating_base=options.floating_base,
            ground=options.ground,
            friction=options.friction,
        )
    prefix = f"{descriptions.PACKAGE}:"
    if name.startswith(prefix):
        found = descriptions.find(name.removeprefix(prefix))
        options = replace(
            options,
            package_dirs=(*options.package_dirs, *found.folders),
            xacro_args={**found.xacro_args, **options.xacro_args},
        )
        return _load_file(found.path, name, options)
    path = file_of(name)
    assert path is not None
    return _load_file(path, name, options)


def _load_file(path: Path, name: str, options: LoadOptions) -> Mechanism:
    """`load` for a file; `name` is the user's name of it."""
    suffix = path.suffix.lower()
    if suffix not in kinds.SUFFIXES:
        raise LoadError(
            f"unknown kind of model file '{path.suffix}'", file=path, alternatives=kinds.SUFFIXES
        )
    kind = kinds.kind_of(path)
    if kind == kinds.MJCF:
        from robosim.loaders.mjcf import load_mjcf

        _refuse_urdf_options(name, options)
        return load_mjcf(path, options)
    if options.mocap:
        raise LoadError(f"'mocap' is for MJCF files, which '{name}' is not")
    if kind == kinds.SDF:
        from robosim.loaders.sdf import load_sdf

        _refuse_urdf_options(name, options)
        return load_sdf(path, options)
    if kind == kinds.USD:
        from robosim.loaders.usd import load_usd

        _refuse_urdf_options(name, options)
        return load_usd(path, options)
    # Imported here, as trimesh takes most of a second to import, and built models do not need it.
    from robosim.loaders.urdf import load_urdf

    return load_urdf(path, options)


def _refuse_urdf_options(name: str, options: LoadOptions) -> None:
    for what in ("srdf", "loops", "xacro_args"):
        if getattr(options, what):
            raise LoadError(f"'{what}' is for URDF files, which '{name}' is not")


def available() -> tuple[ModelInfo, ...]:
    """Names that can be loaded: shipped models, then those of an installed collection."""
    return (
        *models.shipped(),
        *(
            ModelInfo(name, str(path), f"{COLLECTION}, installed")
            for name, path in _collected().items()
        ),
    )


def _collected() -> dict[str, Path]:
    """Name -> URDF file of example-robot-data; "a_description/b" if a folder has several."""
    share = example_robot_data()
    if share is None:
        return {}
    robots = share / COLLECTION / "robots"
    found: dict[str, Path] = {}
    for folder in sorted(path for path in robots.iterdir() if path.is_dir()):
        files = sorted(folder.rglob("*.urdf"))
        if len(files) == 1:
            found[folder.name] = files[0]
        else:
            found |= {f"{folder.name}/{file.stem}": file for file in files}
    return found


def _find(name: str) -> Path:
    """The model file for a path or the name of an installed robot."""
    path = Path(name).expanduser()
    collected = _collected()
    wanted = name.removeprefix(f"{COLLECTION}:")
    there = safe_xml.is_file(path)
    if wanted == name and (there or path.suffix.lower() in kinds.SUFFIXES):
        if not there:
            raise LoadError(f"the file does not exist{nearby.of_file(path)}", file=path)
        return path
    matches = _matches(wanted, collected)
    if len(matches) == 1:
        return collected[matches[0]]
    if matches:
        raise LoadError(f"'{wanted}' names several robots", alternatives=matches)
    if instead := nearby.of_name(name):
        raise LoadError(f"{_nowhere(name)}; {instead}")
    raise LoadError(_unknown(name, wanted, collected), alternatives=_known_names())


def _known_names() -> list[str]:
    return [info.name for info in models.shipped()]


def _matches(wanted: str, collected: dict[str, Path]) -> list[str]:
    """Matching names in the collection: the full name, else the folder's, else the file's."""
    if wanted in collected:
        return [wanted]
    folders = (wanted, f"{wanted}_description", f"{wanted}_data")
    in_folder = [name for name in collected if name.partition("/")[0] in folders]
    # Of the files in a folder, the one with the folder's name.
    same = [name for name in in_folder if collected[name].stem == _short(name)]
    by_file = [name for name, path in collected.items() if path.stem == wanted]
    return (same if len(same) == 1 else in_folder) or by_file


def _short(name: str) -> str:
    return name.partition("/")[0].removesuffix("_description").removesuffix("_data")


def _nowhere(name: str) -> str:
    return f"there is no robot, and no file, called '{name}'"


def _unknown(name: str, wanted: str, collected: dict[str, Path]) -> str:
    reason = _nowhere(name)
    words = [*_known_names(), *collected, *map(_short, collected)]
    words += [path.stem for path in collected.values()]
    close = difflib.get_close_matches(wanted, dict.fromkeys(words), n=4, cutoff=0.5)
    if close:
        reason += f"; did you mean {' or '.join(repr(match) for match in close)}?"
    if not collected:
        reason += f"; '{COLLECTION}' is not installed: {install('robots')} brings more robots"
    if more := descriptions.proposed(wanted):
        reason += f"; {more}"
    return reason
