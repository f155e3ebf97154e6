"""Figures that a notebook shows, and that `show` opens elsewhere."""

from __future__ import annotations

import io
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from robosim.errors import ViewerError
from robosim.extras import needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure
else:
    Figure = needed("matplotlib.figure", "plots need matplotlib", "plots").Figure


class ShownFigure(Figure):
    """A figure of matplotlib that needs neither pyplot nor a display to be drawn."""

    def _repr_png_(self) -> bytes:
        """The picture as PNG, for a notebook."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=100)
        return buffer.getvalue()

    def show(self, warn: bool = True) -> None:
        """Show the picture: below a notebook's cell, or else in the system's default program.

        Raises
        ------
        ViewerError
            If there is no such program.
        """
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if shell is not None and hasattr(shell, "kernel"):
            from IPython.display import display

            display(self)
            return
        with tempfile.NamedTemporaryFile(suffix=".png", prefix="robosim-", delete=False) as file:
            file.write(self._repr_png_())
        if not webbrowser.open(Path(file.name).as_uri()):
            raise ViewerError(f"no program to open a picture was found; it is in {file.name}")
