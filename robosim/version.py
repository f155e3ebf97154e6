"""The version of robosim, for what tells it and lies below the package's own file."""

__version__ = "0.1.0"
