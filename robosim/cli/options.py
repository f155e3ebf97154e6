"""Options that several commands have: defined once, in a class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter, signature
from typing import Any, get_type_hints

import typer

# An option whose default its help tells, if there is one.
option = partial(typer.Option, show_default=False)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command in which parameters that are dataclasses are replaced by options for their fields.

    The options take the place of the parameter in the signature, which typer reads.
    """
    kinds: dict[str, type[Any]] = {
        name: kind
        for name, kind in get_type_hints(command).items()
        if isinstance(kind, type) and is_dataclass(kind)
    }
    parameters: dict[str, Parameter] = {}
    for name, parameter in signature(command, eval_str=True).parameters.items():
        if name not in kinds:
            parameters[name] = parameter
            continue
        hints = get_type_hints(kinds[name], include_extras=True)
        for one in fields(kinds[name]):
            default = Parameter.empty if one.default is MISSING else one.default
            parameters[one.name] = Parameter(
                one.name, parameter.kind, default=default, annotation=hints[one.name]
            )

    @wraps(command)
    def wrapped(**values: Any) -> None:
        made = {
            name: kind(**{one.name: values.pop(one.name) for one in fields(kind)})
            for name, kind in kinds.items()
        }
        command(**made, **values)

    wrapped.__signature__ = signature(command).replace(  # type: ignore[attr-defined]
        parameters=list(parameters.values())
    )
    wrapped.__annotations__ = {name: p.annotation for name, p in parameters.items()}
    del wrapped.__wrapped__  # type: ignore[attr-defined]
    return wrapped
