"""The version of robosim and the name it is installed by, for what tells them.

The name on the package index is not that of the import, which belongs to another project there.
"""

__version__ = "0.2.0"
DISTRIBUTION = "robosim-variational"  # as in pyproject.toml; the import stays `robosim`


def install(extra: str = "") -> str:
    """The line of pip that brings robosim, or one of its optional extras.

    >>> install("gym")
    'pip install "robosim-variational[gym]"'
    """
    return f'pip install "{DISTRIBUTION}[{extra}]"' if extra else f"pip install {DISTRIBUTION}"
