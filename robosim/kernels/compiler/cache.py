"""Where compiled kernels are kept.

numba's cache looks at the file of the function that is called, and would go on serving it after
a kernel that it calls in another file has changed. So the cache is kept in a folder that is named
after a hash of all kernel sources, and of those of `robosim.compiled`, whose constants and records
are compiled into them. A clone and an installed copy of the same sources share what is kept in
`NUMBA_CACHE_DIR`.
"""

import hashlib
import os
import tempfile
from pathlib import Path

import numba
from numba import config

PACKAGE = Path(__file__).parents[2]


def is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which is made if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def digest_of_sources() -> str:
    """What tells kernels of other sources apart, and those that another numba has compiled."""
    digest = hashlib.sha256(f"{numba.__version__} {config.BOUNDSCHECK}".encode())
    for folder in ("compiled", "kernels"):
        for source in sorted((PACKAGE / folder).rglob("*.py")):
            digest.update(source.relative_to(PACKAGE).as_posix().encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder() -> Path | None:
    """Where the compiled kernels of exactly these sources are kept; None if nowhere.

    In `NUMBA_CACHE_DIR` if that is set, or else beside the sources, or in the user's own cache.
    """
    name = f"kernels-{digest_of_sources()}"
    users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "robosim"
    asked = [Path(config.CACHE_DIR)] if config.CACHE_DIR else []
    for base in (*asked, PACKAGE / "kernels" / "__pycache__", users):
        if is_writable(base / name):
            return base / name
    return None


FOLDER = cache_folder()


def named(*kinds):
    """A decorator that names a function for the kinds of values that it reads.

    numba tells code of the same name apart by a number that it counts anew in each process.
    """

    def decorate(function):
        function.__qualname__ = "_".join([function.__name__, *map(str, kinds)])
        return function

    return decorate
