"""Proposed commands, with the options of the present command."""

from __future__ import annotations

import shlex
from typing import Any

import typer

# Options of the present run only.
_OWN = {
    "record", "camera", "port", "host", "open_browser", "log", "every", "view", "as_json", "page",
    "peer", "apart",
}  # fmt: skip


def proposed(context: typer.Context, command: str, *arguments: str) -> str:
    """``robosim COMMAND ARGUMENTS``, with each given option that COMMAND has as well."""
    words = ["robosim", command, *arguments]
    group: Any = None if context.parent is None else context.parent.command
    other = None if group is None else group.get_command(context.parent, command)
    taken = {option for parameter in (other.params if other else ()) for option in parameter.opts}
    for parameter in context.command.params:
        name, source = str(parameter.name), context.get_parameter_source(str(parameter.name))
        given = source is not None and source.name == "COMMANDLINE"
        if given and name not in _OWN and taken.intersection(parameter.opts):
            words += _words(parameter, context.params[name])
    return shlex.join(words)


def _words(parameter: Any, value: Any) -> list[str]:
    """The words of an option on the command line; none for an argument."""
    if parameter.param_type_name != "option":
        return []
    if parameter.is_flag:
        return [parameter.opts[0] if value else parameter.secondary_opts[0]]
    values = value if isinstance(value, (list, tuple)) else [value]
    return [word for one in values for word in (parameter.opts[0], str(one))]
