"""``robosim parallel``: motors and joints of a parallel mechanism, and its serial equivalent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from robosim.cli import arguments
from robosim.cli.application import app, out, remark, show
from robosim.cli.loading import Loading
from robosim.cli.options import option, with_options
from robosim.cli.tables import plain_table
from robosim.errors import OptionError

if TYPE_CHECKING:
    from robosim.parallel import SerialEquivalent, Transmission, Workspace


@app.command()
@with_options
def parallel(
    model: arguments.Model,
    loading: Loading,
    *,
    joints: Annotated[
        list[str],
        typer.Option("--joint", "-j", help="A joint that a controller or learner moves.",
                     metavar="NAME", show_default=False),
    ],
    motors: Annotated[
        list[str] | None,
        option("--motor", "-m", help="A motor; by default those that loops connect with joints.",
               metavar="NAME"),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        option("--fixed", help="A coordinate that keeps its value, such as a stiff spring.",
               metavar="NAME"),
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", help="Samples of the workspace.", metavar="N")
    ] = 100,
    ranges: Annotated[
        list[str] | None,
        option("--range", help="Positions of a motor, instead of its limits [rad or m].",
               metavar="NAME=FROM,TO"),
    ] = None,
    serial: Annotated[
        Path | None,
        option("--serial", help="Write the serial equivalent: .urdf, or .xml for MJCF.",
               metavar="FILE"),
    ] = None,
    as_json: arguments.Json = False,
) -> None:  # fmt: skip
    """Maps between the motors of closed loops and the joints: ranges, limits, singularities.

    [bold]Example:[/bold] robosim parallel two_rod_ankle -j ankle --serial ankle.urdf

    Joints have their range in the workspace of the motors, and limits of velocities and torques
    at home that all of them can have at once. Options with a name may be given several times.
    """
    from robosim.loaders.writers import save
    from robosim.parallel import Transmission, serial_equivalent, workspace

    of = Transmission(loading.load(model), joints, motors, fixed=fixed or ())
    within = dict(_range(text) for text in ranges or ())
    space = workspace(of, samples, ranges=within)
    told = _dictionary(of, space)
    equivalent: SerialEquivalent | None = None
    lost: tuple[str, ...] = ()
    if serial is not None:
        equivalent = serial_equivalent(of, samples=samples, ranges=within)
        lost = save(equivalent.robot, serial)
        told["serial"] = _of_serial(equivalent, serial, lost)
    if as_json:
        typer.echo(json.dumps(_finite(told), indent=2, allow_nan=False))
        return
    _tell(of, told)
    if equivalent is not None:
        for sentence in (*equivalent.left_out, *lost):
            remark(f"not in the file: {sentence}")
        out.print(f"written: {serial}", markup=False, soft_wrap=True)


def _range(text: str) -> tuple[str, tuple[float, float]]:
    """A motor and its range from ``NAME=FROM,TO``."""
    name, _, numbers = text.rpartition("=")
    try:
        low, high = (float(number) for number in numbers.split(","))
    except ValueError:
        raise OptionError(f"--range {text}: must be NAME=FROM,TO, as in knee=-0.5,1.2") from None
    return name, (low, high)


def _dictionary(of: Transmission, space: Workspace) -> dict[str, Any]:
    """What is measured at home and in the workspace."""
    q = of.home
    return {
        "motors": list(of.motors),
        "joints": list(of.joints),
        "units": [one.unit for one in of.joint_coordinates],
        "jacobian": of.jacobian(q).tolist(),
        "ranges": space.joint_ranges.tolist(),
        "velocity_limits": of.velocity_limits(q).inner.tolist(),
        "torque_limits": of.torque_limits(q).inner.tolist(),
        "singular_values": of.singular_values(q)._asdict(),
        "least_singular_values": space.least_singular_values._asdict(),
        "samples": len(space.motors),
        "out_of_reach": len(space.unreached),
        "beyond_limits": dict(space.limited),
    }


def _of_serial(found: SerialEquivalent, file: Path, lost: tuple[str, ...]) -> dict[str, Any]:
    return {
        "file": str(file),
        "armature": found.armature[:, 0].tolist(),
        "median_errors": found.errors.median,
        "largest_errors": found.errors.largest,
        "left_out": [*found.left_out, *lost],
    }


def _tell(of: Transmission, told: dict[str, Any]) -> None:
    joints = plain_table("joint", "unit", "from>", "to>", "velocity>", "torque>", *(
        f"per {name}>" for name in of.motors))  # fmt: skip
    rows = zip(told["joints"], told["units"], told["ranges"], told["velocity_limits"],
               told["torque_limits"], told["jacobian"], strict=True)  # fmt: skip
    for name, unit, (low, high), speed, effort, row in rows:
        numbers = (f"{x:.4g}" for x in (low, high, speed, effort, *row))
        joints.add_row(name, unit, *numbers)
    singular = plain_table("singularity", "at home>", "least>")
    for kind, value in told["singular_values"].items():
        singular.add_row(kind, f"{value:.4g}", f"{told['least_singular_values'][kind]:.4g}")
    show(joints, "", singular)
    excluded = [f"{told['out_of_reach']} out of reach"] if told["out_of_reach"] else []
    excluded += [f"{n} beyond the limit of {name}" for name, n in told["beyond_limits"].items()]
    show("", f"{told['samples']} samples of the workspace" + "".join(f", {x}" for x in excluded))
    if "serial" in told:
        errors = plain_table("serial equivalent", "median>", "largest>")
        serial = told["serial"]
        for kind, value in serial["median_errors"].items():
            largest = serial["largest_errors"][kind]
            errors.add_row(kind.replace("_", " "), f"{value:.3g}", f"{largest:.3g}")
        show("", errors)


def _finite(told: Any) -> Any:
    """The same with None for numbers that JSON does not have."""
    if isinstance(told, dict):
        return {key: _finite(value) for key, value in told.items()}
    if isinstance(told, list):
        return [_finite(value) for value in told]
    return None if isinstance(told, float) and not np.isfinite(told) else told
