"""Arguments that several commands have: a model, and a controller by name."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from robosim.cli.application import remark
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, OptionError, RobosimError

if TYPE_CHECKING:
    from robosim.control.controllers import PD
    from robosim.formulation import Formulation

Model = Annotated[
    str,
    typer.Argument(
        help="A name from 'robosim models', or a path.", metavar="MODEL", show_default=False
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def check_page(page: Path | None) -> None:
    """Refuse a file of ``--html`` that is no page, or in a directory that does not exist."""
    if page is None:
        return
    if page.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"--html writes a page: '{page}' must end in .html")
    if not page.absolute().parent.is_dir():
        raise OptionError(f"--html {page}: the directory does not exist")


def default_controller(robot: Mechanism) -> str:
    """The name of the controller where none is asked for; a note if motors have no torques."""
    if robot.nu and robot.floating_base:
        return "stand"
    if np.isfinite(robot.effort_limits).any():
        remark("note: the motors have no torques: --controller stand holds the initial pose")
    return "zero"


def controller(
    name: str | None,
    robot: Mechanism,
    timestep: float,
    implicit: bool | None = None,
    effort_limits: bool = False,
    q: Any = None,
    motors: Path | None = None,
) -> Callable[[Formulation], Any]:
    """The controller of ``--controller NAME``.

    ``stand``, ``trot`` and ``zero`` are built in. By default a robot with actuators and a floating
    base stands, and any other moves freely. ``module:function`` is a Python function. If its first
    parameter is named ``robot``, it is called once with the robot and returns the controller, as
    ``robosim.controllers.stand`` does. A function that numba has jitted is compiled into the loop.
    Any other function is the controller, and is called with the simulation before every step.
    ``--implicit`` is for ``stand`` only, and ``--effort-limits`` for a PD. A robot without a stance
    stands at `q` (nq,), if given. Its commands pass the stages of the file `motors`, if given; the
    file may also have a law, which takes the place of the controller.

    Raises
    ------
    ControllerError
        If there is no such controller. Errors that the controller raises are also converted to this
        one.
    OptionError
        For ``--implicit``, ``--explicit`` or ``--effort-limits`` with another controller. For a
        controller beside a file of motors that has a law.
    LoadError
        For a file of motors that cannot be read.
    """
    from robosim.control.controllers import PD

    if motors is not None:
        from robosim.loaders.motor_files import has_law, load_motors

        if has_law(motors):
            if name is not None:
                raise OptionError(f"{motors} has a law: leave out --controller {name}")
            return load_motors(robot, motors)
        if implicit is None:
            implicit = False if (name or default_controller(robot)) == "stand" else None
    name = name or default_controller(robot)
    control = _unlimited(name, robot, timestep, implicit, q)
    if effort_limits:
        if not isinstance(control, PD):
            raise OptionError(
                f"--effort-limits is for a PD, such as 'stand', not '{name}': clip its torques "
                "between -robot.effort_limits and robot.effort_limits yourself"
            )
        limit_efforts(control, robot)
    if motors is not None:
        control = through_motors(robot, motors, control)
    if not hasattr(control, "__name__"):
        control.__name__ = name  # which the page shows
    return control


def through_motors(
    robot: Mechanism, motors: Path, control: Callable[[Formulation], Any]
) -> Callable[[Formulation], Any]:
    """A controller whose commands pass the stages of a file."""
    from robosim.control.controllers import PD, Compiled
    from robosim.control.periodic import Periodic
    from robosim.loaders.motor_files import load_motors

    if isinstance(control, PD | Compiled | Periodic):  # Motors refuse what is compiled
        return load_motors(robot, motors, control)
    present: list[Formulation] = []

    def law(time: Any, q: Any, v: Any) -> Any:
        answer = control(present[-1])
        return answer(present[-1]) if isinstance(answer, PD) else answer

    made = load_motors(robot, motors, law)

    def through(sim: Formulation) -> Any:
        present[:] = [sim]
        return made(sim)

    through.__name__ = getattr(control, "__name__", "Motors")
    return through


def limit_efforts(control: PD, robot: Mechanism) -> None:
    """Limit a PD to the joints' effort limits, in addition to its own limits."""
    limits = robot.effort_limits
    if not np.all(limits > 0):
        names = [robot.actuated_names[k] for k in np.flatnonzero(limits == 0)]
        remark(f"note: effort limits of zero leave these joints without torque: {', '.join(names)}")
    control.gains["limit"] = np.minimum(control.gains["limit"], limits)


def _unlimited(
    name: str, robot: Mechanism, timestep: float, implicit: bool | None, q: Any
) -> Callable[[Formulation], Any]:
    from robosim.control import controllers

    if name == "stand":
        control = controllers.stand(robot, timestep, q=q, implicit=implicit)
        if implicit is None and control.gains["implicit"].any():
            remark(
                f"note: explicit PD control would be unstable at a time step of {1e3 * timestep:g} "
                "ms, so 'stand' is an implicit PD controller (without this note: --implicit)"
            )
        return control
    if implicit is not None:
        raise OptionError(f"--implicit and --explicit are for the controller 'stand', not '{name}'")
    if ":" not in name:
        return controllers.resolve(robot, name, timestep)
    found = _find(name)
    if hasattr(found, "py_func"):  # jitted by numba
        return controllers.resolve(robot, found)
    if _makes_controllers(found):
        found = _guarded(name, found)(robot)
    if not callable(found):
        raise ControllerError(f"controller '{name}': a {type(found).__name__} cannot be called")
    _check_parameters(name, found)
    # Already known to the compiled loop, and without errors of user code.
    return found if isinstance(found, controllers.PD) else _answering(name, robot, found)


def _find(name: str) -> Any:
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise ControllerError(f"controller '{name}': must be of the form module:function")
    # Python does not search the working directory for modules of an installed command.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        if module_name.endswith(".py"):
            raise ControllerError(
                f"controller '{name}': a module is named without .py, as in "
                f"{Path(module_name).stem}:{attribute}"
            ) from None
        if isinstance(error, ModuleNotFoundError) and module_name.startswith(str(error.name)):
            raise ControllerError(
                f"controller '{name}': there is no module '{error.name}' in the working directory "
                "or among the installed ones"
            ) from None
        raise ControllerError(
            f"controller '{name}': module '{module_name}' cannot be imported: {_told(error)}"
        ) from error
    found = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            functions = [key for key, value in vars(module).items() if _is_function(key, value)]
            known = f" (known: {', '.join(functions)})" if functions else ""
            raise ControllerError(
                f"controller '{name}': module '{module_name}' has no '{attribute}'{known}"
            )
        found = getattr(found, part)
    return found


def _is_function(name: str, value: Any) -> bool:
    return callable(value) and not name.startswith("_")


def _makes_controllers(found: Any) -> bool:
    known = _signature(found) if callable(found) else None
    parameters = [] if known is None else list(known.parameters.values())
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return bool(parameters and parameters[0].name == "robot" and parameters[0].kind in positional)


def _signature(found: Callable[..., Any]) -> Signature | None:
    try:
        return signature(found)
    except (TypeError, ValueError):  # a builtin without a signature
        return None


def _check_parameters(name: str, found: Callable[..., Any]) -> None:
    """Raise a ControllerError for a controller that cannot be called with a simulation alone."""
    known = _signature(found)
    if known is None:
        return
    try:
        known.bind(None)
    except TypeError as error:
        raise ControllerError(
            f"controller '{name}' is called with the simulation before every step, as "
            f"{name.rpartition(':')[2]}(sim), which {known} does not allow: {error}"
        ) from None


def _guarded(name: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function, with errors that contain the line at which they occurred."""

    def controller(argument: Any) -> Any:
        try:
            return function(argument)
        except RobosimError:
            raise
        except Exception as error:
            raise ControllerError(f"controller '{name}' raised {_told(error)}") from error

    controller.__name__ = name
    return controller


def _answering(name: str, robot: Mechanism, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A guarded controller that must return torques, if there are actuated joints."""
    guarded = _guarded(name, function)

    def controller(sim: Formulation) -> Any:
        answer = guarded(sim)
        if answer is None and robot.nu:
            raise ControllerError(
                f"controller '{name}' returned nothing; it has to return torques ({robot.nu},), "
                "zeros for no torques"
            )
        return answer

    controller.__name__ = name
    return controller


def _told(error: Exception) -> str:
    """An error in one line, with the place at which it was raised."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    where = f" (line {frames[-1].lineno} of {frames[-1].filename})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
