"""Live view in the browser, pictures, recordings and plots."""

from robosim.description.camera import Camera
from robosim.submodules import on_first_use
from robosim.viz.controls import Button, Slider
from robosim.viz.pacing import RealTimePacer
from robosim.viz.playback import replay
from robosim.viz.realtime import LiveReport, live
from robosim.viz.recorder import Recorder
from robosim.viz.viewer import Viewer

__all__ = [
    "Button",
    "Camera",
    "LiveReport",
    "RealTimePacer",
    "Recorder",
    "Slider",
    "Viewer",
    "live",
    "replay",
]

__getattr__ = on_first_use(
    __name__, ("depth", "drawing", "foxglove_server", "plots", "rendering", "scene", "watch")
)
