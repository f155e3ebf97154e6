"""Where compiled kernels are kept.

numba's cache looks at the file of the function that is called, and would go on serving it after
a kernel that it calls in another file has changed. So the cache is kept in a folder that is named
after a hash of all kernel sources, and of those of `robosim.compiled`, whose constants and records
are compiled into them.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numba import config


def cache_folder() -> str:
    """Where the compiled kernels of exactly these sources are kept."""
    package = Path(__file__).parents[2]
    here = package / "kernels"
    digest = hashlib.sha256()
    for folder in ("compiled", "kernels"):
        for source in sorted((package / folder).rglob("*.py")):
            digest.update(source.relative_to(package).as_posix().encode())
            digest.update(source.read_bytes())
    base = config.CACHE_DIR
    if not base and os.access(here, os.W_OK):
        base = here / "__pycache__"
    elif not base:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "robosim"
    return str(Path(base) / f"kernels-{digest.hexdigest()[:16]}")


FOLDER = cache_folder()


@contextmanager
def kept(more: str = "") -> Iterator[None]:
    """Have what numba is given meanwhile cached in `FOLDER`, or in that of a longer name."""
    before = config.CACHE_DIR
    config.CACHE_DIR = FOLDER + more
    try:
        yield
    finally:
        config.CACHE_DIR = before


def named(*kinds):
    """A decorator that names a function for the kinds of values that it reads.

    numba tells code of the same name apart by a number that it counts anew in each process.
    """

    def decorate(function):
        function.__qualname__ = "_".join([function.__name__, *map(str, kinds)])
        return function

    return decorate
