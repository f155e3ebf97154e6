"""Pictures of depths, as a `DepthCamera` reads them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robosim.description.ray_sensor import DepthCamera
from robosim.errors import OptionError, StateError
from robosim.viz.figures import ShownFigure

if TYPE_CHECKING:
    from robosim.rays.sensing import Sample


def depth_figure(sample: Sample, out: str | Path | None = None) -> ShownFigure:
    """The reading of a depth camera as a picture; what is not met, or was lost, is grey.

    Parameters
    ----------
    sample : Sample
        As `Simulation.sample` gives it.
    out : path or None
        File to write; its suffix is the format.

    Raises
    ------
    StateError
        For a sensor of another kind.
    OptionError
        For an unknown format.
    """
    camera = sample.sensor
    if not isinstance(camera, DepthCamera):
        raise StateError(f"sensor '{camera.name}' of kind '{camera.kind}' gives no picture")
    figure = ShownFigure(figsize=(5.0, 5.0 * camera.height / camera.width), layout="constrained")
    axes = figure.add_subplot()
    axes.set_facecolor("0.8")
    shown = np.where(np.isfinite(sample.values), sample.values, np.nan)
    drawn = axes.imshow(shown, cmap="viridis_r", interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(f"{camera.name}, t = {sample.time:.6g} s")
    figure.colorbar(drawn, ax=axes, label="depth [m]")
    if out is not None:
        try:
            figure.savefig(out, dpi=150)
        except ValueError as error:
            raise OptionError(f"{out}: {error}") from None
    return figure
