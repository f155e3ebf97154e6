"""Live view in the browser, recordings and plots."""

from robosim.viz.pacing import RealTimePacer
from robosim.viz.playback import replay
from robosim.viz.realtime import LiveReport, live
from robosim.viz.recorder import Recorder
from robosim.viz.viewer import Viewer

__all__ = ["LiveReport", "RealTimePacer", "Recorder", "Viewer", "live", "replay"]
