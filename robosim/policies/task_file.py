"""Task files in YAML, JSON or TOML, presets, and the metadata of a policy's own file.

A key of the file wins over one of the policy's metadata, and this one over one of the preset.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robosim.errors import LoadError, OptionError, known
from robosim.loaders.plain_files import READERS, read_mapping
from robosim.policies.metadata import described
from robosim.policies.presets import PRESETS
from robosim.policies.task import PolicyTask

TaskSource = PolicyTask | Mapping[str, Any] | str | os.PathLike[str] | None
"""A task, its keys, the path of a task file, the name of a preset, or None."""


def task_of(
    source: TaskSource, metadata: Mapping[str, str] | None = None, name: str = "task"
) -> PolicyTask:
    """The task from a file, a preset or keys, completed by the metadata of a policy's file.

    Parameters
    ----------
    source : PolicyTask, mapping, path, name of a preset, or None
        None: the metadata describe the task alone.
    metadata : mapping of str to str, or None
        As ONNX files have them.
    name : str
        For messages.

    Raises
    ------
    LoadError
        For a file that cannot be read, an unknown key or quantity, or a value that is not allowed.
    OptionError
        If there is no such file or preset, or if nothing describes the task.
    """
    if isinstance(source, PolicyTask):
        return source
    found = described(metadata or {}, name)
    if source is None:
        if not found:
            raise OptionError(
                f"{name} does not say what it observes: give a task, which is a file or one of "
                f"the presets {', '.join(PRESETS)}"
            )
        return PolicyTask.of(found, name)
    said, file = _read(source)
    preset = said.pop("preset", None)
    if preset is not None and preset not in PRESETS:
        raise LoadError(
            f"there is no preset {preset!r}", file=file, element="preset",
            alternatives=tuple(PRESETS),
        )  # fmt: skip
    base = {} if preset is None else PRESETS[preset]
    return PolicyTask.of({**base, **found, **said}, name if file is None else file.name, file)


def _read(source: Mapping[str, Any] | str | os.PathLike[str]) -> tuple[dict[str, Any], Path | None]:
    """The keys of a source, and its file."""
    if isinstance(source, Mapping):
        return dict(source), None
    if source in PRESETS:
        return {"preset": source}, None
    file = Path(source).expanduser()
    if file.suffix.lower() not in READERS:
        raise OptionError(
            f"a task is a file that ends in {', '.join(READERS)}, or a preset, not '{source}' "
            f"({known(str(source), tuple(PRESETS))})"
        )
    return read_mapping(file), file
