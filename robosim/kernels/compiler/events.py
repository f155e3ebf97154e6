"""Who is told of it when numba compiles something; nobody, if numba no longer has the events."""

import importlib


def tell(began, ended):
    """Have ``began(module)`` called with the module of what is compiled now, then ``ended()``."""
    try:
        event = importlib.import_module("numba.core.event")

        class Teller(event.Listener):
            def on_start(self, event):
                began(event.data["dispatcher"].py_func.__module__)

            def on_end(self, event):
                ended()

        event.register("numba:compile", Teller())
    except (ImportError, AttributeError):
        return
