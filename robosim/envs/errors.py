"""Errors of environments, which are errors of robosim and, where it has one, of Gymnasium."""

from __future__ import annotations

import gymnasium

from robosim.errors import ControllerError, RobosimError


class ActionError(ControllerError, gymnasium.error.InvalidAction):
    """An action of a wrong shape, or with an entry that is not finite or not within -1 and 1."""


class ClosedError(RobosimError, gymnasium.error.ClosedEnvironmentError):
    """Use of an environment after it has been closed."""


class ResetNeededError(RobosimError, gymnasium.error.ResetNeeded):
    """A step before the first reset, or after the end of an episode without automatic reset."""


class TaskError(RobosimError, ValueError):
    """A task whose functions give a wrong shape, or a value that is not finite."""
