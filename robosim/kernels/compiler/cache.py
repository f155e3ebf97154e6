"""Where compiled kernels are kept.

numba's cache only checks the file of the function that is called, and would load outdated code
after a kernel in another file has changed. So the cache is a folder that is named after a hash of
all sources of kernels and of `robosim.compiled`, whose constants and records are compiled into the
kernels. A clone and an installed copy of the same sources share a cache in `NUMBA_CACHE_DIR`.
Whenever the sources are new, kernels that nothing has used for `UNUSED` seconds are deleted.

A wheel may bring kernels that were compiled ahead, for a level of processors, in `READY`. They are
used for the same sources, the same numba and such a processor. All other kernels are compiled.
"""

import hashlib
import logging
import os
import platform
import shutil
import tempfile
import time
from pathlib import Path

import numba
from llvmlite.binding import get_host_cpu_features, get_process_triple
from numba import config

PACKAGE = Path(__file__).parents[2]
UNUSED = 30 * 86400.0
# Characters of a folder: Windows opens no file whose path has 260, and names of files here have
# up to 170.
LONGEST = 259 - 170 if os.name == "nt" else 4096


def is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which is made if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def digest_of_sources() -> str:
    """A digest of all sources, of numba's version, and of whether bounds are checked."""
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
        if len(str(base / name)) > LONGEST:
            continue
        is_new = not (base / name).exists()
        if is_writable(base / name):
            mark_used(base / name)
            if is_new:
                delete_unused(base)
            return base / name
    return None


def mark_used(path: Path) -> None:
    """Note at a file or folder that it is used now."""
    try:
        os.utime(path)
    except OSError as error:
        logging.getLogger(__name__).info("%s: its time stays as it is (%s)", path, error)


def delete_unused(base: Path) -> None:
    """Delete kernels of other sources, and lowered ones, that nothing has used for long."""
    digest = "[0-9a-f]" * 16
    for path in (*base.glob(f"kernels-{digest}"), *(base / "lowered").glob("*")):
        try:
            if path.stat().st_mtime > time.time() - UNUSED:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        except OSError as error:  # another process may have deleted it
            logging.getLogger(__name__).info("%s: not deleted (%s)", path, error)


FOLDER = cache_folder()
# The folder of lowered kernels (`robosim.kernels.compiler.lowered`).
LOWERED = None if FOLDER is None else FOLDER.parent / "lowered"
READY = PACKAGE / "kernels" / "ready"
# Levels of processors that kernels are compiled ahead for, by their LLVM names, best first: the
# machine, and the features that a processor needs.
LEVEL_3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
LEVELS = {
    "x86-64-v4": ("x86_64", (*LEVEL_3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")),
    "x86-64-v3": ("x86_64", LEVEL_3),
    "generic": ("aarch64", ()),
}


def levels_here() -> list[str]:
    """The levels that this processor has, best first."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(
        platform.machine().lower(), platform.machine().lower()
    )
    features = get_host_cpu_features()
    return [
        name
        for name, (kind, needed) in LEVELS.items()
        if kind == machine and all(features.get(one) for one in needed)
    ]


def ready_folder() -> tuple[Path, tuple[str, str, str]] | None:
    """Folder of kernels compiled ahead for this processor, and numba's name of their target."""
    if not READY.is_dir() or config.CPU_NAME:
        return None
    for level in levels_here():
        folder = READY / level / f"kernels-{digest_of_sources()}"
        if folder.is_dir():
            return folder, (get_process_triple(), level, "")
    logging.getLogger(__name__).info(
        "kernels that came along are for other processors or another numba: compiling (%s)",
        ", ".join(f"{one.parent.name}/{one.name}" for one in sorted(READY.glob("*/*"))),
    )
    return None


AHEAD = ready_folder()


def named(*kinds):
    """A decorator that names a function for the kinds of values that it reads.

    numba would distinguish functions of one name by a counter, which differs between processes.
    """

    def decorate(function):
        function.__qualname__ = "_".join([function.__name__, *map(str, kinds)])
        return function

    return decorate
