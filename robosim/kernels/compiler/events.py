"""Notification of when numba begins to compile a function, and when it has finished."""

from collections.abc import Callable

from numba.core import event


class Teller(event.Listener):
    """Passes numba's events on.

    Parameters
    ----------
    begun : callable
        Called with the module and the qualified name of the function that is compiled now.
    ended : callable
        Called when it is compiled.
    """

    def __init__(self, begun: Callable[[str, str], None], ended: Callable[[], None]) -> None:
        self._begun, self._ended = begun, ended

    def on_start(self, event: event.Event) -> None:
        function = event.data["dispatcher"].py_func
        self._begun(function.__module__, function.__qualname__)

    def on_end(self, event: event.Event) -> None:
        self._ended()


def tell_of_compiling(begun: Callable[[str, str], None], ended: Callable[[], None]) -> None:
    """Have ``begun(module, name)`` and ``ended()`` called around all compiling from now on."""
    event.register("numba:compile", Teller(begun, ended))
