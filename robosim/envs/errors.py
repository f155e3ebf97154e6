"""What goes wrong with an environment: errors of robosim that are Gymnasium's as well."""

from __future__ import annotations

import gymnasium

from robosim.errors import ControllerError, RobosimError


class ActionError(ControllerError, gymnasium.error.InvalidAction):
    """An action of the wrong shape, or with entries that are not finite or beyond the space."""


class ClosedError(RobosimError, gymnasium.error.ClosedEnvironmentError):
    """An environment that is used after it has been closed."""


class ResetNeededError(RobosimError, gymnasium.error.ResetNeeded):
    """A step before the first reset, or of an episode that is over and is not reset by itself."""


class TaskError(RobosimError, ValueError):
    """A task whose functions give another shape than is needed, or what is not finite."""
