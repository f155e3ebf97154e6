"""Commands of a log: of robosim, of a real robot, or of another simulator.

Columns are found by their names, those of robosim's own logs. The time is ``time``. A command is
the ``<joint>.torque`` of each motor, or the control of each actuator of the file: its name, or
``ctrl.<actuator>``. The motion is optional: ``<joint>.position``, ``<joint>.velocity`` and
``base_x`` to ``base_wz``.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.errors import LogError, RobosimError
from robosim.log import read_log
from robosim.log.columns import POSITION, TORQUE, VELOCITY, base_columns
from robosim.log.formats import check_parquet
from robosim.referee.audit.runs import HELD, TORQUES, Array

TIMES = ("time", "t", "timestamp", "seconds")
_LISTED = 6


@dataclass(frozen=True, eq=False)
class Commands:
    """What a log says.

    Attributes
    ----------
    t : (n,) [s], from zero
    kind : str
        `HELD`, controls of the file's actuators; or `TORQUES`.
    table : (n, m)
    q, v : (n, nq), (n, nv) or None
        The motion, if the log has all of it.
    """

    t: Array
    kind: str
    table: Array
    q: Array | None
    v: Array | None

    def held(self, period: float, samples: int) -> Array:
        """Commands (samples, m) that hold over periods [s]."""
        k = np.searchsorted(self.t, np.arange(samples) * period + 1e-9, side="right") - 1
        return np.asarray(self.table[np.clip(k, 0, len(self.table) - 1)])


def columns_of(path: Path) -> dict[str, Array]:
    """The columns of numbers of a log file.

    Raises
    ------
    LogError
        For a file that is not there or cannot be read.
    """
    suffix = path.suffix.lower()
    if not path.is_file():
        raise LogError(f"{path}: there is no such file")
    if suffix not in (".csv", ".parquet"):
        log = read_log(path)
        return {name: np.asarray(log.column(name), dtype=float) for name in log.names}
    try:
        return _of_csv(path) if suffix == ".csv" else _of_parquet(path)
    except (OSError, ValueError) as error:
        raise LogError(f"{path}: cannot be read: {error}") from None


def _of_csv(path: Path) -> dict[str, Array]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        names, *rows = [row for row in csv.reader(file) if row] or [[]]
    found = {}
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        with suppress(ValueError):  # other columns hold texts
            found[name.strip()] = np.array([float(cell) if cell else np.nan for cell in column])
    return found


def _of_parquet(path: Path) -> dict[str, Array]:
    check_parquet()
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    found = {}
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            found[str(name).strip()] = column.to_numpy().astype(float)
    return found


def commands(path: str | Path, robot: Mechanism) -> Commands:
    """The commands of a log, for a robot.

    Raises
    ------
    LogError
        For a log without times or commands, or of another robot.
    """
    path = Path(path)
    try:
        columns = columns_of(path)
    except LogError:
        raise
    except RobosimError as error:
        raise LogError(f"{path}: {error}") from None
    time = next((columns[name] for name in TIMES if name in columns), None)
    if time is None:
        raise LogError(f"{path}: has no column of times, such as '{TIMES[0]}'")
    if len(time) < 2 or not np.isfinite(time).all() or not (np.diff(time) > 0).all():
        raise LogError(f"{path}: its times are not two at least, finite and increasing")
    names = list(robot.control_names)
    given = [
        next((columns[n] for n in (name, f"ctrl.{name}", f"{name}.ctrl") if n in columns), None)
        for name in names
    ]
    torques = [columns.get(f"{name}{TORQUE}") for name in robot.actuated_names]
    for kind, found, needed in (
        (HELD, given, names),
        (TORQUES, torques, [f"{name}{TORQUE}" for name in robot.actuated_names]),
    ):
        if not needed or all(one is None for one in found):
            continue
        missing = [name for name, one in zip(needed, found, strict=True) if one is None]
        if missing:
            raise LogError(f"{path}: has no column for {_some(missing)}")
        table = np.column_stack([one for one in found if one is not None])
        if not np.isfinite(table).all():
            raise LogError(f"{path}: commands are missing in some rows")
        q, v = _motion(columns, robot)
        return Commands(time - time[0], kind, table, q, v)
    wanted = names or [f"{name}{TORQUE}" for name in robot.actuated_names]
    if not wanted:
        raise LogError(f"{path}: '{robot.name}' has no motors whose commands could be replayed")
    raise LogError(
        f"{path}: has no command of '{robot.name}', such as {_some(wanted)}; it is of another "
        f"robot, or its columns have other names: {_some(list(columns))}"
    )


def _some(names: Sequence[str]) -> str:
    told = ", ".join(f"'{name}'" for name in names[:_LISTED])
    return told + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


def _motion(columns: dict[str, Array], robot: Mechanism) -> tuple[Array | None, Array | None]:
    """q and v of a log; None for each that it has not."""
    made: list[Array | None] = []
    bases = base_columns(robot)
    for which, names, ending in ((0, robot.q_names, POSITION), (1, robot.v_names, VELOCITY)):
        found = []
        for k, name in enumerate(names):
            options = (bases[which].get(k), f"{name}{ending}", name if which == 0 else None)
            found.append(next((columns[n] for n in options if n and n in columns), None))
        whole = [one for one in found if one is not None and np.isfinite(one).all()]
        made.append(np.column_stack(whole) if whole and len(whole) == len(found) else None)
    return made[0], made[1]
