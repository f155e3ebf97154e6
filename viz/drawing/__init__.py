"""Pictures on the processor: of what the viewer's page shows, without a browser or a display."""

from robosim.viz.drawing.drawer import Drawer, drawer_of

__all__ = ["Drawer", "drawer_of"]
