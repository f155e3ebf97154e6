"""Makes and checks all files of a release, and prints what a person then types to upload them.

    python build_backend/release.py

The source distribution, the pure wheel, and a wheel with kernels for each Python that is here are
made in `dist`. Each wheel is installed in a fresh environment, where the A1 stands, is shown live
and logged. A wheel with kernels must do so without compiling. Nothing is uploaded.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LEVELS = {"x86_64": "x86-64-v3,x86-64-v4", "aarch64": "aarch64"}
LARGEST = 100e6  # bytes of a file, of which an index takes no more
INSTALLED = 750.0  # MB that an installed wheel may take, with all that it needs
JOB = ("simulate", "a1", "--controller", "stand", "--seconds", "2", "--log", "run.csv", "--view")


class Failed(Exception):
    """What does not hold, in a sentence."""


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """The output of a command, which must succeed."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd, env=kept | environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        shown = " ".join(map(str, command))
        raise Failed(f"`{shown}` ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def say(text: str) -> None:
    print(text, flush=True)


def python_of(version: str) -> Path | None:
    """The interpreter of a version: on the path, or among those of pyenv; None without one."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = shutil.which(f"python{version}")
    for one in ([found] if found else []) + sorted(map(str, pyenv.glob(f"{version}.*/bin/python"))):
        try:
            told = run(one, "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
        except (Failed, OSError):  # a shim for a version that is not chosen
            continue
        if told.strip() == version:
            return Path(one)
    return None


def environment(python: Path, folder: Path, *packages: str) -> Path:
    """The interpreter of a fresh environment with some packages."""
    run(python, "-m", "venv", folder)
    own = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if packages:
        run(own, "-m", "pip", "install", "--quiet", *packages)
    return own


def check_source() -> str:
    """The version, if the repository is one that can be released."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = str(project["version"])
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\]", changes, re.M):
        raise Failed(f"CHANGELOG.md has no section of {version}")
    if run("git", "status", "--porcelain", "--untracked-files=no").strip():
        say("note: there are changes that are not committed")
    return version


def build(work: Path, out: Path, levels: str, features: str, pythons: dict[str, Path]) -> None:
    """Make all files."""
    tools = environment(next(iter(pythons.values())), work / "tools", "build", "twine")
    say("source distribution, and the pure wheel from it")
    run(tools, "-m", "build", "--outdir", out)
    for version, python in pythons.items() if levels else ():
        say(f"wheel with kernels for Python {version}: {levels}")
        own = environment(python, work / f"build-{version}", "build")
        settings = [f"kernels={levels}", *([f"kernels-features={features}"] if features else [])]
        chosen = [part for one in settings for part in ("-C", one)]
        # Elsewhere, as a pure wheel is made first, and becomes the one with kernels.
        made = work / f"wheel-{version}"
        run(own, "-m", "build", "--wheel", *chosen, "--outdir", made)
        for wheel in made.iterdir():
            shutil.move(wheel, out)
    say("twine check")
    run(tools, "-m", "twine", "check", "--strict", *sorted(out.iterdir()))


def megabytes(folder: Path) -> float:
    """The size of a folder [MB]."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def check_wheel(wheel: Path, version: str, python: Path, work: Path) -> str:
    """Install a wheel in a fresh environment and run the main job; returns what was found."""
    folder = work / f"{version}-{wheel.stem}"
    own = environment(python, folder)
    before = megabytes(folder)
    run(own, "-m", "pip", "install", "--quiet", wheel)
    size = megabytes(folder) - before
    if size > INSTALLED:
        raise Failed(f"{wheel.name} takes {size:.0f} MB with all that it needs")
    cache, place = folder / "cache", folder / "job"
    place.mkdir()
    own_home = {"NUMBA_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(folder / "home")}
    run(own, "-m", "robosim", *JOB, cwd=place, **own_home)
    if sum(1 for _ in (place / "run.csv").open(encoding="utf-8")) != 2001:
        raise Failed(f"{wheel.name}: the log of the main job has not all samples")
    compiled = len(list(cache.rglob("*.nbc")))
    if compiled and "none-any" not in wheel.name:
        raise Failed(f"{wheel.name} has compiled {compiled} kernels, though it brings them")
    ready = "without compiling" if not compiled else f"{compiled} kernels compiled"
    return f"Python {version}: {size:.0f} MB installed, main job {ready}"


def check(out: Path, work: Path, pythons: dict[str, Path]) -> None:
    """Check the sizes of all files, and each wheel with each Python that it is for."""
    if sum(file.name.endswith(("-none-any.whl", ".tar.gz")) for file in out.iterdir()) != 2:
        raise Failed("the source distribution or the pure wheel is missing")
    for file in sorted(out.iterdir()):
        size = file.stat().st_size
        say(f"{file.name}: {size / 1e6:.1f} MB")
        if size > LARGEST:
            raise Failed(f"{file.name} is larger than an index takes ({LARGEST / 1e6:.0f} MB)")
        for version, python in pythons.items():
            tags = f"-(py3|cp{version.replace('.', '')})-"
            if file.suffix == ".whl" and re.search(tags, file.name):
                say(f"  {check_wheel(file, version, python, work)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make and check a release; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="an empty folder")
    parser.add_argument("--python", nargs="+", default=PYTHONS, help="versions, such as 3.12")
    levels = LEVELS.get(platform.machine(), "") if sys.platform == "linux" else ""
    parser.add_argument("--levels", default=levels, help="of processors; '' for no kernels")
    parser.add_argument("--features", default="", help="kernels of these alone, for a trial")
    wanted = parser.parse_args(arguments)
    out = wanted.out.resolve()
    if out.exists() and any(out.iterdir()):
        parser.error(f"{out} is not empty")
    try:
        version = check_source()
        pythons = {v: one for v in wanted.python if (one := python_of(v)) is not None}
        if not pythons:
            raise Failed(f"there is no Python of {', '.join(wanted.python)} here")
        say(f"release {version}, by Python {', '.join(pythons)}")
        for missing in [v for v in wanted.python if v not in pythons]:
            say(f"there is no Python {missing} here: left out")
        with tempfile.TemporaryDirectory() as folder:
            build(Path(folder), out, wanted.levels, wanted.features, pythons)
            check(out, Path(folder), pythons)
    except Failed as error:
        print(f"not released: {error}", file=sys.stderr)
        return 1
    say(
        f"\nAll checks passed. To publish:\n"
        f"  git tag v{version} && git push origin v{version}\n"
        f"  python -m pip install twine && python -m twine upload {out}/*"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
