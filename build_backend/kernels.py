"""A build backend that can put kernels into a wheel, compiled ahead for levels of processors.

Without settings this is setuptools' own. With `-C kernels=x86-64-v3`, or several levels with
commas, all features of `robosim.ahead` are compiled for these, and the wheel is one for this
platform and this version of Python:

    python -m build --wheel -C kernels=x86-64-v3

Levels are those of `robosim.kernels.compiler.cache`: x86-64-v3 and x86-64-v4, and aarch64. Each
is built on a processor that has it, as features take their first steps while they are compiled.

Kernels are found by numba's version, too: with another one than that of the build, robosim
compiles as it does from source. On Linux the wheel is tagged `manylinux_2_28`, as those of numba.
`-C kernels-cache=FOLDER` keeps what is compiled for the next build, and
`-C kernels-features="legged robots,dynamics"` compiles these features alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

ROOT = Path(__file__).parents[1]
MANYLINUX = "manylinux_2_28"
ALIASES = {"aarch64": "generic"}  # what LLVM calls the least of these processors


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """The wheel, with kernels for the levels that are asked for."""
    settings = dict(config_settings or {})
    levels = [one for one in str(settings.pop("kernels", "")).split(",") if one]
    kept = settings.pop("kernels-cache", None)
    features = settings.pop("kernels-features", None)
    name = str(build_meta.build_wheel(wheel_directory, settings or None, metadata_directory))
    if not levels:
        return name
    with tempfile.TemporaryDirectory() as work:
        plain = Path(wheel_directory) / name
        _run("-m", "wheel", "unpack", "--dest", work, str(plain))
        (unpacked,) = Path(work).glob("*-*")
        levels = checked(levels, unpacked)
        for level in levels:
            cache = Path(kept or Path(work) / "cache") / level
            folder = compiled(level, cache, unpacked, features)
            shutil.copytree(folder, unpacked / "robosim/kernels/ready" / level / folder.name)
        plain.unlink()
        _run("-m", "wheel", "pack", "--dest-dir", wheel_directory, str(unpacked))
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        tags = "--python-tag", python, "--abi-tag", "none", "--platform-tag", platform_tag()
        done = _run("-m", "wheel", "tags", "--remove", *tags, str(Path(wheel_directory) / name))
    return Path(done.stdout.split()[-1]).name


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """What a build takes: to compile kernels, all that robosim needs when it runs."""
    needed = list(build_meta.get_requires_for_build_wheel(config_settings))
    if (config_settings or {}).get("kernels"):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        needed += ["wheel", *project["dependencies"]]
    return needed


def checked(levels: list[str], package: Path) -> list[str]:
    """The names of levels as the package has them.

    Raises
    ------
    ValueError
        For a level that there is not, or that this processor has not.
    """
    code = (
        "from robosim.kernels.compiler.cache import LEVELS, levels_here\n"
        "print(*LEVELS)\n"
        "print(*levels_here())"
    )
    done = _run("-c", code, more={"PYTHONPATH": str(package)}, cwd=package)
    known, here = (line.split() for line in done.stdout.splitlines()[-2:])
    names = [ALIASES.get(level, level) for level in levels]
    aliases = {name: alias for alias, name in ALIASES.items()}
    for level, name in zip(levels, names, strict=True):
        if name not in known:
            listed = ", ".join(aliases.get(one, one) for one in known)
            raise ValueError(f"kernels={level}: there is no such level of processors ({listed})")
        if name not in here:
            listed = ", ".join(aliases.get(one, one) for one in here) or "none"
            raise ValueError(
                f"kernels={level}: this processor has not that level, on which the features would "
                f"have to run (it has: {listed})"
            )
    return names


def compiled(level: str, cache: Path, package: Path, features: str | None = None) -> Path:
    """The folder of kernels of an unpacked wheel, compiled as far as they are not there.

    Of all features, or of those that are named, with commas.
    """
    cache.mkdir(parents=True, exist_ok=True)
    target = {
        "NUMBA_CPU_NAME": level,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(cache.resolve()),
        "PYTHONPATH": str(package),
    }
    code = (
        "from robosim.ahead import FEATURES, compile_all\n"
        f"asked = {None if features is None else features.split(',')!r}\n"
        "failed = compile_all(FEATURES if asked is None else asked, progress=True)\n"
        "assert not failed, failed\n"
        "from robosim.kernels.compiler import cache\n"
        "print(cache.FOLDER)"
    )
    done = _run("-c", code, more=target, cwd=package)
    return Path(done.stdout.strip().splitlines()[-1])


def platform_tag() -> str:
    """The tag of this system; on Linux that of numba's own wheels, which an index takes.

    A wheel has no shared library of its own, so that nothing but numba's has to be there.
    """
    import sysconfig

    name = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return MANYLINUX + name.removeprefix("linux") if name.startswith("linux_") else name


def _run(
    *arguments: str, more: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(more or {})},
        cwd=cwd,
    )
